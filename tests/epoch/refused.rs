//! Memory that the source refuses, although the slab has it: of chunks without values.

use std::sync::Arc;

use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab};
use flatslab::memory::{Pages, Region};

use crate::common::amount;
use crate::source::{Counted, Fault, with_fault};

fn region(bytes: usize) -> Arc<Region> {
    Arc::new(Region::try_new(bytes, Pages::new()).unwrap())
}

/// As many buffers as the current epoch takes.
fn fill(bytes: &EpochBytes, len: usize) -> Vec<EpochKey> {
    let alloc = || Some(bytes.try_alloc_in(bytes.current(), len).ok()?.into_key());
    std::iter::from_fn(alloc).collect()
}

fn remove_all(bytes: &EpochBytes, keys: Vec<EpochKey>) {
    assert!(keys.into_iter().all(|key| bytes.remove(key)));
}

/// Larger ones were refused for good, with half of the region free.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_of_one_class_that_came_and_went_leave_room_for_larger_ones() {
    let builder = EpochBytes::builder().chunk_bytes(1024).largest(48 << 10);
    let bytes = builder.pages(region(96 << 10).pages()).build();
    for len in [48 << 10, 100, 48 << 10, 1000, 20_000, 64, 48 << 10] {
        remove_all(&bytes, fill(&bytes, len));
        // 1 + a 64th of the chunks.
        let tries = [(); 3].map(|()| bytes.try_alloc_in(bytes.current(), 48 << 10));
        let keys: Vec<_> = tries
            .into_iter()
            .flatten()
            .map(|buf| buf.into_key())
            .collect();
        assert!(!keys.is_empty(), "after buffers of {len}");
        remove_all(&bytes, keys);
    }
}

/// It built, and took no value.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn slabs_without_options_serve_from_a_region_that_is_smaller_than_a_chunk() {
    // A chunk has 16 KiB.
    let bytes = EpochBytes::builder()
        .pages(region(26 << 10).pages())
        .build();
    for len in [64, 300, 2000] {
        let keys = fill(&bytes, len);
        assert!(keys.len() * len > 1500, "{len}: {}", keys.len());
        remove_all(&bytes, keys);
    }
    // A chunk has 64 KiB.
    let slab = EpochSlab::<[u64; 128]>::builder().pages(region(32 << 10).pages());
    let slab = slab.build();
    let keys: Vec<_> = (0..)
        .map_while(|it| slab.try_insert([it; 128]).ok())
        .collect();
    assert!(keys.len() >= 16, "{}", keys.len());
    for (number, key) in keys.into_iter().enumerate() {
        assert_eq!(slab.take(key), Some([number as u64; 128]));
    }
}

/// One request freed 87,382 chunks.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_request_at_a_limit_frees_a_bounded_number_of_chunks() {
    let chunks = amount(2000, 300);
    let builder = EpochBytes::builder().chunk_bytes(64).largest(1 << 14);
    let bytes = builder.max_bytes(chunks * 64).build();
    for len in [128, 4096, amount(1 << 14, 8192)] {
        let keys = fill(&bytes, 64);
        assert_eq!(keys.len(), chunks);
        remove_all(&bytes, keys);
        let mut refusals = 0;
        loop {
            let before = bytes.stats();
            let result = bytes.try_alloc_in(bytes.current(), len);
            let result = result.map(|buf| buf.into_key());
            let after = bytes.stats();
            let freed = (before.chunks + before.cached_chunks)
                .saturating_sub(after.chunks + after.cached_chunks);
            assert!(freed <= 64, "{len}: {freed}");
            match result {
                Ok(key) => break assert!(bytes.remove(key)),
                Err(_) => refusals += 1,
            }
        }
        assert!(refusals <= len / 64 / 64, "{len}: {refusals}");
    }
}

/// A request looks for memory in rounds, and each of them freed 64 chunks.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_refused_request_frees_a_bounded_number_of_chunks() {
    let count = amount(2000, 300);
    let source = Counted::new();
    let builder = EpochSlab::<u64>::builder()
        .chunk_capacity(1)
        .cached_chunks(count);
    let slab = builder.pages(source.pages()).build();
    let epoch = slab.open();
    for value in 0..count as u64 {
        slab.try_insert_in(epoch, value).unwrap();
    }
    slab.clear_epoch(epoch);
    let before = slab.stats();
    assert!(before.cached_chunks >= count);
    let reached = with_fault(0, Fault::Refuse, true, || {
        assert!(slab.try_insert(1).is_err());
    });
    assert!(reached);
    let freed = before.cached_chunks - slab.stats().cached_chunks;
    assert!(freed > 0 && freed <= 64, "{freed}");
}

/// Records of chunks stayed in the source for good.
#[test]
fn records_are_freed_with_their_chunks_and_no_key_comes_twice() {
    let source = Counted::new();
    let slab = EpochSlab::<u64>::builder().chunk_capacity(4);
    let slab = slab.cached_chunks(0).pages(source.pages()).build();
    let first = slab.insert(0);
    assert_eq!(slab.take(first), Some(0));
    slab.clear_epoch(slab.current());
    slab.shrink_to_fit();
    let bytes = source.bytes();
    let mut all = vec![first];
    for round in 0..amount(40, 4) {
        let keys: Vec<_> = (0..amount(100, 25)).map(|it| slab.insert(it)).collect();
        // In another order, so that slots have different generations.
        for key in keys.iter().step_by(3) {
            assert!(slab.take(*key).is_some());
            all.push(slab.insert(7));
        }
        all.extend(keys);
        slab.clear_epoch(slab.current());
        slab.shrink_to_fit();
        assert_eq!(source.bytes(), bytes, "round {round}");
        assert!(all.iter().all(|key| slab.get(*key).is_none()));
    }
    let count = all.len();
    all.sort_by_key(|key| key.into_raw());
    all.dedup();
    assert_eq!(all.len(), count, "two values with one key");
    drop(slab);
    source.expect_all_back();
}

/// The records of epochs that were pinned stayed too.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn spare_records_of_epochs_make_way() {
    let builder = || EpochBytes::builder().chunk_bytes(64).epochs(1);
    let region = region(64 << 10);
    let bytes = builder().largest(20_000).pages(region.pages()).build();
    let mut keys = Vec::new();
    for _ in 0..30 {
        keys.extend(
            bytes
                .try_alloc_in(bytes.current(), 64)
                .map(|buf| buf.into_key()),
        );
        bytes.advance_and_close();
    }
    assert_eq!(bytes.stats().pinned_epochs, 30);
    remove_all(&bytes, keys);
    let before = bytes.stats().record_bytes;
    remove_all(&bytes, fill(&bytes, 20_000));
    assert!(bytes.stats().record_bytes < before / 2);
}

/// The records that had been set aside for cleared epochs of the ring lay in the middle.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn cleared_epochs_leave_as_much_room_as_emptied_ones() {
    for kib in 38..47 {
        let serves = |empties: fn(&EpochBytes, Epoch, &[EpochKey])| {
            let builder = EpochBytes::builder().chunk_bytes(4 << 10).largest(32 << 10);
            let slab = builder.epochs(3).pages(region(kib << 10).pages()).build();
            let epochs: Vec<_> = (0..3)
                .map(|_| {
                    slab.advance();
                    let keys =
                        (0..2).filter_map(|_| slab.try_copy_in(slab.current(), &[1; 4000]).ok());
                    (slab.current(), keys.collect::<Vec<_>>())
                })
                .collect();
            for (epoch, keys) in epochs {
                empties(&slab, epoch, &keys);
            }
            slab.try_copy_in(slab.current(), &[2; 32 << 10]).is_ok()
        };
        assert!(serves(|slab, _, keys| keys
            .iter()
            .for_each(|&key| assert!(slab.remove(key)))));
        assert!(
            serves(|slab, epoch, _| assert!(slab.clear_epoch(epoch) <= 2)),
            "{kib}"
        );
    }
}
