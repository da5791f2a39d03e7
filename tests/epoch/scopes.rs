//! Epochs that end with a block of the program.

use flatslab::epoch::{EpochBytes, EpochError, EpochSlab, EpochState, InsertError};

use crate::common::{Drops, amount, panics};

#[test]
fn a_guard_closes_its_epoch_and_drops_nothing() {
    let slab = EpochSlab::builder().chunk_capacity(1).build();
    let drops = Drops::new();
    let guard = slab.enter();
    let epoch = guard.epoch();
    let (stays, goes) = (guard.insert(drops.value(1)), guard.insert(drops.value(2)));
    assert!(std::ptr::eq(guard.slab(), &raw const slab));
    assert!(epoch != slab.current() && slab.epoch_of(stays) == Some(epoch));
    drop(slab.take(goes));
    drop(guard);
    let stats = slab.epoch_stats(epoch).unwrap();
    assert_eq!((stats.state, stats.close_calls), (EpochState::Pinned, 1));
    assert_eq!((stats.scanned, stats.recycled), (2, 1));
    assert_eq!(slab.get(stays).unwrap().number, 1);
    let error = slab.try_insert_in(epoch, drops.value(3)).unwrap_err();
    assert!(matches!(error, InsertError::Closed(_)));
    drop(error);
    drop(slab.take(stays));
    assert!(slab.epoch_stats(epoch).is_none());
    assert_eq!(drops.count(), 3);
}

#[test]
fn an_epoch_whose_guard_was_forgotten_stays_open_until_it_is_closed() {
    let slab = EpochSlab::new();
    let guard = slab.enter();
    let epoch = guard.epoch();
    std::mem::forget(guard);
    let key = slab.try_insert_in(epoch, 7).unwrap();
    // The ring has nothing to do with it.
    for _ in 0..40 {
        slab.advance();
    }
    assert_eq!(slab.epoch_stats(epoch).unwrap().state, EpochState::Open);
    assert_eq!(slab.get(key).as_deref(), Some(&7));
    let report = slab.close(epoch).unwrap();
    assert_eq!((report.scanned, report.live), (1, 1));
    assert_eq!(slab.try_insert_in(epoch, 8), Err(InsertError::Closed(8)));
    assert_eq!(slab.take(key), Some(7));
    assert_eq!(slab.close(epoch).unwrap_err(), EpochError::Closed);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn guards_nest_beyond_the_ring_and_end_in_any_order() {
    let slab = EpochSlab::builder().epochs(1).build();
    let outer = slab.enter();
    let mut inner: Vec<_> = (0..20).map(|_| outer.slab().enter()).collect();
    let mut keys = vec![outer.insert(100)];
    keys.extend(
        inner
            .iter()
            .enumerate()
            .map(|(number, guard)| guard.insert(number)),
    );
    assert_eq!(slab.stats().epochs, 23);
    while !inner.is_empty() {
        drop(inner.swap_remove(inner.len() / 2));
        slab.advance();
    }
    drop(inner);
    drop(outer);
    let stats = slab.stats();
    assert_eq!((stats.pinned_epochs, stats.live), (21, 21));
    for key in keys {
        slab.take(key).unwrap();
    }
    assert_eq!(slab.stats().epochs, 2);
}

#[test]
fn a_scope_drops_all_its_values() {
    let mut slab = EpochSlab::builder().chunk_capacity(2).build();
    let drops = Drops::new();
    let permanent = slab.permanent();
    let kept = slab.scope(|scope| {
        let one = scope.insert(drops.value(1));
        let two = scope.try_insert(drops.value(2)).unwrap();
        std::mem::swap(&mut one.number, &mut two.number);
        assert_eq!((one.number, two.number), (2, 1));
        let key = scope.insert_key(drops.value(3));
        scope.get_mut(key).unwrap().number += 1;
        assert_eq!(scope.try_get(key).unwrap().number, 4);
        assert!(scope.try_get_mut(key).is_ok());
        let gone = scope.insert_key(drops.value(5));
        assert!(scope.take(gone).is_some() && scope.try_take(gone).is_err());
        assert_eq!(drops.count(), 1);
        let epoch = scope.epoch();
        let foreign = EpochSlab::<u64>::new().current();
        let error = scope.try_insert_in(foreign, drops.value(6)).unwrap_err();
        assert!(matches!(error, InsertError::Foreign(_)));
        drop(error);
        scope.scope(|inner| {
            inner.insert(drops.value(7));
            // Of the scope around it, and for longer.
            assert!(inner.try_insert_in(epoch, drops.value(8)).is_ok());
            assert_eq!(inner.get(key).unwrap().number, 4);
        });
        assert_eq!(drops.count(), 3);
        scope.try_insert_in(permanent, drops.value(9)).ok().unwrap()
    });
    assert_eq!((drops.count(), slab.stats().live), (7, 1));
    assert_eq!(slab.take(kept).unwrap().number, 9);
    assert_eq!((slab.stats().epochs, slab.stats().chunks), (2, 1));
}

#[test]
fn scopes_of_many_have_no_memory_of_their_own() {
    let mut slab = EpochSlab::<u64>::builder().chunk_capacity(4).build();
    let mut first = None;
    let rounds = amount(50, 4);
    for round in 0..rounds {
        let sum: u64 = slab.scope(|scope| {
            let values: Vec<_> = (0..10).map(|number| scope.insert(number * round)).collect();
            values.iter().map(|value| **value).sum()
        });
        assert_eq!(sum, 45 * round);
        let stats = slab.stats();
        let (committed, records) =
            *first.get_or_insert((stats.committed_bytes, stats.record_bytes));
        assert_eq!(
            (stats.committed_bytes, stats.record_bytes),
            (committed, records)
        );
    }
    assert_eq!(slab.stats().closed, rounds);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_of_scopes_and_guards() {
    let mut bytes = EpochBytes::new();
    let guard = bytes.enter();
    let mut buf = guard.try_alloc(100).unwrap();
    buf.fill(3);
    let (key, epoch) = (buf.key(), buf.epoch());
    drop(buf);
    assert_eq!(epoch, guard.epoch());
    drop(guard);
    assert_eq!(*bytes.get(key).unwrap(), [3; 100]);
    bytes.scope(|scope| {
        let all: Vec<_> = (0..50)
            .map(|len| scope.try_alloc(len * 7).unwrap())
            .collect();
        for (number, buf) in all.into_iter().enumerate() {
            assert!(*buf == vec![0; number * 7]);
            buf.fill(number as u8);
        }
        assert!(scope.try_alloc(1 << 20).is_err());
    });
    assert!(bytes.remove(key));
    assert_eq!((bytes.stats().live, bytes.stats().epochs), (0, 2));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_epoch_is_opened_and_closed_by_name() {
    let slab = EpochSlab::<u64>::builder().epochs(2).build();
    let session = slab.open();
    let keys: Vec<_> = (0..3)
        .map(|value| {
            slab.advance();
            slab.try_insert_in(session, value).unwrap()
        })
        .collect();
    assert!(slab.keys_in(session).eq(keys.iter().copied()));
    let report = slab.close(session).unwrap();
    assert_eq!((report.pinned, report.live), (1, 3));
    assert!(slab.try_insert_in(session, 7).is_err());
    assert_eq!(slab.clear_epoch(session), 3);
    assert!(slab.epoch_stats(session).is_none());
    assert_eq!(slab.close(session).unwrap_err(), EpochError::Closed);
    let foreign = EpochSlab::<u64>::new().open();
    assert_eq!(slab.close(foreign).unwrap_err(), EpochError::Foreign);
    assert!(slab.try_insert(7).is_ok());
}

#[test]
fn the_guard_of_an_epoch_that_is_closed_by_name_takes_no_values_and_ends() {
    let slab = EpochSlab::<u64>::new();
    let guard = slab.enter();
    let (epoch, key) = (guard.epoch(), guard.insert(7));
    assert_eq!(slab.close(epoch).unwrap().live, 1);
    assert_eq!(guard.try_insert(8).unwrap_err().into_inner(), 8);
    assert!(panics(|| guard.insert(9)));
    drop(guard);
    assert_eq!(slab.take(key), Some(7));
    assert!(slab.epoch_stats(epoch).is_none());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_are_copied_and_named() {
    let mut bytes = EpochBytes::new();
    let one = bytes.copy(b"one");
    let two = bytes.enter().try_copy(b"two").unwrap();
    let three = bytes.alloc(3).into_key();
    assert_eq!(&*bytes.get(one).unwrap(), b"one");
    assert_eq!(&*bytes.get(two).unwrap(), b"two");
    assert_eq!(*bytes.get(three).unwrap(), [0; 3]);
    let four = bytes.scope(|scope| {
        let copy = scope.try_copy(&scope.get(one).unwrap()).unwrap();
        copy[0] = b'O';
        assert_eq!(copy, b"One");
        assert_eq!(scope.try_copy(&[0; 1 << 20]).unwrap_err(), too_big());
        scope.epoch()
    });
    assert!(bytes.epoch_stats(four).is_none());
    assert_eq!(&*bytes.get(one).unwrap(), b"one");
}

fn too_big() -> InsertError {
    let bytes = EpochBytes::new();
    bytes.try_alloc_in(bytes.current(), 1 << 20).unwrap_err()
}
