//! `Key`: the place of a value in a slab, in 4 bytes.

use core::error::Error;
use core::fmt;

/// The key of a value in a slab: the index of its slot, in 4 bytes.
///
/// The keys of a [`BoundedSlab`](crate::BoundedSlab) or a [`KeySlab`](crate::KeySlab) are its slot
/// indices; those of a [`Slab`](crate::Slab) are `chunk << shift | local`. A key stays the same for
/// as long as its value lives.
///
/// # No generations
///
/// A key says *where* a value is, not *which* value it is. When a value has been removed, its key
/// is used again, and an old copy of the key finds the new value. This is never undefined
/// behaviour, and it is left to the caller on purpose: programs that receive identifiers from
/// outside, such as the order ids of an exchange, must check these against the value anyway. A
/// generation would cost every key 4 more bytes, and every access one more comparison.
///
/// If stale keys matter and there is no such identifier, keep the owning [`Slot`](crate::Slot),
/// which never refers to another value, or use a [`KeySlab`](crate::KeySlab) with
/// [`GenKey`](crate::GenKey)s.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, Key};
///
/// let slab = BoundedSlab::with_capacity(2);
/// let key = slab.insert_key("first").unwrap();
/// assert_eq!(key.index(), 0);
/// assert_eq!(Key::from_raw(key.into_raw()), key);
/// assert_eq!(key.to_string(), "0");
/// assert!(Key::default().is_none());
/// ```
///
/// Store a link that may be absent as a `Key`, not as an `Option<Key>`, which is larger:
/// [`Key::NONE`] marks the end, and no slab has a value with this key.
///
/// ```
/// use flatslab::{Key, Slab};
///
/// struct Node { value: u64, next: Key }
///
/// let slab = Slab::new();
/// let last = slab.insert_key(Node { value: 2, next: Key::NONE });
/// let mut next = slab.insert_key(Node { value: 1, next: last });
/// let mut sum = 0;
/// while let Some(node) = slab.get(next) {
///     sum += node.value;
///     next = node.next;
/// }
/// assert_eq!(sum, 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Key(u32);

const _: () = assert!(size_of::<Key>() == 4);

/// The largest number of slots of a container. Every key is below 2^30, so no key equals
/// [`Key::NONE`], and two bits are left to pack a key with flags.
pub(crate) const MAX_SLOTS: usize = (1 << 30) - 1;

const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

impl Key {
    /// A key that no slab returns, to mark the absence of a value in 4 bytes: the end of an
    /// intrusive list, or a link that is not set.
    ///
    /// ```
    /// use flatslab::Key;
    ///
    /// assert_eq!(Key::NONE.into_raw(), u32::MAX);
    /// ```
    pub const NONE: Key = Key(u32::MAX);

    /// Returns `true` if this is [`Key::NONE`].
    ///
    /// ```
    /// assert!(flatslab::Key::NONE.is_none());
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "is_null")]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }

    /// Returns `true` if this is any key except [`Key::NONE`].
    ///
    /// This says nothing about whether a slab has a value with this key.
    ///
    /// ```
    /// assert!(flatslab::Key::from_raw(7).is_some());
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_some(self) -> bool {
        !self.is_none()
    }

    /// Returns the key as an index, for tables with an entry for each slot.
    ///
    /// For every key of a bounded slab, the index is below the slab's capacity.
    ///
    /// ```
    /// assert_eq!(flatslab::Key::from_raw(7).index(), 7);
    /// ```
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the bits of the key, to store or send them.
    ///
    /// The bits of a slab's keys are below 2³⁰, so a poller whose tokens are keys may reserve
    /// higher numbers. [`NONE`](Self::NONE) is `u32::MAX`. Converting to `usize` loses nothing,
    /// also where pointers have 32 bits.
    ///
    /// ```
    /// assert_eq!(flatslab::Key::from_raw(7).into_raw(), 7);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "as_ffi")]
    pub const fn into_raw(self) -> u32 {
        self.0
    }

    /// Creates a key from any bits.
    ///
    /// A key that no slab returned behaves like the key of a removed value: it finds nothing, or
    /// the value that is there now.
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Key};
    ///
    /// let slab = BoundedSlab::<u64>::with_capacity(4);
    /// assert!(slab.get(Key::from_raw(3)).is_none());
    /// assert!(slab.get(Key::from_raw(4_000_000_000)).is_none());
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "from_ffi")]
    pub const fn from_raw(raw: u32) -> Self {
        Key(raw)
    }
}

/// Returns [`Key::NONE`].
impl Default for Key {
    #[inline]
    fn default() -> Self {
        Key::NONE
    }
}

/// Converts an index to its key: the index of a bounded slab's slot, or the result of
/// [`index`](Key::index).
///
/// # Errors
///
/// Returns an error if the index is 2^30 - 1 or more: no slab has a slot with this index. So a
/// number never becomes `NONE` by accident; [`Key::from_raw`] takes any bits.
///
/// # Examples
///
/// ```
/// use flatslab::Key;
///
/// let key = Key::try_from(7_usize).unwrap();
/// assert_eq!(usize::from(key), 7);
/// assert!(Key::try_from(u32::MAX as usize).is_err());
/// ```
impl TryFrom<usize> for Key {
    type Error = KeyError;

    #[inline]
    fn try_from(index: usize) -> Result<Self, KeyError> {
        if index < MAX_SLOTS {
            Ok(Key(index as u32))
        } else {
            Err(KeyError::new(index))
        }
    }
}

/// Returns the bits of the key, like [`Key::into_raw`].
///
/// ```
/// assert_eq!(u32::from(flatslab::Key::from_raw(7)), 7);
/// ```
impl From<Key> for u32 {
    #[inline]
    fn from(key: Key) -> u32 {
        key.into_raw()
    }
}

/// Returns the key as an index, like [`Key::index`].
///
/// ```
/// assert_eq!(usize::from(flatslab::Key::from_raw(7)), 7);
/// ```
impl From<Key> for usize {
    #[inline]
    fn from(key: Key) -> usize {
        key.index()
    }
}

/// Prints the number, or `none`.
///
/// ```
/// use flatslab::Key;
///
/// assert_eq!(format!("{} {:>4}", Key::from_raw(42), Key::NONE), "42 none");
/// ```
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            f.pad("none")
        } else {
            fmt::Display::fmt(&self.0, f)
        }
    }
}

/// Prints `Key(42)`, or `Key::NONE`.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            f.write_str("Key::NONE")
        } else {
            write!(f, "Key({})", self.0)
        }
    }
}

/// The error of converting an index to a [`Key`]: no slab has a slot with this index.
///
/// # Examples
///
/// ```
/// use flatslab::Key;
///
/// let error = Key::try_from(1 << 30).unwrap_err();
/// assert_eq!(error.index(), 1 << 30);
/// assert_eq!(error.to_string(), "index must be less than 1073741823, but is 1073741824");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError {
    index: usize,
}

impl KeyError {
    pub(crate) const fn new(index: usize) -> Self {
        KeyError { index }
    }

    /// Returns the index that was refused.
    ///
    /// ```
    /// assert_eq!(flatslab::Key::try_from(usize::MAX).unwrap_err().index(), usize::MAX);
    /// ```
    #[inline]
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "index must be less than {MAX_SLOTS}, but is {}",
            self.index
        )
    }
}

impl Error for KeyError {}
