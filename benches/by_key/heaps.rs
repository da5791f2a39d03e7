//! Timers in heaps, most of which are cancelled.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use flatslab::collections::Heap;
use flatslab::{BoundedKeySlab, Key};
use flatslab_benches::prelude::*;
use nexus_collections::heap::{Heap as NexusHeap, HeapNode};
use nexus_slab::rc::RcSlot;
use nexus_slab::rc::bounded::Slab as RcSlab;
use priority_queue::PriorityQueue;
use rand::Rng;

use crate::{picks, timed};

pub(super) trait Timers {
    const NAME: &str;
    /// Whether a timer can be found.
    const FINDS: bool = true;

    fn empty(capacity: usize) -> Self;
    fn push(&mut self, id: u32, time: u64);
    fn pop(&mut self) -> (u64, u32);
    fn cancel(&mut self, id: u32);
    fn change(&mut self, id: u32, time: u64);
}

pub(super) fn heap<H: Timers>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let steps: Vec<u64> = (0..count)
        .map(|_| setting.random.random_range(0..1 << 40))
        .collect();
    let picks = picks(&mut setting, count);
    let mut heap = H::empty(live + 1);
    let from_empty = setting.time(live, || {
        for id in 0..live as u32 {
            heap.push(id, steps[id as usize % count]);
        }
    });
    let mut last = 0;
    let pop_push = setting.time(count, || {
        for &step in &steps {
            let (time, id) = heap.pop();
            debug_assert!(time >= last);
            last = time;
            heap.push(id, time + step);
        }
    });
    if !H::FINDS {
        let none = || Measured::default();
        let times = |ticks| vec![ticks].into();
        return Turn(vec![
            times(pop_push),
            none(),
            none(),
            none(),
            times(from_empty),
        ]);
    }
    let cancels = setting.time(count, || {
        for (at, (&step, &pick)) in steps.iter().zip(&picks).enumerate() {
            let id = if at % 10 == 0 {
                let (time, id) = heap.pop();
                last = time;
                id
            } else {
                heap.cancel(pick);
                pick
            };
            heap.push(id, last + step);
        }
    });
    let change = setting.time(count, || {
        for (&step, &pick) in steps.iter().zip(&picks) {
            heap.change(pick, last + step);
        }
    });
    let remove = setting.time(count, || {
        for (&step, &pick) in steps.iter().zip(&picks) {
            heap.cancel(pick);
            heap.push(pick, last + step);
        }
    });
    let mut last = 0;
    for _ in 0..live {
        let (time, _) = heap.pop();
        assert!(last <= time);
        last = time;
    }
    Turn::from([pop_push, cancels, change, remove, from_empty].map(|ticks| vec![ticks]))
}

/// The heap, with the slab whose values have the priorities' ids.
pub(super) struct OurHeap {
    slab: BoundedKeySlab<u32>,
    keys: Vec<Key>,
    heap: Heap<u64>,
}

impl Timers for OurHeap {
    const NAME: &str = "Heap";

    fn empty(capacity: usize) -> Self {
        OurHeap {
            slab: BoundedKeySlab::with_capacity(capacity),
            keys: vec![Key::NONE; capacity],
            heap: Heap::with_capacity(capacity),
        }
    }

    #[inline(always)]
    fn push(&mut self, id: u32, time: u64) {
        let key = self.slab.insert(id).expect("there is room");
        self.keys[id as usize] = key;
        let _ = self.heap.push(key, time);
    }

    #[inline(always)]
    fn pop(&mut self) -> (u64, u32) {
        let (time, key) = self.heap.pop().expect("it is not empty");
        (time, self.slab.remove(key))
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        let key = self.keys[id as usize];
        self.heap.remove(key);
        self.slab.remove(key);
    }

    #[inline(always)]
    fn change(&mut self, id: u32, time: u64) {
        self.heap.change(self.keys[id as usize], time);
    }
}

pub(super) struct Binary(BinaryHeap<Reverse<(u64, u32)>>);

impl Timers for Binary {
    const NAME: &str = "BinaryHeap";
    const FINDS: bool = false;

    fn empty(capacity: usize) -> Self {
        Binary(BinaryHeap::with_capacity(capacity))
    }

    #[inline(always)]
    fn push(&mut self, id: u32, time: u64) {
        self.0.push(Reverse((time, id)));
    }

    #[inline(always)]
    fn pop(&mut self) -> (u64, u32) {
        self.0.pop().expect("it is not empty").0
    }

    fn cancel(&mut self, _: u32) {
        unreachable!("it does not find one")
    }

    fn change(&mut self, _: u32, _: u64) {
        unreachable!("it does not find one")
    }
}

impl Timers for PriorityQueue<u32, Reverse<u64>> {
    const NAME: &str = "priority-queue";

    fn empty(capacity: usize) -> Self {
        PriorityQueue::with_capacity(capacity)
    }

    #[inline(always)]
    fn push(&mut self, id: u32, time: u64) {
        self.push(id, Reverse(time));
    }

    #[inline(always)]
    fn pop(&mut self) -> (u64, u32) {
        let (id, Reverse(time)) = self.pop().expect("it is not empty");
        (time, id)
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        self.remove(&id);
    }

    #[inline(always)]
    fn change(&mut self, id: u32, time: u64) {
        self.change_priority(&id, Reverse(time));
    }
}

/// A timer of the heap of `nexus-collections`, whose handles lend nodes only.
struct Timer {
    time: Cell<u64>,
    id: u32,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.cmp(&other.time)
    }
}

pub(super) struct Nexus {
    heap: NexusHeap<Timer>,
    handles: Vec<Option<RcSlot<HeapNode<Timer>>>>,
    slab: RcSlab<HeapNode<Timer>>,
}

impl Timers for Nexus {
    const NAME: &str = "nexus Heap";

    fn empty(capacity: usize) -> Self {
        Nexus {
            heap: NexusHeap::new(),
            handles: (0..capacity).map(|_| None).collect(),
            // SAFETY: all nodes are freed before the slab is dropped.
            slab: unsafe { RcSlab::with_capacity(capacity) },
        }
    }

    #[inline(always)]
    fn push(&mut self, id: u32, time: u64) {
        let time = Cell::new(time);
        let handle = self.heap.try_push(&self.slab, Timer { time, id });
        self.handles[id as usize] = Some(handle.expect("there is room"));
    }

    #[inline(always)]
    fn pop(&mut self) -> (u64, u32) {
        let handle = self.heap.pop().expect("it is not empty");
        let (time, id) = {
            let timer = &handle.borrow().value;
            (timer.time.get(), timer.id)
        };
        self.slab.free(handle);
        self.slab
            .free(self.handles[id as usize].take().expect("it is there"));
        (time, id)
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        let handle = self.handles[id as usize].take().expect("it is there");
        self.heap.unlink(&handle, &self.slab);
        self.slab.free(handle);
    }

    #[inline(always)]
    fn change(&mut self, id: u32, time: u64) {
        let handle = self.handles[id as usize].as_ref().expect("it is there");
        self.heap.unlink(handle, &self.slab);
        handle.borrow().value.time.set(time);
        self.heap.link(handle);
    }
}
