//! Caches of values by id: a request finds its value, or displaces the one used longest ago.

use flatslab::collections::Lru;
use flatslab_benches::prelude::*;
use rand::Rng;

use crate::{numbers, picks, timed};

type Value = [u64; 6];

pub(super) trait Cache {
    const NAME: &str;

    fn of(capacity: usize) -> Self;

    /// The first word of a value.
    fn get(&mut self, id: u64) -> Option<u64>;
    fn insert(&mut self, id: u64, value: Value);
}

pub(super) fn cache<C: Cache>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let ids = numbers(&mut setting, 2 * live + count);
    let (first, others) = ids.split_at(2 * live);
    let mut cache = C::of(live);
    for &id in &first[..live] {
        cache.insert(id, [id; 6]);
    }
    let mut hits = 0;
    let picks = picks(&mut setting, count);
    let get = setting.time(count, || {
        for &pick in &picks {
            hits += usize::from(cache.get(first[pick as usize]).is_some());
        }
    });
    // `quick_cache` does not promise to keep what was inserted first.
    assert!(hits >= count / 2, "{hits} of {count}");
    // The low ones are asked for more often.
    let requests: Vec<u64> = (0..count)
        .map(|_| {
            let mut place = || setting.random.random_range(0..2 * live);
            first[place().min(place())]
        })
        .collect();
    let request = setting.time(count, || {
        for &id in &requests {
            if cache.get(id).is_none() {
                cache.insert(id, [id; 6]);
            }
        }
    });
    let displace = setting.time(count, || {
        for &id in others {
            cache.insert(id, [id; 6]);
        }
    });
    assert_eq!(cache.get(others[count - 1]), Some(others[count - 1]));
    Turn::from([get, request, displace].map(|ticks| vec![ticks]))
}

impl Cache for Lru<u64, Value> {
    const NAME: &str = "Lru";

    fn of(capacity: usize) -> Self {
        Lru::with_capacity(capacity)
    }

    #[inline(always)]
    fn get(&mut self, id: u64) -> Option<u64> {
        Some(self.get(&id)?[0])
    }

    #[inline(always)]
    fn insert(&mut self, id: u64, value: Value) {
        self.insert(id, value);
    }
}

impl Cache for lru::LruCache<u64, Value> {
    const NAME: &str = "lru";

    fn of(capacity: usize) -> Self {
        lru::LruCache::new(capacity.try_into().expect("it is not 0"))
    }

    #[inline(always)]
    fn get(&mut self, id: u64) -> Option<u64> {
        Some(self.get(&id)?[0])
    }

    #[inline(always)]
    fn insert(&mut self, id: u64, value: Value) {
        self.push(id, value);
    }
}

impl Cache for quick_cache::unsync::Cache<u64, Value> {
    const NAME: &str = "quick_cache";

    fn of(capacity: usize) -> Self {
        quick_cache::unsync::Cache::new(capacity)
    }

    #[inline(always)]
    fn get(&mut self, id: u64) -> Option<u64> {
        Some(quick_cache::unsync::Cache::get(self, &id)?[0])
    }

    #[inline(always)]
    fn insert(&mut self, id: u64, value: Value) {
        quick_cache::unsync::Cache::insert(self, id, value);
    }
}
