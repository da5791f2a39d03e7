//! Iteration over either kind of slab, in key order.
//!
//! Each step asks for its cell anew and nothing points into the slab between
//! steps but the guards that were given out, so that the slab may be used, and
//! grow or shrink, while an iterator exists. Slots that are added behind the
//! bound it began with are not visited: a loop that inserts ends.

use core::fmt;
use core::iter::FusedIterator;
use core::ops::Range;

use crate::bounded::BoundedSlab;
use crate::guard::{Ref, RefMut};
use crate::key::Key;
use crate::raw::place::Place;
use crate::raw::walk::{self, Cells};
use crate::slab::Slab;

/// One type of iterator serves both slabs; which one it is, is decided once a
/// step, or once a loop where the compiler sees the whole of it.
enum Either<'a, T> {
    Bounded(&'a BoundedSlab<T>),
    Growable(&'a Slab<T>),
}

impl<T> Clone for Either<'_, T> {
    fn clone(&self) -> Self {
        match *self {
            Either::Bounded(slab) => Either::Bounded(slab),
            Either::Growable(slab) => Either::Growable(slab),
        }
    }
}

/// The keys still to be visited, and where.
struct Walk<'a, T> {
    slab: Either<'a, T>,
    keys: Range<usize>,
}

impl<'a, T> Walk<'a, T> {
    fn bounded(slab: &'a BoundedSlab<T>) -> Self {
        Walk {
            slab: Either::Bounded(slab),
            keys: 0..slab.bound(),
        }
    }

    fn growable(slab: &'a Slab<T>) -> Self {
        Walk {
            slab: Either::Growable(slab),
            keys: 0..slab.bound(),
        }
    }

    /// The next cell there is and its key; alive through the slab.
    ///
    /// Whether it is wanted is asked by the iterators, one by one: asked here,
    /// by a closure, the tracking of a short borrow does not fold away.
    #[inline]
    fn next(&mut self) -> Option<(Key, Place<T>)> {
        loop {
            let key = Key::from_raw(self.keys.next()? as u32);
            let place = match self.slab {
                Either::Bounded(slab) => slab.place(key),
                Either::Growable(slab) => slab.place(key),
            };
            if let Some(place) = place {
                return Some((key, place));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.keys.len()))
    }

    fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl<T> Clone for Walk<'_, T> {
    fn clone(&self) -> Self {
        Walk {
            slab: self.slab.clone(),
            keys: self.keys.clone(),
        }
    }
}

/// What all iterators have beside `next`.
macro_rules! iterator {
    ($iterator:ident) => {
        impl<'a, T> $iterator<'a, T> {
            pub(crate) fn bounded(slab: &'a BoundedSlab<T>) -> Self {
                $iterator(Walk::bounded(slab))
            }

            pub(crate) fn growable(slab: &'a Slab<T>) -> Self {
                $iterator(Walk::growable(slab))
            }
        }

        impl<T> FusedIterator for $iterator<'_, T> {}

        /// Prints the range of keys still to be visited.
        impl<T> fmt::Debug for $iterator<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(stringify!($iterator), f)
            }
        }
    };
}

/// The values of a slab with their keys, borrowed; made by `iter`.
///
/// A value is borrowed when the iterator comes to it, and skipped if that
/// conflicts.
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert(3).leak();
/// slab.insert(4).leak();
/// assert_eq!(slab.iter().map(|(_key, value)| *value).sum::<i32>(), 7);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a, T>(Walk<'a, T>);

iterator!(Iter);

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (Key, Ref<'a, T>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some((key, place)) = self.0.next() {
            // SAFETY: alive through the slab, which the guard borrows; admitted.
            unsafe {
                if place.begin_read() {
                    return Some((key, Ref::new(place)));
                }
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

/// The values of a slab with their keys, borrowed mutably; made by `iter_mut`.
///
/// A value is borrowed when the iterator comes to it, and skipped if that
/// conflicts.
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert(3).leak();
/// for (_key, mut value) in slab.iter_mut() {
///     *value += 1;
/// }
/// assert_eq!(slab.get_copied(key), Some(4));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct IterMut<'a, T>(Walk<'a, T>);

iterator!(IterMut);

impl<'a, T> Iterator for IterMut<'a, T> {
    type Item = (Key, RefMut<'a, T>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some((key, place)) = self.0.next() {
            // SAFETY: alive through the slab, which the guard borrows; admitted.
            unsafe {
                if place.begin_write_by_key() {
                    return Some((key, RefMut::new(place)));
                }
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// The keys of the values in a slab, borrowed or not; made by `keys`.
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert(7).leak();
/// assert_eq!(slab.keys().collect::<Vec<_>>(), [key]);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Keys<'a, T>(Walk<'a, T>);

iterator!(Keys);

impl<T> Iterator for Keys<'_, T> {
    type Item = Key;

    #[inline]
    fn next(&mut self) -> Option<Key> {
        while let Some((key, place)) = self.0.next() {
            // SAFETY: alive through the slab.
            if unsafe { place.state().is_occupied() } {
                return Some(key);
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> Clone for Keys<'_, T> {
    fn clone(&self) -> Self {
        Keys(self.0.clone())
    }
}

/// Moves the values out of a slab; made by `drain`.
///
/// A value that is borrowed when the iterator comes to it stays. Dropping it
/// drops the values it has not come to.
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert("first").leak();
/// slab.insert("second").leak();
/// let (_key, value) = slab.drain().next().unwrap();
/// assert_eq!(value, "first");
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it drops every value; `clear` says so"]
pub struct Drain<'a, T>(Walk<'a, T>);

iterator!(Drain);

impl<T> Iterator for Drain<'_, T> {
    type Item = (Key, T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some((key, place)) = self.0.next() {
            // SAFETY: alive through the slab; once the cell is vacated the value
            // is read out, once.
            unsafe {
                if place.vacate_by_key() {
                    return Some((key, place.read()));
                }
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// Drops the values that were not moved out; when a destructor panics the rest
/// is dropped all the same, then the panic goes on.
impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let keys = self.0.keys.clone();
        match self.0.slab {
            Either::Bounded(slab) => walk::destroy_all(slab, keys),
            Either::Growable(slab) => walk::destroy_all(slab, keys),
        }
    }
}
