//! A growable array of plain records: what a `Vec` is, with failure as a value.
//!
//! It is for tables that are read on hot paths and grow on cold ones. It moves when it
//! grows, so no reference to an entry is handed out.
//!
//! # Invariants
//!
//! * `row-entries`: `len <= capacity`; `start` is that of a block of `source`, laid out for
//!   `capacity` entries, of which the first `len` are written. With 0 there is no block.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use crate::error::AllocError;

/// Entries of the first block.
const FIRST: usize = 4;

/// A growable array of plain records.
pub(crate) struct Row<T: Copy> {
    start: Cell<NonNull<T>>,
    len: Cell<usize>,
    capacity: Cell<usize>,
    source: Source,
}

impl<T: Copy> Row<T> {
    /// An array without entries. Allocates nothing.
    pub(crate) const fn new(source: Source) -> Self {
        Row {
            start: Cell::new(NonNull::dangling()),
            len: Cell::new(0),
            capacity: Cell::new(0),
            source,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// Entries there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.get()
    }

    /// The entry at `index`, if there is one.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        // SAFETY: below the length, so written (`row-entries`).
        (index < self.len.get()).then(|| unsafe { self.start.get().add(index).read() })
    }

    /// Replaces the entry at `index`, which there is.
    pub(crate) fn set(&self, index: usize, entry: T) {
        assert!(index < self.len.get());
        // SAFETY: below the length, so within the block (`row-entries`).
        unsafe { self.start.get().add(index).write(entry) };
    }

    /// Adds an entry for which [room was made](Self::try_reserve).
    pub(crate) fn push(&self, entry: T) {
        let len = self.len.get();
        assert!(len < self.capacity.get(), "room for the entry");
        // SAFETY: below the capacity, so within the block (`row-entries`).
        unsafe { self.start.get().add(len).write(entry) };
        self.len.set(len + 1);
    }

    /// Makes room for `capacity` entries in all. Amortized: the array doubles.
    ///
    /// # Errors
    ///
    /// When their bytes exceed `isize::MAX`, or the source refuses; nothing has changed then.
    pub(crate) fn try_reserve(&self, capacity: usize) -> Result<(), AllocError> {
        while capacity > self.capacity.get() {
            let wanted = capacity.max(self.capacity.get() * 2).max(FIRST);
            let block = Block::allocate(Self::layout(wanted)?, &self.source)?;
            // The allocator may have used this array, so its fields are read now.
            if wanted <= self.capacity.get() {
                continue;
            }
            self.move_to(block, wanted);
        }
        Ok(())
    }

    /// Moves the entries, of which there are at most `capacity`, to a block laid out for that many.
    fn move_to(&self, block: Block, capacity: usize) {
        assert!(self.len.get() <= capacity);
        let start = block.leak_start().cast::<T>();
        // SAFETY: distinct blocks, both with room for the entries (`row-entries`).
        unsafe { start.copy_from_nonoverlapping(self.start.get(), self.len.get()) };
        let old = self.block();
        self.start.set(start);
        self.capacity.set(capacity);
        drop(old);
    }

    /// Keeps the first `len` entries, or all if there are fewer.
    pub(crate) fn truncate(&self, len: usize) {
        self.len.set(self.len.get().min(len));
    }

    /// Frees the memory that neither the entries need nor others, up to `capacity` in all. Keeps it
    /// if the source refuses the smaller block.
    pub(crate) fn shrink_to(&mut self, capacity: usize) {
        let wanted = capacity.max(self.len.get());
        if wanted >= self.capacity.get() {
            return;
        }
        if wanted == 0 {
            let old = self.block();
            self.start.set(NonNull::dangling());
            self.capacity.set(0);
            drop(old);
        } else if let Ok(layout) = Self::layout(wanted) {
            if let Ok(block) = Block::allocate(layout, &self.source) {
                self.move_to(block, wanted);
            }
        }
    }

    /// Bytes of the array.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity.get() * size_of::<T>()
    }

    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })
    }

    /// The block, which the caller takes over.
    fn block(&self) -> Option<Block> {
        let capacity = self.capacity.get();
        let layout = Self::layout(capacity).ok().filter(|_| capacity > 0)?;
        // SAFETY: by `row-entries` leaked with this layout; every caller gives it up.
        Some(unsafe { Block::from_start(self.start.get().cast(), layout, &self.source) })
    }
}

impl<T: Copy> Drop for Row<T> {
    fn drop(&mut self) {
        drop(self.block());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_while_the_array_grows() {
        let row = Row::new(Source::GLOBAL);
        assert!(row.get(0).is_none() && row.bytes() == 0);
        for entry in 0..100_u32 {
            row.try_reserve(row.len() + 1).unwrap();
            row.push(entry);
        }
        row.set(7, 700);
        let expected = |index: usize| if index == 7 { 700 } else { index as u32 };
        assert!((0..100).all(|index| row.get(index) == Some(expected(index))));
        assert_eq!(row.get(100), None);
        assert!(row.bytes() >= 400);
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let row = Row::new(Source::GLOBAL);
        row.try_reserve(1).unwrap();
        row.push(7_u64);
        let bytes = row.bytes();
        assert!(row.try_reserve(usize::MAX).is_err());
        assert_eq!((row.get(0), row.bytes()), (Some(7), bytes));
    }

    #[test]
    fn entries_stay_when_the_memory_of_others_is_freed() {
        let mut row = Row::new(Source::GLOBAL);
        row.shrink_to(0);
        row.try_reserve(10).unwrap();
        (0..7_u32).for_each(|entry| row.push(entry));
        row.truncate(9);
        row.truncate(3);
        row.shrink_to(5);
        assert_eq!((row.bytes(), row.get(2), row.get(3)), (20, Some(2), None));
        row.shrink_to(0);
        assert_eq!((row.bytes(), row.get(2), row.get(3)), (12, Some(2), None));
        row.truncate(0);
        row.shrink_to(0);
        assert_eq!((row.bytes(), row.get(0)), (0, None));
        row.try_reserve(1).unwrap();
        row.push(7);
        assert_eq!(row.get(0), Some(7));
    }

    #[test]
    #[should_panic = "room for the entry"]
    fn an_entry_without_room_panics() {
        Row::new(Source::GLOBAL).push(1_u8);
    }
}
