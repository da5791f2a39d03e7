//! Buffers that outlive their arena, and what is forgotten.

use std::mem::forget;

use flatslab::bytes::{Buf, BufMut, ByteArena, LocError};

use crate::source::Counted;

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_last_buffer_gives_the_memory_back() {
    type Last = fn(&ByteArena) -> Box<dyn FnOnce()>;
    fn text(arena: &ByteArena) -> Buf {
        arena.try_copy(b"some bytes of it").unwrap()
    }
    fn check(buf: &[u8]) {
        assert_eq!(buf, b"some bytes of it");
    }
    let holders: [(&str, Last); 9] = [
        ("buffer", |arena| {
            let buf = text(arena);
            Box::new(move || check(&buf))
        }),
        ("slice", |arena| {
            let buf = text(arena).slice(..1);
            Box::new(move || assert_eq!(buf, *b"s"))
        }),
        ("buffer, released", |arena| {
            let buf = text(arena);
            Box::new(move || assert!(buf.release()))
        }),
        ("two references", |arena| {
            let buf = text(arena);
            Box::new(move || {
                let second = buf.clone();
                drop(buf);
                check(&second);
            })
        }),
        ("mutable", |arena| {
            let buf = arena.try_alloc(10).unwrap();
            Box::new(move || drop(buf))
        }),
        ("mutable, frozen", |arena| {
            let mut buf = arena.try_alloc(10).unwrap();
            Box::new(move || {
                buf.extend_from_slice(b"later").unwrap();
                assert_eq!(buf.freeze(), *b"later");
            })
        }),
        ("shared, then mutable", |arena| {
            let buf = text(arena);
            Box::new(move || check(&buf.try_into_mut().unwrap()))
        }),
        ("chain", |arena| {
            let mut head = text(arena);
            head.set_next(text(arena)).unwrap();
            Box::new(move || check(&head.take_next().unwrap().unwrap()))
        }),
        ("tail of a chain", |arena| {
            let mut head = text(arena);
            head.set_next(text(arena)).unwrap();
            let tail = head.next().unwrap();
            Box::new(move || check(&tail))
        }),
    ];
    for (name, holder) in holders {
        let source = Counted::new();
        let arena = ByteArena::builder().chunk_bytes(4096).pages(source.pages());
        let arena = arena.build();
        let last = holder(&arena);
        drop(arena);
        assert!(source.bytes() > 4096, "{name} holds the memory");
        last();
        source.expect_all_back();
    }
}

#[test]
fn buffers_are_dropped_after_their_arena_in_any_order() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let source = Counted::new();
        let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
        let arena = arena.build();
        let mut kept: Vec<Option<Buf>> = (0..3)
            .map(|number| Some(crate::owned_by(&arena, number, 100)))
            .collect();
        drop(arena);
        for place in order {
            let buf = kept[place].take().unwrap();
            crate::expect_owner(&buf, place as u8);
            assert!(source.bytes() > 0);
        }
        source.expect_all_back();
    }
}

#[test]
fn references_of_positions_are_given_back_with_the_arena() {
    let source = Counted::new();
    let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
    let arena = arena.build();
    let buf = arena.try_copy(b"kept").unwrap();
    let _locs = [(); 3].map(|()| buf.clone().into_loc());
    let _alone = arena.try_copy(b"only by its position").unwrap().into_loc();
    let mut head = arena.try_copy(b"head").unwrap();
    head.set_next(arena.try_copy(b"tail").unwrap()).unwrap();
    let _chain = head.into_loc();
    assert_eq!((buf.references(), arena.stats().held_by_locs), (Some(4), 5));
    drop(arena);
    assert_eq!(buf.references(), Some(1));
    assert_eq!(buf, *b"kept");
    drop(buf);
    source.expect_all_back();
}

#[test]
fn no_position_is_made_once_the_arena_is_dropped() {
    let arena = ByteArena::new();
    let buf = arena.try_copy(b"kept").unwrap();
    let loc = buf.loc();
    drop(arena);
    assert_eq!(buf.try_loc(), Err(LocError::Closed));
    let buf = buf.try_into_loc().unwrap_err();
    assert_eq!(buf, *b"kept");
    assert!(crate::common::panics(|| buf.loc()));
    assert_eq!(ByteArena::new().resolve(loc), Err(LocError::Foreign));
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn what_is_forgotten_is_lost_and_nothing_else() {
    let source = Counted::new();
    let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
    let arena = arena.build();
    let buf: Buf = arena.try_copy(b"kept").unwrap();
    let buf_mut: BufMut = arena.try_alloc(9).unwrap();
    let slice = buf.slice(1..);
    let loc = buf.clone().into_loc();
    let mut head = arena.try_copy(b"head").unwrap();
    head.set_next(arena.try_copy(b"tail").unwrap()).unwrap();
    forget(slice);
    forget(buf_mut);
    forget(head);
    assert_eq!(buf.references(), Some(3));
    assert!(!arena.release(loc).unwrap());
    drop(buf);
    // The chunks of the four buffers are never used again.
    assert_eq!(arena.stats().in_use(), 4);
    assert_eq!(crate::shrunk(&arena), 0);
    for number in 0..20 {
        let others = [(); 3].map(|()| crate::owned_by(&arena, number, 64));
        others
            .iter()
            .for_each(|buf| crate::expect_owner(buf, number));
    }
    drop(arena);
    assert!(source.bytes() > 0, "the memory stays");

    let arena = ByteArena::new();
    let buf = arena.try_copy(b"kept").unwrap();
    forget(arena);
    assert_eq!(buf, *b"kept");
}
