//! Chunks without values of open epochs: at a limit, and where the source refuses, they serve the
//! epoch that needs them.

use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab, InsertError};
use flatslab::{AllocError, BuildError};

use crate::common::amount;
use crate::source::{Counted, Fault, with_fault};

/// As many values as an epoch takes.
fn fill(slab: &EpochSlab<u64>, epoch: Epoch) -> Vec<EpochKey> {
    (0..)
        .map_while(|value| slab.try_insert_in(epoch, value).ok())
        .collect()
}

fn take_all(slab: &EpochSlab<u64>, keys: Vec<EpochKey>) {
    keys.into_iter()
        .for_each(|key| assert!(slab.take(key).is_some()));
}

/// A slab of `chunks` chunks of 4 values.
fn limited(chunks: usize) -> EpochSlab<u64> {
    let builder = EpochSlab::builder().chunk_capacity(4).epochs(4);
    builder.max_bytes(chunks * 32).build()
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_empty_slab_serves_any_epoch_whichever_had_the_chunks() {
    let slab = limited(amount(10, 3));
    let all = 4 * amount(10, 3);
    let opened = slab.open();
    for round in 0..amount(6, 2) {
        let (permanent, closing) = (slab.permanent(), slab.current());
        for epoch in [permanent, opened, slab.current(), permanent] {
            let keys = fill(&slab, epoch);
            assert_eq!(keys.len(), all, "round {round}");
            take_all(&slab, keys);
        }
        let keys = fill(&slab, closing);
        slab.advance();
        take_all(&slab, keys);
        // The chunks are those of the closing epoch.
        let keys = fill(&slab, slab.current());
        assert_eq!(keys.len(), all);
        take_all(&slab, keys);
    }
    assert_eq!(slab.stats().live, 0);
}

#[test]
fn the_one_chunk_without_values_is_found_and_the_others_stay() {
    for which in (0..5).step_by(amount(1, 2)) {
        let slab = limited(5);
        let mut keys = fill(&slab, slab.permanent());
        // All of one chunk, and all but one of each other.
        let kept: Vec<_> = (0..5)
            .filter(|&it| it != which)
            .map(|it| keys[4 * it + it % 4])
            .collect();
        keys.retain(|key| !kept.contains(key));
        take_all(&slab, keys);
        assert_eq!(fill(&slab, slab.current()).len(), 4);
        let permanent = slab.epoch_stats(slab.permanent()).unwrap();
        assert_eq!((permanent.chunks, permanent.live), (4, 4));
        for (key, number) in kept.iter().zip((0..5).filter(|&it| it != which)) {
            assert_eq!(*slab.get(*key).unwrap() as usize, 4 * number + number % 4);
        }
    }
}

#[test]
fn a_chunk_that_was_empty_and_is_not_stays() {
    let slab = limited(1);
    let permanent = slab.permanent();
    for value in 0..20 {
        let key = slab.try_insert_in(permanent, value).unwrap();
        assert!(matches!(
            slab.try_insert(7),
            Err(InsertError::Full(7, AllocError::Limit { .. }))
        ));
        assert_eq!(slab.take(key), Some(value));
    }
    slab.insert(7);
    assert!(slab.try_insert_in(permanent, 1).is_err());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_epoch_uses_its_own_empty_chunks_first() {
    let slab = EpochSlab::<u64>::builder().chunk_capacity(4).build();
    let other = slab.open();
    for epoch in [other, slab.current()] {
        let keys: Vec<_> = (0..40)
            .map(|it| slab.try_insert_in(epoch, it).unwrap())
            .collect();
        take_all(&slab, keys);
    }
    let committed = slab.stats().committed_bytes;
    for epoch in [slab.current(), other, slab.current()] {
        let keys: Vec<_> = (0..40)
            .map(|it| slab.try_insert_in(epoch, it).unwrap())
            .collect();
        take_all(&slab, keys);
        let chunks = [other, slab.current()].map(|it| slab.epoch_stats(it).unwrap().chunks);
        assert_eq!(
            (chunks, slab.stats().committed_bytes),
            ([10, 10], committed)
        );
    }
    // All of them are reported.
    let report = slab.close(other).unwrap();
    assert_eq!((report.scanned, report.recycled), (10, 10));
}

#[test]
fn a_key_of_a_value_that_left_leads_to_none_of_the_other_epoch() {
    let slab = limited(1);
    let keys = fill(&slab, slab.permanent());
    keys.iter()
        .for_each(|key| assert!(slab.take(*key).is_some()));
    let later = fill(&slab, slab.current());
    assert!(keys.iter().all(|key| slab.get(*key).is_none()));
    assert!(
        later
            .iter()
            .all(|key| slab.epoch_of(*key) == Some(slab.current()))
    );
}

/// As many buffers as the permanent epoch takes.
fn fill_bytes(bytes: &EpochBytes, len: usize) -> Vec<EpochKey> {
    let alloc = || Some(bytes.try_alloc_in(bytes.permanent(), len).ok()?.into_key());
    std::iter::from_fn(alloc).collect()
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_permanent_epoch_serves_any_class_and_keeps_its_values() {
    let (chunk, limit) = amount((16 << 10, 1 << 20), (4 << 10, 64 << 10));
    let bytes = EpochBytes::builder()
        .chunk_bytes(chunk)
        .largest(16 << 10)
        .max_bytes(limit)
        .build();
    let kept = bytes.try_copy_in(bytes.permanent(), b"kept").unwrap();
    for len in [100, 3000, 64, 16_000, 1, 600, 100] {
        let keys = fill_bytes(&bytes, len);
        let all = keys.len() * len.next_power_of_two().max(64);
        assert!(all > limit / 2, "{len}: {all} of {limit}");
        assert!(keys.into_iter().all(|key| bytes.remove(key)));
    }
    assert_eq!(&*bytes.get(kept).unwrap(), b"kept");
}

#[test]
fn no_chunk_is_given_up_in_vain() {
    let builder = EpochBytes::builder().chunk_bytes(64).largest(1024);
    let bytes = builder.max_bytes(1024 + 64).build();
    let mut keys = fill_bytes(&bytes, 64);
    assert_eq!(keys.len(), 17);
    let last = keys.split_off(10);
    assert!(keys.iter().all(|key| bytes.remove(*key)));
    let before = bytes.stats();
    assert!(bytes.try_alloc_in(bytes.current(), 1024).is_err());
    let after = bytes.stats();
    assert_eq!(after.committed_bytes, before.committed_bytes);
    assert_eq!(after.chunks, before.chunks);
    // With as many as are needed: 16 of them.
    assert!(last[1..].iter().all(|key| bytes.remove(*key)));
    assert!(bytes.try_alloc_in(bytes.current(), 1024).is_ok());
    assert!(bytes.contains_key(last[0]));
    assert_eq!(bytes.stats().committed_bytes, 1024 + 64);
}

#[test]
fn where_the_source_refuses_an_epoch_takes_over_a_chunk() {
    let source = Counted::new();
    let builder = EpochSlab::<u64>::builder().chunk_capacity(4);
    let slab = builder.pages(source.pages()).build();
    let permanent = slab.permanent();
    // Records are there.
    take_all(&slab, vec![slab.insert(1)]);
    let keys: Vec<_> = (0..12)
        .map(|it| slab.try_insert_in(permanent, it).unwrap())
        .collect();
    let refused = with_fault(0, Fault::Refuse, true, || {
        assert_eq!(fill(&slab, slab.current()).len(), 4);
    });
    assert!(refused);
    take_all(&slab, keys);
    assert!(with_fault(0, Fault::Refuse, true, || {
        assert_eq!(fill(&slab, slab.current()).len(), 12);
    }));
    drop(slab);
    source.expect_all_back();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_source_that_refuses_is_asked_again_once_it_has_as_much_back() {
    let source = Counted::new();
    let builder = EpochBytes::builder().chunk_bytes(1024).largest(4096);
    let bytes = builder.pages(source.pages()).build();
    let keys: Vec<_> = (0..80).map(|_| bytes.alloc(100).into_key()).collect();
    assert!(keys.into_iter().all(|key| bytes.remove(key)));
    let before = bytes.stats().committed_bytes;
    assert!(with_fault(0, Fault::Refuse, false, || {
        assert_eq!(
            bytes.try_alloc_in(bytes.current(), 4000).unwrap().len(),
            4000
        );
    }));
    assert!(bytes.stats().committed_bytes <= before);
    drop(bytes);
    source.expect_all_back();
}

#[test]
fn chunks_of_one_slot_are_taken_over_too() {
    let builder = EpochSlab::<u64>::builder().chunk_capacity(1);
    let slab = builder.max_bytes(5 * 8).build();
    for epoch in [slab.permanent(), slab.current(), slab.permanent()] {
        let keys = fill(&slab, epoch);
        assert_eq!(keys.len(), 5);
        take_all(&slab, keys);
    }
}

/// Panics unless a limit below this was named.
fn expect_min(error: &BuildError, limit: usize, least: usize) {
    let expected = BuildError::OutOfRange {
        option: "max_bytes",
        given: limit,
        min: least,
        max: usize::MAX,
    };
    assert!(*error == expected && limit < least, "{error}");
}

/// A limit below a chunk was accepted, and refused every insertion.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_slab_that_is_built_takes_a_value_into_each_kind_of_epoch() {
    for limit in [0, 1, 31, 32, 511, 512, usize::MAX] {
        for capacity in [1, 4, 64, amount(1000, 64)] {
            let builder = EpochSlab::<u64>::builder().chunk_capacity(capacity);
            match builder.max_bytes(limit).try_build() {
                Ok(slab) => {
                    for epoch in [slab.permanent(), slab.current(), slab.open()] {
                        let key = slab.try_insert_in(epoch, 7).unwrap();
                        assert_eq!(slab.take(key), Some(7));
                    }
                }
                Err(error) => expect_min(&error, limit, capacity * 8),
            }
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_of_each_size_that_is_promised_are_served() {
    let mut built = 0;
    for limit in [
        0,
        63,
        64,
        1000,
        16 << 10,
        amount(1 << 20, 16 << 10),
        usize::MAX,
    ] {
        for chunk in [None, Some(1), Some(1000), Some(amount(1 << 20, 4096))] {
            for largest in [None, Some(1), Some(amount(1 << 20, 5000))] {
                let mut builder = EpochBytes::builder().max_bytes(limit);
                if let Some(bytes) = chunk {
                    builder = builder.chunk_bytes(bytes);
                }
                if let Some(bytes) = largest {
                    builder = builder.largest(bytes);
                }
                let bytes = match builder.clone().try_build() {
                    Ok(bytes) => bytes,
                    Err(BuildError::OutOfRange {
                        option, given, min, ..
                    }) => {
                        assert_eq!((option, given), ("max_bytes", limit));
                        assert!(builder.max_bytes(min).try_build().is_ok());
                        continue;
                    }
                    Err(error) => panic!("{error}"),
                };
                built += 1;
                let mut len = bytes.largest();
                while len > 0 {
                    for epoch in [bytes.permanent(), bytes.current()] {
                        let key = bytes.try_alloc_in(epoch, len).unwrap().into_key();
                        assert!(bytes.remove(key));
                    }
                    len /= 2;
                }
            }
        }
    }
    assert!(built > 30, "{built}");
}
