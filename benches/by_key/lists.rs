//! Lists whose values are unlinked, removed and linked at random.

use flatslab::collections::{Links, List};
use flatslab::key_slab::SlabKey;
use flatslab::{BoundedKeySlab, GenKey, Key, linked};
use flatslab_benches::prelude::*;
use intrusive_collections::{LinkedList, LinkedListLink, intrusive_adapter};
use nexus_collections::list::{List as NexusList, ListNode};
use nexus_slab::rc::RcSlot;
use nexus_slab::rc::bounded::Slab as RcSlab;
use rand::seq::SliceRandom;

use crate::{picks, timed};

pub(super) trait Queue {
    const NAME: &str;

    fn empty(capacity: usize) -> Self;

    /// Inserts a value at the end, in the place of this id.
    fn push_back(&mut self, id: u32, value: u64);

    /// Takes a value out of the list, and links it at the end.
    fn relink(&mut self, id: u32);
    fn remove(&mut self, id: u32) -> u64;
    fn pop_front(&mut self) -> (u32, u64);
    fn sum(&mut self) -> u64;
}

pub(super) fn list<Q: Queue>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let picks = picks(&mut setting, count);
    let mut ids: Vec<u32> = (0..live as u32).collect();
    ids.shuffle(&mut setting.random);
    let mut queue = Q::empty(live + 1);
    for &id in &ids {
        queue.push_back(id, id.into());
    }
    let relink = setting.time(count, || {
        for &pick in &picks {
            queue.relink(pick);
        }
    });
    let remove = setting.time(count, || {
        for &pick in &picks {
            let value = queue.remove(pick);
            queue.push_back(pick, value);
        }
    });
    let pop = setting.time(count, || {
        for _ in 0..count {
            let (id, value) = queue.pop_front();
            queue.push_back(id, value);
        }
    });
    let mut sum = 0;
    let walk = setting.time(live, || sum = opaque(queue.sum()));
    assert_eq!(sum, (0..live as u64).sum::<u64>());
    for _ in 0..live {
        queue.pop_front();
    }
    Turn::from([relink, remove, pop, walk].map(|ticks| vec![ticks]))
}

struct Item<K> {
    value: u64,
    id: u32,
    links: Links<K, Key>,
}

linked!(impl Linked<Key, Key> for Item<Key> { links });
linked!(impl Linked<GenKey, Key> for Item<GenKey> { links });

pub(super) struct OurList<K: SlabKey> {
    slab: BoundedKeySlab<Item<K>, K>,
    keys: Vec<K>,
    list: List<K>,
}

macro_rules! our_list {
    ($key:ty, $name:expr) => {
        impl Queue for OurList<$key> {
            const NAME: &str = $name;

            fn empty(capacity: usize) -> Self {
                OurList {
                    slab: BoundedKeySlab::with_capacity_and_key(capacity),
                    keys: vec![SlabKey::NONE; capacity],
                    list: List::new(Key::from_raw(0)),
                }
            }

            #[inline(always)]
            fn push_back(&mut self, id: u32, value: u64) {
                let links = Links::new();
                let item = Item { value, id, links };
                let key = self.list.push_back(&mut self.slab, item);
                self.keys[id as usize] = key.expect("there is room");
            }

            #[inline(always)]
            fn relink(&mut self, id: u32) {
                let key = self.keys[id as usize];
                let unlinked = self.list.unlink(&mut self.slab, key);
                let linked = self.list.link_back(&mut self.slab, key);
                assert!(unlinked.is_ok() && linked.is_ok());
            }

            #[inline(always)]
            fn remove(&mut self, id: u32) -> u64 {
                let removed = self.list.remove(&mut self.slab, self.keys[id as usize]);
                removed.expect("it is there").value
            }

            #[inline(always)]
            fn pop_front(&mut self) -> (u32, u64) {
                let item = self
                    .list
                    .pop_front(&mut self.slab)
                    .expect("it is not empty");
                (item.id, item.value)
            }

            fn sum(&mut self) -> u64 {
                self.list.iter(&self.slab).map(|(_, item)| item.value).sum()
            }
        }
    };
}

our_list!(Key, "List, Key");
our_list!(GenKey, "List, GenKey");

type Node = ListNode<(u32, u64)>;

pub(super) struct NexusQueue {
    list: NexusList<(u32, u64)>,
    handles: Vec<Option<RcSlot<Node>>>,
    slab: RcSlab<Node>,
}

impl Queue for NexusQueue {
    const NAME: &str = "nexus List";

    fn empty(capacity: usize) -> Self {
        NexusQueue {
            list: NexusList::new(),
            handles: (0..capacity).map(|_| None).collect(),
            // SAFETY: all nodes are freed before the slab is dropped.
            slab: unsafe { RcSlab::with_capacity(capacity) },
        }
    }

    #[inline(always)]
    fn push_back(&mut self, id: u32, value: u64) {
        let handle = self.list.try_push_back(&self.slab, (id, value));
        self.handles[id as usize] = Some(handle.expect("there is room"));
    }

    #[inline(always)]
    fn relink(&mut self, id: u32) {
        let handle = self.handles[id as usize].as_ref().expect("it is there");
        self.list.unlink(handle, &self.slab);
        self.list.link_back(handle);
    }

    #[inline(always)]
    fn remove(&mut self, id: u32) -> u64 {
        let handle = self.handles[id as usize].take().expect("it is there");
        self.list.unlink(&handle, &self.slab);
        let (_, value) = handle.borrow().value;
        self.slab.free(handle);
        value
    }

    #[inline(always)]
    fn pop_front(&mut self) -> (u32, u64) {
        let handle = self.list.pop_front().expect("it is not empty");
        let (id, value) = handle.borrow().value;
        self.slab.free(handle);
        self.slab
            .free(self.handles[id as usize].take().expect("it is there"));
        (id, value)
    }

    fn sum(&mut self) -> u64 {
        let (mut sum, mut cursor) = (0, self.list.cursor());
        while cursor.advance() {
            sum += cursor.current().expect("a value").value.1;
        }
        sum
    }
}

struct Boxed {
    link: LinkedListLink,
    value: u64,
    id: u32,
}

intrusive_adapter!(InBoxes = Box<Boxed>: Boxed { link => LinkedListLink });

pub(super) struct Boxes {
    list: LinkedList<InBoxes>,
    places: Vec<*const Boxed>,
}

impl Queue for Boxes {
    const NAME: &str = "intrusive list, Box";

    fn empty(capacity: usize) -> Self {
        Boxes {
            list: LinkedList::new(InBoxes::new()),
            places: vec![std::ptr::null(); capacity],
        }
    }

    #[inline(always)]
    fn push_back(&mut self, id: u32, value: u64) {
        let link = LinkedListLink::new();
        let boxed = Box::new(Boxed { link, value, id });
        self.places[id as usize] = &raw const *boxed;
        self.list.push_back(boxed);
    }

    #[inline(always)]
    fn relink(&mut self, id: u32) {
        // SAFETY: it is in the list.
        let mut cursor = unsafe { self.list.cursor_mut_from_ptr(self.places[id as usize]) };
        let boxed = cursor.remove().expect("it is there");
        self.list.push_back(boxed);
    }

    #[inline(always)]
    fn remove(&mut self, id: u32) -> u64 {
        // SAFETY: it is in the list.
        let mut cursor = unsafe { self.list.cursor_mut_from_ptr(self.places[id as usize]) };
        cursor.remove().expect("it is there").value
    }

    #[inline(always)]
    fn pop_front(&mut self) -> (u32, u64) {
        let boxed = self.list.pop_front().expect("it is not empty");
        (boxed.id, boxed.value)
    }

    fn sum(&mut self) -> u64 {
        self.list.iter().map(|boxed| boxed.value).sum()
    }
}
