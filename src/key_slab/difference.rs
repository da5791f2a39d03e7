//! What changed in a slab since a checkpoint, for a replica that follows it.
//!
//! The log has the slots that changed. The free slots are a stack, of which the log says how much at
//! the bottom has not been touched; what is above is part of the difference.

use core::error::Error;
use core::fmt;

use super::cell::{Cell, DETACHED, RETIRED, is_detached};
use super::key::{GenerationKey, Inside, SlabKey};
use super::undo::write_back;
use super::undo_log::{Difference, Numbers, UndoLog};
use super::{PlainSlab, SecondarySlab, Storage};
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::memory::array::{Array, Values};
use crate::raw::memory;
use crate::raw::source::Source;
use crate::raw::to_the_end::to_the_end;

/// What changed in a slab since a checkpoint. Created by
/// [`changes_since`](super::SlabGroup::changes_since).
pub struct Changes<'a, T, K: SlabKey, S: Storage> {
    slab: &'a PlainSlab<T, K, S>,
    difference: Difference<'a>,
}

impl<'a, T, K: SlabKey, S: Storage> Changes<'a, T, K, S> {
    /// What a log has since the mark with `newer` newer ones, of a slab that has these numbers.
    /// Aborts if memory for the slots of an earlier mark is refused.
    #[track_caller]
    pub(super) fn new(
        slab: &'a PlainSlab<T, K, S>,
        log: &'a UndoLog<T>,
        newer: usize,
        now: Numbers,
    ) -> Self
    where
        T: Clone,
    {
        match log.difference(newer, now) {
            Ok(difference) => Changes { slab, difference },
            Err(error) => memory::fail(error),
        }
    }

    /// Returns an iterator over the slots that may have changed, each once, in no particular order:
    /// its index, and its value with its key if it has one now.
    ///
    /// A slot counts as changed if its value was borrowed mutably, or it was the slot of a vacant
    /// entry.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Option<(K, &'a T)>)> {
        let cells = self.slab.existing();
        self.difference.slots().map(|index| {
            let cell = &cells[index];
            let key = |value| (K::new(index, cell.version() | 1, Inside), value);
            (index, cell.get().map(key))
        })
    }

    /// Returns a copy that owns clones of the values, to [apply](PlainSlab::apply) it. O(changes).
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses.
    #[must_use]
    #[track_caller]
    pub fn to_patch(&self) -> Patch<T>
    where
        T: Clone,
    {
        let patch = || {
            let source = &Source::GLOBAL;
            let slots = Array::try_untouched(self.difference.len(), source)?;
            let (mut slots, left) = (Values::of(slots), self.free());
            for (index, version, value) in self.slots() {
                slots.push((index, version, value.cloned()));
            }
            let mut free = Array::try_untouched(left.len(), source)?;
            free.extend_from_slice(left);
            Ok((slots, Values::of(free)))
        };
        let (slots, free) = patch().unwrap_or_else(|error: AllocError| memory::fail(error));
        Patch {
            base: self.base(),
            used: self.slab.used as u32,
            slots,
            kept: self.difference.kept,
            free,
        }
    }

    /// The state in which a replica has to be, as far as numbers say.
    fn base(&self) -> Base {
        Base {
            used: self.difference.base.used,
            free: self.difference.base.free,
            floor: self.slab.floor | u32::from(self.slab.wraps()),
        }
    }

    /// Index, version and value of each slot. A version without a value is even.
    fn slots(&self) -> impl Iterator<Item = (u32, u32, Option<&'a T>)> {
        let cells = self.slab.existing();
        self.difference.slots().map(|index| {
            let cell = &cells[index];
            let version = cell.version() | u32::from(cell.is_occupied());
            (index as u32, version, cell.get())
        })
    }

    /// The free slots above those that stay, the next one last.
    fn free(&self) -> &'a [u32] {
        &self.slab.cells.free()[self.difference.kept as usize..]
    }
}

/// Prints the slots and their values.
impl<T: fmt::Debug, K: SlabKey, S: Storage> fmt::Debug for Changes<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The numbers of a slab that a difference begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Base {
    used: u32,
    free: u32,
    /// With 1 more if generations wrap.
    floor: u32,
}

/// A difference between two states of a slab, or of a secondary slab, that owns its values. Read by
/// serde, or created by [`to_patch`](Changes::to_patch).
#[derive(Debug)]
pub struct Patch<T> {
    base: Base,
    used: u32,
    /// Index, version and value of each.
    slots: Values<(u32, u32, Option<T>)>,
    kept: u32,
    free: Values<u32>,
}

/// Clones the values.
///
/// # Panics
///
/// Aborts if the allocator refuses.
impl<T: Clone> Clone for Patch<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let parts = || Ok((self.slots.try_clone()?, self.free.try_clone()?));
        let (slots, free) = parts().unwrap_or_else(|error: AllocError| memory::fail(error));
        Patch {
            slots,
            free,
            ..*self
        }
    }
}

impl<T: PartialEq> PartialEq for Patch<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.base, self.used, self.kept) == (other.base, other.used, other.kept)
            && **self.slots == **other.slots
            && **self.free == **other.free
    }
}

impl<T: Eq> Eq for Patch<T> {}

impl<T> Patch<T> {
    /// Returns the number of slots that change.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}

/// The reason why a [`Patch`] was not applied. The slab has not changed.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::key_slab::{CheckpointSlab, PatchError};
///
/// let mut slab = CheckpointSlab::new();
/// let checkpoint = slab.checkpoint();
/// slab.insert(7);
/// let patch = slab.changes_since(checkpoint)?.to_patch();
/// let mut replica = KeySlab::new();
/// assert_eq!(replica.apply(patch), Ok(()));
/// let again = slab.changes_since(checkpoint)?.to_patch();
/// assert_eq!(replica.apply(again), Err(PatchError::OtherState));
/// # Ok::<(), flatslab::key_slab::RewindError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchError {
    /// The slab is not in the state that the difference begins with.
    OtherState,
    /// The difference contradicts itself, or the slab. It was forged or damaged.
    Inconsistent {
        /// The index of a slot that is part of the contradiction.
        slot: usize,
    },
    /// The slab has fewer slots than the difference needs, and cannot have more.
    OutOfRange {
        /// The number of slots that are needed.
        slots: usize,
        /// The largest number of slots that the slab can have.
        limit: usize,
    },
    /// The slab could not grow.
    NoMemory(AllocError),
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchError::OtherState => {
                f.write_str("the slab is not in the state that the difference begins with")
            }
            PatchError::Inconsistent { slot } => {
                write!(
                    f,
                    "the difference contradicts itself, or the slab, at slot {slot}"
                )
            }
            PatchError::OutOfRange { slots, limit } => {
                write!(
                    f,
                    "the difference needs {slots} slots, and the slab has at most {limit}"
                )
            }
            PatchError::NoMemory(error) => error.fmt(f),
        }
    }
}

impl Error for PatchError {}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Applies a difference: the slab is then as the other one was when the difference was taken.
    ///
    /// The slab must be as the other one was at the checkpoint of the difference. That is checked as
    /// far as the numbers of used and of free slots say; a program that may lose a difference, or that
    /// rewinds the other slab, numbers them. A difference that was damaged or forged may set any values, and does nothing
    /// worse: it is checked as a whole before the slab changes.
    ///
    /// All changes are made even if the destructor of a value that is replaced panics.
    ///
    /// # Complexity
    ///
    /// O(slots that change + used slots / 64). It allocates two bits for each slot, and memory for
    /// new slots.
    ///
    /// # Errors
    ///
    /// Returns an error if the difference does not belong to the state of this slab, contradicts
    /// itself, or needs more slots than the slab can have. Nothing has changed then.
    pub fn apply(&mut self, patch: Patch<T>) -> Result<(), PatchError> {
        self.admit(&patch)?;
        let used = patch.used as usize;
        // SAFETY: `admit` has found that each vacant slot that is neither retired nor detached will
        // be on the stack once, where there is room for all slots. Destructors, which are the only
        // user code that runs before the last slot is written, do not reach the slab.
        unsafe {
            self.cells.truncate(patch.kept as usize);
            for &free in &**patch.free {
                self.cells.push(free as usize);
            }
        }
        for index in used..self.used {
            self.count_vacant(index, |count| *count -= 1);
        }
        self.create_up_to(used);
        let mut slots = patch.slots;
        to_the_end(|| {
            if self.cut_one(used) {
                return true;
            }
            let Some((index, version, value)) = slots.pop() else {
                return false;
            };
            let index = index as usize;
            self.count_vacant(index, |count| *count -= 1);
            // SAFETY: below `used`, as `admit` has found, so the cell exists.
            let replaced = unsafe { write_back(self.place(index), version, value) };
            self.count_vacant(index, |count| *count += 1);
            drop(replaced);
            true
        });
        Ok(())
    }

    /// Changes the count of retired or of detached slots, if the slot is one of these.
    fn count_vacant(&mut self, index: usize, change: impl FnOnce(&mut u32)) {
        let cell = &self.existing()[index];
        let (is_occupied, version) = (cell.is_occupied(), cell.version());
        if is_occupied || Self::is_on_stack(version) {
            return;
        }
        match is_detached(version) {
            true => change(&mut self.detached),
            false => change(&mut self.retired),
        }
    }

    /// Checks a difference, and allocates the memory that it needs.
    fn admit(&mut self, patch: &Patch<T>) -> Result<(), PatchError> {
        let base = Base {
            used: self.used as u32,
            free: self.cells.len() as u32,
            floor: self.floor | u32::from(self.wraps()),
        };
        if patch.base != base || patch.kept > base.free {
            return Err(PatchError::OtherState);
        }
        let (old, used) = (self.used, patch.used as usize);
        let limit = if S::CAPACITY.is_fixed() {
            self.capacity()
        } else {
            MAX_SLOTS
        };
        if used > limit {
            return Err(PatchError::OutOfRange { slots: used, limit });
        }
        // Each new slot is in the difference, so the input pays for the memory.
        let new = used.saturating_sub(old);
        if patch.slots.len() < new {
            return Err(PatchError::Inconsistent { slot: used });
        }
        let (kept, popped) = self.cells.free().split_at(patch.kept as usize);
        // Only `clear` ends the use of slots, and logs all free ones.
        if used < old && !kept.is_empty() {
            return Err(PatchError::Inconsistent { slot: used });
        }
        // The slots that are vacant, and not on the stack yet; those that were changed.
        let mut vacant = Bits::try_new(used.max(old))?;
        let mut changed = Bits::try_new(used)?;
        for &index in popped {
            vacant.insert(index as usize);
        }
        let mut left = new;
        for &(index, version, ref value) in &**patch.slots {
            let slot = index as usize;
            let inconsistent = Err(PatchError::Inconsistent { slot });
            if slot >= used || !changed.insert(slot) {
                return inconsistent;
            }
            let is_of_slot = if value.is_some() {
                version % 2 == 1 && (version < RETIRED || !K::Cell::<T>::VERSIONED)
            } else if K::Cell::<T>::VERSIONED {
                let of_key = version & !DETACHED;
                version % 2 == 0 && of_key <= RETIRED && (of_key > 0 || !is_detached(version))
            } else {
                version == 0
            };
            if !is_of_slot {
                return inconsistent;
            }
            match self.existing().get(slot) {
                None => left -= 1,
                Some(cell) => {
                    let is_free = !cell.is_occupied() && Self::is_on_stack(cell.version());
                    if is_free && !vacant.contains(slot) {
                        // Among those that stay on the stack.
                        return inconsistent;
                    }
                }
            }
            vacant.set(slot, value.is_none() && Self::is_on_stack(version));
        }
        if left > 0 {
            return Err(PatchError::Inconsistent { slot: used });
        }
        for &index in &**patch.free {
            if index as usize >= used || !vacant.remove(index as usize) {
                return Err(PatchError::Inconsistent {
                    slot: index as usize,
                });
            }
        }
        if let Some(slot) = vacant.first().filter(|slot| *slot < used) {
            return Err(PatchError::Inconsistent { slot });
        }
        match used.checked_sub(1) {
            Some(last) if !S::CAPACITY.is_fixed() => {
                self.try_reach(last).map_err(PatchError::NoMemory)
            }
            _ => Ok(()),
        }
    }

    /// Whether a vacant slot of this version is on the stack.
    fn is_on_stack(version: u32) -> bool {
        let is_retired = K::Cell::<T>::VERSIONED && version == RETIRED;
        !is_retired && !is_detached(version)
    }
}

impl<V, K: GenerationKey> SecondarySlab<V, K> {
    /// Applies a difference of a secondary slab, like [`apply`](PlainSlab::apply) of a slab.
    ///
    /// # Complexity
    ///
    /// That of [`apply`](PlainSlab::apply) of a slab.
    ///
    /// # Errors
    ///
    /// Returns an error where [`apply`](PlainSlab::apply) of a slab does, and if the difference is not
    /// of a secondary slab. Nothing has changed then.
    ///
    /// ```
    /// use flatslab::key_slab::{SecondarySlab, SlabGroup};
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// type World = (KeySlab<&'static str, GenKey>, SecondarySlab<u32, GenKey>);
    ///
    /// let mut world = SlabGroup::from(World::default());
    /// let sent = world.checkpoint();
    /// let mut standby: World = world.clone_parts();
    /// let (ships, shields) = world.parts_mut();
    /// let ship = ships.insert("Argo");
    /// shields.insert(ships, ship, 100);
    ///
    /// let (of_ships, of_shields) = world.changes_since(sent)?;
    /// standby.0.apply(of_ships.to_patch()).unwrap();
    /// standby.1.apply(of_shields.to_patch()).unwrap();
    /// assert_eq!((standby.0[ship], standby.1[ship]), ("Argo", 100));
    /// # Ok::<(), flatslab::key_slab::RewindError>(())
    /// ```
    pub fn apply(&mut self, patch: Patch<V>) -> Result<(), PatchError> {
        let is_free = |&(index, version, ref value): &(u32, u32, Option<V>)| {
            let is_free = value.is_none() && !is_detached(version);
            is_free.then_some(index)
        };
        let free = patch.free.first().copied();
        if let Some(slot) = free.or_else(|| patch.slots.iter().find_map(is_free)) {
            let slot = slot as usize;
            return Err(PatchError::Inconsistent { slot });
        }
        self.slab.apply(patch)
    }
}

/// A set of numbers below a limit.
struct Bits(Array<u64>);

impl Bits {
    fn try_new(limit: usize) -> Result<Self, PatchError> {
        let words = Array::try_filled(limit.div_ceil(64), 0, &Source::GLOBAL);
        words.map(Bits).map_err(PatchError::NoMemory)
    }

    fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn set(&mut self, number: usize, is_in: bool) {
        let bit = 1 << (number % 64);
        let word = &mut self.0[number / 64];
        *word = if is_in { *word | bit } else { *word & !bit };
    }

    /// Adds a number; returns whether it was not there.
    fn insert(&mut self, number: usize) -> bool {
        let is_new = !self.contains(number);
        self.set(number, true);
        is_new
    }

    /// Takes a number out; returns whether it was there.
    fn remove(&mut self, number: usize) -> bool {
        let was_in = self.contains(number);
        self.set(number, false);
        was_in
    }

    /// The lowest number.
    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }
}

#[cfg(feature = "serde")]
mod serialized {
    //! A tuple, with widths that are the same on every target.

    use ::serde::ser::{SerializeSeq, SerializeTuple};
    use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::*;

    /// Serializes the difference, which a replica reads as a [`Patch`].
    impl<T: Serialize, K: SlabKey, S: Storage> Serialize for Changes<'_, T, K, S> {
        fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
            let base = self.base();
            let mut tuple = serializer.serialize_tuple(5)?;
            tuple.serialize_element(&(base.used, base.free, base.floor))?;
            tuple.serialize_element(&(self.slab.used as u32))?;
            tuple.serialize_element(&Slots(self))?;
            tuple.serialize_element(&self.difference.kept)?;
            tuple.serialize_element(self.free())?;
            tuple.end()
        }
    }

    struct Slots<'c, 'a, T, K: SlabKey, S: Storage>(&'c Changes<'a, T, K, S>);

    impl<T: Serialize, K: SlabKey, S: Storage> Serialize for Slots<'_, '_, T, K, S> {
        fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
            let mut slots = serializer.serialize_seq(Some(self.0.difference.len()))?;
            for slot in self.0.slots() {
                slots.serialize_element(&slot)?;
            }
            slots.end()
        }
    }

    /// Deserializes a difference. Nothing is checked before it is [applied](PlainSlab::apply).
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let ((base_used, base_free, floor), used, slots, kept, free) =
                Deserialize::deserialize(deserializer)?;
            Ok(Patch {
                base: Base {
                    used: base_used,
                    free: base_free,
                    floor,
                },
                used,
                slots,
                kept,
                free,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::amount;
    use crate::common::random::{random, seed};
    use crate::key_slab::CheckpointSlab;
    use crate::{BoundedKeySlab, GenKey, Key, KeySlab};

    /// A slab with free slots, a retired one and a detached one, and a later state of it.
    fn states<K: SlabKey>(slab: KeySlab<u32, K>) -> (KeySlab<u32, K>, Patch<u32>) {
        let mut slab = CheckpointSlab::from(slab);
        let keys: Vec<K> = (0..8).map(|number| slab.insert(number)).collect();
        for &key in &keys[2..5] {
            slab.remove(key);
        }
        let checkpoint = slab.checkpoint();
        let base = slab.parts().clone();
        slab.insert(10);
        slab.remove(keys[7]);
        slab.remove(keys[0]);
        for number in 11..18 {
            slab.insert(number);
        }
        slab.remove(keys[1]);
        let patch = slab.changes_since(checkpoint).unwrap().to_patch();
        (base, patch)
    }

    /// Changes one number of a difference.
    fn forge(patch: &mut Patch<u32>) {
        fn any(number: &mut u32) {
            *number = match random(4) {
                0 => random(12) as u32,
                1 => number.wrapping_add(1),
                2 => number.wrapping_sub(1),
                _ => random(1 << 32) as u32,
            };
        }

        let slot = random(patch.slots.len().max(1) as u64) as usize;
        let free = random(patch.free.len().max(1) as u64) as usize;
        match random(12) {
            0 => any(&mut patch.used),
            1 => any(&mut patch.kept),
            2 => patch.free.try_push(random(12) as u32).unwrap(),
            3 => drop(patch.free.pop()),
            4 => drop(patch.slots.pop()),
            5 => patch
                .slots
                .try_push((random(12) as u32, random(6) as u32, None))
                .unwrap(),
            6 => patch.free.iter_mut().skip(free).take(1).for_each(any),
            7 | 8 => (patch.slots.iter_mut().skip(slot).take(1)).for_each(|it| any(&mut it.0)),
            9 => (patch.slots.iter_mut().skip(slot).take(1)).for_each(|it| any(&mut it.1)),
            _ => (patch.slots.iter_mut().skip(slot).take(1)).for_each(|it| {
                it.2 = it.2.xor(Some(7));
            }),
        }
    }

    #[test]
    fn a_forged_difference_is_refused_or_leaves_a_whole_slab() {
        fn check<K: SlabKey>(slab: &KeySlab<u32, K>) {
            let (base, patch) = states(slab.clone());
            let (mut refused, mut applied) = (0, 0);
            for _ in 0..amount(20_000, 100) {
                let mut forged = patch.clone();
                (0..random(4)).for_each(|_| forge(&mut forged));
                let mut replica = base.clone();
                if replica.apply(forged).is_ok() {
                    applied += 1;
                } else {
                    assert_eq!((&replica, replica.used), (&base, base.used));
                    assert_eq!(replica.cells.free(), base.cells.free());
                    refused += 1;
                }
                replica.check();
            }
            assert!(refused > 0 && applied > 0);
        }

        seed(1);
        check::<Key>(&KeySlab::with_key());
        check::<GenKey>(&KeySlab::with_key());
        let mut worn: KeySlab<u32, GenKey> = KeySlab::with_key();
        worn.floor = RETIRED - 4;
        check(&worn);
    }

    #[test]
    fn a_bounded_replica_takes_what_it_has_room_for() {
        let (base, patch) = states::<Key>(KeySlab::new());
        let used = patch.used as usize;
        for room in [used - 1, used] {
            let mut replica = BoundedKeySlab::with_capacity(room);
            base.clone_into_bounded(&mut replica);
            let applied = replica.apply(patch.clone());
            match room < used {
                true => {
                    let (slots, limit) = (used, room);
                    assert_eq!(applied, Err(PatchError::OutOfRange { slots, limit }));
                }
                false => assert_eq!(applied, Ok(())),
            }
            replica.check();
        }
    }

    impl KeySlab<u32> {
        /// Repeats what `states` did before the checkpoint.
        fn clone_into_bounded(&self, bounded: &mut BoundedKeySlab<u32>) {
            let keys: Vec<Key> = (0..8).map(|it| bounded.insert(it).unwrap()).collect();
            for &key in &keys[2..5] {
                bounded.remove(key);
            }
            assert_eq!(&*bounded, self);
        }
    }
}
