//! A priority queue whose entries can be given another priority, and removed, by key: a pairing
//! heap, whose nodes are in a `KeySlab`. `std`'s `BinaryHeap` cannot do that: a scheduler that uses
//! it leaves outdated entries in the heap and skips them later. The program runs both on the same
//! random schedule; they must return the same entries in the same order. Which one takes less time
//! depends on how often priorities change: BENCHMARKS.md, "Intrusive collections".
//!
//! The heap is not in the crate. To use it, copy `Node` and `PairingHeap`.
//!
//! ```text
//! cargo run --example pairing_heap
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use flatslab::{GenKey, KeySlab};

struct Node<P, T> {
    priority: P,
    value: T,
    /// The first of the nodes below, whose priorities are not less.
    child: Option<GenKey>,
    /// The next node with the same parent.
    next: Option<GenKey>,
    /// The node before, or the parent of a first child. The root has none.
    previous: Option<GenKey>,
}

/// A heap whose first entry is the one with the least priority. Of equal priorities any may be
/// first: add a sequence number to the priority if the order of insertion matters. Keys have
/// generations: the key of an entry that has left finds nothing.
pub(crate) struct PairingHeap<P, T> {
    nodes: KeySlab<Node<P, T>, GenKey>,
    root: Option<GenKey>,
}

impl<P, T> Default for PairingHeap<P, T> {
    fn default() -> Self {
        PairingHeap {
            nodes: KeySlab::with_key(),
            root: None,
        }
    }
}

impl<P: Ord, T> PairingHeap<P, T> {
    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Inserts an entry, and returns its key. O(1).
    pub(crate) fn push(&mut self, priority: P, value: T) -> GenKey {
        let key = self.nodes.insert(Node {
            priority,
            value,
            child: None,
            next: None,
            previous: None,
        });
        self.add(Some(key));
        key
    }

    /// Returns the entry with the least priority. O(1).
    fn peek(&self) -> Option<(&P, &T)> {
        let node = &self.nodes[self.root?];
        Some((&node.priority, &node.value))
    }

    /// Removes the entry with the least priority. O(log n), amortized.
    pub(crate) fn pop(&mut self) -> Option<(P, T)> {
        self.remove(self.root?)
    }

    /// Removes an entry. Returns `None` if it has left. O(log n), amortized.
    fn remove(&mut self, key: GenKey) -> Option<(P, T)> {
        self.nodes.get(key)?;
        self.take_out(key);
        let node = self.nodes.remove(key);
        Some((node.priority, node.value))
    }

    /// Gives an entry another priority. Returns `false` if it has left. O(1) if the priority is
    /// not greater than before, otherwise O(log n), amortized.
    pub(crate) fn reprioritize(&mut self, key: GenKey, priority: P) -> bool {
        let Some(node) = self.nodes.get_mut(key) else {
            return false;
        };
        if priority <= node.priority {
            // The nodes below stay there.
            node.priority = priority;
            if self.root != Some(key) {
                self.cut(key);
                self.add(Some(key));
            }
        } else {
            self.take_out(key);
            self.nodes[key].priority = priority;
            self.add(Some(key));
        }
        true
    }

    /// Takes a node out of the heap, and leaves the nodes below in it.
    fn take_out(&mut self, key: GenKey) {
        if self.root == Some(key) {
            self.root = None;
        } else {
            self.cut(key);
        }
        let below = self.nodes[key].child.take();
        let below = self.merge(below);
        self.add(below);
    }

    /// Takes a node and all below it from its parent.
    fn cut(&mut self, key: GenKey) {
        let node = &mut self.nodes[key];
        let (next, previous) = (node.next.take(), node.previous.take());
        if let Some(next) = next {
            self.nodes[next].previous = previous;
        }
        if let Some(previous) = previous {
            let previous = &mut self.nodes[previous];
            match previous.child == Some(key) {
                true => previous.child = next,
                false => previous.next = next,
            }
        }
    }

    /// Adds a node without siblings, and all below it.
    fn add(&mut self, heap: Option<GenKey>) {
        self.root = match (self.root, heap) {
            (Some(root), Some(heap)) => Some(self.link(root, heap)),
            (root, heap) => root.or(heap),
        };
    }

    /// Puts one of two nodes below the other, and returns that. Neither has siblings.
    fn link(&mut self, one: GenKey, two: GenKey) -> GenKey {
        let (parent, child) = match self.nodes[one].priority <= self.nodes[two].priority {
            true => (one, two),
            false => (two, one),
        };
        let first = self.nodes[parent].child.replace(child);
        if let Some(first) = first {
            self.nodes[first].previous = Some(child);
        }
        let node = &mut self.nodes[child];
        (node.next, node.previous) = (first, Some(parent));
        parent
    }

    /// Makes one heap of siblings: first of each two, then of all, from the last to the first.
    fn merge(&mut self, mut first: Option<GenKey>) -> Option<GenKey> {
        let mut pairs = None;
        while let Some(one) = first {
            let second = self.separate(one);
            first = second.and_then(|two| self.separate(two));
            let pair = second.map_or(one, |two| self.link(one, two));
            self.nodes[pair].next = pairs.replace(pair);
        }
        let mut merged: Option<GenKey> = None;
        while let Some(pair) = pairs {
            pairs = self.separate(pair);
            merged = Some(merged.map_or(pair, |merged| self.link(merged, pair)));
        }
        merged
    }

    /// Forgets a node's siblings, and returns the next one.
    fn separate(&mut self, key: GenKey) -> Option<GenKey> {
        let node = &mut self.nodes[key];
        node.previous = None;
        node.next.take()
    }
}

/// The same with a `BinaryHeap`: an entry is outdated if its job has another time by now.
#[derive(Default)]
struct LazyHeap {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    times: HashMap<u64, u64>,
}

impl LazyHeap {
    fn set(&mut self, job: u64, time: u64) {
        self.times.insert(job, time);
        self.heap.push(Reverse((time, job)));
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        loop {
            let Reverse((time, job)) = self.heap.pop()?;
            if self.times.get(&job) == Some(&time) {
                self.times.remove(&job);
                return Some((time, job));
            }
        }
    }
}

/// A number below `below`, by xorshift.
fn random(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) % below
}

/// Runs jobs that are added, moved and cancelled at random. Returns the number of those that ran,
/// and the largest size of each heap.
fn schedule(steps: u64, seed: u64) -> (u64, usize, usize) {
    let (mut state, mut ran, mut most, mut most_lazy) = (seed, 0, 0, 0);
    let (mut jobs, mut lazy) = (PairingHeap::default(), LazyHeap::default());
    // The key of every job there ever was: those that left are stale.
    let mut keys: Vec<GenKey> = Vec::new();
    for now in 0..steps {
        let time = now + 1 + random(&mut state, 1_000);
        let job = random(&mut state, keys.len() as u64 + 1);
        match random(&mut state, 10) {
            0..3 => {
                let job = keys.len() as u64;
                keys.push(jobs.push((time, job), job));
                lazy.set(job, time);
            }
            3..7 if job < keys.len() as u64 => {
                let is_there = jobs.reprioritize(keys[job as usize], (time, job));
                assert_eq!(is_there, lazy.times.contains_key(&job));
                if is_there {
                    lazy.set(job, time);
                }
            }
            7 if job < keys.len() as u64 => {
                let removed = jobs.remove(keys[job as usize]);
                let time = lazy.times.remove(&job);
                assert_eq!(removed.map(|((time, _), _)| time), time);
            }
            _ => {
                let first = jobs.peek().map(|(priority, _)| *priority);
                let popped = jobs.pop().map(|(priority, _)| priority);
                assert_eq!((popped, popped), (first, lazy.pop()));
                ran += u64::from(popped.is_some());
            }
        }
        assert_eq!(jobs.len(), lazy.times.len());
        most = most.max(jobs.len());
        most_lazy = most_lazy.max(lazy.heap.len());
    }
    while let Some((priority, _)) = jobs.pop() {
        assert_eq!(Some(priority), lazy.pop());
        ran += 1;
    }
    assert_eq!(lazy.pop(), None);
    (ran, most, most_lazy)
}

fn main() {
    let (ran, most, most_lazy) = schedule(200_000, 7);
    println!("{ran} jobs ran; at most {most} entries, in a BinaryHeap {most_lazy}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_heaps_agree_for_many_seeds() {
        for seed in 1..200 {
            let (ran, most, most_lazy) = schedule(500, seed);
            assert!(ran > 0 && most <= most_lazy);
        }
    }

    #[test]
    fn the_key_of_an_entry_that_left_finds_nothing() {
        let mut heap = PairingHeap::default();
        let (one, two) = (heap.push(1, "one"), heap.push(2, "two"));
        assert!(heap.reprioritize(two, 0));
        assert_eq!(heap.pop(), Some((0, "two")));
        let three = heap.push(3, "three");
        assert!(!heap.reprioritize(two, 0) && heap.remove(two).is_none());
        assert!(heap.reprioritize(one, 4));
        assert_eq!(heap.remove(one), Some((4, "one")));
        assert_eq!(heap.peek(), Some((&3, &"three")));
        assert_eq!(heap.remove(three), Some((3, "three")));
        assert!(heap.pop().is_none() && heap.len() == 0);
    }

    /// An ascending row of entries is one long list of siblings.
    #[test]
    fn a_million_siblings_need_no_stack() {
        let mut heap = PairingHeap::default();
        for number in 0..1_000_000 {
            heap.push(number, ());
        }
        for number in 0..10 {
            assert_eq!(heap.pop(), Some((number, ())));
        }
    }
}
