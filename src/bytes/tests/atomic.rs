//! Atomic counts near their end, which no test comes to by counting.

use crate::bytes::arena_core::ArenaCore;
use crate::bytes::drop::Reference;
use crate::bytes::references::MOST;
use crate::bytes::{ByteArena, References};
use crate::common::amount;

#[test]
fn a_count_that_comes_to_its_end_stays_there_and_the_buffer_is_never_free() {
    let arena = ByteArena::atomic();
    let buf = arena.copy(b"kept");
    buf.header().counts().set_count(MOST - 1);
    let second = buf.clone();
    assert_eq!(buf.references(), None);
    // From here on nothing is counted.
    for _ in 0..3 {
        drop(buf.clone());
    }
    let third = buf.clone();
    assert!(!second.release() && !third.release() && !buf.is_unique());
    let buf = buf.try_into_mut().unwrap_err();
    assert_eq!(buf, *b"kept");
    let part = buf.into_part();
    // SAFETY: the reference is this one's, and there are others by the count.
    assert!(!unsafe { ArenaCore::drop_ref(Reference::new(part.header)) });
    assert_eq!((arena.reclaim(), arena.stats().in_use()), (0, 1));
    arena.check();
    // SAFETY: the buffer is still in use, and this is the only thread.
    unsafe {
        part.header.as_ref().counts().set_count(1);
        assert!(ArenaCore::drop_ref(Reference::new(part.header)));
    }
    assert_eq!(arena.reclaim(), 1);
}

#[test]
fn dropping_from_the_end_of_a_count_saturates_it() {
    let arena = ByteArena::atomic();
    let buf = arena.copy(b"kept");
    buf.header().counts().set_count(MOST);
    drop(buf.clone());
    assert_eq!(buf.references(), None);
    buf.header().counts().set_count(1);
    assert!(buf.release());
    assert_eq!(arena.reclaim(), 1);
}

/// An allocation took all that had come back, 25 ms after a million buffers.
#[test]
fn an_allocation_makes_few_of_the_buffers_free_that_came_back() {
    let count = amount(200, 20);
    let arena = ByteArena::builder()
        .atomic()
        .smallest(64)
        .largest(64)
        .chunk_bytes(amount(1 << 20, 1 << 12))
        .build();
    let bufs: Vec<_> = (0..count).map(|_| arena.alloc(64)).collect();
    std::thread::spawn(move || drop(bufs)).join().unwrap();
    let class = arena.core().last_class();
    // None is left that was made and not used, so the next one is of those that came back.
    let made = class.in_use() + class.depth();
    let rest: Vec<_> = (0..made - count).map(|_| arena.alloc(64)).collect();
    assert_eq!((class.in_use(), class.depth()), (made, 0));
    let mut kept = Vec::new();
    for round in 1..=count {
        kept.push(arena.alloc(64));
        // 16 at a time, and the one that was taken.
        assert_eq!(
            made - class.in_use(),
            16_usize.min(count - (round - 1) / 16 * 16) - (round - 1) % 16 - 1
        );
    }
    assert_eq!(arena.reclaim(), 0);
    drop((kept, rest));
    assert_eq!(arena.reclaim(), made);
    arena.check();
}

/// A class's buffers that came back are not looked for in another class's.
#[test]
fn a_request_at_the_limit_finds_what_came_back_to_its_class() {
    let builder = ByteArena::builder().atomic().smallest(64).chunk_bytes(1024);
    let arena = builder.max_bytes(6000).build();
    let fill = |size| std::iter::from_fn(|| arena.try_alloc(size).ok()).collect::<Vec<_>>();
    let large = fill(512);
    let small = fill(64);
    assert!(!large.is_empty() && arena.try_alloc(64).is_err());
    std::thread::spawn(move || drop((small, large)))
        .join()
        .unwrap();
    let again = arena.try_alloc(512).unwrap();
    assert_eq!(again.capacity(), 512);
    assert!(arena.try_alloc(64).is_ok());
}
