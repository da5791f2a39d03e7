//! Tests that need more than the public methods: counts that saturate, and random programs
//! with the invariants walked after every step.

use core::cell::Cell;

use proptest::prelude::*;

use super::{ByteArena, References};
use crate::common::{amount, by_speed};

mod atomic;
mod chains;
mod idle;
#[path = "../../../tests/bytes/program/mod.rs"]
mod program;

std::thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts a chunk that is looked at.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// Returns how many chunks `f` looks at.
fn steps(f: impl FnOnce()) -> usize {
    let before = STEPS.get();
    f();
    STEPS.get() - before
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn arenas_keep_their_invariants_at_every_step() {
    let length = 1..amount(400, 50);
    let config = ProptestConfig {
        cases: amount(by_speed(1000, 300), 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<u8>(), length);
    proptest!(config, |(program in programs)| program::run(&program, ByteArena::check_positions));
}

/// The most references that are counted.
const MOST: u32 = 1 << 31;

/// Sets the count of a buffer, which from then on is not what there is.
fn with_count(arena: &ByteArena, count: u32) -> super::Buf {
    let buf = arena.copy(b"hello");
    buf.header().counts().set_count(count);
    buf
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_count_that_saturates_never_frees_the_chunk() {
    let arena = ByteArena::new();
    let buf = with_count(&arena, MOST - 1);
    assert_eq!(buf.references(), Some(MOST as usize - 1));
    let second = buf.clone();
    assert_eq!(buf.references(), None);
    let third = buf.slice(1..);
    assert_eq!((buf.references(), buf.is_unique()), (None, false));
    // More of them, and fewer: it stays.
    for _ in 0..9 {
        core::mem::forget(buf.clone());
        assert!(!buf.clone().release());
        assert_eq!(buf.references(), None);
    }
    drop((second, third));
    assert!(!buf.release());
    assert_eq!(arena.stats().in_use(), 1);
    arena.shrink_to_fit();
    assert!(arena.stats().chunk_bytes > 0);
    let other = arena.copy(b"other");
    assert_eq!(other, *b"other");
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_saturated_buffer_refuses_what_takes_one_reference() {
    let arena = ByteArena::new();
    let mut buf = with_count(&arena, MOST);
    drop(buf.clone());
    assert_eq!(buf.references(), None);
    assert!(buf.next_mut().is_err() && buf.take_next().is_err());
    assert!(buf.set_next(arena.copy(b"next")).is_err());
    let buf = buf.try_into_mut().unwrap_err();
    let mut ring = super::Ring::builder().entries(1).max_len(16).build();
    ring.push_buf(buf.clone());
    ring.push(b"overwrites nothing").unwrap_err();
    ring.push(b"overwrites no").unwrap().unwrap();
    assert_eq!(buf, *b"hello");
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn positions_of_a_saturated_buffer_give_nothing_back() {
    let arena = ByteArena::new();
    let buf = with_count(&arena, MOST);
    let loc = buf.clone().into_loc();
    assert_eq!(buf.references(), None);
    assert_eq!(arena.resolve(loc).unwrap(), buf);
    assert!(!arena.release(loc).unwrap());
    assert!(arena.release(loc).is_err());
    let _held = buf.clone().into_loc();
    // The arena takes its references back from what still counts.
    drop(arena);
    assert_eq!((&*buf, buf.references()), (&b"hello"[..], None));
    assert!(!buf.release());
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn the_count_of_held_references_saturates() {
    let arena = ByteArena::new();
    let buf = with_count(&arena, MOST);
    let loc = buf.clone().into_loc();
    buf.header().counts().set_held(u32::MAX - 1);
    let _more = [(); 3].map(|()| buf.clone().into_loc());
    assert_eq!(buf.header().counts().held(), u32::MAX);
    for _ in 0..9 {
        assert!(!arena.release(loc).unwrap());
        assert_eq!(buf.header().counts().held(), u32::MAX);
    }
    assert_eq!(buf, *b"hello");
}
