//! Counts near their end, which no test comes to by counting; threads that stop where no test
//! stops them.

use core::ptr::NonNull;

use super::ByteArena;
#[cfg(target_has_atomic = "64")]
use super::SharedRing;
#[cfg(target_has_atomic = "64")]
use super::positions::HELD_MOST;
use super::record::{MOST, Record};

#[test]
fn a_count_that_comes_to_its_end_stays_there_and_the_chunk_is_never_free() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"kept").unwrap();
    buf.record().set_count(MOST - 1);
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
    let record = NonNull::from(buf.record());
    assert!(!buf.release());
    assert_eq!((arena.reclaim(), arena.stats().in_use()), (0, 1));
    arena.check();
    // SAFETY: the chunk is still in use, and this is the only thread.
    unsafe {
        record.as_ref().set_count(1);
        assert!(Record::drop_ref(record));
    }
    assert_eq!(arena.reclaim(), 1);
}

#[test]
fn dropping_from_the_end_of_a_count_saturates_it() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"kept").unwrap();
    buf.record().set_count(MOST);
    drop(buf.clone());
    assert_eq!(buf.references(), None);
    buf.record().set_count(1);
    assert!(buf.release());
    assert_eq!(arena.reclaim(), 1);
}

#[cfg(target_has_atomic = "64")]
#[test]
fn a_reader_that_stops_before_it_moves_the_head_stops_no_other_thread() {
    for capacity in [1, 2, 3] {
        let ring = SharedRing::with_capacity(capacity, 16);
        for _ in 0..capacity {
            ring.push(b"old").unwrap();
        }
        let stopped = ring.pop_and_stop();
        // The place of its entry is filled again.
        assert_eq!(ring.push(b"new").unwrap(), None);
        let evicted = ring.push(b"newest").unwrap().unwrap();
        assert_eq!((evicted.sequence, evicted.count), (1, 1));
        assert_eq!(ring.len(), capacity);
        let sequences = core::iter::from_fn(|| Some(ring.pop()?.sequence()));
        assert!(sequences.eq(2..2 + capacity as u64));
        assert_eq!((&*stopped, stopped.sequence()), (&b"old"[..], 0));
        drop(stopped);
        assert_eq!(ring.free_chunks(), capacity + 1 + 2 * 2);
    }
}

#[cfg(target_has_atomic = "64")]
#[test]
fn references_of_positions_saturate_with_the_count() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"kept").unwrap();
    let record = NonNull::from(buf.record());
    let loc = buf.loc();
    buf.record().set_count(MOST - 1);
    // This one comes to the end of the count.
    let resolved = arena.resolve(loc).unwrap();
    assert_eq!(resolved.references(), None);
    buf.record().set_held(HELD_MOST - 1);
    assert_eq!((buf.into_loc(), resolved.into_loc()), (loc, loc));
    for _ in 0..3 {
        assert_eq!(arena.release(loc), Ok(false));
        assert_eq!(arena.resolve(loc).unwrap(), *b"kept");
    }
    let buf = arena.resolve(loc).unwrap();
    let buf = buf.try_into_mut().unwrap_err();
    assert!(!buf.release());
    // SAFETY: the chunk is still in use, and this is the only thread.
    unsafe {
        record.as_ref().set_count(1);
        record.as_ref().set_held(1);
    }
    assert_eq!(arena.release(loc), Ok(true));
    assert_eq!(arena.reclaim(), 1);
}

#[cfg(target_has_atomic = "64")]
#[test]
fn a_writer_that_stops_before_it_moves_the_tail_stops_no_other_thread() {
    for capacity in [1, 2, 3] {
        let ring = SharedRing::with_capacity(capacity, 16);
        ring.push_and_stop();
        // Its entry is gone before the tail says that it was there.
        assert_eq!(ring.pop().unwrap().sequence(), 0);
        assert!(ring.pop().is_none() && ring.is_empty());
        assert_eq!(ring.push(b"new").unwrap(), None);
        assert_eq!(ring.pop().unwrap().sequence(), 1);
        assert!(ring.pop().is_none());
        assert_eq!(ring.free_chunks(), capacity + 1 + 2 * 2);
    }
}

#[cfg(target_has_atomic = "64")]
#[test]
fn an_arena_goes_whose_positions_hold_more_references_than_were_counted() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"kept").unwrap();
    let second = buf.clone();
    let _ = buf.clone().into_loc();
    buf.record().set_count(MOST);
    buf.record().set_held(HELD_MOST);
    drop(arena);
    assert_eq!(buf.references(), None);
    assert!(!buf.release());
    second.record().set_count(1);
    assert!(second.release());
}
