//! Queues of jobs by time, whose times change: `Heap`, beside `BinaryHeap` with outdated entries that
//! are skipped, and the crate `priority-queue`.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use flatslab::Key;
use flatslab::collections::Heap;
use flatslab_benches::prelude::*;
use priority_queue::PriorityQueue;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PLAN: Plan = plan::of(
    "heaps",
    &[(1 << 10, &[8]), (1 << 16, &[8])],
    1_024,
    &[LAZY],
    cases,
);

const LAZY: &str = "BinaryHeap, outdated entries";

/// Each in ticks of one step: the first job runs, another is added, and before that jobs get
/// other times.
const ROWS: [&str; 3] = ["POP, PUSH", "1 MOVE, POP, PUSH", "8 MOVES, POP, PUSH"];
const MOVES: [usize; ROWS.len()] = [0, 1, 8];

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, _: usize) -> Vec<Case> {
    macro_rules! entry {
        ($subject:expr, $queue:ty) => {
            Entry {
                subject: $subject,
                check: check::<$queue>,
                turn: time::<$queue>,
            }
        };
    }
    let entries = vec![
        entry!(LAZY, Lazy),
        entry!("priority-queue", PriorityQueue<u32, Reverse<u64>>),
        entry!("Heap", Growing),
    ];
    vec![Case::of(
        &ROWS,
        5,
        &[Column::Value(Metric::Ticks), Column::Ratio(LAZY)],
        entries,
    )]
}

/// Jobs by time. A job has a number, which is given again once it has run.
trait Jobs: Default {
    /// What finds a job.
    type Place: Copy;

    fn push(&mut self, number: u32, time: u64) -> Self::Place;

    fn set_time(&mut self, place: Self::Place, time: u64);

    /// Removes the job with the least time, if there is one, and returns its number and its time.
    fn pop(&mut self) -> Option<(u32, u64)>;
}

/// The times of the jobs by number, and entries of which those with another time are outdated.
#[derive(Default)]
struct Lazy {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    times: Vec<u64>,
}

impl Lazy {
    const GONE: u64 = u64::MAX;
}

impl Jobs for Lazy {
    type Place = u32;

    #[inline(always)]
    fn push(&mut self, number: u32, time: u64) -> u32 {
        if self.times.len() <= number as usize {
            self.times.resize(number as usize + 1, Self::GONE);
        }
        self.set_time(number, time);
        number
    }

    #[inline(always)]
    fn set_time(&mut self, number: u32, time: u64) {
        self.times[number as usize] = time;
        self.heap.push(Reverse((time, number)));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(u32, u64)> {
        loop {
            let Reverse((time, number)) = self.heap.pop()?;
            let now = &mut self.times[number as usize];
            if *now == time {
                *now = Self::GONE;
                return Some((number, time));
            }
        }
    }
}

impl Jobs for PriorityQueue<u32, Reverse<u64>> {
    type Place = u32;

    #[inline(always)]
    fn push(&mut self, number: u32, time: u64) -> u32 {
        PriorityQueue::push(self, number, Reverse(time));
        number
    }

    #[inline(always)]
    fn set_time(&mut self, number: u32, time: u64) {
        self.change_priority(&number, Reverse(time));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(u32, u64)> {
        let (number, Reverse(time)) = PriorityQueue::pop(self)?;
        Some((number, time))
    }
}

/// A heap that makes room for twice as many jobs.
struct Growing(Heap<u64>);

impl Default for Growing {
    fn default() -> Self {
        Growing(Heap::with_capacity(16))
    }
}

impl Jobs for Growing {
    type Place = Key;

    #[inline(always)]
    fn push(&mut self, number: u32, time: u64) -> Key {
        let key = Key::from_raw(number);
        if self.0.push(key, time).is_err() {
            let grown = self.0.try_grow(2 * number as usize);
            grown.expect("there is memory");
            return self.push(number, time);
        }
        key
    }

    #[inline(always)]
    fn set_time(&mut self, key: Key, time: u64) {
        self.0.change(key, time);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(u32, u64)> {
        let (time, key) = self.0.pop()?;
        Some((key.into_raw(), time))
    }
}

/// A time after this one. No two jobs have the same: the lowest bits are the number's.
fn later(now: u64, number: u32, random: &mut impl Rng) -> u64 {
    (((now >> 32) + random.random_range(1..1_000_000)) << 32) | u64::from(number)
}

/// Compares a queue with a sorted set.
fn check<Q: Jobs>() -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut jobs, mut model, mut times) = (Q::default(), BTreeSet::new(), Vec::new());
    for number in 0..100 {
        let time = later(0, number, &mut random);
        model.insert((time, number));
        times.push((jobs.push(number, time), time));
    }
    for _ in 0..2_000 {
        let moved = random.random_range(0..100_u32);
        let (place, time) = &mut times[moved as usize];
        model.remove(&(*time, moved));
        *time = later(model.first().map_or(0, |first| first.0), moved, &mut random);
        jobs.set_time(*place, *time);
        model.insert((*time, moved));
        let (time, number) = model.pop_first().expect("a job");
        if jobs.pop() != Some((number, time)) {
            return Err(format!("job {number} did not run at its time"));
        }
        let time = later(time, number, &mut random);
        times[number as usize] = (jobs.push(number, time), time);
        model.insert((time, number));
    }
    match jobs.pop().is_some() {
        true => Ok(()),
        false => Err("the jobs are gone".to_owned()),
    }
}

/// Runs jobs in steps, with each number of moves.
fn time<Q: Jobs>(mut setting: Setting) -> Turn {
    MOVES.map(|moves| steps::<Q>(&mut setting, moves)).into()
}

fn steps<Q: Jobs>(setting: &mut Setting, moves: usize) -> Measured {
    let random = &mut setting.random;
    let mut jobs = Q::default();
    let mut places: Vec<_> = (0..setting.live as u32)
        .map(|number| (number, jobs.push(number, later(0, number, random))))
        .collect();
    // In a steady state there are as many outdated entries as there will be.
    let warm = 4 * setting.live / BATCH;
    let batches = warm + (setting.live / BATCH).max(64);
    let (mut now, mut ticks) = (0, Vec::new());
    let mut chosen = Vec::with_capacity(BATCH * moves);
    for batch in 0..batches {
        chosen.clear();
        for _ in 0..BATCH * moves {
            // A job that has run since has another place: chosen by number, looked up below.
            let &(number, _) = places.choose(random).expect("a job");
            chosen.push((number, random.random_range(1..1_000_000_u64)));
        }
        let added: [u64; BATCH] = core::array::from_fn(|_| random.random_range(1..1_000_000));
        let begun = clock::start();
        for (step, added) in added.into_iter().enumerate() {
            for &(number, delay) in &chosen[step * moves..(step + 1) * moves] {
                let time = (((now >> 32) + delay) << 32) | u64::from(number);
                jobs.set_time(places[number as usize].1, time);
            }
            let (number, time) = jobs.pop().expect("a job");
            now = time;
            let time = (((now >> 32) + added) << 32) | u64::from(number);
            places[number as usize].1 = jobs.push(number, time);
        }
        let spent = (clock::stop() - begun).saturating_sub(setting.overhead);
        if batch >= warm {
            ticks.push(spent as f64 / BATCH as f64);
        }
    }
    opaque(now);
    Measured::from(ticks)
}
