//! Readers that keep buffers of a ring, as many as it was made for and more.

use flatslab::bytes::{Buf, RequestError, Ring};

use crate::expect_owner;

fn ring(entries: usize, in_flight: usize) -> Ring {
    Ring::builder()
        .entries(entries)
        .max_len(16)
        .in_flight(in_flight)
        .build()
}

/// Pops `count` buffers, of a ring that is filled for it, with numbers from 100 on.
fn pop_many(ring: &mut Ring, count: usize) -> Vec<Buf> {
    (100..)
        .take(count)
        .map(|number| {
            ring.clear();
            ring.push(&[number; 16]).unwrap();
            ring.pop().unwrap()
        })
        .collect()
}

#[track_caller]
fn expect_kept(kept: &[Buf]) {
    for (number, buf) in (100..).zip(kept) {
        expect_owner(buf, number);
    }
}

#[test]
fn as_many_as_in_flight_take_no_room_from_entries() {
    for in_flight in 0..4 {
        let mut ring = ring(3, in_flight);
        let kept = pop_many(&mut ring, in_flight);
        for number in 0..9 {
            assert!(ring.push(&[number; 16]).is_ok());
        }
        assert_eq!(ring.len(), 3);
        expect_kept(&kept);
    }
}

#[test]
fn more_than_in_flight_leave_fewer_entries_and_no_stall() {
    for in_flight in 0..3 {
        for more in 1..3 {
            let mut ring = ring(3, in_flight);
            let kept = pop_many(&mut ring, in_flight + more);
            for number in 0..9 {
                let evicted = ring.push(&[number; 16]).unwrap();
                let is_first = usize::from(number) < 3 - more;
                assert_eq!(evicted.is_none(), is_first, "{number}");
                expect_owner(ring.get(ring.len() - 1).unwrap(), number);
            }
            assert_eq!(ring.len(), 3 - more);
            expect_kept(&kept);
            // With what they give back it is filled again.
            drop(kept);
            (0..9).for_each(|number| assert!(ring.push(&[number; 16]).is_ok()));
            assert_eq!(ring.len(), 3);
        }
    }
}

#[test]
fn a_push_fails_when_readers_have_all_and_evicts_nothing() {
    let mut ring = ring(2, 1);
    let mut kept = pop_many(&mut ring, 3);
    for _ in 0..3 {
        let error = ring.push(b"more").unwrap_err();
        assert!(matches!(error, RequestError::Memory(_)));
    }
    assert_eq!((ring.len(), ring.evicted(), ring.pushed()), (0, 0, 3));
    expect_kept(&kept);
    kept.truncate(2);
    assert_eq!(ring.push(b"more"), Ok(None));
    assert_eq!(ring.push(b"next").unwrap().unwrap().sequence, 3);
}

#[test]
fn a_push_fails_when_readers_have_clones_of_all_and_evicts_nothing() {
    let mut ring = ring(2, 1);
    let mut kept = pop_many(&mut ring, 1);
    ring.push(&[101; 16]).unwrap();
    ring.push(&[102; 16]).unwrap();
    kept.extend(ring.iter().cloned());
    let before = (ring.pushed(), ring.evicted());
    assert!(matches!(ring.push(b"more"), Err(RequestError::Memory(_))));
    assert_eq!((ring.len(), (ring.pushed(), ring.evicted())), (2, before));
    expect_kept(&kept);
}

#[test]
fn a_clone_of_an_entry_survives_its_overwriting() {
    let mut ring = ring(2, 1);
    ring.push(&[100; 16]).unwrap();
    let kept = ring.get(0).unwrap().clone();
    for number in 0..9 {
        ring.push(&[number; 16]).unwrap();
        assert!(kept.len() == 16);
        expect_kept(std::slice::from_ref(&kept));
    }
    assert_eq!(ring.len(), 2);
    assert!(kept.is_unique());
}

/// One reader keeps a popped buffer, another one a clone of the oldest entry. The newer
/// entries are no one's, so a push has what to overwrite.
#[test]
fn a_clone_of_the_oldest_entry_stalls_no_ring_with_entries_that_no_one_reads() {
    let mut ring = ring(3, 1);
    let mut kept = pop_many(&mut ring, 1);
    for number in 101..104 {
        ring.push(&[number; 16]).unwrap();
    }
    kept.push(ring.get(0).unwrap().clone());
    for number in 0..9 {
        let pushed = ring.push(&[number; 16]);
        assert!(pushed.is_ok(), "two of four buffers are read: {pushed:?}");
        expect_owner(ring.get(ring.len() - 1).unwrap(), number);
        expect_kept(&kept);
    }
    // The clone's entry left the ring too, and then each push overwrote one.
    assert_eq!((ring.len(), ring.pushed(), ring.evicted()), (2, 13, 10));
    assert_eq!(ring.push(b"more").unwrap().unwrap().sequence, 11);
}

#[test]
fn the_chain_of_an_entry_stalls_no_ring() {
    let other = flatslab::bytes::ByteArena::new();
    let mut ring = ring(1, 0);
    let mut head = ring.arena().try_copy(b"head").unwrap();
    head.set_next(other.try_copy(b"tail").unwrap()).unwrap();
    ring.push_buf(head);
    // There is no chunk but that of the head.
    assert_eq!(ring.push(b"next").unwrap().unwrap().len, 4);
    assert_eq!((&**ring.get(0).unwrap(), ring.evicted()), (&b"next"[..], 1));
    assert_eq!(other.stats().in_use(), 0);
}

#[test]
fn a_foreign_entry_without_a_free_buffer_is_not_overwritten() {
    let other = flatslab::bytes::ByteArena::new();
    let mut ring = ring(1, 0);
    let kept = ring.arena().try_copy(b"kept").unwrap();
    ring.push_buf(other.try_copy(b"foreign").unwrap());
    assert!(ring.push(b"more").is_err());
    assert_eq!(*ring.get(0).unwrap(), *b"foreign");
    drop(kept);
    assert_eq!(ring.push(b"more").unwrap().unwrap().len, 7);
}

#[test]
fn buffers_of_the_ring_s_arena_are_in_flight() {
    let mut ring = ring(2, 1);
    let mut filled = ring.arena().try_alloc(16).unwrap();
    ring.push(b"1").unwrap();
    ring.push(b"2").unwrap();
    assert!(
        ring.arena().try_alloc(16).is_err(),
        "the arena does not grow"
    );
    assert_eq!(ring.push(b"3").unwrap().unwrap().sequence, 0);
    filled.extend_from_slice(b"4").unwrap();
    assert_eq!(ring.push_buf(filled).unwrap().sequence, 1);
    assert!(ring.arena().try_alloc(16).is_ok());
}

#[test]
fn a_buffer_to_be_filled_makes_the_oldest_entries_leave() {
    let mut ring = Ring::builder().entries(3).max_len(16).in_flight(0).build();
    for number in 0..3 {
        ring.push(&[number]).unwrap();
    }
    let reader = ring.get(0).unwrap().clone();
    let mut buf = ring.try_alloc().unwrap();
    assert_eq!((ring.len(), ring.evicted()), (1, 2));
    buf.extend_from_slice(b"in place").unwrap();
    assert!(ring.push_buf(buf).is_none());
    assert_eq!(reader, [0]);
    let left: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
    assert_eq!(
        left.iter().map(|it| &**it).collect::<Vec<_>>(),
        [&[2][..], b"in place"]
    );
}

#[test]
fn a_buffer_to_be_filled_is_refused_where_readers_have_all() {
    let mut ring = Ring::builder().entries(1).max_len(16).in_flight(1).build();
    ring.push(b"one").unwrap();
    let one = ring.pop().unwrap();
    ring.push(b"two").unwrap();
    let two = ring.get(0).unwrap().clone();
    assert!(ring.try_alloc().is_err());
    assert_eq!((ring.len(), ring.evicted()), (1, 0));
    drop(one);
    assert_eq!(ring.try_alloc().unwrap().capacity(), 16);
    assert_eq!(two, *b"two");
}

#[test]
fn a_push_says_how_many_entries_left() {
    let mut ring = Ring::builder().entries(4).max_len(16).in_flight(0).build();
    for number in 0..4 {
        ring.push(&[number]).unwrap();
    }
    let readers = [0, 1].map(|index| ring.get(index).unwrap().clone());
    let evicted = ring.push(b"new").unwrap().unwrap();
    assert_eq!((evicted.sequence, evicted.len, evicted.count), (0, 1, 3));
    assert_eq!((ring.len(), ring.evicted(), ring.pushed()), (2, 3, 5));
    assert_eq!(readers, [[0], [1]]);
}
