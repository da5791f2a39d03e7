//! The undo log of a slab or of a secondary slab: what its slots were before they changed.
//!
//! The first change of a slot after a checkpoint copies the slot's previous state into the log. A
//! stamp for each slot says whether it is in the log since the last checkpoint; so a further change
//! costs a load and a comparison, and a new checkpoint costs a new stamp, not a walk over the slots.
//!
//! The log has two queues: which slot changed and what version it had, in 8 bytes; and the values
//! of those slots that had one. So an insertion takes no room for a value. A third queue has the
//! marks: for each checkpoint that is kept, where its part of the log begins, and the numbers of
//! the slab. The slabs of a [group](super::SlabGroup) have marks with the same numbers, one for
//! each checkpoint.
//!
//! # Invariants
//!
//! * `logged-once`: let the *last mark* be the newest checkpoint that is kept. A slot that was used
//!   at the last mark and whose stamp is not `stamp` is as it was then. One whose stamp is `stamp`
//!   is in the log after the last mark exactly once, with the state that it had at the mark, or it
//!   was not used then. For each older mark, the same holds of the state at the next mark and of the
//!   log between the two. Without a mark there is nothing in the log.
//! * `untouched-free`: of a slab. A slot that the log has without a value was free at its mark. If
//!   the log after the last mark has `n` of them, all but the last `n` of the free indices at the
//!   mark are still where they were, at the bottom of the stack, and their slots do not have the
//!   current stamp; the slots of all indices above have it. The log has the `n` in the order in
//!   which they were popped.
//! * `stamped-slots`: there is a stamp for each slot that is used, or was used at a mark. No slot
//!   has the current stamp when it begins.
//! * `kept-capacity`: the capacity of the slab never falls, so each slot that was used at a mark is
//!   below it. A slot that was used at the last mark and is not any more is in the log after it.

use core::panic::RefUnwindSafe;

use crate::error::AllocError;
use crate::memory::array::Array;
use crate::raw::deque::Deque;
use crate::raw::memory;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// A state of a [`CheckpointSlab`](super::CheckpointSlab) or a [`SlabGroup`](super::SlabGroup), which
/// [`rewind`](super::SlabGroup::rewind) returns to.
///
/// It is a number: dropping it does not change the slab.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{Checkpoint, CheckpointSlab};
///
/// let mut slab = CheckpointSlab::new();
/// let empty: Checkpoint = slab.checkpoint();
/// slab.insert(7);
/// slab.rewind(empty);
/// assert!(slab.is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of the group, from 1 on.
    pub(super) group: usize,
    /// How many checkpoints the group had before.
    pub(super) number: u64,
}

impl Checkpoint {
    /// Of two checkpoints that one group has: that of a group that it is a clone of is earlier.
    fn is_later_than(self, other: Checkpoint) -> bool {
        (self.group, self.number) > (other.group, other.number)
    }
}

/// A slot before it changed.
#[derive(Clone, Copy)]
struct Change {
    index: u32,
    /// Odd if the slot had a value, which is in the queue of values then.
    version: u32,
}

/// The state of the slab at a checkpoint, apart from its slots.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    checkpoint: Checkpoint,
    /// The ends of the two queues.
    changes: u64,
    values: u64,
    pub(super) numbers: Numbers,
}

/// The numbers of a slab or of a secondary slab that are not those of its slots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Numbers {
    pub(super) used: u32,
    /// The indices on the stack.
    pub(super) free: u32,
    /// The retired slots of a slab; the slots without an entry of a secondary slab.
    pub(super) others: u32,
}

/// What changed in a slab since a mark.
pub(super) struct Difference<'a> {
    /// The numbers of the slab at the mark.
    pub(super) base: Numbers,
    /// The free slots that are where they were, at the bottom of the stack.
    pub(super) kept: u32,
    /// The slots that were used at the mark and are now; those up to `used` are new.
    old: u32,
    used: u32,
    /// The slots that changed, in order, if there was a later mark: some more than once.
    slots: Option<Array<u32>>,
    /// Otherwise those that the log has since the mark, each once (`logged-once`).
    changes: &'a Deque<Change>,
    since: u64,
}

impl Difference<'_> {
    /// The slots that changed and are used, each once.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        let listed = self.slots.iter().flat_map(|slots| slots.chunk_by(u32::eq));
        let listed = listed.map(|equal| equal[0]);
        let logged = self.slots.is_none().then(|| self.changes.since(self.since));
        let logged = logged.into_iter().flatten().map(|change| change.index);
        let old = listed.chain(logged).filter(|index| *index < self.old);
        old.chain(self.old..self.used).map(|index| index as usize)
    }

    /// The number of these slots. O(changes).
    pub(super) fn len(&self) -> usize {
        self.slots().count()
    }
}

/// The undo log of a slab: see the [module](self).
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
pub struct UndoLog<T> {
    changes: Deque<Change>,
    values: Deque<T>,
    marks: Deque<Mark>,
    /// For each slot the stamp with which it was logged last; 0 if it was not.
    stamps: Row<u32>,
    /// The stamp of the slots that are logged since the last mark, from 1 on.
    stamp: u32,
    /// The slot whose stamp was cleared last.
    cleared: usize,
}

// SAFETY: the stamps are its own, like the queues.
unsafe impl<T: Send> Send for UndoLog<T> {}
// SAFETY: only functions that take `&mut self` write to the stamps or replace their memory.
unsafe impl<T: Sync> Sync for UndoLog<T> {}

// By reference nothing is changed: a panic leaves nothing half done.
impl<T: RefUnwindSafe> RefUnwindSafe for UndoLog<T> {}

impl<T: Clone> UndoLog<T> {
    /// An empty log, whose memory is allocated globally.
    pub(super) const fn new() -> Self {
        const {
            Self::with(
                Source::GLOBAL,
                Source::GLOBAL,
                Source::GLOBAL,
                Source::GLOBAL,
            )
        }
    }

    /// An empty log.
    pub(super) fn new_in(source: &Source) -> Self {
        let clone = || source.clone();
        Self::with(clone(), clone(), clone(), clone())
    }

    /// An empty log with a source for each of its parts.
    const fn with(changes: Source, values: Source, marks: Source, stamps: Source) -> Self {
        UndoLog {
            changes: Deque::new(changes),
            values: Deque::new(values),
            marks: Deque::new(marks),
            stamps: Row::new(stamps),
            stamp: 1,
            cleared: 0,
        }
    }

    /// Returns `true` if a change of the slot is logged since the last mark, or need not be.
    #[inline(always)]
    pub(super) fn is_logged(&self, index: usize) -> bool {
        self.stamps.get(index) == Some(self.stamp)
    }

    /// Logs a slot, before it changes, with its value if it has one.
    ///
    /// # Errors
    ///
    /// If memory for the log is refused: nothing has changed.
    #[inline(always)]
    pub(super) fn try_log(
        &mut self,
        index: usize,
        version: u32,
        value: Option<&T>,
    ) -> Result<(), AllocError> {
        if self.is_logged(index) {
            return Ok(());
        }
        self.try_log_first(index, version, value)
    }

    /// Logs a slot, before it changes, like [`try_log`](Self::try_log); aborts if memory is
    /// refused.
    #[inline(always)]
    #[track_caller]
    pub(super) fn log(&mut self, index: usize, version: u32, value: Option<&T>) {
        if let Err(error) = self.try_log(index, version, value) {
            memory::fail(error);
        }
    }

    /// Logs a slot that is not logged yet.
    ///
    /// # Panics
    ///
    /// If the slot is not used, or cloning the value panics. Nothing has changed then.
    #[inline(always)]
    fn try_log_first(
        &mut self,
        index: usize,
        version: u32,
        value: Option<&T>,
    ) -> Result<(), AllocError> {
        debug_assert!((version % 2 == 1) == value.is_some());
        if self.marks.len() > 0 {
            self.try_reserve_changes(1, value.is_some().into())?;
        }
        assert!(index < self.stamps.len(), "the slot is used");
        if self.marks.len() > 0 {
            // First, because user code runs.
            if let Some(value) = value {
                self.values.push(value.clone());
            }
            let index = index as u32;
            self.changes.push(Change { index, version });
        }
        self.stamps.set(index, self.stamp);
        Ok(())
    }

    /// Stamps the slots from `used` to `end`, which are not used, so that no change of them is
    /// logged until the next mark: rewinding ends the use of these slots.
    ///
    /// # Errors
    ///
    /// If memory for the stamps is refused: nothing has changed.
    #[inline(always)]
    pub(super) fn try_stamp_fresh(&mut self, used: usize, end: usize) -> Result<(), AllocError> {
        self.try_reserve_stamps(end)?;
        for index in used..end {
            if index < self.stamps.len() {
                self.stamps.set(index, self.stamp);
            } else {
                assert!(index == self.stamps.len(), "stamped-slots");
                self.stamps.push(self.stamp);
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn try_reserve_stamps(&mut self, slots: usize) -> Result<(), AllocError> {
        if slots <= self.stamps.capacity() {
            return Ok(());
        }
        self.stamps.try_reserve(slots)
    }

    /// Makes room for this many changes more, of which this many are of slots with a value.
    #[inline(always)]
    pub(super) fn try_reserve_changes(
        &mut self,
        changes: usize,
        values: usize,
    ) -> Result<(), AllocError> {
        self.changes.try_reserve(changes)?;
        self.values.try_reserve(values)
    }

    /// Makes room for this many changes more before the next mark: without a mark none is logged.
    pub(super) fn try_reserve_each(
        &mut self,
        changes: usize,
        values: usize,
    ) -> Result<(), AllocError> {
        match self.marks.len() {
            0 => Ok(()),
            _ => self.try_reserve_changes(changes, values),
        }
    }

    /// Makes room for this many marks more.
    pub(super) fn try_reserve_marks(&mut self, marks: usize) -> Result<(), AllocError> {
        self.marks.try_reserve(marks)
    }

    /// Frees the memory that no change, no mark and no slot needs that is used or was at a mark
    /// (`stamped-slots`), except for the stamps of `stamped` slots. Keeps it if the source refuses
    /// the smaller block. O(marks), and what is copied.
    pub(super) fn shrink_to_fit(&mut self, used: usize, stamped: usize) {
        self.changes.shrink_to_fit();
        self.values.shrink_to_fit();
        self.marks.shrink_to_fit();
        self.stamps.truncate(self.most_used().max(used));
        self.stamps.shrink_to(stamped);
    }

    /// Returns a log of the same changes, marks and stamps.
    ///
    /// # Errors
    ///
    /// If memory is refused.
    pub(super) fn try_clone(&self) -> Result<Self, AllocError> {
        Ok(UndoLog {
            changes: self.changes.try_clone()?,
            values: self.values.try_clone()?,
            marks: self.marks.try_clone()?,
            stamps: self.stamps.try_clone()?,
            stamp: self.stamp,
            cleared: self.cleared,
        })
    }

    /// Begins another stamp, which no slot has (`stamped-slots`).
    ///
    /// A stamp begins again after 2^32 − 1 others. A slot that still had it would be taken for one
    /// that is logged. So each call clears the stamp of one slot: all of the fewer than 2^30 slots
    /// have had their turn by then, more than once.
    pub(super) fn begin_stamp(&mut self) {
        self.stamp = self.stamp.checked_add(1).unwrap_or(1);
        self.cleared += 1;
        if self.cleared >= self.stamps.len() {
            self.cleared = 0;
        }
        if self.cleared < self.stamps.len() {
            self.stamps.set(self.cleared, 0);
        }
    }

    /// Stamps the used slots of a slab, none of which is logged, and makes room for the stamps of
    /// `stamped` slots.
    pub(super) fn try_add_stamps(&mut self, used: usize, stamped: usize) -> Result<(), AllocError> {
        self.stamps.try_reserve(stamped)?;
        for _ in self.stamps.len()..used {
            self.stamps.push(0);
        }
        Ok(())
    }

    /// Adds a mark, for which [room was made](Self::try_reserve_marks).
    pub(super) fn mark(&mut self, checkpoint: Checkpoint, numbers: Numbers) {
        self.marks.push(Mark {
            checkpoint,
            changes: self.changes.end(),
            values: self.values.end(),
            numbers,
        });
        self.begin_stamp();
    }

    pub(super) fn last_mark(&self) -> Option<Mark> {
        self.marks.last().copied()
    }

    /// Returns the most slots that were used at a mark. O(marks).
    pub(super) fn most_used(&self) -> usize {
        let used = |at| self.marks.get(at).map_or(0, |mark| mark.numbers.used);
        (0..self.marks.len()).map(used).max().unwrap_or(0) as usize
    }

    /// Returns the checkpoint of the last mark if a slab with these numbers is as it was then.
    pub(super) fn unchanged_since(&self, numbers: Numbers) -> Option<Checkpoint> {
        let last = self.last_mark()?;
        let unchanged = last.numbers == numbers && last.changes == self.changes.end();
        unchanged.then_some(last.checkpoint)
    }

    /// Returns how many marks are newer than that of this checkpoint, if there is one. O(newer
    /// marks).
    pub(super) fn newer_than(&self, checkpoint: Checkpoint) -> Option<usize> {
        // Checkpoints rise, so the first that is not newer decides.
        let newest_first = (0..self.marks.len()).rev().map(|at| self.marks.get(at));
        let mut marks = newest_first.flatten().enumerate();
        let (newer, mark) = marks.find(|(_, mark)| !mark.checkpoint.is_later_than(checkpoint))?;
        (mark.checkpoint == checkpoint).then_some(newer)
    }

    /// Returns what changed since the mark that has `newer` newer ones, in a slab that has these
    /// numbers now. O(1) and no allocation for the last mark; otherwise O(c log c) for c changes.
    ///
    /// # Errors
    ///
    /// If memory for the slots of an earlier mark is refused.
    pub(super) fn difference(
        &self,
        newer: usize,
        now: Numbers,
    ) -> Result<Difference<'_>, AllocError> {
        let first = self.marks.len() - 1 - newer;
        let at = |mark: usize| match self.marks.get(mark) {
            Some(mark) => (mark.changes, mark.values),
            None => (self.changes.end(), self.values.end()),
        };
        // Of the free slots at each mark, those that were not popped before the next one.
        let untouched = (first..self.marks.len()).filter_map(|mark| {
            let ((changes, values), (next, next_values)) = (at(mark), at(mark + 1));
            let popped = (next - changes) - (next_values - values);
            Some(u64::from(self.marks.get(mark)?.numbers.free).saturating_sub(popped) as u32)
        });
        let kept = untouched.min().unwrap_or(0).min(now.free);
        let base = self.marks.get(first).map_or(now, |mark| mark.numbers);
        let changes = &self.changes;
        let old = base.used.min(now.used);
        let since = at(first).0;
        let slots = match newer {
            0 => None,
            _ => {
                let most = (changes.end() - since) as usize;
                let mut slots = Array::try_untouched(most, &Source::GLOBAL)?;
                changes.since(since).for_each(|it| slots.push(it.index));
                slots.sort_unstable();
                Some(slots)
            }
        };
        Ok(Difference {
            base,
            kept,
            old,
            used: now.used,
            slots,
            changes,
            since,
        })
    }

    /// Drops the last mark, after which nothing is logged any more.
    pub(super) fn drop_last_mark(&mut self) {
        let mark = self.marks.pop();
        debug_assert!(mark.is_none_or(|mark| mark.changes == self.changes.end()));
    }

    /// Drops all marks but the last `count`, and their part of the log. O(1) if values have no
    /// destructor.
    pub(super) fn keep_last(&mut self, count: usize) {
        let Some(dropped) = self.marks.len().checked_sub(count) else {
            return;
        };
        let (changes, values) = match self.marks.get(dropped) {
            Some(oldest) => (oldest.changes, oldest.values),
            None => (self.changes.end(), self.values.end()),
        };
        self.marks.drop_before(self.marks.end() - count as u64);
        self.changes.drop_before(changes);
        self.values.drop_before(values);
    }

    /// Returns how many slots were free at the last mark, which this is, and were filled since
    /// (`untouched-free`).
    pub(super) fn popped_since(&self, mark: Mark) -> usize {
        let changes = self.changes.end() - mark.changes;
        (changes - (self.values.end() - mark.values)) as usize
    }

    /// Removes the last change since the last mark, which this is: a slot, its version, and its
    /// value.
    #[inline(always)]
    pub(super) fn pop_since(&mut self, mark: Mark) -> Option<(usize, u32, Option<T>)> {
        if self.changes.end() == mark.changes {
            return None;
        }
        let Change { index, version } = self.changes.pop()?;
        let value = match version % 2 {
            0 => None,
            _ => self.values.pop(),
        };
        Some((index as usize, version, value))
    }

    /// The number of marks.
    #[inline]
    pub(super) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The number of changes.
    #[inline]
    pub(super) fn changes(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn bytes(&self) -> usize {
        let queues = self.changes.bytes() + self.values.bytes() + self.marks.bytes();
        queues + self.stamps.bytes()
    }
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<T: Clone> UndoLog<T> {
    /// Panics if an invariant of a log does not hold for this many used slots.
    pub(super) fn check(&self, used: usize) {
        assert!(self.stamps.len() >= used, "stamped-slots");
        let Some(mark) = self.last_mark() else {
            assert_eq!(
                self.changes() + self.values.len(),
                0,
                "logged-once: no mark"
            );
            return;
        };
        let since = self.changes.len() - (self.changes.end() - mark.changes) as usize;
        let mut slots = alloc::collections::BTreeSet::new();
        for change in (since..self.changes.len()).filter_map(|at| self.changes.get(at)) {
            assert!(slots.insert(change.index), "logged-once: twice");
            assert!(self.is_logged(change.index as usize), "logged-once: stamp");
            assert!(change.index < mark.numbers.used, "logged-once: not used");
        }
        for mark in (0..self.marks.len()).filter_map(|at| self.marks.get(at)) {
            let used = mark.numbers.used as usize;
            assert!(self.stamps.len() >= used, "stamped-slots: at a mark");
        }
        for index in 0..mark.numbers.used {
            let is_logged = self.is_logged(index as usize);
            assert_eq!(is_logged, slots.contains(&index), "logged-once: {index}");
            assert!(is_logged || (index as usize) < used, "kept-capacity");
        }
    }

    /// Panics if `untouched-free` does not hold for these indices on the stack.
    pub(super) fn check_free(&self, free: &[u32]) {
        let Some(mark) = self.last_mark() else {
            return;
        };
        let untouched = mark.numbers.free as usize - self.popped_since(mark);
        for (at, &index) in free.iter().enumerate() {
            let is_touched = self.is_logged(index as usize);
            assert_eq!(is_touched, at >= untouched, "untouched-free: {index}");
        }
        assert!(free.len() >= untouched, "untouched-free");
    }

    #[cfg(test)]
    pub(super) fn begin_stamps_at(&mut self, stamp: u32) {
        self.stamp = stamp;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slot_has_a_stamp_that_begins_again() {
        let mut log = UndoLog::<u64>::new();
        log.try_stamp_fresh(0, 5).unwrap();
        let old = log.stamp;
        assert!((0..5).all(|slot| log.is_logged(slot)));
        // As many as slots, and not one less, clear all stamps.
        for begun in 1..=5 {
            log.begin_stamp();
            let left = (0..5).filter(|&slot| log.stamps.get(slot) == Some(old));
            assert_eq!(left.count(), 5 - begun);
        }
        // 0 is the stamp of a slot that was not logged.
        log.begin_stamps_at(u32::MAX - 1);
        for stamp in [u32::MAX, 1, 2] {
            log.begin_stamp();
            assert_eq!(log.stamp, stamp);
            assert!((0..5).all(|slot| !log.is_logged(slot)));
        }
    }
}
