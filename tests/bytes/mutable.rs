//! From shared to mutable and back.

use flatslab::bytes::LocError;

use crate::{expect_owner, owned_by, small};

#[test]
fn the_one_reference_becomes_mutable_with_room_to_the_end_of_the_chunk() {
    let arena = small(512);
    let buf = arena.try_copy(b"hello").unwrap();
    let mut buf = buf.try_into_mut().unwrap();
    // Of the class of 16 bytes.
    assert_eq!((buf.len(), buf.capacity()), (5, 16));
    buf.extend_from_slice(b" large world").unwrap_err();
    buf.extend_from_slice(b" there world").unwrap_err();
    buf.extend_from_slice(b" worlds").unwrap();
    assert_eq!(*buf, *b"hello worlds");
}

#[test]
fn a_shared_buffer_comes_back_whole() {
    let arena = small(512);
    let buf = arena.try_copy(b"hello").unwrap();
    let slice = buf.slice(1..3);
    let slice = slice.try_into_mut().unwrap_err();
    assert_eq!((&*slice, buf.references()), (&b"el"[..], Some(2)));
    drop(buf);
    assert!(slice.try_into_mut().is_ok());
}

#[test]
fn a_reference_that_a_position_holds_counts() {
    let arena = small(512);
    let buf = arena.try_copy(b"hello").unwrap();
    let loc = buf.clone().into_loc();
    let buf = buf.try_into_mut().unwrap_err();
    arena.release(loc).unwrap();
    assert!(buf.try_into_mut().is_ok());
}

#[test]
fn a_reference_that_a_chain_holds_counts() {
    let arena = small(512);
    let tail = arena.try_copy(b"tail").unwrap();
    let mut head = arena.try_copy(b"head").unwrap();
    head.set_next(tail.clone()).unwrap();
    let tail = tail.try_into_mut().unwrap_err();
    drop(head);
    assert!(tail.try_into_mut().is_ok());
}

#[test]
fn a_slice_in_the_middle_has_the_room_after_it() {
    let arena = small(512);
    let slice = arena.try_copy(b"0123456789abcdef0123").unwrap().slice(4..6);
    let mut buf = slice.try_into_mut().unwrap();
    // Of the class of 32 bytes.
    assert_eq!((&*buf, buf.capacity()), (&b"45"[..], 28));
    buf.resize(28, b'-').unwrap();
    assert!(buf.extend_from_slice(b"x").is_err());
    let buf = buf.freeze();
    assert_eq!((buf.len(), &buf[..3]), (28, &b"45-"[..]));
    // Again, of a part of the part, which begins at the last byte, and after it.
    let part = buf.slice(27..);
    drop(buf);
    let buf = part.try_into_mut().unwrap();
    assert_eq!((&*buf, buf.capacity()), (&b"-"[..], 1));
    let part = buf.freeze().split_to(0);
    assert_eq!(part.as_ptr().addr() % 16, 15);
    let mut part = part.try_into_mut().unwrap();
    part.resize(1, b'+').unwrap();
    let mut part = part.freeze();
    part.advance(1);
    let buf = part.try_into_mut().unwrap();
    assert_eq!((buf.len(), buf.capacity()), (0, 0));
    let loc = buf.freeze().into_loc();
    assert_eq!(arena.resolve(loc).unwrap(), *b"");
}

#[test]
fn bytes_that_were_cut_off_are_no_longer_of_the_buffer() {
    let arena = small(512);
    let mut buf = arena
        .try_copy(b"0123456789")
        .unwrap()
        .try_into_mut()
        .unwrap();
    buf.truncate(4);
    let buf = buf.freeze();
    assert_eq!(buf, *b"0123");
    assert!(buf.try_slice(..5).is_none());
    // A forged position does not reach them either.
    let [serial, place] = buf.loc().into_raw();
    let longer = flatslab::bytes::Loc::from_raw([serial, place + 1]);
    assert_eq!(longer.len(), 5);
    assert_eq!(arena.resolve(longer), Err(LocError::Range));
}

#[test]
fn neighbours_keep_their_bytes_while_one_is_filled_to_the_end() {
    let arena = small(512);
    let bufs: Vec<_> = (0..8).map(|number| owned_by(&arena, number, 60)).collect();
    for (number, buf) in (0..).zip(bufs) {
        let neighbours: Vec<_> = (100..108).map(|it| owned_by(&arena, it, 64)).collect();
        let mut buf = buf.try_into_mut().unwrap();
        expect_owner(&buf, number);
        let capacity = buf.capacity();
        buf.resize(capacity, number).unwrap();
        for (number, neighbour) in (100..).zip(&neighbours) {
            expect_owner(neighbour, number);
        }
        expect_owner(&buf, number);
    }
}

#[test]
fn a_mutable_buffer_that_is_dropped_gives_its_chunk_back() {
    let arena = small(512);
    drop(arena.try_alloc(40).unwrap());
    drop(arena.try_copy(b"bytes").unwrap().try_into_mut().unwrap());
    assert_eq!(arena.stats().in_use(), 0);
    let buf = arena.try_copy(b"bytes").unwrap();
    let place = buf.as_ptr();
    drop(buf.try_into_mut().unwrap());
    assert_eq!(
        arena.try_copy(b"again").unwrap().as_ptr(),
        place,
        "last in, first out"
    );
}
