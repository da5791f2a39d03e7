//! What an attack on the byte arenas found, once each.
#![allow(
    clippy::disallowed_methods,
    reason = "a source of memory calls the allocator"
)]

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use flatslab::AllocError;
use flatslab::bytes::{ByteArena, Ring};
use flatslab::memory::{MemorySource, Pages};

/// Refuses everything, and notes how many bytes were asked for at once.
#[derive(Default)]
struct Asked(AtomicUsize);

// SAFETY: it returns memory of the global allocator.
unsafe impl MemorySource for Asked {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = layout.size();
        self.0.fetch_max(bytes, Relaxed);
        let refused = AllocError::OutOfMemory { bytes };
        if bytes > 1 << 16 {
            return Err(refused);
        }
        // SAFETY: the layout has a size.
        NonNull::new(unsafe { std::alloc::alloc(layout) }).ok_or(refused)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        // SAFETY: from `allocate`, with this layout.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) };
    }
}

/// It took chunk after chunk, and touched them, until the system had no more memory.
#[test]
fn more_buffers_than_there_are_numbers_are_refused_at_once() {
    let asked = Arc::new(Asked::default());
    let pages = || Pages::from_source(asked.clone());
    for count in [usize::MAX, (1 << 24) + 1] {
        let arena = ByteArena::builder().pages(pages()).build();
        assert!(arena.prepare(1500, count).is_err());
        let ring = Ring::builder().pages(pages());
        assert!(ring.clone().entries(count).try_build().is_err());
        assert!(ring.in_flight(count).try_build().is_err());
    }
    assert!(asked.0.load(Relaxed) <= 1 << 16);
}

/// A ring whose oldest entry was read, with no buffer left, refused what came.
#[test]
fn a_ring_does_not_stall_while_readers_have_the_oldest_entries() {
    let mut ring = Ring::with_capacity(4, 16);
    for number in 0..4 {
        ring.push(&[number]).unwrap();
    }
    let first = ring.get(0).unwrap().clone();
    ring.push(&[4]).unwrap();
    let second = ring.get(0).unwrap().clone();
    let evicted = ring.push(&[5]).unwrap().unwrap();
    assert_eq!((evicted.sequence, ring.len(), ring.evicted()), (1, 3, 3));
    assert_eq!((&*first, &*second), (&[0][..], &[1][..]));
    let held: Vec<_> = ring.iter().cloned().collect();
    assert_eq!(held, [[3], [4], [5]]);
    assert!(ring.push(&[6]).is_err());
    assert_eq!((ring.len(), ring.evicted()), (3, 3));
    drop((first, second, held));
    assert!(ring.push(&[7]).unwrap().is_none());
    assert_eq!((ring.len(), ring.pushed()), (4, 7));
}

/// The head of a chain is not overwritten, so it took another buffer, of which there was none.
#[test]
fn a_ring_does_not_stall_at_a_chain_of_all_its_buffers() {
    let mut ring = Ring::with_capacity(2, 16);
    let mut head = ring.arena().try_copy(b"a").unwrap();
    for part in [b"b", b"c"] {
        let mut part = ring.arena().try_copy(part).unwrap();
        let rest = head.take_next().unwrap();
        rest.map(|rest| part.set_next(rest));
        head.set_next(part).unwrap();
    }
    ring.push_buf(head);
    assert_eq!(ring.push(b"d").unwrap().unwrap().sequence, 0);
    assert_eq!(ring.pop().unwrap(), *b"d");
}

/// Only buffers that it made were touched, not those that were made by an allocation, and
/// never used.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
#[cfg_attr(sanitized, ignore = "a sanitizer's own memory faults, too")]
fn what_is_reserved_does_not_fault() {
    fn faults() -> libc::c_long {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: of that type, of which all bytes may be zero.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        usage.ru_minflt
    }
    // So large that the allocator asks the system for it.
    let arena = ByteArena::builder()
        .chunk_bytes(1 << 26)
        .largest(1 << 22)
        .build();
    drop(arena.try_alloc(1 << 22).unwrap());
    arena.prepare(1 << 22, 16).unwrap();
    let mut bufs: Vec<_> = (0..16).map(|_| arena.try_alloc(1 << 22).unwrap()).collect();
    let before = faults();
    for buf in &mut bufs {
        buf.resize(1 << 22, 7).unwrap();
    }
    assert!(faults() - before < 64, "{}", faults() - before);
}

/// Entries that share a buffer with each other count as read, so a ring that was full of such
/// ones refused for ever.
#[test]
fn a_ring_does_not_stall_at_entries_that_share_their_buffers() {
    let mut ring = Ring::builder().entries(4).max_len(16).in_flight(0).build();
    let push_halves = |ring: &mut Ring, text: &[u8]| {
        let mut buf = ring.try_alloc().unwrap();
        buf.extend_from_slice(text).unwrap();
        let mut rest = buf.freeze();
        let first = rest.split_to(1);
        (ring.push_buf(first), ring.push_buf(rest))
    };
    push_halves(&mut ring, b"12");
    push_halves(&mut ring, b"34");
    // Two buffers are left; then the halves make room, both of them.
    assert!(ring.push(b"5").unwrap().is_some() && ring.push(b"6").unwrap().is_some());
    for number in 0..20 {
        push_halves(&mut ring, b"ab");
        let evicted = ring.push(&[number]).unwrap().unwrap();
        assert!(evicted.count >= 1);
        assert_eq!(*ring.get(ring.len() - 1).unwrap(), [number]);
    }
    // A reader of one half keeps the buffer, and those after it make room.
    ring.clear();
    push_halves(&mut ring, b"ab");
    push_halves(&mut ring, b"cd");
    let reader = ring.get(0).unwrap().clone();
    let buffers = [(); 2].map(|()| ring.try_alloc().unwrap());
    assert_eq!(ring.len(), 4);
    let evicted = ring.push(b"more").unwrap().unwrap();
    assert_eq!((evicted.count, ring.len()), (4, 1));
    assert_eq!(reader, *b"a");
    drop(buffers);
    let counts = ring.get(0).unwrap().references();
    assert_eq!(counts, Some(1), "what was set aside is counted again");
}

/// The arena of a ring that was trimmed allocated at the next push.
#[test]
fn a_ring_keeps_its_memory_when_its_arena_is_shrunk() {
    let mut ring = Ring::with_capacity(4, 16);
    let before = ring.stats();
    ring.arena().shrink_to_fit();
    ring.push(b"hello").unwrap();
    assert_eq!(ring.stats().mallocs, before.mallocs);
    assert_eq!(ring.stats().chunk_bytes, before.chunk_bytes);
}
