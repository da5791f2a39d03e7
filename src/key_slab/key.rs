//! The keys of a [`KeySlab`](super::KeySlab): the slot of a value, and with [`GenKey`] also which
//! of the values that were in this slot.

use core::fmt;
use core::hash::Hash;
use core::num::NonZeroU32;

#[cfg(feature = "serde")]
use serde::de::Error as _;
#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cell::{Bare, Cell, RETIRED, Versioned};
use crate::key::{Key, MAX_SLOTS};

/// The key types of a [`KeySlab`](super::KeySlab): [`Key`], [`GenKey`], and those that
/// [`key_type!`](crate::key_type) declares.
///
/// This trait is sealed. Each operation reads the numbers of a key once, and uses only these: the
/// slab does not call the key's `Eq` or `Ord`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key type of a slab",
    label = "not a key type",
    note = "use `Key`, `GenKey` or a type that `key_type!` declares"
)]
pub trait SlabKey: Copy + Eq + Hash + fmt::Debug {
    /// The type of the cells for these keys.
    #[doc(hidden)]
    type Cell<T>: Cell<T>;

    /// A key that no slab returns, for generic code: to mark the absence of a value without an
    /// `Option`, which may be larger.
    ///
    /// ```
    /// use flatslab::key_slab::SlabKey;
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// struct Node<K> { next: K }
    ///
    /// let mut nodes: KeySlab<Node<GenKey>, GenKey> = KeySlab::with_key();
    /// let key = nodes.insert(Node { next: SlabKey::NONE });
    /// assert!(nodes.get(nodes[key].next).is_none());
    /// ```
    const NONE: Self;

    /// Returns the index of the slot, for tables with an entry for each slot; for a key of no slot,
    /// such as [`NONE`](Self::NONE), an index past the end of every slab.
    fn index(self) -> usize;

    /// Returns the version of the value; 0 if keys have none.
    #[doc(hidden)]
    fn version(self) -> u32;

    /// Creates the key of a slot and of an odd version.
    #[doc(hidden)]
    fn new(index: usize, version: u32, _: Inside) -> Self;
}

/// The key types with generations: [`GenKey`], and those that [`key_type!`](crate::key_type)
/// declares around it.
///
/// This trait is sealed. Operations require it if they need generations to be correct: they report
/// that a value is gone for good, or return a value to its own key
/// ([`detach`](crate::PlainSlab::detach)). "For good" has one exception: generations that
/// [wrap](GenKey#how-long-generations-last). Memory safety never depends on generations.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no generation",
    label = "a key type with generations is required",
    note = "use `GenKey`, or a type that `key_type!(struct Name(GenKey))` declares"
)]
pub trait GenerationKey: SlabKey {
    #[doc(hidden)]
    fn seal(_: Inside);
}

mod sealed {
    /// A type that cannot be named outside the crate, so that only the crate creates keys: a bound
    /// on [`SlabKey`](super::SlabKey) lets generic code call its hidden functions.
    #[derive(Clone, Copy, Debug)]
    pub struct Inside;
}
pub(super) use sealed::Inside;

/// Returns `true` if a key is of an earlier value than another key of the same slot; never for keys
/// without generations. If they wrap, the nearer way around decides, which is the right one for keys
/// that are at most half of all generations apart.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn is_older<K: SlabKey>(key: K, other: K) -> bool {
    // Versions have 31 bits.
    let ahead = key.version().wrapping_sub(other.version());
    ((ahead << 1) as i32) < 0
}

impl SlabKey for Key {
    type Cell<T> = Bare<T>;

    const NONE: Self = Key::NONE;

    #[inline(always)]
    fn index(self) -> usize {
        Key::index(self)
    }

    #[inline(always)]
    fn version(self) -> u32 {
        0
    }

    #[inline(always)]
    fn new(index: usize, _: u32, _: Inside) -> Self {
        debug_assert!(index <= MAX_SLOTS);
        Key::from_raw(index as u32)
    }
}

/// A key with a generation: 8 bytes, `Copy`. `Option<GenKey>` has 8 bytes too.
///
/// A key whose value was removed finds nothing, never the next value in the same slot. This costs 4
/// bytes for each slot and each key, and a comparison in each access; [`Key`] says when it is not
/// needed.
///
/// A [`KeySlab`](super::KeySlab) with these keys is created by
/// [`with_key`](super::KeySlab::with_key); `KeySlab::new()` creates one with [`Key`]s.
///
/// # How long generations last
///
/// A slot has 2^30 − 1 generations, one for each value. A slot that has used all of them is
/// *retired*: it takes no more values, so that no generation occurs twice. Slots are reused last
/// in, first out. So a program that removes each value before it inserts the next, `r` times a
/// second, uses up one slot after another:
///
/// > (2^30 − 1) / `r` seconds for a slot, and `n` times as long for the `n` slots of a bounded slab
///
/// At 10,000 values a second a slot lasts 30 hours, and a [`KeySlabStorage`](super::KeySlabStorage)
/// of 8 slots lasts ten days; after that it is full for good. A [`KeySlab`](super::KeySlab)
/// continues with another slot: it grows by one slot in 30 hours. [`wear`](crate::PlainSlab::wear)
/// returns the generations that the most worn slot has used,
/// [`retired_slots`](crate::PlainSlab::retired_slots) returns the number of retired slots, and
/// [`reset_generations`](crate::PlainSlab::reset_generations) restarts generations while the slab
/// is empty.
///
/// Alternatively, generations may *wrap*: after the last generation a slot starts with the first
/// one again, and no slot is retired. This is an option of the
/// [builder](super::KeySlab::builder_with_key), and of a slab in a
/// [storage](crate::PlainSlab::wrapping_generations). With it:
///
/// - A key whose value was removed finds a later value of its slot, once the slot has had 2^30 − 1
///   more values (half as many if `shrink_to_fit` has freed slots since), for as long as that value
///   lives.
/// - [`insert_at`](crate::PlainSlab::insert_at) accepts a key from before the wrap as a newer one.
/// - An entry in a [`SecondarySlab`](super::SecondarySlab) that was not
///   [pruned](super::SecondarySlab::prune) for that long becomes the entry of the later value.
///
/// Memory safety is not affected. Use it if no key is kept for (2^29 − 1) / `r` seconds after its
/// value was removed: 15 hours at 10,000 values a second.
///
/// # Examples
///
/// ```
/// use flatslab::{GenKey, KeySlab};
///
/// let mut sessions: KeySlab<&str, GenKey> = KeySlab::with_key();
/// let first = sessions.insert("first");
/// sessions.remove(first);
/// let second = sessions.insert("second");
/// assert_eq!(second.index(), first.index()); // the same slot
/// assert_eq!(sessions.get(first), None);     // and not the same value
/// assert_eq!(sessions[second], "second");
/// assert_eq!(sessions.try_remove(first), None); // `remove` would panic
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GenKey {
    index: u32,
    /// Odd, and below [`RETIRED`].
    version: NonZeroU32,
}

const _: () = assert!(size_of::<GenKey>() == 8 && size_of::<Option<GenKey>>() == 8);

impl GenKey {
    /// Returns the index of the slot, for tables with an entry for each slot.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    /// assert_eq!(slab.insert(7).index(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the generation.
    ///
    /// It is below 2^30 − 1, and greater than the generation of every earlier value of the slot,
    /// unless generations [wrap](Self#how-long-generations-last). Generations are skipped if memory
    /// was freed in between.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    /// let first = slab.insert(7);
    /// assert_eq!(first.generation(), 0);
    /// slab.remove(first);
    /// assert_eq!(slab.insert(8).generation(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.version.get() >> 1
    }

    /// Returns the bits of the key, to store or send them: never 0, and below 2⁶³.
    ///
    /// So `u64::MAX` and the numbers just below it are never the bits of a key. A poller whose
    /// tokens are keys may use them for its listener and its waker. Where a token is a `usize`
    /// (`mio`), pointers must have 64 bits: with 32 bits, `as usize` loses the generation, and a
    /// stale token finds the next value in the slot. Use a [`Key`] there, or a table of tokens.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// const LISTENER: u64 = u64::MAX;
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    /// let key = slab.insert(7);
    /// assert_eq!(GenKey::from_raw(key.into_raw()), Some(key));
    /// assert_eq!(GenKey::from_raw(LISTENER), None);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "as_ffi")]
    pub const fn into_raw(self) -> u64 {
        (self.version.get() as u64) << 32 | self.index as u64
    }

    /// Creates the key with these bits. Returns `None` if no key has them.
    ///
    /// A key that no slab returned behaves like the key of a removed value.
    ///
    /// ```
    /// assert_eq!(flatslab::GenKey::from_raw(0), None);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "from_ffi")]
    pub const fn from_raw(raw: u64) -> Option<Self> {
        let version = (raw >> 32) as u32;
        if version % 2 == 0 || version > RETIRED {
            return None;
        }
        match NonZeroU32::new(version) {
            Some(version) => Some(GenKey {
                index: raw as u32,
                version,
            }),
            None => None,
        }
    }
}

/// Prints `GenKey(slot 3, generation 7)`.
impl fmt::Debug for GenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "GenKey(slot {}, generation {})",
            self.index,
            self.generation()
        )
    }
}

/// Prints `3:7` for generation 7 of slot 3.
impl fmt::Display for GenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.index, self.generation())
    }
}

impl SlabKey for GenKey {
    type Cell<T> = Versioned<T>;

    const NONE: Self = GenKey {
        index: u32::MAX,
        version: NonZeroU32::MIN,
    };

    #[inline(always)]
    fn index(self) -> usize {
        self.index as usize
    }

    #[inline(always)]
    fn version(self) -> u32 {
        self.version.get()
    }

    #[inline(always)]
    fn new(index: usize, version: u32, _: Inside) -> Self {
        debug_assert!(index <= MAX_SLOTS && version % 2 == 1 && version < RETIRED);
        GenKey {
            index: index as u32,
            // SAFETY: odd, so not zero: every caller has the version of a value.
            version: unsafe { NonZeroU32::new_unchecked(version | 1) },
        }
    }
}

impl GenerationKey for GenKey {
    fn seal(_: Inside) {}
}

/// A key type of the caller's own, around [`Key`] or [`GenKey`]; implemented by
/// [`key_type!`](crate::key_type). The trait is safe to implement: only
/// [`get_unchecked`](crate::PlainSlab::get_unchecked) relies on an implementation that returns the
/// same each time.
#[doc(hidden)]
pub trait NamedKey: Copy + Eq + Hash + fmt::Debug {
    type Inner: SlabKey;

    /// The key of no slot. A type without one is no key of a collection.
    const NONE: Option<Self> = None;

    fn from_inner(inner: Self::Inner) -> Self;
    fn into_inner(self) -> Self::Inner;
}

#[diagnostic::do_not_recommend]
impl<N: NamedKey> SlabKey for N {
    type Cell<T> = <N::Inner as SlabKey>::Cell<T>;

    const NONE: Self = match <N as NamedKey>::NONE {
        Some(none) => none,
        None => panic!("`key_type!` declares a key of no slot, and this type has none"),
    };

    #[inline(always)]
    fn index(self) -> usize {
        self.into_inner().index()
    }

    #[inline(always)]
    fn version(self) -> u32 {
        self.into_inner().version()
    }

    #[inline(always)]
    fn new(index: usize, version: u32, inside: Inside) -> Self {
        N::from_inner(N::Inner::new(index, version, inside))
    }
}

#[diagnostic::do_not_recommend]
impl<N: NamedKey<Inner: GenerationKey>> GenerationKey for N {
    fn seal(_: Inside) {}
}

/// Serializes the bits of the key, as a number.
#[cfg(feature = "serde")]
impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.into_raw())
    }
}

/// Deserializes the bits of the key, a number.
#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Key::from_raw)
    }
}

/// Serializes the bits of the key, as a number.
#[cfg(feature = "serde")]
impl Serialize for GenKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.into_raw())
    }
}

/// Deserializes the bits of the key, a number. Returns an error if no key has these bits.
#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for GenKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = u64::deserialize(deserializer)?;
        GenKey::from_raw(raw)
            .ok_or_else(|| D::Error::custom(format_args!("{raw} is no key with a generation")))
    }
}

/// Declares a key type of your own, so that the keys of two slabs are not mixed up.
///
/// The type wraps a [`Key`], or a [`GenKey`] if `(GenKey)` is given. It has the same size, order
/// and hash, is `Copy`, prints the same, and converts from and into the wrapped key. It has the functions of the
/// wrapped key: `index`, `into_raw` and `from_raw`; around a [`Key`] also `NONE`, `is_none` and
/// `is_some`; around a [`GenKey`] also `generation`. An `Option` of a type around a [`GenKey`] is
/// not larger than the key.
///
/// The type is the second parameter of a container. A [`KeySlab`](crate::KeySlab) with such keys is
/// created by [`with_key`](crate::KeySlab::with_key), a [`BoundedKeySlab`](crate::BoundedKeySlab)
/// by [`with_capacity_and_key`](crate::BoundedKeySlab::with_capacity_and_key). Two containers with
/// keys of the same type still accept each other's keys. Generations last as long as those of a
/// [`GenKey`](crate::GenKey#how-long-generations-last). Attributes may be given, such as
/// `#[derive(serde::Serialize, serde::Deserialize)]` with the feature `serde`.
///
/// # Examples
///
/// ```
/// use flatslab::{KeySlab, key_type};
///
/// key_type! {
///     /// An order in the book.
///     pub struct OrderKey;
/// }
/// key_type!(struct SessionKey(GenKey));
///
/// struct Session { newest: OrderKey }
///
/// let mut orders: KeySlab<&str, OrderKey> = KeySlab::with_key();
/// let mut sessions: KeySlab<Session, SessionKey> = KeySlab::with_key();
/// let session: SessionKey = sessions.insert(Session { newest: OrderKey::NONE });
/// sessions[session].newest = orders.insert("buy");
/// assert_eq!(size_of::<OrderKey>(), 4);
/// assert_eq!(OrderKey::from_raw(7).to_string(), flatslab::Key::from_raw(7).to_string());
/// ```
///
/// Using the key of another slab does not compile:
///
/// ```compile_fail,E0308
/// use flatslab::{KeySlab, key_type};
///
/// key_type!(struct OrderKey);
/// key_type!(struct SessionKey);
///
/// let mut orders: KeySlab<&str, OrderKey> = KeySlab::with_key();
/// let mut sessions: KeySlab<&str, SessionKey> = KeySlab::with_key();
/// let session = sessions.insert("session");
/// orders.remove(session);
/// ```
#[macro_export]
macro_rules! key_type {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident $(;)?) => {
        $crate::key_type! { @declare [$(#[$attribute])*] [$visibility] $name, $crate::Key }

        impl $name {
            /// A key that no slab returns, to mark the absence of a value in 4 bytes.
            $visibility const NONE: Self = $name($crate::Key::NONE);

            /// Returns `true` if this is [`NONE`](Self::NONE).
            #[inline]
            $visibility const fn is_none(self) -> $crate::__core::primitive::bool {
                self.0.is_none()
            }

            /// Returns `true` if this is any key except [`NONE`](Self::NONE).
            #[inline]
            $visibility const fn is_some(self) -> $crate::__core::primitive::bool {
                self.0.is_some()
            }

            /// Returns the index of the slot, for tables with an entry for each slot.
            #[inline]
            $visibility const fn index(self) -> $crate::__core::primitive::usize {
                self.0.index()
            }

            /// Returns the bits of the key, to store or send them: below 2³⁰, and `u32::MAX` for
            /// `NONE`.
            #[inline]
            $visibility const fn into_raw(self) -> $crate::__core::primitive::u32 {
                self.0.into_raw()
            }

            /// Creates a key from any bits.
            #[inline]
            $visibility const fn from_raw(__raw: $crate::__core::primitive::u32) -> Self {
                $name($crate::Key::from_raw(__raw))
            }
        }
    };
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident(GenKey) $(;)?) => {
        $crate::key_type! { @declare [$(#[$attribute])*] [$visibility] $name, $crate::GenKey }

        impl $name {
            /// Returns the index of the slot, for tables with an entry for each slot.
            #[inline]
            $visibility const fn index(self) -> $crate::__core::primitive::usize {
                self.0.index()
            }

            /// Returns the generation. It is greater than that of every earlier value of the slot,
            /// unless generations wrap.
            #[inline]
            $visibility const fn generation(self) -> $crate::__core::primitive::u32 {
                self.0.generation()
            }

            /// Returns the bits of the key, to store or send them: never 0, and below 2⁶³, so no
            /// key has the bits `u64::MAX`. Where pointers have 32 bits, `as usize` loses the
            /// generation.
            #[inline]
            $visibility const fn into_raw(self) -> $crate::__core::primitive::u64 {
                self.0.into_raw()
            }

            /// Creates the key with these bits. Returns `None` if no key has them.
            #[inline]
            $visibility const fn from_raw(__raw: $crate::__core::primitive::u64) -> $crate::__core::option::Option<Self> {
                match $crate::GenKey::from_raw(__raw) {
                    $crate::__core::option::Option::Some(__key) => $crate::__core::option::Option::Some($name(__key)),
                    $crate::__core::option::Option::None => $crate::__core::option::Option::None,
                }
            }
        }
    };
    (@declare [$(#[$attribute:meta])*] [$visibility:vis] $name:ident, $inner:ty) => {
        $(#[$attribute])*
        #[derive(
            $crate::__core::clone::Clone,
            $crate::__core::marker::Copy,
            $crate::__core::cmp::PartialEq,
            $crate::__core::cmp::Eq,
            $crate::__core::hash::Hash,
            $crate::__core::cmp::PartialOrd,
            $crate::__core::cmp::Ord,
            $crate::__core::fmt::Debug,
        )]
        #[repr(transparent)]
        $visibility struct $name($inner);

        /// Prints the wrapped key.
        impl $crate::__core::fmt::Display for $name {
            fn fmt(&self, __f: &mut $crate::__core::fmt::Formatter<'_>) -> $crate::__core::fmt::Result {
                $crate::__core::fmt::Display::fmt(&self.0, __f)
            }
        }

        impl $crate::key_slab::NamedKey for $name {
            type Inner = $inner;

            const NONE: $crate::__core::option::Option<Self> = $crate::__core::option::Option::Some(
                $name(<$inner as $crate::key_slab::SlabKey>::NONE),
            );

            #[inline(always)]
            fn from_inner(__inner: $inner) -> Self {
                $name(__inner)
            }

            #[inline(always)]
            fn into_inner(self) -> $inner {
                self.0
            }
        }

        impl $crate::__core::convert::From<$inner> for $name {
            #[inline]
            fn from(__key: $inner) -> Self {
                $name(__key)
            }
        }

        impl $crate::__core::convert::From<$name> for $inner {
            #[inline]
            fn from(__key: $name) -> Self {
                __key.0
            }
        }
    };
}
