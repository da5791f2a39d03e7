//! `Store`: what a collection by key needs of the slab that has its values.

use crate::error::FullError;
#[cfg(feature = "alloc")]
use crate::key_slab::{ChangeError, CheckpointSlab, LoggedSlab};
use crate::key_slab::{PlainSlab, SlabKey, Storage};
#[cfg(feature = "alloc")]
use crate::raw::memory;

/// A slab whose values are reached by key, through plain references.
///
/// All key slabs are stores, and so is a mutable reference to one; a shared reference is none. In a
/// [`LoggedSlab`], and in a [`CheckpointSlab`], every change is logged first, so a collection is
/// rewound with its values. The methods of this trait are those of the slab with the same names;
/// those of a slab that logs abort if memory for its log is refused, and
/// [`try_reserve_changes`](crate::key_slab::Logged::try_reserve_changes) rules this out.
///
/// The trait is safe to implement. An implementation that finds another value each time makes
/// collections answer wrongly or panic, and nothing worse.
///
/// # Examples
///
/// ```
/// use flatslab::collections::Store;
/// use flatslab::{BoundedKeySlab, KeySlab};
///
/// fn total<S: Store<Value = u64>>(store: &S, keys: &[S::Key]) -> u64 {
///     keys.iter().filter_map(|key| store.get(*key)).sum()
/// }
///
/// let (mut one, mut two) = (KeySlab::new(), BoundedKeySlab::with_capacity(2));
/// let keys = [one.insert(7), one.insert(8)];
/// assert_eq!(total(&one, &keys), 15);
/// let keys = [two.insert(1).unwrap()];
/// assert_eq!(total(&two, &keys), 1);
/// ```
pub trait Store {
    /// The keys of the values.
    type Key: SlabKey;

    /// The values.
    type Value;

    /// Borrows the value with this key. Returns `None` if there is no value. O(1).
    fn get(&self, key: Self::Key) -> Option<&Self::Value>;

    /// Borrows the value with this key mutably. Returns `None` if there is no value. O(1).
    fn get_mut(&mut self, key: Self::Key) -> Option<&mut Self::Value>;

    /// Borrows the value in the slot with this index, and returns it with its key. Returns `None` if
    /// there is no value. O(1).
    fn get_at(&self, index: usize) -> Option<(Self::Key, &Self::Value)>;

    /// Returns the number of slots that were used at some time: no value is in another slot. O(1).
    fn used_slots(&self) -> usize;

    /// Inserts a value, and borrows it.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the store cannot grow.
    #[expect(
        clippy::type_complexity,
        reason = "a key and a reference, or the value"
    )]
    fn try_insert_ref(
        &mut self,
        value: Self::Value,
    ) -> Result<(Self::Key, &mut Self::Value), FullError<Self::Value>>;

    /// Removes the value with this key, and returns it. Returns `None` if there is no value. O(1).
    fn try_remove(&mut self, key: Self::Key) -> Option<Self::Value>;

    /// Returns `true` if no slot is free and the store cannot grow: it refuses the next value, and may
    /// count that.
    #[doc(hidden)]
    fn refuses(&self) -> bool {
        false
    }
}

/// Implements the trait by the methods of the type, which have the same names.
macro_rules! store {
    ($type:ty, $values:path) => {
        type Key = K;
        type Value = T;

        #[inline(always)]
        fn get(&self, key: K) -> Option<&T> {
            PlainSlab::get(self, key)
        }

        #[inline(always)]
        fn get_mut(&mut self, key: K) -> Option<&mut T> {
            <$type>::get_mut(self, key)
        }

        #[inline(always)]
        fn get_at(&self, index: usize) -> Option<(K, &T)> {
            PlainSlab::get_at(self, index)
        }

        fn used_slots(&self) -> usize {
            PlainSlab::used_slots(self)
        }

        #[inline(always)]
        fn try_insert_ref(&mut self, value: T) -> Result<(K, &mut T), FullError<T>> {
            <$type>::try_insert_ref(self, value)
        }

        #[inline(always)]
        fn try_remove(&mut self, key: K) -> Option<T> {
            $values(<$type>::try_remove(self, key))
        }

        fn refuses(&self) -> bool {
            PlainSlab::refuses(self)
        }
    };
}

impl<T, K: SlabKey, S: Storage> Store for PlainSlab<T, K, S> {
    store!(PlainSlab<T, K, S>, core::convert::identity);
}

#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> Store for LoggedSlab<T, K, S> {
    store!(LoggedSlab<T, K, S>, removed);
}

#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> Store for CheckpointSlab<T, K, S> {
    store!(LoggedSlab<T, K, S>, removed);
}

/// The value that was removed from a slab that logs.
#[cfg(feature = "alloc")]
fn removed<T>(result: Result<T, ChangeError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(ChangeError::Missing) => None,
        Err(ChangeError::NoMemory(error)) => memory::fail(error),
    }
}

impl<S: Store + ?Sized> Store for &mut S {
    type Key = S::Key;
    type Value = S::Value;

    #[inline(always)]
    fn get(&self, key: S::Key) -> Option<&S::Value> {
        (**self).get(key)
    }

    #[inline(always)]
    fn get_mut(&mut self, key: S::Key) -> Option<&mut S::Value> {
        (**self).get_mut(key)
    }

    #[inline(always)]
    fn get_at(&self, index: usize) -> Option<(S::Key, &S::Value)> {
        (**self).get_at(index)
    }

    fn used_slots(&self) -> usize {
        (**self).used_slots()
    }

    #[inline(always)]
    fn try_insert_ref(
        &mut self,
        value: S::Value,
    ) -> Result<(S::Key, &mut S::Value), FullError<S::Value>> {
        (**self).try_insert_ref(value)
    }

    #[inline(always)]
    fn try_remove(&mut self, key: S::Key) -> Option<S::Value> {
        (**self).try_remove(key)
    }

    fn refuses(&self) -> bool {
        (**self).refuses()
    }
}
