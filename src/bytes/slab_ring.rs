//! A ring of values of one type, in one array.
//!
//! # Invariants
//!
//! * I1: `head` and `tail` are below `capacity`, or all three are 0; `len <= capacity`. The
//!   `len` places from `head` on, around the end, have values, and the others none; `tail` is
//!   the place after them.

use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;

/// A fixed number of values, first in, first out; the newest overwrites the oldest. Values
/// stand in the ring itself, one after the other.
///
/// All memory is allocated and touched when it is made. `push` and `pop` are O(1). `Send` and
/// `Sync` where `T` is.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::SlabRing;
///
/// let mut ring = SlabRing::with_capacity(2);
/// assert_eq!(ring.push(1), None);
/// assert_eq!(ring.push(2), None);
/// assert_eq!(ring.push(3), Some(1));              // the oldest makes room
/// assert_eq!(ring.pop(), Some(2));
/// assert_eq!(ring.iter().collect::<Vec<_>>(), [&3]);
/// ```
pub struct SlabRing<T> {
    array: Block,
    capacity: usize,
    head: usize,
    tail: usize,
    len: usize,
    values: PhantomData<T>,
}

// SAFETY: it owns its values, as an array of them would.
unsafe impl<T: Send> Send for SlabRing<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for SlabRing<T> {}

impl<T> SlabRing<T> {
    /// A ring for so many values; O(capacity). One for none returns every value that is pushed.
    ///
    /// # Panics
    ///
    /// If their bytes pass `isize::MAX`. Where the allocator refuses the program ends, as with
    /// `Vec`.
    ///
    /// ```
    /// let ring = flatslab::bytes::SlabRing::<u64>::with_capacity(10);
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(ring) => ring,
            Err(error) => memory::fail(error),
        }
    }

    /// A ring for so many values; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If their bytes pass `isize::MAX`, or the allocator refuses.
    ///
    /// ```
    /// use flatslab::bytes::SlabRing;
    ///
    /// assert!(SlabRing::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_new_in(capacity, &Source::GLOBAL)
    }

    pub(super) fn try_new_in(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })?;
        let array = Block::allocate(layout, source)?;
        array.touch();
        Ok(SlabRing {
            array,
            capacity,
            head: 0,
            tail: 0,
            len: 0,
            values: PhantomData,
        })
    }

    /// The place with that number.
    #[inline(always)]
    fn place(&self, number: usize) -> NonNull<T> {
        debug_assert!(number < self.capacity);
        // SAFETY: below the capacity.
        unsafe { self.array.start().cast::<T>().add(number) }
    }

    /// The place of the value that is so many after the oldest; there are more than so many.
    #[inline(always)]
    fn place_of(&self, index: usize) -> NonNull<T> {
        // Written so that no sum passes `usize::MAX`, of values without a size.
        let to_end = self.capacity - self.head;
        self.place(if index < to_end {
            self.head + index
        } else {
            index - to_end
        })
    }

    /// The number of the place after that one.
    #[inline(always)]
    fn after(&self, number: usize) -> usize {
        let next = number + 1;
        if next == self.capacity { 0 } else { next }
    }

    /// Adds a value, the newest. Of a full ring it returns the oldest. O(1).
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(1);
    /// assert_eq!(ring.push("old"), None);
    /// assert_eq!(ring.push("new"), Some("old"));
    /// ```
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Option<T> {
        if self.len < self.capacity {
            // SAFETY: just asked.
            unsafe { self.push_within_capacity(value) };
            return None;
        }
        if self.capacity == 0 {
            return Some(value);
        }
        // SAFETY: of a full ring the oldest value's place, which becomes the newest's.
        let oldest = unsafe { self.place(self.head).replace(value) };
        self.head = self.after(self.head);
        self.tail = self.head;
        Some(oldest)
    }

    /// Adds a value, the newest.
    ///
    /// # Safety
    ///
    /// The ring is not full.
    #[inline(always)]
    pub(super) unsafe fn push_within_capacity(&mut self, value: T) {
        debug_assert!(self.len < self.capacity);
        // SAFETY: a place without a value (I1).
        unsafe { self.place(self.tail).write(value) };
        self.tail = self.after(self.tail);
        self.len += 1;
    }

    /// Takes the oldest value; O(1).
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// assert_eq!((ring.pop(), ring.pop()), (Some(1), None));
    /// ```
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: it has a value (I1), and none from now on.
        let value = unsafe { self.place(self.head).read() };
        self.head = self.after(self.head);
        self.len -= 1;
        Some(value)
    }

    /// The oldest value; O(1).
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// assert_eq!(ring.front(), Some(&1));
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        // SAFETY: it has a value (I1).
        (self.len > 0).then(|| unsafe { self.place(self.head).as_ref() })
    }

    /// Makes the oldest value the newest, and returns it.
    ///
    /// # Safety
    ///
    /// The ring is not empty.
    #[inline(always)]
    pub(super) unsafe fn rotate(&mut self) -> &mut T {
        debug_assert!(self.len > 0);
        let (oldest, newest) = (self.place(self.head), self.place(self.tail));
        if self.len < self.capacity {
            // SAFETY: it has a value, and the other place none (I1).
            unsafe { newest.copy_from_nonoverlapping(oldest, 1) };
        }
        self.head = self.after(self.head);
        self.tail = self.after(self.tail);
        // SAFETY: it has a value now; of a full ring both are one place.
        unsafe { { newest }.as_mut() }
    }

    /// How many values there are.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// assert_eq!(ring.len(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    ///
    /// ```
    /// assert!(flatslab::bytes::SlabRing::<u8>::with_capacity(2).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the next push overwrites the oldest value.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(1);
    /// ring.push(1);
    /// assert!(ring.is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// How many values there is room for.
    ///
    /// ```
    /// assert_eq!(flatslab::bytes::SlabRing::<u8>::with_capacity(2).capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value that is so many after the oldest; O(1).
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// ring.push(2);
    /// assert_eq!((ring.get(0), ring.get(1), ring.get(2)), (Some(&1), Some(&2), None));
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: it has a value (I1).
        (index < self.len).then(|| unsafe { self.place_of(index).as_ref() })
    }

    /// The value that is so many after the oldest; O(1).
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// *ring.get_mut(0).unwrap() = 7;
    /// assert_eq!(ring.pop(), Some(7));
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: it has a value (I1), and is borrowed exclusively.
        (index < self.len).then(|| unsafe { { self.place_of(index) }.as_mut() })
    }

    /// The values, the oldest first.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// for value in 0..5 {
    ///     ring.push(value);
    /// }
    /// assert_eq!(ring.iter().collect::<Vec<_>>(), [&3, &4]);
    /// ```
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len).map(|index| self.get(index).expect("below the length"))
    }

    /// Drops all values. If one panics while it is dropped the others are dropped all the same.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::SlabRing::with_capacity(2);
    /// ring.push(1);
    /// ring.clear();
    /// assert!(ring.is_empty());
    /// ```
    pub fn clear(&mut self) {
        struct Rest<'a, T>(&'a mut SlabRing<T>);

        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while let Some(value) = self.0.pop() {
                    drop(value);
                }
            }
        }

        let rest = Rest(self);
        while let Some(value) = rest.0.pop() {
            drop(value);
        }
    }
}

impl<T> Drop for SlabRing<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T> Extend<T> for SlabRing<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

/// As a list, the oldest value first.
impl<T: fmt::Debug> fmt::Debug for SlabRing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
