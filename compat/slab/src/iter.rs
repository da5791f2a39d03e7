//! Iterators: those of a [`KeySlab`](flatslab::KeySlab), with numbers as keys.

use core::fmt;
use core::iter::FusedIterator;
use core::panic::{RefUnwindSafe, UnwindSafe};

use flatslab::key_slab;

use crate::Slab;

/// The values of a slab with their keys; made by [`Slab::iter`].
pub struct Iter<'a, T> {
    pub(crate) inner: key_slab::Iter<'a, T>,
}

/// The values of a slab with their keys, to be changed; made by [`Slab::iter_mut`].
pub struct IterMut<'a, T> {
    pub(crate) inner: key_slab::IterMut<'a, T>,
}

/// The values of a slab with their keys, moved out; made by [`Slab::into_iter`].
pub struct IntoIter<T> {
    pub(crate) inner: key_slab::IntoIter<T>,
}

/// The values of a slab, moved out; made by [`Slab::drain`].
pub struct Drain<'a, T> {
    pub(crate) inner: key_slab::Drain<'a, T>,
}

/// Both directions, and the length, of an iterator: `$of` makes an item from one of `inner`.
macro_rules! iterator {
    ([$($parameters:tt)*] $iterator:ty, $item:ty, $of:expr) => {
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

            #[inline]
            fn fold<A, F: FnMut(A, $item) -> A>(self, start: A, f: F) -> A {
                self.inner.map($of).fold(start, f)
            }
        }

        impl<$($parameters)*> DoubleEndedIterator for $iterator {
            #[inline]
            fn next_back(&mut self) -> Option<$item> {
                self.inner.next_back().map($of)
            }
        }

        impl<$($parameters)*> ExactSizeIterator for $iterator {}
        impl<$($parameters)*> FusedIterator for $iterator {}
    };
}

iterator!(['a, T] Iter<'a, T>, (usize, &'a T), |(key, value)| (key.index(), value));
iterator!(['a, T] IterMut<'a, T>, (usize, &'a mut T), |(key, value)| (key.index(), value));
iterator!([T] IntoIter<T>, (usize, T), |(key, value)| (key.index(), value));
iterator!([T] Drain<'_, T>, T, |(_, value)| value);

/// Prints how many values are left.
macro_rules! debug {
    ($($iterator:ident: $type:ty;)*) => {$(
        impl<T: fmt::Debug> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("remaining", &self.len())
                    .finish()
            }
        }
    )*};
}

debug! {
    Iter: Iter<'_, T>;
    IterMut: IterMut<'_, T>;
    IntoIter: IntoIter<T>;
}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").finish()
    }
}

/// As that of `slab`. The slab that a panic leaves is a slab with fewer values.
impl<T: RefUnwindSafe> UnwindSafe for Drain<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter {
            inner: self.inner.clone(),
        }
    }
}

impl<'a, T> IntoIterator for &'a Slab<T> {
    type Item = (usize, &'a T);
    type IntoIter = Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Slab<T> {
    type Item = (usize, &'a mut T);
    type IntoIter = IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<T> IntoIterator for Slab<T> {
    type Item = (usize, T);
    type IntoIter = IntoIter<T>;

    #[inline]
    fn into_iter(self) -> IntoIter<T> {
        IntoIter {
            inner: self.inner.into_iter(),
        }
    }
}
