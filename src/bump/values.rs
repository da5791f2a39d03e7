//! The allocations of single values, text and boxes.

use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

use super::Arena;
use super::boxed::ArenaBox;
use super::place;
use super::refusal::{AllocOrInitError, Explains, Fails, Refuses, done};
use super::vec::{self, ArenaVec};
use crate::error::{AllocError, FullError};
use crate::raw::memory;

#[allow(
    clippy::mut_from_ref,
    reason = "the memory of each reference is handed out once"
)]
impl Arena {
    /// Moves a value into the arena; O(1). The value is never dropped: take
    /// [`boxed`](Self::boxed) for one that must be.
    ///
    /// # Panics
    ///
    /// If a [bounded](Self::bounded) arena is full, or a
    /// [limit](super::Arena::builder) is reached. If the allocator refuses, the
    /// program ends, as with `Box`. This holds for every method that has a `try_` form.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let value: &mut u64 = arena.alloc(42);
    /// *value += 1;
    /// assert_eq!(*value, 43);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        // SAFETY: by A3 initialised memory that is handed out once.
        unsafe { done(place::put::<T, Fails>(&self.chunks, value)).as_mut() }
    }

    /// As [`alloc`](Self::alloc); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert_eq!(arena.try_alloc(42).unwrap_err().into_inner(), 42);
    /// ```
    #[inline]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, FullError<T>> {
        match place::put::<T, Refuses>(&self.chunks, value) {
            // SAFETY: by A3 initialised memory that is handed out once.
            Ok(mut value) => Ok(unsafe { value.as_mut() }),
            Err(value) => Err(FullError(value)),
        }
    }

    /// Allocates the value that `f` returns; O(1) besides `f`. A value of more than 16 bytes
    /// is built in its place, if the compiler inlines `f`. The value is never dropped.
    ///
    /// `f` may use the arena, and may [rewind](Self::rewind) it to a checkpoint that `f` has
    /// taken itself.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let frame = arena.alloc_with(|| [0_u8; 1500]);
    /// assert_eq!(frame.len(), 1500);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_with<T>(&self, f: impl FnOnce() -> T) -> &mut T {
        // SAFETY: by A3 initialised memory that is handed out once.
        unsafe { done(place::with::<T, Fails>(&self.chunks, f)).as_mut() }
    }

    /// As [`alloc_with`](Self::alloc_with); panics only if `f` does, and never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room. `f` is called first if its value has 16 bytes or fewer, and
    /// otherwise not at all.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(8);
    /// assert!(arena.try_alloc_with(|| 42_u64).is_ok());
    /// assert!(arena.try_alloc_with(|| 42_u64).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_with<T>(&self, f: impl FnOnce() -> T) -> Result<&mut T, AllocError> {
        // SAFETY: by A3 initialised memory that is handed out once.
        place::with::<T, Explains>(&self.chunks, f).map(|mut value| unsafe { value.as_mut() })
    }

    /// Allocates the value that `f` returns, if it returns one. If not, the memory is given
    /// back, unless something else was allocated after it. The value is never dropped.
    ///
    /// # Errors
    ///
    /// The error of `f`.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let number = arena.alloc_try_with(|| "42".parse::<u64>())?;
    /// assert_eq!(*number, 42);
    /// assert!(arena.alloc_try_with(|| "x".parse::<u64>()).is_err());
    /// # Ok::<(), std::num::ParseIntError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_try_with<T, E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&mut T, E> {
        // SAFETY: by A3 initialised memory that is handed out once.
        done(place::try_with::<T, E, Fails>(&self.chunks, f))
            .map(|mut value| unsafe { value.as_mut() })
    }

    /// Allocates the value that `f` returns, if it returns one and there is room; O(1) besides
    /// `f`. Panics only if `f` does, and never aborts. The value is never dropped.
    ///
    /// # Errors
    ///
    /// [`Alloc`](AllocOrInitError::Alloc) if there is no room. `f` is called first if its value
    /// has 16 bytes or fewer, and otherwise not at all.
    /// [`Init`](AllocOrInitError::Init) with the error of `f`; the memory is given back then,
    /// unless something else was allocated after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::bump::{AllocOrInitError, Arena};
    ///
    /// let arena = Arena::bounded(8);
    /// let error = arena.try_alloc_try_with(|| "x".parse::<u64>()).unwrap_err();
    /// assert!(matches!(error, AllocOrInitError::Init(_)));
    /// assert_eq!(*arena.try_alloc_try_with(|| "42".parse::<u64>()).unwrap(), 42);
    /// let error = arena.try_alloc_try_with(|| "42".parse::<u64>()).unwrap_err();
    /// assert!(matches!(error, AllocOrInitError::Alloc(_)));
    /// ```
    #[inline]
    pub fn try_alloc_try_with<T, E>(
        &self,
        f: impl FnOnce() -> Result<T, E>,
    ) -> Result<&mut T, AllocOrInitError<E>> {
        match place::try_with::<T, E, Explains>(&self.chunks, f) {
            // SAFETY: by A3 initialised memory that is handed out once.
            Ok(Ok(mut value)) => Ok(unsafe { value.as_mut() }),
            Ok(Err(error)) => Err(AllocOrInitError::Init(error)),
            Err(error) => Err(AllocOrInitError::Alloc(error)),
        }
    }

    /// Allocates uninitialised memory of that layout; a dangling pointer if its size is 0.
    ///
    /// The memory is valid for reads and writes as long as a reference that
    /// [`alloc`](Self::alloc) returns.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::alloc::Layout;
    ///
    /// let arena = flatslab::bump::Arena::new();
    /// let memory = arena.alloc_layout(Layout::new::<[u64; 4]>());
    /// assert!(memory.cast::<u64>().is_aligned());
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        done(place::room_for::<Fails>(&self.chunks, layout))
    }

    /// As [`alloc_layout`](Self::alloc_layout); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::alloc::Layout;
    ///
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_layout(Layout::new::<u64>()).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        place::room_for::<Explains>(&self.chunks, layout)
    }

    /// Copies a text into the arena; O(bytes).
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_str("flat"), "flat");
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_str(&self, text: &str) -> &mut str {
        let bytes = self.alloc_slice_copy(text.as_bytes());
        // SAFETY: a copy of the bytes of a `str`.
        unsafe { core::str::from_utf8_unchecked_mut(bytes) }
    }

    /// As [`alloc_str`](Self::alloc_str); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert!(arena.try_alloc_str("flat").is_err());
    /// ```
    #[inline]
    pub fn try_alloc_str(&self, text: &str) -> Result<&mut str, AllocError> {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        // SAFETY: a copy of the bytes of a `str`.
        Ok(unsafe { core::str::from_utf8_unchecked_mut(bytes) })
    }

    /// Formats a text into the arena. If formatting fails, the memory is given back, unless
    /// something else was allocated after it.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc); if a formatter returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.alloc_fmt(format_args!("{}-{}", "flat", 7)), "flat-7");
    /// ```
    #[track_caller]
    pub fn alloc_fmt(&self, text: fmt::Arguments<'_>) -> &mut str {
        let mut vec = ArenaVec::new_in(self);
        match vec::format(&mut vec, text) {
            Ok(Ok(())) => {}
            Ok(Err(fmt::Error)) => panic!("a formatter returned an error"),
            Err(error) => memory::fail(error),
        }
        // SAFETY: `format` has pushed whole `str`s and nothing else.
        unsafe { core::str::from_utf8_unchecked_mut(vec.into_slice()) }
    }

    /// As [`alloc_fmt`](Self::alloc_fmt); panics only if a formatter does, and never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room, or a formatter returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(8);
    /// assert!(arena.try_alloc_fmt(format_args!("{}", 1_000_000_000)).is_err());
    /// ```
    pub fn try_alloc_fmt(&self, text: fmt::Arguments<'_>) -> Result<&mut str, fmt::Error> {
        let mut vec = ArenaVec::new_in(self);
        vec::format(&mut vec, text).map_err(|_| fmt::Error)??;
        // SAFETY: `format` has pushed whole `str`s and nothing else.
        Ok(unsafe { core::str::from_utf8_unchecked_mut(vec.into_slice()) })
    }

    /// Moves a value into the arena, owned by a box that drops it; O(1).
    /// [`arena_box_as!`](crate::arena_box_as) makes it a box of a trait object.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// let mut boxed = arena.boxed(vec![1]);
    /// boxed.push(2);
    /// assert_eq!(*boxed, [1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn boxed<T>(&self, value: T) -> ArenaBox<'_, T> {
        // SAFETY: A3; the box is the only owner.
        unsafe { ArenaBox::new(done(place::put::<T, Fails>(&self.chunks, value))) }
    }

    /// As [`boxed`](Self::boxed); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no room.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(0);
    /// assert_eq!(arena.try_boxed("kept".to_string()).unwrap_err().into_inner(), "kept");
    /// ```
    #[inline]
    pub fn try_boxed<T>(&self, value: T) -> Result<ArenaBox<'_, T>, FullError<T>> {
        match place::put::<T, Refuses>(&self.chunks, value) {
            // SAFETY: A3; the box is the only owner.
            Ok(value) => Ok(unsafe { ArenaBox::new(value) }),
            Err(value) => Err(FullError(value)),
        }
    }
}
