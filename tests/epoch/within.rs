//! Epochs that are entered and left any number of times.

use flatslab::epoch::{Epoch, EpochBytes, EpochError, EpochSlab, EpochState, InsertError};

use crate::common::Drops;
use crate::common::panics;

fn small() -> EpochSlab<u64> {
    EpochSlab::builder().chunk_capacity(2).epochs(2).build()
}

/// Inserts a value that names no epoch, and says where it is.
fn where_inserted(slab: &EpochSlab<u64>) -> Epoch {
    let key = slab.insert(7);
    assert_eq!(slab.epoch_of(key), Some(slab.current()));
    slab.current()
}

#[test]
fn what_is_inserted_within_an_epoch_is_of_it_however_often_it_is_entered() {
    let slab = small();
    let session = slab.open();
    for round in 1..=5 {
        let here = slab.within(session, || where_inserted(&slab)).unwrap();
        assert_eq!(here, session);
        assert_ne!(where_inserted(&slab), session);
        assert_eq!(slab.epoch_stats(session).unwrap().live, round);
        slab.advance();
    }
    assert_eq!(slab.clear_epoch(session), 5);
    assert_eq!(slab.close(session).unwrap().pinned, 0);
    assert_eq!(slab.within(session, || ()), Err(EpochError::Closed));
}

#[test]
fn epochs_are_entered_within_others_and_within_themselves() {
    let slab = small();
    let (one, two) = (slab.open(), slab.open());
    let ring = slab.current();
    let expect = |epoch| assert_eq!(where_inserted(&slab), epoch);
    slab.within(one, || {
        expect(one);
        slab.within(two, || {
            expect(two);
            slab.within(one, || {
                slab.within(one, || expect(one)).unwrap();
                expect(one);
            })
            .unwrap();
            expect(two);
        })
        .unwrap();
        expect(one);
        slab.within(slab.permanent(), || expect(slab.permanent()))
            .unwrap();
        expect(one);
        // A name goes before.
        let key = slab.try_insert_in(two, 9).unwrap();
        assert_eq!(slab.epoch_of(key), Some(two));
    })
    .unwrap();
    expect(ring);
}

#[test]
fn two_epochs_by_turns_keep_their_values_apart() {
    let slab = small();
    let sessions = [slab.open(), slab.open()];
    for round in 0..20 {
        slab.within(sessions[round % 2], || slab.insert(round as u64))
            .unwrap();
    }
    for (index, session) in sessions.into_iter().enumerate() {
        let values: Vec<u64> = slab
            .keys_in(session)
            .map(|key| *slab.get(key).unwrap())
            .collect();
        assert!(values.len() == 10 && values.iter().all(|it| *it as usize % 2 == index));
        assert_eq!(slab.clear_epoch(session), 10);
    }
}

#[test]
fn a_panic_leaves_every_epoch_that_it_passes() {
    let slab = small();
    let (one, two) = (slab.open(), slab.open());
    let ring = slab.current();
    slab.within(one, || {
        assert!(panics(
            || slab.within(two, || slab.within(one, || panic!("on purpose")))
        ));
        assert_eq!(where_inserted(&slab), one);
    })
    .unwrap();
    assert_eq!(where_inserted(&slab), ring);
    assert!(panics(|| slab.within(two, || panic!("on purpose"))));
    assert_eq!(where_inserted(&slab), ring);
    // None is left entered.
    assert!(slab.close(one).is_ok() && slab.close(two).is_ok());
}

#[test]
fn an_epoch_that_is_entered_is_not_closed() {
    let slab = small();
    let session = slab.open();
    slab.within(session, || {
        let key = slab.insert(1);
        assert_eq!(slab.close(session), Err(EpochError::Entered));
        slab.within(slab.permanent(), || {
            assert_eq!(slab.close(session), Err(EpochError::Entered));
        })
        .unwrap();
        // It may be cleared, and takes more.
        assert_eq!(slab.clear_epoch(session), 1);
        assert!(slab.get(key).is_none());
        assert_eq!(where_inserted(&slab), session);
    })
    .unwrap();
    assert_eq!(slab.epoch_stats(session).unwrap().close_calls, 2);
    assert_eq!(slab.close(session).unwrap().live, 1);
}

#[test]
fn an_epoch_that_cannot_be_entered_is_an_error_and_calls_nothing() {
    let (slab, other) = (small(), small());
    let refused = |epoch, error| {
        let called = slab.within(epoch, || panic!("it was called"));
        assert_eq!(called, Err::<(), _>(error));
    };
    refused(slab.current(), EpochError::InRing);
    let last = slab.current();
    slab.advance();
    refused(last, EpochError::InRing);
    refused(other.open(), EpochError::Foreign);
    refused(other.current(), EpochError::Foreign);
    let pinned = slab.open();
    slab.try_insert_in(pinned, 7).unwrap();
    slab.close(pinned).unwrap();
    refused(pinned, EpochError::Closed);
    slab.clear_epoch(pinned);
    refused(pinned, EpochError::Closed);
    // Also once another epoch has its record.
    let _next = slab.open();
    refused(pinned, EpochError::Closed);
    for error in [EpochError::InRing, EpochError::Entered] {
        assert!(error.to_string().contains("within") || error.to_string().contains("ring"));
    }
}

#[test]
fn the_ring_goes_round_while_another_epoch_is_entered() {
    let slab = small();
    let session = slab.open();
    let first = slab.current();
    let last = slab
        .within(session, || {
            let second = slab.advance();
            assert!(second != first && where_inserted(&slab) == session);
            // The first one's place comes round.
            let third = slab.advance();
            assert!(slab.epoch_stats(first).is_none());
            let (fourth, report) = slab.advance_and_close();
            assert_eq!(report.epoch, third);
            assert_eq!(slab.close(fourth), Err(EpochError::Current));
            assert_eq!(where_inserted(&slab), session);
            fourth
        })
        .unwrap();
    assert_eq!(where_inserted(&slab), last);
}

#[test]
fn the_epoch_of_a_guard_is_entered_too_and_closed_once_it_is_left() {
    let slab = small();
    let guard = slab.enter();
    let epoch = guard.epoch();
    let key = slab.within(epoch, || slab.insert(1)).unwrap();
    assert_eq!(slab.epoch_of(key), Some(epoch));
    slab.within(epoch, || {
        slab.within(epoch, || drop(guard)).unwrap();
        let stats = slab.epoch_stats(epoch).unwrap();
        assert_eq!(stats.state, EpochState::Open);
        slab.insert(2);
    })
    .unwrap();
    let stats = slab.epoch_stats(epoch).unwrap();
    assert_eq!((stats.state, stats.live), (EpochState::Pinned, 2));
    assert_eq!(slab.clear_epoch(epoch), 2);
    assert!(slab.epoch_stats(epoch).is_none());
    // The flag went with it.
    let next = slab.open();
    slab.within(next, || ()).unwrap();
    assert!(slab.close(next).is_ok());
}

#[test]
fn a_destructor_may_enter_an_epoch() {
    use std::cell::Cell;
    use std::rc::Rc;

    struct Enters(Rc<EpochSlab<u64>>, Epoch, Rc<Cell<u32>>);
    impl Drop for Enters {
        fn drop(&mut self) {
            let inserted = self.0.within(self.1, || self.0.insert(1));
            self.2.set(self.2.get() + u32::from(inserted.is_ok()));
        }
    }
    let (values, count) = (Rc::new(small()), Rc::new(Cell::new(0)));
    let session = values.open();
    let slab = EpochSlab::new();
    slab.insert(Enters(values.clone(), session, count.clone()));
    slab.insert(Enters(values.clone(), session, count.clone()));
    values
        .within(values.permanent(), || {
            assert_eq!(slab.clear_epoch(slab.current()), 2);
            assert_eq!(where_inserted(&values), values.permanent());
        })
        .unwrap();
    assert_eq!(
        (count.get(), values.epoch_stats(session).unwrap().live),
        (2, 2)
    );
}

#[test]
fn buffers_are_of_the_epoch_that_is_entered() {
    let bytes = EpochBytes::new();
    let session = bytes.open();
    let key = bytes
        .within(session, || {
            let buf = bytes.alloc(100);
            assert_eq!(buf.epoch(), session);
            drop(buf);
            bytes.copy(b"hello")
        })
        .unwrap();
    assert_eq!(bytes.epoch_of(key), Some(session));
    assert_eq!(bytes.clear_epoch(session), 2);
}

#[test]
fn at_a_limit_the_epoch_that_is_entered_refuses_as_any() {
    let slab = EpochSlab::<u64>::builder()
        .chunk_capacity(2)
        .max_bytes(16)
        .build();
    let session = slab.open();
    slab.within(session, || {
        slab.insert(1);
        slab.insert(2);
        assert!(matches!(slab.try_insert(3), Err(InsertError::Full(3, _))));
    })
    .unwrap();
    assert!(slab.try_insert(3).is_err());
    slab.clear_epoch(session);
    assert_eq!(where_inserted(&slab), slab.current());
}

#[test]
fn values_of_an_epoch_that_is_entered_when_the_slab_is_lost_are_dropped_with_it() {
    let drops = Drops::new();
    let slab = EpochSlab::new();
    let session = slab.open();
    slab.within(session, || slab.insert(drops.value(1)))
        .unwrap();
    drop(slab);
    assert_eq!(drops.count(), 1);
}
