//! Values of a slab that are found by an id: an index beside hash maps of keys.

use std::collections::HashMap;
use std::hash::BuildHasher;

use flatslab::collections::{Indexed, KeyIndex};
use flatslab::{Key, KeySlab};
use flatslab_benches::prelude::*;

use crate::{numbers, picks, timed};

/// A value of a cache line, with the id by which it is found.
pub(super) struct Order {
    id: u64,
    shares: u64,
    _others: [u64; 6],
}

impl Indexed<u64> for Order {
    fn id(&self) -> &u64 {
        &self.id
    }
}

fn order(id: u64) -> Order {
    Order {
        id,
        shares: 1,
        _others: [id; 6],
    }
}

pub(super) trait Index {
    const NAME: &str;

    fn empty(capacity: usize) -> Self;

    /// One that grows from nothing.
    fn growing() -> Self;
    fn insert(&mut self, order: Order);
    fn shares(&self, id: u64) -> Option<u64>;
    fn remove(&mut self, id: u64);
}

pub(super) fn index<X: Index>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let ids = numbers(&mut setting, live + count);
    let (there, others) = ids.split_at(live);
    let picks = picks(&mut setting, count);
    let mut index = X::empty(live + 1);
    for &id in there {
        index.insert(order(id));
    }
    let mut sum = 0;
    let get = setting.time(count, || {
        for &pick in &picks {
            sum += index.shares(there[pick as usize]).expect("it is there");
        }
    });
    assert_eq!(sum, count as u64);
    let miss = setting.time(count, || {
        for &id in others {
            sum += index.shares(id).unwrap_or(0);
        }
    });
    assert_eq!(sum, count as u64);
    let mut now = there.to_vec();
    let churn = setting.time(count, || {
        for (&pick, &id) in picks.iter().zip(others) {
            index.remove(std::mem::replace(&mut now[pick as usize], id));
            index.insert(order(id));
        }
    });
    assert!(now.iter().all(|id| index.shares(*id) == Some(1)));
    Turn::from([get, miss, churn].map(|ticks| vec![ticks]))
}

/// The longest of the insertions by which an index grows. The slab has its memory before.
pub(super) fn growing<X: Index>(mut setting: Setting) -> Turn {
    let live = setting.live;
    let ids = numbers(&mut setting, live);
    let mut index = X::growing();
    let mut longest = 0.0_f64;
    for &id in &ids {
        let order = order(id);
        longest = longest.max(setting.time(1, || index.insert(order)));
    }
    assert!(ids.iter().all(|id| index.shares(*id) == Some(1)));
    Turn::from([vec![longest]])
}

/// So many slots that no slab of this bench grows.
const MOST: usize = 1 << 20;

pub(super) struct OurIndex<const LOAD: usize> {
    slab: KeySlab<Order>,
    index: KeyIndex<u64>,
}

pub(super) type Dense = OurIndex<45>;
pub(super) type Sparse = OurIndex<20>;

impl<const LOAD: usize> Index for OurIndex<LOAD> {
    const NAME: &str = match LOAD {
        45 => "KeyIndex",
        _ => "KeyIndex, load 20 %",
    };

    fn empty(capacity: usize) -> Self {
        let index = KeyIndex::builder().capacity(capacity);
        OurIndex {
            slab: KeySlab::with_capacity(capacity),
            index: index.max_load(LOAD).build(),
        }
    }

    fn growing() -> Self {
        let mut slab = KeySlab::with_capacity(MOST);
        slab.prepare(MOST).expect("memory");
        let index = KeyIndex::builder().growing();
        OurIndex {
            slab,
            index: index.max_load(LOAD).build(),
        }
    }

    #[inline(always)]
    fn insert(&mut self, order: Order) {
        let inserted = self.index.insert(&mut self.slab, order);
        assert!(inserted.is_ok());
    }

    #[inline(always)]
    fn shares(&self, id: u64) -> Option<u64> {
        let (_, order) = self.index.find(&self.slab, &id)?;
        Some(order.shares)
    }

    #[inline(always)]
    fn remove(&mut self, id: u64) {
        let removed = self.index.remove(&mut self.slab, &id);
        assert!(removed.is_some());
    }
}

pub(super) type Fold = foldhash::fast::RandomState;
pub(super) type Fx = rustc_hash::FxBuildHasher;
pub(super) type Sip = std::hash::RandomState;

/// A hash map of keys, beside the slab.
pub(super) struct OfHash<H> {
    slab: KeySlab<Order>,
    map: HashMap<u64, Key, H>,
}

/// The methods of a map of keys.
macro_rules! key_map {
    ($name:expr, $map:ty, $removed:ident) => {
        const NAME: &str = $name;

        fn empty(capacity: usize) -> Self {
            Self {
                slab: KeySlab::with_capacity(capacity),
                map: <$map>::with_capacity_and_hasher(capacity, Default::default()),
            }
        }

        fn growing() -> Self {
            let mut slab = KeySlab::with_capacity(MOST);
            slab.prepare(MOST).expect("memory");
            Self {
                slab,
                map: <$map>::default(),
            }
        }

        #[inline(always)]
        fn insert(&mut self, order: Order) {
            let id = order.id;
            let key = self.slab.insert(order);
            assert!(self.map.insert(id, key).is_none());
        }

        #[inline(always)]
        fn shares(&self, id: u64) -> Option<u64> {
            Some(self.slab[*self.map.get(&id)?].shares)
        }

        #[inline(always)]
        fn remove(&mut self, id: u64) {
            let key = self.map.$removed(&id).expect("it is there");
            self.slab.remove(key);
        }
    };
}

pub(super) trait Named: BuildHasher + Default {
    const NAME: &str;
}

impl Named for Fold {
    const NAME: &str = "HashMap, foldhash";
}

impl Named for Fx {
    const NAME: &str = "HashMap, rustc-hash";
}

impl Named for Sip {
    const NAME: &str = "HashMap";
}

impl<H: Named> Index for OfHash<H> {
    key_map!(H::NAME, HashMap<u64, Key, H>, remove);
}

pub(super) struct OfIndexMap {
    slab: KeySlab<Order>,
    map: indexmap::IndexMap<u64, Key, Fold>,
}

impl Index for OfIndexMap {
    key_map!("IndexMap, foldhash", indexmap::IndexMap<u64, Key, Fold>, swap_remove);
}
