//! One slot: a stamp and a value, addressed by a bare pointer.
//!
//! Not a struct, because the order of the two depends on the size of the
//! value: a value of eight bytes goes first, so that keyed access computes the
//! address of the value itself, while a larger one goes behind the stamp, so
//! that the stamp's line is the one with the value's first fields. Both offsets are
//! constants computed from size and alignment, never assumed.
//!
//! # Invariants
//!
//! * V1: the value's bytes hold a live `T` exactly while the state has no `V`;
//!   between the two halves of a step, when no other code runs (L3, P3), one may
//!   be ahead of the other.
//! * V2: the stamp is only ever reached through `&Stamp`, the value only
//!   through pointers to the value: neither borrow covers the other's bytes.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::stamp::{Stamp, State};
use crate::key::Key;

/// Values up to this size stand in front of their stamp. At 8 bytes that is
/// measurably better; at 64 processors disagree (BENCHMARKS.md, "What bounds
/// them"). Nothing in between was measured.
const VALUE_FIRST_UP_TO: usize = 16;

/// A pointer to a cell. Covariant in `T` and without a claim to it: whoever
/// holds one adds the variance it needs.
pub(crate) struct CellPtr<T>(NonNull<u8>, PhantomData<*const T>);

impl<T> Clone for CellPtr<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CellPtr<T> {}

impl<T> CellPtr<T> {
    const VALUE_FIRST: bool = size_of::<T>() <= VALUE_FIRST_UP_TO;
    const ALIGN: usize = if align_of::<T>() > align_of::<Stamp>() {
        align_of::<T>()
    } else {
        align_of::<Stamp>()
    };
    const STAMP_OFFSET: usize = if Self::VALUE_FIRST {
        size_of::<T>().next_multiple_of(align_of::<Stamp>())
    } else {
        0
    };
    const VALUE_OFFSET: usize = if Self::VALUE_FIRST {
        0
    } else {
        size_of::<Stamp>().next_multiple_of(align_of::<T>())
    };

    /// Bytes from one cell to the next.
    pub(crate) const SIZE: usize = if Self::VALUE_FIRST {
        Self::STAMP_OFFSET + size_of::<Stamp>()
    } else {
        Self::VALUE_OFFSET + size_of::<T>()
    }
    .next_multiple_of(Self::ALIGN);

    /// Size and alignment of one cell.
    pub(crate) const LAYOUT: Layout = match Layout::from_size_align(Self::SIZE, Self::ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("a value of this size cannot be laid out"),
    };

    /// The cell that starts at `start`.
    #[inline(always)]
    pub(crate) const fn new(start: NonNull<u8>) -> Self {
        CellPtr(start, PhantomData)
    }

    /// The cell that `value` stands in.
    ///
    /// # Safety
    ///
    /// `value` is [`value`](Self::value) of a cell, with its provenance.
    #[inline(always)]
    pub(crate) unsafe fn of_value(value: NonNull<T>) -> Self {
        // SAFETY: the cell starts so many bytes in front of its value.
        CellPtr::new(unsafe { value.cast::<u8>().sub(Self::VALUE_OFFSET) })
    }

    #[inline(always)]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0
    }

    /// Where the value stands, whether or not there is one.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline(always)]
    pub(crate) unsafe fn value(self) -> NonNull<T> {
        // SAFETY: the offset lies within the cell, or at its end for a value
        // of no size.
        unsafe { self.0.add(Self::VALUE_OFFSET).cast() }
    }

    /// Where the stamp stands.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline(always)]
    unsafe fn stamp(self) -> NonNull<Stamp> {
        // SAFETY: the offset lies within the cell.
        unsafe { self.0.add(Self::STAMP_OFFSET).cast() }
    }

    /// Makes the cell a free one with this key. A raw write: before it the
    /// stamp is uninitialised, and `Cell::set` may not be called on it.
    ///
    /// # Safety
    ///
    /// The cell is allocated and nobody uses it yet.
    pub(crate) unsafe fn stamp_free(self, key: Key) {
        // SAFETY: allocated, says the caller, and aligned by the layout.
        unsafe { self.stamp().write(Stamp::free(key)) };
    }

    /// # Safety
    ///
    /// The cell is allocated and stamped.
    #[inline(always)]
    pub(crate) unsafe fn key(self) -> Key {
        // SAFETY: stamped, says the caller; by V2 the borrow meets no other.
        unsafe { self.stamp().as_ref().key() }
    }

    /// # Safety
    ///
    /// The cell is allocated and stamped.
    #[inline(always)]
    pub(crate) unsafe fn state(self) -> State {
        // SAFETY: stamped, says the caller; by V2 the borrow meets no other.
        unsafe { self.stamp().as_ref().state() }
    }

    /// # Safety
    ///
    /// The cell is allocated and stamped, and the step from its present state
    /// to this one stands in the table.
    #[inline(always)]
    pub(crate) unsafe fn set_state(self, state: State) {
        // SAFETY: stamped, says the caller; by V2 the borrow meets no other.
        unsafe { self.stamp().as_ref().set_state(state) };
    }
}

/// Checked where a cell is built, once for every `T`: stamp and value overlap
/// nowhere, and both are aligned.
pub(crate) const fn assert_layout<T>() {
    assert!(CellPtr::<T>::STAMP_OFFSET % align_of::<Stamp>() == 0);
    assert!(CellPtr::<T>::VALUE_OFFSET % align_of::<T>() == 0);
    assert!(
        CellPtr::<T>::VALUE_OFFSET >= CellPtr::<T>::STAMP_OFFSET + size_of::<Stamp>()
            || CellPtr::<T>::STAMP_OFFSET >= CellPtr::<T>::VALUE_OFFSET + size_of::<T>()
    );
    assert!(CellPtr::<T>::SIZE >= size_of::<Stamp>() + size_of::<T>());
}

const _: () = assert!(CellPtr::<u64>::SIZE == 16);
const _: () = assert!(CellPtr::<[u64; 8]>::SIZE == 72);

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page([u8; 8192]);

    #[test]
    fn every_size_and_alignment_is_laid_out() {
        const {
            assert_layout::<()>();
            assert_layout::<u8>();
            assert_layout::<[u8; 3]>();
            assert_layout::<[u8; 17]>();
            assert_layout::<u64>();
            assert_layout::<u128>();
            assert_layout::<[u128; 2]>();
            assert_layout::<Line>();
            assert_layout::<Page>();
            assert_layout::<[u8; 65536]>();
        }
        // A value of up to 16 bytes goes first, a larger one behind its stamp.
        assert_eq!(
            (CellPtr::<u64>::VALUE_OFFSET, CellPtr::<u64>::STAMP_OFFSET),
            (0, 8)
        );
        assert_eq!(
            (
                CellPtr::<[u8; 16]>::VALUE_OFFSET,
                CellPtr::<[u8; 17]>::VALUE_OFFSET
            ),
            (0, 8)
        );
        assert_eq!(CellPtr::<[u8; 17]>::STAMP_OFFSET, 0);
        assert_eq!(CellPtr::<()>::SIZE, 8);
        assert_eq!(CellPtr::<[u8; 3]>::SIZE, 12);
        assert_eq!(CellPtr::<[u8; 17]>::SIZE, 28);
        // Aligned to 16 bytes, but on some machines to eight.
        assert_eq!(CellPtr::<u128>::SIZE, 16 + align_of::<u128>().max(8));
        assert_eq!(CellPtr::<Line>::SIZE, 64);
        assert_eq!(CellPtr::<Page>::SIZE, 4096 + 8192);
        assert_eq!(Page([0; 8192]).0.len(), 8192);
    }
}
