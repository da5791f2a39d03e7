//! `Links`: a field by which a value is in a list.

use core::fmt;

#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::key::Key;
use crate::key_slab::SlabKey;

/// The links of a value that can be in a [`List`](crate::collections::List): a field of its type.
///
/// `K` is the key type of the slab that has the values, and `O` that of the list's owner: 12 bytes
/// if both are [`Key`]s. A value that can be in several lists at the same time has a field for each
/// of them, with owners of different types. [`linked!`](crate::linked) says which field it is.
///
/// Only a list changes links. A program reads them: [`owner`](Self::owner) finds the list that a
/// value is in.
///
/// # Examples
///
/// ```
/// use flatslab::collections::{Links, List};
/// use flatslab::{Key, KeySlab, linked};
///
/// struct Order { shares: u32, links: Links }
///
/// linked!(impl Linked<Key, Key> for Order { links });
///
/// let mut orders = KeySlab::new();
/// let mut level = List::new(Key::from_raw(3));
/// let key = level.push_back(&mut orders, Order { shares: 7, links: Links::new() })?;
/// assert_eq!(orders[key].links.owner(), Some(level.owner()));
/// # Ok::<(), flatslab::FullError<Order>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Links<K = Key, O = Key> {
    pub(crate) previous: K,
    pub(crate) next: K,
    /// `NONE` if the value is in no list.
    pub(crate) owner: O,
}

impl<K: SlabKey, O: SlabKey> Links<K, O> {
    /// Creates the links of a value that is in no list.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Links {
            previous: K::NONE,
            next: K::NONE,
            owner: O::NONE,
        }
    }

    /// Returns `true` if the value is in a list.
    #[inline]
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.owner != O::NONE
    }

    /// Returns the owner of the list that the value is in. Returns `None` if it is in no list.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> Option<O> {
        self.is_linked().then_some(self.owner)
    }

    /// Returns the key of the next value in the list. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<K> {
        (self.is_linked() && self.next != K::NONE).then_some(self.next)
    }

    /// Returns the key of the previous value in the list. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn previous(&self) -> Option<K> {
        (self.is_linked() && self.previous != K::NONE).then_some(self.previous)
    }
}

/// The same as [`new`](Self::new).
impl<K: SlabKey, O: SlabKey> Default for Links<K, O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: SlabKey, O: SlabKey> fmt::Debug for Links<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("owner", &self.owner())
            .field("previous", &self.previous())
            .field("next", &self.next())
            .finish()
    }
}

/// Serializes the keys of the neighbours and of the owner.
#[cfg(feature = "serde")]
impl<K: Serialize, O: Serialize> Serialize for Links<K, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.previous, &self.next, &self.owner).serialize(serializer)
    }
}

/// Deserializes links of any content. What does not fit the other values is found when the list is
/// used.
#[cfg(feature = "serde")]
impl<'de, K: Deserialize<'de>, O: Deserialize<'de>> Deserialize<'de> for Links<K, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (previous, next, owner) = Deserialize::deserialize(deserializer)?;
        Ok(Links {
            previous,
            next,
            owner,
        })
    }
}

/// A type of values that can be in the lists of one type of owner.
///
/// [`linked!`](crate::linked) implements it. The trait is safe to implement by hand, for a generic
/// type, or for links that are not a field: both methods return the same links of the same value
/// each time. Otherwise lists refuse values, panic, or answer wrongly.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no links for a list of keys `{K}` with owners `{O}`",
    label = "no field of this type has such links",
    note = "give it a field `Links<{K}, {O}>`, and name the field with `linked!`"
)]
pub trait Linked<K = Key, O = Key> {
    /// Borrows the links of this value.
    fn links(&self) -> &Links<K, O>;

    /// Borrows the links of this value mutably.
    fn links_mut(&mut self) -> &mut Links<K, O>;
}

/// Says which field of a type has the [links](crate::collections::Links) for one type of list, by
/// implementing [`Linked`]. For a generic type, implement the trait by hand.
///
/// # Examples
///
/// An order that is in the list of its price level and in that of its session:
///
/// ```
/// use flatslab::collections::{Links, List};
/// use flatslab::{KeySlab, key_type, linked};
///
/// key_type!(struct OrderKey);
/// key_type!(struct LevelKey);
/// key_type!(struct SessionKey(GenKey));
///
/// struct Order {
///     shares: u32,
///     in_level: Links<OrderKey, LevelKey>,
///     of_session: Links<OrderKey, SessionKey>,
/// }
///
/// linked!(impl Linked<OrderKey, LevelKey> for Order { in_level });
/// linked!(impl Linked<OrderKey, SessionKey> for Order { of_session });
///
/// let mut orders: KeySlab<Order, OrderKey> = KeySlab::with_key();
/// let mut sessions: KeySlab<(), SessionKey> = KeySlab::with_key();
/// let session = sessions.insert(());
/// let mut level = List::new(LevelKey::from_raw(0));
/// let mut of_session = List::new(session);
///
/// let order = Order { shares: 7, in_level: Links::new(), of_session: Links::new() };
/// let key = level.push_back(&mut orders, order)?;
/// of_session.link_back(&mut orders, key).unwrap();
///
/// of_session.unlink(&mut orders, key).unwrap();
/// assert_eq!(level.pop_front(&mut orders).unwrap().shares, 7);
/// # Ok::<(), flatslab::FullError<Order>>(())
/// ```
#[macro_export]
macro_rules! linked {
    (impl Linked<$key:ty, $owner:ty $(,)?> for $value:ty { $field:tt $(,)? }) => {
        impl $crate::collections::Linked<$key, $owner> for $value {
            #[inline(always)]
            fn links(&self) -> &$crate::collections::Links<$key, $owner> {
                &self.$field
            }

            #[inline(always)]
            fn links_mut(&mut self) -> &mut $crate::collections::Links<$key, $owner> {
                &mut self.$field
            }
        }
    };
}
