//! Insertion under given keys into a slab whose changes are logged.

use super::cell::Cell;
use super::checkpoint::SlabGroup;
use super::iter::IntoIter;
use super::key::SlabKey;
use super::logged::LoggedSlab;
use super::restore::{Filling, InsertAtError, Refusal, or_panic};
use super::undo_log::UndoLog;
use super::{Growable, PlainSlab, Storage};
use crate::error::AllocError;

#[cfg(doc)]
use super::KeySlab;

impl<T: Clone, K: SlabKey, S: Storage> LoggedSlab<T, K, S> {
    /// Inserts a value under a key of your choice, like [`insert_at`](PlainSlab::insert_at) of a
    /// [`KeySlab`].
    ///
    /// # Complexity
    ///
    /// That of a [`KeySlab`]: O(1) if the slot is the next free one, or the first one after all used
    /// slots. The free slots that it looks at are logged.
    ///
    /// # Errors
    ///
    /// Returns the value where [`insert_at`](PlainSlab::insert_at) of a [`KeySlab`] does, or if
    /// memory for the log is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::new();
    /// let empty = slab.checkpoint();
    /// slab.insert_at(Key::from_raw(2), "two").unwrap();
    /// assert_eq!(slab.insert("zero").index(), 0);
    /// slab.rewind(empty);
    /// assert_eq!(slab.insert("first").index(), 0);
    /// ```
    #[doc(alias = "insert_with_key")]
    pub fn insert_at(&mut self, key: K, value: T) -> Result<(), InsertAtError<T>> {
        let (index, version) = (key.index(), key.version());
        let reached = self.slab.reach(index, version);
        match reached.and_then(|()| log_place(&self.slab, &mut self.log, index)) {
            Ok(()) => {
                // SAFETY: `reach` says that the slot admits a value of the version.
                unsafe { self.slab.put_at(index, version, value) };
                Ok(())
            }
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Inserts values under keys of your choice, like [`try_extend`](PlainSlab::try_extend) of a
    /// [`KeySlab`]: a value replaces one with the same key, or one of an earlier generation.
    ///
    /// # Complexity
    ///
    /// O(values + free slots + new slots). All free slots are logged if one of them, or a new one, is
    /// filled.
    ///
    /// # Errors
    ///
    /// Returns the first value that cannot be inserted, or for which memory of the log is refused.
    /// The values before it are inserted.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::new();
    /// let key = Key::from_raw(7);
    /// slab.try_extend([(key, "first"), (key, "later")]).unwrap();
    /// assert_eq!(slab[key], "later");
    /// ```
    pub fn try_extend<I>(&mut self, values: I) -> Result<(), InsertAtError<T>>
    where
        I: IntoIterator<Item = (K, T)>,
    {
        let log = &mut self.log;
        let mut filling = Filling::new(&mut self.slab);
        let mut values = values.into_iter();
        let mut is_stack_logged = false;
        // The iterator is dropped before the error is returned, as in a `KeySlab`.
        let put = values.try_for_each(|(key, value)| {
            let (index, version) = (key.index(), key.version());
            match try_log(filling.slab, log, (index, version), &mut is_stack_logged) {
                Ok(()) => filling.put(index, version, value).map(drop),
                Err(refusal) => Err(refusal.with(value)),
            }
        });
        drop(values);
        put
    }
}

/// Logs what an insertion into a vacant or new slot changes: the free slots from the next one down
/// to that one, or all of them if there are new slots below, which go under them on the stack.
fn log_place<T: Clone, K: SlabKey, S: Storage>(
    slab: &PlainSlab<T, K, S>,
    log: &mut UndoLog<T>,
    index: usize,
) -> Result<(), Refusal> {
    let is_new = index >= slab.used;
    if log.marks() > 0 && index != slab.used {
        log_free(slab, log, Some(index))?;
    }
    match is_new {
        true => log.try_stamp_fresh(slab.used, index + 1).map_err(no_memory),
        false => Ok(()),
    }
}

/// Logs what [`put`](Filling::put) changes. The slots that were free before are logged at the first
/// value that goes to a vacant or new slot: until then the stack is as it was.
fn try_log<T: Clone, K: SlabKey, S: Storage>(
    slab: &mut PlainSlab<T, K, S>,
    log: &mut UndoLog<T>,
    (index, version): (usize, u32),
    is_stack_logged: &mut bool,
) -> Result<(), Refusal> {
    if let Some(cell) = slab.existing().get(index).filter(|cell| cell.is_occupied()) {
        let logged = log.try_log(index, cell.version() | 1, cell.get());
        return logged.map_err(no_memory);
    }
    slab.reach(index, version)?;
    if log.marks() > 0 && !*is_stack_logged {
        log_free(slab, log, None)?;
        *is_stack_logged = true;
    }
    match index >= slab.used {
        true => log.try_stamp_fresh(slab.used, index + 1).map_err(no_memory),
        false => Ok(()),
    }
}

/// Logs the free slots from the next one down to the last one, which may be given, as insertions
/// would pop them.
fn log_free<T: Clone, K: SlabKey, S: Storage>(
    slab: &PlainSlab<T, K, S>,
    log: &mut UndoLog<T>,
    last: Option<usize>,
) -> Result<(), Refusal> {
    for &free in slab.cells.free().iter().rev() {
        let free = free as usize;
        let version = slab.existing()[free].version();
        log.try_log(free, version, None).map_err(no_memory)?;
        if Some(free) == last {
            break;
        }
    }
    Ok(())
}

fn no_memory(error: AllocError) -> Refusal {
    Refusal::NoMemory((), error)
}

/// Inserts values under their keys, like [`try_extend`](LoggedSlab::try_extend).
///
/// # Panics
///
/// Panics where [`try_extend`](LoggedSlab::try_extend) returns an error; the values before are
/// inserted.
impl<T: Clone, K: SlabKey, S: Storage> Extend<(K, T)> for LoggedSlab<T, K, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, values: I) {
        or_panic(self.try_extend(values));
    }
}

/// Inserts values under their keys, like [`try_extend`](LoggedSlab::try_extend).
///
/// # Panics
///
/// Panics where [`try_extend`](LoggedSlab::try_extend) returns an error; the values before are
/// inserted.
impl<T: Clone, K: SlabKey, S: Storage> Extend<(K, T)> for SlabGroup<PlainSlab<T, K, S>> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, values: I) {
        (**self).extend(values);
    }
}

/// Creates a slab with these values under these keys, and without checkpoints.
impl<T: Clone, K: SlabKey> FromIterator<(K, T)> for SlabGroup<PlainSlab<T, K, Growable>> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, T)>>(values: I) -> Self {
        SlabGroup::from(PlainSlab::from_iter(values))
    }
}

/// Moves the values out with their keys, in the order of the slots, and drops the checkpoints.
impl<T: Clone, K: SlabKey, S: Storage> IntoIterator for SlabGroup<PlainSlab<T, K, S>> {
    type Item = (K, T);
    type IntoIter = IntoIter<T, K, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_inner().into_iter()
    }
}
