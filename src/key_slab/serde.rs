//! Keys as numbers.

use ::serde::de::Error as _;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::key::GenKey;
use crate::key::Key;

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
