//! The entries of a ring, in one array.
//!
//! # Invariants
//!
//! * I1: `head` and `tail` are below `capacity`, or all three are 0; `len <= capacity`. The
//!   `len` places from `head` on, around the end, have values, and the others none; `tail` is
//!   the place after them.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// A fixed number of values, first in, first out; the newest overwrites the oldest.
pub(super) struct Entries<T> {
    array: Block,
    capacity: usize,
    head: usize,
    tail: usize,
    len: usize,
    values: PhantomData<T>,
}

// SAFETY: it owns its values, as an array of them would.
unsafe impl<T: Send> Send for Entries<T> {}
// SAFETY: by reference its values are read.
unsafe impl<T: Sync> Sync for Entries<T> {}

impl<T> Entries<T> {
    /// Allocates and touches the array.
    ///
    /// # Errors
    ///
    /// If the bytes exceed `isize::MAX`, or the source refuses.
    pub(super) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })?;
        let array = Block::allocate(layout, source)?;
        array.touch();
        Ok(Entries {
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
        // SAFETY: the callers pass a number below the capacity (I1), so it is within the array.
        unsafe { self.array.start().cast::<T>().add(number) }
    }

    /// The place of the value that is `index` after the oldest; there are more.
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
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) -> Option<T> {
        if self.len < self.capacity {
            // SAFETY: `len` is below the capacity.
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
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
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
    #[inline(always)]
    pub(super) fn front(&self) -> Option<&T> {
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
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the next push overwrites the oldest value.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// How many values there is room for.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value `index` after the oldest.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: it has a value (I1).
        (index < self.len).then(|| unsafe { self.place_of(index).as_ref() })
    }

    /// The values, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len).map(|index| self.get(index).expect("below the length"))
    }

    /// Drops all entries.
    pub(super) fn clear(&mut self) {
        while let Some(entry) = self.pop() {
            drop(entry);
        }
    }
}

impl<T> Drop for Entries<T> {
    fn drop(&mut self) {
        self.clear();
    }
}
