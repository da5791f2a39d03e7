//! Witnesses for what loom does not see: bytes, and blocks of memory.

use core::alloc::Layout;
use core::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use crate::error::AllocError;
use crate::memory::{MemorySource, Pages};
use crate::raw::atomic::thread;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The witnesses of `count` places, each `stride` bytes after the one before.
pub(crate) struct Witnesses {
    pub(crate) first: usize,
    stride: usize,
    cells: Vec<UnsafeCell<u8>>,
}

// SAFETY: loom reports each unordered access to the cells.
unsafe impl Send for Witnesses {}
// SAFETY: loom reports each unordered access to the cells.
unsafe impl Sync for Witnesses {}

impl Witnesses {
    pub(crate) fn new(first: *const u8, stride: usize, count: usize) -> Arc<Self> {
        Arc::new(Witnesses {
            first: first.addr(),
            stride,
            cells: (0..count).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn of(&self, bytes: *const u8) -> &UnsafeCell<u8> {
        &self.cells[(bytes.addr() - self.first) / self.stride]
    }

    pub(crate) fn write(&self, bytes: *const u8, value: u8) {
        // SAFETY: loom reports an access that has no order to this one.
        self.of(bytes).with_mut(|cell| unsafe { *cell = value });
    }

    pub(crate) fn read(&self, bytes: *const u8) -> u8 {
        // SAFETY: loom reports an access that has no order to this one.
        self.of(bytes).with(|cell| unsafe { *cell })
    }
}

/// Memory, with a witness that is written to when a block is freed: who
/// [touches](Self::touch) it beforehand used the memory.
#[derive(Clone)]
pub(crate) struct Memory(std::sync::Arc<Blocks>);

struct Blocks {
    witness: UnsafeCell<()>,
    /// How many there are.
    count: core::cell::Cell<usize>,
}

// SAFETY: loom runs one thread at a time, and checks the witness.
unsafe impl Send for Blocks {}
// SAFETY: loom runs one thread at a time, and checks the witness.
unsafe impl Sync for Blocks {}

// SAFETY: the memory is that of the global source.
unsafe impl MemorySource for Blocks {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.count.set(self.count.get() + 1);
        Ok(Block::allocate(layout, &Source::GLOBAL)?.leak_start())
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        self.witness.with_mut(|_| ());
        self.count.set(self.count.get() - 1);
        // SAFETY: from `allocate`, with this layout.
        drop(unsafe { Block::from_start(start, layout, &Source::GLOBAL) });
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Memory(std::sync::Arc::new(Blocks {
            witness: UnsafeCell::new(()),
            count: core::cell::Cell::new(0),
        }))
    }

    pub(crate) fn pages(&self) -> Pages {
        Pages::from_source(self.0.clone())
    }

    pub(crate) fn touch(&self) {
        self.0.witness.with(|_| ());
    }

    pub(crate) fn expect_freed(self) {
        assert_eq!(self.0.count.get(), 0, "memory is lost");
    }
}

/// Each order in which threads can meet, twice: with `late` the threads that were spawned run
/// first. Loom derives what to try from the last access to each atomic alone, so where a thread
/// loads it before it writes to it, the other order is not tried by itself.
pub(crate) fn model(f: impl Fn(bool) + Copy + Send + Sync + 'static) {
    for late in [false, true] {
        loom::model(move || f(late));
    }
}

/// Stands after the threads were spawned.
pub(crate) fn start(late: bool) {
    if late {
        thread::yield_now();
    }
}
