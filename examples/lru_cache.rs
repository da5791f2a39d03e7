//! An LRU cache: a map from ids to keys, and the entries in a bounded slab,
//! linked from the most recently used one to the least recently used one. A hit, an insertion
//! and an eviction are O(1), and the entries never move or allocate.
//!
//! ```text
//! cargo run --release --example lru_cache
//! ```
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use flatslab::{BoundedKeySlab, FullError, Key};

struct Node {
    id: u64,
    value: u64,
    /// `Key::NONE` ends the list. No slab has a value there, so `get_mut` says
    /// `None` at an end, and no link needs an `Option`.
    newer: Key,
    older: Key,
}

struct LruCache {
    keys: HashMap<u64, Key>,
    nodes: BoundedKeySlab<Node>,
    newest: Key,
    oldest: Key,
}

impl LruCache {
    fn with_capacity(capacity: usize) -> Self {
        LruCache {
            keys: HashMap::with_capacity(capacity),
            nodes: BoundedKeySlab::with_capacity(capacity),
            newest: Key::NONE,
            oldest: Key::NONE,
        }
    }

    fn unlink(&mut self, key: Key) {
        let Node { newer, older, .. } = self.nodes[key];
        match self.nodes.get_mut(newer) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_as_newest(&mut self, key: Key) {
        let older = std::mem::replace(&mut self.newest, key);
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = key,
            None => self.oldest = key,
        }
        let node = &mut self.nodes[key];
        (node.newer, node.older) = (Key::NONE, older);
    }

    fn evict(&mut self) -> Option<(u64, u64)> {
        let key = self.oldest;
        let id = self.nodes.get(key)?.id;
        self.unlink(key);
        self.keys.remove(&id);
        Some((id, self.nodes.remove(key).value))
    }

    /// The value of this id, which is the newest from then on.
    fn get(&mut self, id: u64) -> Option<u64> {
        let key = *self.keys.get(&id)?;
        if key != self.newest {
            self.unlink(key);
            self.link_as_newest(key);
        }
        Some(self.nodes[key].value)
    }

    /// Puts a value in, as the newest. Returns what had to go for it: the value
    /// that the id had, or the oldest if the cache was full.
    fn insert(&mut self, id: u64, value: u64) -> Option<(u64, u64)> {
        if let Some(old) = self.get(id) {
            // `get` made it the newest.
            self.nodes[self.newest].value = value;
            return Some((id, old));
        }
        let full = self.nodes.free_slots() == 0;
        let evicted = if full { self.evict() } else { None };
        let node = Node {
            id,
            value,
            newer: Key::NONE,
            older: Key::NONE,
        };
        match self.nodes.insert(node) {
            Ok(key) => {
                self.keys.insert(id, key);
                self.link_as_newest(key);
                evicted
            }
            // Only a cache of capacity 0 is full after an eviction.
            Err(FullError(node)) => Some((node.id, node.value)),
        }
    }
}

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
    let mut linked = LruCache::with_capacity(capacity);
    let mut stamped = StampedCache::default();
    let (mut ns, mut stamped_ns) = (Vec::new(), Vec::new());
    // In turns, so that a busy machine slows both down.
    for round in 0..6 {
        let ours = serve(&requests, |id| {
            let hit = linked.get(id).is_some();
            if !hit {
                linked.insert(id, 1);
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

    /// Against a vector in order of use: what falls off its end is evicted.
    #[test]
    fn the_entry_used_longest_ago_is_evicted() {
        for capacity in [0, 1, 2, 7] {
            let mut cache = LruCache::with_capacity(capacity);
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (step, id) in (0..).zip(requests(5_000, 12)) {
                let at = model.iter().position(|entry| entry.0 == id);
                let old = at.map(|at| model.remove(at));
                if step % 3 > 0 {
                    assert_eq!(cache.get(id), old.map(|old| old.1));
                    model.splice(0..0, old);
                    continue;
                }
                model.insert(0, (id, step));
                let evicted = (model.len() > capacity).then(|| model.pop().unwrap());
                assert_eq!(cache.insert(id, step), old.or(evicted));
            }
            assert_eq!(
                (cache.nodes.len(), cache.keys.len()),
                (model.len(), model.len())
            );

            let (mut newer, mut key) = (Key::NONE, cache.newest);
            for entry in &model {
                let node = &cache.nodes[key];
                assert_eq!((node.id, node.value, node.newer), (entry.0, entry.1, newer));
                (newer, key) = (key, node.older);
            }
            assert_eq!((newer, key), (cache.oldest, Key::NONE));
        }
    }
}
