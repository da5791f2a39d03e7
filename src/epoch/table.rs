//! The table of the records of epochs, or of chunks, by index.
//!
//! Keys contain an index, so a record stays at its index until it is freed. The entry of a freed
//! record leads to an empty one, in which a look-up finds nothing, and is used for the next record.
//!
//! # Invariants
//!
//! * `table-holes`: `holes` is the number of entries that are `none`; none of them has an index
//!   below `next`.

use core::cell::Cell;

use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// How many entries are looked at for a hole, before the table grows although it has one.
const LOOKS: usize = 64;

/// A table of pointers to records. In this order, so that a look-up reads fields that lie next to
/// each other.
#[repr(C)]
pub(super) struct Table<P: Copy + PartialEq> {
    row: Row<P>,
    none: P,
    holes: Cell<usize>,
    next: Cell<usize>,
}

impl<P: Copy + PartialEq> Table<P> {
    /// An empty table, with `none` for freed records. Allocates nothing.
    pub(super) fn new(none: P, source: &Source) -> Self {
        Table {
            row: Row::new(source.clone()),
            none,
            holes: Cell::new(0),
            next: Cell::new(0),
        }
    }

    /// Makes room for this number of records at once.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn try_reserve(&self, records: usize) -> Result<(), AllocError> {
        self.row.try_reserve(records)
    }

    /// The entry at `index`: a record, or the empty one.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<P> {
        self.row.get(index)
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = P> + Clone + '_ {
        let entries = (0..self.row.len()).filter_map(|index| self.row.get(index));
        entries.filter(|&entry| entry != self.none)
    }

    /// Number of records.
    pub(super) fn count(&self) -> usize {
        self.row.len() - self.holes.get()
    }

    /// Makes room for another record, a step at a time. The allocator may use it up.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn make_room(&self) -> Result<(), AllocError> {
        self.row.try_make_room(self.row.len(), 1)
    }

    /// The index of the next record, if there is room for it. O(1).
    pub(super) fn next_index(&self) -> Option<usize> {
        if self.holes.get() > 0 {
            let first = self.next.get();
            for index in first..first + LOOKS {
                if self.row.get(index) == Some(self.none) {
                    return Some(index);
                }
                if index < self.row.len() {
                    // Not a hole (`table-holes`).
                    self.next.set(index + 1);
                }
            }
        }
        let index = self.row.len();
        (index < self.row.capacity()).then_some(index)
    }

    /// Adds a record at the [next index](Self::next_index).
    pub(super) fn insert(&self, index: usize, record: P) {
        if index == self.row.len() {
            self.row.push(record);
        } else {
            assert!(self.row.get(index) == Some(self.none), "table-holes");
            self.row.set(index, record);
            self.holes.set(self.holes.get() - 1);
        }
    }

    /// Removes the record at `index`, which the caller frees.
    pub(super) fn remove(&self, index: usize) {
        self.row.set(index, self.none);
        self.holes.set(self.holes.get() + 1);
        self.next.set(self.next.get().min(index));
    }

    /// Takes the memory of a table without records, which the caller drops.
    pub(super) fn clear_if_empty(&self) -> Option<[Option<Block>; 2]> {
        if self.count() > 0 || self.row.bytes() == 0 {
            return None;
        }
        self.holes.set(0);
        self.next.set(0);
        Some(self.row.clear())
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        self.row.bytes()
    }

    /// Panics if `table-holes` does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        let is_hole = |&index: &usize| self.row.get(index) == Some(self.none);
        let holes = (0..self.row.len()).filter(is_hole);
        assert_eq!(holes.clone().count(), self.holes.get(), "table-holes");
        assert!(
            { holes }.all(|index| index >= self.next.get()),
            "table-holes: next"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn freed_indices_are_used_again_the_lowest_first() {
        let table = Table::new(0, &Source::GLOBAL);
        let insert = |record: usize| {
            table.make_room().unwrap();
            let index = table.next_index().unwrap();
            table.insert(index, record);
            table.check();
            index
        };
        for index in 0..300 {
            assert_eq!(insert(index + 1), index);
        }
        for index in [7, 200, 3] {
            table.remove(index);
            table.check();
        }
        assert_eq!(table.count(), 297);
        assert_eq!((insert(500), insert(501)), (3, 7));
        // The third is further away than a few looks.
        assert_eq!(insert(502), 300);
        assert!((0..9).any(|_| insert(503) == 200));
        (0..table.row.len()).for_each(|index| {
            if table.get(index) != Some(0) {
                table.remove(index);
            }
        });
        drop(table.clear_if_empty());
        assert_eq!((table.bytes(), table.count()), (0, 0));
        assert_eq!(insert(1), 0);
    }
}
