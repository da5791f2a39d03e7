//! A timer wheel whose timers are cancelled by key, in O(1). The key of a timer
//! that fired or was cancelled is stale: cancelling it once more returns `None`, and
//! never cancels a later timer in the same slot.
//!
//! ```text
//! cargo run --release --example timer_wheel
//! ```
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Instant;

use flatslab::{KeySlab, key_type};

key_type! {
    /// A timer. With a generation, for both ends forget: the wheel when it
    /// fires, the caller when it cancels.
    struct TimerKey(GenKey);
}

struct Timer<P> {
    deadline: u64,
    payload: P,
    /// An `Option` of a key with a generation has the size of the key.
    previous: Option<TimerKey>,
    next: Option<TimerKey>,
}

/// A bucket per tick of a turn, each a list of timers. A timer that is due in a
/// later turn stays in its bucket until then.
struct TimerWheel<P> {
    timers: KeySlab<Timer<P>, TimerKey>,
    buckets: Vec<Option<TimerKey>>,
    now: u64,
}

impl<P> TimerWheel<P> {
    /// With buckets for about as many ticks as a usual delay has.
    fn with_buckets(buckets: usize) -> Self {
        TimerWheel {
            timers: KeySlab::with_key(),
            buckets: vec![None; buckets.next_power_of_two()],
            now: 0,
        }
    }

    fn bucket(&mut self, deadline: u64) -> &mut Option<TimerKey> {
        let mask = self.buckets.len() - 1;
        &mut self.buckets[deadline as usize & mask]
    }
}

/// What both do.
trait Timers<P> {
    type Key: Copy;

    /// Starts a timer that fires after `delay` ticks, 1 at least.
    fn start(&mut self, delay: u64, payload: P) -> Self::Key;

    /// Stops a timer. `None` if it fired or was cancelled before.
    fn cancel(&mut self, key: Self::Key) -> Option<P>;

    /// Moves on by one tick and gives `fire` the payload of every timer that is
    /// due, in no order.
    fn tick(&mut self, fire: impl FnMut(P));
}

impl<P> Timers<P> for TimerWheel<P> {
    type Key = TimerKey;

    fn start(&mut self, delay: u64, payload: P) -> TimerKey {
        let deadline = self.now + delay.max(1);
        let next = *self.bucket(deadline);
        let key = self.timers.insert(Timer {
            deadline,
            payload,
            previous: None,
            next,
        });
        *self.bucket(deadline) = Some(key);
        if let Some(next) = next {
            self.timers[next].previous = Some(key);
        }
        key
    }

    fn cancel(&mut self, key: TimerKey) -> Option<P> {
        let timer = self.timers.try_remove(key)?;
        match timer.previous {
            Some(previous) => self.timers[previous].next = timer.next,
            None => *self.bucket(timer.deadline) = timer.next,
        }
        if let Some(next) = timer.next {
            self.timers[next].previous = timer.previous;
        }
        Some(timer.payload)
    }

    fn tick(&mut self, mut fire: impl FnMut(P)) {
        self.now += 1;
        let mut next = *self.bucket(self.now);
        while let Some(key) = next {
            let timer = &self.timers[key];
            next = timer.next;
            // Others of the bucket are due in a later turn.
            if timer.deadline == self.now {
                self.cancel(key).into_iter().for_each(&mut fire);
            }
        }
    }
}

/// The same with `std` alone: a heap of deadlines, and a map of the timers that
/// are not cancelled. What is cancelled stays in the heap until it is due. (A
/// `BTreeMap` by deadline and number keeps nothing, and was slower.)
#[derive(Default)]
struct HeapTimers<P> {
    deadlines: BinaryHeap<Reverse<(u64, u64)>>,
    timers: HashMap<u64, P>,
    started: u64,
    now: u64,
}

impl<P> Timers<P> for HeapTimers<P> {
    type Key = u64;

    fn start(&mut self, delay: u64, payload: P) -> u64 {
        self.started += 1;
        let deadline = self.now + delay.max(1);
        self.deadlines.push(Reverse((deadline, self.started)));
        self.timers.insert(self.started, payload);
        self.started
    }

    fn cancel(&mut self, number: u64) -> Option<P> {
        self.timers.remove(&number)
    }

    fn tick(&mut self, mut fire: impl FnMut(P)) {
        self.now += 1;
        while let Some(&Reverse((deadline, number))) = self.deadlines.peek() {
            if deadline > self.now {
                break;
            }
            self.deadlines.pop();
            self.timers.remove(&number).into_iter().for_each(&mut fire);
        }
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

/// Connections with a timeout each, which every message starts again, so most
/// timers are cancelled. Returns the sum of the connections that timed out, and
/// the ns of a message.
fn traffic(timers: &mut impl Timers<u64>) -> (u64, f64) {
    const MESSAGES: u64 = 40_000;
    let mut keys = [None; 8_192];
    let (mut state, mut timed_out) = (1, 0);
    let start = Instant::now();
    for message in 0..MESSAGES {
        let connection = random(&mut state) % keys.len() as u64;
        let key = &mut keys[connection as usize];
        // The key may be that of a timer which fired: nothing has to forget it.
        key.and_then(|key| timers.cancel(key));
        let delay = 200 + random(&mut state) % 200;
        *key = Some(timers.start(delay, connection));
        if message % 64 == 0 {
            timers.tick(|connection| timed_out += connection);
        }
    }
    (
        timed_out,
        start.elapsed().as_nanos() as f64 / MESSAGES as f64,
    )
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (mut ns, mut heap_ns) = (Vec::new(), Vec::new());
    // In turns, so that a busy machine slows both down.
    for _ in 0..5 {
        let ours = traffic(&mut TimerWheel::with_buckets(256));
        let theirs = traffic(&mut HeapTimers::default());
        assert!(ours.0 > 0 && ours.0 == theirs.0);
        ns.push(ours.1);
        heap_ns.push(theirs.1);
    }
    let (ns, heap_ns) = (median(ns), median(heap_ns));
    println!("a timeout started again: {ns:.0} ns; with a BinaryHeap, {heap_ns:.0} ns");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of deadlines that is searched.
    fn check<T: Timers<u64>>(mut timers: T) {
        let (mut state, mut keys, mut model) = (7, Vec::new(), Vec::new());
        for now in 0..2_000 {
            for _ in 0..random(&mut state) % 4 {
                let (id, delay) = (keys.len() as u64, random(&mut state) % 50);
                keys.push(timers.start(delay, id));
                model.push((now + delay.max(1), id));
            }
            // Any of them, most of which fired or were cancelled long ago.
            for _ in 0..4 {
                let id = random(&mut state) % (keys.len() as u64 + 1);
                let Some(&key) = keys.get(id as usize) else {
                    continue;
                };
                let at = model.iter().position(|timer| timer.1 == id);
                let expected = at.map(|at| model.swap_remove(at).1);
                assert_eq!(timers.cancel(key), expected);
            }
            let (mut fired, mut expected) = (Vec::new(), Vec::new());
            timers.tick(|id| fired.push(id));
            model.retain(|&(deadline, id)| {
                let due = deadline == now + 1;
                expected.extend(due.then_some(id));
                !due
            });
            fired.sort_unstable();
            expected.sort_unstable();
            assert_eq!(fired, expected);
        }
        assert!(!model.is_empty());
    }

    #[test]
    fn timers_fire_when_due_and_are_cancelled_once() {
        check(TimerWheel::with_buckets(16));
        check(HeapTimers::default());
    }

    #[test]
    fn a_stale_key_does_not_cancel_the_next_timer_in_its_slot() {
        let mut wheel = TimerWheel::with_buckets(4);
        let first = wheel.start(1, "first");
        let mut fired = Vec::new();
        wheel.tick(|payload| fired.push(payload));
        assert_eq!(fired, ["first"]);

        let second = wheel.start(1, "second");
        let slot = |key: TimerKey| key.index();
        assert_eq!(slot(first), slot(second));
        assert_eq!(wheel.cancel(first), None);
        assert_eq!(wheel.cancel(second), Some("second"));
        assert!(wheel.timers.is_empty());
    }
}
