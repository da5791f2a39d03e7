//! The methods of arenas and scopes that allocate: values, texts, boxes, slices and arrays.
//!
//! Each is written once for both types. An allocation from an [`Arena`] lives as long as the borrow
//! of the call. An allocation from a [`Scope`] lives for the scope's own `'s`, which is longer.
//! `Deref` from a scope to an arena cannot express that, because references from a borrowed scope
//! would live only as long as that borrow. A trait could, but every caller would have to import it.
//! So a macro with a parameter for the lifetime defines the methods.
//!
//! `place.rs` does the work. This file turns refusals into panics or errors, and what was placed
//! (`handed-out-once`) into references.

#[expect(clippy::disallowed_types, reason = "the vectors are the user's")]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::error::Error;
use core::fmt;
use core::ptr::NonNull;

use super::arena::Arena;
use super::boxed::ArenaBox;
use super::chunks::{Chunks, Explains, Fails, Refuses, done};
use super::place::{self, Placed};
use super::scope::Scope;
use super::vec;
use crate::error::{AllocError, FullError};
use crate::raw::memory;

/// The methods of a type that has [`Chunks`] for `$lifetime`.
macro_rules! allocations {
    ($lifetime:lifetime) => {
        /// Moves a value into the arena, and returns a reference to it. O(1).
        ///
        /// The value is never dropped: use [`boxed`](Self::boxed) for a value that must be.
        ///
        /// # Panics
        ///
        /// If a [bounded](Arena::bounded) arena is full, or the [limit](Arena::builder) is reached.
        /// If the allocator refuses, the program aborts, as with `Box`. This holds for every method
        /// that has a `try_` form.
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
        #[doc(alias("push", "emplace"))]
        pub fn alloc<T>(&self, value: T) -> &$lifetime mut T {
            done(place::put::<T, Fails>(self.chunks(), value)).into_mut()
        }

        /// Moves a value into the arena, or returns it if there is no room; never panics or aborts.
        /// O(1).
        ///
        /// The value is never dropped.
        ///
        /// # Errors
        ///
        /// Returns the value if a bounded arena is full, the limit is reached, or the allocator
        /// refuses. Every `try_` method fails in these cases, called *no room* below.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert_eq!(arena.try_alloc(42).unwrap_err().into_inner(), 42);
        /// ```
        #[inline]
        pub fn try_alloc<T>(&self, value: T) -> Result<&$lifetime mut T, FullError<T>> {
            match place::put::<T, Refuses>(self.chunks(), value) {
                Ok(value) => Ok(value.into_mut()),
                Err(value) => Err(FullError(value)),
            }
        }

        /// Calls `f`, and moves the value that it returns into the arena. O(1) besides `f`.
        ///
        /// If the compiler inlines `f`, a value of more than 16 bytes is created directly in the
        /// arena. The value is never dropped.
        ///
        /// `f` may use the arena, and may [rewind](Arena::rewind) it to a checkpoint that `f` has
        /// taken itself.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        #[doc(alias = "emplace_with")]
        pub fn alloc_with<T>(&self, f: impl FnOnce() -> T) -> &$lifetime mut T {
            done(place::with::<T, Fails>(self.chunks(), f)).into_mut()
        }

        /// Calls `f`, and moves the value that it returns into the arena, if there is room. O(1)
        /// besides `f`.
        ///
        /// Panics only if `f` does, and never aborts. The value is never dropped while it is in the
        /// arena.
        ///
        /// # Errors
        ///
        /// If there is no room. If the value has at most 16 bytes, `f` was called by then, and the
        /// value is dropped; otherwise `f` is not called.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_with(|| 42_u64).is_ok());
        /// assert!(arena.try_alloc_with(|| 42_u64).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_with<T>(
            &self,
            f: impl FnOnce() -> T,
        ) -> Result<&$lifetime mut T, AllocError> {
            place::with::<T, Explains>(self.chunks(), f).map(Placed::into_mut)
        }

        /// Calls `f`, and moves the value that it returns into the arena, or returns its error.
        ///
        /// If `f` fails, its memory is freed, unless something else was allocated after it. The
        /// value is never dropped.
        ///
        /// # Errors
        ///
        /// Returns the error of `f`.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        pub fn alloc_try_with<T, E>(
            &self,
            f: impl FnOnce() -> Result<T, E>,
        ) -> Result<&$lifetime mut T, E> {
            done(place::try_with::<T, E, Fails>(self.chunks(), f)).map(Placed::into_mut)
        }

        /// Calls `f`, and moves the value that it returns into the arena, if there is room. O(1)
        /// besides `f`.
        ///
        /// Panics only if `f` does, and never aborts. The value is never dropped while it is in the
        /// arena.
        ///
        /// # Errors
        ///
        /// [`Alloc`](AllocOrInitError::Alloc) if there is no room. If the value has at most 16
        /// bytes, `f` was called by then; otherwise it is not called.
        /// [`Init`](AllocOrInitError::Init) with the error of `f`; its memory is freed then, unless
        /// something else was allocated after it.
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
        ) -> Result<&$lifetime mut T, AllocOrInitError<E>> {
            match place::try_with::<T, E, Explains>(self.chunks(), f) {
                Ok(Ok(value)) => Ok(value.into_mut()),
                Ok(Err(error)) => Err(AllocOrInitError::Init(error)),
                Err(error) => Err(AllocOrInitError::Alloc(error)),
            }
        }

        /// Allocates uninitialised memory of this layout, or returns a dangling pointer if its size
        /// is 0.
        ///
        /// The memory is valid for reads and writes as long as a reference from
        /// [`alloc`](Self::alloc) would be.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
            done(place::room_for::<Fails>(self.chunks(), layout))
        }

        /// Allocates uninitialised memory of this layout, if there is room; never panics or aborts.
        ///
        /// Returns a dangling pointer if the size is 0.
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
            place::room_for::<Explains>(self.chunks(), layout)
        }

        // Texts.

        /// Copies a text into the arena. O(n) for n bytes.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_str("flat"), "flat");
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_str(&self, text: &str) -> &$lifetime mut str {
            done(place::copy_str::<Fails>(self.chunks(), text)).into_mut()
        }

        /// Copies a text into the arena, if there is room; never panics or aborts. O(n) for n
        /// bytes.
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
        pub fn try_alloc_str(&self, text: &str) -> Result<&$lifetime mut str, AllocError> {
            place::copy_str::<Explains>(self.chunks(), text).map(Placed::into_mut)
        }

        /// Formats a text into the arena.
        ///
        /// If formatting fails, the memory is freed, unless something else was allocated after it.
        ///
        /// # Panics
        ///
        /// If there is no room (see [`alloc`](Self::alloc)), or a formatter returns an error.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_fmt(format_args!("{}-{}", "flat", 7)), "flat-7");
        /// ```
        #[track_caller]
        pub fn alloc_fmt(&self, text: fmt::Arguments<'_>) -> &$lifetime mut str {
            match vec::format(self, text) {
                Ok(Ok(text)) => text,
                Ok(Err(fmt::Error)) => panic!("a formatting trait implementation returned an error"),
                Err(error) => memory::fail(error),
            }
        }

        /// Formats a text into the arena, if there is room.
        ///
        /// Panics only if a formatter does, and never aborts. On an error the memory is freed,
        /// unless something else was allocated after it.
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
        pub fn try_alloc_fmt(
            &self,
            text: fmt::Arguments<'_>,
        ) -> Result<&$lifetime mut str, fmt::Error> {
            vec::format(self, text).map_err(|_| fmt::Error)?
        }

        // Boxes, which drop their values.

        /// Moves a value into the arena, and returns a box that owns it and drops it. O(1).
        ///
        /// [`unsize!`](crate::unsize) turns it into a box of a trait object.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        pub fn boxed<T>(&self, value: T) -> ArenaBox<$lifetime, T> {
            ArenaBox::of(done(place::put::<T, Fails>(self.chunks(), value)))
        }

        /// Moves a value into the arena, and returns a box that owns and drops it, if there is
        /// room. O(1).
        ///
        /// Never panics or aborts.
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
        pub fn try_boxed<T>(&self, value: T) -> Result<ArenaBox<$lifetime, T>, FullError<T>> {
            match place::put::<T, Refuses>(self.chunks(), value) {
                Ok(value) => Ok(ArenaBox::of(value)),
                Err(value) => Err(FullError(value)),
            }
        }

        /// Allocates `len` values that `f` returns for the indices, and returns a box that drops
        /// them.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        pub fn alloc_boxed_slice<T>(
            &self,
            len: usize,
            f: impl FnMut(usize) -> T,
        ) -> ArenaBox<$lifetime, [T]> {
            ArenaBox::of(done(place::fill::<T, Fails>(self.chunks(), len, f)))
        }

        /// Allocates `len` values that `f` returns for the indices, in a box that drops them, if
        /// there is room.
        ///
        /// Panics only if `f` does, and never aborts.
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
        ) -> Result<ArenaBox<$lifetime, [T]>, AllocError> {
            place::fill::<T, Explains>(self.chunks(), len, f).map(ArenaBox::of)
        }

        // Slices.

        /// Copies a slice into the arena. O(n) for n bytes.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_copy(&[1, 2]), [1, 2]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> &$lifetime mut [T] {
            done(place::copy::<T, Fails>(self.chunks(), values)).into_mut()
        }

        /// Copies a slice into the arena, if there is room; never panics or aborts. O(n) for n
        /// bytes.
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
        pub fn try_alloc_slice_copy<T: Copy>(
            &self,
            values: &[T],
        ) -> Result<&$lifetime mut [T], AllocError> {
            place::copy::<T, Explains>(self.chunks(), values).map(Placed::into_mut)
        }

        /// Clones the values of a slice into the arena.
        ///
        /// If a `clone` panics, the clones made before it are dropped.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_clone(&["flat".to_string()]), ["flat"]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_slice_clone<T: Clone>(&self, values: &[T]) -> &$lifetime mut [T] {
            self.alloc_slice_fill_with(values.len(), |index| values[index].clone())
        }

        /// Clones the values of a slice into the arena, if there is room.
        ///
        /// Panics only if a `clone` does, and never aborts. If a `clone` panics, the clones made
        /// before it are dropped.
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
        pub fn try_alloc_slice_clone<T: Clone>(
            &self,
            values: &[T],
        ) -> Result<&$lifetime mut [T], AllocError> {
            self.try_alloc_slice_fill_with(values.len(), |index| values[index].clone())
        }

        /// Allocates `len` clones of a value.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_fill(2, 7), [7, 7]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_slice_fill<T: Clone>(&self, len: usize, value: T) -> &$lifetime mut [T] {
            self.alloc_slice_fill_with(len, |_| value.clone())
        }

        /// Allocates `len` clones of a value, if there is room.
        ///
        /// Panics only if a `clone` does, and never aborts.
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
        ) -> Result<&$lifetime mut [T], AllocError> {
            self.try_alloc_slice_fill_with(len, |_| value.clone())
        }

        /// Allocates `len` default values.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        pub fn alloc_slice_fill_default<T: Default>(&self, len: usize) -> &$lifetime mut [T] {
            self.alloc_slice_fill_with(len, |_| T::default())
        }

        /// Allocates `len` default values, if there is room.
        ///
        /// Panics only if `default` does, and never aborts.
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
        ) -> Result<&$lifetime mut [T], AllocError> {
            self.try_alloc_slice_fill_with(len, |_| T::default())
        }

        /// Allocates `len` values that `f` returns for the indices.
        ///
        /// They are created in place, so a large array is never on the stack. If `f` panics, the
        /// values created before are dropped.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        pub fn alloc_slice_fill_with<T>(
            &self,
            len: usize,
            f: impl FnMut(usize) -> T,
        ) -> &$lifetime mut [T] {
            done(place::fill::<T, Fails>(self.chunks(), len, f)).into_mut()
        }

        /// Allocates `len` values that `f` returns for the indices, if there is room.
        ///
        /// They are created in place. Panics only if `f` does, and never aborts. If `f` panics, the
        /// values created before are dropped.
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
        ) -> Result<&$lifetime mut [T], AllocError> {
            place::fill::<T, Explains>(self.chunks(), len, f).map(Placed::into_mut)
        }

        /// Allocates `len` values that `f` returns for the indices, or returns its first error.
        ///
        /// If `f` returns an error or panics, the values created before are dropped, and the memory
        /// is freed, unless something else was allocated after it.
        ///
        /// # Errors
        ///
        /// Returns the first error of `f`, which is not called again.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
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
        ) -> Result<&$lifetime mut [T], E> {
            done(place::try_fill::<T, E, Fails>(self.chunks(), len, f)).map(Placed::into_mut)
        }

        /// Allocates `len` values that `f` returns for the indices, if it returns all and there is
        /// room.
        ///
        /// Panics only if `f` does, and never aborts.
        ///
        /// # Errors
        ///
        /// [`Alloc`](AllocOrInitError::Alloc) if there is no room; `f` is not called then.
        /// [`Init`](AllocOrInitError::Init) with the first error of `f`, which is not called again:
        /// the values created before are dropped, and the memory is freed, unless something else
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
        ) -> Result<&$lifetime mut [T], AllocOrInitError<E>> {
            match place::try_fill::<T, E, Explains>(self.chunks(), len, f) {
                Ok(Ok(row)) => Ok(row.into_mut()),
                Ok(Err(error)) => Err(AllocOrInitError::Init(error)),
                Err(error) => Err(AllocOrInitError::Alloc(error)),
            }
        }

        /// Allocates the values of an iterator as a slice.
        ///
        /// The iterator may return any number of values. Its size hint only decides how much memory
        /// is taken at first, and is ignored if there is no room for that many values.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_iter("flat".chars()), ['f', 'l', 'a', 't']);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_slice_iter<T>(
            &self,
            values: impl IntoIterator<Item = T>,
        ) -> &$lifetime mut [T] {
            done(vec::collect::<T, Fails>(self.chunks(), values)).into_mut()
        }

        /// Allocates the values of an iterator as a slice, if there is room.
        ///
        /// The iterator may return any number of values. Panics only if the iterator does, and
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
        ) -> Result<&$lifetime mut [T], AllocError> {
            vec::collect::<T, Explains>(self.chunks(), values).map(Placed::into_mut)
        }

        /// Moves the values of a vector into the arena, in one copy. They are never dropped.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_from_vec(vec![1, 2]), [1, 2]);
        /// ```
        #[track_caller]
        #[expect(clippy::disallowed_types, reason = "the vector is the user's")]
        pub fn alloc_slice_from_vec<T>(&self, mut values: Vec<T>) -> &$lifetime mut [T] {
            done(place::take::<T, Fails>(self.chunks(), &mut values)).into_mut()
        }

        /// Moves the values of a vector into the arena in one copy, if there is room; never panics
        /// or aborts.
        ///
        /// The values are never dropped while they are in the arena.
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
        ) -> Result<&$lifetime mut [T], FullError<Vec<T>>> {
            match place::take::<T, Refuses>(self.chunks(), &mut values) {
                Ok(row) => Ok(row.into_mut()),
                Err(()) => Err(FullError(values)),
            }
        }

        // Arrays, whose length is a part of their type. They are built in the arena, value by
        // value: an array that is returned by value lies on the stack first. The names are those of
        // the slices, as in `stumpalo`.

        /// Copies an array into the arena. O(n) for n bytes.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let mut arena = flatslab::bump::Arena::new();
        /// let array: &mut [u8; 2] = arena.alloc_sized_slice_copy(&[1, 2]);
        /// assert_eq!(array, &[1, 2]);
        /// assert_eq!(arena.as_scope().alloc_sized_slice_copy(&[1, 2]), &[1, 2]);
        /// ```
        #[doc(alias = "alloc_array_copy")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_copy<T: Copy, const N: usize>(
            &self,
            values: &[T; N],
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_copy(values))
        }

        /// Copies an array into the arena, if there is room; never panics or aborts. O(n) for n
        /// bytes.
        ///
        /// # Errors
        ///
        /// If there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_sized_slice_copy(&[1_u64]).is_ok());
        /// assert!(arena.try_alloc_sized_slice_copy(&[1_u64]).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_copy<T: Copy, const N: usize>(
            &self,
            values: &[T; N],
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_copy(values).map(sized)
        }

        /// Clones the values of an array into the arena.
        ///
        /// If a `clone` panics, the clones made before it are dropped.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_sized_slice_clone(&["flat".to_string()]), &["flat"]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_clone<T: Clone, const N: usize>(
            &self,
            values: &[T; N],
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_clone(values))
        }

        /// Clones the values of an array into the arena, if there is room.
        ///
        /// Panics only if a `clone` does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; no `clone` is called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_sized_slice_clone(&["flat"]).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_clone<T: Clone, const N: usize>(
            &self,
            values: &[T; N],
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_clone(values).map(sized)
        }

        /// Allocates an array of default values.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let zeroes = arena.alloc_sized_slice_fill_default::<u64, 2>();
        /// assert_eq!(zeroes, &[0, 0]);
        /// ```
        #[doc(alias = "alloc_array_fill_default")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_fill_default<T: Default, const N: usize>(
            &self,
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_fill_default(N))
        }

        /// Allocates an array of default values, if there is room.
        ///
        /// Panics only if `default` does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; `default` is not called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_sized_slice_fill_default::<u64, 2>().is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_fill_default<T: Default, const N: usize>(
            &self,
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_fill_default(N).map(sized)
        }

        /// Allocates an array of the values that `f` returns for the indices.
        ///
        /// They are created in place. If `f` panics, the values created before are dropped.
        ///
        /// # Panics
        ///
        /// If there is no room; see [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let squares = arena.alloc_sized_slice_fill_with::<_, 3>(|index| index * index);
        /// assert_eq!(squares, &[0, 1, 4]);
        /// ```
        #[doc(alias = "alloc_array_fill_with")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_fill_with<T, const N: usize>(
            &self,
            f: impl FnMut(usize) -> T,
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_fill_with(N, f))
        }

        /// Allocates an array of the values that `f` returns for the indices, if there is room.
        ///
        /// Panics only if `f` does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; `f` is not called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_sized_slice_fill_with::<_, 9>(|index| index as u8).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_fill_with<T, const N: usize>(
            &self,
            f: impl FnMut(usize) -> T,
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_fill_with(N, f).map(sized)
        }
    };
}

#[allow(
    clippy::mut_from_ref,
    reason = "the memory of each reference is handed out once"
)]
impl Arena {
    #[inline]
    pub(super) fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    allocations!('_);
}

/// Allocations from a scope live for `'s`. These methods are the same as those of [`Arena`], and
/// their examples use an arena; [`Arena::as_scope`] and [`Arena::scope`] create scopes.
impl<'s> Scope<'s, '_> {
    #[inline]
    pub(super) fn chunks(&self) -> &'s Chunks {
        &self.arena.chunks
    }

    allocations!('s);
}

/// The slice of `N` values as an array. Where it is inlined, the compiler knows that the lengths
/// are equal.
#[inline]
fn sized<T, const N: usize>(values: &mut [T]) -> &mut [T; N] {
    values.try_into().expect("a slice of N values")
}

/// The error of a fallible closure in an arena: there was no room, or the closure returned an
/// error. The name is from `bumpalo`.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{AllocOrInitError, Arena};
///
/// let error = Arena::bounded(0).try_alloc_try_with(|| "7".parse::<u8>()).unwrap_err();
/// assert_eq!(error.to_string(), "memory limit of 0 bytes has no room for 1 byte more");
/// let error = Arena::new().try_alloc_try_with(|| "x".parse::<u8>()).unwrap_err();
/// assert_eq!(error.to_string(), "closure failed: invalid digit found in string");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocOrInitError<E> {
    /// There is no room.
    Alloc(AllocError),
    /// The error of the closure.
    Init(E),
}

impl<E: fmt::Display> fmt::Display for AllocOrInitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocOrInitError::Alloc(error) => error.fmt(f),
            AllocOrInitError::Init(error) => write!(f, "closure failed: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for AllocOrInitError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` writes the error itself, so the next cause is its own.
            AllocOrInitError::Alloc(error) => error.source(),
            AllocOrInitError::Init(error) => error.source(),
        }
    }
}

impl<E> From<AllocError> for AllocOrInitError<E> {
    fn from(error: AllocError) -> Self {
        AllocOrInitError::Alloc(error)
    }
}
