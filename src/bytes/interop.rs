//! The traits of the crate `bytes`.
//!
//! A [`Buf`] does not become a `bytes::Bytes`: that is `Send` and `Sync`, and its counts are
//! plain. One of [`sync::bytes`](crate::sync::bytes::Buf) does.

use bytes::buf::UninitSlice;

use super::buf::Buf;
use super::buf_mut::BufMut;

/// Reads from the front, as [`advance`](Buf::advance) does.
impl bytes::Buf for Buf {
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
unsafe impl bytes::BufMut for BufMut {
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
        // SAFETY: the caller has written so many, of which there was room.
        unsafe { self.set_len(self.len() + count) };
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::uninit(self.spare_capacity_mut())
    }
}
