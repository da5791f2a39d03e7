//! Serialization of a slab in the format of the `slab` crate, a map from numbers to values: for
//! `#[serde(with = "flatslab::key_slab::as_map")]`.
//!
//! The map does not contain the order of the free slots, so later insertions may return other keys
//! than in the original. It is for [keys without generations](PlainKey), which a map would lose: a
//! slab with [`GenKey`](super::GenKey) is written as a snapshot, without this attribute.
//!
//! ```
//! use flatslab::{Key, KeySlab};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Book {
//!     #[serde(with = "flatslab::key_slab::as_map")]
//!     orders: KeySlab<String>,
//! }
//!
//! let book: Book = serde_json::from_str(r#"{"orders":{"0":"buy","7":"sell"}}"#)?;
//! assert_eq!(book.orders[Key::from_raw(7)], "sell");
//! assert_eq!(serde_json::to_string(&book)?, r#"{"orders":{"0":"buy","7":"sell"}}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use super::key::SlabKey;
use super::restore::Filling;
use super::{KeySlab, PlainSlab, Storage};
use crate::key::Key;
use ::serde::de::{Error as _, MapAccess, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The key types without generations: [`Key`], and those that [`key_type!`](crate::key_type)
/// declares around it.
///
/// This trait is sealed.
///
/// ```
/// flatslab::key_type!(struct OrderKey);
///
/// #[derive(serde::Serialize)]
/// struct Book {
///     #[serde(serialize_with = "flatslab::key_slab::as_map::serialize")]
///     orders: flatslab::KeySlab<String, OrderKey>,
/// }
/// ```
///
/// The keys of a map have no generations:
///
/// ```compile_fail,E0277
/// #[derive(serde::Serialize)]
/// struct Book {
///     #[serde(serialize_with = "flatslab::key_slab::as_map::serialize")]
///     orders: flatslab::KeySlab<String, flatslab::GenKey>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has a generation, which a map from numbers to values would lose",
    label = "a key type without generations is required",
    note = "without `as_map`, the slab is written as a snapshot, which has the generations; or use \
            `Key`, or a type that `key_type!(struct Name)` declares"
)]
pub trait PlainKey: SlabKey + Into<Key> + From<Key> {}

#[diagnostic::do_not_recommend]
impl<K: SlabKey + Into<Key> + From<Key>> PlainKey for K {}

/// Writes a slab as a map from the numbers of its slots to its values.
///
/// # Errors
///
/// Returns the errors of the serializer.
pub fn serialize<T, K, S, R>(slab: &PlainSlab<T, K, S>, serializer: R) -> Result<R::Ok, R::Error>
where
    T: Serialize,
    K: PlainKey,
    S: Storage,
    R: Serializer,
{
    // The width that `slab` writes on every target.
    let number = |key: K| key.into().index() as u64;
    serializer.collect_map(slab.iter().map(|(key, value)| (number(key), value)))
}

/// Reads a slab from a map. Its free slots are in the same order as those of a slab that the `slab`
/// crate reads.
///
/// The memory of all slots below the highest key is allocated. So a map must have at least one
/// value for each 16 slots, unless its slots fit into 64 KiB; [`deserialize_up_to`] has another
/// limit.
///
/// # Errors
///
/// Returns an error if a number has two values or exceeds the limit, or if the allocator refuses.
pub fn deserialize<'de, T, K, D>(deserializer: D) -> Result<KeySlab<T, K>, D::Error>
where
    T: Deserialize<'de>,
    K: PlainKey,
    D: Deserializer<'de>,
{
    read(deserializer, |values| {
        let few = (64 << 10) / size_of::<Option<T>>().max(16);
        few.max(values.saturating_mul(16))
    })
}

/// Reads a slab from a map whose numbers are below `slots`.
///
/// # Errors
///
/// Returns an error where [`deserialize`] does, but with `slots` as the limit.
///
/// ```
/// use flatslab::{KeySlab, key_slab::as_map};
///
/// let json = r#"{"0":"zero","100000":"many"}"#;
/// let read = |slots| -> Result<KeySlab<String>, _> {
///     as_map::deserialize_up_to(slots, &mut serde_json::Deserializer::from_str(json))
/// };
/// assert_eq!(read(100_001).unwrap().len(), 2);
/// assert!(read(100_000).is_err());
/// ```
pub fn deserialize_up_to<'de, T, K, D>(
    slots: usize,
    deserializer: D,
) -> Result<KeySlab<T, K>, D::Error>
where
    T: Deserialize<'de>,
    K: PlainKey,
    D: Deserializer<'de>,
{
    read(deserializer, |_values| slots)
}

/// Reads all entries before any slot is created: the limit depends on their number.
fn read<'de, T, K, D>(
    deserializer: D,
    limit: impl Fn(usize) -> usize,
) -> Result<KeySlab<T, K>, D::Error>
where
    T: Deserialize<'de>,
    K: PlainKey,
    D: Deserializer<'de>,
{
    let entries = deserializer.deserialize_map(Entries(PhantomData))?;
    let limit = limit(entries.len());
    let mut slab = KeySlab::with_key();
    let mut filling = Filling::new(&mut slab);
    for (_, (index, value)) in entries {
        if index >= limit as u64 {
            return Err(D::Error::custom(format_args!(
                "slot of a value must be less than {limit}, but is {index} \
                 (`deserialize_up_to` sets another limit)"
            )));
        }
        let old = filling
            .put(index as usize, 0, value)
            .map_err(D::Error::custom)?;
        if old.is_some() {
            return Err(D::Error::custom(format_args!(
                "slot {index} has two values"
            )));
        }
    }
    drop(filling);
    Ok(slab)
}

struct Entries<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = KeySlab<(u64, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from numbers to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = KeySlab::new();
        while let Some(entry) = map.next_entry()? {
            entries
                .try_vacant_entry()
                .map_err(A::Error::custom)?
                .insert(entry);
        }
        Ok(entries)
    }
}
