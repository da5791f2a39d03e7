//! Timeouts that are started again with each message, so that nine of ten do not come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flatslab::Key;
use flatslab::collections::{Heap, TimerWheel};
use flatslab_benches::prelude::*;
use rand::Rng;

use crate::{picks, timed};

/// The timers of connections, which have numbers.
pub(super) trait Timeouts {
    const NAME: &str;

    fn empty(capacity: usize) -> Self;

    /// Starts the timer of a connection, or moves it.
    fn start(&mut self, id: u32, deadline: u64);

    /// One that is due.
    fn pop_due(&mut self, now: u64) -> Option<u32>;
}

/// Messages in a tick.
const MESSAGES: usize = 16;

/// A timeout by which one connection in ten is not heard from: it is heard from once in
/// `live / MESSAGES` ticks.
fn timeout(setting: &mut Setting) -> u64 {
    let mean = (setting.live as u64 * 23).div_ceil(10 * MESSAGES as u64);
    mean / 2 + setting.random.random_range(0..mean.max(1)) + 1
}

/// Connections with a timer each, after so many ticks that the state no longer changes.
fn running<T: Timeouts>(setting: &mut Setting) -> (T, u64) {
    let live = setting.live;
    let mut timers = T::empty(live);
    for id in 0..live as u32 {
        let first = timeout(setting);
        timers.start(id, first);
    }
    let mut now = 0;
    for _ in 0..3 * live / MESSAGES {
        tick(&mut timers, &mut now, setting);
    }
    (timers, now)
}

fn tick<T: Timeouts>(timers: &mut T, now: &mut u64, setting: &mut Setting) {
    let live = setting.live as u32;
    for _ in 0..MESSAGES {
        let id = setting.random.random_range(0..live);
        let timeout = timeout(setting);
        timers.start(id, *now + timeout);
    }
    *now += 1;
    while let Some(id) = timers.pop_due(*now) {
        let timeout = timeout(setting);
        timers.start(id, *now + timeout);
    }
}

/// The time of a message: to move a timer, and its share of a tick.
pub(super) fn timers<T: Timeouts>(mut setting: Setting) -> Turn {
    let count = timed(setting.live);
    let (mut timers, mut now) = running::<T>(&mut setting);
    let picks = picks(&mut setting, count);
    let timeouts: Vec<u64> = (0..count).map(|_| timeout(&mut setting)).collect();
    let mut due = 0;
    let restart = setting.time(count, || {
        for (picks, timeouts) in picks.chunks(MESSAGES).zip(timeouts.chunks(MESSAGES)) {
            for (&id, &timeout) in picks.iter().zip(timeouts) {
                timers.start(id, now + timeout);
            }
            now += 1;
            while let Some(id) = timers.pop_due(now) {
                timers.start(id, now + timeouts[0]);
                due += 1;
            }
        }
    });
    assert!((count / 20..count / 5).contains(&due), "{due} of {count}");
    Turn::from([vec![restart]])
}

/// Passes that do the same.
const PASSES: usize = 3;

/// The longest of all ticks: of the calls that find what is due, between 16 messages. A tick counts
/// as long as it took in the pass that nothing interrupted, the shortest one.
pub(super) fn longest_tick<T: Timeouts>(mut setting: Setting) -> Turn {
    let count = timed(setting.live) / MESSAGES * 4;
    let mut ticks = vec![f64::INFINITY; count];
    let random = setting.random.clone();
    for _ in 0..PASSES {
        setting.random = random.clone();
        let (mut timers, mut now) = running::<T>(&mut setting);
        let mut found = Vec::with_capacity(1 << 10);
        for shortest in &mut ticks {
            for _ in 0..MESSAGES {
                let id = setting.random.random_range(0..setting.live as u32);
                let timeout = timeout(&mut setting);
                timers.start(id, now + timeout);
            }
            now += 1;
            let tick = setting.time(1, || {
                while let Some(id) = timers.pop_due(now) {
                    found.push(id);
                }
            });
            *shortest = shortest.min(tick);
            for id in found.drain(..) {
                let timeout = timeout(&mut setting);
                timers.start(id, now + timeout);
            }
        }
    }
    Turn::from([vec![ticks.into_iter().fold(0.0, f64::max)]])
}

impl Timeouts for TimerWheel {
    const NAME: &str = "TimerWheel";

    fn empty(capacity: usize) -> Self {
        TimerWheel::with_capacity(capacity)
    }

    #[inline(always)]
    fn start(&mut self, id: u32, deadline: u64) {
        let started = self.start(Key::from_raw(id), deadline);
        debug_assert!(started.is_ok());
    }

    #[inline(always)]
    fn pop_due(&mut self, now: u64) -> Option<u32> {
        let (_, key) = self.pop_due(now)?;
        Some(key.into_raw())
    }
}

impl Timeouts for Heap<u64> {
    const NAME: &str = "Heap";

    fn empty(capacity: usize) -> Self {
        Heap::with_capacity(capacity)
    }

    #[inline(always)]
    fn start(&mut self, id: u32, deadline: u64) {
        let pushed = self.push(Key::from_raw(id), deadline);
        debug_assert!(pushed.is_ok());
    }

    #[inline(always)]
    fn pop_due(&mut self, now: u64) -> Option<u32> {
        let (_, key) = self.pop_if(|deadline| *deadline <= now)?;
        Some(key.into_raw())
    }
}

/// A heap in which the entries of timers that were moved stay until they are due.
pub(super) struct Stale {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    deadlines: Vec<u64>,
}

impl Timeouts for Stale {
    const NAME: &str = "BinaryHeap, stale entries";

    fn empty(capacity: usize) -> Self {
        Stale {
            heap: BinaryHeap::with_capacity(4 * capacity),
            deadlines: vec![0; capacity],
        }
    }

    #[inline(always)]
    fn start(&mut self, id: u32, deadline: u64) {
        self.deadlines[id as usize] = deadline;
        self.heap.push(Reverse((deadline, id)));
    }

    #[inline(always)]
    fn pop_due(&mut self, now: u64) -> Option<u32> {
        loop {
            let &Reverse((deadline, id)) = self.heap.peek()?;
            if deadline > now {
                return None;
            }
            self.heap.pop();
            if self.deadlines[id as usize] == deadline {
                self.deadlines[id as usize] = 0;
                return Some(id);
            }
        }
    }
}
