//! `ArenaVec`: a vector in an arena.
//!
//! # Invariants
//!
//! * E1: `start` has room for `capacity` values, taken from the arena unless the room has
//!   no size; the first `len` are initialised.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::boxed::ArenaBox;
use super::chunks::Chunks;
use super::place;
use super::refusal::Explains;
use super::{Arena, Scope};
use crate::error::{AllocError, Full};
use crate::raw::memory;

/// A vector in an arena: it grows where it stands while nothing else was allocated after
/// it, and else moves. When it is dropped its room is given back if nothing was allocated
/// after it. Other room that it leaves is the arena's, which has it back with the next
/// reset, or with the end of the scope.
///
/// It borrows the arena or scope that it was made of, for it allocates when it grows. Its
/// values are dropped with it, or stay, [as a slice](Self::into_slice).
///
/// It is for what is collected or formatted. What it lacks of `Vec`, as `insert`, `retain` and
/// iteration by value, the `Vec` of `allocator_api2` has, with the feature of that name and
/// `&Arena` as its allocator.
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
pub struct ArenaVec<'a, T> {
    chunks: &'a Chunks,
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    values: PhantomData<T>,
}

/// Where an [`ArenaVec`] can be made: `&Arena`, `&Scope`. Sealed.
pub trait InArena<'a>: sealed::InArena<'a> {}

mod sealed {
    use super::{Arena, Chunks, Scope};

    pub trait InArena<'a> {
        fn chunks(self) -> &'a Chunks;
    }

    impl<'a> InArena<'a> for &'a Arena {
        fn chunks(self) -> &'a Chunks {
            &self.chunks
        }
    }

    impl<'a> InArena<'a> for &'a Scope<'_, '_> {
        fn chunks(self) -> &'a Chunks {
            &self.arena.chunks
        }
    }
}

impl<'a> InArena<'a> for &'a Arena {}
impl<'a> InArena<'a> for &'a Scope<'_, '_> {}

impl<'a, T> ArenaVec<'a, T> {
    /// An empty vector; allocates nothing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::new_in(&arena).is_empty());
    /// ```
    #[must_use]
    pub fn new_in(arena: impl InArena<'a>) -> Self {
        Self::in_chunks(arena.chunks())
    }

    pub(super) fn in_chunks(chunks: &'a Chunks) -> Self {
        ArenaVec {
            chunks,
            start: NonNull::dangling(),
            len: 0,
            capacity: 0,
            values: PhantomData,
        }
    }

    pub(super) fn chunks(&self) -> &'a Chunks {
        self.chunks
    }

    /// An empty vector with room for so many values.
    ///
    /// # Panics
    ///
    /// As [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::with_capacity_in(8, &arena).capacity() >= 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_in(capacity: usize, arena: impl InArena<'a>) -> Self {
        let mut vec = Self::new_in(arena);
        vec.reserve(capacity);
        vec
    }

    /// How many values there is room for without growth.
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

    /// Makes room for so many values more; amortized as of `Vec`.
    ///
    /// # Panics
    ///
    /// If the bytes pass `isize::MAX`, or a bounded arena is full. Where the allocator
    /// refuses the program ends, as with `Vec`.
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

    /// Makes room for so many values more; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`reserve`](Self::reserve) panics, or the allocator refuses; the vector is
    /// as it was then.
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
        // In a bounded arena the last bit may be just enough.
        self.grow_to(usual).or_else(|error| match usual > needed {
            true => self.grow_to(needed),
            false => Err(error),
        })
    }

    /// Room for so many values, which is more than there is.
    fn grow_to(&mut self, capacity: usize) -> Result<(), AllocError> {
        let bytes = capacity.checked_mul(size_of::<T>());
        if let Some(bytes) = bytes {
            let old = self.capacity * size_of::<T>();
            // SAFETY: taken with that size, by E1.
            if old > 0 && unsafe { self.chunks.resize(self.start.cast(), old, bytes) }.is_some() {
                self.capacity = capacity;
                return Ok(());
            }
        }
        let start = place::rooms::<T, Explains>(self.chunks, capacity)?;
        // SAFETY: by E1 the values are initialised; they move to fresh room.
        unsafe { start.copy_from_nonoverlapping(self.start, self.len) };
        self.start = start;
        self.capacity = capacity;
        Ok(())
    }

    /// Adds a value at the end; O(1) amortized.
    ///
    /// # Panics
    ///
    /// As [`reserve`](Self::reserve).
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
        self.reserve(1);
        // SAFETY: there is room for one more.
        unsafe { self.push_within(value) };
    }

    /// Adds a value at the end; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Gives the value back where there is no room.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert_eq!(ArenaVec::new_in(&arena).try_push(7).unwrap_err().into_inner(), 7);
    /// ```
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), Full<T>> {
        if self.try_reserve(1).is_err() {
            return Err(Full(value));
        }
        // SAFETY: there is room for one more.
        unsafe { self.push_within(value) };
        Ok(())
    }

    /// # Safety
    ///
    /// There is room.
    #[inline(always)]
    unsafe fn push_within(&mut self, value: T) {
        // SAFETY: says the caller; by E1 the place is not initialised.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
    }

    /// Removes the last value; O(1).
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
        // SAFETY: by E1 it was initialised, and is no longer counted.
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Drops all values but the first `len`; also if the destructor of one panics.
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
        // SAFETY: by E1 initialised, and no longer counted.
        unsafe {
            NonNull::slice_from_raw_parts(self.start.add(len), count).drop_in_place();
        }
    }

    /// Drops all values; the room stays.
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

    /// Adds a copy of each value; O(values).
    ///
    /// # Panics
    ///
    /// As [`reserve`](Self::reserve).
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

    /// Adds a copy of each value; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where there is no room; none is added then.
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
        // SAFETY: there is room for as many, and `values` is not in it, for it is
        // borrowed while the vector is mutably.
        unsafe {
            let end = self.start.add(self.len).as_ptr();
            end.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        self.len += values.len();
        Ok(())
    }

    /// The values, for as long as the vector would have borrowed the arena; they are not
    /// dropped. O(1); what was room for more is given back if nothing was allocated
    /// since.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// assert_eq!(vec.into_slice(), [7]);
    /// ```
    pub fn into_slice(self) -> &'a mut [T] {
        // SAFETY: the vector's, which has ended without a drop.
        unsafe { self.into_row().as_mut() }
    }

    /// The values in a box, which drops them; O(1), else as
    /// [`into_slice`](Self::into_slice).
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
    pub fn into_boxed_slice(self) -> ArenaBox<'a, [T]> {
        // SAFETY: the vector's, which has ended without a drop.
        unsafe { ArenaBox::new(self.into_row()) }
    }

    pub(super) fn into_row(self) -> NonNull<[T]> {
        let vec = ManuallyDrop::new(self);
        let (used, room) = (vec.len * size_of::<T>(), vec.capacity * size_of::<T>());
        if room > 0 {
            // SAFETY: taken with that size (E1); the rest is not used.
            unsafe { vec.chunks.resize(vec.start.cast(), room, used) };
        }
        NonNull::slice_from_raw_parts(vec.start, vec.len)
    }
}

impl<T> Deref for ArenaVec<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: by E1.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_ref() }
    }
}

impl<T> DerefMut for ArenaVec<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: by E1.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_mut() }
    }
}

/// Drops the values, and gives the room back if nothing was allocated after it; not if a
/// destructor panics.
impl<T> Drop for ArenaVec<'_, T> {
    fn drop(&mut self) {
        // First the values: their destructors may allocate.
        self.clear();
        let bytes = self.capacity * size_of::<T>();
        if bytes > 0 {
            // SAFETY: taken with that size (E1); the vector ends, and has no values.
            unsafe { self.chunks.take_back(self.start.cast(), bytes) };
        }
    }
}

// SAFETY: the values are its own; it is not `Send`, so only its own thread makes it grow.
unsafe impl<T: Sync> Sync for ArenaVec<'_, T> {}

impl<T> Extend<T> for ArenaVec<'_, T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        self.reserve(values.size_hint().0);
        for value in values {
            self.push(value);
        }
    }
}

impl<'v, T> IntoIterator for &'v ArenaVec<'_, T> {
    type Item = &'v T;
    type IntoIter = core::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'v, T> IntoIterator for &'v mut ArenaVec<'_, T> {
    type Item = &'v mut T;
    type IntoIter = core::slice::IterMut<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// Adds the bytes of the text, which is how `write!` formats into it; an error where there
/// is no room.
impl fmt::Write for ArenaVec<'_, u8> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Prints the values.
impl<T: fmt::Debug> fmt::Debug for ArenaVec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
