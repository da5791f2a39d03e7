//! As `boxed`, with boxes from mimalloc.

#![expect(
    clippy::duplicate_mod,
    reason = "the same program, with the parts beside it"
)]

#[path = "../common.rs"]
mod common;
#[path = "../boxed/parts.rs"]
pub(super) mod parts;
#[path = "../../program/mod.rs"]
pub(super) mod program;

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{NonNull, without_provenance_mut};

use allocator_api2::alloc::{AllocError, Allocator};
use mimalloc::MiMalloc;

use crate::allocations;

pub(super) const NAME: &str = "channels of boxes from mimalloc, `slab` + map";

/// mimalloc, whose calls are counted, too.
#[derive(Clone, Copy)]
pub(crate) struct Heap;

// SAFETY: memory is mimalloc's, which any thread may give back, until it is given back.
unsafe impl Allocator for Heap {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            let nothing = NonNull::new(without_provenance_mut(layout.align()));
            return nothing
                .map(|it| NonNull::slice_from_raw_parts(it, 0))
                .ok_or(AllocError);
        }
        allocations::count();
        // SAFETY: not of size zero.
        let memory = NonNull::new(unsafe { MiMalloc.alloc(layout) }).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            allocations::count();
            // SAFETY: as the caller promises, it came from `allocate` with this layout.
            unsafe { MiMalloc.dealloc(memory.as_ptr(), layout) };
        }
    }
}
