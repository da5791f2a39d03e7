//! Access by key without borrow tracking, for those who vouch for themselves.

use core::fmt;
use core::ops::{Index, IndexMut};

use crate::bounded::BoundedSlab;
use crate::key::Key;
use crate::raw::walk::Cells;
use crate::slab::Slab;

macro_rules! untracked_accessor_type {
    ($accessor:ident, $slab:ident, $new:literal, $insert:literal) => {
        #[doc = concat!("Access to the values of a [`", stringify!($slab), "`] by key, without borrow tracking.")]
        ///
        /// Made by `untracked`, whose contract it carries: the caller sees to it
        /// that no two references conflict. Whether there is a value at a key is
        /// still checked.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("let slab = ", $new, ";")]
        #[doc = concat!("let key = ", $insert, ".leak();")]
        /// // SAFETY: no guard is alive, and nothing is removed.
        /// let mut values = unsafe { slab.untracked() };
        /// values[key] += 1;
        /// assert_eq!(values.get(key), Some(&8));
        /// // SAFETY: there is a value at `key`.
        /// assert_eq!(unsafe { *values.get_unchecked(key) }, 8);
        /// ```
        pub struct $accessor<'a, T> {
            slab: &'a $slab<T>,
        }

        impl<'a, T> $accessor<'a, T> {
            /// # Safety
            ///
            /// That of `untracked`.
            #[inline(always)]
            pub(crate) unsafe fn new(slab: &'a $slab<T>) -> Self {
                $accessor { slab }
            }

            /// The value at `key`, if there is one; O(1).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// // SAFETY: no guard is alive, and nothing is removed.
            /// let values = unsafe { slab.untracked() };
            /// assert_eq!(values.get(key), Some(&7));
            /// assert_eq!(values.get(flatslab::Key::NONE), None);
            /// ```
            #[inline]
            #[must_use]
            pub fn get(&self, key: Key) -> Option<&T> {
                let place = self.slab.place(key)?;
                // SAFETY: alive through the slab, and there is a value; that
                // nobody writes to it or removes it is `untracked`'s contract.
                unsafe { place.state().has_value().then(|| place.value().as_ref()) }
            }

            /// The value at `key`, mutably, if there is one; O(1).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// // SAFETY: no guard is alive, and nothing is removed.
            /// let mut values = unsafe { slab.untracked() };
            /// *values.get_mut(key).unwrap() += 1;
            /// assert_eq!(values[key], 8);
            /// ```
            #[inline]
            #[must_use]
            pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
                let place = self.slab.place(key)?;
                // SAFETY: alive through the slab, and there is a value; that
                // nobody else reaches it is `untracked`'s contract.
                unsafe { place.state().has_value().then(|| place.value().as_mut()) }
            }

            /// The value at `key`, without any check: an address and a load.
            ///
            /// # Safety
            ///
            /// There is a value at `key` in this slab.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// // SAFETY: there is a value at `key`, no guard, and no removal.
            /// assert_eq!(unsafe { *slab.untracked().get_unchecked(key) }, 7);
            /// ```
            #[inline]
            #[must_use]
            pub unsafe fn get_unchecked(&self, key: Key) -> &T {
                // SAFETY: there is a value at `key`, says the caller.
                unsafe { self.slab.cell_unchecked(key).value().as_ref() }
            }

            /// The value at `key`, mutably, without any check: an address and a
            /// load.
            ///
            /// # Safety
            ///
            /// There is a value at `key` in this slab.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// // SAFETY: there is a value at `key`, no guard, and no removal.
            /// unsafe { *slab.untracked().get_unchecked_mut(key) += 1 };
            /// assert_eq!(slab.remove_by_key(key), 8);
            /// ```
            #[inline]
            #[must_use]
            pub unsafe fn get_unchecked_mut(&mut self, key: Key) -> &mut T {
                // SAFETY: there is a value at `key`, says the caller.
                unsafe { self.slab.cell_unchecked(key).value().as_mut() }
            }

            #[cold]
            #[inline(never)]
            #[track_caller]
            fn refuse(key: Key) -> ! {
                panic!("there is no value at {key:?}")
            }
        }

        /// # Panics
        ///
        /// If there is no value at the key.
        impl<T> Index<Key> for $accessor<'_, T> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, key: Key) -> &T {
                match self.get(key) {
                    Some(value) => value,
                    None => Self::refuse(key),
                }
            }
        }

        /// # Panics
        ///
        /// If there is no value at the key.
        impl<T> IndexMut<Key> for $accessor<'_, T> {
            #[inline]
            #[track_caller]
            fn index_mut(&mut self, key: Key) -> &mut T {
                match self.get_mut(key) {
                    Some(value) => value,
                    None => Self::refuse(key),
                }
            }
        }

        /// Prints how full the slab is, and no value: one may be borrowed.
        impl<T> fmt::Debug for $accessor<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($accessor))
                    .field("slab", self.slab)
                    .finish()
            }
        }
    };
}

untracked_accessor_type!(
    UntrackedAccessor,
    BoundedSlab,
    "flatslab::BoundedSlab::with_capacity(8)",
    "slab.insert(7).unwrap()"
);
untracked_accessor_type!(
    SlabUntrackedAccessor,
    Slab,
    "flatslab::Slab::new()",
    "slab.insert(7)"
);
