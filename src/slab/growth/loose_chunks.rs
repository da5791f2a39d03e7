//! Chunks that no table has.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::raw::memory::Block;
use crate::raw::source::Source;

/// Chunks without an owner, linked through their own memory, the one that was added first in front:
/// an allocator often returns addresses that rise, and a walk in the order of the keys is fast if
/// they do, for the processor looks ahead.
///
/// They are either allocated for a growth, or given back by a shrink to be
/// freed once nothing refers to them.
#[must_use = "dropping it frees memory that may still be referred to"]
pub(crate) struct LooseChunks {
    /// The first and the last, if there is one.
    ends: Option<(NonNull<u8>, NonNull<u8>)>,
    count: usize,
    layout: Layout,
    source: Source,
}

impl LooseChunks {
    /// No chunks. Those to come are from this source and of this layout, which
    /// has room for a pointer.
    pub(crate) fn new(layout: Layout, source: Source) -> Self {
        debug_assert!(layout.size() >= size_of::<NonNull<u8>>());
        LooseChunks {
            ends: None,
            count: 0,
            layout,
            source,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn add(&mut self, chunk: Block) {
        debug_assert!(chunk.layout() == self.layout);
        let start = chunk.leak_start();
        let first = match self.ends {
            None => start,
            Some((first, last)) => {
                // SAFETY: an unused chunk with room for a pointer.
                unsafe { last.cast().write_unaligned(start) };
                first
            }
        };
        self.ends = Some((first, start));
        self.count += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Block> {
        let (start, last) = self.ends?;
        self.count -= 1;
        self.ends = (start != last).then(|| {
            // SAFETY: when the next one was added its address was written there.
            (unsafe { start.cast().read_unaligned() }, last)
        });
        // SAFETY: `add` gave up a block of this layout and source.
        Some(unsafe { Block::from_start(start, self.layout, &self.source) })
    }
}

impl Drop for LooseChunks {
    fn drop(&mut self) {
        while let Some(chunk) = self.pop() {
            drop(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::chunk;

    #[test]
    fn loose_chunks_come_back_or_are_freed() {
        let layout = chunk::layout(Layout::new::<u64>(), 3).unwrap();
        let mut chunks = LooseChunks::new(layout, Source::GLOBAL);
        let starts = [0, 1, 2].map(|_| {
            let chunk = chunk::allocate(layout, &Source::GLOBAL).unwrap();
            let start = chunk.start();
            chunks.add(chunk);
            start
        });
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks.pop().unwrap().start(), starts[0]);
        assert_eq!(chunks.pop().unwrap().start(), starts[1]);
        chunks.add(chunk::allocate(layout, &Source::GLOBAL).unwrap());
        assert_eq!(chunks.pop().unwrap().start(), starts[2]);
        assert_eq!(chunks.len(), 1);
    }
}
