//! What both slabs do alike, written once: everything but making a slab and
//! putting something into it.

/// Gives `$slab`, which implements [`Cells`](crate::raw::walk::Cells), its
/// methods by key. `$accessor` is its untracked accessor, `$kind` the iterators'
/// constructor for it; `$new` and `$insert` are how the examples make one and
/// put a 7 into it.
macro_rules! keyed_methods {
    ($slab:ident, $accessor:ident, $kind:ident, $new:literal, $insert:literal) => {
        impl<T> $slab<T> {
            /// Borrows the value at `key`; O(1), no allocation.
            ///
            /// `None` where there is no value, where it is mutably borrowed, or
            /// with 2^27 - 1 readers. Any key may be asked for.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// assert_eq!(*slab.get(key).unwrap(), 7);
            /// ```
            #[inline]
            pub fn get(&self, key: Key) -> Option<Ref<'_, T>> {
                let place = self.place(key)?;
                // SAFETY: alive through the slab, which the guard borrows; and
                // admitted.
                unsafe { place.begin_read().then(|| Ref::new(place)) }
            }

            /// Borrows the value at `key` mutably, tracked at run time; O(1),
            /// no allocation.
            ///
            /// `None` where there is no value, or it is borrowed. Any key may
            /// be asked for.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// *slab.get_mut(key).unwrap() += 1;
            /// assert_eq!(*slab.get(key).unwrap(), 8);
            /// ```
            #[inline]
            pub fn get_mut(&self, key: Key) -> Option<RefMut<'_, T>> {
                let place = self.place(key)?;
                // SAFETY: alive through the slab, which the guard borrows; and
                // admitted.
                unsafe { place.begin_write_by_key().then(|| RefMut::new(place)) }
            }

            /// A copy of the value at `key`, without a guard and without a
            /// write; O(1), no allocation.
            ///
            /// `None` where there is no value, or it is mutably borrowed. Any
            /// key may be asked for.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// assert_eq!(slab.get_copied(slot.key()), Some(7));
            /// let guard = slot.get_mut();
            /// assert_eq!(slab.get_copied(slot.key()), None);
            /// # drop(guard);
            /// ```
            #[inline]
            #[must_use]
            pub fn get_copied(&self, key: Key) -> Option<T>
            where
                T: Copy,
            {
                let place = self.place(key)?;
                // SAFETY: alive through the slab. A plain state has a value that
                // nobody writes to.
                unsafe { place.state().is_plain().then(|| *place.value().as_ref()) }
            }

            /// Whether there is a value at `key`, borrowed or not; O(1).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// let guard = slot.get_mut();
            /// assert!(slab.contains_key(slot.key()));
            /// assert!(!slab.contains_key(flatslab::Key::NONE));
            /// # drop(guard);
            /// ```
            #[inline]
            #[must_use]
            pub fn contains_key(&self, key: Key) -> bool {
                match self.place(key) {
                    // SAFETY: alive through the slab.
                    Some(place) => unsafe { place.state().is_occupied() },
                    None => false,
                }
            }

            /// Moves the value out by its handle and frees its slot: the same
            /// as [`Slot::into_inner`], which works for a slot of any slab;
            /// O(1), no allocation, one copy.
            ///
            /// # Panics
            ///
            /// If the value is borrowed, or there is none. The slot is dropped
            /// then: a borrowed value goes with its last borrow.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// assert_eq!(slab.into_inner(slot), 7);
            /// ```
            #[inline]
            #[track_caller]
            pub fn into_inner(&self, slot: Slot<T>) -> T {
                slot.into_inner()
            }

            /// Moves the value at `key` out; O(1), no allocation, one copy.
            ///
            /// A [`Slot`] that owns the value becomes stale, and its cell stays
            /// out of use until it is gone.
            ///
            /// # Panics
            ///
            /// If there is no value at `key`, or it is borrowed; nothing has
            /// changed then. [`try_remove_by_key`](Self::try_remove_by_key)
            /// says `None`.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// assert_eq!(slab.remove_by_key(slot.key()), 7);
            /// assert!(!slot.is_valid());
            /// ```
            #[inline]
            #[track_caller]
            pub fn remove_by_key(&self, key: Key) -> T {
                match self.place(key) {
                    // SAFETY: alive through the slab; once the cell is vacated
                    // the value is read out, once.
                    Some(place) => unsafe {
                        if !place.vacate_by_key() {
                            self.refuse_removal(key);
                        }
                        place.read()
                    },
                    None => self.refuse_removal(key),
                }
            }

            #[cold]
            #[inline(never)]
            #[track_caller]
            fn refuse_removal(&self, key: Key) -> ! {
                let reason = match self.place(key) {
                    // SAFETY: alive through the slab.
                    Some(place) => unsafe { place.state().why_refused() },
                    None => "the slab has no such slot",
                };
                panic!("remove_by_key was refused for {key:?}: {reason}")
            }

            /// Moves the value at `key` out, or says `None` where there is no
            /// value, or it is borrowed; O(1), no allocation.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// assert_eq!(slab.try_remove_by_key(key), Some(7));
            /// assert_eq!(slab.try_remove_by_key(key), None);
            /// ```
            #[inline]
            pub fn try_remove_by_key(&self, key: Key) -> Option<T> {
                let place = self.place(key)?;
                // SAFETY: as in `remove_by_key`.
                unsafe { place.vacate_by_key().then(|| place.read()) }
            }

            /// Takes a leaked value back into a slot, also while it is read;
            /// O(1).
            ///
            /// `None` for a value that has a handle, is mutably borrowed, or is
            /// not there: there are never two owners.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// let slot = slab.slot(key).unwrap();
            /// assert!(slab.slot(key).is_none());
            /// drop(slot);
            /// assert!(!slab.contains_key(key));
            /// ```
            #[inline]
            pub fn slot(&self, key: Key) -> Option<Slot<T>> {
                let place = self.place(key)?;
                // SAFETY: alive through the slab; regained, the handle is ours
                // and the only one.
                unsafe { place.regain_handle().then(|| Slot::new(place)) }
            }

            /// Takes back a box that was given up with
            /// [`SlotBox::into_raw`]; O(1).
            ///
            /// # Safety
            ///
            /// `pointer` came from `into_raw` of a box of this slab, and no box
            /// has been made of it since. It is that very pointer, or a copy:
            /// one that went through a `&mut T` may not reach the stamp beside
            /// the value.
            ///
            /// # Examples
            ///
            /// ```
            /// use flatslab::SlotBox;
            ///
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let pointer = SlotBox::into_raw(", $insert, ".into_box());")]
            /// // SAFETY: straight from `into_raw`, and used once.
            /// let boxed = unsafe { slab.box_from_raw(pointer) };
            /// assert_eq!(SlotBox::into_inner(boxed), 7);
            /// ```
            #[inline]
            pub unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T> {
                // SAFETY: the pointer is a value's place, says the caller, and
                // came from a cell pointer, whose provenance it has. The cell
                // is alive, `X` being set, and its box was given up.
                unsafe {
                    let value = NonNull::new_unchecked(pointer);
                    SlotBox::new(Place::new(CellPtr::of_value(value), self.home()))
                }
            }

            /// Access by key that tracks no borrows, but still sees whether
            /// there is a value.
            ///
            /// # Safety
            ///
            /// While a reference from the accessor lives, nobody may have a
            /// conflicting one to the same value by other means (a guard, a
            /// `SlotBox`, another accessor), and nobody may remove the value.
            /// Inserting is fine.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// // SAFETY: no guard is alive, and nothing is removed.
            /// let mut values = unsafe { slab.untracked() };
            /// values[key] += 1;
            /// assert_eq!(values[key], 8);
            /// ```
            #[inline]
            pub unsafe fn untracked(&self) -> $accessor<'_, T> {
                // SAFETY: the caller keeps the accessor's promise.
                unsafe { $accessor::new(self) }
            }

            /// How many values and reservations there are; O(1).
            ///
            /// A value counts until its destructor has returned. What a stale
            /// [`Slot`] holds out of use does not count.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// assert_eq!(slab.len(), 1);
            /// drop(slot);
            /// assert_eq!(slab.len(), 0);
            /// ```
            #[inline]
            #[must_use]
            pub fn len(&self) -> usize {
                // SAFETY: alive through the slab.
                unsafe { self.home().as_ref().len() }
            }

            /// Whether [`len`](Self::len) is 0; O(1).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            /// assert!(slab.is_empty());
            #[doc = concat!("let slot = ", $insert, ";")]
            /// assert!(!slab.is_empty());
            /// ```
            #[inline]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Drops every value, in key order, and keeps all memory; O(slots).
            ///
            /// A value that a [`Slot`] owns is dropped too; the slot is stale
            /// then and its cell out of use until it is gone, so a slab can be
            /// full right after `clear`. Reservations stay. When a destructor
            /// panics the rest is dropped all the same, then the panic goes on.
            /// A value that a destructor inserts or borrows meanwhile may stay.
            ///
            /// # Panics
            ///
            /// If a value is borrowed (a [`SlotBox`] counts), before any is
            /// dropped.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// slab.clear();
            /// assert!(slab.is_empty() && !slot.is_valid());
            /// ```
            #[track_caller]
            pub fn clear(&self) {
                if let Err(error) = self.try_clear() {
                    panic!("clear was refused: {error}");
                }
            }

            /// Drops every value, like [`clear`](Self::clear).
            ///
            /// # Errors
            ///
            /// Where [`clear`](Self::clear) panics.
            ///
            /// # Examples
            ///
            /// ```
            /// use flatslab::Borrowed;
            ///
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// let guard = slot.get();
            /// assert_eq!(slab.try_clear(), Err(Borrowed));
            /// drop(guard);
            /// assert_eq!(slab.try_clear(), Ok(()));
            /// ```
            pub fn try_clear(&self) -> Result<(), Borrowed> {
                walk::try_clear(self)
            }

            /// The values with their keys, in key order; O(slots), no allocation.
            ///
            /// Each value is borrowed when the iterator comes to it, and skipped
            /// where [`get`](Self::get) would say `None`. The slab may be used
            /// meanwhile: what is inserted in front of the iterator is visited,
            /// up to the last slot there was when it was made.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// for (at, value) in slab.iter() {
            ///     assert_eq!((at, *value), (key, 7));
            /// }
            /// ```
            #[inline]
            pub fn iter(&self) -> Iter<'_, T> {
                Iter::$kind(self)
            }

            /// The values with their keys, to be changed, in key order;
            /// O(slots), no allocation.
            ///
            /// As [`iter`](Self::iter), but a value is skipped where
            /// [`get_mut`](Self::get_mut) would say `None`.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// for (_key, mut value) in slab.iter_mut() {
            ///     *value += 1;
            /// }
            /// assert_eq!(slab.get_copied(key), Some(8));
            /// ```
            #[inline]
            pub fn iter_mut(&self) -> IterMut<'_, T> {
                IterMut::$kind(self)
            }

            /// The keys of the values, borrowed or not, ascending; O(slots), no
            /// allocation. The slab may be used meanwhile, as with
            /// [`iter`](Self::iter).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let slot = ", $insert, ";")]
            /// let guard = slot.get_mut();
            /// assert!(slab.keys().eq([slot.key()]));
            /// # drop(guard);
            /// ```
            #[inline]
            pub fn keys(&self) -> Keys<'_, T> {
                Keys::$kind(self)
            }

            /// Drops the values for which `keep` says no, in key order;
            /// O(slots), no allocation.
            ///
            /// A value that is borrowed when its turn comes stays and is not
            /// asked about. `keep` runs with the value mutably borrowed, and may
            /// use the slab. A [`Slot`] whose value goes is stale, and its cell
            /// out of use until it is gone. When `keep` or a destructor panics,
            /// the values not yet come to stay.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// slab.retain(|_key, value| *value == 7);
            /// assert!(slab.contains_key(key));
            /// slab.retain(|_key, value| *value != 7);
            /// assert!(slab.is_empty());
            /// ```
            #[inline]
            pub fn retain<F>(&self, keep: F)
            where
                F: FnMut(Key, &mut T) -> bool,
            {
                walk::retain(self, keep);
            }

            /// Moves the values out with their keys, in key order; O(slots), no
            /// allocation.
            ///
            /// A value that is borrowed when its turn comes stays. A [`Slot`]
            /// whose value goes is stale, and its cell out of use until it is
            /// gone. Dropping the iterator drops the values it has not come to.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let slab = ", $new, ";")]
            #[doc = concat!("let key = ", $insert, ".leak();")]
            /// assert!(slab.drain().eq([(key, 7)]));
            /// assert!(slab.is_empty());
            /// ```
            #[inline]
            pub fn drain(&self) -> Drain<'_, T> {
                Drain::$kind(self)
            }

            /// Panics where an invariant does not hold; O(slots · log slots),
            /// allocates. For tests.
            #[cfg(any(test, fuzzing))]
            pub fn check(&self) {
                walk::check(self);
            }

            /// The key of the free slot that lies under `count` others on the
            /// free stack; O(1). For tests.
            #[cfg(any(test, fuzzing))]
            pub fn free_key(&self, count: usize) -> Option<Key> {
                walk::free_key(self, count)
            }

            /// The state word at `key`. For tests.
            #[cfg(any(test, fuzzing))]
            pub fn state_bits(&self, key: Key) -> Option<u32> {
                let place = self.place(key)?;
                // SAFETY: alive through the slab.
                Some(unsafe { place.state().bits() })
            }
        }

        /// As `iter`.
        impl<'a, T> IntoIterator for &'a $slab<T> {
            type Item = (Key, Ref<'a, T>);
            type IntoIter = Iter<'a, T>;

            #[inline]
            fn into_iter(self) -> Iter<'a, T> {
                self.iter()
            }
        }

        /// Drops every value that is not borrowed, in key order; a borrowed one
        /// goes with its last borrow, and what a [`SlotBox`] owns stays. The
        /// memory goes with the last handle; handles that are left refuse access.
        impl<T> Drop for $slab<T> {
            fn drop(&mut self) {
                // SAFETY: the slab's use of its memory ends here.
                unsafe { walk::close(self) };
            }
        }

        /// Prints how full it is, not what is in it.
        impl<T> fmt::Debug for $slab<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($slab))
                    .field("len", &self.len())
                    .field("capacity", &self.capacity())
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use keyed_methods;
