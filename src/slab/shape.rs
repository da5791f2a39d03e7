//! The shape of cells, without the type of their values.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::key::Key;
use crate::raw::chunk;
use crate::raw::packed::Word;
use crate::slab::cell::CellPtr;
use crate::slab::state::{Stamp, State};

/// Stamps all cells of a chunk as free, with the keys that `key` returns for their indices. Raw
/// writes: the stamps are uninitialised before.
///
/// # Safety
///
/// The block that starts at `start` has room for `slots` cells of `T`, which
/// are unused.
pub(crate) unsafe fn stamp_all<T>(start: NonNull<u8>, slots: usize, key: impl Fn(u32) -> Key) {
    // SAFETY: the block has room for `slots` unused cells of this shape (precondition).
    unsafe { const { Shape::of::<T>() }.stamp_all(start, slots, key) };
}

/// What cold code needs to know of a type of cells. It takes this instead of the type of the
/// values, and so is compiled once in a program.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[derive(Clone, Copy)]
pub struct Shape {
    /// The layout of a cell; its size is the distance from one cell to the next.
    pub(crate) layout: Layout,
    stamp_offset: usize,
    value_offset: usize,
    has_wide_link: bool,
    /// See [`CellPtr::REFILL`].
    pub(super) refill: usize,
}

impl Shape {
    pub(crate) const fn of<T>() -> Self {
        Shape {
            layout: CellPtr::<T>::LAYOUT,
            stamp_offset: CellPtr::<T>::STAMP_OFFSET,
            value_offset: CellPtr::<T>::VALUE_OFFSET,
            has_wide_link: CellPtr::<T>::HAS_WIDE_LINK,
            refill: CellPtr::<T>::REFILL,
        }
    }

    /// The address of the stamp of a cell.
    ///
    /// # Safety
    ///
    /// A cell of this shape starts at `cell`.
    #[inline]
    unsafe fn stamp(self, cell: NonNull<u8>) -> NonNull<Stamp> {
        // SAFETY: the offset is within the cell, and aligned for a stamp (`CellPtr::LAYOUT`).
        unsafe { cell.add(self.stamp_offset).cast() }
    }

    /// Stamps all cells of a chunk, like [`stamp_all`].
    ///
    /// # Safety
    ///
    /// The block that starts at `start` has room for `slots` cells of this shape, which are unused.
    #[inline]
    pub(crate) unsafe fn stamp_all(
        self,
        start: NonNull<u8>,
        slots: usize,
        key: impl Fn(u32) -> Key,
    ) {
        // SAFETY: the block has room for `slots` unused cells (precondition); the layout aligns
        // them.
        unsafe {
            for (index, cell) in chunk::cells(start, self.layout.size(), slots).enumerate() {
                self.stamp(cell).write(Stamp {
                    key: Cell::new(key(index as u32)),
                    state: Cell::new(State::FREE),
                });
            }
        }
    }

    /// Borrows the stamp of a cell, also of a free one.
    ///
    /// # Safety
    ///
    /// A stamped cell of this shape starts at `cell`, which stays for `'a`.
    pub(super) unsafe fn stamp_of<'a>(self, cell: NonNull<u8>) -> &'a Stamp {
        // SAFETY: the cell is stamped (precondition); by `stamp-apart` the borrow meets no other.
        unsafe { self.stamp(cell).as_ref() }
    }

    /// Reads the link of a returned cell, in the place of its value.
    ///
    /// # Safety
    ///
    /// A cell of this shape starts at `cell`, and [`CellPtr::write_link`] wrote its link.
    pub(super) unsafe fn read_link(self, cell: NonNull<u8>) -> Word {
        // SAFETY: a link of this width is there (precondition).
        unsafe {
            let place = cell.add(self.value_offset);
            if self.has_wide_link {
                place.cast::<Word>().read_unaligned()
            } else {
                Word::of_narrow(place.cast::<u32>().read())
            }
        }
    }
}
