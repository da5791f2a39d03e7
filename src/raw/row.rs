//! A growable array of plain records: what a `Vec` is, with failure as a value.
//!
//! It is for tables that are read on hot paths and grow on cold ones. It moves when it
//! grows, so no reference to an entry is handed out.
//!
//! A table that grows by [`try_make_room`](Row::try_make_room) is not copied at once: when it is
//! nearly full, the larger block is allocated, and each call copies a few entries. A table of two
//! levels needs no copy, but each look-up takes one more load: on the way of every position.
//!
//! # Invariants
//!
//! * `row-entries`: `len <= capacity`; `start` is that of a block of `source`, laid out for
//!   `capacity` entries, of which the first `len` are written. With 0 there is no block.
//! * `row-next`: `next`, if there is one, is a block of `source` that is laid out for `len` entries
//!   or more, which no one reads yet. The first `copied` of them, at most `len`, are those of this row.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use crate::error::AllocError;

/// Entries of the first block.
const FIRST: usize = 4;

/// A row that [makes room](Row::try_make_room) allocates its next block when less than this part
/// of the present one is left.
const RESERVED: usize = 8;

/// The number of entries that are copied for each entry that is added: enough for all of them
/// before the last `1 / RESERVED` of the block is used.
const COPIED: usize = 2 * RESERVED;

/// A growable array of plain records. In this order, so that a look-up reads fields that lie next
/// to each other.
#[repr(C)]
pub(crate) struct Row<T: Copy> {
    start: Cell<NonNull<T>>,
    len: Cell<usize>,
    capacity: Cell<usize>,
    source: Source,
    next: Cell<Option<Next<T>>>,
}

/// The block that replaces that of a row.
struct Next<T> {
    start: NonNull<T>,
    capacity: usize,
    copied: usize,
}

impl<T> Clone for Next<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Next<T> {}

impl<T: Copy> Row<T> {
    /// An array without entries. Allocates nothing.
    pub(crate) const fn new(source: Source) -> Self {
        Row {
            start: Cell::new(NonNull::dangling()),
            len: Cell::new(0),
            capacity: Cell::new(0),
            next: Cell::new(None),
            source,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// Entries there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.get()
    }

    /// The entry at `index`, if there is one.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        // SAFETY: below the length, so written (`row-entries`).
        (index < self.len.get()).then(|| unsafe { self.start.get().add(index).read() })
    }

    /// Replaces the entry at `index`, which there is.
    pub(crate) fn set(&self, index: usize, entry: T) {
        assert!(index < self.len.get());
        // SAFETY: below the length, so within the block (`row-entries`).
        unsafe { self.start.get().add(index).write(entry) };
        if let Some(next) = self.next.get().filter(|next| index < next.copied) {
            // SAFETY: below `copied`, so within the next block (`row-next`).
            unsafe { next.start.add(index).write(entry) };
        }
    }

    /// Adds an entry for which [room was made](Self::try_reserve).
    pub(crate) fn push(&self, entry: T) {
        let len = self.len.get();
        assert!(len < self.capacity.get(), "room for the entry");
        // SAFETY: below the capacity, so within the block (`row-entries`).
        unsafe { self.start.get().add(len).write(entry) };
        self.len.set(len + 1);
        self.copy_some(1);
    }

    /// Makes room for `capacity` entries in all. Amortized: the array doubles, unless there is
    /// memory for `capacity` entries only.
    ///
    /// # Errors
    ///
    /// When their bytes exceed `isize::MAX`, or the source refuses; nothing has changed then.
    pub(crate) fn try_reserve(&self, capacity: usize) -> Result<(), AllocError> {
        while capacity > self.capacity.get() {
            if self.next.get().is_none_or(|next| next.capacity < capacity) {
                let doubled = capacity.max(self.capacity.get() * 2).max(FIRST);
                self.try_prepare(doubled)
                    .or_else(|_| self.try_prepare(capacity))?;
            }
            // The allocator may have used this array, so its fields are read now.
            if capacity > self.capacity.get() {
                self.copy_some(self.len.get());
                self.move_to_next();
            }
        }
        Ok(())
    }

    /// Keeps the first `len` entries, or all if there are fewer.
    pub(crate) fn truncate(&self, len: usize) {
        let len = self.len.get().min(len);
        self.len.set(len);
        if let Some(next) = self.next.get() {
            let copied = next.copied.min(len);
            self.next.set(Some(Next { copied, ..next }));
        }
    }

    /// Frees the memory that neither the entries need nor others, up to `capacity` in all. Keeps it
    /// if the source refuses the smaller block.
    pub(crate) fn shrink_to(&mut self, capacity: usize) {
        drop(self.take_next());
        let wanted = capacity.max(self.len.get());
        if wanted >= self.capacity.get() {
            return;
        }
        if wanted == 0 {
            drop(self.clear());
        } else if let Ok(block) = self.allocate(wanted) {
            self.set_next(block, wanted);
            self.copy_some(self.len.get());
            self.move_to_next();
        }
    }

    /// Makes room for `more` entries in addition to `used`, which is not less than the length. The
    /// time is that of `more` entries: they are copied a few at a time, unless the source refuses
    /// a larger block until there is no room left.
    ///
    /// # Errors
    ///
    /// Those of [`try_reserve`](Self::try_reserve).
    pub(crate) fn try_make_room(&self, used: usize, more: usize) -> Result<(), AllocError> {
        let (wanted, capacity) = (used + more, self.capacity.get());
        if wanted > capacity - capacity / RESERVED && self.next.get().is_none() {
            // A refusal is none yet, while there is room.
            let _ = self.try_prepare((2 * capacity).max(wanted).max(FIRST));
        }
        self.copy_some(more);
        self.try_reserve(wanted)
    }

    /// Allocates the next block, if it is larger than the present one and than another next one,
    /// which it then replaces.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`, or the source refuses; nothing has changed then.
    fn try_prepare(&self, capacity: usize) -> Result<(), AllocError> {
        let block = self.allocate(capacity)?;
        // The allocator may have used this array, so its fields are read now.
        let next = self.next.get().map_or(0, |next| next.capacity);
        if capacity > self.capacity.get().max(next) {
            self.set_next(block, capacity);
        }
        Ok(())
    }

    fn allocate(&self, capacity: usize) -> Result<Block, AllocError> {
        Block::allocate(Self::layout(capacity)?, &self.source)
    }

    /// Sets the next block, which is laid out for this number of entries.
    fn set_next(&self, block: Block, capacity: usize) {
        debug_assert!(Self::layout(capacity) == Ok(block.layout()));
        let old = self.take_next();
        let start = block.leak_start().cast();
        let copied = 0;
        self.next.set(Some(Next {
            start,
            capacity,
            copied,
        }));
        drop(old);
    }

    /// Copies some entries to the next block, if there is one: for each of `added` entries
    /// [a few](COPIED).
    fn copy_some(&self, added: usize) {
        let Some(next) = self.next.get() else {
            return;
        };
        let left = self.len.get() - next.copied;
        let count = left.min(added.saturating_mul(COPIED));
        #[cfg(test)]
        MOST_COPIED.set(MOST_COPIED.get().max(count));
        // SAFETY: distinct blocks; the entries are written in this one, and there is room for more
        // in the other (`row-entries`, `row-next`).
        unsafe {
            let from = self.start.get().add(next.copied);
            let to = next.start.add(next.copied);
            to.copy_from_nonoverlapping(from, count);
        }
        let copied = next.copied + count;
        self.next.set(Some(Next { copied, ..next }));
    }

    /// Replaces the block by the next one, to which all entries were copied, if there is one.
    fn move_to_next(&self) {
        if let Some(next) = self.next.take() {
            debug_assert!(next.copied == self.len.get());
            let old = self.take_block();
            self.start.set(next.start);
            self.capacity.set(next.capacity);
            self.len.set(next.copied);
            drop(old);
        }
    }

    /// Forgets all entries. Returns the blocks, which the caller drops once the source may use this
    /// array.
    #[must_use = "dropping them calls the source"]
    pub(crate) fn clear(&self) -> [Option<Block>; 2] {
        [self.take_block(), self.take_next()]
    }

    /// Returns a row of the same entries, with as much room.
    ///
    /// # Errors
    ///
    /// If the source refuses the memory.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocError> {
        let clone = Row::new(self.source.clone());
        clone.try_reserve(self.capacity.get())?;
        // The allocator may have used this array, so its fields are read now.
        let len = self.len.get().min(clone.capacity.get());
        // SAFETY: distinct blocks. So many entries are written in this one, and there is room for
        // them in the other (`row-entries`).
        unsafe { (clone.start.get()).copy_from_nonoverlapping(self.start.get(), len) };
        clone.len.set(len);
        Ok(clone)
    }

    /// Bytes of the array, and of the one that is to replace it.
    pub(crate) fn bytes(&self) -> usize {
        let next = self.next.get().map_or(0, |next| next.capacity);
        (self.capacity.get() + next) * size_of::<T>()
    }

    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })
    }

    /// Takes the block out, and with it the entries.
    fn take_block(&self) -> Option<Block> {
        self.len.set(0);
        let capacity = self.capacity.take();
        let start = self.start.replace(NonNull::dangling());
        // SAFETY: by `row-entries` leaked with this layout, and just given up.
        (capacity > 0).then(|| unsafe { self.block_at(start, capacity) })
    }

    /// Takes the next block out.
    fn take_next(&self) -> Option<Block> {
        let next = self.next.take();
        // SAFETY: by `row-next` leaked with this layout, and just given up.
        next.map(|next| unsafe { self.block_at(next.start, next.capacity) })
    }

    /// A block of this row, which the caller takes over.
    ///
    /// # Safety
    ///
    /// It was leaked there, from the source, for this number of entries, and is given up.
    unsafe fn block_at(&self, start: NonNull<T>, capacity: usize) -> Block {
        let layout = Self::layout(capacity).expect("it was laid out so");
        // SAFETY: leaked there, from this source, with this layout, and given up (precondition).
        unsafe { Block::from_start(start.cast(), layout, &self.source) }
    }
}

impl<T: Copy> Drop for Row<T> {
    fn drop(&mut self) {
        drop(self.clear());
    }
}

#[cfg(test)]
std::thread_local! {
    /// The most entries that were copied at once on this thread.
    pub(crate) static MOST_COPIED: Cell<usize> = const { Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn making_room_copies_a_few_entries_at_a_time() {
        MOST_COPIED.set(0);
        let most = if cfg!(miri) { 150 } else { 200_000 };
        // As many as are added are pushed at once; or only when the next ones are added.
        for (more, late) in [(1, false), (1, true), (7, false), (7, true)] {
            let row = Row::new(Source::GLOBAL);
            let mut used = 0;
            while used < most {
                row.try_make_room(used, more).unwrap();
                used += more;
                let end = if late { used - more } else { used };
                while row.len() < end {
                    row.push(row.len());
                    row.set(row.len() / 2, row.len() / 2);
                }
            }
            assert!((0..row.len()).all(|index| row.get(index) == Some(index)));
            assert!(row.bytes() <= 4 * used * size_of::<usize>());
        }
        assert!((1..=7 * COPIED).contains(&MOST_COPIED.get()));
    }

    #[test]
    fn entries_that_are_pushed_at_last_are_copied_as_they_are_pushed() {
        MOST_COPIED.set(0);
        let (reserved, pushed, used) = if cfg!(miri) {
            (256, 250, 320)
        } else {
            (4096, 4000, 5000)
        };
        let row = Row::new(Source::GLOBAL);
        row.try_reserve(reserved).unwrap();
        row.try_make_room(pushed, 1).unwrap();
        (0..pushed).for_each(|index| row.push(index));
        for used in pushed + 1..used {
            row.try_make_room(used, 1).unwrap();
        }
        assert!(row.capacity() >= used && MOST_COPIED.get() <= COPIED);
        assert!((0..pushed).all(|index| row.get(index) == Some(index)));
        drop(row.clear());
        assert_eq!((row.len(), row.bytes(), row.get(0)), (0, 0, None));
    }

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
