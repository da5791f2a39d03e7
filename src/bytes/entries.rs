//! The entries of a ring, in one array.
//!
//! # Invariants
//!
//! * I1: the array has `mask + 1` places, a power of two and at least `capacity`. The value that
//!   was added as number `n` is at the place `n & mask`.
//! * I2: `first <= next <= first + capacity`. The values with numbers from `first` up to `next`
//!   are there, and no others. Neither number comes to its end: one a nanosecond takes centuries.

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
    mask: usize,
    // The number of the oldest value, and of the one to come: all that a push or a pop changes.
    // With the places and the length apart, a write and a read took a fifth longer.
    first: u64,
    next: u64,
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
        let places = capacity.checked_next_power_of_two();
        let layout = places.and_then(|places| Layout::array::<T>(places).ok());
        let layout = layout.ok_or(AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })?;
        let array = Block::allocate(layout, source)?;
        array.touch();
        Ok(Entries {
            array,
            capacity,
            mask: capacity.next_power_of_two() - 1,
            first: 0,
            next: 0,
            values: PhantomData,
        })
    }

    /// The place of the value with that number.
    #[inline(always)]
    fn place(&self, number: u64) -> NonNull<T> {
        // SAFETY: at most the mask, so within the array (I1).
        unsafe {
            self.array
                .start()
                .cast::<T>()
                .add(number as usize & self.mask)
        }
    }

    /// Adds a value, the newest. Of a full ring it returns the oldest. O(1).
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) -> Option<T> {
        if !self.is_full() {
            // SAFETY: checked just now.
            unsafe { self.push_within_capacity(value) };
            return None;
        }
        if self.capacity == 0 {
            return Some(value);
        }
        let oldest = self.pop();
        // SAFETY: it was full, and one value has left.
        unsafe { self.push_within_capacity(value) };
        oldest
    }

    /// Adds a value, the newest.
    ///
    /// # Safety
    ///
    /// The ring is not full.
    #[inline(always)]
    pub(super) unsafe fn push_within_capacity(&mut self, value: T) {
        debug_assert!(!self.is_full());
        // SAFETY: a place without a value: the numbers of those that are there differ by less than
        // the capacity (I1, I2).
        unsafe { self.place(self.next).write(value) };
        self.next += 1;
    }

    /// Takes the oldest value; O(1).
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: it has a value (I2), and none from now on.
        let value = unsafe { self.place(self.first).read() };
        self.first += 1;
        Some(value)
    }

    /// The oldest value; O(1).
    #[inline(always)]
    pub(super) fn front(&self) -> Option<&T> {
        // SAFETY: it has a value (I2).
        (!self.is_empty()).then(|| unsafe { self.place(self.first).as_ref() })
    }

    /// Makes the oldest value the newest, and returns it.
    ///
    /// # Safety
    ///
    /// The ring is not empty.
    #[inline(always)]
    pub(super) unsafe fn rotate(&mut self) -> &mut T {
        debug_assert!(!self.is_empty());
        let (oldest, newest) = (self.place(self.first), self.place(self.next));
        if oldest != newest {
            // SAFETY: it has a value, and the other place none: they are one place if all places
            // have values (I1, I2).
            unsafe { newest.copy_from_nonoverlapping(oldest, 1) };
        }
        self.first += 1;
        self.next += 1;
        // SAFETY: it has a value now.
        unsafe { { newest }.as_mut() }
    }

    /// The number of the oldest value, or of the next one if there is none: how many were added
    /// and are gone.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// How many values were added.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// How many values there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // At most the capacity (I2).
        (self.next - self.first) as usize
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Whether the next push overwrites the oldest value.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// How many values there is room for.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value `index` after the oldest.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: it has a value (I2).
        (index < self.len()).then(|| unsafe { self.place(self.first + index as u64).as_ref() })
    }

    /// The values, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index).expect("below the length"))
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
