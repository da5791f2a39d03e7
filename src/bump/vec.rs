//! `ArenaVec`: a vector in an arena; its iterator, and `collect_in`, which makes one of an iterator.
//!
//! # Invariants
//!
//! * `vec-room`: `start` has room for `capacity` values, which was taken from the arena unless its
//!   size is 0; the first `len` are initialised.
//! * `vec-memory-stays`: memory that is taken from the arena while it is borrowed for `'a` stays
//!   for `'s`. With a scope, `'a` is shorter: a vector that lived for `'s` could grow while an
//!   inner scope is open, whose end would free that memory.

use core::borrow::{Borrow, BorrowMut};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut, Range};
use core::ptr::NonNull;

use super::boxed::ArenaBox;
use super::chunks::{Chunks, Explains, Fails, Refusal, Refuses, done};
use super::place::{self, Placed};
use super::{Arena, Scope};
use crate::error::{AllocError, FullError};
use crate::raw::memory;

/// A vector in an arena, for collecting values and for formatting.
///
/// It grows in place if nothing was allocated after it, and moves otherwise. Dropping it frees its
/// memory if nothing was allocated after it. Its other memory, such as that it has moved from, is
/// freed when the arena is reset or the scope ends.
///
/// `'a` is the borrow of the arena or scope that the vector allocates from when it grows. `'s` is
/// the lifetime of allocations there: the `'s` of a [`Scope`], and `'a` for an arena. The values
/// are dropped with the vector, or stay for `'s` [as a slice](Self::into_slice).
///
/// For `drain`, `dedup` and the like, use the `Vec` of `allocator_api2` with `&Arena` as its
/// allocator (feature `allocator-api2`). [`collect_in`](CollectIn::collect_in) makes a vector of an
/// iterator.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, ArenaVec};
///
/// let arena = Arena::new();
/// let mut vec = ArenaVec::new_in(&arena);
/// vec.extend([1, 2, 3]);
/// vec.push(4);
/// assert_eq!(vec.iter().sum::<u64>(), 10);
/// let slice: &mut [u64] = vec.into_slice();
/// assert_eq!(slice, [1, 2, 3, 4]);
/// ```
pub struct ArenaVec<'a, 's, T> {
    chunks: &'a Chunks,
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    values: PhantomData<T>,
    memory: PhantomData<&'s ()>,
}

/// A reference that an [`ArenaVec`] can allocate from: `&'a Arena`, where `'s` is `'a`, or
/// `&'a Scope<'s, '_>`. Sealed.
pub trait InArena<'a, 's> {
    /// The chunks, whose allocations stay (`vec-memory-stays`).
    #[doc(hidden)]
    fn chunks(self) -> &'a Chunks;
}

impl<'a> InArena<'a, 'a> for &'a Arena {
    fn chunks(self) -> &'a Chunks {
        &self.chunks
    }
}

impl<'a, 's> InArena<'a, 's> for &'a Scope<'s, '_> {
    fn chunks(self) -> &'a Chunks {
        &self.arena.chunks
    }
}

impl<'a, 's, T> ArenaVec<'a, 's, T> {
    /// Creates an empty vector; allocates nothing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::new_in(&arena).is_empty());
    /// ```
    #[must_use]
    pub fn new_in(arena: impl InArena<'a, 's>) -> Self {
        Self::in_chunks(arena.chunks())
    }

    /// References from this vector live for `'s`, as the memory of the chunks does
    /// (`vec-memory-stays`).
    pub(super) fn in_chunks(chunks: &'a Chunks) -> Self {
        ArenaVec {
            chunks,
            start: NonNull::dangling(),
            len: 0,
            capacity: 0,
            values: PhantomData,
            memory: PhantomData,
        }
    }

    pub(super) fn chunks(&self) -> &'a Chunks {
        self.chunks
    }

    /// Creates an empty vector with room for at least `capacity` values.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::with_capacity_in(8, &arena).capacity() >= 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_in(capacity: usize, arena: impl InArena<'a, 's>) -> Self {
        let mut vec = Self::new_in(arena);
        vec.reserve(capacity);
        vec
    }

    /// Returns the number of values that the vector can hold without growing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert_eq!(ArenaVec::<()>::new_in(&arena).capacity(), usize::MAX);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        if size_of::<T>() == 0 {
            usize::MAX
        } else {
            self.capacity
        }
    }

    /// Reserves room for at least `additional` more values.
    ///
    /// The capacity at least doubles when it grows, so that the cost is amortized, as with `Vec`.
    ///
    /// # Panics
    ///
    /// If the size exceeds `isize::MAX` bytes, a bounded arena is full, or the limit is reached. If
    /// the allocator refuses, the program aborts, as with `Vec`.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::<u64>::new_in(&arena);
    /// vec.reserve(8);
    /// assert!(vec.capacity() >= 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves room for at least `additional` more values; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`reserve`](Self::reserve) would panic, or the allocator refuses. The vector is unchanged
    /// then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::new_in(&arena).try_reserve(usize::MAX).is_err());
    /// ```
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional <= self.capacity() - self.len {
            return Ok(());
        }
        self.grow(additional)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<(), AllocError> {
        let too_many = AllocError::TooManyBytes {
            slots: additional,
            slot_bytes: size_of::<T>(),
        };
        let needed = self.len.checked_add(additional).ok_or(too_many)?;
        // Four at first, but not of large values.
        let first = (256 / size_of::<T>().max(1)).clamp(1, 4);
        let usual = needed.max(self.capacity.saturating_mul(2)).max(first);
        // In a bounded arena the rest may be just enough.
        self.grow_to(usual).or_else(|error| match usual > needed {
            true => self.grow_to(needed),
            false => Err(error),
        })
    }

    /// Makes room for `capacity` values, more than the present capacity.
    fn grow_to(&mut self, capacity: usize) -> Result<(), AllocError> {
        if self.resize(capacity).is_some() {
            return Ok(());
        }
        let start = place::rooms::<T, Explains>(self.chunks, capacity)?;
        // SAFETY: there are `len` values (`vec-room`). They move to room that was just taken, which
        // is larger, and does not overlap the old room.
        unsafe { start.copy_from_nonoverlapping(self.start, self.len) };
        self.start = start;
        self.capacity = capacity;
        Ok(())
    }

    /// Changes the room in place, if it can be, to that of `capacity` values, or of those there
    /// are.
    fn resize(&mut self, capacity: usize) -> Option<()> {
        let capacity = capacity.max(self.len);
        let (old, new) = (
            self.capacity * size_of::<T>(),
            capacity.checked_mul(size_of::<T>())?,
        );
        if old > 0 {
            // SAFETY: taken with the size `old` (`vec-room`); past `new` there are no values.
            unsafe { self.chunks.resize(self.start.cast(), old, new) }?;
            self.capacity = capacity;
            return Some(());
        }
        None
    }

    /// Appends a value. Amortized O(1).
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// assert_eq!(*vec, [7]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        done(self.push_or::<Fails>(value));
    }

    /// Appends a value, or returns it if there is no room; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no room.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert_eq!(ArenaVec::new_in(&arena).try_push(7).unwrap_err().into_inner(), 7);
    /// ```
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), FullError<T>> {
        self.push_or::<Refuses>(value).map_err(FullError)
    }

    /// Appends a value.
    ///
    /// # Errors
    ///
    /// If there is no room: what `F` makes of that and of the value.
    #[inline]
    #[track_caller]
    fn push_or<F: Refusal>(&mut self, value: T) -> Result<(), F::Refused<T>> {
        if let Err(error) = self.try_reserve(1) {
            return Err(F::refused(F::refuse(error), value));
        }
        // SAFETY: there is room for one more value (`vec-room`), which was just reserved.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Removes the last value and returns it. O(1).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// assert_eq!((vec.pop(), vec.pop()), (Some(7), None));
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the value is initialised (`vec-room`); it is not counted any more, so it is read
        // once.
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Inserts a value at an index, and moves the later values up. O(n) for n later values.
    ///
    /// # Panics
    ///
    /// If the index exceeds the length, or there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// let mut vec = [1, 3].into_iter().collect_in(&arena);
    /// vec.insert(1, 2);
    /// assert_eq!(vec, [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        done(self.insert_or::<Fails>(index, value));
    }

    /// Inserts a value at an index, or returns it if there is no room; never aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no room.
    ///
    /// # Panics
    ///
    /// If the index exceeds the length.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert_eq!(ArenaVec::new_in(&arena).try_insert(0, 7).unwrap_err().into_inner(), 7);
    /// ```
    #[track_caller]
    pub fn try_insert(&mut self, index: usize, value: T) -> Result<(), FullError<T>> {
        self.insert_or::<Refuses>(index, value).map_err(FullError)
    }

    #[track_caller]
    fn insert_or<F: Refusal>(&mut self, index: usize, value: T) -> Result<(), F::Refused<T>> {
        let len = self.len;
        assert!(
            index <= len,
            "index {index} is out of bounds for an insertion into a vector of length {len}"
        );
        if let Err(error) = self.try_reserve(1) {
            return Err(F::refused(F::refuse(error), value));
        }
        // SAFETY: there is room for one more value (`vec-room`), which was just reserved, so the
        // values from `index` on may move up by one; the value takes the place of the first.
        unsafe {
            let place = self.start.add(index);
            place.add(1).copy_from(place, len - index);
            place.write(value);
        }
        self.len = len + 1;
        Ok(())
    }

    /// Removes the value at an index and returns it, and moves the later values down. O(n) for n
    /// later values.
    ///
    /// # Panics
    ///
    /// If there is no such value.
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// let mut vec = [1, 2, 3].into_iter().collect_in(&arena);
    /// assert_eq!(vec.remove(0), 1);
    /// assert_eq!(vec, [2, 3]);
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        self.check_index(index);
        self.len -= 1;
        // SAFETY: the value is initialised (`vec-room`). It is read once, because the later ones
        // move down over its place, and the last place is not counted any more.
        unsafe {
            let place = self.start.add(index);
            let value = place.read();
            place.copy_from(place.add(1), self.len - index);
            value
        }
    }

    /// Removes the value at an index and returns it, and moves the last value there. O(1).
    ///
    /// # Panics
    ///
    /// If there is no such value.
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// let mut vec = [1, 2, 3].into_iter().collect_in(&arena);
    /// assert_eq!(vec.swap_remove(0), 1);
    /// assert_eq!(vec, [3, 2]);
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        self.check_index(index);
        let last = self.len - 1;
        self.swap(index, last);
        self.pop().expect("there is a last value")
    }

    #[track_caller]
    fn check_index(&self, index: usize) {
        let len = self.len;
        assert!(
            index < len,
            "index {index} is out of bounds for a removal from a vector of length {len}"
        );
    }

    /// Drops the values for which `keep` returns `false`, and keeps the order of the others. O(n)
    /// for n values.
    ///
    /// If `keep` or a destructor panics, the values that were not looked at are kept.
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// let mut vec = (0..6).collect_in(&arena);
    /// vec.retain(|number| number % 2 == 0);
    /// assert_eq!(vec, [0, 2, 4]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|value| keep(value));
    }

    /// Drops the values for which `keep` returns `false`, like [`retain`](Self::retain); it may
    /// change the values.
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// let mut vec = (0..6).collect_in(&arena);
    /// vec.retain_mut(|number| {
    ///     *number += 1;
    ///     *number % 2 == 0
    /// });
    /// assert_eq!(vec, [2, 4, 6]);
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        /// The first `kept` values of the vector are initialised, and those from `next` on. The drop
        /// of this, also in a panic, puts the second after the first.
        struct Retained<'v, 'a, 's, T> {
            vec: &'v mut ArenaVec<'a, 's, T>,
            kept: usize,
            next: usize,
        }

        impl<T> Drop for Retained<'_, '_, '_, T> {
            fn drop(&mut self) {
                let left = self.vec.len - self.next;
                // SAFETY: those that are left are initialised, and move down to places without a
                // value, after those that are kept.
                unsafe {
                    let start = self.vec.start;
                    let rest = start.add(self.next);
                    start.add(self.kept).copy_from(rest, left);
                }
                self.vec.len = self.kept + left;
            }
        }

        let mut it = Retained {
            vec: self,
            kept: 0,
            next: 0,
        };
        while it.next < it.vec.len {
            // SAFETY: initialised, and no one else refers to it.
            let mut value = unsafe { it.vec.start.add(it.next) };
            // SAFETY: as above. If it panics, the value is left.
            let keeps = keep(unsafe { value.as_mut() });
            it.next += 1;
            // SAFETY: the value is not left any more: it moves down to a place without one, and is
            // kept, or is dropped once.
            unsafe {
                if keeps {
                    it.vec.start.add(it.kept).copy_from(value, 1);
                    it.kept += 1;
                } else {
                    value.drop_in_place();
                }
            }
        }
    }

    /// Drops all values after the first `len`, even if a destructor panics.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.extend([1, 2, 3]);
    /// vec.truncate(1);
    /// assert_eq!(*vec, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        let Some(count) = self.len.checked_sub(len) else {
            return;
        };
        self.len = len;
        // SAFETY: the values are initialised (`vec-room`); they are not counted any more, so they
        // are dropped once.
        unsafe {
            NonNull::slice_from_raw_parts(self.start.add(len), count).drop_in_place();
        }
    }

    /// Drops all values, and keeps the capacity.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// vec.clear();
    /// assert!(vec.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Appends a copy of each value. O(n) for n values.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.extend_from_slice(b"flat");
    /// assert_eq!(*vec, *b"flat");
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        if let Err(error) = self.try_extend_from_slice(values) {
            memory::fail(error);
        }
    }

    /// Appends a copy of each value, if there is room for all; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; no value is appended then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert!(ArenaVec::new_in(&arena).try_extend_from_slice(b"flat").is_err());
    /// ```
    pub fn try_extend_from_slice(&mut self, values: &[T]) -> Result<(), AllocError>
    where
        T: Copy,
    {
        self.try_reserve(values.len())?;
        // SAFETY: room for that many values was just reserved. `values` is borrowed while the
        // vector is borrowed mutably, so the two are apart.
        unsafe {
            let end = self.start.add(self.len).as_ptr();
            end.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        self.len += values.len();
        Ok(())
    }

    /// Returns the values as a slice that lives as long as allocations of the arena or the scope.
    /// O(1).
    ///
    /// The values are never dropped. Unused capacity is freed if nothing was allocated after it.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec, Scope};
    ///
    /// // The slice outlives the borrow of the scope that the vector had.
    /// fn digits<'s>(scope: &Scope<'s, '_>, text: &str) -> &'s mut [u32] {
    ///     let mut vec = ArenaVec::new_in(scope);
    ///     vec.extend(text.chars().filter_map(|it| it.to_digit(10)));
    ///     vec.into_slice()
    /// }
    ///
    /// let mut arena = Arena::new();
    /// let mut root = arena.as_scope();
    /// let kept = digits(&root, "1, 2");
    /// root.scope(|inner| kept[0] += digits(&inner, "7")[0]);
    /// assert_eq!(kept, [8, 2]);
    /// ```
    #[doc(alias("into_bump_slice", "into_boxed_slice"))]
    pub fn into_slice(self) -> &'s mut [T] {
        self.into_row().into_mut()
    }

    /// Returns the values as a boxed slice, which drops them. O(1).
    ///
    /// Like [`into_slice`](Self::into_slice), it frees unused capacity if nothing was allocated
    /// after it.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaBox, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push("flat".to_string());
    /// let boxed: ArenaBox<'_, [String]> = vec.into_boxed_slice();
    /// assert_eq!(*boxed, ["flat"]);
    /// ```
    pub fn into_boxed_slice(self) -> ArenaBox<'s, [T]> {
        ArenaBox::of(self.into_row())
    }

    pub(super) fn into_row(self) -> Placed<'s, [T]> {
        let mut vec = ManuallyDrop::new(self);
        let _ = vec.resize(0);
        let row = NonNull::slice_from_raw_parts(vec.start, vec.len);
        // SAFETY: the values are initialised (`vec-room`), in memory that the vector alone owned,
        // and that stays for `'s` (`vec-memory-stays`); the vector ends without a drop.
        unsafe { Placed::new(row) }
    }
}

impl<T> Deref for ArenaVec<'_, '_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialised (`vec-room`), and the vector is borrowed.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_ref() }
    }
}

impl<T> DerefMut for ArenaVec<'_, '_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the vector is borrowed mutably.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_mut() }
    }
}

/// Drops the values, and frees the memory if nothing was allocated after it and no destructor
/// panics.
impl<T> Drop for ArenaVec<'_, '_, T> {
    fn drop(&mut self) {
        // First the values: their destructors may allocate.
        self.clear();
        let _ = self.resize(0);
    }
}

// SAFETY: a shared vector gives shared access to its values alone. It is not `Send`, so only
// its own thread makes it grow.
unsafe impl<T: Sync> Sync for ArenaVec<'_, '_, T> {}

impl<T> Extend<T> for ArenaVec<'_, '_, T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        // A hint may be too high, and the values may fit all the same.
        let _ = self.try_reserve(values.size_hint().0);
        for value in values {
            self.push(value);
        }
    }
}

impl<'c, T: Copy + 'c> Extend<&'c T> for ArenaVec<'_, '_, T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'c T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl<'v, T> IntoIterator for &'v ArenaVec<'_, '_, T> {
    type Item = &'v T;
    type IntoIter = core::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'v, T> IntoIterator for &'v mut ArenaVec<'_, '_, T> {
    type Item = &'v mut T;
    type IntoIter = core::slice::IterMut<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'a, 's, T> IntoIterator for ArenaVec<'a, 's, T> {
    type Item = T;
    type IntoIter = ArenaVecIntoIter<'a, 's, T>;

    fn into_iter(mut self) -> Self::IntoIter {
        let left = 0..core::mem::take(&mut self.len);
        ArenaVecIntoIter { vec: self, left }
    }
}

/// An iterator over the values of an [`ArenaVec`], from its `into_iter`.
///
/// Dropping it drops the values that are left, and frees the memory if nothing was allocated after
/// it.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, CollectIn};
///
/// let arena = Arena::new();
/// let names = ["a", "b"].map(String::from).into_iter().collect_in(&arena);
/// let owned: Vec<String> = names.into_iter().rev().collect();
/// assert_eq!(owned, ["b", "a"]);
/// ```
#[must_use = "iterators are lazy"]
pub struct ArenaVecIntoIter<'a, 's, T> {
    /// Its length is 0. The values at `left` are initialised (`vec-room`), and this iterator's.
    vec: ArenaVec<'a, 's, T>,
    left: Range<usize>,
}

impl<T> ArenaVecIntoIter<'_, '_, T> {
    /// The values that are left.
    fn as_row(&self) -> NonNull<[T]> {
        // SAFETY: within the room, or at its end (`vec-room`).
        let first = unsafe { self.vec.start.add(self.left.start) };
        NonNull::slice_from_raw_parts(first, self.left.len())
    }
}

impl<T> Iterator for ArenaVecIntoIter<'_, '_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let index = self.left.next()?;
        // SAFETY: the value was left, and is not any more, so it is read once.
        Some(unsafe { self.vec.start.add(index).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> DoubleEndedIterator for ArenaVecIntoIter<'_, '_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let index = self.left.next_back()?;
        // SAFETY: as in `next`.
        Some(unsafe { self.vec.start.add(index).read() })
    }
}

impl<T> ExactSizeIterator for ArenaVecIntoIter<'_, '_, T> {}
impl<T> FusedIterator for ArenaVecIntoIter<'_, '_, T> {}

impl<T> Drop for ArenaVecIntoIter<'_, '_, T> {
    fn drop(&mut self) {
        let rest = self.as_row();
        // Before a destructor may panic.
        self.left = 0..0;
        // SAFETY: they were left, and are not any more, so they are dropped once. The vector frees
        // its memory afterwards.
        unsafe { rest.drop_in_place() };
    }
}

/// Prints the values that are left.
impl<T: fmt::Debug> fmt::Debug for ArenaVecIntoIter<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: they are initialised, and this is borrowed.
        unsafe { self.as_row().as_ref() }.fmt(f)
    }
}

/// Collects the values of an iterator into a vector of an arena or a scope. Implemented for every
/// iterator.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, ArenaVec, CollectIn};
///
/// let arena = Arena::new();
/// let squares: ArenaVec<'_, '_, u64> = (0..4).map(|number| number * number).collect_in(&arena);
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
pub trait CollectIn: Iterator + Sized {
    /// Collects the values into a vector. O(n) for n values.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`ArenaVec::reserve`].
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::new();
    /// assert_eq!("flat".chars().collect_in(&arena), ['f', 'l', 'a', 't']);
    /// ```
    #[track_caller]
    #[must_use = "the vector has the values"]
    #[doc(alias = "from_iter_in")]
    fn collect_in<'a, 's>(self, arena: impl InArena<'a, 's>) -> ArenaVec<'a, 's, Self::Item> {
        done(collect_vec::<_, Fails>(arena.chunks(), self))
    }

    /// Collects the values into a vector, if there is room. Panics only if the iterator does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; the values collected so far are dropped then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, CollectIn};
    ///
    /// let arena = Arena::bounded(16);
    /// assert!((0..2_u64).try_collect_in(&arena).is_ok());
    /// assert!((0..3_u64).try_collect_in(&arena).is_err());
    /// ```
    fn try_collect_in<'a, 's>(
        self,
        arena: impl InArena<'a, 's>,
    ) -> Result<ArenaVec<'a, 's, Self::Item>, AllocError> {
        collect_vec::<_, Explains>(arena.chunks(), self)
    }
}

impl<I: Iterator> CollectIn for I {}

impl<T> AsRef<[T]> for ArenaVec<'_, '_, T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for ArenaVec<'_, '_, T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Borrow<[T]> for ArenaVec<'_, '_, T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T> BorrowMut<[T]> for ArenaVec<'_, '_, T> {
    fn borrow_mut(&mut self) -> &mut [T] {
        self
    }
}

/// Comparisons of the values, those that `Vec` has.
macro_rules! compare {
    ($([$($generics:tt)*] $left:ty, $right:ty;)+) => {$(
        impl<T: PartialEq<U>, U, $($generics)*> PartialEq<$right> for $left {
            fn eq(&self, other: &$right) -> bool {
                self[..] == other[..]
            }
        }
    )+};
}

compare! {
    [] ArenaVec<'_, '_, T>, ArenaVec<'_, '_, U>;
    [] ArenaVec<'_, '_, T>, [U];
    [] ArenaVec<'_, '_, T>, &[U];
    [] ArenaVec<'_, '_, T>, &mut [U];
    [const N: usize] ArenaVec<'_, '_, T>, [U; N];
    [const N: usize] ArenaVec<'_, '_, T>, &[U; N];
    [] [T], ArenaVec<'_, '_, U>;
    [] &[T], ArenaVec<'_, '_, U>;
    [] &mut [T], ArenaVec<'_, '_, U>;
}

impl<T: Eq> Eq for ArenaVec<'_, '_, T> {}

impl<T: PartialOrd> PartialOrd for ArenaVec<'_, '_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for ArenaVec<'_, '_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

/// Hashes the values as a slice does.
impl<T: Hash> Hash for ArenaVec<'_, '_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// Appends the bytes of the text, so that `write!` formats into the vector. Returns an error if
/// there is no room.
impl fmt::Write for ArenaVec<'_, '_, u8> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Appends all bytes ([`std::io::Write`]), or none if the arena has no room
/// ([`OutOfMemory`](std::io::ErrorKind::OutOfMemory)). A program that imports both traits named `Write`
/// says which one `write!` takes.
#[cfg(feature = "std")]
impl std::io::Write for ArenaVec<'_, '_, u8> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.try_extend_from_slice(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(std::io::ErrorKind::OutOfMemory.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints the values.
impl<T: fmt::Debug> fmt::Debug for ArenaVec<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Collects the values of an iterator as a slice.
///
/// # Errors
///
/// If there is no room; the values collected so far are dropped then.
#[track_caller]
pub(super) fn collect<T, F: Refusal>(
    chunks: &Chunks,
    values: impl IntoIterator<Item = T>,
) -> Result<Placed<'_, [T]>, F::Error> {
    collect_vec::<T, F>(chunks, values).map(ArenaVec::into_row)
}

/// Like [`collect`], as a vector.
#[track_caller]
fn collect_vec<'a, 's, T, F: Refusal>(
    chunks: &'a Chunks,
    values: impl IntoIterator<Item = T>,
) -> Result<ArenaVec<'a, 's, T>, F::Error> {
    let mut values = chunks.run(|| values.into_iter());
    let mut vec = ArenaVec::in_chunks(chunks);
    let least = chunks.run(|| values.size_hint().0);
    // A hint may be too high, and the values may fit all the same.
    let _ = vec.try_reserve(least);
    while let Some(value) = chunks.run(|| values.next()) {
        vec.push_or::<F>(value).map_err(F::error)?;
    }
    chunks.run(|| drop(values));
    Ok(vec)
}

/// A function and not `map_err`, which would lose the caller's location.
/// Formats a text in the arena. The inner result is that of the formatter.
///
/// # Errors
///
/// If there is no room.
pub(super) fn format<'a, 's>(
    arena: impl InArena<'a, 's>,
    text: fmt::Arguments<'_>,
) -> Result<Result<&'s mut str, fmt::Error>, AllocError> {
    /// With the error of the arena, which `fmt::Error` has no room for.
    struct Sink<'a, 's>(ArenaVec<'a, 's, u8>, Option<AllocError>);

    impl fmt::Write for Sink<'_, '_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.chunks().goes_on();
            let added = self.0.try_extend_from_slice(text.as_bytes());
            added.map_err(|error| {
                self.1 = Some(error);
                fmt::Error
            })
        }
    }

    let mut sink = Sink(ArenaVec::new_in(arena), None);
    let chunks = sink.0.chunks();
    let written = chunks.run(|| fmt::Write::write_fmt(&mut sink, text));
    if let Some(error) = sink.1 {
        return Err(error);
    }
    // SAFETY: whole `str`s were pushed, and nothing else.
    Ok(written.map(|()| unsafe { core::str::from_utf8_unchecked_mut(sink.0.into_slice()) }))
}
