//! One slot: a stamp and a value, addressed by a bare pointer.
//!
//! Not a struct, because the order of the two depends on the size of the
//! value: a small value goes first, so that keyed access computes the address
//! of the value itself; a larger one goes after the stamp, so that the stamp's
//! line is the one with the value's first fields. Both offsets are constants
//! computed from size and alignment, never assumed.
//!
//! # Invariants
//!
//! * V1: the value's bytes hold a live `T` exactly while the state has no `V`.
//!   Within a step, while no other code runs (L3, P3), one may change before
//!   the other.
//! * V2: the stamp is only reached through `&Stamp`, the value only through
//!   pointers to the value: neither borrow covers the other's bytes.

use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::state::{Stamp, State};
use crate::key::Key;
use crate::raw::chunk;
use crate::raw::packed::{Packing, Word};

/// Values up to this size go before their stamp. At 8 bytes that is measurably
/// better; at 64 processors disagree (benches/ATTEMPTS.md, "Where the stamp stands").
/// Nothing in between was measured.
const VALUE_FIRST_UP_TO: usize = 16;

/// A pointer to a cell. Covariant in `T`, without ownership: each holder adds
/// the variance it needs.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
pub struct CellPtr<T>(NonNull<u8>, PhantomData<*const T>);

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
    /// What a cell has room for in the place of a value, be it smaller or of no size: a link.
    const ROOM: usize = if size_of::<T>() > size_of::<u32>() {
        size_of::<T>()
    } else {
        size_of::<u32>()
    };
    const STAMP_OFFSET: usize = if Self::VALUE_FIRST {
        Self::ROOM.next_multiple_of(align_of::<Stamp>())
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
        Self::VALUE_OFFSET + Self::ROOM
    }
    .next_multiple_of(Self::ALIGN);

    /// How many fresh cells of a lazy slab are stamped and go onto the free stack when it
    /// runs empty: some cache lines full, and fewer where cells are large, so that an
    /// insertion comes to one new page, or to two.
    pub(crate) const REFILL: usize = match Self::SIZE {
        0..=16 => 16,
        17..=32 => 8,
        33..=1024 => 4,
        1025..=2048 => 2,
        _ => 1,
    };

    /// Size and alignment of one cell.
    pub(crate) const LAYOUT: Layout = {
        assert_layout::<T>();
        match Layout::from_size_align(Self::SIZE, Self::ALIGN) {
            Ok(layout) => layout,
            Err(_) => panic!("a value of this size cannot be laid out"),
        }
    };

    /// The cell that starts at `start`.
    #[inline(always)]
    pub(crate) const fn new(start: NonNull<u8>) -> Self {
        CellPtr(start, PhantomData)
    }

    /// The cell of `value`.
    ///
    /// # Safety
    ///
    /// `value` is [`value`](Self::value) of a cell, with its provenance.
    #[inline(always)]
    pub(crate) unsafe fn of_value(value: NonNull<T>) -> Self {
        // SAFETY: the cell starts that many bytes before its value.
        CellPtr::new(unsafe { value.cast::<u8>().sub(Self::VALUE_OFFSET) })
    }

    /// The cell of `stamp`.
    ///
    /// # Safety
    ///
    /// `stamp` is [`stamp`](Self::stamp) of a cell, with its provenance.
    #[inline(always)]
    pub(crate) unsafe fn of_stamp(stamp: NonNull<Stamp>) -> Self {
        // SAFETY: the cell starts that many bytes before its stamp.
        CellPtr::new(unsafe { stamp.cast::<u8>().sub(Self::STAMP_OFFSET) })
    }

    #[inline(always)]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0
    }

    /// The address of the value, whether or not there is one.
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

    /// The address of the stamp.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline(always)]
    pub(crate) unsafe fn stamp(self) -> NonNull<Stamp> {
        // SAFETY: the offset lies within the cell.
        unsafe { self.0.add(Self::STAMP_OFFSET).cast() }
    }

    /// The key in the stamp, of a cell that need not be in use.
    ///
    /// # Safety
    ///
    /// The cell is allocated and stamped.
    #[inline(always)]
    pub(crate) unsafe fn key(self) -> Key {
        // SAFETY: the cell is stamped (precondition); by V2 the borrow meets no other.
        unsafe { self.stamp().as_ref().key() }
    }

    /// The key in the stamp, without a reference to it: for a thread that may read nothing
    /// else of it.
    ///
    /// # Safety
    ///
    /// As for [`key`](Self::key); nothing writes to the key at the same time.
    #[inline(always)]
    pub(crate) unsafe fn shared_key(self) -> Key {
        // SAFETY: the cell is stamped (precondition).
        unsafe { self.key_place().cast().read() }
    }

    /// Where the key stands, and the link of a cell whose value was retired.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline(always)]
    pub(crate) unsafe fn key_place(self) -> NonNull<u32> {
        // SAFETY: within the stamp, which lies within the cell.
        unsafe { NonNull::new_unchecked(&raw mut (*self.stamp().as_ptr()).key).cast() }
    }

    /// Whether the place of a value has room for a link of any word.
    const HAS_WIDE_LINK: bool = Self::ROOM >= size_of::<Word>();

    /// How the numbers of cells share words on the return stack, for cells with the indices
    /// that `packing` is for.
    pub(crate) const fn packing(packing: Packing) -> Packing {
        if Self::HAS_WIDE_LINK {
            packing
        } else {
            Packing::NONE
        }
    }

    /// Writes the link of a cell that is on its way back from another thread, in the place of
    /// the value. The link holds all words of [this packing](Self::packing), and not all others.
    ///
    /// # Safety
    ///
    /// The cell is allocated, without a value, and the caller's alone.
    #[inline(always)]
    pub(crate) unsafe fn write_link(self, below: Word) {
        // SAFETY: the cell is allocated (precondition), and has `ROOM` bytes from this offset,
        // aligned to 4. Where that is less than a word, words are narrow (`packing`).
        unsafe {
            let place = self.0.add(Self::VALUE_OFFSET);
            if Self::HAS_WIDE_LINK {
                place.cast::<Word>().write_unaligned(below);
            } else {
                place.cast::<u32>().write(below.narrow());
            }
        }
    }

    /// The link of a cell that came back from another thread.
    ///
    /// # Safety
    ///
    /// The cell is allocated, and its link was written.
    #[inline(always)]
    pub(crate) unsafe fn read_link(self) -> Word {
        // SAFETY: as it was written (precondition).
        unsafe {
            let place = self.0.add(Self::VALUE_OFFSET);
            if Self::HAS_WIDE_LINK {
                place.cast::<Word>().read_unaligned()
            } else {
                Word::of_narrow(place.cast::<u32>().read())
            }
        }
    }

    /// Whether the cell is free.
    ///
    /// # Safety
    ///
    /// The cell is allocated and stamped.
    pub(crate) unsafe fn is_free(self) -> bool {
        // SAFETY: the cell is stamped (precondition); by V2 the borrow meets no other.
        unsafe { self.stamp().as_ref().state.get() == State::FREE }
    }
}

/// Makes all cells of a chunk free ones, with the keys that `key` gives for
/// their indices. Raw writes: before them the stamps are uninitialised.
///
/// # Safety
///
/// The block that starts at `start` has room for `slots` cells of `T`, which
/// are unused.
pub(crate) unsafe fn stamp_all<T>(start: NonNull<u8>, slots: usize, key: impl Fn(u32) -> Key) {
    // SAFETY: the block has room for `slots` unused cells (precondition); the layout
    // aligns them.
    unsafe {
        for (index, cell) in chunk::cells(start, CellPtr::<T>::SIZE, slots).enumerate() {
            CellPtr::<T>::new(cell).stamp().write(Stamp {
                key: Cell::new(key(index as u32)),
                state: Cell::new(State::FREE),
            });
        }
    }
}

/// Stamp and value overlap nowhere, and both are aligned.
const fn assert_layout<T>() {
    assert!(CellPtr::<T>::STAMP_OFFSET % align_of::<Stamp>() == 0);
    assert!(CellPtr::<T>::VALUE_OFFSET % align_of::<T>() == 0);
    assert!(CellPtr::<T>::VALUE_OFFSET % align_of::<u32>() == 0);
    assert!(CellPtr::<T>::ALIGN >= align_of::<u32>());
    assert!(
        CellPtr::<T>::VALUE_OFFSET >= CellPtr::<T>::STAMP_OFFSET + size_of::<Stamp>()
            || CellPtr::<T>::STAMP_OFFSET >= CellPtr::<T>::VALUE_OFFSET + CellPtr::<T>::ROOM
    );
    assert!(CellPtr::<T>::SIZE >= CellPtr::<T>::VALUE_OFFSET + CellPtr::<T>::ROOM);
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

    fn sizes<T>() -> (usize, usize, usize) {
        let cell = CellPtr::<T>::LAYOUT;
        (
            CellPtr::<T>::VALUE_OFFSET,
            CellPtr::<T>::STAMP_OFFSET,
            cell.size(),
        )
    }

    #[test]
    fn every_size_and_alignment_is_laid_out() {
        // Up to 16 bytes the value goes first, a larger one after its stamp.
        assert_eq!(sizes::<()>(), (0, 4, 12));
        assert_eq!(sizes::<u8>(), (0, 4, 12));
        assert_eq!(sizes::<[u8; 3]>(), (0, 4, 12));
        assert_eq!(sizes::<u64>(), (0, 8, 16));
        assert_eq!(sizes::<[u8; 16]>(), (0, 16, 24));
        assert_eq!(sizes::<[u8; 17]>(), (8, 0, 28));
        assert_eq!(sizes::<[u128; 2]>().0, align_of::<u128>().max(8));
        // Aligned to 16 bytes, but on some machines to eight.
        assert_eq!(sizes::<u128>(), (0, 16, 16 + align_of::<u128>().max(8)));
        assert_eq!(sizes::<Line>(), (0, 4, 64));
        assert_eq!(sizes::<Page>(), (4096, 0, 4096 + 8192));
        assert_eq!(sizes::<[u8; 65536]>(), (8, 0, 8 + 65536));
        assert_eq!(Page([0; 8192]).0.len(), 8192);
    }

    /// As the pages of `Slab` and `BoundedSlab` say.
    #[test]
    fn a_cell_is_a_value_of_four_bytes_at_least_and_a_stamp() {
        fn expect<T>() {
            let bytes = size_of::<T>().max(4) + 8;
            let cell = bytes.next_multiple_of(align_of::<T>().max(4));
            assert_eq!(CellPtr::<T>::SIZE, cell, "{}", core::any::type_name::<T>());
        }
        expect::<()>();
        expect::<u8>();
        expect::<[u8; 3]>();
        expect::<u32>();
        expect::<[u8; 5]>();
        expect::<[u16; 3]>();
        expect::<u64>();
        expect::<[u8; 13]>();
        expect::<[u8; 16]>();
        expect::<u128>();
        expect::<[u8; 17]>();
        expect::<[u32; 5]>();
        expect::<[u128; 2]>();
        expect::<[u64; 8]>();
        expect::<Line>();
        expect::<[(Line, u8); 1]>();
        expect::<Page>();
    }

    #[test]
    fn every_cell_of_a_chunk_is_stamped() {
        type Value = [u8; 3];
        let layout = chunk::layout(CellPtr::<Value>::LAYOUT, 5).unwrap();
        let block = chunk::allocate(layout, &crate::raw::source::Source::GLOBAL).unwrap();
        // SAFETY: the block is laid out for five cells, which are unused.
        unsafe {
            stamp_all::<Value>(block.start(), 5, |index| Key::from_raw(8 + index));
            let cells = chunk::cells(block.start(), CellPtr::<Value>::SIZE, 5);
            for (index, cell) in cells.map(CellPtr::<Value>::new).enumerate() {
                assert_eq!(cell.key().index(), 8 + index);
                assert!(cell.is_free());
            }
        }
    }
}
