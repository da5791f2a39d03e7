//! The resident set: flat while values are replaced, and given back when all are gone.

use flatslab::epoch::EpochSlab;
use flatslab::memory::Pages;
use flatslab_benches::operation::Setting;
use flatslab_benches::record::Metric;
use flatslab_benches::run::{Measured, Turn};

use super::{Random, resident};

type Value = [u64; 16];

/// So many at least, or the resident set is mostly the program's own.
const LEAST: usize = 20_000;

/// Values are replaced at random, a tenth of them in a round.
pub(crate) fn churn(setting: Setting) -> Turn {
    let (live, rounds) = match setting.live {
        ..LEAST => (LEAST, 100),
        live => (live, 1_000),
    };
    let slab: EpochSlab<Value> = EpochSlab::new();
    let mut keys: Vec<_> = (0..live as u64).map(|it| slab.insert([it; 16])).collect();
    let mut random = Random::new(3);
    let mut replace = || {
        for _ in 0..live / 10 {
            let key = &mut keys[random.below(live)];
            let value = slab.take(*key).expect("it is there");
            *key = slab.insert(value);
        }
    };
    // What is printed and read of the system once is there from now on.
    replace();
    resident();
    let (stats, before) = (slab.stats(), resident());
    for _ in 0..rounds {
        replace();
    }
    let (after, then) = (slab.stats(), resident());
    let sum: u64 = keys
        .iter()
        .map(|&key| slab.get(key).expect("it is there")[15])
        .sum();
    assert_eq!(sum, (0..live as u64).sum::<u64>());
    let growth = (then as f64 / before as f64 - 1.0) * 100.0;
    Turn(vec![Measured::facts(&[
        (Metric::Chunks, after.chunks.abs_diff(stats.chunks) as f64),
        (Metric::Memory, after.committed_bytes as f64 / 1024.0),
        (Metric::Growth, growth),
    ])])
}

/// All values are removed, their epoch is closed, and the pages go back to the system.
pub(crate) fn give_back(setting: Setting) -> Turn {
    let live = setting.live.max(LEAST);
    let slab: EpochSlab<Value> = EpochSlab::builder()
        .pages(Pages::system())
        // All of them stay until they are asked for.
        .cached_chunks(live)
        .build();
    let keys: Vec<_> = (0..live as u64).map(|it| slab.insert([it; 16])).collect();
    for (number, key) in keys.into_iter().enumerate() {
        assert_eq!(slab.take(key).map(|it| it[15]), Some(number as u64));
    }
    let (_, report) = slab.advance_and_close();
    assert_eq!((report.pinned, report.released_bytes), (0, 0));
    resident();
    let before = resident();
    let released = slab.shrink_to_fit() as u64;
    let gone = before.saturating_sub(resident());
    assert!(released >= (live * size_of::<Value>()) as u64);
    let still = (1.0 - gone as f64 / released as f64) * 100.0;
    Turn(vec![Measured::facts(&[
        (Metric::Memory, released as f64 / 1024.0),
        (Metric::Resident, still.max(0.0)),
    ])])
}
