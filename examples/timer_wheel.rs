//! Connections with a timeout, which every message starts again: most timers never come to their
//! deadline. A `TimerWheel` beside what is written with `std` alone.
//!
//! ```text
//! cargo run --release --example timer_wheel
//! ```
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Instant;

use flatslab::collections::TimerWheel;
use flatslab::{BoundedKeySlab, GenKey};

/// Connections by number, which are not heard from any more at some time.
trait Connections {
    /// Notes that a connection was heard from, and is to be heard from again until then.
    fn message(&mut self, number: u64, deadline: u64);

    /// Closes the connections whose deadline has come, and returns the sum of their numbers.
    fn close(&mut self, now: u64) -> u64;
}

/// A slab with the connections, and their timers in a wheel, by key.
struct OnAWheel {
    connections: BoundedKeySlab<u64, GenKey>,
    timeouts: TimerWheel<GenKey>,
    /// With generations: the key of a connection that was closed finds nothing, so nothing has to
    /// forget it.
    keys: Vec<Option<GenKey>>,
}

impl OnAWheel {
    fn new(count: usize) -> Self {
        OnAWheel {
            connections: BoundedKeySlab::with_capacity_and_key(count),
            timeouts: TimerWheel::with_capacity(count),
            keys: vec![None; count],
        }
    }
}

impl Connections for OnAWheel {
    fn message(&mut self, number: u64, deadline: u64) {
        let open = self.keys[number as usize].filter(|key| self.connections.contains(*key));
        let key = open.unwrap_or_else(|| {
            let opened = self.connections.insert(number);
            opened.expect("a slot for each connection")
        });
        self.keys[number as usize] = Some(key);
        let started = self.timeouts.start(key, deadline);
        started.expect("a timer for each slot");
    }

    fn close(&mut self, now: u64) -> u64 {
        let mut closed = 0;
        while let Some((_, key)) = self.timeouts.pop_expired(now) {
            closed += self.connections.remove(key);
        }
        closed
    }
}

/// The same with `std` alone: a heap of deadlines, whose entries are outdated if the connection has
/// another one now, and are skipped when they come up.
#[derive(Default)]
struct OnAHeap {
    connections: HashMap<u64, u64>,
    deadlines: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Connections for OnAHeap {
    fn message(&mut self, number: u64, deadline: u64) {
        self.connections.insert(number, deadline);
        self.deadlines.push(Reverse((deadline, number)));
    }

    fn close(&mut self, now: u64) -> u64 {
        let mut closed = 0;
        while let Some(&Reverse((deadline, number))) = self.deadlines.peek() {
            if deadline > now {
                break;
            }
            self.deadlines.pop();
            if self.connections.get(&number) == Some(&deadline) {
                self.connections.remove(&number);
                closed += number;
            }
        }
        closed
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

const CONNECTIONS: u64 = 8_192;

/// Returns the sum of the numbers of the connections that were closed, and the ns of a message.
fn traffic(connections: &mut impl Connections) -> (u64, f64) {
    const MESSAGES: u64 = 400_000;
    let (mut state, mut closed, mut now) = (1, 0, 0);
    let start = Instant::now();
    for message in 0..MESSAGES {
        let number = random(&mut state) % CONNECTIONS;
        connections.message(number, now + 1_200);
        if message % 16 == 0 {
            now += 1;
            closed += connections.close(now);
        }
    }
    let ns = start.elapsed().as_nanos() as f64 / MESSAGES as f64;
    (closed, ns)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (mut ns, mut heap_ns) = (Vec::new(), Vec::new());
    // In turns, so that a busy machine slows both down.
    for _ in 0..5 {
        let ours = traffic(&mut OnAWheel::new(CONNECTIONS as usize));
        let theirs = traffic(&mut OnAHeap::default());
        assert!(ours.0 > 0 && ours.0 == theirs.0);
        ns.push(ours.1);
        heap_ns.push(theirs.1);
    }
    let (ns, heap_ns) = (median(ns), median(heap_ns));
    println!("a message: {ns:.0} ns; with a HashMap and a BinaryHeap, {heap_ns:.0} ns");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_close_the_same_connections_at_the_same_time() {
        let mut wheel = OnAWheel::new(64);
        let mut heap = OnAHeap::default();
        let (mut state, mut closed) = (7, 0);
        for now in 0..5_000 {
            for _ in 0..random(&mut state) % 4 {
                let (number, delay) = (random(&mut state) % 64, 1 + random(&mut state) % 90);
                wheel.message(number, now + delay);
                heap.message(number, now + delay);
            }
            let numbers = wheel.close(now);
            assert_eq!(numbers, heap.close(now));
            closed += numbers;
            assert_eq!(wheel.connections.len(), heap.connections.len());
        }
        assert!(closed > 0);
    }
}
