//! Snapshots: a slab as a map from keys to values.
//!
//! A growable slab with plain keys is a map, as the `slab` crate writes it.
//! Otherwise a tuple, of what there is of these: the capacity of a bounded one;
//! the map; with generations the vacant slots, each with its version; and of a
//! growable one with generations the version that slots begin with which do not exist. The map comes before the slots: the more entries were read, the higher
//! keys may be. With a limit of 2^20 slots instead, 561 forged bytes with forty slabs
//! allocated 802 MiB.

use core::fmt;
use core::marker::PhantomData;

use ::serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use ::serde::ser::{SerializeSeq, SerializeTuple};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cell::{Cell, MOST_CUT, RETIRED};
use super::key::{GenKey, SlabKey};
use super::restore::Filling;
use super::{PlainSlab, Storage};
use crate::key::Key;
use crate::raw::source::Source;

/// A number.
impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.into_raw())
    }
}

/// A number.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Key::from_raw)
    }
}

/// A number.
impl Serialize for GenKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.into_raw())
    }
}

/// A number; an error if no key has it.
impl<'de> Deserialize<'de> for GenKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = u64::deserialize(deserializer)?;
        GenKey::from_raw(raw)
            .ok_or_else(|| D::Error::custom(format_args!("{raw} is no key with a generation")))
    }
}

/// Parts of the tuple, or 1 where it is the map alone.
const fn parts<T, K: SlabKey, S: Storage>() -> usize {
    let versioned = K::Cell::<T>::VERSIONED;
    1 + S::BOUNDED as usize + versioned as usize + (versioned && !S::BOUNDED) as usize
}

/// A map from keys to values; with a capacity or with generations, a tuple of
/// those and of it.
impl<T, K, S> Serialize for PlainSlab<T, K, S>
where
    T: Serialize,
    K: SlabKey + Serialize,
    S: Storage,
{
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let parts = parts::<T, K, S>();
        if parts == 1 {
            return serializer.collect_map(self);
        }
        let mut tuple = serializer.serialize_tuple(parts)?;
        if S::BOUNDED {
            tuple.serialize_element(&self.capacity())?;
        }
        tuple.serialize_element(&Values(self))?;
        if K::Cell::<T>::VERSIONED {
            tuple.serialize_element(&Vacant(self))?;
            if !S::BOUNDED {
                tuple.serialize_element(&self.floor)?;
            }
        }
        tuple.end()
    }
}

struct Values<'a, T, K: SlabKey, S: Storage>(&'a PlainSlab<T, K, S>);

impl<T: Serialize, K: SlabKey + Serialize, S: Storage> Serialize for Values<'_, T, K, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        serializer.collect_map(self.0)
    }
}

/// The vacant slots, each with its version.
struct Vacant<'a, T, K: SlabKey, S: Storage>(&'a PlainSlab<T, K, S>);

impl<T, K: SlabKey, S: Storage> Serialize for Vacant<'_, T, K, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let slab = self.0;
        let vacant = (0..slab.used).filter_map(|index| {
            // SAFETY: by K1 the cell exists.
            let cell = unsafe { slab.place(index).as_ref() };
            (!cell.is_occupied() && cell.version() > 0).then(|| (index, cell.version()))
        });
        let mut slots = serializer.serialize_seq(Some(vacant.clone().count()))?;
        for slot in vacant {
            slots.serialize_element(&slot)?;
        }
        slots.end()
    }
}

/// A slab from its [`Serialize`] form. Its free slots are in order: the next keys
/// are those of the lowest ones.
///
/// A key must be of a slot below the greater of two limits: the slots that fit into
/// 64 KiB, 4096 at most, and 16 times the entries read so far. Otherwise a forged key
/// would cost the memory of all slots below it. [`KeyLimit`] sets another limit. The
/// capacity of a bounded slab is allocated as given, and not touched.
impl<'de, T, K, S> Deserialize<'de> for PlainSlab<T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey + Deserialize<'de>,
    S: Storage,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let limit = KeyLimit {
            limit: None,
            slab: PhantomData,
        };
        limit.deserialize(deserializer)
    }
}

/// Reads a slab whose keys, and whose capacity if it is bounded, are within a
/// limit: a [`DeserializeSeed`].
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::key_slab::KeyLimit;
/// use serde::de::DeserializeSeed;
///
/// let json = r#"{ "0": "zero", "1000": "one thousand" }"#;
/// let read = |limit| {
///     let limit = KeyLimit::<KeySlab<String>>::new(limit);
///     limit.deserialize(&mut serde_json::Deserializer::from_str(json))
/// };
/// assert_eq!(read(1001).unwrap().len(), 2);
/// assert!(read(1000).is_err());
/// ```
#[derive(Debug)]
pub struct KeyLimit<V> {
    limit: Option<usize>,
    slab: PhantomData<fn() -> V>,
}

impl<V> KeyLimit<V> {
    /// Keys have to be of slots below `slots`.
    ///
    /// ```
    /// # use flatslab::{KeySlab, key_slab::KeyLimit};
    /// let ten_million = KeyLimit::<KeySlab<String>>::new(10_000_000);
    /// # let _ = ten_million;
    /// ```
    #[must_use]
    pub const fn new(slots: usize) -> Self {
        KeyLimit {
            limit: Some(slots),
            slab: PhantomData,
        }
    }
}

impl<'de, T, K, S> DeserializeSeed<'de> for KeyLimit<PlainSlab<T, K, S>>
where
    T: Deserialize<'de>,
    K: SlabKey + Deserialize<'de>,
    S: Storage,
{
    type Value = PlainSlab<T, K, S>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match parts::<T, K, S>() {
            1 => {
                let mut slab = with_capacity(0, self.limit)?;
                Fill::new(&mut slab, self.limit).deserialize(deserializer)?;
                Ok(slab)
            }
            parts => deserializer.deserialize_tuple(parts, self),
        }
    }
}

/// The tuple.
impl<'de, T, K, S> Visitor<'de> for KeyLimit<PlainSlab<T, K, S>>
where
    T: Deserialize<'de>,
    K: SlabKey + Deserialize<'de>,
    S: Storage,
{
    type Value = PlainSlab<T, K, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} of {} parts", S::NAME, parts::<T, K, S>())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let missing = || A::Error::custom("a part of the slab is missing");
        let capacity = if S::BOUNDED {
            parts.next_element()?.ok_or_else(missing)?
        } else {
            0
        };
        let mut slab = with_capacity(capacity, self.limit)?;
        let values = Fill::new(&mut slab, self.limit);
        parts.next_element_seed(values)?.ok_or_else(missing)?;
        if K::Cell::<T>::VERSIONED {
            let vacant = FillVersions {
                entries: slab.len(),
                fill: Fill::new(&mut slab, self.limit),
            };
            parts.next_element_seed(vacant)?.ok_or_else(missing)?;
            if !S::BOUNDED {
                let floor = parts.next_element()?.ok_or_else(missing)?;
                if floor % 2 == 1 || floor > MOST_CUT {
                    return Err(A::Error::custom(format_args!(
                        "{floor} is not a version that slots begin with"
                    )));
                }
                Filling::new(&mut slab).put_floor(floor);
            }
        }
        Ok(slab)
    }
}

fn with_capacity<T, K: SlabKey, S: Storage, E: ::serde::de::Error>(
    capacity: usize,
    limit: Option<usize>,
) -> Result<PlainSlab<T, K, S>, E> {
    if limit.is_some_and(|limit| capacity > limit) {
        return Err(E::custom(format_args!(
            "the capacity, {capacity} slots, is past the limit"
        )));
    }
    PlainSlab::try_with_exact_capacity(capacity, &Source::GLOBAL).map_err(E::custom)
}

/// Fills a slab from a map.
struct Fill<'a, T, K: SlabKey, S: Storage> {
    filling: Filling<'a, T, K, S>,
    limit: Option<usize>,
    entries: usize,
}

impl<'a, T, K: SlabKey, S: Storage> Fill<'a, T, K, S> {
    fn new(slab: &'a mut PlainSlab<T, K, S>, limit: Option<usize>) -> Self {
        Fill {
            filling: Filling::new(slab),
            limit,
            entries: 0,
        }
    }

    /// Whether the next entry may be of this slot.
    fn admit<E: ::serde::de::Error>(&mut self, index: usize) -> Result<(), E> {
        self.entries += 1;
        let limit = self.limit.unwrap_or_else(|| {
            let few = (64 << 10) / size_of::<K::Cell<T>>().max(16);
            few.max(self.entries.saturating_mul(16))
        });
        if index < limit {
            return Ok(());
        }
        Err(E::custom(format_args!(
            "a key is of slot {index}, and the limit is {limit} slots (`KeyLimit` sets another)"
        )))
    }
}

impl<'de, T, K, S> DeserializeSeed<'de> for Fill<'_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey + Deserialize<'de>,
    S: Storage,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T, K, S> Visitor<'de> for Fill<'_, T, K, S>
where
    T: Deserialize<'de>,
    K: SlabKey + Deserialize<'de>,
    S: Storage,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from keys to values")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<K, T>()? {
            let index = key.index();
            self.admit(index)?;
            if (self.filling.put(key, value).map_err(A::Error::custom)?).is_some() {
                return Err(A::Error::custom(format_args!(
                    "there are two values for slot {index}"
                )));
            }
        }
        Ok(())
    }
}

/// Notes the versions of vacant slots.
struct FillVersions<'a, T, K: SlabKey, S: Storage> {
    /// Read before.
    entries: usize,
    fill: Fill<'a, T, K, S>,
}

impl<'de, T, K: SlabKey, S: Storage> DeserializeSeed<'de> for FillVersions<'_, T, K, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.fill.entries = self.entries;
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T, K: SlabKey, S: Storage> Visitor<'de> for FillVersions<'_, T, K, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vacant slots, each with its version")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut versions: A) -> Result<(), A::Error> {
        while let Some((number, version)) = versions.next_element::<(usize, u32)>()? {
            self.fill.admit(number)?;
            if version % 2 == 1 || version > RETIRED {
                return Err(A::Error::custom(format_args!(
                    "{version} is not the version of a vacant slot"
                )));
            }
            let filling = &mut self.fill.filling;
            (filling.put_version(number, version)).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
