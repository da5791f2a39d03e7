//! The allocations of slices.

#[expect(clippy::disallowed_types, reason = "the vectors are the user's")]
use alloc::vec::Vec;

use super::Arena;
use super::boxed::ArenaBox;
use super::place;
use super::refusal::{AllocOrInitError, Explains, Fails, Refuses, done};
use super::vec;
use crate::error::{AllocError, FullError};

#[allow(
    clippy::mut_from_ref,
    reason = "the memory of each reference is handed out once"
)]
impl Arena {
    /// Copies a slice into the arena; O(bytes).
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_slice_copy(&[1, 2]), [1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> &mut [T] {
        // SAFETY: by A3 initialised memory that is handed out once.
        unsafe { done(place::copy::<T, Fails>(&self.chunks, values)).as_mut() }
    }

    /// As [`alloc_slice_copy`](Self::alloc_slice_copy); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_copy(&[1, 2]).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, values: &[T]) -> Result<&mut [T], AllocError> {
        // SAFETY: by A3 initialised memory that is handed out once.
        place::copy::<T, Explains>(&self.chunks, values).map(|mut row| unsafe { row.as_mut() })
    }

    /// Clones the values of a slice into the arena. If a `clone` panics, the clones made
    /// before it are dropped.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_slice_clone(&["flat".to_string()]), ["flat"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_clone<T: Clone>(&self, values: &[T]) -> &mut [T] {
        self.alloc_slice_fill_with(values.len(), |index| values[index].clone())
    }

    /// As [`alloc_slice_clone`](Self::alloc_slice_clone); panics only if a `clone` does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_clone(&["flat"]).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_clone<T: Clone>(&self, values: &[T]) -> Result<&mut [T], AllocError> {
        self.try_alloc_slice_fill_with(values.len(), |index| values[index].clone())
    }

    /// Allocates `len` clones of a value.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_slice_fill(2, 7), [7, 7]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill<T: Clone>(&self, len: usize, value: T) -> &mut [T] {
        self.alloc_slice_fill_with(len, |_| value.clone())
    }

    /// As [`alloc_slice_fill`](Self::alloc_slice_fill); panics only if a `clone` does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_fill(2, 7).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_fill<T: Clone>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], AllocError> {
        self.try_alloc_slice_fill_with(len, |_| value.clone())
    }

    /// Allocates `len` default values.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let zeroes: &mut [u64] = arena.alloc_slice_fill_default(2);
    /// assert_eq!(zeroes, [0, 0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_default<T: Default>(&self, len: usize) -> &mut [T] {
        self.alloc_slice_fill_with(len, |_| T::default())
    }

    /// As [`alloc_slice_fill_default`](Self::alloc_slice_fill_default); panics only if
    /// `default` does, and never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_fill_default::<u64>(2).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_fill_default<T: Default>(
        &self,
        len: usize,
    ) -> Result<&mut [T], AllocError> {
        self.try_alloc_slice_fill_with(len, |_| T::default())
    }

    /// Allocates `len` values, each the result of `f` for its index. They are built in their
    /// places: a large array never lies on the stack. If `f` panics, the values made before
    /// are dropped.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let squares = arena.alloc_slice_fill_with(3, |index| index * index);
    /// assert_eq!(squares, [0, 1, 4]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_with<T>(&self, len: usize, f: impl FnMut(usize) -> T) -> &mut [T] {
        // SAFETY: by A3 initialised memory that is handed out once.
        unsafe { done(place::fill::<T, Fails>(&self.chunks, len, f)).as_mut() }
    }

    /// As [`alloc_slice_fill_with`](Self::alloc_slice_fill_with); panics only if `f` does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_fill_with(2, |index| index).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        len: usize,
        f: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], AllocError> {
        // SAFETY: by A3 initialised memory that is handed out once.
        place::fill::<T, Explains>(&self.chunks, len, f).map(|mut row| unsafe { row.as_mut() })
    }

    /// Allocates `len` values, each the result of `f` for its index, if `f` returns all of
    /// them. If it returns an error or panics, the values made before are dropped, and the
    /// memory is given back, unless something else was allocated after it.
    ///
    /// # Errors
    ///
    /// The first error of `f`, which is not called again.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let texts = ["4", "2"];
    /// let numbers = arena.alloc_slice_try_fill_with(2, |index| texts[index].parse::<u64>())?;
    /// assert_eq!(numbers, [4, 2]);
    /// assert!(arena.alloc_slice_try_fill_with(2, |_| "x".parse::<u64>()).is_err());
    /// # Ok::<(), std::num::ParseIntError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_try_fill_with<T, E>(
        &self,
        len: usize,
        f: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<&mut [T], E> {
        let row = done(place::try_fill::<T, E, Fails>(&self.chunks, len, f));
        // SAFETY: by A3 initialised memory that is handed out once.
        row.map(|mut row| unsafe { row.as_mut() })
    }

    /// Allocates `len` values, each the result of `f` for its index, if `f` returns all of them
    /// and there is room; O(1) besides `f`. Panics only if `f` does, and never aborts.
    ///
    /// # Errors
    ///
    /// [`Alloc`](AllocOrInitError::Alloc) if there is no room; `f` is not called then.
    /// [`Init`](AllocOrInitError::Init) with the first error of `f`, which is not called again:
    /// the values made before are dropped, and the memory is given back, unless something else
    /// was allocated after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::bump::{AllocOrInitError, Arena};
    ///
    /// let arena = Arena::bounded(16);
    /// let texts = ["4", "2", "x"];
    /// let parse = |index: usize| texts[index].parse::<u64>();
    /// assert_eq!(arena.try_alloc_slice_try_fill_with(2, parse).unwrap(), [4, 2]);
    /// let error = arena.try_alloc_slice_try_fill_with(3, parse).unwrap_err();
    /// assert!(matches!(error, AllocOrInitError::Alloc(_)));
    /// ```
    #[inline]
    pub fn try_alloc_slice_try_fill_with<T, E>(
        &self,
        len: usize,
        f: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<&mut [T], AllocOrInitError<E>> {
        match place::try_fill::<T, E, Explains>(&self.chunks, len, f) {
            // SAFETY: by A3 initialised memory that is handed out once.
            Ok(Ok(mut row)) => Ok(unsafe { row.as_mut() }),
            Ok(Err(error)) => Err(AllocOrInitError::Init(error)),
            Err(error) => Err(AllocOrInitError::Alloc(error)),
        }
    }

    /// Allocates the values of an iterator, however many there are. Its size hint only
    /// decides how much memory is taken at first; if there is no room for so many, it is ignored.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_slice_iter("flat".chars()), ['f', 'l', 'a', 't']);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_iter<T>(&self, values: impl IntoIterator<Item = T>) -> &mut [T] {
        // SAFETY: by A3 initialised memory that is handed out once.
        unsafe { done(vec::collect::<T, Fails>(&self.chunks, values)).as_mut() }
    }

    /// As [`alloc_slice_iter`](Self::alloc_slice_iter); panics only if the iterator does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; the values collected so far are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_slice_iter(0..3).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_slice_iter<T>(
        &self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<&mut [T], AllocError> {
        // SAFETY: by A3 initialised memory that is handed out once.
        vec::collect::<T, Explains>(&self.chunks, values).map(|mut row| unsafe { row.as_mut() })
    }

    /// Moves the values of a vector into the arena, in one copy. They are never dropped.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_slice_from_vec(vec![1, 2]), [1, 2]);
    /// ```
    #[track_caller]
    #[expect(clippy::disallowed_types, reason = "the vector is the user's")]
    pub fn alloc_slice_from_vec<T>(&self, mut values: Vec<T>) -> &mut [T] {
        // SAFETY: the vector forgets the values that were moved out; A3.
        unsafe {
            let mut row = done(place::take::<T, Fails>(&self.chunks, &values));
            values.set_len(0);
            row.as_mut()
        }
    }

    /// As [`alloc_slice_from_vec`](Self::alloc_slice_from_vec); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the vector if there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// let full = arena.try_alloc_slice_from_vec(vec![1, 2]).unwrap_err();
    /// assert_eq!(full.into_inner(), [1, 2]);
    /// ```
    #[expect(clippy::disallowed_types, reason = "the vector is the user's")]
    pub fn try_alloc_slice_from_vec<T>(
        &self,
        mut values: Vec<T>,
    ) -> Result<&mut [T], FullError<Vec<T>>> {
        // SAFETY: the vector forgets the values that were moved out; A3.
        unsafe {
            let Ok(mut row) = place::take::<T, Refuses>(&self.chunks, &values) else {
                return Err(FullError(values));
            };
            values.set_len(0);
            Ok(row.as_mut())
        }
    }

    /// Allocates `len` values, each the result of `f` for its index, owned by a box that
    /// drops them.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let boxed = arena.alloc_boxed_slice(3, |index| vec![index]);
    /// assert_eq!(boxed.concat(), [0, 1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_boxed_slice<T>(&self, len: usize, f: impl FnMut(usize) -> T) -> ArenaBox<'_, [T]> {
        // SAFETY: A3; the box is the only owner.
        unsafe { ArenaBox::new(done(place::fill::<T, Fails>(&self.chunks, len, f))) }
    }

    /// As [`alloc_boxed_slice`](Self::alloc_boxed_slice); panics only if `f` does, and never
    /// aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_boxed_slice(3, |index| index).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_boxed_slice<T>(
        &self,
        len: usize,
        f: impl FnMut(usize) -> T,
    ) -> Result<ArenaBox<'_, [T]>, AllocError> {
        // SAFETY: A3; the box is the only owner.
        place::fill::<T, Explains>(&self.chunks, len, f).map(|row| unsafe { ArenaBox::new(row) })
    }
}
