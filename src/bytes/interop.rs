//! The traits of the crate `bytes`, and its `Bytes`.
//!
//! A [`Buf`] with local counts does not become a `bytes::Bytes`: that is `Send` and `Sync`.

use bytes::buf::UninitSlice;

use super::buf::Buf;
use super::buf_mut::BufMut;
use super::{Atomic, References};

/// Reads from the front, as [`advance`](Buf::advance) does.
impl<R: References> bytes::Buf for Buf<R> {
    #[inline]
    fn remaining(&self) -> usize {
        self.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        self
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        Buf::advance(self, count);
    }
}

// SAFETY: what `chunk_mut` returns are the unfilled bytes from the end of the filled ones on, so
// those that were written there are the next ones that `advance_mut` says are filled.
unsafe impl<R: References> bytes::BufMut for BufMut<R> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, count: usize) {
        let room = self.remaining();
        assert!(
            count <= room,
            "cannot advance by {count} where there is room for {room}"
        );
        // SAFETY: the caller has written those bytes (precondition), for which there was room.
        unsafe { self.set_len(self.len() + count) };
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::uninit(self.spare_capacity_mut())
    }
}

/// A `Bytes` that owns the buffer, and drops it with its last clone. It copies no bytes, and
/// allocates a box for its own count, by the global allocator.
impl From<Buf<Atomic>> for bytes::Bytes {
    fn from(buf: Buf<Atomic>) -> Self {
        bytes::Bytes::from_owner(buf)
    }
}
