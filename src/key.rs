//! `Key`: where a value stands, in four bytes.

use core::fmt;

/// The place of a value in a slab: 4 bytes, `Copy`.
///
/// A [`BoundedSlab`](crate::BoundedSlab)'s keys are its slot indices; a
/// [`Slab`](crate::Slab)'s are `chunk << shift | local`. A key stays the same
/// for as long as its value lives.
///
/// # No generations
///
/// A key says *where*, not *which*: when its value is gone the same key is
/// handed out again, and an old copy of it then names the new value. That is
/// never undefined behaviour, and it is left to the caller on purpose.
/// Programs of this kind receive identifiers from outside — an exchange's
/// order ids — and must check those against the value anyway; a generation
/// would cost every key four more bytes and every access one more comparison
/// to answer a question that the caller has to ask in any case. Where the
/// difference matters and no such identifier exists, keep the owning
/// [`Slot`](crate::Slot): it can never come to name another value.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, Key};
///
/// let slab = BoundedSlab::with_capacity(2);
/// let key = slab.insert("first").unwrap().leak();
/// assert_eq!(key.index(), 0);
/// assert_eq!(Key::from_raw(key.into_raw()), key);
/// assert!(Key::NONE.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Key(u32);

const _: () = assert!(size_of::<Key>() == 4);

/// The most slots a container can have. Every key is below 2^30, so none
/// reaches [`Key::NONE`], and two bits are left to pack a key with flags.
pub(crate) const MAX_SLOTS: usize = (1 << 30) - 1;

const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

impl Key {
    /// The key no slab hands out, for "nothing here" in four bytes: the end of
    /// an intrusive list, a link not yet set.
    ///
    /// ```
    /// use flatslab::Key;
    ///
    /// assert_eq!(Key::NONE.into_raw(), u32::MAX);
    /// ```
    pub const NONE: Key = Key(u32::MAX);

    /// Whether this is [`Key::NONE`].
    ///
    /// ```
    /// assert!(flatslab::Key::NONE.is_none());
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }

    /// Whether this is any key but [`Key::NONE`]. It says nothing about
    /// whether a slab holds a value there.
    ///
    /// ```
    /// assert!(flatslab::Key::from_raw(7).is_some());
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_some(self) -> bool {
        !self.is_none()
    }

    /// The key as an index, for tables with an entry per slot: below the slab's
    /// capacity for every key of a bounded slab.
    ///
    /// ```
    /// assert_eq!(flatslab::Key::from_raw(7).index(), 7);
    /// ```
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The key's bits, to store or send.
    ///
    /// ```
    /// assert_eq!(flatslab::Key::from_raw(7).into_raw(), 7);
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_raw(self) -> u32 {
        self.0
    }

    /// A key from any bits. A key that no slab handed out is answered like one
    /// whose value is gone: `None`, `false`, or whatever value lives there.
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
    pub const fn from_raw(raw: u32) -> Self {
        Key(raw)
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
