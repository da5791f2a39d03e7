//! An LRU cache: a bounded slab with the entries, an index that finds an entry by its id, and a list
//! from the most recently used entry to the least recently used one. A hit, an insertion and an
//! eviction are O(1), and nothing moves or allocates after construction.
//!
//! ```text
//! cargo run --release --example lru_cache
//! ```
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use flatslab::collections::{Indexed, InsertIdError, KeyIndex, Links, List};
use flatslab::{BoundedKeySlab, Key, linked};

struct Node {
    id: u64,
    value: u64,
    used: Links,
}

linked!(impl Linked<Key, Key> for Node { used });

impl Indexed<u64> for Node {
    fn id(&self) -> &u64 {
        &self.id
    }
}

struct LruCache {
    nodes: BoundedKeySlab<Node>,
    by_id: KeyIndex<u64>,
    by_use: List,
}

impl LruCache {
    fn with_capacity(capacity: usize) -> Self {
        LruCache {
            nodes: BoundedKeySlab::with_capacity(capacity),
            by_id: KeyIndex::with_capacity(capacity),
            by_use: List::new(Key::from_raw(0)),
        }
    }

    fn evict(&mut self) -> Option<(u64, u64)> {
        let oldest = self.by_use.last()?;
        self.by_id.forget(&self.nodes, oldest);
        let node = self.by_use.pop_back(&mut self.nodes)?;
        Some((node.id, node.value))
    }

    /// The value of this id, which is the newest from then on.
    fn get(&mut self, id: u64) -> Option<&mut u64> {
        let key = self.by_id.get(&self.nodes, &id)?;
        let moved = self.by_use.move_to_front(&mut self.nodes, key);
        moved.expect("every node is in the list");
        Some(&mut self.nodes[key].value)
    }

    /// Puts a value in, as the newest. Returns what had to go for it: the value
    /// that the id had, or the oldest if the cache was full.
    fn insert(&mut self, id: u64, value: u64) -> Option<(u64, u64)> {
        if let Some(there) = self.get(id) {
            return Some((id, std::mem::replace(there, value)));
        }
        let evicted = if self.nodes.is_full() {
            self.evict()
        } else {
            None
        };
        let used = Links::new();
        match self.by_id.insert(&mut self.nodes, Node { id, value, used }) {
            Ok(key) => {
                let linked = self.by_use.link_front(&mut self.nodes, key);
                linked.expect("a new node is in no list");
                evicted
            }
            // Only a cache of capacity 0 is full after an eviction.
            Err(InsertIdError::Full(node) | InsertIdError::Taken(node)) => {
                Some((node.id, node.value))
            }
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
                    assert_eq!(cache.get(id).copied(), old.map(|old| old.1));
                    model.splice(0..0, old);
                    continue;
                }
                model.insert(0, (id, step));
                let evicted = (model.len() > capacity).then(|| model.pop().unwrap());
                assert_eq!(cache.insert(id, step), old.or(evicted));
            }
            assert_eq!(
                (cache.nodes.len(), cache.by_id.len()),
                (model.len(), model.len())
            );
            let order = cache.by_use.iter(&cache.nodes);
            assert!(order.map(|(_, node)| (node.id, node.value)).eq(model));
        }
    }
}
