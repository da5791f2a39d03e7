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

/// It took slab after slab, and touched them, until the system had no more memory.
#[test]
fn more_buffers_than_there_are_numbers_are_refused_at_once() {
    let asked = Arc::new(Asked::default());
    let pages = || Pages::from_source(asked.clone());
    for count in [usize::MAX, (1 << 24) + 1] {
        let arena = ByteArena::builder().pages(pages()).build();
        assert!(arena.reserve(1500, count).is_err());
        let ring = Ring::builder().pages(pages());
        assert!(ring.clone().entries(count).try_build().is_err());
        assert!(ring.in_flight(count).try_build().is_err());
    }
    assert!(asked.0.load(Relaxed) <= 1 << 16);
}

/// A slab with few headers that came to a class of small chunks was freed, for its new headers
/// passed the limit; and the request was refused, which a second one was not.
#[test]
fn an_unused_slab_makes_way_where_its_headers_do_not_fit() {
    let arena = ByteArena::builder()
        .slab_size(4096)
        .max_bytes(3 * 4096)
        .build();
    let both = [(); 2].map(|()| arena.alloc(4096).unwrap());
    drop(both);
    let small = arena.alloc(64).unwrap();
    assert_eq!(arena.stats().in_use(), 1);
    drop(small);
}

/// No slab was as large as the chunk, so all of the memory was free, and none to be had.
#[test]
fn unused_slabs_make_way_for_a_chunk_that_is_larger() {
    let builder = ByteArena::builder().slab_size(4096).largest(1 << 16);
    let arena = builder.max_bytes(90_000).build();
    let small: Vec<_> = std::iter::from_fn(|| arena.alloc(4096).ok()).collect();
    assert!(small.len() > 16);
    let kept = arena.copy(b"kept");
    assert!(kept.is_err() && arena.alloc(1 << 16).is_err());
    assert_eq!(arena.stats().trimmed_slabs, 0);
    drop(small);
    let kept = arena.copy(b"kept").unwrap();
    let large = arena.alloc_zeroed(1 << 16).unwrap();
    assert_eq!((&*kept, large.len()), (&b"kept"[..], 1 << 16));
    assert!(arena.stats().slab_bytes <= 90_000);
}

/// A ring whose oldest entry was read, with no chunk left, refused what came.
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

/// The head of a chain is not overwritten, so it took another chunk, of which there was none.
#[test]
fn a_ring_does_not_stall_at_a_chain_of_all_its_buffers() {
    let mut ring = Ring::with_capacity(2, 16);
    let mut head = ring.arena().copy(b"a").unwrap();
    for part in [b"b", b"c"] {
        let mut part = ring.arena().copy(part).unwrap();
        let rest = head.take_next().unwrap();
        rest.map(|rest| part.set_next(rest));
        head.set_next(part).unwrap();
    }
    ring.push_buf(head);
    assert_eq!(ring.push(b"d").unwrap().unwrap().sequence, 0);
    assert_eq!(ring.pop().unwrap(), *b"d");
}

/// Only chunks that it made were touched, not those that were made by an allocation, and
/// never used.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn what_is_reserved_does_not_fault() {
    fn faults() -> i64 {
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
        .slab_size(1 << 26)
        .largest(1 << 22)
        .build();
    drop(arena.alloc(1 << 22).unwrap());
    arena.reserve(1 << 22, 16).unwrap();
    let mut bufs: Vec<_> = (0..16).map(|_| arena.alloc(1 << 22).unwrap()).collect();
    let before = faults();
    for buf in &mut bufs {
        buf.resize(1 << 22, 7).unwrap();
    }
    assert!(faults() - before < 64, "{}", faults() - before);
}
