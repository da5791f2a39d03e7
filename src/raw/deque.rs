//! A growable double-ended queue of records, with failure as a value.
//!
//! Records are pushed and popped at the end, and dropped at the front, many at once: in O(1) if they
//! have no destructor. Each has a position, which counts all records that were pushed before it and
//! not popped; it does not change when records are dropped at the front.
//!
//! # Invariants
//!
//! * `deque-entries`: `len <= capacity`, and `head < capacity` unless both are 0. `start` is that of
//!   a block of `source`, laid out for `capacity` records; with 0 there is no block. The `len`
//!   records from `head` on, around the end of the block, are written.

use core::alloc::Layout;
use core::mem::needs_drop;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use super::to_the_end::to_the_end;
use crate::error::AllocError;

/// Records of the first block.
const FIRST: usize = 8;

/// A growable double-ended queue of records.
pub(crate) struct Deque<T> {
    start: NonNull<T>,
    head: usize,
    len: usize,
    capacity: usize,
    /// The position of the first record.
    first: u64,
    source: Source,
}

// SAFETY: it owns its block, which only functions that take `&mut self` write to.
unsafe impl<T: Send> Send for Deque<T> {}
// SAFETY: a shared reference only reads records and fields, which nothing writes to while it lives.
unsafe impl<T: Sync> Sync for Deque<T> {}

impl<T> Deque<T> {
    /// A queue without records. Allocates nothing.
    pub(crate) const fn new(source: Source) -> Self {
        Deque {
            start: NonNull::dangling(),
            head: 0,
            len: 0,
            capacity: 0,
            first: 0,
            source,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The position of the next record.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.first + self.len as u64
    }

    /// The place of the record after `index` others; of the first place that has none, if `index`
    /// is the length and below the capacity.
    #[inline]
    fn place(&self, index: usize) -> NonNull<T> {
        debug_assert!(index < self.capacity);
        let at = self.head + index;
        let at = if at < self.capacity {
            at
        } else {
            at - self.capacity
        };
        // SAFETY: `head` and `index` are below the capacity, so this is a place of the block
        // (`deque-entries`).
        unsafe { self.start.add(at) }
    }

    /// The record after `index` others, if there is one.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: below the length, so written (`deque-entries`); what changes it takes `&mut self`.
        (index < self.len).then(|| unsafe { self.place(index).as_ref() })
    }

    /// The last record, if there is one.
    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// The records from a position on, which is not before the first one, in their order.
    pub(crate) fn since(&self, position: u64) -> impl DoubleEndedIterator<Item = &T> {
        let first = (position - self.first) as usize;
        (first..self.len).filter_map(|index| self.get(index))
    }

    /// Adds a record for which [room was made](Self::try_reserve).
    #[inline]
    pub(crate) fn push(&mut self, record: T) {
        assert!(self.len < self.capacity, "room for the record");
        // SAFETY: a place of the block without a record.
        unsafe { self.place(self.len).write(record) };
        self.len += 1;
    }

    /// Removes the last record.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: written, and not below the length any more (`deque-entries`).
        Some(unsafe { self.place(self.len).read() })
    }

    /// Drops the records before a position, which is at most the [end](Self::end). O(1) if they have
    /// no destructor; all of them are gone afterwards, even if one panics.
    pub(crate) fn drop_before(&mut self, position: u64) {
        let end = self.end();
        assert!((self.first..=end).contains(&position));
        if !needs_drop::<T>() {
            return self.forget_before(position);
        }
        to_the_end(|| {
            if self.first >= position {
                return false;
            }
            // SAFETY: there is one before the position, so it is written (`deque-entries`); it is
            // forgotten before its destructor runs.
            let first = unsafe { self.place(0).read() };
            self.forget_before(self.first + 1);
            drop(first);
            true
        });
    }

    /// Forgets the records before a position.
    #[inline]
    fn forget_before(&mut self, position: u64) {
        let forgotten = (position - self.first) as usize;
        self.head += forgotten;
        if self.head >= self.capacity {
            self.head -= self.capacity;
        }
        self.len -= forgotten;
        self.first = position;
    }

    /// Makes room for this many records more. Amortized: the block doubles.
    ///
    /// # Errors
    ///
    /// When their bytes exceed `isize::MAX`, or the source refuses; nothing has changed then.
    #[inline]
    pub(crate) fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional <= self.capacity - self.len {
            return Ok(());
        }
        self.try_grow(additional)
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, additional: usize) -> Result<(), AllocError> {
        let least = self.len.saturating_add(additional);
        self.try_move_to(least.max(self.capacity.saturating_mul(2)).max(FIRST))
    }

    /// Frees the memory that no record needs. Keeps it if the source refuses the smaller block.
    pub(crate) fn shrink_to_fit(&mut self) {
        if self.len == 0 {
            drop(self.block());
            (self.start, self.head, self.capacity) = (NonNull::dangling(), 0, 0);
        } else if self.len < self.capacity {
            let _ = self.try_move_to(self.len);
        }
    }

    /// Moves the records to a block for `wanted` of them, which are not fewer than there are.
    fn try_move_to(&mut self, wanted: usize) -> Result<(), AllocError> {
        debug_assert!(wanted >= self.len);
        let block = Block::allocate(Self::layout(wanted)?, &self.source)?;
        let start = block.leak_start().cast::<T>();
        let until_end = self.len.min(self.capacity - self.head);
        // SAFETY: distinct blocks. The records are in two parts, before the end of the block and
        // from its start on (`deque-entries`), and there is room for both.
        unsafe {
            start.copy_from_nonoverlapping(self.start.add(self.head), until_end);
            let rest = self.len - until_end;
            (start.add(until_end)).copy_from_nonoverlapping(self.start, rest);
        }
        let old = self.block();
        (self.start, self.head, self.capacity) = (start, 0, wanted);
        drop(old);
        Ok(())
    }

    /// Returns a queue of clones at the same positions.
    ///
    /// # Errors
    ///
    /// If the source refuses the memory.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut clone = Deque::new(self.source.clone());
        clone.first = self.first;
        clone.try_reserve(self.len)?;
        for record in self.since(self.first) {
            clone.push(record.clone());
        }
        Ok(clone)
    }

    /// Bytes of the block.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })
    }

    /// The block, which the caller takes over.
    fn block(&mut self) -> Option<Block> {
        let layout = Self::layout(self.capacity).ok();
        let layout = layout.filter(|_| self.capacity > 0)?;
        // SAFETY: by `deque-entries` leaked with this layout; every caller gives it up.
        Some(unsafe { Block::from_start(self.start.cast(), layout, &self.source) })
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        /// Frees the block, also if a destructor panics.
        struct Memory<'a, T>(&'a mut Deque<T>);

        impl<T> Drop for Memory<'_, T> {
            fn drop(&mut self) {
                drop(self.0.block());
            }
        }

        let memory = Memory(self);
        memory.0.drop_before(memory.0.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    #[test]
    fn records_stay_in_order_while_the_queue_turns_and_grows() {
        let mut deque = Deque::new(Source::GLOBAL);
        let mut model = VecDeque::new();
        let (mut first, mut next) = (0_u64, 0_u64);
        for step in 0..if cfg!(miri) { 120 } else { 2_000 } {
            match step % 7 {
                0..=3 => {
                    deque.try_reserve(1).unwrap();
                    deque.push(next);
                    model.push_back(next);
                    next += 1;
                }
                4 if step % 3 > 0 => assert_eq!(deque.pop(), model.pop_back()),
                5 => {
                    let dropped = model.len().min(step % 5);
                    model.drain(..dropped);
                    first += dropped as u64;
                    deque.drop_before(first);
                }
                _ => {}
            }
            assert_eq!(deque.end(), first + model.len() as u64);
            assert!((0..=model.len()).all(|index| deque.get(index) == model.get(index)));
            assert!(deque.since(first).eq(&model));
            assert_eq!(deque.last(), model.back());
        }
        deque.drop_before(deque.end());
        assert_eq!((deque.len(), deque.pop()), (0, None));
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let mut deque = Deque::new(Source::GLOBAL);
        deque.drop_before(0);
        deque.try_reserve(1).unwrap();
        deque.push(7_u64);
        let bytes = deque.bytes();
        assert!(deque.try_reserve(usize::MAX).is_err());
        assert_eq!((deque.get(0), deque.bytes()), (Some(&7), bytes));
    }

    #[test]
    fn records_of_no_size_are_counted() {
        let mut deque = Deque::new(Source::GLOBAL);
        for _ in 0..100 {
            deque.try_reserve(1).unwrap();
            deque.push(());
        }
        deque.drop_before(40);
        assert_eq!((deque.len(), deque.bytes(), deque.pop()), (60, 0, Some(())));
    }

    #[test]
    fn records_stay_when_the_memory_of_others_is_freed() {
        let mut deque = Deque::new(Source::GLOBAL);
        deque.shrink_to_fit();
        deque.try_reserve(8).unwrap();
        (0..8).for_each(|record: u64| deque.push(record));
        deque.drop_before(6);
        (8..11).for_each(|record| deque.push(record)); // around the end of the block
        deque.shrink_to_fit();
        assert_eq!((deque.bytes(), deque.end()), (5 * 8, 11));
        assert!((0..5).all(|at| deque.get(at) == Some(&(6 + at as u64))));
        deque.drop_before(11);
        deque.shrink_to_fit();
        assert_eq!((deque.bytes(), deque.last(), deque.end()), (0, None, 11));
        deque.try_reserve(1).unwrap();
        deque.push(11);
        assert_eq!((deque.len(), deque.pop()), (1, Some(11)));
    }

    /// Records that count their ends, of which some panic.
    #[test]
    fn records_before_a_position_are_dropped_once_even_if_one_panics() {
        struct Ends(Rc<Cell<u32>>, bool);

        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
                assert!(!self.1, "panics as asked");
            }
        }

        let ended = Rc::new(Cell::new(0));
        let mut deque = Deque::new(Source::GLOBAL);
        deque.try_reserve(8).unwrap();
        (0..8).for_each(|at| deque.push(Ends(ended.clone(), at == 1 || at == 5)));
        let dropping = catch_unwind(AssertUnwindSafe(|| deque.drop_before(4)));
        assert!(dropping.is_err());
        assert_eq!((ended.get(), deque.len(), deque.end()), (4, 4, 8));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(deque))).is_err());
        assert_eq!(ended.get(), 8);
    }

    #[test]
    #[should_panic = "room for the record"]
    fn a_record_without_room_panics() {
        Deque::new(Source::GLOBAL).push(1_u8);
    }
}
