//! Positions that no one was given: words of the caller's own.

use flatslab::bytes::{ByteArena, Loc, LocError};

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::{expect_owner, owned_by, small};

/// The bits of a place: the number, the start, the length.
fn forged(serial: u64, number: u64, start: u64, len: u64) -> Loc {
    Loc::from_raw([serial, number << 40 | start << 20 | len])
}

#[test]
fn random_words_lead_nowhere() {
    seed(1);
    let arena = small(4096);
    let bufs: Vec<_> = (0..20).map(|number| owned_by(&arena, number, 30)).collect();
    let _locs: Vec<_> = bufs.iter().map(|buf| buf.clone().into_loc()).collect();
    for _ in 0..amount(100_000, 80) {
        // Serials of this process are in the low part of their high words.
        let serial = random(1 << 40) << 20 | random(1 << 20) | 1 << 62;
        let place = if one_in(2) {
            random(20) << 40 | random(40) << 20 | random(40)
        } else {
            random(u64::MAX)
        };
        let loc = Loc::from_raw([serial, place]);
        assert_eq!(arena.resolve(loc), Err(LocError::Foreign));
        assert_eq!(arena.release(loc), Err(LocError::Foreign));
    }
    assert!(bufs.iter().all(|buf| buf.references() == Some(2)));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn small_serials_lead_to_a_buffer_only_with_its_own() {
    seed(2);
    let arena = small(4096);
    let bufs: Vec<_> = (0..20_u8)
        .map(|number| owned_by(&arena, number, 30))
        .collect();
    let raw: Vec<_> = bufs.iter().map(|buf| buf.loc().into_raw()).collect();
    for _ in 0..amount(100_000, 80) {
        let owner = random(20) as usize;
        let [serial, _] = raw[random(20) as usize];
        let number = raw[owner][1] >> 40;
        let (start, len) = (random(64), random(64));
        let loc = forged(serial, number, start, len);
        match arena.resolve(loc) {
            Ok(buf) => {
                assert_eq!(serial, raw[owner][0]);
                assert_eq!(buf.len() as u64, len);
                assert!(start + len <= 30);
                expect_owner(&buf, owner as u8);
            }
            Err(LocError::Range) => assert!(serial == raw[owner][0] && start + len > 30),
            Err(LocError::Stale) => assert_ne!(serial, raw[owner][0]),
            Err(error) => panic!("{error}"),
        }
        // Nothing is held by a position.
        assert!(arena.release(loc).is_err());
    }
    assert!(bufs.iter().all(|buf| buf.is_unique()));
}

#[test]
fn a_serial_of_none_leads_nowhere() {
    let arena = small(512);
    // A buffer without a position has no serial.
    let buf = owned_by(&arena, 7, 30);
    let free = owned_by(&arena, 8, 30);
    drop(free);
    let filled = arena.try_alloc(30).unwrap();
    for number in 0..20 {
        for serial in [0, 1 << 32, u64::MAX, u64::MAX << 32, u64::from(u32::MAX)] {
            let loc = forged(serial, number, 0, 1);
            assert!(arena.resolve(loc).is_err());
            assert!(arena.release(loc).is_err());
        }
        assert_eq!(
            arena.resolve(forged(0, number, 0, 0)),
            Err(LocError::Foreign)
        );
    }
    assert!(buf.is_unique());
    drop(filled);
}

#[test]
fn a_range_outside_of_the_filled_bytes_is_refused() {
    let arena = small(512);
    let mut buf = arena.try_alloc(60).unwrap();
    buf.resize(60, 7).unwrap();
    buf.truncate(40);
    let buf = buf.freeze();
    let [serial, place] = buf.clone().into_loc().into_raw();
    let number = place >> 40;
    let most = (1 << 20) - 1;
    for (start, len) in [
        (0, 41),
        (40, 1),
        (41, 0),
        (39, 2),
        // Within the chunk.
        (0, 60),
        (60, 4),
        (63, 1),
        (0, 64),
        (0, most),
        (most, 0),
        (most, most),
    ] {
        let loc = forged(serial, number, start, len);
        assert_eq!(arena.resolve(loc), Err(LocError::Range), "{start} {len}");
        assert_eq!(arena.release(loc), Err(LocError::Range), "{start} {len}");
    }
    for (start, len) in [(0, 40), (40, 0), (39, 1), (7, 8)] {
        let part = arena.resolve(forged(serial, number, start, len)).unwrap();
        assert_eq!(part.len() as u64, len);
        expect_owner(&part, 7);
    }
    assert_eq!(buf.references(), Some(2));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_number_of_no_chunk_leads_nowhere() {
    let arena = small(512);
    let buf = owned_by(&arena, 7, 30);
    let [serial, _] = buf.loc().into_raw();
    let number = buf.loc().into_raw()[1] >> 40;
    for other in (0..200).chain([(1 << 24) - 1, 1 << 23]) {
        if other != number {
            let loc = forged(serial, other, 0, 1);
            assert_eq!(arena.resolve(loc), Err(LocError::Stale), "{other}");
        }
    }
    assert_eq!(ByteArena::new().resolve(buf.loc()), Err(LocError::Foreign));
}

#[test]
fn a_serial_that_is_yet_to_come_is_refused_until_it_does() {
    let arena = small(512);
    let (first, second) = (owned_by(&arena, 1, 30), owned_by(&arena, 2, 30));
    let [serial, place] = first.loc().into_raw();
    let number = second.slice(..0);
    // The next serial, with the first one's number.
    let next = Loc::from_raw([serial + 1, place]);
    assert_eq!(arena.resolve(next), Err(LocError::Stale));
    drop(number);
    assert_eq!(second.loc().into_raw()[0], serial + 1);
    // It is the second's, and leads to no other.
    assert_eq!(arena.resolve(next), Err(LocError::Stale));
    expect_owner(&arena.resolve(second.loc()).unwrap(), 2);
}
