//! What the iterators of all maps have in common.

use flatslab::GenKey;

use crate::{Key, KeyData};

/// What an iterator of a map's storage gives.
pub(crate) trait Item {
    type Key;
    type Value;

    fn split(self) -> (Self::Key, Self::Value);
}

impl<X> Item for (GenKey, X) {
    type Key = KeyData;
    type Value = X;

    #[inline(always)]
    fn split(self) -> (KeyData, X) {
        (KeyData::of(self.0), self.1)
    }
}

impl<X> Item for (KeyData, X) {
    type Key = KeyData;
    type Value = X;

    #[inline(always)]
    fn split(self) -> (KeyData, X) {
        self
    }
}

/// Of a map that has keys of the caller's type.
impl<K: Key, X> Item for (K, X) {
    type Key = K;
    type Value = X;

    #[inline(always)]
    fn split(self) -> (K, X) {
        self
    }
}

/// The iterators of a map, from those of its storage.
macro_rules! iterators {
    (
        $map:literal;
        Iter: $iter:ty;
        IterMut: $iter_mut:ty;
        IntoIter: $into_iter:ty;
        Drain: $drain:ty;
    ) => {
        iterators! { @struct "The values of a map with their keys; made by", $map, "`iter`.";
            ['a, K: Key, V] Iter<'a, K, V>: $iter }
        iterators! { @struct "The values of a map with their keys, to be changed; made by", $map,
            "`iter_mut`."; ['a, K: Key, V] IterMut<'a, K, V>: $iter_mut }
        iterators! { @struct "The values of a map with their keys, moved out; made by", $map,
            "`into_iter`."; [K: Key, V] IntoIter<K, V>: $into_iter }
        iterators! { @struct "The values of a map with their keys, moved out of it; made by",
            $map, "`drain`. Dropping it drops the rest.";
            ['a, K: Key, V] Drain<'a, K, V>: $drain }
        iterators! { @struct "The keys of a map; made by", $map, "`keys`.";
            ['a, K: Key, V] Keys<'a, K, V>: Iter<'a, K, V> }
        iterators! { @struct "The values of a map; made by", $map, "`values`.";
            ['a, K: Key, V] Values<'a, K, V>: Iter<'a, K, V> }
        iterators! { @struct "The values of a map, to be changed; made by", $map, "`values_mut`.";
            ['a, K: Key, V] ValuesMut<'a, K, V>: IterMut<'a, K, V> }

        iterators! { @clone Iter Keys Values }

        iterators! { @iterator ['a, K: Key, V] Iter<'a, K, V>, (K, &'a V), pair }
        iterators! { @iterator ['a, K: Key, V] IterMut<'a, K, V>, (K, &'a mut V), pair }
        iterators! { @iterator [K: Key, V] IntoIter<K, V>, (K, V), pair }
        iterators! { @iterator [K: Key, V] Drain<'_, K, V>, (K, V), pair }
        iterators! { @iterator [K: Key, V] Keys<'_, K, V>, K, |(key, _)| key }
        iterators! { @iterator ['a, K: Key, V] Values<'a, K, V>, &'a V, |(_, value)| value }
        iterators! { @iterator ['a, K: Key, V] ValuesMut<'a, K, V>, &'a mut V, |(_, value)| value }

        #[inline(always)]
        fn pair<K: Key, I: $crate::iter::Item<Key: Into<K>>>(item: I) -> (K, I::Value) {
            let (key, value) = item.split();
            (key.into(), value)
        }
    };
    (@struct $of:literal, $map:literal, $method:literal;
        [$($parameters:tt)*] $iterator:ident<$($arguments:tt),*>: $inner:ty
    ) => {
        #[doc = concat!($of, " ", $map, "'s ", $method)]
        pub struct $iterator<$($parameters)*> {
            inner: $inner,
            keys: PhantomData<fn(K) -> K>,
        }

        impl<$($parameters)*> fmt::Debug for $iterator<$($arguments),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("left", &self.len())
                    .finish_non_exhaustive()
            }
        }
    };
    (@clone $($iterator:ident)*) => {$(
        impl<K: Key, V> Clone for $iterator<'_, K, V> {
            fn clone(&self) -> Self {
                $iterator {
                    inner: self.inner.clone(),
                    keys: PhantomData,
                }
            }
        }
    )*};
    (@iterator [$($parameters:tt)*] $iterator:ty, $item:ty, $of:expr) => {
        impl<$($parameters)*> Iterator for $iterator {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.inner.next().map($of)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.inner.size_hint()
            }
        }

        impl<$($parameters)*> ExactSizeIterator for $iterator {}
        impl<$($parameters)*> FusedIterator for $iterator {}
    };
}
pub(crate) use iterators;
