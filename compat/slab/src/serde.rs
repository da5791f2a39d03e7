//! A slab as a map from keys to values.

use core::fmt;
use core::iter;
use core::marker::PhantomData;

use ::serde::de::{Error as _, MapAccess, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};
use flatslab::KeySlab;
use flatslab::key_slab::as_map;

use crate::{Slab, key};

impl<T: Serialize> Serialize for Slab<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_map::serialize(&self.inner, serializer)
    }
}

/// As `collect` makes a slab of pairs. So a key takes the memory of all slots below it: what may
/// be forged is read by [`as_map::deserialize`], which has a limit, but refuses some of what `slab`
/// reads. The number of values that the input announces takes at most 1 MiB before they are read.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Slab<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

/// Bytes of slots that are allocated for values that the input announces, before it is known
/// whether they come: as many as serde itself allocates ahead for a `Vec`. Without a limit three
/// forged bytes can take gigabytes. A slab of fewer bytes gets the same capacity as in `slab`; a
/// larger one grows by doubling from here on.
const ANNOUNCED_BYTES: usize = 1 << 20;

/// The number of slots to allocate if the input announces so many values.
fn ahead<T>(announced: Option<usize>) -> usize {
    let slot = size_of::<Option<T>>() + size_of::<u32>();
    announced.unwrap_or(0).min(ANNOUNCED_BYTES / slot)
}

struct Pairs<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
    type Value = Slab<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let slots = ahead::<T>(map.size_hint());
        let mut inner = KeySlab::try_with_capacity(slots).map_err(A::Error::custom)?;
        let mut failed = None;
        let pairs = iter::from_fn(|| match map.next_entry::<usize, T>() {
            Ok(pair) => pair.map(|(index, value)| (key(index), value)),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        inner.try_extend(pairs).map_err(A::Error::custom)?;
        match failed {
            Some(error) => Err(error),
            None => Ok(Slab { inner }),
        }
    }
}
