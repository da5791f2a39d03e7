//! Positions: what they hold, when they are stale, and of whom.

use flatslab::bytes::{Buf, ByteArena, Loc, LocError};

use crate::common::amount;
use crate::{expect_owner, owned_by, small};

#[test]
fn a_position_of_a_buffer_leads_to_it_and_holds_nothing() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 40);
    let loc = buf.loc();
    assert_eq!((loc, loc.len()), (buf.loc(), 40));
    let again = arena.resolve(loc).unwrap();
    assert_eq!((again.as_ptr(), again.len()), (buf.as_ptr(), 40));
    assert_eq!(buf.references(), Some(2));
    drop(buf);
    expect_owner(&arena.resolve(loc).unwrap(), 7);
    drop(again);
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
}

#[test]
fn a_position_of_a_slice_leads_to_the_slice() {
    let arena = small(512);
    let buf = arena.try_copy(b"0123456789").unwrap();
    let mut inner = buf.slice(2..8);
    inner.advance(1);
    inner.truncate(3);
    let loc = inner.into_loc();
    assert_eq!(arena.resolve(loc).unwrap(), *b"345");
    assert_eq!(arena.resolve(buf.slice(10..).loc()).unwrap(), *b"");
    assert!(!arena.release(loc).unwrap());
}

#[test]
fn raw_words_come_back_as_the_position() {
    let arena = small(512);
    let locs: Vec<_> = (0..9)
        .map(|len| owned_by(&arena, 1, len).into_loc())
        .collect();
    for (len, loc) in locs.into_iter().enumerate() {
        let again = Loc::from_raw(loc.into_raw());
        assert_eq!((again, again.len()), (loc, len));
        assert!(arena.release(again).unwrap());
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
}

/// Makes the position of a buffer stale.
type Way = fn(&ByteArena, Buf);

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_position_stays_stale_whatever_happens_to_the_chunk() {
    let ways: [(&str, Way); 6] = [
        ("dropped", |_, buf| drop(buf)),
        ("released", |_, buf| assert!(buf.release())),
        ("mutable and dropped", |_, buf| {
            drop(buf.try_into_mut().unwrap());
        }),
        ("mutable and shared again", |_, buf| {
            drop(buf.try_into_mut().unwrap().freeze());
        }),
        ("its link borrowed", |_, mut buf| {
            assert!(buf.next_mut().unwrap().is_none());
        }),
        ("held by a position, which was released", |arena, buf| {
            assert!(arena.release(buf.into_loc()).unwrap());
        }),
    ];
    for (name, way) in ways {
        let arena = small(64);
        let buf = owned_by(&arena, 7, 30);
        let (loc, place) = (buf.loc(), buf.as_ptr());
        way(&arena, buf);
        let expect_stale = |arena: &ByteArena| {
            assert_eq!(arena.resolve(loc), Err(LocError::Stale), "{name}");
            assert_eq!(arena.release(loc), Err(LocError::Stale), "{name}");
        };
        expect_stale(&arena);
        // The chunk is used again, by one that has positions of its own.
        let second = owned_by(&arena, 8, 30);
        assert_eq!(second.as_ptr(), place);
        expect_stale(&arena);
        let held = second.clone().into_loc();
        expect_stale(&arena);
        expect_owner(&arena.resolve(held).unwrap(), 8);
        assert_eq!(second.references(), Some(2), "{name}");
        drop(second);
        assert!(arena.release(held).unwrap());
        // Its memory is given back, and the number is another buffer's.
        assert_eq!(crate::shrunk(&arena), 1);
        expect_stale(&arena);
        let third = owned_by(&arena, 9, 30);
        let _held = third.into_loc();
        expect_stale(&arena);
    }
}

#[test]
fn a_position_is_stale_once_its_chunk_was_given_back() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(1024)
        .max_bytes(2400);
    let arena = arena.build();
    let locs: Vec<_> = (0..10)
        .map(|number| owned_by(&arena, number, 60).into_loc())
        .collect();
    for loc in &locs {
        arena.release(*loc).unwrap();
    }
    assert_eq!(crate::shrunk(&arena), 1);
    let large = owned_by(&arena, 99, 500);
    let held = large.clone().into_loc();
    for loc in locs {
        assert_eq!(arena.resolve(loc), Err(LocError::Stale));
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
    expect_owner(&large, 99);
    assert!(!arena.release(held).unwrap());
}

#[test]
fn a_position_of_another_arena_is_foreign() {
    let (arena, other) = (small(512), small(512));
    let (buf, same_place) = (owned_by(&arena, 1, 30), owned_by(&other, 2, 30));
    let (loc, _other_loc) = (buf.clone().into_loc(), same_place.clone().into_loc());
    assert_eq!(other.resolve(loc), Err(LocError::Foreign));
    assert_eq!(other.release(loc), Err(LocError::Foreign));
    assert_eq!(
        (buf.references(), same_place.references()),
        (Some(2), Some(2))
    );
    arena.release(loc).unwrap();
    assert_eq!(other.resolve(loc), Err(LocError::Foreign));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_position_is_foreign_to_an_arena_that_was_made_in_the_same_memory() {
    for number in 0..amount(100, 2) {
        let arena = small(512);
        let loc = owned_by(&arena, number, 30).into_loc();
        drop(arena);
        // As a rule the allocator gives the same memory.
        let arena = small(512);
        let held = owned_by(&arena, number + 1, 30).into_loc();
        assert_eq!(arena.resolve(loc), Err(LocError::Foreign));
        assert_eq!(arena.release(loc), Err(LocError::Foreign));
        expect_owner(&arena.resolve(held).unwrap(), number + 1);
    }
}

#[test]
fn a_second_release_frees_no_clone_s_bytes() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 30);
    let loc = buf.clone().into_loc();
    assert!(!arena.release(loc).unwrap());
    for _ in 0..9 {
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
    assert_eq!(buf.references(), Some(1));
    expect_owner(&buf, 7);
    assert_eq!(arena.resolve(loc).unwrap(), buf, "it still leads there");
}

#[test]
fn a_position_that_holds_nothing_cannot_be_released() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 30);
    let (loc, clone) = (buf.loc(), buf.clone());
    assert_eq!(arena.release(loc), Err(LocError::Stale));
    assert_eq!(buf.references(), Some(2));
    drop(clone);
    assert_eq!(arena.release(loc), Err(LocError::Stale));
    expect_owner(&buf, 7);
}

#[test]
fn as_many_references_are_released_as_positions_hold() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 30);
    let locs = [..30, ..20, ..0].map(|range| buf.slice(range).into_loc());
    let clone = buf.clone();
    assert_eq!((buf.references(), arena.stats().held_by_locs), (Some(5), 3));
    // Equal rights: each of them may give back any of the three.
    for _ in 0..3 {
        assert!(!arena.release(locs[1]).unwrap());
    }
    for loc in locs {
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
    assert_eq!((buf.references(), arena.stats().held_by_locs), (Some(2), 0));
    drop(buf);
    let loc = clone.into_loc();
    assert!(arena.release(loc).unwrap());
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn a_chunk_that_is_filled_has_no_position() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 30);
    let loc = buf.loc();
    let buf = buf.try_into_mut().unwrap();
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    assert_eq!(arena.release(loc), Err(LocError::Stale));
    let buf = buf.freeze();
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    let fresh = buf.loc();
    assert_ne!(fresh, loc);
    assert_eq!(arena.resolve(fresh).unwrap(), buf);
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
}

#[test]
fn a_clone_that_was_resolved_keeps_the_buffer_after_the_release() {
    let arena = small(512);
    let loc = owned_by(&arena, 7, 30).into_loc();
    let buf = arena.resolve(loc).unwrap();
    assert!(!arena.release(loc).unwrap());
    expect_owner(&arena.resolve(loc).unwrap(), 7);
    drop(buf);
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
}

#[test]
fn positions_print_and_hash_as_what_they_are() {
    let arena = small(512);
    let buf = arena.try_copy(b"0123456789").unwrap();
    let loc = buf.slice(2..5).loc();
    let text = format!("{loc:?}");
    assert!(
        text.contains("start: 2") && text.contains("len: 3"),
        "{text}"
    );
    let set: std::collections::HashSet<Loc> = [loc, loc, buf.loc()].into();
    assert_eq!(set.len(), 2);
    assert_eq!(size_of::<Loc>(), 16);
    for error in [
        LocError::Foreign,
        LocError::Stale,
        LocError::Range,
        LocError::Closed,
        LocError::TooMany,
    ] {
        assert!(error.to_string().len() > 10);
    }
}
