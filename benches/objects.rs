//! A queue of trait objects of two types: each step runs and drops the first and adds another one.
//! With `Box`, and with the boxes that `unsize!` makes of those of slabs and pools.

use std::collections::VecDeque;

use flatslab::pool::{Pool, PoolBox};
use flatslab::{BoundedSlab, DynSlotBox, unsize};
use flatslab_benches::prelude::*;
use rand::{Rng, RngCore};

const PLAN: Plan = plan::of(
    "objects",
    &[(1 << 6, &[64]), (1 << 13, &[64])],
    64,
    &[BOX],
    cases,
);

const BOX: &str = "Box<dyn>";

/// Each in ticks of one step. At random, a quarter of the objects is taken from the middle of the
/// queue, so that memory is not freed in the order in which it was allocated.
const ROWS: [&str; 1] = ["ADD, CALL, DROP"];

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, _: usize) -> Vec<Case> {
    macro_rules! entry {
        ($subject:expr, $queue:ident) => {
            Entry {
                subject: $subject,
                check: || $queue(CHECKED, Check),
                turn: |setting| $queue(setting.live, Time(setting)),
            }
        };
    }
    let entries = vec![
        entry!(BOX, boxes),
        entry!("DynSlotBox<dyn>", slot_boxes),
        entry!("PoolBox<dyn>", pool_boxes),
    ];
    vec![Case::of(
        &ROWS,
        5,
        &[Column::Value(Metric::Ticks), Column::Ratio(BOX)],
        entries,
    )]
}

trait Event {
    fn run(&self) -> u64;
}

/// An object of 16 bytes.
struct Small([u64; 2]);

/// An object of 64 bytes.
struct Large([u64; 8]);

impl Event for Small {
    fn run(&self) -> u64 {
        self.0[1]
    }
}

impl Event for Large {
    fn run(&self) -> u64 {
        self.0[7]
    }
}

/// What is done with objects of any kind of box.
trait Visit {
    type Output;

    fn visit<B: std::ops::Deref<Target = dyn Event>>(
        self,
        small: impl Fn(Small) -> B,
        large: impl Fn(Large) -> B,
    ) -> Self::Output;
}

fn boxes<V: Visit>(_: usize, visit: V) -> V::Output {
    visit.visit::<Box<dyn Event>>(|small| Box::new(small), |large| Box::new(large))
}

fn slot_boxes<V: Visit>(capacity: usize, visit: V) -> V::Output {
    let (small, large) = (
        BoundedSlab::with_capacity(capacity),
        BoundedSlab::with_capacity(capacity),
    );
    fn boxed<T>(slab: &BoundedSlab<T>, value: T) -> flatslab::SlotBox<T> {
        match slab.insert(value) {
            Ok(slot) => slot.into_box(),
            Err(_) => unreachable!("there are no more objects"),
        }
    }
    visit.visit::<DynSlotBox<dyn Event>>(
        |value| unsize!(boxed(&small, value) => dyn Event),
        |value| unsize!(boxed(&large, value) => dyn Event),
    )
}

fn pool_boxes<V: Visit>(capacity: usize, visit: V) -> V::Output {
    let (small, large) = (Pool::with_capacity(capacity), Pool::with_capacity(capacity));
    visit.visit::<PoolBox<'_, dyn Event>>(
        |value| unsize!(small.alloc(value) => dyn Event),
        |value| unsize!(large.alloc(value) => dyn Event),
    )
}

/// How many objects a check has.
const CHECKED: usize = 100;

/// Compares what the objects return with numbers.
struct Check;

impl Visit for Check {
    type Output = Result<(), String>;

    fn visit<B: std::ops::Deref<Target = dyn Event>>(
        self,
        small: impl Fn(Small) -> B,
        large: impl Fn(Large) -> B,
    ) -> Result<(), String> {
        let mut queue = VecDeque::new();
        for number in 0..1_000_u64 {
            if queue.len() == CHECKED {
                let (event, expected): (B, u64) = queue.pop_front().expect("an object");
                if event.run() != expected {
                    return Err(format!("object {expected} returned {}", event.run()));
                }
            }
            let event = match number % 3 {
                0 => small(Small([number; 2])),
                _ => large(Large([number; 8])),
            };
            queue.push_back((event, number));
        }
        Ok(())
    }
}

/// Fills a queue, and runs it in steps.
struct Time(Setting);

impl Visit for Time {
    type Output = Turn;

    fn visit<B: std::ops::Deref<Target = dyn Event>>(
        self,
        small: impl Fn(Small) -> B,
        large: impl Fn(Large) -> B,
    ) -> Turn {
        let Time(mut setting) = self;
        let add = |number: u64| match number % 2 {
            0 => small(Small([number; 2])),
            _ => large(Large([number; 8])),
        };
        let random = &mut setting.random;
        let mut queue: VecDeque<B> = (0..setting.live as u64 - 1).map(add).collect();
        let warm = 4 * setting.live.div_ceil(BATCH);
        let mut ticks = Vec::new();
        for batch in 0..warm + (2 * setting.live / BATCH).max(200) {
            let numbers: [u64; BATCH] = core::array::from_fn(|_| random.next_u64());
            let places: [usize; BATCH] =
                core::array::from_fn(|_| match random.random_range(0..4) {
                    0 => random.random_range(0..setting.live - 1),
                    _ => 0,
                });
            let mut sum = 0;
            let begun = clock::start();
            for (number, place) in numbers.into_iter().zip(places) {
                queue.push_back(add(number));
                queue.swap(0, place);
                let event = queue.pop_front().expect("an object");
                sum ^= event.run();
            }
            let spent = (clock::stop() - begun).saturating_sub(setting.overhead);
            opaque(sum);
            if batch >= warm {
                ticks.push(spent as f64 / BATCH as f64);
            }
        }
        [Measured::from(ticks)].into()
    }
}
