//! Epochs for a part of the program: one that a guard closes, and one that calls run within.
//!
//! An [`EpochGuard`] borrows the slab shared, so keys can outlive its epoch, which is outside of
//! the ring, and values stay. `scope.rs` has the epoch whose values are dropped with it.
//!
//! While a closure runs [within](Epochs::within) an epoch, insertions that name no epoch go into
//! that epoch. The epoch that was current before is stored on the stack of the calls. So entering
//! allocates nothing, epochs are left in reverse order, even by a panic, and no guard can be
//! forgotten or dropped out of turn. An epoch is not closed while it is entered, so it stays valid
//! for the calls.

use core::fmt;

use super::bytes::{Bytes, EpochBuf};
use super::error::{EpochError, InsertError, no_room};
use super::key::{Epoch, EpochKey};
use super::values::Values;
use super::{Contents, Epochs};
use crate::error::AllocError;
use crate::raw::memory;

/// An epoch for a part of the program, which is [closed](Epochs::close) when the guard is dropped;
/// from [`Epochs::enter`].
///
/// The epoch is outside of the ring: guards nest to any depth, and none closes another epoch.
/// Values can outlive it: values that still exist when it is closed stay, and pin their chunks.
/// [`Epochs::scope`] drops them instead.
///
/// If the guard is dropped in a call [within](Epochs::within) its epoch, the epoch is closed at the
/// end of the call. If the guard is forgotten, the epoch stays open until it is closed by name.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let request = slab.enter();
/// let key = request.insert("parsed");
/// let parser = slab.enter();
/// parser.insert("scratch");
/// let epoch = parser.epoch();
/// drop(parser);                                         // closed: one chunk stays, pinned
/// assert_eq!(slab.clear_epoch(epoch), 1);
/// assert_eq!(slab.take(key), Some("parsed"));
/// drop(request);                                        // closed: no chunk is left
/// assert_eq!(slab.stats().chunks, 0);
/// ```
#[must_use = "the epoch is closed when the guard is dropped"]
pub struct EpochGuard<'s, C: Contents> {
    slab: &'s Epochs<C>,
    epoch: Epoch,
}

impl<C: Contents> Epochs<C> {
    /// Opens an epoch outside of the ring, which the returned guard closes. O(1).
    ///
    /// It allocates a record if no unused one is left.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let request = slab.enter();
    /// assert_ne!(request.epoch(), slab.current());
    /// ```
    #[track_caller]
    pub fn enter(&self) -> EpochGuard<'_, C> {
        match self.try_enter() {
            Ok(guard) => guard,
            Err(error) => memory::fail(error),
        }
    }

    /// Opens an epoch outside of the ring, which the returned guard closes, or returns an error.
    ///
    /// # Errors
    ///
    /// If the allocator refuses.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.try_enter()?.insert(7);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_enter(&self) -> Result<EpochGuard<'_, C>, AllocError> {
        Ok(EpochGuard {
            slab: self,
            epoch: self.try_open()?,
        })
    }

    /// Runs a closure within an epoch, and returns its result. O(1); does not allocate.
    ///
    /// Until the closure returns or panics, the epoch is the [current](Self::current) one:
    /// insertions and allocations that name no epoch go into it.
    ///
    /// An epoch can be entered any number of times until it is closed, even within itself or
    /// another one, which is current again afterwards. Use it for work that comes in pieces, such
    /// as that of a session or a frame, in functions that do not know its epoch. The ring advances
    /// as usual; its open epoch is current again once all others are left.
    ///
    /// # Errors
    ///
    /// If the epoch is closed or over, belongs to another slab, or is in the ring: those epochs
    /// become current by [`advance`](Self::advance). The closure is not called then.
    ///
    /// ```
    /// use flatslab::epoch::{EpochError, EpochSlab};
    ///
    /// let slab = EpochSlab::new();
    /// let sessions = [slab.open(), slab.open()];
    /// let handle = |message: &'static str| slab.insert(message);
    /// for round in 0..3 {
    ///     let session = sessions[round % 2];
    ///     let key = slab.within(session, || handle("hello"))?;
    ///     assert_eq!(slab.epoch_of(key), Some(session));
    /// }
    /// assert_eq!(slab.clear_epoch(sessions[0]), 2);
    /// slab.close(sessions[0])?;
    /// assert_eq!(slab.within(sessions[0], || ()), Err(EpochError::Closed));
    /// # Ok::<(), EpochError>(())
    /// ```
    pub fn within<R>(&self, epoch: Epoch, f: impl FnOnce() -> R) -> Result<R, EpochError> {
        let _entered = self.raw.enter(epoch)?;
        Ok(f())
    }
}

impl<'s, C: Contents> EpochGuard<'s, C> {
    /// Returns the epoch of this guard.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let request = slab.enter();
    /// let key = request.insert(7);
    /// assert_eq!(slab.epoch_of(key), Some(request.epoch()));
    /// ```
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the slab of this guard.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let request = slab.enter();
    /// let key = request.insert(7);
    /// assert_eq!(request.slab().take(key), Some(7));
    /// ```
    #[must_use]
    pub fn slab(&self) -> &'s Epochs<C> {
        self.slab
    }
}

impl<T> EpochGuard<'_, Values<T>> {
    /// Inserts a value into the epoch of this guard, and returns its key. O(1).
    ///
    /// Otherwise it is like [`Epochs::insert`].
    ///
    /// # Panics
    ///
    /// If [`Epochs::insert`] would panic, or if the epoch was closed by name.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.enter().insert(7);
    /// assert_eq!(slab.take(key), Some(7));                // it outlived its epoch
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&self, value: T) -> EpochKey {
        match self.try_insert(value) {
            Ok(key) => key,
            Err(error) => no_room("insert", error),
        }
    }

    /// Inserts a value into the epoch of this guard, and returns its key, or returns the value in
    /// an error.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_insert_in`], which contain the value.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// assert!(slab.enter().try_insert(7).is_ok());
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_insert(&self, value: T) -> Result<EpochKey, InsertError<T>> {
        self.slab.try_insert_in(self.epoch, value)
    }
}

impl EpochGuard<'_, Bytes> {
    /// Allocates a zeroed buffer of `len` bytes in the epoch of this guard. O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_alloc_in`].
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let request = bytes.enter();
    /// assert_eq!(request.try_alloc(100)?.epoch(), request.epoch());
    /// # Ok::<(), flatslab::epoch::InsertError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_alloc(&self, len: usize) -> Result<EpochBuf<'_>, InsertError> {
        self.slab.try_alloc_in(self.epoch, len)
    }

    /// Copies bytes into a buffer in the epoch of this guard, and returns its key. O(n) for n
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Epochs::try_alloc_in`].
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let request = bytes.enter();
    /// let key = request.try_copy(b"hello")?;
    /// assert_eq!(bytes.epoch_of(key), Some(request.epoch()));
    /// # Ok::<(), flatslab::epoch::InsertError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<EpochKey, InsertError> {
        self.slab.try_copy_in(self.epoch, bytes)
    }
}

impl<C: Contents> Drop for EpochGuard<'_, C> {
    fn drop(&mut self) {
        if self.slab.close(self.epoch) == Err(EpochError::Entered) {
            self.slab.raw.close_when_left(self.epoch);
        }
        // Any other error means that it was closed by name.
    }
}

impl<C: Contents> fmt::Debug for EpochGuard<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochGuard")
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
