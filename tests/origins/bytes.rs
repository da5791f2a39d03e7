//! An arena of byte buffers with reference counts, chains and positions, and a ring on top of it
//! (go-slab): what its documentation shows, and its totals by the names they have here.

use flatslab::bytes::{BufMut, ByteArena, References, Ring};

/// `NewArena`, `Alloc`, `AddRef`, `DecRef`: the buffer comes back with its last reference.
fn references<R: References>(arena: &ByteArena<R>) {
    let mut buf: BufMut<R> = arena.alloc(10);
    buf.extend_from_slice(b"0123456789").unwrap();
    let buf = buf.freeze();
    let other = buf.clone();
    assert!(arena.owns(&buf));
    drop(buf);
    assert_eq!(
        (&other[..], arena.stats().in_use()),
        (&b"0123456789"[..], 1)
    );
    drop(other);
    arena.shrink_to_fit();
    assert_eq!(arena.stats().in_use(), 0);
}

/// `SetNext`, `GetNext`: large values are chains, which come back as one.
fn chains<R: References>(arena: &ByteArena<R>) {
    let mut head = arena.copy(b"hello");
    assert!(head.set_next(arena.copy(b" world")).unwrap().is_none());
    assert_eq!(&head.next().unwrap()[..], b" world");
    assert_eq!(head.parts().collect::<Vec<_>>().concat(), b"hello world");
    assert_eq!(arena.stats().in_use(), 2);
    drop(head);
    arena.shrink_to_fit();
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn buffers_of_one_thread_and_of_many() {
    let arena = ByteArena::builder()
        .smallest(48)
        .chunk_bytes(1 << 20)
        .growth(2.0)
        .build();
    references(&arena);
    chains(&arena);
    let arena = ByteArena::atomic();
    references(&arena);
    chains(&arena);
}

/// `BufToLoc`, `LocToBuf`: a position of 16 bytes in place of a pointer, for large tables.
#[test]
fn positions() {
    let arena = ByteArena::new();
    let loc = arena.copy(b"value").into_loc();
    assert_eq!(&arena.resolve(loc).unwrap()[..], b"value");
    arena.release(loc).unwrap();
    assert!(arena.resolve(loc).is_err());
}

/// A thousand writes through a ring of ten entries.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_ring_keeps_the_newest() {
    let mut ring = Ring::with_capacity(10, 40);
    for number in 0..1000_u32 {
        ring.push(&number.to_le_bytes()).unwrap();
    }
    let kept: Vec<u32> = std::iter::from_fn(|| ring.pop())
        .map(|entry| u32::from_le_bytes(entry[..].try_into().unwrap()))
        .collect();
    assert_eq!(kept, (990..1000).collect::<Vec<_>>());
}

/// Each of the totals after one step that changes it.
#[cfg(feature = "stats")]
#[test]
fn all_totals_are_counted() {
    fn run<R: References>(arena: &ByteArena<R>) {
        let before = arena.stats();
        let mut head = arena.copy(b"head"); // an allocation
        let tail = arena.copy(b"tail"); // and another one
        head.set_next(tail).unwrap(); // a link is set
        let next = head.next().unwrap(); // asked for, and a reference
        let other = next.clone(); // a reference
        drop((next, other)); // given back
        drop(head); // the last ones of both
        assert!(arena.try_alloc(usize::MAX).is_err()); // too large
        let after = arena.stats();
        assert_eq!(after.allocs - before.allocs, 2);
        assert_eq!(after.set_nexts - before.set_nexts, 1);
        assert_eq!(after.get_nexts - before.get_nexts, 1);
        assert_eq!(after.add_refs - before.add_refs, 2);
        assert_eq!(after.dec_ref_zeroes - before.dec_ref_zeroes, 2);
        assert!(after.dec_refs - before.dec_refs >= 3);
        assert_eq!(after.too_large_errs - before.too_large_errs, 1);
        assert!(after.mallocs > before.mallocs && after.malloc_errs == 0);
        let class = after
            .classes()
            .iter()
            .find(|class| class.chunks > 0)
            .unwrap();
        assert_eq!(class.free + class.in_use, class.buffers);
        assert!(class.size >= 4 && class.chunks == 1);
    }

    run(&ByteArena::new());
    run(&ByteArena::atomic());
}
