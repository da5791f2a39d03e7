//! A cache of pages that is full: a request finds its page, or loads it in the place of the one that
//! was used longest ago. An `Lru` beside what is written with `std` alone.
//!
//! ```text
//! cargo run --release --example lru_cache
//! ```
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use flatslab::collections::Lru;

/// The same with `std` alone: a stamp for each use, and an ordered map from
/// stamps to ids, whose first entry is the oldest. O(log n).
#[derive(Default)]
struct StampedCache {
    entries: HashMap<u64, (u64, u64)>,
    ids: BTreeMap<u64, u64>,
    uses: u64,
}

impl StampedCache {
    /// Uses an id, which is put in if it is not there; returns whether it was.
    fn request(&mut self, id: u64, capacity: usize) -> bool {
        self.uses += 1;
        let old = self.entries.insert(id, (self.uses, 1));
        if let Some((stamp, _)) = old {
            self.ids.remove(&stamp);
        } else if self.entries.len() > capacity {
            let oldest = self.ids.pop_first();
            oldest.map(|(_, id)| self.entries.remove(&id));
        }
        self.ids.insert(self.uses, id);
        old.is_some()
    }
}

/// splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Ids of which the low ones are asked for more often.
fn requests(count: usize, ids: u64) -> Vec<u64> {
    let mut state = 1;
    (0..count)
        .map(|_| (random(&mut state) % ids).min(random(&mut state) % ids))
        .collect()
}

/// Asks for every id; returns how many were there and the ns each took.
fn serve(requests: &[u64], mut request: impl FnMut(u64) -> bool) -> (usize, f64) {
    let start = Instant::now();
    let hits = requests.iter().filter(|id| request(**id)).count();
    let ns = start.elapsed().as_nanos() as f64 / requests.len() as f64;
    (hits, ns)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (capacity, requests) = (4_096, requests(40_000, 8_192));
    let mut cache = Lru::with_capacity(capacity);
    let mut stamped = StampedCache::default();
    let (mut ns, mut stamped_ns) = (Vec::new(), Vec::new());
    // In turns, so that a busy machine slows both down.
    for round in 0..6 {
        let ours = serve(&requests, |id| {
            let hit = cache.get(&id).is_some();
            if !hit {
                cache.insert(id, 1);
            }
            hit
        });
        let theirs = serve(&requests, |id| stamped.request(id, capacity));
        assert_eq!(ours.0, theirs.0);
        if round == 0 {
            // They were being filled.
            println!("{} of {} ids were in the cache", ours.0, requests.len());
            continue;
        }
        ns.push(ours.1);
        stamped_ns.push(theirs.1);
    }
    let (ns, stamped_ns) = (median(ns), median(stamped_ns));
    println!("a request: {ns:.0} ns; with a BTreeMap of stamps, {stamped_ns:.0} ns");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_the_same_pages() {
        for capacity in [1, 2, 7] {
            let mut cache = Lru::with_capacity(capacity);
            let mut stamped = StampedCache::default();
            for (step, id) in (0..).zip(requests(5_000, 12)) {
                let (_, displaced) = cache.get_or_insert_with(id, || step);
                let is_full = cache.len() == capacity;
                assert!(displaced.is_none() || is_full);
                stamped.request(id, capacity);
                assert!(
                    stamped
                        .ids
                        .values()
                        .rev()
                        .eq(cache.iter().map(|(id, _)| id))
                );
            }
        }
    }
}
