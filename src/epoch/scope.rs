//! Scopes: epochs outside the ring, that end with all their values.
//!
//! A scope has the slab for itself, which the compiler checks: so nothing leads to its values
//! when it ends.

use core::fmt;

use super::bytes::{BufError, Bytes};
use super::clear;
use super::error::InsertError;
use super::guard::{Ref, RefMut};
use super::key::{Epoch, EpochKey};
use super::values::{Values, no_room};
use super::{Contents, Epochs};
use crate::error::{AccessError, AllocError};
use crate::raw::memory;

/// A part of the program whose values end with it: what [`Epochs::scope`] gives.
///
/// It does not give the slab: no epoch is advanced, closed or cleared while it lives.
pub struct Scope<'s, C: Contents> {
    slab: &'s Epochs<C>,
    epoch: Epoch,
}

impl<C: Contents> Epochs<C> {
    /// Runs a part of the program with an epoch of its own, outside the ring, and drops all
    /// values of that epoch at its end, also when it panics. No reference to them can leave,
    /// which the compiler checks, so no chunk stays pinned. O(slots of the epoch) at the end.
    ///
    /// A destructor that panics does not keep the others from running. If the part has
    /// panicked before, the program ends.
    ///
    /// # Panics
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let length = slab.scope(|scope| {
    ///     let name = scope.insert("a session".to_string());
    ///     name.push('!');
    ///     let other = scope.insert("another".to_string());
    ///     name.len() + other.len()
    /// });
    /// assert_eq!((length, slab.stats().live), (17, 0));
    /// ```
    #[track_caller]
    pub fn scope<R>(&mut self, f: impl FnOnce(&mut Scope<'_, C>) -> R) -> R {
        match self.try_scope(f) {
            Ok(result) => result,
            Err(error) => memory::fail(error),
        }
    }

    /// Runs a part of the program as [`scope`](Self::scope) does.
    ///
    /// # Errors
    ///
    /// Where the allocator refuses; it has not run then.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// assert_eq!(slab.try_scope(|scope| *scope.insert(7)), Ok(7));
    /// ```
    pub fn try_scope<R>(
        &mut self,
        f: impl FnOnce(&mut Scope<'_, C>) -> R,
    ) -> Result<R, AllocError> {
        // SAFETY: nothing else borrows the slab, so all guards are gone.
        unsafe { in_scope(self, f) }
    }
}

/// Runs `f` with a scope of its own, and ends that.
///
/// # Safety
///
/// No guard of a value of this slab exists that `f` could be given by another way than its
/// scope.
unsafe fn in_scope<C: Contents, R>(
    slab: &Epochs<C>,
    f: impl FnOnce(&mut Scope<'_, C>) -> R,
) -> Result<R, AllocError> {
    /// Ends the epoch on the way out, whichever that is.
    struct End<'s, C: Contents> {
        slab: &'s Epochs<C>,
        epoch: Epoch,
    }

    impl<C: Contents> Drop for End<'_, C> {
        fn drop(&mut self) {
            // SAFETY: all guards and references of its values came from its scope, or from one
            // inside it, and borrow it: by a lifetime that `f` cannot name, so none is left.
            unsafe { clear::end::<C>(&self.slab.raw, self.epoch) };
        }
    }

    let epoch = slab.raw.open()?;
    let end = End { slab, epoch };
    let result = f(&mut Scope { slab, epoch });
    drop(end);
    Ok(result)
}

impl<C: Contents> Scope<'_, C> {
    /// Its epoch.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let epoch = slab.scope(|scope| scope.epoch());
    /// assert!(slab.epoch_stats(epoch).is_none());           // it is over
    /// ```
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Runs a part of the program with an epoch inside this one, as [`Epochs::scope`] does.
    /// Values of this scope are reached there by their keys.
    ///
    /// # Panics
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// slab.scope(|outer| {
    ///     let key = outer.insert_key(7);
    ///     let sum = outer.scope(|inner| *inner.insert(1) + *inner.get(key).unwrap());
    ///     assert_eq!(sum, 8);
    /// });
    /// ```
    #[track_caller]
    pub fn scope<R>(&mut self, f: impl FnOnce(&mut Scope<'_, C>) -> R) -> R {
        // SAFETY: nothing else borrows the scope, so all guards that came from it are gone;
        // this scope, or the slab, cannot be reached from `f`.
        match unsafe { in_scope(self.slab, f) } {
            Ok(result) => result,
            Err(error) => memory::fail(error),
        }
    }
}

impl<T> Scope<'_, Values<T>> {
    /// Puts a value into its epoch, where it stays until the scope ends; O(1). As
    /// [`insert`](Epochs::insert) otherwise.
    ///
    /// No key leads to the value: the reference is the only one.
    ///
    /// # Panics
    ///
    /// Where [`insert`](Epochs::insert) does.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let sum = slab.scope(|scope| {
    ///     let (one, two) = (scope.insert(1), scope.insert(2));
    ///     *one += 10;
    ///     *one + *two
    /// });
    /// assert_eq!(sum, 13);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&self, value: T) -> &mut T {
        match self.try_insert(value) {
            Ok(value) => value,
            Err(error) => no_room(error),
        }
    }

    /// Puts a value into its epoch, as [`insert`](Self::insert) does.
    ///
    /// # Errors
    ///
    /// Gives the value back where [`insert`](Self::insert) panics or the program would end.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// slab.scope(|scope| assert!(scope.try_insert(7).is_ok()));
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    #[expect(clippy::mut_from_ref, reason = "each call gives another value")]
    pub fn try_insert(&self, value: T) -> Result<&mut T, InsertError<T>> {
        let mut value = self.slab.try_insert_owned(self.epoch, value)?;
        // SAFETY: the word says that the value is borrowed, so this is all that leads to it
        // until the scope ends, which this reference does not outlive.
        Ok(unsafe { value.as_mut() })
    }

    /// Puts a value into its epoch, and returns the key, which leads nowhere when the scope has
    /// ended; O(1).
    ///
    /// # Panics
    ///
    /// Where [`insert`](Epochs::insert) does.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.scope(|scope| scope.insert_key(7));
    /// assert!(slab.get(key).is_none());
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_key(&self, value: T) -> EpochKey {
        match self.slab.try_insert_in(self.epoch, value) {
            Ok(key) => key,
            Err(error) => no_room(error),
        }
    }

    /// Puts a value into another epoch, which outlives the scope; O(1). As
    /// [`try_insert_in`](Epochs::try_insert_in).
    ///
    /// # Errors
    ///
    /// Gives the value back where that does.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let permanent = slab.permanent();
    /// let key = slab.scope(|scope| scope.try_insert_in(permanent, 7))?;
    /// assert_eq!(slab.take(key), Some(7));
    /// # Ok::<(), flatslab::epoch::InsertError<i32>>(())
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_insert_in(&self, epoch: Epoch, value: T) -> Result<EpochKey, InsertError<T>> {
        self.slab.try_insert_in(epoch, value)
    }

    /// Borrows the value of a key, of whatever epoch. As [`Epochs::get`].
    ///
    /// # Panics
    ///
    /// If the value is mutably borrowed.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.scope(|scope| *scope.get(key).unwrap()), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: EpochKey) -> Option<Ref<'_, T>> {
        self.slab.get(key)
    }

    /// Borrows the value of a key, of whatever epoch. As [`Epochs::try_get`].
    ///
    /// # Errors
    ///
    /// Where that has one.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.scope(|scope| scope.try_get(key).is_ok()));
    /// ```
    #[inline]
    pub fn try_get(&self, key: EpochKey) -> Result<Ref<'_, T>, AccessError> {
        self.slab.try_get(key)
    }

    /// Borrows the value of a key mutably, of whatever epoch. As [`Epochs::get_mut`].
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// slab.scope(|scope| *scope.get_mut(key).unwrap() += 1);
    /// assert_eq!(slab.take(key), Some(8));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut(&self, key: EpochKey) -> Option<RefMut<'_, T>> {
        self.slab.get_mut(key)
    }

    /// Borrows the value of a key mutably, of whatever epoch. As [`Epochs::try_get_mut`].
    ///
    /// # Errors
    ///
    /// Where that has one.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.scope(|scope| scope.try_get_mut(key).is_ok()));
    /// ```
    #[inline]
    pub fn try_get_mut(&self, key: EpochKey) -> Result<RefMut<'_, T>, AccessError> {
        self.slab.try_get_mut(key)
    }

    /// Moves the value of a key out, of whatever epoch. As [`Epochs::take`].
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let name = slab.scope(|scope| {
    ///     let key = scope.insert_key("stays".to_string());
    ///     scope.take(key)
    /// });
    /// assert_eq!(name.as_deref(), Some("stays"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn take(&self, key: EpochKey) -> Option<T> {
        self.slab.take(key)
    }

    /// Moves the value of a key out, of whatever epoch. As [`Epochs::try_take`].
    ///
    /// # Errors
    ///
    /// Where that has one.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.scope(|scope| scope.try_take(key)), Ok(7));
    /// ```
    #[inline]
    pub fn try_take(&self, key: EpochKey) -> Result<T, AccessError> {
        self.slab.try_take(key)
    }
}

impl Scope<'_, Bytes> {
    /// A zeroed buffer of that length in its epoch, where it stays until the scope ends;
    /// O(length).
    ///
    /// # Errors
    ///
    /// Where [`try_alloc_in`](Epochs::try_alloc_in) has one.
    ///
    /// ```
    /// let mut bytes = flatslab::epoch::EpochBytes::new();
    /// bytes.scope(|scope| {
    ///     let (one, two) = (scope.try_alloc(10)?, scope.try_alloc(20)?);
    ///     one.copy_from_slice(&two[..10]);
    ///     Ok::<(), flatslab::epoch::BufError>(())
    /// })?;
    /// # Ok::<(), flatslab::epoch::BufError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    #[expect(clippy::mut_from_ref, reason = "each call gives another buffer")]
    pub fn try_alloc(&self, len: usize) -> Result<&mut [u8], BufError> {
        let mut buffer = self.slab.try_alloc_owned(self.epoch, len)?;
        // SAFETY: the word says that the buffer is borrowed, so this is all that leads to it
        // until the scope ends, which this reference does not outlive.
        Ok(unsafe { buffer.as_mut() })
    }

    /// A copy of these bytes in the epoch of the scope, where it stays until that ends;
    /// O(length).
    ///
    /// # Errors
    ///
    /// Where [`try_alloc_in`](Epochs::try_alloc_in) has one.
    ///
    /// ```
    /// let mut bytes = flatslab::epoch::EpochBytes::new();
    /// bytes.scope(|scope| assert_eq!(scope.try_copy(b"hello").unwrap(), b"hello"));
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    #[expect(clippy::mut_from_ref, reason = "each call gives another buffer")]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<&mut [u8], BufError> {
        let mut buffer = self.slab.try_copy_owned(self.epoch, bytes)?;
        // SAFETY: as in `try_alloc`.
        Ok(unsafe { buffer.as_mut() })
    }

    /// Borrows the buffer of a key, of whatever epoch. As [`Epochs::get`].
    ///
    /// # Panics
    ///
    /// If the buffer is mutably borrowed.
    ///
    /// ```
    /// let mut bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.copy(b"hello");
    /// assert_eq!(bytes.scope(|scope| scope.get(key).unwrap().len()), 5);
    /// ```
    #[track_caller]
    pub fn get(&self, key: EpochKey) -> Option<Ref<'_, [u8]>> {
        self.slab.get(key)
    }
}

impl<C: Contents> fmt::Debug for Scope<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
