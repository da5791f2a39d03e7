//! Memory of the crate's own: blocks, each with its layout and its source.
//!
//! Everything the crate allocates is a [`Block`]. Clippy refuses the allocator's
//! functions in `src/` except in `source.rs`, and every type of `alloc` that
//! calls them (`clippy.toml`). So there is one place to inject failure, and a
//! block can only be freed with the layout it was allocated with, where it came
//! from.
//!
//! # Invariants
//!
//! * `block-bytes`: `start` is aligned to `layout.align()` and valid for `layout.size()`
//!   bytes until the block is dropped; only its drop frees it. Of a reserved
//!   block, those bytes are valid up to which it was [committed](Block::commit).
//! * `empty-block`: a block of no bytes was never allocated; `start` is then dangling.

use core::alloc::Layout;
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::NonNull;

use super::source::Source;
use super::touch::touch;
use crate::error::{AllocError, BuildError};

/// Memory of our own, freed on drop.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
    source: Source,
}

// SAFETY: by `block-bytes` it owns its memory; a reference to it gives no more
// than an address.
unsafe impl Send for Block {}
// SAFETY: `&Block` gives no more than an address, and calls to the source, which
// is `Sync`.
unsafe impl Sync for Block {}

impl Block {
    /// Memory for `layout`, uninitialised.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(crate) fn allocate(layout: Layout, source: &Source) -> Result<Self, AllocError> {
        let start = match layout.size() {
            0 => dangling(layout),
            _ => source.allocate(layout)?,
        };
        Ok(Block {
            start,
            layout,
            source: source.clone(),
        })
    }

    /// Memory for `layout`, to be [committed](Self::commit) before it is used.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(crate) fn reserve(layout: Layout, source: &Source) -> Result<Self, AllocError> {
        let start = match layout.size() {
            0 => dangling(layout),
            _ => source.reserve(layout)?,
        };
        Ok(Block {
            start,
            layout,
            source: source.clone(),
        })
    }

    /// The block of a layout of no bytes.
    pub(crate) const fn dangling(layout: Layout) -> Self {
        debug_assert!(layout.size() == 0);
        Block {
            start: dangling(layout),
            layout,
            source: Source::GLOBAL,
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Where it came from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Writes to every page, so that no later access faults. The content of the
    /// block is lost.
    pub(crate) fn touch(&self) {
        self.touch_range(0..self.layout.size());
    }

    /// Writes to every page of these bytes, unless the source has done as much. Their content
    /// is lost.
    pub(crate) fn touch_range(&self, bytes: Range<usize>) {
        assert!(bytes.end <= self.layout.size());
        if !self.source.populates() {
            // SAFETY: by `block-bytes` the bytes are ours.
            unsafe { touch(self.start, bytes.start, bytes.end) };
        }
    }

    /// Makes the bytes of a reserved block between `from`, up to which it is
    /// committed, and `to` usable; returns up to where it then is. They are not
    /// populated.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<usize, AllocError> {
        let to = to.min(self.layout.size());
        if from >= to {
            return Ok(from);
        }
        // SAFETY: by `block-bytes` a block from there, which is not committed from `from` on
        // and so not in use.
        unsafe { self.source.commit(self.start, from, to) }
    }

    /// Gives back the memory of a reserved block from `from` on, which is not in
    /// use, as far as its source can; returns up to where it is committed then.
    pub(crate) fn decommit(&self, from: usize, to: usize) -> usize {
        if self.layout.size() == 0 {
            return to;
        }
        // SAFETY: by `block-bytes` a block from there.
        unsafe { self.source.decommit(self.start, from, to) }
    }

    /// Populates the bytes between these two, which are committed and not in use.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub(crate) fn populate(&self, from: usize, to: usize) -> Result<(), AllocError> {
        if from >= to {
            return Ok(());
        }
        // SAFETY: by `block-bytes` a block from there.
        unsafe { self.source.populate(self.start, from, to) }
    }

    /// Gives the block's whole pages, which are not in use, back to the system, if they come
    /// from there: its content is lost, and it is to be [populated](Self::populate) before it
    /// is used. Returns how many bytes.
    pub(crate) fn discard(&self) -> usize {
        match self.layout.size() {
            0 => 0,
            // SAFETY: by `block-bytes` a block from there.
            bytes => unsafe { self.source.discard(self.start, bytes) },
        }
    }

    /// Gives the block up; [`Block::from_start`] takes it back.
    pub(crate) fn leak_start(self) -> NonNull<u8> {
        let mut block = core::mem::ManuallyDrop::new(self);
        // The owner of the block keeps its source.
        block.source = Source::GLOBAL;
        block.start
    }

    /// Takes back what [`Block::leak_start`] gave up.
    ///
    /// # Safety
    ///
    /// `start` came from `leak_start` of a block of this layout and source, and is
    /// taken back once.
    pub(crate) unsafe fn from_start(start: NonNull<u8>, layout: Layout, source: &Source) -> Self {
        Block {
            start,
            layout,
            source: source.clone(),
        }
    }

    /// Places `value` at the start of a block of its own and gives the block
    /// up; [`Block::reclaim`] takes it back.
    pub(crate) fn leak<'a, V>(value: V, source: &Source) -> Result<&'a mut V, (AllocError, V)> {
        match Block::allocate(Layout::new::<V>(), source) {
            Ok(block) => {
                let mut place = block.leak_start().cast::<MaybeUninit<V>>();
                // SAFETY: by `block-bytes` the block has the size and alignment
                // of `V`, and being forgotten it stays.
                Ok(unsafe { place.as_mut() }.write(value))
            }
            Err(error) => Err((error, value)),
        }
    }

    /// Takes the value out of a leaked block and frees the block.
    ///
    /// # Safety
    ///
    /// `place` is what [`Block::leak`] returned for the same `V` and source, with the
    /// provenance it had there, and is not used afterwards.
    pub(crate) unsafe fn reclaim<V>(place: NonNull<V>, source: &Source) -> V {
        // SAFETY: `leak` wrote a value there and gave the block up; the caller
        // does not use it again.
        unsafe {
            let block = Block::from_start(place.cast(), Layout::new::<V>(), source);
            let value = place.read();
            drop(block);
            value
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: by `block-bytes` and `empty-block` the block came from there with this
            // layout.
            unsafe { self.source.release(self.start, self.layout) };
        }
    }
}

/// Bytes that are committed at a time: few system calls, and little memory in store.
pub(super) const COMMIT: usize = 1 << 20;

/// A block that is committed from its start on, as its bytes are needed. Its owner says up to where
/// it will use it.
#[derive(Debug)]
pub(crate) struct LazyBlock {
    block: Block,
    /// The bytes below it are committed.
    committed: Cell<usize>,
}

impl LazyBlock {
    /// A block that is there already.
    pub(crate) fn whole(block: Block) -> Self {
        let committed = Cell::new(block.layout.size());
        LazyBlock { block, committed }
    }

    /// Memory for `layout`, of which the first `bytes` are committed, and little more.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(crate) fn reserve(
        layout: Layout,
        bytes: usize,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let block = Block::reserve(layout, source)?;
        let committed = Cell::new(block.commit(0, bytes)?);
        Ok(LazyBlock { block, committed })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.block.start
    }

    /// Where it came from.
    pub(crate) fn source(&self) -> &Source {
        &self.block.source
    }

    /// Commits the bytes below `end`, and some more, so that the next calls have nothing to do.
    /// They are not populated.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    pub(crate) fn commit(&self, end: usize) -> Result<(), AllocError> {
        let committed = self.committed.get();
        if end > committed {
            let ahead = end.max(committed + COMMIT);
            self.committed.set(self.block.commit(committed, ahead)?);
        }
        Ok(())
    }

    /// Populates these bytes, which are committed and not in use.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub(crate) fn populate(&self, bytes: Range<usize>) -> Result<(), AllocError> {
        self.block.populate(bytes.start, bytes.end)
    }

    /// Gives back the bytes from `end` on, which are not in use, as far as the source can.
    pub(crate) fn decommit(&self, end: usize) {
        let committed = self.committed.get();
        if end < committed {
            self.committed.set(self.block.decommit(end, committed));
        }
    }

    /// Bytes that are taken from the source: what is committed, where the rest is address space.
    pub(crate) fn bytes(&self) -> usize {
        if self.block.source.reserves() {
            self.committed.get()
        } else {
            self.block.layout.size()
        }
    }
}

/// Where a block of no bytes is.
pub(crate) const fn dangling(layout: Layout) -> NonNull<u8> {
    let start = core::ptr::without_provenance_mut(layout.align());
    // SAFETY: the alignment of a `Layout` is a power of two, so never zero.
    unsafe { NonNull::new_unchecked(start) }
}

/// Ends the program the way `Vec` does when the allocator refuses, and panics
/// with the numbers when the request could never have been met.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: impl Into<BuildError>) -> ! {
    match error.into() {
        BuildError::Memory(AllocError::OutOfMemory { bytes }) => {
            let layout = Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u8>());
            alloc::alloc::handle_alloc_error(layout)
        }
        error => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::touch::PAGE;

    #[test]
    fn a_block_of_no_bytes_is_aligned_and_never_allocated() {
        let layout = Layout::from_size_align(0, 4096).unwrap();
        let block = Block::allocate(layout, &Source::GLOBAL).unwrap();
        assert_eq!(block.start().addr().get() % 4096, 0);
        block.touch();
    }

    #[test]
    fn touching_reaches_the_last_page() {
        let layout = Layout::from_size_align(PAGE * 2 + 1, PAGE).unwrap();
        let block = Block::allocate(layout, &Source::GLOBAL).unwrap();
        block.touch();
        // SAFETY: `touch` wrote the first byte of each of the three pages.
        let last = unsafe { block.start().add(PAGE * 2).read() };
        assert_eq!(last, 0);
    }

    #[test]
    fn a_leaked_value_comes_back_out_of_its_block() {
        let place = NonNull::from(Block::leak([7u64; 4], &Source::GLOBAL).unwrap());
        // SAFETY: `place` is from `leak` and not used again.
        assert_eq!(unsafe { Block::reclaim(place, &Source::GLOBAL) }, [7; 4]);
    }
}
