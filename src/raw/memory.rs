//! The one door to the allocator.
//!
//! Everything the crate allocates is a [`Block`]; clippy refuses the
//! allocator's functions elsewhere in `src/`, and every type of `alloc` that
//! calls them (`clippy.toml`). So there is one place to inject failure, one to
//! bring in other kinds of pages, and a block can only be freed with the layout
//! it was allocated with.
//!
//! # Invariants
//!
//! * M1: `start` is aligned to `layout.align()` and valid for `layout.size()`
//!   bytes until the block is dropped; only its drop frees it.
//! * M2: a block of no bytes was never allocated; `start` is then dangling.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;

/// Smallest page of every platform with pages that the crate runs on: touching
/// at this step touches every page, at most more than once.
pub(crate) const PAGE: usize = 4096;

/// Memory of our own, freed on drop.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: by M1 it owns its memory; a reference to it gives no more than an
// address.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Memory for `layout`, uninitialised.
    ///
    /// # Errors
    ///
    /// [`AllocError::OutOfMemory`] when the allocator refuses.
    pub(crate) fn allocate(layout: Layout) -> Result<Self, AllocError> {
        if layout.size() == 0 {
            return Ok(Self::dangling(layout));
        }
        // SAFETY: the layout has a size, as `alloc` demands.
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let start = unsafe { alloc(layout) };
        match NonNull::new(start) {
            Some(start) => Ok(Block { start, layout }),
            None => Err(AllocError::OutOfMemory {
                bytes: layout.size(),
            }),
        }
    }

    /// The block of a layout of no bytes.
    pub(crate) const fn dangling(layout: Layout) -> Self {
        let start = core::ptr::without_provenance_mut(layout.align());
        Block {
            // SAFETY: an alignment is never zero.
            start: unsafe { NonNull::new_unchecked(start) },
            layout,
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Writes to every page, so that no later access faults. The content of the
    /// block is lost.
    pub(crate) fn touch(&self) {
        self.touch_from(0);
    }

    /// Writes to every page from that many bytes on. The content from there on
    /// is lost.
    pub(crate) fn touch_from(&self, start: usize) {
        let last = self
            .layout
            .size()
            .checked_sub(1)
            .filter(|&last| last >= start);
        for offset in (start..self.layout.size()).step_by(PAGE).chain(last) {
            // SAFETY: `offset` is below the size, so by M1 the byte is ours.
            // Volatile: the byte is never read, and the write must happen.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// Gives the block up; [`Block::from_start`] takes it back.
    pub(crate) fn leak_start(self) -> NonNull<u8> {
        let start = self.start;
        core::mem::forget(self);
        start
    }

    /// Takes back what [`Block::leak_start`] gave up.
    ///
    /// # Safety
    ///
    /// `start` came from `leak_start` of a block of this layout, and is taken
    /// back once.
    pub(crate) unsafe fn from_start(start: NonNull<u8>, layout: Layout) -> Self {
        Block { start, layout }
    }

    /// Places `value` at the start of a block of its own and gives the block
    /// up; [`Block::reclaim`] takes it back.
    pub(crate) fn leak<V>(value: V) -> Result<NonNull<V>, (AllocError, V)> {
        match Block::allocate(Layout::new::<V>()) {
            Ok(block) => {
                let place = block.leak_start().cast::<V>();
                // SAFETY: by M1 the block has the size and alignment of `V`,
                // and being forgotten it stays.
                unsafe { place.write(value) };
                Ok(place)
            }
            Err(error) => Err((error, value)),
        }
    }

    /// Takes the value out of a leaked block and frees the block.
    ///
    /// # Safety
    ///
    /// `place` came from [`Block::leak`] of the same `V`, with the provenance
    /// it had there, and is not used afterwards.
    pub(crate) unsafe fn reclaim<V>(place: NonNull<V>) -> V {
        // SAFETY: `leak` wrote a value there and gave the block up; the caller
        // does not use it again.
        unsafe {
            let block = Block::from_start(place.cast(), Layout::new::<V>());
            let value = place.read();
            drop(block);
            value
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: by M1 and M2 the block was allocated with this layout.
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            unsafe {
                dealloc(self.start.as_ptr(), self.layout);
            }
        }
    }
}

/// Ends the program the way `Vec` does when the allocator refuses, and panics
/// with the numbers when the request could never have been met.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: AllocError) -> ! {
    match error {
        AllocError::OutOfMemory { bytes } => {
            let layout = Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u8>());
            alloc::alloc::handle_alloc_error(layout)
        }
        error => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_no_bytes_is_aligned_and_never_allocated() {
        let layout = Layout::from_size_align(0, 4096).unwrap();
        let block = Block::allocate(layout).unwrap();
        assert_eq!(block.start().addr().get() % 4096, 0);
        block.touch();
    }

    #[test]
    fn touching_reaches_the_last_page() {
        let layout = Layout::from_size_align(PAGE * 2 + 1, PAGE).unwrap();
        let block = Block::allocate(layout).unwrap();
        block.touch();
        // SAFETY: `touch` wrote the first byte of each of the three pages.
        let last = unsafe { block.start().add(PAGE * 2).read() };
        assert_eq!(last, 0);
    }

    #[test]
    fn a_leaked_value_comes_back_out_of_its_block() {
        let place = Block::leak([7u64; 4]).unwrap();
        // SAFETY: `place` is from `leak` and not used again.
        assert_eq!(unsafe { Block::reclaim(place) }, [7; 4]);
    }
}
