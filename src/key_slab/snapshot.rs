//! Snapshots: the whole state of a slab, so that the restored slab returns the keys that the
//! original would have returned.
//!
//! A snapshot is a tuple, in self-describing formats and in others:
//!
//! | part | content | width |
//! |---|---|---|
//! | capacity | only in a snapshot of a bounded slab | `u64` |
//! | slots | for each used slot: its version, and its value or a unit. The version is odd if there is a value. Without generations it is 1 or 0 | `u32`, and the value's |
//! | free slots | their numbers, the next one first | `u32` |
//! | floor | the version with which unused slots start, plus 1 if generations wrap; 0 without generations | `u32` |
//!
//! The widths are the same when reading and writing, and on every target: some formats encode only
//! the numbers themselves (`bincode`).
//!
//! A vacant slot that is not free is retired or kept for a detached value; its version says which.
//!
//! Every slot is an entry. So reading takes only as many slots as there are entries, even if the
//! snapshot was forged; a bounded slab that gets its original capacity takes the addresses of that
//! capacity. In a map from keys to values, one key could claim the memory of all slots below it.

use core::fmt;
use core::marker::PhantomData;

use ::serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use ::serde::ser::{SerializeSeq, SerializeTuple};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cell::{Cell, DETACHED, RETIRED, highest_floor, is_detached};
use super::cells::Index;
use super::checkpoint::SlabGroup;
use super::key::{GenerationKey, SlabKey};
use super::logged::Logged;
use super::part::Part;
use super::undo::Undo;
use super::{KeySlab, PlainSlab, SecondarySlab, Storage};
use crate::error::Amount;
use crate::key::{Key, MAX_SLOTS};
use crate::raw::source::Source;

const fn parts<S: Storage>() -> usize {
    3 + S::CAPACITY.is_fixed() as usize
}

/// Serializes the slab as a snapshot: a tuple of the capacity (only of a bounded slab), the slots,
/// the order of the free slots, and a number that contains the generation with which new slots
/// start and whether [generations wrap](super::GenKey#how-long-generations-last).
///
/// A restored slab has the same values under the same keys, and returns the same keys from then on.
/// The numbers have the same widths on every target, so formats that are not self-describing work
/// too. [`as_map`](super::as_map) has the format of the `slab` crate.
impl<T: Serialize, K: SlabKey, S: Storage> Serialize for PlainSlab<T, K, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let mut tuple = serializer.serialize_tuple(parts::<S>())?;
        if S::CAPACITY.is_fixed() {
            tuple.serialize_element(&(self.capacity() as u64))?;
        }
        tuple.serialize_element(&Slots(self))?;
        tuple.serialize_element(&Free(self))?;
        tuple.serialize_element(&(self.floor | u32::from(self.wraps())))?;
        tuple.end()
    }
}

struct Slots<'a, T, K: SlabKey, S: Storage>(&'a PlainSlab<T, K, S>);

impl<T: Serialize, K: SlabKey, S: Storage> Serialize for Slots<'_, T, K, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let slab = self.0;
        let mut slots = serializer.serialize_seq(Some(slab.used))?;
        for cell in slab.existing() {
            slots.serialize_element(&Slot(cell, PhantomData))?;
        }
        slots.end()
    }
}

struct Slot<'a, C, T>(&'a C, PhantomData<&'a T>);

impl<C: Cell<T>, T: Serialize> Serialize for Slot<'_, C, T> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let cell = self.0;
        let mut slot = serializer.serialize_tuple(2)?;
        if let Some(value) = cell.get() {
            slot.serialize_element(&(cell.version() | 1))?;
            slot.serialize_element(value)?;
        } else {
            slot.serialize_element(&cell.version())?;
            slot.serialize_element(&())?;
        }
        slot.end()
    }
}

struct Free<'a, T, K: SlabKey, S: Storage>(&'a PlainSlab<T, K, S>);

impl<T, K: SlabKey, S: Storage> Serialize for Free<'_, T, K, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        serializer.collect_seq(self.0.cells.free().iter().rev())
    }
}

/// Deserializes a snapshot into a new slab, in memory of the global allocator.
///
/// The slab takes as many slots as the snapshot has entries; a bounded slab takes as many as the
/// snapshot's capacity, which are allocated and not touched. No key claims memory, so there is no
/// limit on keys.
///
/// A forged capacity costs address space, up to 2^30 slots, and no memory: only slots that have
/// entries are touched, by reading and by `clone`. An allocator that refuses so much is an error.
/// But [`prepare`](PlainSlab::prepare) of all free slots touches them all. If the input may be
/// forged, or to use other memory, read it by [`restore`](PlainSlab::restore) into a slab that you
/// have created, and [limit](Restore::limit) its slots.
///
/// ```
/// use flatslab::{GenKey, KeySlab};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Engine {
///     orders: KeySlab<u64, GenKey>,
///     traded: u64,
/// }
///
/// let mut engine = Engine { orders: KeySlab::with_key(), traded: 7 };
/// let (old, kept) = (engine.orders.insert(1), engine.orders.insert(2));
/// engine.orders.remove(old);
///
/// let json = serde_json::to_string(&engine)?;
/// let mut restored: Engine = serde_json::from_str(&json)?;
/// assert_eq!((restored.orders[kept], restored.orders.get(old)), (2, None));
/// assert_eq!(restored.orders.insert(3), engine.orders.insert(3));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de, T: Deserialize<'de>, K: SlabKey, S: Storage> Deserialize<'de> for PlainSlab<T, K, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut slab = PlainSlab::new_in(Source::GLOBAL);
        let restore = Restore {
            slab: &mut slab,
            limit: usize::MAX,
            as_large: true,
        };
        restore.deserialize(deserializer)?;
        Ok(slab)
    }
}

/// Serializes the slab alone, like a [`KeySlab`], without its log.
impl<C: Undo + Serialize, X: ?Sized> Serialize for Logged<C, X> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        self.slab.serialize(serializer)
    }
}

/// Serializes the slab, or a tuple of the slabs, without checkpoints: what is read is a group of the
/// same slabs, or the slabs themselves.
impl<P: Part<Logged: Serialize>> Serialize for SlabGroup<P> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        self.logged().serialize(serializer)
    }
}

/// Deserializes slabs into a group without checkpoints. To limit their slots,
/// [`restore`](PlainSlab::restore) each slab, and make a group [from](SlabGroup::from) them.
///
/// ```
/// use flatslab::GenKey;
/// use flatslab::key_slab::CheckpointSlab;
///
/// #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
/// struct World {
///     names: CheckpointSlab<String, GenKey>,
///     tick: u64,
/// }
///
/// let mut world = World::default();
/// let key = world.names.insert("Argo".to_string());
/// let saved = serde_json::to_string(&world)?;
/// let read: World = serde_json::from_str(&saved)?;
/// assert_eq!((&*read.names[key], &read), ("Argo", &world));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de, P: Part + Deserialize<'de>> Deserialize<'de> for SlabGroup<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SlabGroup::try_of(P::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Serializes the entries like the values of a [`KeySlab`]: each slot up to the last entry is an
/// entry of the snapshot.
impl<V: Serialize, K: GenerationKey> Serialize for SecondarySlab<V, K> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        self.slab.serialize(serializer)
    }
}

/// Deserializes entries. A snapshot of a slab that is no secondary one is an error.
///
/// No key claims memory, as in a snapshot of a [`KeySlab`]. The entries have the keys of the slab
/// that they were saved with: save both together.
impl<'de, V: Deserialize<'de>, K: GenerationKey> Deserialize<'de> for SecondarySlab<V, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let slab: KeySlab<V, K> = KeySlab::deserialize(deserializer)?;
        let is_free = slab.cells.len() > 0 || slab.retired > 0;
        if is_free || slab.floor > 0 || slab.wraps() {
            return Err(D::Error::custom("the snapshot is not of a secondary slab"));
        }
        Ok(SecondarySlab { slab })
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns a seed that reads a snapshot into this slab, so that the values can be in memory and
    /// pages of your choice.
    ///
    /// The slab must be empty. With generations, it must also never have been used, because
    /// generations never fall; [`reset_generations`](Self::reset_generations) discards those that
    /// it had. Generations wrap afterwards if they did in the snapshot or in this slab. While
    /// reading, it allocates one bit for each slot from the global allocator.
    ///
    /// A bounded slab may have another capacity than the one that was written: it needs room for
    /// the slots of the snapshot, and a larger one returns the same keys as the original until that
    /// would be full. So a program can be given more slots when it starts again.
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use serde::de::DeserializeSeed;
    ///
    /// let mut slab = KeySlab::new();
    /// let key = slab.insert("value".to_string());
    /// let json = serde_json::to_string(&slab)?;
    ///
    /// let mut restored = KeySlab::<String>::builder().reserve(100).build();
    /// restored.restore().deserialize(&mut serde_json::Deserializer::from_str(&json))?;
    /// assert_eq!(restored[key], "value");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// Into a larger slab:
    ///
    /// ```
    /// use flatslab::BoundedKeySlab;
    /// use serde::de::DeserializeSeed;
    ///
    /// let mut slab = BoundedKeySlab::with_capacity(3);
    /// let keys = ["one", "two"].map(|value| slab.insert(value.to_string()).unwrap());
    /// slab.remove(keys[0]);
    /// let json = serde_json::to_string(&slab)?;
    ///
    /// let mut larger = BoundedKeySlab::<String>::with_capacity(1000);
    /// larger.restore().deserialize(&mut serde_json::Deserializer::from_str(&json))?;
    /// for value in ["three", "four"] {
    ///     assert_eq!(larger.insert(value.to_string()), slab.insert(value.to_string()));
    /// }
    /// assert!(slab.insert("five".to_string()).is_err());
    /// assert!(larger.insert("five".to_string()).is_ok());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn restore(&mut self) -> Restore<'_, T, K, S> {
        Restore {
            slab: self,
            limit: usize::MAX,
            as_large: false,
        }
    }
}

/// Reads a snapshot into a slab: a [`DeserializeSeed`]. Created by [`restore`](PlainSlab::restore).
///
/// If reading fails, the slab is empty afterwards. A slab that had values before is unchanged.
///
/// # Errors
///
/// Returns an error if
///
/// - the slab has values, or has had values with generations (unless
///   [`reset_generations`](PlainSlab::reset_generations) was called since),
/// - the slab has too few slots, or cannot get their memory,
/// - the snapshot has more slots than the [limit](Self::limit), or
/// - the snapshot is inconsistent: a slot is listed as free twice, is listed as free but is not
///   vacant, is vacant but not listed, or has a generation that no slot has.
#[derive(Debug)]
pub struct Restore<'a, T, K: SlabKey, S: Storage> {
    slab: &'a mut PlainSlab<T, K, S>,
    limit: usize,
    /// Whether a bounded slab gets the capacity of the snapshot.
    as_large: bool,
}

impl<T, K: SlabKey, S: Storage> Restore<'_, T, K, S> {
    /// Limits the number of slots that are read, for input that may be forged: an entry of one byte
    /// takes the memory of a slot.
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use serde::de::DeserializeSeed;
    ///
    /// let mut five = KeySlab::new();
    /// five.insert_many(0..5, &mut Vec::new());
    /// let json = serde_json::to_string(&five)?;
    /// let mut input = serde_json::Deserializer::from_str(&json);
    /// let mut slab = KeySlab::<u32>::new();
    /// assert!(slab.restore().limit(4).deserialize(&mut input).is_err());
    /// assert!(slab.is_empty());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[doc(alias = "KeyLimit")]
    #[must_use]
    pub const fn limit(mut self, slots: usize) -> Self {
        self.limit = slots;
        self
    }
}

impl<'de, T, K, S> DeserializeSeed<'de> for Restore<'_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey,
    S: Storage,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let versioned = K::Cell::<T>::VERSIONED;
        if !self.slab.is_empty() || (versioned && (self.slab.used, self.slab.floor) != (0, 0)) {
            return Err(match self.slab.len() {
                0 => D::Error::custom(
                    "restore was refused: the slab has had values, whose generations only \
                     `reset_generations` resets",
                ),
                values => D::Error::custom(format_args!(
                    "restore was refused: the slab must be empty, but has {}",
                    Amount::values(values)
                )),
            });
        }
        self.slab.clear();
        // Kept here and not in the visitor, which the deserializer may forget.
        let mut reading = Reading {
            slab: self.slab,
            wraps: false,
            complete: false,
        };
        let visitor = Parts {
            reading: &mut reading,
            limit: self.limit,
            as_large: self.as_large,
        };
        let read = deserializer.deserialize_tuple(parts::<S>(), visitor);
        // The format may report an error after the last part.
        reading.complete = reading.complete && read.is_ok();
        let is_read = reading.complete;
        if is_read && reading.wraps {
            reading.slab.set_wraps(true);
        }
        // Dropped before the error is returned: if a destructor panics, no error is leaked.
        drop(reading);
        read.and_then(|()| match is_read {
            true => Ok(()),
            false => Err(D::Error::custom("the slab was not read")),
        })
    }
}

/// A slab that is being read. When this is dropped, the slab is emptied unless it is complete.
/// Until then the stack lacks free slots (`vacant-stack`), and only this module uses the slab.
struct Reading<'a, T, K: SlabKey, S: Storage> {
    slab: &'a mut PlainSlab<T, K, S>,
    /// Whether the generations of the snapshot wrap.
    wraps: bool,
    complete: bool,
}

impl<T, K: SlabKey, S: Storage> Drop for Reading<'_, T, K, S> {
    fn drop(&mut self) {
        if !self.complete {
            let slab = &mut *self.slab;
            (slab.retired, slab.detached, slab.floor) = (0, 0, 0);
            slab.destroy_all(false, usize::MAX);
        }
    }
}

impl<T, K: SlabKey, S: Storage> Reading<'_, T, K, S> {
    /// Adds the next slot.
    fn push<E: ::serde::de::Error>(
        &mut self,
        version: u32,
        value: Option<T>,
        limit: usize,
    ) -> Result<(), E> {
        let slab = &mut *self.slab;
        let index = slab.used;
        let most = if S::CAPACITY.is_fixed() {
            slab.capacity()
        } else {
            limit
        };
        if index >= most.min(limit) {
            return Err(E::custom(format_args!(
                "there are more slots than {}",
                most.min(limit)
            )));
        }
        if !S::CAPACITY.is_fixed() {
            slab.try_reach(index).map_err(E::custom)?;
        }
        // SAFETY: below the capacity; the cell exists from here on (`used-cells`).
        unsafe {
            let cell = slab.place(index);
            match value {
                Some(value) => {
                    K::Cell::<T>::write_vacant(cell, version & !1);
                    K::Cell::fill(cell, version, value);
                }
                None => K::Cell::<T>::write_vacant(cell, version),
            }
        }
        slab.used += 1;
        if is_detached(version) {
            slab.detached += 1;
        } else if K::Cell::<T>::VERSIONED && version == RETIRED {
            slab.retired += 1;
        }
        Ok(())
    }

    /// Returns the vacant slots that must be on the stack: a bit for each slot, 64 in a word.
    fn vacant<E: ::serde::de::Error>(&self) -> Result<KeySlab<u64>, E> {
        let mut words = KeySlab::new();
        for cells in self.slab.existing().chunks(64) {
            let mut word = 0;
            for (bit, cell) in cells.iter().enumerate() {
                let version = cell.version();
                let is_out = K::Cell::<T>::VERSIONED && version == RETIRED || is_detached(version);
                word |= u64::from(!cell.is_occupied() && !is_out) << bit;
            }
            words.try_vacant_entry().map_err(E::custom)?.insert(word);
        }
        Ok(words)
    }
}

/// The tuple.
struct Parts<'r, 'a, T, K: SlabKey, S: Storage> {
    reading: &'r mut Reading<'a, T, K, S>,
    limit: usize,
    as_large: bool,
}

impl<'de, T, K, S> Visitor<'de> for Parts<'_, '_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey,
    S: Storage,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if S::CAPACITY.is_fixed() {
            "BoundedKeySlab"
        } else {
            "KeySlab"
        };
        write!(f, "a {kind} of {} parts", parts::<S>())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        let missing = || A::Error::custom("a part of the slab is missing");
        let Parts { reading, limit, .. } = self;
        let mut claimed = usize::MAX;
        if S::CAPACITY.is_fixed() {
            let capacity: u64 = parts.next_element()?.ok_or_else(missing)?;
            if capacity > MAX_SLOTS as u64 {
                return Err(A::Error::custom(format_args!(
                    "the capacity must be at most {MAX_SLOTS}, but is {capacity}"
                )));
            }
            let capacity = capacity as usize;
            claimed = capacity;
            if self.as_large {
                let slab = PlainSlab::try_with_exact_capacity(capacity, &Source::GLOBAL, false);
                *reading.slab = slab.map_err(A::Error::custom)?;
            }
        }
        let limit = limit.min(claimed);
        let slots = ReadSlots { reading, limit };
        parts.next_element_seed(slots)?.ok_or_else(missing)?;
        parts
            .next_element_seed(ReadFree(reading))?
            .ok_or_else(missing)?;
        let last: u32 = parts.next_element()?.ok_or_else(missing)?;
        let (floor, wraps) = (last & !1, last & 1 == 1);
        // Only slots of a slab that was shrunk start with a later version.
        let is_cut = K::Cell::<T>::VERSIONED && !S::CAPACITY.is_fixed();
        let most = if is_cut {
            highest_floor(wraps || reading.slab.wraps())
        } else {
            0
        };
        if floor > most || wraps && !K::Cell::<T>::VERSIONED {
            return Err(A::Error::custom(format_args!(
                "no generation that slots begin with is stored as {last}"
            )));
        }
        reading.slab.floor = floor;
        reading.wraps = wraps;
        reading.complete = true;
        Ok(())
    }
}

struct ReadSlots<'r, 'a, T, K: SlabKey, S: Storage> {
    reading: &'r mut Reading<'a, T, K, S>,
    limit: usize,
}

impl<'de, T, K, S> DeserializeSeed<'de> for ReadSlots<'_, '_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey,
    S: Storage,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T, K, S> Visitor<'de> for ReadSlots<'_, '_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey,
    S: Storage,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("slots, each with its generation and its value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut slots: A) -> Result<(), A::Error> {
        let slot = ReadSlot::<K::Cell<T>, T>(PhantomData);
        while let Some((version, value)) = slots.next_element_seed(slot)? {
            self.reading.push(version, value, self.limit)?;
        }
        Ok(())
    }
}

struct ReadSlot<C, T>(PhantomData<fn() -> (C, T)>);

impl<C, T> Clone for ReadSlot<C, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, T> Copy for ReadSlot<C, T> {}

impl<'de, C: Cell<T>, T: Deserialize<'de>> DeserializeSeed<'de> for ReadSlot<C, T> {
    type Value = (u32, Option<T>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_tuple(2, self)
    }
}

impl<'de, C: Cell<T>, T: Deserialize<'de>> Visitor<'de> for ReadSlot<C, T> {
    type Value = (u32, Option<T>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a slot's generation and its value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut slot: A) -> Result<Self::Value, A::Error> {
        let missing = || A::Error::custom("a part of a slot is missing");
        let version: u32 = slot.next_element()?.ok_or_else(missing)?;
        let is_one = if !C::VERSIONED {
            version <= 1
        } else if version % 2 == 1 {
            version < RETIRED
        } else {
            let of_key = version & !DETACHED;
            of_key <= RETIRED && (of_key > 0 || !is_detached(version))
        };
        if !is_one {
            return Err(A::Error::custom(format_args!(
                "no generation of a slot is stored as {version}"
            )));
        }
        let value = if version % 2 == 1 {
            Some(slot.next_element()?.ok_or_else(missing)?)
        } else {
            slot.next_element::<()>()?.ok_or_else(missing)?;
            None
        };
        Ok((version, value))
    }
}

/// Fills the stack.
struct ReadFree<'r, 'a, T, K: SlabKey, S: Storage>(&'r mut Reading<'a, T, K, S>);

impl<'de, T, K: SlabKey, S: Storage> DeserializeSeed<'de> for ReadFree<'_, '_, T, K, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T, K: SlabKey, S: Storage> Visitor<'de> for ReadFree<'_, '_, T, K, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the numbers of the free slots, the next one first")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut free: A) -> Result<(), A::Error> {
        let mut vacant = self.0.vacant::<A::Error>()?;
        let slab = &mut *self.0.slab;
        while let Some(index) = free.next_element::<Index>()? {
            let index = index as usize;
            let bit = 1 << (index % 64);
            let word = Key::try_from(index / 64).ok();
            match word.and_then(|word| vacant.get_mut(word)) {
                Some(word) if *word & bit != 0 => *word &= !bit,
                _ => {
                    return Err(A::Error::custom(format_args!(
                        "slot {index} is not free, or was named before"
                    )));
                }
            }
            // SAFETY: each vacant slot once, so there is room for it (`vacant-stack`).
            unsafe { slab.cells.push(index) };
        }
        if let Some((place, word)) = vacant.iter().find(|(_, word)| **word != 0) {
            let index = place.index() * 64 + word.trailing_zeros() as usize;
            return Err(A::Error::custom(format_args!(
                "slot {index} is vacant, and not among the free ones"
            )));
        }
        slab.cells.reverse();
        Ok(())
    }
}
