//! A program on a recycling pool, and the same on a model of it: for random programs and
//! for the fuzz target.

use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use flatslab::AllocError;
use flatslab::pool::{Pool, RecycledBox, RecyclingPool};

use crate::program::{CAPACITY, Cells, Step};
use crate::samples::{Sample, alive};

pub(crate) fn recycling<V: Sample>(program: &[Step]) {
    let builder = Pool::<V>::builder().capacity(CAPACITY).recycle();
    run(builder.clone().build(), program);
    run(builder.lazy().build(), program);
}

/// Runs a program, in rounds that each end with a call of `clear`.
fn run<V: Sample>(mut pool: RecyclingPool<V>, program: &[Step]) {
    let before = alive();
    let mut cells = Cells::default();
    let mut idle = Vec::new();
    let mut steps = program.iter().zip(1..);
    let mut goes_on = true;
    while goes_on {
        let round = Round {
            pool: &pool,
            boxes: Vec::new(),
            idle: &mut idle,
            cells: &mut cells,
            others: before,
        };
        goes_on = round.run(&mut steps);
        if goes_on {
            pool.clear();
            // They are freed as they would be used again.
            cells
                .freed
                .extend(idle.drain(..).rev().map(|(address, _)| address));
        }
        assert_eq!((pool.len(), pool.idle()), (cells.lost.len(), idle.len()));
        #[cfg(fuzzing)]
        pool.check();
    }
    drop(pool);
    assert_eq!(alive(), before + cells.lost.len(), "once each");
}

struct Round<'p, 'c, V> {
    pool: &'p RecyclingPool<V>,
    boxes: Vec<(RecycledBox<'p, V>, u64)>,
    /// The cells with values that are kept, and their numbers.
    idle: &'c mut Vec<(usize, u64)>,
    cells: &'c mut Cells,
    /// Values that are not this pool's.
    others: usize,
}

struct OnPurpose;

fn address<V>(boxed: &RecycledBox<'_, V>) -> usize {
    (&raw const **boxed).addr()
}

impl<V: Sample> Round<'_, '_, V> {
    /// Runs up to a call of `clear`. Says whether there was one.
    fn run<'a>(mut self, steps: &mut impl Iterator<Item = (&'a Step, u64)>) -> bool {
        let mut is_cleared = false;
        for (&(operation, number), step) in steps {
            if operation % 24 == 23 {
                is_cleared = true;
                break;
            }
            self.step(operation % 24, usize::from(number), step);
            self.check();
        }
        while let Some((boxed, number)) = self.boxes.pop() {
            self.keep(boxed, number);
        }
        is_cleared
    }

    fn has_cell(&self) -> bool {
        !self.idle.is_empty() || self.boxes.len() + self.cells.lost.len() < CAPACITY
    }

    fn check(&self) {
        #[cfg(fuzzing)]
        self.pool.check();
        let len = self.boxes.len() + self.cells.lost.len();
        let idle = self.idle.len();
        assert_eq!((self.pool.len(), self.pool.idle()), (len, idle));
        assert_eq!(self.pool.is_empty(), len == 0);
        assert_eq!(self.pool.capacity(), CAPACITY);
        assert_eq!(alive(), self.others + len + idle);
        for (boxed, number) in &self.boxes {
            assert!(boxed.is(*number));
        }
        let taken = self.boxes.iter().map(|(boxed, _)| address(boxed));
        self.cells
            .check::<V>(taken.chain(self.idle.iter().map(|(address, _)| *address)));
    }

    fn keep(&mut self, boxed: RecycledBox<'_, V>, number: u64) {
        self.idle.push((address(&boxed), number));
        drop(boxed);
    }

    fn step(&mut self, operation: u8, number: usize, step: u64) {
        let count = self.boxes.len();
        match operation {
            0..=7 => self.alloc(step),
            8..=9 => self.alloc_and_panic(step),
            10..=11 => self.alloc_two(step),
            21 => (0..(number % CAPACITY) as u64).for_each(|more| self.alloc(step + more)),
            22 => {
                for _ in 0..count.min(number % CAPACITY) {
                    let (boxed, number) = self.boxes.swap_remove(0);
                    self.keep(boxed, number);
                }
            }
            _ if count == 0 => {}
            12..=16 => {
                let (boxed, number) = self.boxes.swap_remove(number % count);
                self.keep(boxed, number);
            }
            17..=18 => {
                let (boxed, value) = self.boxes.swap_remove(number % count);
                self.cells.freed.push(address(&boxed));
                assert!(RecycledBox::into_inner(boxed).is(value));
            }
            19 if !V::OWNS_MEMORY => {
                let (boxed, _) = self.boxes.swap_remove(number % count);
                self.cells.lost.push(address(&boxed));
                forget(boxed);
            }
            _ => {
                let (boxed, value) = &mut self.boxes[number % count];
                boxed.renumber(step);
                *value = step;
            }
        }
    }

    /// Reuses the value that was kept last, or makes a new one.
    fn alloc(&mut self, step: u64) {
        let has_cell = self.has_cell();
        let expected = self.idle.pop();
        let (made, reset) = (Cell::new(0), Cell::new(0));
        let result = self.pool.try_alloc_or_reuse(
            || {
                made.set(made.get() + 1);
                V::new(step)
            },
            |value| {
                reset.set(reset.get() + 1);
                assert!(
                    value.is(expected.unwrap().1),
                    "the value that was kept last"
                );
                value.renumber(step);
            },
        );
        assert_eq!(result.is_ok(), has_cell);
        match result {
            Ok(boxed) => {
                let is_reused = usize::from(expected.is_some());
                assert_eq!((made.get(), reset.get()), (1 - is_reused, is_reused));
                match expected {
                    Some((kept, _)) => assert_eq!(address(&boxed), kept),
                    None => self.cells.take(address(&boxed), size_of::<V>()),
                }
                self.boxes.push((boxed, step));
            }
            Err(error) => {
                assert_eq!(error, AllocError::Full { capacity: CAPACITY });
                assert_eq!((made.get(), reset.get()), (0, 0));
            }
        }
    }

    /// Either closure panics: the cell is free, a value that was kept is dropped.
    fn alloc_and_panic(&mut self, step: u64) {
        let has_cell = self.has_cell();
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.pool
                .try_alloc_or_reuse(
                    || resume_unwind(Box::new(OnPurpose)),
                    |value| {
                        value.renumber(step);
                        resume_unwind(Box::new(OnPurpose));
                    },
                )
                .is_err()
        }));
        match result {
            Ok(is_error) => assert!(is_error && !has_cell),
            Err(panic) => {
                assert!(panic.is::<OnPurpose>() && has_cell);
                match self.idle.pop() {
                    Some((kept, _)) => self.cells.freed.push(kept),
                    // A new cell was taken and freed: take and free it once more.
                    None => {
                        let boxed = self.pool.alloc_or_reuse(|| V::new(step), |_| {});
                        let place = address(&boxed);
                        self.cells.take(place, size_of::<V>());
                        assert!(RecycledBox::into_inner(boxed).is(step));
                        self.cells.freed.push(place);
                    }
                }
            }
        }
    }

    /// Either closure uses the pool.
    fn alloc_two(&mut self, step: u64) {
        let had_cell = self.has_cell();
        let (pool, kept) = (self.pool, self.idle.pop());
        let inner = RefCell::new(None);
        let alloc_inner = || {
            *inner.borrow_mut() = Some(
                pool.try_alloc_or_reuse(|| V::new(step + 1), |value| value.renumber(step + 1)),
            );
        };
        let outer = pool.try_alloc_or_reuse(
            || {
                alloc_inner();
                V::new(step)
            },
            |value| {
                alloc_inner();
                value.renumber(step);
            },
        );
        assert_eq!(outer.is_ok(), had_cell);
        let Ok(outer) = outer else {
            assert!(inner.into_inner().is_none(), "it was not called");
            return;
        };
        match kept {
            Some((place, _)) => assert_eq!(address(&outer), place),
            None => self.cells.take(address(&outer), size_of::<V>()),
        }
        self.boxes.push((outer, step));
        let has_cell = self.has_cell();
        let inner = inner.into_inner().expect("it was called");
        assert_eq!(inner.is_ok(), has_cell);
        if let Ok(inner) = inner {
            match self.idle.pop() {
                Some((place, _)) => assert_eq!(address(&inner), place),
                None => self.cells.take(address(&inner), size_of::<V>()),
            }
            self.boxes.push((inner, step + 1));
        }
    }
}
