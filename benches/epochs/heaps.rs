//! Where the objects of requests live: epochs, allocators, and a floor that never frees.

use std::alloc::{GlobalAlloc, Layout};
use std::marker::PhantomData;

use flatslab::epoch::{Epoch, EpochBytes, EpochKey};
use flatslab_benches::epoch::{BYTES, CLEARED, FLOOR};

use crate::allocators::Allocator;

/// One of a thread.
pub(crate) trait Heap {
    const NAME: &'static str;
    type Handle;

    fn new() -> Self;

    /// An object with these bytes.
    fn copy(&mut self, bytes: &[u8]) -> Self::Handle;

    /// The sum of its first and its last byte.
    fn read(&self, handle: &Self::Handle) -> u64;

    fn free(&mut self, handle: Self::Handle);

    /// A request has ended; all its objects are free.
    fn end_of_request(&mut self) {}
}

/// Blocks of an allocator.
pub(crate) struct On<A>(PhantomData<A>);

/// One of them.
pub(crate) struct Block {
    start: *mut u8,
    layout: Layout,
}

impl<A: Allocator> Heap for On<A> {
    const NAME: &'static str = A::NAME;
    type Handle = Block;

    fn new() -> Self {
        On(PhantomData)
    }

    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) -> Block {
        let layout = Layout::from_size_align(bytes.len(), 16).expect("it is small");
        // SAFETY: of more than no bytes, which are then written.
        let start = unsafe {
            let start = A::GLOBAL.alloc(layout);
            assert!(!start.is_null(), "{}", A::NAME);
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            start
        };
        Block { start, layout }
    }

    #[inline(always)]
    fn read(&self, block: &Block) -> u64 {
        // SAFETY: the block has these bytes until it is freed.
        let (first, last) = unsafe { (*block.start, *block.start.add(block.layout.size() - 1)) };
        u64::from(first) + u64::from(last)
    }

    #[inline(always)]
    fn free(&mut self, block: Block) {
        // SAFETY: of this allocator, and freed once: it is not `Copy`.
        unsafe { A::GLOBAL.dealloc(block.start, block.layout) };
    }
}

/// In the epoch of a thousand requests, freed one by one; then it is closed.
pub(crate) struct InEpochBytes {
    bytes: EpochBytes,
    epoch: Epoch,
    requests: usize,
}

/// Requests of an epoch.
const BATCH: usize = 1_000;

impl Heap for InEpochBytes {
    const NAME: &'static str = BYTES;
    type Handle = EpochKey;

    fn new() -> Self {
        let bytes = EpochBytes::new();
        InEpochBytes {
            epoch: bytes.current(),
            bytes,
            requests: 0,
        }
    }

    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) -> EpochKey {
        let copied = self.bytes.try_copy_in(self.epoch, bytes);
        copied.expect("the epoch is open")
    }

    #[inline(always)]
    fn read(&self, key: &EpochKey) -> u64 {
        let bytes = self.bytes.get(*key).expect("it was not freed");
        u64::from(bytes[0]) + u64::from(bytes[bytes.len() - 1])
    }

    #[inline(always)]
    fn free(&mut self, key: EpochKey) {
        assert!(self.bytes.remove(key), "it was not freed before");
    }

    fn end_of_request(&mut self) {
        self.requests += 1;
        if self.requests % BATCH == 0 {
            let (next, report) = self.bytes.advance_and_close();
            self.epoch = next;
            assert_eq!(report.pinned, 0);
        }
    }
}

/// As [`InEpochBytes`], but nothing is freed one by one: the epoch of some requests is cleared.
pub(crate) struct Cleared(InEpochBytes);

/// Requests of an epoch that is cleared: so few that their objects stay in the caches.
const TOGETHER: usize = 16;

impl Heap for Cleared {
    const NAME: &'static str = CLEARED;
    type Handle = EpochKey;

    fn new() -> Self {
        Cleared(InEpochBytes::new())
    }

    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) -> EpochKey {
        self.0.copy(bytes)
    }

    #[inline(always)]
    fn read(&self, key: &EpochKey) -> u64 {
        self.0.read(key)
    }

    #[inline(always)]
    fn free(&mut self, _: EpochKey) {}

    fn end_of_request(&mut self) {
        self.0.requests += 1;
        if self.0.requests % TOGETHER == 0 {
            assert!(self.0.bytes.clear_epoch(self.0.epoch) > 0);
            let (next, report) = self.0.bytes.advance_and_close();
            self.0.epoch = next;
            assert_eq!(report.pinned, 0);
        }
    }
}

/// Never frees: what it has is written over when all of it was used, which is long after a
/// request has ended.
pub(crate) struct Bump {
    memory: Vec<u8>,
    next: usize,
}

impl Heap for Bump {
    const NAME: &'static str = FLOOR;
    type Handle = (u32, u32);

    fn new() -> Self {
        Bump {
            memory: vec![1; 1 << 16],
            next: 0,
        }
    }

    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) -> (u32, u32) {
        if self.next + bytes.len() > self.memory.len() {
            self.next = 0;
        }
        let (start, end) = (self.next, self.next + bytes.len());
        self.memory[start..end].copy_from_slice(bytes);
        self.next = end.next_multiple_of(16);
        (start as u32, end as u32)
    }

    #[inline(always)]
    fn read(&self, &(start, end): &(u32, u32)) -> u64 {
        let bytes = &self.memory[start as usize..end as usize];
        u64::from(bytes[0]) + u64::from(bytes[bytes.len() - 1])
    }

    #[inline(always)]
    fn free(&mut self, _: (u32, u32)) {}
}
