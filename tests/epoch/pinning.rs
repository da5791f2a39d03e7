//! Values that outlive their epochs keep their chunks, and nothing else.

use std::collections::VecDeque;

use flatslab::epoch::{EpochError, EpochKey, EpochSlab, EpochState};

use crate::common::amount;
use crate::common::random::{one_in, seed};

#[test]
fn a_ring_runs_on_with_pinned_values_and_its_memory_stays_bounded() {
    const LAG: u64 = 50;

    seed(1);
    let slab = EpochSlab::<u64>::builder().chunk_capacity(4).build();
    assert_eq!(slab.ring(), 16);
    let mut pins: VecDeque<(u64, EpochKey)> = VecDeque::new();
    let cycles = amount(100_000, 300);
    let (mut pinned, mut bounds) = (0, None);
    for cycle in 0..cycles {
        let keys = [0, 1, 2].map(|it| slab.insert(cycle * 3 + it));
        let stays = one_in(4);
        for key in &keys[usize::from(stays)..] {
            slab.take(*key).unwrap();
        }
        let epoch = slab.current();
        let next = slab.advance();
        assert!(next.generation() > epoch.generation());
        let report = slab.close(epoch).unwrap();
        let kept = usize::from(stays);
        assert_eq!(
            (report.scanned, report.pinned, report.live),
            (1, kept, kept)
        );
        if stays {
            pinned += 1;
            pins.push_back((cycle, keys[0]));
        }
        while let Some((from, key)) = pins.front().copied().filter(|pin| pin.0 + LAG <= cycle) {
            assert_eq!(slab.take(key), Some(from * 3));
            pins.pop_front();
        }
        if cycle % 64 == 0 {
            let stats = slab.stats();
            assert_eq!((stats.live, stats.pinned_epochs), (pins.len(), pins.len()));
            assert_eq!(stats.pinned_chunks, pins.len());
        }
        if cycle == 5 * LAG {
            bounds = Some(slab.stats());
        }
    }
    let (stats, early) = (slab.stats(), bounds.unwrap());
    // At most the lag's cycles are pinned, with one chunk each and one of the current epoch;
    // unused chunks are no more than there were pinned ones.
    let chunks = LAG as usize + 2;
    assert!(stats.committed_bytes <= chunks * 4 * 8, "{stats:?}");
    assert!(stats.record_bytes <= 2 * early.record_bytes, "{stats:?}");
    assert_eq!((stats.closed, stats.scanned), (cycles, cycles));
    assert_eq!(stats.recycled, cycles - pinned);
    for (_, key) in pins {
        slab.take(key).unwrap();
    }
    assert_eq!(slab.stats().pinned_chunks, 0);
}

#[test]
fn a_program_that_never_closes_runs_on() {
    for ring in [1, 2, 16] {
        let slab = EpochSlab::<u64>::builder().epochs(ring).build();
        for number in 0..amount(1_000, 100) {
            let key = slab.insert(number);
            slab.advance();
            assert_eq!(slab.take(key), Some(number));
        }
        let stats = slab.stats();
        assert_eq!(stats.epochs, ring + 1, "the permanent one, and the ring's");
        assert!(stats.chunks + stats.cached_chunks <= ring + 1);
    }
}

#[test]
fn a_pinned_chunk_goes_with_its_last_value() {
    let slab = EpochSlab::<u64>::builder().chunk_capacity(2).build();
    let epoch = slab.current();
    let keys: Vec<_> = (0..6).map(|value| slab.insert(value)).collect();
    let (_, report) = slab.advance_and_close();
    assert_eq!((report.pinned, report.live), (3, 6));
    let found = |chunks| {
        let stats = slab.epoch_stats(epoch);
        let pinned = stats.map_or(0, |stats| stats.pinned_chunks);
        assert_eq!(pinned, chunks);
        assert_eq!(slab.stats().cached_chunks, 3 - chunks);
    };
    found(3);
    slab.take(keys[0]).unwrap();
    slab.take(keys[2]).unwrap();
    found(3);
    slab.take(keys[1]).unwrap();
    found(2);
    slab.take(keys[3]).unwrap();
    slab.take(keys[5]).unwrap();
    found(1);
    // Its rates are those of the closing.
    let stats = slab.epoch_stats(epoch).unwrap();
    assert_eq!((stats.scanned, stats.recycled), (3, 0));
    assert_eq!(
        (stats.state, stats.recycled_fraction()),
        (EpochState::Pinned, Some(0.0))
    );
    slab.take(keys[4]).unwrap();
    found(0);
    assert!(slab.epoch_stats(epoch).is_none());
    assert_eq!(slab.stats().recycled_fraction(), Some(0.0));
}

#[test]
fn a_pinned_chunk_takes_no_values() {
    let slab = EpochSlab::<u64>::builder()
        .chunk_capacity(8)
        .epochs(1)
        .build();
    let stays = slab.insert(1);
    slab.advance();
    let committed = slab.stats().committed_bytes;
    let next = slab.insert(2);
    assert_ne!(slab.epoch_of(stays), slab.epoch_of(next));
    assert_eq!(slab.stats().committed_bytes, 2 * committed);
}

#[test]
fn the_place_of_a_pinned_epoch_is_free_at_once() {
    let slab = EpochSlab::<u64>::builder().epochs(2).build();
    let mut keys = Vec::new();
    for number in 0..10 {
        keys.push(slab.insert(number));
        let (next, report) = slab.advance_and_close();
        assert_eq!(report.pinned, 1);
        assert!(
            slab.try_insert_in(next, 100)
                .is_ok_and(|key| slab.take(key) == Some(100))
        );
    }
    let stats = slab.stats();
    // The permanent one, the current one, and no more of the ring.
    assert_eq!((stats.epochs, stats.pinned_epochs), (12, 10));
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(slab.take(*key), Some(number as u64));
    }
    assert_eq!(slab.stats().epochs, 2);
}

#[test]
fn the_current_and_the_permanent_epoch_are_not_closed() {
    let slab = EpochSlab::<u64>::new();
    let refused = [
        (slab.current(), EpochError::Current),
        (slab.permanent(), EpochError::Permanent),
    ];
    for (epoch, error) in refused {
        let key = slab.try_insert_in(epoch, 7).unwrap();
        assert_eq!(slab.close(epoch).unwrap_err(), error);
        assert!(!error.to_string().is_empty());
        assert_eq!(slab.take(key), Some(7));
        assert_eq!(slab.epoch_stats(epoch).unwrap().close_calls, 1);
        assert!(slab.try_insert_in(epoch, 7).is_ok());
    }
    assert_eq!(slab.stats().closed, 0);
}
