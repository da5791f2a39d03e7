//! Entries that were popped from a shared ring.

use core::fmt;
use core::ops::Deref;

use super::shared_ring::{SharedRing, Taken};

/// An entry that was popped, from [`SharedRing::pop`]: its bytes. `Send` and `Sync`.
///
/// Its chunk is the ring's again once it is dropped.
pub struct SharedFrame<'a> {
    ring: &'a SharedRing,
    /// Of this ring, and this frame's.
    taken: Taken,
}

impl<'a> SharedFrame<'a> {
    /// # Safety
    ///
    /// It was taken from that ring, and is the frame's from now on.
    #[inline]
    pub(super) unsafe fn new(ring: &'a SharedRing, taken: Taken) -> Self {
        SharedFrame { ring, taken }
    }

    /// Which entry it is: so many were pushed before it.
    ///
    /// ```
    /// # use flatslab::sync::bytes::SharedRing;
    /// let ring = SharedRing::with_capacity(1, 1500);
    /// ring.push(b"overwritten")?;
    /// ring.push(b"hello")?;
    /// assert_eq!(ring.pop().unwrap().sequence(), 1);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.taken.position
    }
}

impl Deref for SharedFrame<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this frame's, until it is dropped.
        unsafe { self.ring.bytes_of(&self.taken) }
    }
}

impl AsRef<[u8]> for SharedFrame<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for SharedFrame<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this frame's, which is gone.
        unsafe { self.ring.give_back(&self.taken) };
    }
}

/// As a slice of bytes.
impl fmt::Debug for SharedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// An entry that was popped, from [`SharedRing::pop_owned`], and keeps its ring. `Send` and
/// `Sync`.
///
/// Its chunk is the ring's again once it is dropped.
pub struct OwnedFrame {
    #[expect(clippy::disallowed_types, reason = "the `Arc` is the user's")]
    ring: alloc::sync::Arc<SharedRing>,
    /// Of this ring, and this frame's.
    taken: Taken,
}

impl OwnedFrame {
    /// # Safety
    ///
    /// It was taken from that ring, and is the frame's from now on.
    #[expect(clippy::disallowed_types, reason = "the `Arc` is the user's")]
    pub(super) unsafe fn new(ring: alloc::sync::Arc<SharedRing>, taken: Taken) -> Self {
        OwnedFrame { ring, taken }
    }

    /// Which entry it is: so many were pushed before it.
    ///
    /// ```
    /// # use flatslab::sync::bytes::SharedRing;
    /// let ring = std::sync::Arc::new(SharedRing::with_capacity(1, 1500));
    /// ring.push(b"hello")?;
    /// assert_eq!(ring.pop_owned().unwrap().sequence(), 0);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.taken.position
    }
}

impl Deref for OwnedFrame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this frame's, until it is dropped.
        unsafe { self.ring.bytes_of(&self.taken) }
    }
}

impl AsRef<[u8]> for OwnedFrame {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for OwnedFrame {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this frame's, which is gone.
        unsafe { self.ring.give_back(&self.taken) };
    }
}

/// As a slice of bytes.
impl fmt::Debug for OwnedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
