//! The interface of the `slotmap` crate, version 1.1, on a [`flatslab::KeySlab`] with
//! [`GenKey`]s.
//!
//! A program uses it instead of that crate by two lines in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! slotmap = { path = "<flatslab>/compat/slotmap" }
//! ```
//!
//! Keys with their versions, the order of keys, and snapshots are those of `slotmap`. What differs:
//!
//! - `HopSlotMap` is missing.
//! - A map has fewer than 2^30 slots. A slot accepts 2^30 − 1 values and is then retired; a slot of
//!   `slotmap` returns to its first version after 2^31 values.
//! - No slot is reserved, so an empty map has no memory, and capacities of a [`SlotMap`] differ by
//!   one before they double. Those of a [`DenseSlotMap`] are the same.
//! - A slot takes at most 4 bytes more.
//! - [`basic::IntoIter`] is not `Clone`.
//! - A [`SlotMap`] declared before the values that its own values refer to does not compile: only
//!   `std` may promise that a destructor does not use them.
//! - A [`DenseSlotMap`] is empty after a panic in its `clone_from`, where `slotmap` aborts.
//! - `get_disjoint_mut` takes O(`N`²), and the methods without a check of a [`DenseSlotMap`] check
//!   that the position is in the slice.
//! - A snapshot with a version of 2^31 or more is refused.
//! - `Debug` prints keys and values, not slots.
//!
//! ```
//! use slotmap::SlotMap;
//!
//! let mut map = SlotMap::new();
//! let key = map.insert("value");
//! assert_eq!(map.remove(key), Some("value"));
//! assert_eq!(map.get(key), None);
//! ```

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

/// What the macros name.
#[doc(hidden)]
pub mod __impl {
    pub use core::convert::From;
    pub use core::result::Result;

    #[cfg(feature = "serde")]
    pub use serde::{Deserialize, Deserializer, Serialize, Serializer};
}

pub mod basic;
pub mod dense;
mod iter;
mod memory;
pub mod secondary;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "std")]
pub mod sparse_secondary;

use core::fmt;
use core::hash::{Hash, Hasher};
use core::num::NonZeroU32;

use flatslab::GenKey;

pub use basic::SlotMap;
pub use dense::DenseSlotMap;
pub use secondary::SecondaryMap;
#[cfg(feature = "std")]
pub use sparse_secondary::SparseSecondaryMap;

/// What all types are, since `slotmap` 1.0.
#[doc(hidden)]
#[deprecated(since = "1.0.0", note = "every type can be a value")]
pub trait Slottable {}

#[allow(deprecated, reason = "every type has it, as there")]
impl<T> Slottable for T {}

/// What a [`Key`] consists of: a slot, and the version of a value in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyData {
    /// One above the index of the slot; `u32::MAX` of the null key.
    idx: u32,
    /// Odd.
    version: NonZeroU32,
}

/// A key that opens nothing: no slab has as many slots.
const NOWHERE: GenKey = match GenKey::from_raw(1 << 32 | u32::MAX as u64) {
    Some(key) => key,
    None => unreachable!(),
};

impl KeyData {
    const fn new(idx: u32, version: u32) -> Self {
        match NonZeroU32::new(version | 1) {
            Some(version) => KeyData { idx, version },
            None => unreachable!(),
        }
    }

    const fn null() -> Self {
        Self::new(u32::MAX, 1)
    }

    const fn is_null(self) -> bool {
        self.idx == u32::MAX
    }

    /// The data of a slab's key.
    #[inline(always)]
    const fn of(key: GenKey) -> Self {
        let raw = key.into_raw();
        Self::new(raw as u32 + 1, (raw >> 32) as u32)
    }

    /// The slab's key of this data. Data that no slab hands out becomes a key that opens nothing.
    #[inline(always)]
    const fn key(self) -> GenKey {
        let index = self.idx.wrapping_sub(1);
        match GenKey::from_raw((self.version.get() as u64) << 32 | index as u64) {
            Some(key) => key,
            None => NOWHERE,
        }
    }

    /// The data as a number, to pass it through foreign code.
    pub fn as_ffi(self) -> u64 {
        u64::from(self.version.get()) << 32 | u64::from(self.idx)
    }

    /// The data that [`as_ffi`](Self::as_ffi) gave this number for. Of another number it is some
    /// data, with which all is safe.
    pub const fn from_ffi(value: u64) -> Self {
        Self::new(value as u32, (value >> 32) as u32)
    }
}

/// Prints `3v7` for version 7 of slot 3, and `null`.
impl fmt::Debug for KeyData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("null");
        }
        write!(f, "{}v{}", self.idx, self.version)
    }
}

/// The null key.
impl Default for KeyData {
    fn default() -> Self {
        Self::null()
    }
}

/// One number, for hashers that take one at once.
impl Hash for KeyData {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.as_ffi());
    }
}

/// What leads to a value in a map. [`new_key_type!`] declares types of keys.
///
/// Each operation takes the data of a key once.
///
/// # Safety
///
/// All methods and traits do what they do for the [`KeyData`]. This crate does not rely on it.
pub unsafe trait Key:
    From<KeyData> + Copy + Clone + Default + Eq + PartialEq + Ord + PartialOrd + Hash + fmt::Debug
{
    /// The key that opens no value in any map.
    fn null() -> Self {
        KeyData::null().into()
    }

    /// Whether this is [`null`](Self::null). A key whose value is gone is not.
    fn is_null(&self) -> bool {
        self.data().is_null()
    }

    /// The data of the key.
    fn data(&self) -> KeyData;
}

/// Declares types of keys, so that those of different maps are not mixed up.
///
/// ```
/// slotmap::new_key_type! {
///     struct Small;
///     /// With documentation.
///     pub struct Large;
/// }
/// let mut map: slotmap::SlotMap<Small, u64> = slotmap::SlotMap::with_key();
/// let key: Small = map.insert(7);
/// assert_eq!(map[key], 7);
/// ```
#[macro_export(local_inner_macros)]
macro_rules! new_key_type {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident; $($rest:tt)*) => {
        $(#[$attribute])*
        #[derive(
            ::core::clone::Clone,
            ::core::marker::Copy,
            ::core::default::Default,
            ::core::cmp::PartialEq,
            ::core::cmp::Eq,
            ::core::cmp::PartialOrd,
            ::core::cmp::Ord,
            ::core::hash::Hash,
            ::core::fmt::Debug,
        )]
        #[repr(transparent)]
        $visibility struct $name($crate::KeyData);

        impl $crate::__impl::From<$crate::KeyData> for $name {
            #[inline]
            fn from(__data: $crate::KeyData) -> Self {
                $name(__data)
            }
        }

        // SAFETY: all is that of the data.
        unsafe impl $crate::Key for $name {
            #[inline]
            fn data(&self) -> $crate::KeyData {
                self.0
            }
        }

        $crate::__serialize_key!($name);

        $crate::new_key_type!($($rest)*);
    };
    () => {};
}

#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! __serialize_key {
    ($name:ty) => {
        impl $crate::__impl::Serialize for $name {
            fn serialize<S>(&self, __serializer: S) -> $crate::__impl::Result<S::Ok, S::Error>
            where
                S: $crate::__impl::Serializer,
            {
                let __data = $crate::Key::data(self);
                $crate::__impl::Serialize::serialize(&__data, __serializer)
            }
        }

        impl<'de> $crate::__impl::Deserialize<'de> for $name {
            fn deserialize<D>(__deserializer: D) -> $crate::__impl::Result<Self, D::Error>
            where
                D: $crate::__impl::Deserializer<'de>,
            {
                let __data: $crate::KeyData =
                    $crate::__impl::Deserialize::deserialize(__deserializer)?;
                $crate::__impl::Result::Ok($crate::__impl::From::from(__data))
            }
        }
    };
}

#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __serialize_key {
    ($name:ty) => {};
}

new_key_type! {
    /// The keys of a map that names no other type.
    pub struct DefaultKey;
}
