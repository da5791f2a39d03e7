//! Keys and maps in the form of `slotmap`: of each slot its version, and its value if it has one;
//! before them a slot that is never used.
//!
//! The versions of vacant slots are known to a snapshot of the slab alone. So one is written, of
//! which nothing but the versions is kept; and read, made of versions without values, which are put
//! in afterwards.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

use flatslab::{GenKey, KeySlab};
use serde::de::value::SeqDeserializer;
use serde::de::{Error as _, IntoDeserializer, Visitor};
use serde::ser::{self, Impossible, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer, forward_to_deserialize_any};

use crate::secondary::{SecondaryMap, Slot};
use crate::{DenseSlotMap, Key, KeyData, SlotMap};

#[derive(Serialize, Deserialize)]
struct SerKey {
    idx: u32,
    version: u32,
}

impl Serialize for KeyData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (idx, version) = (self.idx, self.version.get());
        SerKey { idx, version }.serialize(serializer)
    }
}

/// Of a forged version the next one that a value can have; there is one null key.
impl<'de> Deserialize<'de> for KeyData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = SerKey::deserialize(deserializer)?;
        let data = KeyData::new(key.idx, key.version);
        Ok(if data.is_null() { Self::null() } else { data })
    }
}

#[derive(Serialize, Deserialize)]
struct SerdeSlot<T> {
    value: Option<T>,
    version: u32,
}

impl<T> SerdeSlot<T> {
    /// # Errors
    ///
    /// If an odd version has no value, or an even one has.
    fn check<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.value.is_some() == (self.version % 2 == 1) {
            Ok(self)
        } else {
            Err(E::custom("inconsistent occupation in Slot"))
        }
    }
}

/// A slot without a value.
const fn vacant<T>() -> SerdeSlot<T> {
    SerdeSlot {
        value: None,
        version: 0,
    }
}

/// Writes the slots, after slot 0.
fn write<S, T>(
    serializer: S,
    slot_0: &SerdeSlot<T>,
    slots: impl ExactSizeIterator<Item = SerdeSlot<T>>,
) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    let mut seq = serializer.serialize_seq(Some(slots.len() + 1))?;
    seq.serialize_element(slot_0)?;
    for slot in slots {
        seq.serialize_element(&slot)?;
    }
    seq.end()
}

/// Reads slots, and takes the one away that is never used. The first ones are not
/// [checked](SerdeSlot::check).
fn read<'de, D, T>(
    deserializer: D,
    unchecked: usize,
) -> Result<impl Iterator<Item = SerdeSlot<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let slots = Vec::<SerdeSlot<T>>::deserialize(deserializer)?;
    if slots.len() >= u32::MAX as usize - 1 {
        return Err(D::Error::custom("too many slots"));
    }
    let mut checked = Vec::with_capacity(slots.len());
    for (index, slot) in slots.into_iter().enumerate() {
        checked.push(if index < unchecked {
            slot
        } else {
            slot.check()?
        });
    }
    match checked.first() {
        Some(slot) if slot.version % 2 == 0 => Ok(checked.into_iter().skip(1)),
        _ => Err(D::Error::custom("first slot not empty")),
    }
}

impl<K: Key, V: Serialize> Serialize for SecondaryMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut slots = self.slots.iter().map(|slot| match slot {
            Some((version, value)) => SerdeSlot {
                value: Some(value),
                version: version.get(),
            },
            None => vacant(),
        });
        let slot_0 = slots.next().unwrap_or(vacant());
        write(serializer, &slot_0, slots)
    }
}

impl<'de, K: Key, V: Deserialize<'de>> Deserialize<'de> for SecondaryMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let slots = read(deserializer, 0)?.map(|slot| -> Slot<V> {
            let version = NonZeroU32::new(slot.version);
            version.zip(slot.value)
        });
        Ok(SecondaryMap::from_slots(
            core::iter::once(None).chain(slots).collect(),
        ))
    }
}

#[cfg(feature = "std")]
mod sparse {
    use core::hash::BuildHasher;

    use super::{Deserialize, Deserializer, Key, SecondaryMap, Serialize, Serializer};
    use crate::SparseSecondaryMap;

    /// As a `SecondaryMap`.
    impl<K: Key, V: Serialize, H: BuildHasher> Serialize for SparseSecondaryMap<K, V, H> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let map: SecondaryMap<K, &V> = self.iter().collect();
            map.serialize(serializer)
        }
    }

    impl<'de, K, V, H> Deserialize<'de> for SparseSecondaryMap<K, V, H>
    where
        K: Key,
        V: Deserialize<'de>,
        H: BuildHasher + Default,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let map = SecondaryMap::<K, V>::deserialize(deserializer)?;
            Ok(map.into_iter().collect())
        }
    }
}

/// The mark of the version of a slot that is kept for a detached value.
const DETACHED: u32 = 1 << 31;

/// The version of a slot that takes no more values.
const RETIRED: u32 = DETACHED - 2;

/// Writes the slots of a slab, with these values in their order.
fn write_slab<S: Serializer, T: Serialize>(
    serializer: S,
    slab: &KeySlab<T, GenKey>,
    mut values: impl Iterator<Item: Serialize>,
) -> Result<S::Ok, S::Error> {
    let mut versions = Vec::with_capacity(slab.used_slots());
    let snapshot = slab.serialize(Versions(&mut versions));
    snapshot.map_err(ser::Error::custom)?;
    let slots = versions.into_iter().map(|version| SerdeSlot {
        value: if version % 2 == 1 {
            values.next()
        } else {
            None
        },
        version: version & !DETACHED,
    });
    write(serializer, &vacant(), slots)
}

/// Makes a slab of slots, with what their values are turned into.
///
/// All vacant slots are free, the last one first, as `slotmap` reads them: so those of detached
/// values, too.
fn slab_of<'de, T, V, E>(
    slots: impl Iterator<Item = SerdeSlot<V>>,
    mut inner: impl FnMut(GenKey, V) -> T,
) -> Result<KeySlab<T, GenKey>, E>
where
    T: Deserialize<'de>,
    E: serde::de::Error,
{
    let mut versions = Vec::new();
    let mut values = Vec::new();
    for (index, slot) in slots.enumerate() {
        versions.push(if slot.value.is_some() {
            slot.version - 1
        } else {
            slot.version.min(RETIRED)
        });
        if let Some(value) = slot.value {
            let raw = u64::from(slot.version) << 32 | index as u64;
            let key = GenKey::from_raw(raw)
                .ok_or_else(|| E::custom("a slot has a later version than there are"))?;
            values.push((key, inner(key, value)));
        }
    }
    let mut slab = KeySlab::deserialize(Snapshot::Slab(&versions)).map_err(E::custom)?;
    slab.try_extend(values).map_err(E::custom)?;
    Ok(slab)
}

impl<K: Key, V: Serialize> Serialize for SlotMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_slab(serializer, &self.inner, self.values())
    }
}

impl<'de, K: Key, V: Deserialize<'de>> Deserialize<'de> for SlotMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = slab_of(read(deserializer, 0)?, |_, value| value)?;
        Ok(SlotMap::from_inner(inner))
    }
}

/// As a `SlotMap`.
impl<K: Key, V: Serialize> Serialize for DenseSlotMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.values_as_slice();
        let values = (self.slots.iter()).filter_map(|(_, at)| values.get(*at as usize));
        write_slab(serializer, &self.slots, values)
    }
}

/// The values are in the order of their slots then. What is in the slot that is never used does not
/// matter, as there.
impl<'de, K: Key, V: Deserialize<'de>> Deserialize<'de> for DenseSlotMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let slots = slab_of(read(deserializer, 1)?, |key, value| {
            let position = values.len() as u32;
            keys.push(KeyData::of(key).into());
            values.push(value);
            position
        })?;
        Ok(DenseSlotMap::from_parts(keys, values, slots))
    }
}

/// A snapshot of a slab without values.
enum Snapshot<'a> {
    /// Of slots with these versions.
    Slab(&'a [u32]),
    Slots(&'a [u32]),
    Slot(u32),
    Free(&'a [u32]),
    Number(u32),
    Unit,
}

impl<'de> Deserializer<'de> for Snapshot<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<W: Visitor<'de>>(self, visitor: W) -> Result<W::Value, Self::Error> {
        use Snapshot::{Free, Number, Slab, Slot, Slots, Unit};
        match self {
            Slab(versions) => visitor.visit_seq(SeqDeserializer::new(
                [Slots(versions), Free(versions), Number(0)].into_iter(),
            )),
            Slots(versions) => {
                let slots = versions.iter().map(|version| Slot(*version));
                visitor.visit_seq(SeqDeserializer::new(slots))
            }
            Slot(version) => {
                let slot = [Number(version), Unit].into_iter();
                visitor.visit_seq(SeqDeserializer::new(slot))
            }
            Free(versions) => {
                let free = versions.iter().enumerate().rev();
                let free = free.filter(|(_, version)| **version != RETIRED);
                let free = free.map(|(index, _)| Number(index as u32));
                visitor.visit_seq(SeqDeserializer::new(free))
            }
            Number(number) => visitor.visit_u32(number),
            Unit => visitor.visit_unit(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> IntoDeserializer<'de> for Snapshot<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Keeps the versions in a snapshot of a slab: of each tuple the first part, the slots of the slab
/// and the version of the slot.
struct Versions<'a>(&'a mut Vec<u32>);

/// The parts of a tuple, of which the first one is kept.
struct First<'a> {
    versions: &'a mut Vec<u32>,
    is_past: bool,
}

impl ser::SerializeTuple for First<'_> {
    type Ok = ();
    type Error = Unexpected;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, part: &T) -> Result<(), Unexpected> {
        if core::mem::replace(&mut self.is_past, true) {
            return Ok(());
        }
        part.serialize(Versions(self.versions))
    }

    fn end(self) -> Result<(), Unexpected> {
        Ok(())
    }
}

impl SerializeSeq for Versions<'_> {
    type Ok = ();
    type Error = Unexpected;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, part: &T) -> Result<(), Unexpected> {
        part.serialize(Versions(self.0))
    }

    fn end(self) -> Result<(), Unexpected> {
        Ok(())
    }
}

/// What is not part of a snapshot of a slab.
#[derive(Debug)]
struct Unexpected;

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a snapshot of a slab has another form than this version of slotmap knows")
    }
}

impl core::error::Error for Unexpected {}

impl ser::Error for Unexpected {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Unexpected
    }
}

macro_rules! unexpected {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<$ok, Unexpected> {
            Err(Unexpected)
        }
    )*};
}

impl<'a> Serializer for Versions<'a> {
    type Ok = ();
    type Error = Unexpected;
    type SerializeSeq = Self;
    type SerializeTuple = First<'a>;
    type SerializeTupleStruct = Impossible<(), Unexpected>;
    type SerializeTupleVariant = Impossible<(), Unexpected>;
    type SerializeMap = Impossible<(), Unexpected>;
    type SerializeStruct = Impossible<(), Unexpected>;
    type SerializeStructVariant = Impossible<(), Unexpected>;

    fn serialize_u32(self, version: u32) -> Result<(), Unexpected> {
        self.0.push(version);
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unexpected> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<First<'a>, Unexpected> {
        Ok(First {
            versions: self.0,
            is_past: false,
        })
    }

    fn serialize_some<T: ?Sized + Serialize>(self, _: &T) -> Result<(), Unexpected> {
        Err(Unexpected)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unexpected> {
        Err(Unexpected)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unexpected> {
        Err(Unexpected)
    }

    unexpected! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeStructVariant;
    }
}
