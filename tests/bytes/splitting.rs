//! Buffers whose first bytes are split off while the rest is filled: what each side reads, who
//! frees the buffer, and whose room it is.

use std::fmt::Write;
use std::thread;

use flatslab::bytes::{BufMut, ByteArena, LocError, References};

use crate::common::readers::{looks, message};
use crate::small;

fn filled<R: References>(arena: &ByteArena<R>, bytes: &[u8], size: usize) -> BufMut<R> {
    let mut buf = arena.alloc(size);
    buf.extend_from_slice(bytes).unwrap();
    buf
}

/// Both sides are dropped in this order, and the buffer is free only then.
fn ends_with_the_last<R: References>(arena: &ByteArena<R>, is_front_last: bool) {
    let mut buf = filled(arena, b"front, tail", 64);
    let front = buf.split_to(5);
    let clone = front.clone();
    assert_eq!((&*front, &*buf), (&b"front"[..], &b", tail"[..]));
    assert_eq!((front.references(), front.is_unique()), (Some(3), false));
    drop(clone);
    assert_eq!(arena.stats().in_use(), 1);
    if is_front_last {
        drop(buf);
        assert!(front.is_unique() && front.release());
    } else {
        assert!(!front.release());
        assert_eq!(*buf, *b", tail");
        drop(buf);
    }
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn the_last_of_both_sides_frees_the_buffer() {
    for is_front_last in [false, true] {
        ends_with_the_last(&small(512), is_front_last);
        ends_with_the_last(&ByteArena::atomic(), is_front_last);
    }
}

fn outlives_its_arena<R: References>(arena: ByteArena<R>, is_front_last: bool) {
    let mut buf = filled(&arena, b"front, tail", 64);
    let front = buf.split_to(5);
    drop(arena);
    buf.write_str("!").unwrap();
    assert_eq!((&*front, &*buf), (&b"front"[..], &b", tail!"[..]));
    if is_front_last {
        drop(buf);
        assert!(front.release());
    } else {
        drop(front);
        assert!(buf.try_reclaim(50));
        assert!(buf.freeze().release());
    }
}

#[test]
fn both_sides_outlive_their_arena() {
    for is_front_last in [false, true] {
        outlives_its_arena(small(512), is_front_last);
        outlives_its_arena(ByteArena::atomic(), is_front_last);
    }
}

#[test]
fn nothing_that_is_done_to_the_rest_reaches_the_front() {
    let arena = small(512);
    let mut buf = filled(&arena, b"0123456789", 20);
    let front = buf.split_to(4);
    assert_eq!((buf.len(), buf.capacity(), buf.remaining()), (6, 16, 10));
    buf.truncate(9);
    assert_eq!(buf.len(), 6);
    buf.truncate(1);
    buf[0] = b'x';
    buf.clear();
    buf.resize(16, b'-').unwrap();
    assert!(buf.extend_from_slice(b"x").is_err());
    buf.clear();
    buf.spare_capacity_mut()[0].write(b'y');
    // SAFETY: the first byte is written.
    unsafe { buf.set_len(1) };
    assert_eq!((&*front, &*buf), (&b"0123"[..], &b"y"[..]));
    let rest = buf.freeze();
    assert_eq!((&*front, &*rest), (&b"0123"[..], &b"y"[..]));
    assert_eq!(front.references(), Some(2));
}

#[test]
fn a_buffer_is_split_until_nothing_is_left() {
    let arena = small(512);
    let mut buf = filled(&arena, b"abc", 4);
    let none = buf.split_to(0);
    let parts = [buf.split_to(1), buf.split_to(2), buf.split()];
    assert_eq!((&*none, buf.len(), buf.capacity()), (&b""[..], 0, 1));
    buf.extend_from_slice(b"d").unwrap();
    let last = buf.split();
    assert_eq!((&*last, buf.capacity()), (&b"d"[..], 0));
    assert_eq!(parts.map(|it| it.to_vec()).concat(), b"abc");
    assert_eq!(*buf.freeze(), *b"");
    assert_eq!(last.references(), Some(2));
}

#[test]
fn more_than_is_filled_is_not_split_off() {
    let arena = small(512);
    let mut buf = filled(&arena, b"abc", 16);
    let message = message(|| drop(buf.split_to(4)));
    assert!(message.contains("cannot split off 4 bytes: the buffer has 3 bytes"));
    assert_eq!(*buf.freeze(), *b"abc");
}

#[test]
fn the_front_becomes_mutable_when_it_is_the_only_reference() {
    let arena = small(512);
    let mut buf = filled(&arena, b"0123456789", 20);
    let front = buf.split_to(4).try_into_mut().unwrap_err();
    let rest = buf.freeze();
    let front = front.try_into_mut().unwrap_err();
    drop(rest);
    let mut front = front.try_into_mut().unwrap();
    // Of the class of 32 bytes.
    assert_eq!((&*front, front.capacity()), (&b"0123"[..], 32));
    front.resize(32, b'-').unwrap();
    assert_eq!(*front.split_to(6), *b"0123--");
}

#[test]
fn what_is_left_of_the_class_becomes_available() {
    let arena = small(512);
    let mut buf = filled(&arena, b"0123", 20);
    assert!(buf.try_reclaim(0) && buf.capacity() == 32);
    assert!(buf.try_reclaim(28) && !buf.try_reclaim(29) && !buf.try_reclaim(usize::MAX));
    let front = buf.split_to(2);
    assert!(!buf.try_reclaim(29));
    let clone = front.clone();
    drop(front);
    assert!(!buf.try_reclaim(29));
    drop(clone);
    let before = arena.stats().allocs;
    assert!(buf.try_reclaim(30) && !buf.try_reclaim(31));
    assert_eq!((&*buf, buf.capacity()), (&b"23"[..], 32));
    assert_eq!(buf.as_ptr().addr() % 16, 0);
    // Mutable again, with one owner.
    buf.resize(32, b'-').unwrap();
    drop(buf);
    assert_eq!((arena.stats().in_use(), arena.stats().allocs), (0, before));
}

#[test]
fn positions_of_the_front_last_as_long_as_the_buffer_and_not_when_the_rest_moves() {
    let arena = small(512);
    let mut buf = filled(&arena, b"0123456789", 32);
    let front = buf.split_to(4);
    let (loc, held) = (front.slice(1..).loc(), front.into_loc());
    assert_eq!(arena.resolve(loc).unwrap(), *b"123");
    // No position leads to bytes that are being filled.
    let [serial, place] = loc.into_raw();
    let beyond = flatslab::bytes::Loc::from_raw([serial, place + 1]);
    assert_eq!(arena.resolve(beyond), Err(LocError::Range));
    assert!(!buf.try_reclaim(26));
    assert_eq!(arena.release(held), Ok(false));
    assert_eq!(arena.resolve(loc).unwrap(), *b"123");
    assert!(buf.try_reclaim(26));
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    let front = buf.split_to(6);
    assert_eq!(arena.resolve(front.loc()).unwrap(), *b"456789");
    let held = front.into_loc();
    drop(buf);
    assert_eq!(arena.release(held), Ok(true));
    assert_eq!(arena.stats().in_use(), 0);
}

fn keeps_its_chain<R: References>(arena: &ByteArena<R>) {
    let mut head = arena.copy(b"0123456789");
    head.set_next(arena.copy(b"next")).unwrap();
    // Dropped with its link, unsplit.
    let linked = |head: flatslab::bytes::Buf<R>| head.try_into_mut().unwrap();
    let mut buf = linked(head);
    let mut front = buf.split_to(4);
    assert_eq!(front.parts().collect::<Vec<_>>(), [&b"0123"[..], b"next"]);
    assert!(front.set_next(arena.copy(b"other")).is_err());
    assert!(front.take_next().is_err());
    drop(front);
    assert!(buf.try_reclaim(10));
    let mut head = buf.freeze();
    assert_eq!(head.next().unwrap(), *b"next");
    head.set_next(arena.copy(b"other")).unwrap();
    drop(linked(head));
    assert_eq!(arena.stats().in_use(), 0);
    // A front is linked like any reference.
    let mut buf = filled(arena, b"0123456789", 16);
    let mut first = arena.copy(b"first");
    first.set_next(buf.split_to(4)).unwrap();
    drop(first);
    assert!(buf.try_reclaim(10));
    drop(buf);
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn a_chain_stays_linked_to_both_sides() {
    keeps_its_chain(&small(512));
    keeps_its_chain(&ByteArena::atomic());
}

#[test]
fn the_rest_is_read_into_behind_the_front() {
    let arena = ByteArena::builder().smallest(32).chunk_bytes(32).build();
    let mut buf = filled(&arena, b"0123456789", 20);
    let front = buf.split_to(4);
    let mut seen = Vec::new();
    buf.read_from(&mut looks(&mut seen, b'a')).unwrap();
    assert_eq!((&*front, &*seen), (&b"0123"[..], &[0; 10][..]));
    assert_eq!(*buf, *b"456789aaaaaaaaaa");
    // Zeros were written once, also beyond the capacity, and not before the rest.
    drop(front);
    assert!(buf.try_reclaim(16));
    seen.clear();
    buf.read_from(&mut looks(&mut seen, b'b')).unwrap();
    assert_eq!(*seen, *b"aaaa\0\0\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn neighbours_of_one_buffer_are_joined() {
    let arena = small(512);
    let mut buf = filled(&arena, b"0123456789", 20);
    let [mut first, second] = [buf.split_to(4), buf.split_to(3)];
    let third = buf.freeze();
    // Not adjacent, or in the wrong order, or of another buffer that may be adjacent in memory.
    let third = first.try_unsplit(third).unwrap_err();
    let first_again = first.clone();
    let mut second = second;
    let first_again = second.try_unsplit(first_again).unwrap_err();
    drop(first_again);
    let [mut one, other] = [(); 2].map(|()| arena.copy(&[7; 16]));
    let other = one.try_unsplit(other).unwrap_err();
    let one = { other }.try_unsplit(one).unwrap_err();
    drop(one);
    first.try_unsplit(second).unwrap();
    first.try_unsplit(third).unwrap();
    assert_eq!((&*first, first.is_unique()), (&b"0123456789"[..], true));
    assert_eq!(arena.resolve(first.loc()).unwrap(), *b"0123456789");
    // Empty ones join where they are.
    let empty = first.slice(10..);
    first.try_unsplit(empty).unwrap();
    assert_eq!(first.len(), 10);
}

#[test]
fn one_buffer_at_the_limit_is_split_and_reclaimed_for_ever() {
    let arena = ByteArena::builder()
        .smallest(64)
        .largest(64)
        .chunk_bytes(64)
        .max_bytes(256)
        .build();
    let mut buf = arena.alloc(64);
    let others: Vec<_> = std::iter::from_fn(|| arena.try_alloc(64).ok()).collect();
    assert!(arena.try_alloc(64).is_err());
    let line = b"a line of some length\n";
    for round in 0..20 {
        let rest = line.len() - round;
        assert!(buf.try_reclaim(rest + line.len()));
        buf.extend_from_slice(&line[round..]).unwrap();
        assert_eq!(*buf.split_to(rest), line[round..]);
        buf.extend_from_slice(&line[..=round]).unwrap();
        // What was begun is ended in the next round.
        assert_eq!(buf.len(), round + 1);
        assert!(buf.split_to(round + 1).ends_with(&line[round..=round]));
    }
    drop(others);
}

#[test]
fn other_threads_have_the_front_while_the_rest_is_filled() {
    let arena = ByteArena::builder()
        .smallest(64)
        .largest(64)
        .atomic()
        .build();
    for round in 0..10_u8 {
        let mut buf = filled(&arena, &[round; 8], 64);
        let front = buf.split_to(6);
        let (reader, filler) = (
            thread::spawn(move || {
                assert_eq!(*front, [round; 6]);
                let clone = front.clone();
                drop(front);
                clone.try_into_mut().map(|it| it.capacity()).ok()
            }),
            thread::spawn(move || {
                buf.resize(40, round + 1).unwrap();
                let _ = buf.read_from(&mut &[round; 3][..]);
                let second = buf.split_to(2);
                assert_eq!(*second, [round; 2]);
                if round % 2 == 0 {
                    buf.try_reclaim(60);
                    drop(buf.freeze());
                }
            }),
        );
        let capacity = reader.join().unwrap();
        assert!(capacity.is_none_or(|it| it == 64));
        filler.join().unwrap();
    }
    arena.reclaim();
    assert_eq!(arena.stats().in_use(), 0);
}
