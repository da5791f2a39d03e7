//! Epoch slabs where the n-th request fails, where the allocator uses the slab that asks, and
//! what they take from it and give back.

use std::cell::{Cell, RefCell};

use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab, InsertError};
use flatslab::{AllocError, BuildError, Builder};

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::failing::each_failure;
use crate::{Call, allocations, with_conduct, with_fuse, without_leak, without_memory};

fn small() -> Builder<EpochSlab<Value>> {
    EpochSlab::builder()
        .chunk_capacity(2)
        .epochs(2)
        .cached_chunks(2)
}

/// A value that shows whether it is whole.
type Value = [u64; 2];

fn whole(number: u64) -> Value {
    [number, !number]
}

fn inserted(result: Result<EpochKey, InsertError<Value>>, value: Value) -> Option<EpochKey> {
    match result {
        Ok(key) => Some(key),
        Err(InsertError::Full(back, AllocError::OutOfMemory { bytes: 1.. })) => {
            assert_eq!(back, value);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A program that makes a slab and buffers, and uses them in every way. Whether something was
/// refused.
fn use_all(rounds: u64) -> bool {
    let slab = match small().try_build() {
        Ok(slab) => slab,
        Err(BuildError::Memory(AllocError::OutOfMemory { bytes: 1.. })) => return true,
        Err(error) => panic!("{error}"),
    };
    let mut is_refused = false;
    let mut kept = [None; 4];
    for number in 0..rounds {
        let mut keys = [None; 6];
        for key in &mut keys {
            *key = inserted(slab.try_insert(whole(number)), whole(number));
        }
        is_refused |= keys.contains(&None);
        match slab.try_enter() {
            Ok(guard) => {
                let key = inserted(guard.try_insert(whole(number)), whole(number));
                is_refused |= key.is_none();
                let place = number as usize % 4;
                if let Some(key) = std::mem::replace(&mut kept[place], key) {
                    assert_eq!(slab.take(key), Some(whole(number - 4)));
                }
            }
            Err(AllocError::OutOfMemory { bytes: 1.. }) => is_refused = true,
            Err(error) => panic!("{error}"),
        }
        let epoch = slab.current();
        slab.advance();
        let live = keys.iter().flatten().count();
        for key in keys.into_iter().flatten().take(2) {
            assert_eq!(slab.take(key), Some(whole(number)));
        }
        let report = slab.close(epoch).unwrap();
        assert_eq!(report.live, live - live.min(2));
        assert_eq!(slab.clear_epoch(epoch), report.live);
    }
    assert_eq!(slab.stats().live, kept.iter().flatten().count());
    slab.shrink_to_fit();

    let bytes = match EpochBytes::builder().epochs(2).largest(200).try_build() {
        Ok(bytes) => bytes,
        Err(BuildError::Memory(AllocError::OutOfMemory { bytes: 1.. })) => return true,
        Err(error) => panic!("{error}"),
    };
    for len in [10, 200, 100] {
        match bytes.try_copy_in(bytes.permanent(), &[7; 200][..len]) {
            Ok(key) => assert_eq!(*bytes.get(key).unwrap(), [7; 200][..len]),
            Err(InsertError::Full((), AllocError::OutOfMemory { bytes: 1.. })) => is_refused = true,
            Err(error) => panic!("{error}"),
        }
    }
    is_refused
}

#[test]
fn each_request_of_a_program_may_find_no_memory() {
    let rounds = amount(6, 3);
    let refused = |fuse| without_leak(|| with_fuse(fuse, || use_all(rounds)));
    // Some of the requests under an interpreter, whose time goes with the square of them.
    let step = amount(1, 3);
    let fuses = (0..).step_by(step).take_while(|&fuse| refused(fuse));
    let failures = fuses.count() * step;
    assert!(failures > 20, "{failures}");
}

#[test]
fn construction_that_fails_leaks_nothing() {
    // Three records, their table, the ring, the classes.
    let failures = each_failure(|| small().try_build());
    assert!(failures >= 6, "{failures}");
    // And two chunks, each with a record, and their table.
    let reserved = each_failure(|| small().reserve(2).try_build());
    assert!(reserved >= failures + 5, "{reserved}");
    let failures = each_failure(|| EpochBytes::builder().epochs(2).try_build());
    assert!(failures >= 6, "{failures}");
}

#[test]
fn an_insertion_that_is_refused_loses_nothing() {
    without_leak(|| {
        let slab = small().build();
        let mut keys = Vec::with_capacity(100);
        let mut failures = 0;
        for number in 0..amount(100, 12) {
            for fuse in 0.. {
                let result = with_fuse(fuse, || slab.try_insert(whole(number)));
                if let Some(key) = inserted(result, whole(number)) {
                    keys.push(key);
                    break;
                }
                failures += 1;
                assert_eq!(slab.stats().live, keys.len());
            }
            if number % 7 == 0 {
                without_memory(|| slab.advance_and_close());
            }
        }
        // Each second one has a chunk.
        assert!(failures >= keys.len() / 2);
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(slab.take(*key), Some(whole(number as u64)));
        }
    });
}

/// A round of epochs that ends as it began.
fn cycle(slab: &EpochSlab<Value>, keys: &mut Vec<EpochKey>) {
    for number in 0..8 {
        keys.push(slab.try_insert(whole(number)).unwrap());
    }
    let guard = slab.try_enter().unwrap();
    keys.push(guard.try_insert(whole(8)).unwrap());
    drop(guard);
    let epoch = slab.current();
    slab.advance();
    let report = slab.close(epoch).unwrap();
    assert_eq!((report.pinned, report.live), (4, 8));
    assert_eq!(slab.take(keys[3]), Some(whole(3)));
    assert_eq!(slab.clear_epoch(epoch), 7);
    assert_eq!(slab.take(keys[8]), Some(whole(8)));
    keys.clear();
}

#[test]
fn epochs_that_are_like_those_before_allocate_nothing() {
    let slab = small().cached_chunks(8).build();
    let mut keys = Vec::with_capacity(9);
    cycle(&slab, &mut keys);
    let uses = || {
        without_memory(|| {
            for _ in 0..amount(10_000, 50) {
                cycle(&slab, &mut keys);
            }
        });
    };
    assert_eq!(allocations(uses), 0);
    assert_eq!(slab.stats().live, 0);
}

#[test]
fn an_advance_needs_no_memory_whatever_stays_pinned() {
    without_leak(|| {
        let slab = small().build();
        for number in 0..amount(500, 30) {
            slab.try_insert(whole(number)).unwrap();
            let uses = || {
                without_memory(|| {
                    slab.advance();
                    slab.advance_and_close();
                });
            };
            assert_eq!(allocations(uses), 0);
        }
        let stats = slab.stats();
        assert_eq!(stats.pinned_epochs, stats.live);
    });
}

#[test]
fn what_is_returned_comes_back_to_the_allocator() {
    without_leak(|| {
        let slab = small().cached_chunks(100).build();
        let keys: Vec<_> = (0..40).map(|it| slab.insert(whole(it))).collect();
        assert_eq!(slab.clear_epoch(slab.current()), keys.len());
        let before = crate::LIVE_BYTES.get();
        let released = without_memory(|| slab.shrink_to_fit());
        assert_eq!(released, 40 * size_of::<Value>());
        assert_eq!(before - crate::LIVE_BYTES.get(), released as isize);
    });
}

// At every call, within each other.

thread_local! {
    static SLAB: Cell<*const EpochSlab<Value>> = const { Cell::new(std::ptr::null()) };
    static KEPT: RefCell<[Option<(EpochKey, u64)>; 40]> = const { RefCell::new([None; 40]) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static MEDDLED: Cell<u32> = const { Cell::new(0) };
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// An epoch that there is, by chance.
fn some_epoch(slab: &EpochSlab<Value>) -> Epoch {
    let which = random(4) as usize;
    let mut epochs = slab.epochs().map(|stats| stats.epoch);
    epochs.nth(which).unwrap_or(slab.current())
}

/// A step on the slab that is served.
fn use_shared(slab: &EpochSlab<Value>) {
    let place = random(40) as usize;
    let note = |result: Result<EpochKey, InsertError<Value>>, number| {
        if let Ok(key) = result {
            LIVE.set(LIVE.get() + 1);
            KEPT.with_borrow_mut(|kept| kept[place] = Some((key, number)));
        }
    };
    let number = random(1000);
    match random(16) {
        0..6 => note(slab.try_insert(whole(number)), number),
        6 => note(slab.try_insert_in(some_epoch(slab), whole(number)), number),
        7..9 => {
            if let Some((key, number)) = KEPT.with_borrow_mut(|kept| kept[place].take()) {
                // It may have been dropped with its epoch.
                if let Some(value) = slab.take(key) {
                    assert_eq!(value, whole(number));
                    LIVE.set(LIVE.get() - 1);
                }
            }
        }
        9 => drop(slab.close(some_epoch(slab)).is_ok()),
        10 => {
            slab.advance();
        }
        11 => {
            slab.advance_and_close();
        }
        12 => {
            let dropped = slab.clear_epoch(some_epoch(slab));
            LIVE.set(LIVE.get() - dropped);
        }
        13 => {
            if let Ok(guard) = slab.try_enter() {
                note(guard.try_insert(whole(number)), number);
            }
        }
        14 => {
            slab.shrink_to_fit();
        }
        _ => {
            slab.set_cached_chunks(random(3) as usize);
        }
    }
}

/// What the allocator does at each call: a step, and one request in six is refused.
fn meddle(call: Call) -> bool {
    // SAFETY: set by the test that has the slab, until it is reset.
    let Some(slab) = (unsafe { SLAB.get().as_ref() }) else {
        return true;
    };
    if std::thread::panicking() {
        return true;
    }
    if DEPTH.get() < 3 && one_in(3) {
        DEPTH.set(DEPTH.get() + 1);
        MEDDLED.set(MEDDLED.get() + 1);
        use_shared(slab);
        DEPTH.set(DEPTH.get() - 1);
    }
    let is_refused = matches!(call, Call::Asked) && one_in(6);
    REFUSED.set(REFUSED.get() + u32::from(is_refused));
    !is_refused
}

#[test]
fn an_allocator_may_use_the_slab_at_every_call() {
    let (programs, steps) = amount((200, 400), (2, 30));
    for number in 1..=programs {
        seed(number);
        let limit = if number % 2 == 0 { usize::MAX } else { 600 };
        without_leak(|| {
            let slab = small().max_bytes(limit).build();
            SLAB.set(&raw const slab);
            LIVE.set(0);
            for _ in 0..steps {
                with_conduct(meddle, || use_shared(&slab));
                let stats = slab.stats();
                assert_eq!(stats.live, LIVE.get(), "program {number}");
                assert!(stats.committed_bytes <= limit);
                let chunks = stats.chunks + stats.cached_chunks;
                assert_eq!(stats.committed_bytes, chunks * 2 * size_of::<Value>());
                KEPT.with_borrow(|kept| {
                    for (key, number) in kept.iter().flatten() {
                        let value = slab.get(*key);
                        assert!(value.is_none_or(|value| *value == whole(*number)));
                    }
                });
            }
            SLAB.set(std::ptr::null());
            KEPT.with_borrow_mut(|kept| kept.fill(None));
        });
    }
    assert!(MEDDLED.get() > 0 && REFUSED.get() > 0);
}
