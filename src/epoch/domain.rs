//! Domains, and other epochs outside the ring.
//!
//! A `Domain` closes its epoch when it is dropped. It borrows the slab shared, keys leave it,
//! and values stay; `scope.rs` has the other kind.

use core::fmt;

use super::bytes::{BufError, Bytes, EpochBuf};
use super::error::InsertError;
use super::key::{Epoch, EpochKey};
use super::values::{Values, no_room};
use super::{Contents, Epochs};
use crate::error::AllocError;
use crate::raw::memory;

/// An epoch of its own for a part of the program, which is closed when this is dropped.
///
/// It is outside the ring, so that domains nest to any depth and evict nothing. Its values can
/// leave it by their keys; those that are there at its end stay, and pin their chunks.
/// [`Epochs::domain`] ends in bulk instead. A domain that is forgotten leaves its epoch open,
/// until it is [stopped](Epochs::stop) by its name.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let domain = slab.enter();
/// let key = domain.insert("parsed");
/// let inner = domain.enter();
/// inner.insert("scratch");
/// let epoch = inner.epoch();
/// drop(inner);                                          // closed: one chunk stays, pinned
/// assert_eq!(slab.clear_epoch(epoch), 1);
/// assert_eq!(slab.remove(key), Some("parsed"));
/// drop(domain);                                         // closed: nothing is left
/// assert_eq!(slab.stats().chunks, 0);
/// ```
#[must_use = "a domain that is dropped at once ends at once"]
pub struct Domain<'s, C: Contents> {
    slab: &'s Epochs<C>,
    epoch: Epoch,
    auto_close: bool,
}

impl<C: Contents> Epochs<C> {
    /// Begins an epoch outside the ring, for what lasts as long as nothing of the program's
    /// text does: a session, a level of a game. It takes insertions until it is
    /// [stopped](Self::stop), and is [closed](Self::close) then. O(1); allocates a record where
    /// none is unused.
    ///
    /// # Panics
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let session = slab.begin();
    /// for _request in 0..100 {
    ///     slab.advance();                                   // leaves the session alone
    /// }
    /// let key = slab.try_insert_in(session, "state")?;
    /// slab.remove(key);
    /// assert!(slab.stop(session));
    /// assert_eq!(slab.close(session).unwrap().recycled, 1);
    /// # Ok::<(), flatslab::epoch::InsertError<&str>>(())
    /// ```
    #[track_caller]
    #[must_use = "an epoch that has no name stays open"]
    pub fn begin(&self) -> Epoch {
        match self.try_begin() {
            Ok(epoch) => epoch,
            Err(error) => memory::fail(error),
        }
    }

    /// Begins an epoch outside the ring, as [`begin`](Self::begin) does.
    ///
    /// # Errors
    ///
    /// Where the allocator refuses.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let session = slab.try_begin()?;
    /// assert!(slab.stop(session));
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_begin(&self) -> Result<Epoch, AllocError> {
        self.home.begin_domain()
    }

    /// An epoch outside the ring takes no more insertions: one that was [begun](Self::begin),
    /// or is a [`Domain`]'s. `false` if it is none of these, or took none before. O(1).
    ///
    /// ```
    /// use flatslab::epoch::{EpochSlab, InsertError};
    ///
    /// let slab = EpochSlab::new();
    /// let session = slab.begin();
    /// assert!(slab.stop(session) && !slab.stop(session));
    /// assert!(matches!(slab.try_insert_in(session, 7), Err(InsertError::Closing(7))));
    /// assert!(!slab.stop(slab.current()));
    /// ```
    pub fn stop(&self, epoch: Epoch) -> bool {
        self.home.stop_domain(epoch)
    }

    /// Begins a [`Domain`]. O(1); allocates a record where none is unused.
    ///
    /// # Panics
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let domain = slab.enter();
    /// assert_ne!(domain.epoch(), slab.current());
    /// ```
    #[track_caller]
    pub fn enter(&self) -> Domain<'_, C> {
        match self.try_enter() {
            Ok(domain) => domain,
            Err(error) => memory::fail(error),
        }
    }

    /// Begins a [`Domain`], as [`enter`](Self::enter) does.
    ///
    /// # Errors
    ///
    /// Where the allocator refuses.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.try_enter()?.insert(7);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_enter(&self) -> Result<Domain<'_, C>, AllocError> {
        Ok(Domain {
            slab: self,
            epoch: self.try_begin()?,
            auto_close: true,
        })
    }
}

impl<'s, C: Contents> Domain<'s, C> {
    /// Its epoch.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let domain = slab.enter();
    /// let key = domain.insert(7);
    /// assert_eq!(slab.epoch_of(key), Some(domain.epoch()));
    /// ```
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The slab.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let domain = slab.enter();
    /// let key = domain.insert(7);
    /// assert_eq!(domain.slab().remove(key), Some(7));
    /// ```
    #[must_use]
    pub fn slab(&self) -> &'s Epochs<C> {
        self.slab
    }

    /// Whether its end closes its epoch; it does if nothing is said. Else the epoch takes no
    /// more insertions from then on, and is to be [closed](Epochs::close) by its name.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let domain = slab.enter().auto_close(false);
    /// let epoch = domain.epoch();
    /// domain.insert(7);
    /// drop(domain);
    /// assert_eq!(slab.clear_epoch(epoch), 1);
    /// assert_eq!(slab.close(epoch).unwrap().pinned, 0);
    /// ```
    pub fn auto_close(mut self, auto_close: bool) -> Self {
        self.auto_close = auto_close;
        self
    }

    /// Begins a domain that ends before this one. As [`Epochs::enter`].
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let outer = slab.enter();
    /// let inner = outer.enter();
    /// assert_ne!(inner.epoch(), outer.epoch());
    /// ```
    #[track_caller]
    pub fn enter(&self) -> Domain<'_, C> {
        self.slab.enter()
    }
}

impl<T> Domain<'_, Values<T>> {
    /// Puts a value into its epoch; O(1). As [`insert`](Epochs::insert) otherwise.
    ///
    /// # Panics
    ///
    /// Where [`insert`](Epochs::insert) does.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.enter().insert(7);
    /// assert_eq!(slab.remove(key), Some(7));                // it left by its key
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&self, value: T) -> EpochKey {
        match self.try_insert(value) {
            Ok(key) => key,
            Err(error) => no_room(error),
        }
    }

    /// Puts a value into its epoch; O(1).
    ///
    /// # Errors
    ///
    /// Gives the value back where [`try_insert_in`](Epochs::try_insert_in) does.
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

impl Domain<'_, Bytes> {
    /// A zeroed buffer of that length in its epoch; O(length).
    ///
    /// # Errors
    ///
    /// Where [`try_alloc_in`](Epochs::try_alloc_in) has one.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let domain = bytes.enter();
    /// assert_eq!(domain.try_alloc(100)?.epoch(), domain.epoch());
    /// # Ok::<(), flatslab::epoch::BufError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_alloc(&self, len: usize) -> Result<EpochBuf<'_>, BufError> {
        self.slab.try_alloc_in(self.epoch, len)
    }

    /// A buffer in its epoch with a copy of these bytes; O(length).
    ///
    /// # Errors
    ///
    /// Where [`try_alloc_in`](Epochs::try_alloc_in) has one.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let domain = bytes.enter();
    /// let key = domain.try_copy(b"hello")?;
    /// assert_eq!(bytes.epoch_of(key), Some(domain.epoch()));
    /// # Ok::<(), flatslab::epoch::BufError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<EpochKey, BufError> {
        self.slab.try_copy_in(self.epoch, bytes)
    }
}

impl<C: Contents> Drop for Domain<'_, C> {
    fn drop(&mut self) {
        self.slab.stop(self.epoch);
        if self.auto_close {
            // If it was stopped and closed by its name, nothing is left to do.
            let _ = self.slab.close(self.epoch);
        }
    }
}

impl<C: Contents> fmt::Debug for Domain<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("epoch", &self.epoch)
            .field("auto_close", &self.auto_close)
            .finish_non_exhaustive()
    }
}
