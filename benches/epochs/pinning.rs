//! What stays in an epoch pins a chunk of it, and nothing else does.

use std::collections::VecDeque;

use flatslab::epoch::{EpochKey, EpochSlab};
use flatslab_benches::operation::Setting;
use flatslab_benches::record::Metric;
use flatslab_benches::run::{Measured, Turn};

use super::{Random, drift};

type Value = [u64; 8];

/// Values of an epoch: a chunk full of them.
const VALUES: usize = 8;

/// Epochs are closed, each of which has a value that stays with that probability.
pub(crate) fn sweep(setting: &Setting, share: f64) -> Turn {
    let closes = if setting.live < 100_000 {
        10_000
    } else {
        100_000
    };
    let slab: EpochSlab<Value> = EpochSlab::builder().chunk_capacity(VALUES).build();
    let mut random = Random::new(1);
    let (mut scanned, mut recycled, mut pinned_epochs) = (0, 0, 0_usize);
    let mut committed = Vec::with_capacity(closes);
    let mut keys = Vec::with_capacity(VALUES);
    for _ in 0..closes {
        keys.extend((0..VALUES as u64).map(|value| slab.insert([value; 8])));
        let stays = random.chance(share);
        let place = random.below(VALUES);
        for (at, key) in keys.drain(..).enumerate() {
            if !(stays && at == place) {
                assert_eq!(slab.take(key).map(|it| it[7]), Some(at as u64));
            }
        }
        let (_, report) = slab.advance_and_close();
        scanned += report.scanned;
        recycled += report.recycled;
        pinned_epochs += usize::from(report.pinned > 0);
        committed.push(slab.memory().bytes() as u64);
    }
    assert_eq!(scanned, closes);
    let stats = slab.stats();
    assert_eq!(stats.pinned_epochs, pinned_epochs);
    let rate = recycled as f64 / scanned as f64;
    let sigma = (share * (1.0 - share) / closes as f64).sqrt();
    let off = (rate - (1.0 - share)).abs();
    // Nothing is left to chance at either end.
    let sigmas = match off {
        0.0 => 0.0,
        off => off / sigma,
    };
    let excess = stats.pinned_chunks.abs_diff(pinned_epochs);
    Turn(vec![Measured::facts(&[
        (Metric::Recycled, rate * 100.0),
        (Metric::Sigmas, sigmas),
        (Metric::Chunks, excess as f64),
        (Metric::Memory, stats.committed_bytes as f64 / 1024.0),
        (Metric::Drift, drift(&committed[WARM_UP..])),
    ])])
}

/// Cycles that do not count.
const WARM_UP: usize = 9;

const CYCLES: usize = 2_000;
/// Values of a cycle, of which every fifth stays for so many cycles.
const OF_A_CYCLE: usize = 1_000;
const LATER: usize = 5;

/// Every cycle has an epoch; what stays of it is removed some cycles later, or never.
pub(crate) fn sustained(is_released: bool) -> Turn {
    let slab: EpochSlab<Value> = EpochSlab::new();
    let mut random = Random::new(2);
    let mut staying: VecDeque<Vec<EpochKey>> = VecDeque::new();
    let mut committed = Vec::with_capacity(CYCLES);
    let (mut scanned, mut recycled) = (0, 0);
    for _ in 0..CYCLES {
        if is_released && staying.len() == LATER {
            for key in staying.pop_front().into_iter().flatten() {
                assert!(slab.take(key).is_some());
            }
        }
        let keys = (0..OF_A_CYCLE as u64).map(|value| slab.insert([value; 8]));
        let keys: Vec<EpochKey> = keys.collect();
        let mut stays = Vec::with_capacity(OF_A_CYCLE / 5 + 1);
        for five in keys.chunks(5) {
            let stay = random.below(five.len());
            for (at, &key) in five.iter().enumerate() {
                if at == stay {
                    stays.push(key);
                } else {
                    assert!(slab.take(key).is_some());
                }
            }
        }
        assert_eq!(stays.len(), OF_A_CYCLE / 5);
        staying.push_back(stays);
        let (_, report) = slab.advance_and_close();
        scanned += report.scanned;
        recycled += report.recycled;
        committed.push(slab.memory().bytes() as u64);
    }
    Turn(vec![Measured {
        memory: committed.clone(),
        ..Measured::facts(&[
            (Metric::Recycled, recycled as f64 / scanned as f64 * 100.0),
            (Metric::Memory, committed[CYCLES - 1] as f64 / 1024.0),
            (Metric::Drift, drift(&committed[WARM_UP..])),
        ])
    }])
}
