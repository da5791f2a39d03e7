//! `Scope`: an epoch outside of the ring that ends with all its values.
//!
//! A scope borrows the slab exclusively. So when it ends, no reference to its values exists.

use core::fmt;

use super::borrow::{Ref, RefMut};
use super::bytes::{Bytes, Fill};
use super::error::{InsertError, no_room};
use super::key::{Epoch, EpochKey};
use super::values::Values;
use super::{Contents, Epochs};
use crate::error::{AccessError, AllocError};
use crate::raw::memory;

/// An epoch whose values are dropped at the end of a block; passed to the closure of
/// [`Epochs::scope`].
///
/// The block cannot reach the slab itself, so it cannot advance, close or clear an epoch.
pub struct Scope<'s, C: Contents> {
    slab: &'s Epochs<C>,
    epoch: Epoch,
}

impl<C: Contents> Epochs<C> {
    /// Runs a closure with an epoch of its own, outside of the ring, and drops all values of the
    /// epoch when the closure returns or panics.
    ///
    /// The compiler checks that no reference to the values leaves the closure, so no chunk stays
    /// pinned. If a destructor panics, the others run before the panic continues. If the closure
    /// has panicked before, the program aborts.
    ///
    /// # Complexity
    ///
    /// O(n) at the end, for n slots of the epoch.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `Vec`.
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

    /// Runs a closure with an epoch of its own, or returns an error; see [`scope`](Self::scope).
    ///
    /// # Errors
    ///
    /// If the allocator refuses; the closure is not called then.
    ///
    /// ```
    /// let mut slab = flatslab::epoch::EpochSlab::new();
    /// assert_eq!(slab.try_scope(|scope| *scope.insert(7)), Ok(7));
    /// ```
    pub fn try_scope<R>(
        &mut self,
        f: impl FnOnce(&mut Scope<'_, C>) -> R,
    ) -> Result<R, AllocError> {
        // SAFETY: the slab is exclusively borrowed, so `f` can be given no guard of it.
        unsafe { in_scope(self, f) }
    }
}

/// Runs `f` with a scope of its own, and ends the scope.
///
/// # Safety
///
/// There is no guard of a value of this slab that `f` could reach other than through its scope.
unsafe fn in_scope<C: Contents, R>(
    slab: &Epochs<C>,
    f: impl FnOnce(&mut Scope<'_, C>) -> R,
) -> Result<R, AllocError> {
    /// Ends the epoch, whether `f` returns or panics.
    struct End<'s, C: Contents> {
        slab: &'s Epochs<C>,
        epoch: Epoch,
    }

    impl<C: Contents> Drop for End<'_, C> {
        fn drop(&mut self) {
            // SAFETY: all guards and references of its values came from its scope, or from one
            // inside it, and borrow it: by a lifetime that `f` cannot name, so none is left.
            unsafe { self.slab.end(self.epoch) };
        }
    }

    let epoch = slab.raw.open()?;
    let end = End { slab, epoch };
    let result = f(&mut Scope { slab, epoch });
    drop(end);
    Ok(result)
}

impl<C: Contents> Scope<'_, C> {
    /// Returns the epoch of this scope.
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

    /// Runs a closure with an epoch of its own that ends before this one, like [`Epochs::scope`].
    ///
    /// The closure reaches the values of this scope by their keys.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `Vec`.
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
    /// Inserts a value into the epoch of this scope, and returns a reference that is valid until
    /// the scope ends. O(1).
    ///
    /// The value has no key, so the reference is the only access to it. Otherwise it is like
    /// [`Epochs::insert`].
    ///
    /// # Panics
    ///
    /// If a [limit](super::EpochSlab::builder) is reached. Aborts if the allocator refuses, like
    /// `Vec`.
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
            Err(error) => no_room("insert", error),
        }
    }

    /// Inserts a value into the epoch of this scope, and returns a reference to it, or returns the
    /// value in an error.
    ///
    /// # Errors
    ///
    /// If [`insert`](Self::insert) would panic or abort. The error contains the value.
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
        // SAFETY: the word says that the value is borrowed, so this is the only access to it until
        // the scope ends, which this reference does not outlive.
        Ok(unsafe { value.as_mut() })
    }

    /// Inserts a value into the epoch of this scope, and returns its key. O(1).
    ///
    /// The key is stale once the scope has ended.
    ///
    /// # Panics
    ///
    /// If a [limit](super::EpochSlab::builder) is reached. Aborts if the allocator refuses, like
    /// `Vec`.
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
            Err(error) => no_room("insert", error),
        }
    }

    /// Inserts a value that outlives the scope into another epoch, and returns its key. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_insert_in`].
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

    /// Borrows the value at the key, from any epoch; see [`Epochs::get`].
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

    /// Borrows the value at the key, from any epoch; see [`Epochs::try_get`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_get`].
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

    /// Borrows the value at the key mutably, from any epoch; see [`Epochs::get_mut`].
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

    /// Borrows the value at the key mutably, from any epoch; see [`Epochs::try_get_mut`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_get_mut`].
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

    /// Moves the value at the key out, from any epoch; see [`Epochs::take`].
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

    /// Moves the value at the key out, from any epoch; see [`Epochs::try_take`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_take`].
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
    /// Allocates a zeroed buffer of `len` bytes in the epoch of this scope, valid until the scope
    /// ends. O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_alloc_in`].
    ///
    /// ```
    /// let mut bytes = flatslab::epoch::EpochBytes::new();
    /// bytes.scope(|scope| {
    ///     let (one, two) = (scope.try_alloc(10)?, scope.try_alloc(20)?);
    ///     one.copy_from_slice(&two[..10]);
    ///     Ok::<(), flatslab::epoch::InsertError>(())
    /// })?;
    /// # Ok::<(), flatslab::epoch::InsertError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_alloc(&self, len: usize) -> Result<&mut [u8], InsertError> {
        self.try_filled(Fill::Zeros(len))
    }

    /// Copies bytes into a buffer in the epoch of this scope, valid until the scope ends. O(n) for
    /// n bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_alloc_in`].
    ///
    /// ```
    /// let mut bytes = flatslab::epoch::EpochBytes::new();
    /// bytes.scope(|scope| assert_eq!(scope.try_copy(b"hello").unwrap(), b"hello"));
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<&mut [u8], InsertError> {
        self.try_filled(Fill::Copy(bytes))
    }

    #[cfg_attr(feature = "track", track_caller)]
    #[expect(clippy::mut_from_ref, reason = "each call gives another buffer")]
    fn try_filled(&self, fill: Fill<'_>) -> Result<&mut [u8], InsertError> {
        let mut buffer = self.slab.try_owned(self.epoch, fill)?;
        // SAFETY: the word says that the buffer is borrowed, so this is the only access to it until
        // the scope ends, which this reference does not outlive.
        Ok(unsafe { buffer.as_mut() })
    }

    /// Borrows the buffer at the key, from any epoch; see [`Epochs::get`].
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
