//! What a log needs of the slab whose changes it has, and how the slab undoes them.

use core::mem::needs_drop;
use core::ptr::NonNull;

use super::cell::{Cell, RETIRED};
use super::key::SlabKey;
use super::undo_log::{Mark, Numbers, UndoLog};
use super::{PlainSlab, Storage};
use crate::error::AllocError;
use crate::raw::to_the_end::to_the_end;

/// A container whose changes a log can undo.
pub trait Undo: Sized {
    type Value: Clone;
    /// The keys and the memory of [`slab`](Self::slab).
    type Key: SlabKey;
    type Storage: Storage;

    /// The slab that has the values.
    fn slab(&self) -> &PlainSlab<Self::Value, Self::Key, Self::Storage>;

    /// Returns an empty log for this slab.
    ///
    /// # Errors
    ///
    /// If memory for the stamps is refused.
    fn try_new_log(&mut self) -> Result<UndoLog<Self::Value>, AllocError>;

    /// Returns a clone with memory for at least this many slots. Aborts if memory is refused.
    fn clone_for(&self, slots: usize) -> Self;

    /// Clones `source` into the present memory if it suffices, for at least this many slots.
    fn clone_from_for(&mut self, source: &Self, slots: usize);

    fn numbers(&self) -> Numbers;

    /// Returns the number of slots whose stamps are allocated at construction: all slots of a slab
    /// that cannot grow, because it allocates nothing later; otherwise those that are used.
    fn stamped(&self) -> usize;

    /// Undoes the changes since the last mark, which this is. The only user code that runs is that of
    /// destructors; all changes are undone even if one panics.
    fn undo(&mut self, log: &mut UndoLog<Self::Value>, mark: Mark);
}

impl<T: Clone, K: SlabKey, S: Storage> Undo for PlainSlab<T, K, S> {
    type Value = T;
    type Key = K;
    type Storage = S;

    fn slab(&self) -> &Self {
        self
    }

    fn try_new_log(&mut self) -> Result<UndoLog<T>, AllocError> {
        if self.wraps() && self.retired > 0 {
            self.free_retired();
        }
        let mut log = UndoLog::new_in(self.cells.source());
        log.try_add_stamps(self.used, self.stamped())?;
        Ok(log)
    }

    #[track_caller]
    fn clone_for(&self, slots: usize) -> Self {
        PlainSlab::clone_for(self, slots)
    }

    #[track_caller]
    fn clone_from_for(&mut self, source: &Self, slots: usize) {
        PlainSlab::clone_from_for(self, source, slots);
    }

    fn stamped(&self) -> usize {
        if S::CAPACITY.is_fixed() {
            self.capacity()
        } else {
            self.used
        }
    }

    fn numbers(&self) -> Numbers {
        Numbers {
            used: self.used as u32,
            free: self.cells.len() as u32,
            others: self.retired,
        }
    }

    /// The slots that were free are pushed back as they were popped (`untouched-free`).
    fn undo(&mut self, log: &mut UndoLog<T>, mark: Mark) {
        let at_mark = mark.numbers;
        self.cells
            .truncate(at_mark.free as usize - log.popped_since(mark));
        let used = at_mark.used as usize;
        assert!(used <= self.capacity(), "kept-capacity");
        // Only after `clear`. Each of them is in the log (`kept-capacity`).
        self.create_up_to(used);
        self.retired = at_mark.others;
        to_the_end(|| self.cut_one(used) || self.undo_one(log, mark));
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Ends the use of the slots from `used` on, none of which is on the stack: of the last one, if
    /// values have destructors. Returns whether there was one.
    #[inline(always)]
    pub(super) fn cut_one(&mut self, used: usize) -> bool {
        if !needs_drop::<T>() {
            self.used = used;
            return false;
        }
        let is_any = self.used > used;
        if is_any {
            self.used -= 1;
            // SAFETY: the cell existed until now (`used-cells`), and is not used as one any more.
            unsafe {
                let cell: NonNull<K::Cell<T>> = self.place(self.used);
                if cell.as_ref().is_occupied() {
                    K::Cell::destroy(cell);
                }
            }
        }
        is_any
    }
}

impl<T: Clone, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Undoes the last change since the last mark, which this is, and then drops the value that
    /// ends. Returns whether there was a change. The slots from that of the mark on are cut off.
    #[inline(always)]
    fn undo_one(&mut self, log: &mut UndoLog<T>, mark: Mark) -> bool {
        let Some((index, version, value)) = log.pop_since(mark) else {
            return false;
        };
        debug_assert!(index < self.used && (version % 2 == 1) == value.is_some());
        // SAFETY: the slot was used at the mark (`logged-once`), so its cell exists again. If it was
        // free, it is not on the stack, and there is room: that has only the free slots that the log
        // does not have (`untouched-free`) and those pushed here, and the log has it once.
        let old = unsafe {
            if version % 2 == 0 {
                self.cells.push(index);
            }
            write_back(self.place(index), version, value)
        };
        drop(old);
        true
    }
}

/// Writes the state of a slot back: its version, and its value if it had one. Returns the value that
/// it replaces.
///
/// # Safety
///
/// `cell` is a cell that exists.
#[inline(always)]
pub(super) unsafe fn write_back<T, C: Cell<T>>(
    cell: NonNull<C>,
    version: u32,
    value: Option<T>,
) -> Option<T> {
    // SAFETY: the cell exists (precondition); it is vacant when it is filled, with an odd version.
    unsafe {
        let old = match cell.as_ref().is_occupied() {
            true => Some(C::vacate(cell, version & !1)),
            false => {
                C::write_vacant(cell, version & !1);
                None
            }
        };
        if let Some(value) = value {
            C::fill(cell, version, value);
        }
        old
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Frees the retired slots, whose generations wrap: so no slot changes in `clear` that has no
    /// value and is not on the stack.
    #[cold]
    fn free_retired(&mut self) {
        for index in 0..self.used {
            // SAFETY: by `used-cells` the cell exists. A vacant one of this version is not on the
            // stack (`vacant-stack`), and there is room for it.
            unsafe {
                let cell: NonNull<K::Cell<T>> = self.place(index);
                if cell.as_ref().version() == RETIRED {
                    K::Cell::<T>::write_vacant(cell, 0);
                    self.cells.push(index);
                }
            }
        }
        self.retired = 0;
    }
}
