//! A secondary slab whose changes are logged: the entries of values that a group rewinds.

use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use super::cell::Cell;
use super::iter::{Iter, Walk};
use super::key::{GenerationKey, Inside};
use super::logged::{ChangeError, CheckpointIterMut, Logged, LoggedSlab};
use super::secondary::{NO_ENTRY, SecondarySlab, or_fail};
use super::undo::{Undo, write_back};
use super::undo_log::{Mark, Numbers, UndoLog};
use super::{Growable, InsertAtError, PlainSlab, Storage, missing};
use crate::error::{AllocError, DisjointError};
use crate::raw::memory;
use crate::raw::to_the_end::to_the_end;

#[cfg(doc)]
use super::SlabGroup;

/// A [`SecondarySlab`] of `Clone` entries whose changes are [logged](Logged): of a [`SlabGroup`].
///
/// Methods that only read are those of the [`SecondarySlab`], and `entries[key]` borrows an entry, also
/// mutably. Those that may be refused memory for the log return a `Result` where a `SecondarySlab`
/// returns an `Option`. There is no `entry`: [`get_mut`](Self::get_mut) and [`insert`](Self::insert).
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{LoggedSecondary, LoggedSlab, SecondarySlab, SlabGroup};
/// use flatslab::{GenKey, KeySlab};
///
/// fn hit(ships: &LoggedSlab<i32, GenKey>, shields: &mut LoggedSecondary<u32, GenKey>, ship: GenKey) {
///     match shields.get_mut(ship) {
///         Some(shield) => *shield -= 1,
///         None => assert_eq!(shields.insert(ships, ship, 9), None),
///     }
/// }
///
/// let mut world = SlabGroup::from((KeySlab::with_key(), SecondarySlab::new()));
/// let (ships, shields) = world.parts_mut();
/// let ship = ships.insert(0);
/// hit(ships, shields, ship);
/// hit(ships, shields, ship);
/// assert_eq!(shields[ship], 8);
/// ```
pub type LoggedSecondary<V, K> = Logged<SecondarySlab<V, K>>;

impl<V: Clone, K: GenerationKey> Undo for SecondarySlab<V, K> {
    type Value = V;
    type Key = K;
    type Storage = Growable;

    fn slab(&self) -> &PlainSlab<V, K, Growable> {
        &self.slab
    }

    fn try_new_log(&mut self) -> Result<UndoLog<V>, AllocError> {
        let mut log = UndoLog::new_in(self.slab.cells.source());
        log.try_add_stamps(self.slab.used, self.stamped())?;
        Ok(log)
    }

    #[track_caller]
    fn clone_for(&self, slots: usize) -> Self {
        SecondarySlab {
            slab: self.slab.clone_for(slots),
        }
    }

    #[track_caller]
    fn clone_from_for(&mut self, source: &Self, slots: usize) {
        self.slab.clone_from_for(&source.slab, slots);
    }

    fn stamped(&self) -> usize {
        self.slab.used
    }

    fn numbers(&self) -> Numbers {
        Numbers {
            used: self.slab.used as u32,
            free: 0,
            others: self.slab.detached,
        }
    }

    fn undo(&mut self, log: &mut UndoLog<V>, mark: Mark) {
        let used = mark.numbers.used as usize;
        assert!(used <= self.slab.capacity(), "kept-capacity");
        // Only after `clear`. Each of them is in the log (`kept-capacity`).
        self.create_up_to(used);
        self.slab.detached = mark.numbers.others;
        let entries = &mut self.slab;
        to_the_end(|| {
            if entries.cut_one(used) {
                return true;
            }
            let Some((index, version, entry)) = log.pop_since(mark) else {
                return false;
            };
            debug_assert!(index < used && (version % 2 == 1) == entry.is_some());
            // SAFETY: the slot was used at the mark (`logged-once`), so its cell exists again.
            let old = unsafe { write_back(entries.place(index), version, entry) };
            drop(old);
            true
        });
    }
}

impl<V: Clone, K: GenerationKey> LoggedSecondary<V, K> {
    /// Reserves memory for the entries of slots with an index below `slots`, and for their stamps;
    /// never panics or aborts.
    ///
    /// The insertions of these entries then allocate for the log alone:
    /// [`try_reserve_changes`](Logged::try_reserve_changes).
    ///
    /// # Complexity
    ///
    /// O(slots) if the slab grows, otherwise O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or if the allocator refuses; no entry has changed
    /// then.
    ///
    /// ```
    /// use flatslab::key_slab::{SecondarySlab, SlabGroup};
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let world: (KeySlab<u8, GenKey>, SecondarySlab<u8, GenKey>) = Default::default();
    /// let mut world = SlabGroup::from(world);
    /// let (values, entries) = world.parts_mut();
    /// values.try_reserve(1_000)?;
    /// entries.try_reserve(1_000)?;
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_reserve(&mut self, slots: usize) -> Result<(), AllocError> {
        if let Some(last) = slots.checked_sub(1) {
            self.slab.slab.try_reach(last)?;
        }
        self.log.try_reserve_stamps(self.slab.slab.capacity())
    }

    /// Sets the entry of a value of `slab`, and returns the entry that the value had, like
    /// [`insert`](SecondarySlab::insert) of a [`SecondarySlab`].
    ///
    /// # Complexity
    ///
    /// O(1) if this or a higher slot had an entry before. Otherwise O(n) for the n new slots up to
    /// this one, each of which is written once, and growth, also of the log.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](SecondarySlab::insert) of a [`SecondarySlab`] does, and if
    /// memory for the log is refused.
    #[track_caller]
    pub fn insert<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
        value: V,
    ) -> Option<V> {
        or_fail(self.try_insert(slab, key, value))
    }

    /// Sets the entry of a value of `slab`, like [`insert`](Self::insert); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value where [`insert`](Self::insert) panics, or if the allocator refuses.
    pub fn try_insert<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
        value: V,
    ) -> Result<Option<V>, InsertAtError<V>> {
        let (index, version) = (key.index(), key.version());
        if slab.find(index, version).is_none() {
            return Err(InsertAtError::Missing(value));
        }
        if let Err(error) = self.try_log_entry(index) {
            return Err(InsertAtError::NoMemory(value, error));
        }
        self.slab.set(index, version, slab.wraps(), value)
    }

    /// Logs the slot of this index, or makes room for its stamp and those of the slots up to it.
    fn try_log_entry(&mut self, index: usize) -> Result<(), AllocError> {
        let entries = &mut self.slab.slab;
        if index >= entries.used {
            entries.try_reach(index)?;
            return self.log.try_stamp_fresh(entries.used, index + 1);
        }
        let cell = &entries.existing()[index];
        self.log.try_log(index, cell.version(), cell.get())
    }

    /// Borrows the entry with this key mutably, and logs its present state. Returns `None` if there
    /// is no entry. O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_get_mut`](Self::try_get_mut) returns an
    /// error.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        match self.try_get_mut(key) {
            Ok(entry) => Some(entry),
            Err(ChangeError::Missing) => None,
            Err(ChangeError::NoMemory(error)) => memory::fail(error),
        }
    }

    /// Borrows the entry with this key mutably, and logs its present state, like
    /// [`get_mut`](Self::get_mut); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no entry with this key, or if memory for the log is refused;
    /// nothing has changed then.
    #[inline]
    pub fn try_get_mut(&mut self, key: K) -> Result<&mut V, ChangeError> {
        let (index, version) = (key.index(), key.version());
        let found = self.slab.slab.find_mut(index, version);
        let entry = found.ok_or(ChangeError::Missing)?;
        self.log.try_log(index, version | 1, Some(&*entry))?;
        Ok(entry)
    }

    /// Borrows several entries mutably at once, and logs the present state of each.
    ///
    /// # Complexity
    ///
    /// O(`N`²), unless the log grows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no entry with one of the keys, or if two keys refer to the same
    /// entry. Nothing is logged then.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused.
    #[track_caller]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut V; N], DisjointError> {
        let places = self.slab.slab.disjoint(keys)?;
        for (index, version) in places {
            self.log
                .log(index, version | 1, self.slab.slab.value_at(index));
        }
        // SAFETY: `disjoint` returned the places, and nothing was removed since.
        Ok(unsafe { self.slab.slab.values_of(places) })
    }

    /// Removes the entry with this key, and returns it. O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Panics if there is no entry, where [`try_remove`](Self::try_remove) returns an error. Aborts
    /// if memory for the log is refused.
    #[track_caller]
    #[doc(alias = "erase")]
    pub fn remove(&mut self, key: K) -> V {
        match self.try_remove(key) {
            Ok(entry) => entry,
            Err(ChangeError::Missing) => missing(key),
            Err(ChangeError::NoMemory(error)) => memory::fail(error),
        }
    }

    /// Removes the entry with this key, and returns it. Never panics or aborts. O(1), unless the
    /// log grows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no entry, or if memory for the log is refused; nothing has
    /// changed then.
    pub fn try_remove(&mut self, key: K) -> Result<V, ChangeError> {
        let (index, version) = (key.index(), key.version());
        let entries = &mut self.slab.slab;
        let entry = entries.find(index, version).ok_or(ChangeError::Missing)?;
        self.log.try_log(index, version | 1, Some(entry))?;
        entries.detached += 1;
        // SAFETY: `find` says that the cell is occupied. It is vacant then, and counted so.
        Ok(unsafe { K::Cell::vacate(entries.place(index), NO_ENTRY) })
    }

    /// Drops the entries whose value in `slab` was removed. Entries of values that are only
    /// [detached](PlainSlab::detach) stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry), and a copy of each entry that is dropped.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_retain`](Self::try_retain) returns an
    /// error.
    #[track_caller]
    pub fn prune<T, S: Storage>(&mut self, slab: &PlainSlab<T, K, S>) {
        self.retain(|key, _| slab.contains(key) || slab.is_detached(key));
    }

    /// Drops the entries for which `keep` returns `false`, in the order of the slots.
    ///
    /// `keep` gets shared references, so only the dropped entries are logged. If `keep` panics, the
    /// entries that were not visited yet stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry), and a copy of each entry that is dropped.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_retain`](Self::try_retain) returns an
    /// error.
    #[track_caller]
    pub fn retain(&mut self, mut keep: impl FnMut(K, &V) -> bool) {
        let mut walk = Walk::new(&self.slab.slab);
        while let Some((index, version, cell)) = walk.next_cell() {
            // SAFETY: an occupied cell of this slab (`walk-left`); `keep` cannot reach the slab.
            let entry = unsafe { cell.as_ref().value() };
            if !keep(K::new(index, version, Inside), entry) {
                self.log.log(index, version, Some(entry));
                self.slab.slab.detached += 1;
                // SAFETY: still occupied. It is the visited cell, not the entry of the key: the
                // methods of the key may return other numbers.
                let _: V = unsafe { K::Cell::vacate(cell, NO_ENTRY) };
            }
        }
    }

    /// Drops the entries for which `keep` returns `false`, like [`retain`](Self::retain); never
    /// aborts: memory to log all entries is reserved first.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; `keep` was not called then.
    pub fn try_retain(&mut self, keep: impl FnMut(K, &V) -> bool) -> Result<(), AllocError> {
        self.log
            .try_reserve_each(self.slab.len(), self.slab.len())?;
        self.retain(keep);
        Ok(())
    }

    /// Drops all entries, and keeps the memory.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry): each that was not logged since the last checkpoint is logged.
    /// O(1) without a checkpoint.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_clear`](Self::try_clear) returns an
    /// error.
    #[track_caller]
    pub fn clear(&mut self) {
        if self.log.marks() > 0 {
            for index in 0..self.slab.slab.used {
                if let Err(error) = self.try_log_entry(index) {
                    memory::fail(error);
                }
            }
        }
        self.slab.clear();
    }

    /// Drops all entries, like [`clear`](Self::clear); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; nothing has changed then.
    pub fn try_clear(&mut self) -> Result<(), AllocError> {
        let (used, entries) = (self.slab.slab.used, self.slab.len());
        self.log.try_reserve_each(used, entries)?;
        self.clear();
        Ok(())
    }

    /// Returns an iterator over mutable references to the entries, with their keys, in the order of
    /// the slots. It logs each entry that it yields.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration, and a copy of each entry.
    ///
    /// # Panics
    ///
    /// The iterator aborts if memory for the log is refused, where
    /// [`try_iter_mut`](Self::try_iter_mut) returns an error.
    #[inline]
    pub fn iter_mut(&mut self) -> CheckpointIterMut<'_, V, K> {
        CheckpointIterMut::new(&mut self.slab.slab, &mut self.log)
    }

    /// Returns an iterator over mutable references to the entries, with their keys, like
    /// [`iter_mut`](Self::iter_mut), which never panics or aborts: memory to log all entries is
    /// reserved first.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; no entry has changed then.
    pub fn try_iter_mut(&mut self) -> Result<CheckpointIterMut<'_, V, K>, AllocError> {
        self.log
            .try_reserve_each(self.slab.len(), self.slab.len())?;
        Ok(self.iter_mut())
    }

    /// Returns an iterator over mutable references to the entries, in the order of the slots. It logs
    /// each entry that it yields, like [`iter_mut`](Self::iter_mut), and takes as long.
    #[inline]
    pub fn values_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator + FusedIterator {
        self.iter_mut().map(|(_key, entry)| entry)
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots. The references to the entries are mutable, and these entries
    /// are logged.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration, and a clone of each entry that has a
    /// value.
    ///
    /// # Panics
    ///
    /// The iterator aborts if memory for the log is refused. It does not request any after
    /// [`try_reserve_changes`](Logged::try_reserve_changes).
    pub fn join_entries_mut<'a, T, S: Storage>(
        &'a mut self,
        slab: &'a PlainSlab<T, K, S>,
    ) -> impl FusedIterator<Item = (K, &'a T, &'a mut V)> {
        let mut entries = self.iter_mut();
        core::iter::from_fn(move || {
            let (key, entry, value) = entries.next_joined(slab)?;
            Some((key, value, entry))
        })
        .fuse()
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots. The references to the value and to the entry are mutable,
    /// and both are logged.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration, and a copy of each value and entry.
    ///
    /// # Panics
    ///
    /// The iterator aborts if memory for a log is refused. It does not request any after
    /// [`try_reserve_changes`](Logged::try_reserve_changes) of both slabs.
    pub fn join_mut<'a, T: Clone, S: Storage>(
        &'a mut self,
        slab: &'a mut LoggedSlab<T, K, S>,
    ) -> impl FusedIterator<Item = (K, &'a mut T, &'a mut V)> {
        LoggedJoinMut {
            entries: Walk::new(&self.slab.slab),
            log: &mut self.log,
            slab,
            borrowed: PhantomData,
        }
    }
}

/// An iterator over the values of a slab that have an entry, and their entries, which logs both.
struct LoggedJoinMut<'a, T: Clone, V: Clone, K: GenerationKey, S: Storage> {
    /// Over a slab that is borrowed mutably for `'a`.
    entries: Walk<V, K>,
    log: &'a mut UndoLog<V>,
    slab: &'a mut LoggedSlab<T, K, S>,
    borrowed: PhantomData<&'a mut V>,
}

impl<'a, T: Clone, V: Clone, K: GenerationKey, S: Storage> Iterator
    for LoggedJoinMut<'a, T, V, K, S>
{
    type Item = (K, &'a mut T, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (index, version, entry) = self.entries.next_cell()?;
            let values = &self.slab.slab;
            if index >= values.used {
                continue;
            }
            // SAFETY: by `used-cells` the cell of the value exists. Both cells are occupied where
            // they are used. Each is visited once, because the walk visits each index once, and
            // both slabs are borrowed for `'a`; what is read of them afterwards is other cells, and
            // their logs.
            unsafe {
                let value = values.place(index);
                if !value.as_ref().holds(version) {
                    continue;
                }
                self.log.log(index, version, Some(entry.as_ref().value()));
                let values = &mut self.slab.log;
                values.log(index, version, Some(value.as_ref().value()));
                let (value, entry) = (&mut *value.as_ptr(), &mut *entry.as_ptr());
                let key = K::new(index, version, Inside);
                return Some((key, value.value_mut(), entry.value_mut()));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

impl<T: Clone, V: Clone, K: GenerationKey, S: Storage> FusedIterator
    for LoggedJoinMut<'_, T, V, K, S>
{
}

/// Borrows the entry with this key.
///
/// # Panics
///
/// Panics if there is no entry with this key.
impl<V: Clone, K: GenerationKey> Index<K> for LoggedSecondary<V, K> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        &self.slab[key]
    }
}

/// Borrows the entry with this key mutably, and logs its present state, like
/// [`get_mut`](LoggedSecondary::get_mut).
///
/// # Panics
///
/// Panics if there is no entry with this key. Aborts if memory for the log is refused.
impl<V: Clone, K: GenerationKey> IndexMut<K> for LoggedSecondary<V, K> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut V {
        match self.get_mut(key) {
            Some(entry) => entry,
            None => missing(key),
        }
    }
}

impl<'a, V: Clone, K: GenerationKey> IntoIterator for &'a LoggedSecondary<V, K> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, V, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.slab.iter()
    }
}

/// Logs each entry that the iterator yields, like [`iter_mut`](LoggedSecondary::iter_mut).
impl<'a, V: Clone, K: GenerationKey> IntoIterator for &'a mut LoggedSecondary<V, K> {
    type Item = (K, &'a mut V);
    type IntoIter = CheckpointIterMut<'a, V, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The check of the invariants.
#[cfg(test)]
impl<V: Clone, K: GenerationKey, X: ?Sized> Logged<SecondarySlab<V, K>, X> {
    /// Panics if an invariant of the slab or of its log does not hold.
    pub(super) fn check(&self) {
        let entries = &self.slab.slab;
        entries.check();
        assert_eq!(entries.cells.len(), 0, "no slot is on the stack");
        assert_eq!(entries.len() + entries.detached as usize, entries.used);
        self.log.check(entries.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GenKey;
    use crate::common::amount;
    use crate::common::random::{random, seed};
    use crate::key_slab::{Checkpoint, KeySlab, SlabGroup};

    /// The invariants hold after each step of random programs, and after each rewind.
    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn logs_of_entries_have_each_slot_once() {
        type World = SlabGroup<(KeySlab<u64, GenKey>, SecondarySlab<u64, GenKey>)>;
        let below = |n: usize| random(n as u64) as usize;
        for number in 0..amount(20, 1_u64) {
            seed(number);
            let mut world = World::from((KeySlab::with_key(), SecondarySlab::new()));
            let mut states: Vec<(Checkpoint, SecondarySlab<u64, GenKey>)> = Vec::new();
            for step in 0..amount(1_000, 100) {
                let (slab, entries) = world.parts_mut();
                let any = slab.keys().nth(below(slab.len().max(1)));
                match (below(16), any) {
                    (0, _) => {
                        let checkpoint = world.checkpoint();
                        if states.last().is_none_or(|(last, _)| *last != checkpoint) {
                            states.push((checkpoint, world.parts().1.clone()));
                        }
                    }
                    (1, _) if !states.is_empty() => {
                        states.truncate(below(states.len()) + 1);
                        let (checkpoint, state) = states.last().unwrap();
                        world.rewind(*checkpoint);
                        let entries = world.parts().1;
                        assert_eq!(entries, state);
                        assert_eq!(entries.slab.used, state.slab.used);
                        assert_eq!(entries.slab.detached, state.slab.detached);
                    }
                    (2, _) => {
                        let kept = states.len().min(below(8));
                        states.drain(..states.len() - kept);
                        world.keep_last(kept);
                    }
                    (3, _) if below(8) == 0 => entries.clear(),
                    (3, _) if below(4) == 0 => world.shrink_to_fit(),
                    (4, _) => entries.prune(slab),
                    (5, _) => entries.iter_mut().take(3).for_each(|(_, it)| *it = step),
                    (6 | 7, Some(key)) => drop(entries.try_remove(key)),
                    (8, Some(key)) => drop(slab.try_remove(key)),
                    (9..=12, Some(key)) => drop(entries.try_insert(slab, key, step)),
                    _ => drop(slab.try_insert(step)),
                }
                let (slab, entries) = world.parts_mut();
                slab.check();
                entries.check();
            }
        }
    }
}
