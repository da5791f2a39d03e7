//! Slabs in memory of the test's own, which counts, refuses, panics, and uses the slab that
//! asks; limits, and values of every size.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab, InsertError};
use flatslab::{AllocError, BuildError, Builder};

use crate::common::amount;
use crate::source::{Counted, Fault, unless_it_panics, with_fault, with_hook};

fn small<T>(source: &Arc<Counted>) -> Builder<EpochSlab<T>> {
    let builder = EpochSlab::builder().chunk_capacity(2).epochs(2);
    builder.cached_chunks(1).pages(source.pages())
}

type Value = Rc<()>;

/// Panics unless the slab has as many values as there are.
#[track_caller]
fn expect_whole(slab: &EpochSlab<Value>, value: &Value) {
    let stats = slab.stats();
    assert_eq!(stats.live, Rc::strong_count(value) - 1);
    let epochs: Vec<Epoch> = slab.epochs().map(|stats| stats.epoch).collect();
    assert_eq!(epochs.len(), stats.epochs);
    let keys: usize = epochs
        .iter()
        .map(|epoch| slab.keys_in(*epoch).count())
        .sum();
    assert_eq!(keys, stats.live);
    // Where two slots were refused, a chunk has one.
    let chunks = stats.chunks + stats.cached_chunks;
    let slots = stats.committed_bytes / size_of::<Value>();
    assert!((chunks..=2 * chunks).contains(&slots));
}

/// Uses a slab in every way that may ask for memory.
fn use_all(slab: &EpochSlab<Value>, value: &Value) {
    for round in 0..4 {
        let epochs = [slab.current(), slab.permanent()];
        for number in 0..4 {
            let epoch = epochs[number % 2];
            let result = unless_it_panics(|| slab.try_insert_in(epoch, value.clone()));
            let is_expected = match &result {
                Some(Ok(key)) => slab.epoch_of(*key) == Some(epoch),
                Some(Err(InsertError::Full(back, _))) => Rc::ptr_eq(back, value),
                Some(Err(_)) => false,
                None => true,
            };
            assert!(is_expected);
            drop(result);
            expect_whole(slab, value);
        }
        if let Some(Ok(guard)) = unless_it_panics(|| slab.try_enter()) {
            let _ = unless_it_panics(|| guard.try_insert(value.clone()).is_ok());
        }
        let before = slab.current();
        slab.advance();
        if round % 2 == 0 {
            slab.close(before).unwrap();
            slab.clear_epoch(before);
        }
        expect_whole(slab, value);
    }
    slab.shrink_to_fit();
    expect_whole(slab, value);
}

#[test]
fn each_request_may_be_refused_or_panic() {
    for fault in [Fault::Refuse, Fault::Panic] {
        for goes_on in [false, true] {
            let reaches = |left| {
                let source = Counted::new();
                let value = Value::new(());
                let is_reached = with_fault(left, fault, goes_on, || {
                    let builder = small(&source);
                    if let Some(Ok(slab)) = unless_it_panics(|| builder.try_build()) {
                        use_all(&slab, &value);
                    }
                });
                assert_eq!(Rc::strong_count(&value), 1);
                source.expect_all_back();
                is_reached
            };
            let requests = amount(0..usize::MAX, 9..10);
            let reached = requests.take_while(|&left| reaches(left)).count();
            assert!(reached >= amount(16, 1), "{reached}");
        }
    }
}

#[test]
fn a_refused_request_loses_nothing_and_succeeds_later() {
    let source = Counted::new();
    let slab = small::<u64>(&source).build();
    let mut keys: Vec<EpochKey> = Vec::new();
    let mut failures = 0;
    for number in 0..amount(100, 12) {
        for left in 0.. {
            let mut result = None;
            with_fault(left, Fault::Refuse, true, || {
                result = Some(slab.try_insert(number));
            });
            match result.unwrap() {
                Ok(key) => {
                    keys.push(key);
                    break;
                }
                Err(error) => assert_eq!(error.into_inner(), number),
            }
            failures += 1;
            assert_eq!(slab.stats().live, keys.len());
        }
        if number % 5 == 0 {
            slab.advance_and_close();
        }
    }
    assert!(failures >= keys.len() / 2);
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(slab.take(*key), Some(number as u64));
    }
    drop(slab);
    source.expect_all_back();
}

/// What the source does with the slab that calls it.
type Uses = fn(&EpochSlab<Value>, &Value);

const USES: [Uses; 7] = [
    |slab, value| drop(slab.try_insert(value.clone())),
    |slab, value| {
        for _ in 0..5 {
            drop(slab.try_insert_in(slab.permanent(), value.clone()));
        }
    },
    |slab, _| {
        slab.advance();
    },
    |slab, value| {
        slab.advance_and_close();
        drop(slab.try_insert(value.clone()));
    },
    |slab, _| {
        let epochs: Vec<_> = slab.epochs().map(|stats| stats.epoch).collect();
        for epoch in epochs {
            slab.clear_epoch(epoch);
        }
    },
    |slab, _| {
        slab.shrink_to_fit();
    },
    |slab, value| {
        if let Ok(guard) = slab.try_enter() {
            drop(guard.try_insert(value.clone()));
        }
    },
];

/// What is done while it does so.
const STEPS: [Uses; 7] = [
    |slab, value| drop(slab.try_insert(value.clone())),
    |slab, value| drop(slab.try_insert_in(slab.permanent(), value.clone())),
    |slab, _| {
        slab.advance();
    },
    |slab, _| {
        slab.advance_and_close();
    },
    |slab, _| {
        slab.clear_epoch(slab.current());
    },
    |slab, _| {
        slab.shrink_to_fit();
    },
    |slab, value| {
        if let Ok(guard) = slab.try_enter() {
            drop(guard.try_insert(value.clone()));
        }
    },
];

/// A slab with a full chunk in the current epoch, two closing ones, and unused ones.
fn prepared(source: &Arc<Counted>, value: &Value, limit: usize) -> EpochSlab<Value> {
    let slab = small(source).epochs(3).max_bytes(limit).build();
    for _ in 0..2 {
        let keys = [(); 3].map(|()| slab.try_insert(value.clone()).unwrap());
        slab.take(keys[0]).unwrap();
        slab.advance();
    }
    slab.try_insert(value.clone()).unwrap();
    slab.try_insert(value.clone()).unwrap();
    slab
}

#[test]
fn a_source_may_use_the_slab_at_every_call() {
    let mut calls = 0;
    let limits = [usize::MAX, 6 * 2 * size_of::<Value>()];
    // Some of the calls under an interpreter.
    let (limits, every) = (&limits[..amount(2, 1)], amount(1, 40));
    for &limit in limits {
        for uses in USES {
            for step in STEPS {
                for after in (0..).step_by(every) {
                    let source = Counted::new();
                    let value = Value::new(());
                    let slab = Rc::new(prepared(&source, &value, limit));
                    let hook = {
                        let (slab, value) = (slab.clone(), value.clone());
                        move || uses(&slab, &value)
                    };
                    let in_hook = Rc::strong_count(&value) - 1 - slab.stats().live;
                    let ran = with_hook(after, Rc::new(hook), || {
                        step(&slab, &value);
                        // The hook's own one is gone with the hook, if it ran.
                    });
                    let live = slab.stats().live;
                    assert_eq!(Rc::strong_count(&value) - 1, live);
                    assert_eq!(in_hook, 1);
                    assert!(slab.stats().committed_bytes <= limit);
                    expect_whole(&slab, &value);
                    slab.try_insert(value.clone()).ok();
                    expect_whole(&slab, &value);
                    drop(slab);
                    assert_eq!(Rc::strong_count(&value), 1);
                    source.expect_all_back();
                    if ran.is_none() {
                        break;
                    }
                    calls += 1;
                }
            }
        }
    }
    assert!(calls * every > amount(100, 20), "{calls}");
}

#[test]
fn a_slab_has_only_memory_of_its_source() {
    let source = Counted::new();
    let slab = small::<u64>(&source).build();
    let of_records = source.bytes();
    assert!(slab.stats().record_bytes <= of_records);
    for number in 0..50 {
        slab.insert(number);
        let stats = slab.stats();
        assert!(stats.committed_bytes + stats.record_bytes <= source.bytes());
    }
    slab.clear_epoch(slab.current());
    let (before, stats) = (source.bytes(), slab.stats());
    assert_eq!(slab.shrink_to_fit(), stats.committed_bytes);
    // And the records of the chunks.
    let records = stats.record_bytes - slab.stats().record_bytes;
    assert!(records > 0);
    assert_eq!(source.bytes(), before - stats.committed_bytes - records);
    drop(slab);
    source.expect_all_back();
}

#[test]
fn max_bytes_is_not_passed() {
    for limit in 1..5 {
        let builder = EpochSlab::<u64>::builder()
            .chunk_capacity(2)
            .max_bytes(limit * 16 + 15);
        let slab = builder.build();
        let mut keys = Vec::new();
        let error = loop {
            match slab.try_insert(7) {
                Ok(key) => keys.push(key),
                Err(error) => break error,
            }
        };
        let reached = AllocError::Limit {
            bytes: 16,
            limit: limit * 16 + 15,
        };
        assert_eq!(error, InsertError::Full(7, reached));
        assert_eq!(
            (keys.len(), slab.stats().committed_bytes),
            (2 * limit, 16 * limit)
        );
        // A pinned chunk counts, and one that is unused serves again.
        slab.advance_and_close();
        assert!(slab.try_insert(8).is_err());
        for key in keys.iter().take(2) {
            slab.take(*key).unwrap();
        }
        assert!(slab.try_insert(8).is_ok());
    }
    let bytes = EpochBytes::builder()
        .chunk_bytes(128)
        .max_bytes(200)
        .build();
    assert!(bytes.try_copy_in(bytes.current(), &[1; 128]).is_ok());
    let error = bytes.try_copy_in(bytes.current(), &[1; 96]).unwrap_err();
    assert_eq!(
        error,
        InsertError::Full(
            (),
            AllocError::Limit {
                bytes: 96,
                limit: 200
            }
        )
    );
    // A chunk of the largest class is within it.
    assert_eq!(bytes.largest(), 192);
}

#[test]
fn options_have_ranges() {
    fn out_of_range<T>(result: Result<T, BuildError>, name: &str, value: usize) {
        let error = result.err().expect("it is out of its range");
        let is_it = matches!(
            error,
            BuildError::OutOfRange { option, given, min, max }
                if option == name && given == value && !(min..=max).contains(&given)
        );
        assert!(is_it, "{error}");
    }

    for epochs in [0, (1 << 20) + 1, usize::MAX] {
        out_of_range(
            EpochSlab::<u64>::builder().epochs(epochs).try_build(),
            "epochs",
            epochs,
        );
        out_of_range(
            EpochBytes::builder().epochs(epochs).try_build(),
            "epochs",
            epochs,
        );
    }
    for slots in [0, 32_767, usize::MAX] {
        let builder = EpochSlab::<u64>::builder().chunk_capacity(slots);
        out_of_range(builder.try_build(), "chunk_capacity", slots);
    }
    for bytes in [0, (1 << 30) + 1, usize::MAX] {
        out_of_range(
            EpochBytes::builder().chunk_bytes(bytes).try_build(),
            "chunk_bytes",
            bytes,
        );
        out_of_range(
            EpochBytes::builder().largest(bytes).try_build(),
            "largest",
            bytes,
        );
    }
    // More bytes than there are addresses.
    let huge = EpochSlab::<[u8; isize::MAX as usize / 4]>::builder()
        .chunk_capacity(32_766)
        .try_build();
    assert!(matches!(huge, Err(BuildError::Memory(_))));
    for slots in [1, amount(32_766, 1_000)] {
        let slab = EpochSlab::<u8>::builder().chunk_capacity(slots).build();
        let count = amount(slots, slots.min(300)) + 1;
        let keys: Vec<_> = (0..count).map(|number| slab.insert(number as u8)).collect();
        assert_eq!(slab.stats().chunks, count.div_ceil(slots));
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(slab.take(*key), Some(number as u8));
        }
    }
}

/// Inserts, reads and removes values of a type, and looks where they are.
fn use_values<T: Clone + PartialEq>(value: T, slots: usize) {
    let source = Counted::new();
    let slab = small(&source).chunk_capacity(slots).build();
    let mut keys = Vec::new();
    let mut places = Vec::new();
    for _ in 0..7 {
        keys.push(slab.insert(value.clone()));
        slab.advance();
    }
    for key in &keys {
        let guard = slab.get(*key).unwrap();
        assert!(*guard == value);
        let place = std::ptr::from_ref(&*guard);
        assert!(place.is_aligned());
        places.push(place.addr());
    }
    places.sort_unstable();
    let far = |pair: &[usize]| pair[1] - pair[0] >= size_of::<T>();
    assert!(places.windows(2).all(far), "no two overlap");
    let committed = (7 + slab.stats().cached_chunks) * slots * size_of::<T>();
    assert_eq!(slab.stats().committed_bytes, committed);
    assert!(slab.take(keys[0]).is_some_and(|it| it == value));
    assert_eq!(slab.stats().live, 6);
    drop(slab);
    source.expect_all_back();
}

#[test]
fn values_of_every_size_and_alignment() {
    #[derive(Clone, PartialEq)]
    #[repr(align(64))]
    struct Line(u8);
    #[derive(Clone, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);
    #[derive(Clone, PartialEq)]
    #[repr(align(64))]
    struct Empty;

    for slots in [1, 3, 64] {
        use_values((), slots);
        use_values(Empty, slots);
        use_values(7_u8, slots);
        use_values([7_u8; 3], slots);
        use_values(u128::MAX, slots);
        use_values(Line(7), slots);
        use_values(Page(7), amount(slots, 1));
        use_values([7_u64; 8 << 10], amount(slots, 1));
    }
}

#[test]
fn values_without_a_size_need_no_memory() {
    let slab = EpochSlab::<()>::builder()
        .max_bytes(0)
        .chunk_capacity(2)
        .build();
    let keys: Vec<_> = (0..5).map(|_| slab.insert(())).collect();
    let stats = slab.stats();
    assert_eq!((stats.live, stats.chunks, stats.committed_bytes), (5, 3, 0));
    slab.advance_and_close();
    assert_eq!(slab.shrink_to_fit(), 0);
    assert!(keys.iter().all(|key| slab.take(*key).is_some()));
    assert_eq!(slab.stats().chunks, 0);
    assert!((0..5).all(|_| slab.try_insert(()).is_ok()));
}

#[test]
fn a_reserve_past_the_limits_is_refused_before_anything_is_asked_for() {
    let source = Counted::new();
    let refused = |build: &dyn Fn() -> Option<BuildError>| {
        let mut error = None;
        // The first request would be refused, so that no memory is at stake.
        let reached = with_fault(0, Fault::Refuse, true, || error = build());
        assert!(!reached, "nothing was asked for");
        error.expect("it is past a limit")
    };
    for chunks in [usize::MAX, isize::MAX as usize, (1 << 30) + 1] {
        let error = refused(&|| small::<u64>(&source).reserve(chunks).try_build().err());
        let (option, given, min, max) = ("reserve", chunks, 0, 1 << 30);
        let expected = BuildError::OutOfRange {
            option,
            given,
            min,
            max,
        };
        assert_eq!(error, expected);
    }
    // Within the range of the number, but not of the addresses.
    type Large = [u8; isize::MAX as usize >> 16];
    let error = refused(&|| {
        let builder = EpochSlab::<Large>::builder().pages(source.pages());
        builder.chunk_capacity(1).reserve(1 << 17).try_build().err()
    });
    assert!(matches!(
        error,
        BuildError::Memory(AllocError::TooManyBytes { slots, .. }) if slots == 1 << 17
    ));
    // Three chunks of 16 bytes.
    let builder = || small::<u64>(&source).max_bytes(48);
    let limit = AllocError::Limit {
        bytes: 64,
        limit: 48,
    };
    assert_eq!(
        refused(&|| builder().reserve(4).try_build().err()),
        limit.into()
    );
    assert_eq!(builder().reserve(3).build().stats().committed_bytes, 48);
    source.expect_all_back();
}

#[test]
fn a_reserve_needs_no_memory_later() {
    let source = Counted::new();
    let slab = small::<u64>(&source).reserve(5).build();
    assert_eq!(slab.stats().cached_chunks, 5);
    let epoch = slab.permanent();
    let keys = RefCell::new(Vec::new());
    let reached = with_fault(0, Fault::Refuse, true, || {
        for number in 0..10 {
            keys.borrow_mut()
                .push(slab.try_insert_in(epoch, number).unwrap());
        }
    });
    assert!(!reached, "nothing was asked for");
    for key in keys.borrow().iter() {
        slab.take(*key).unwrap();
    }
    slab.clear_epoch(epoch);
    assert_eq!(slab.stats().cached_chunks, 5, "as many are kept");
    drop(slab);
    source.expect_all_back();
}
