//! A program on a pool, and the same on a model of it: for random programs and for the
//! fuzz target.
//!
//! The model knows the address of every allocation: the last cell freed, or else the
//! next one that was never used.

use std::cell::RefCell;
use std::mem::{MaybeUninit, forget, replace};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use flatslab::pool::{Pool, PoolBox, PoolMemory, PoolStorage};
use flatslab::{AllocError, FullError};

use crate::samples::{Sample, alive};

/// Cells of each pool: several segments of the largest samples.
pub(crate) const CAPACITY: usize = 20;

/// Operation and number.
pub(crate) type Step = (u8, u8);

pub(crate) fn heap<V: Sample>(program: &[Step]) {
    run(&mut Pool::<V>::with_capacity(CAPACITY), program);
}

pub(crate) fn lazy<V: Sample>(program: &[Step]) {
    let builder = Pool::<V>::builder().capacity(CAPACITY).lazy();
    run(&mut builder.build(), program);
}

pub(crate) fn storage<V: Sample>(program: &[Step]) {
    let mut storage = PoolStorage::<V, CAPACITY>::new();
    for half in program.chunks(program.len().div_ceil(2).max(1)) {
        run(&mut Pool::in_storage(&mut storage), half);
    }
}

/// What has a cell.
enum Owner<'p, V, M: PoolMemory> {
    Value(PoolBox<'p, V, M>, u64),
    Vacant(PoolBox<'p, MaybeUninit<V>, M>),
    Raw(*mut V, u64),
    Leaked(&'p mut V, u64),
}

impl<V: Sample, M: PoolMemory> Owner<'_, V, M> {
    fn address(&self) -> usize {
        match self {
            Owner::Value(boxed, _) => (&raw const **boxed).addr(),
            Owner::Vacant(boxed) => boxed.as_ptr().addr(),
            Owner::Raw(pointer, _) => pointer.addr(),
            Owner::Leaked(value, _) => (&raw const **value).addr(),
        }
    }

    fn has_value(&self) -> bool {
        !matches!(self, Owner::Vacant(_))
    }

    fn check(&self) {
        match self {
            Owner::Value(boxed, number) => assert!(boxed.is(*number)),
            Owner::Leaked(value, number) => assert!(value.is(*number)),
            Owner::Vacant(_) | Owner::Raw(..) => {
                assert_eq!(self.address() % align_of::<V>(), 0);
            }
        }
    }
}

/// The addresses that the pool is to hand out.
#[derive(Default)]
pub(crate) struct Cells {
    /// Those that were ever used, in the order in which a new pool hands them out.
    known: Vec<usize>,
    /// How many of them were used since the last reset.
    used: usize,
    /// Those that were freed, the last one last.
    pub(crate) freed: Vec<usize>,
    /// Cells whose owner was forgotten, and the values in them.
    pub(crate) lost: Vec<usize>,
    pub(crate) lost_values: usize,
}

impl Cells {
    /// The pool has handed out that cell of so many bytes.
    pub(crate) fn take(&mut self, address: usize, bytes: usize) {
        if let Some(last) = self.freed.pop() {
            assert_eq!(address, last, "last in, first out");
            return;
        }
        match self.known.get(self.used) {
            Some(&known) => assert_eq!(address, known, "in the order of a new pool"),
            None => {
                if let Some(last) = self.known.last() {
                    assert!(address >= last + bytes.max(1), "ascending");
                }
                self.known.push(address);
            }
        }
        self.used += 1;
    }

    /// Values at these addresses, and at those that are lost, do not overlap.
    pub(crate) fn check<V>(&self, taken: impl Iterator<Item = usize>) {
        let mut all: Vec<usize> = taken.chain(self.lost.iter().copied()).collect();
        all.sort_unstable();
        for pair in all.windows(2) {
            assert!(pair[1] - pair[0] >= size_of::<V>().max(1), "values overlap");
        }
    }

    fn reset(&mut self) {
        (self.used, self.lost_values) = (0, 0);
        self.freed.clear();
        self.lost.clear();
    }
}

/// Runs a program, in rounds that each end with a reset.
fn run<V: Sample, M: PoolMemory>(pool: &mut Pool<'_, V, M>, program: &[Step]) {
    let before = alive();
    let mut cells = Cells::default();
    let mut steps = program.iter().zip(1..);
    let mut lost = 0;
    let mut goes_on = true;
    while goes_on {
        goes_on = Round::new(pool, &mut cells, before + lost).run(&mut steps);
        assert_eq!(pool.len(), cells.lost.len());
        lost += cells.lost_values;
        cells.reset();
        pool.reset();
        assert!(pool.is_empty());
        #[cfg(fuzzing)]
        pool.check();
    }
    assert_eq!(
        alive(),
        before + lost,
        "the pool drops nothing by itself, and nothing twice"
    );
}

struct Round<'p, 's, 'c, V, M: PoolMemory> {
    pool: &'p Pool<'s, V, M>,
    owners: Vec<Owner<'p, V, M>>,
    cells: &'c mut Cells,
    /// Values that are not this round's.
    others: usize,
}

impl<'p, 's, 'c, V: Sample, M: PoolMemory> Round<'p, 's, 'c, V, M> {
    fn new(pool: &'p Pool<'s, V, M>, cells: &'c mut Cells, others: usize) -> Self {
        Round {
            pool,
            owners: Vec::new(),
            cells,
            others,
        }
    }

    /// Runs up to a reset. Says whether there was one.
    fn run<'a>(mut self, steps: &mut impl Iterator<Item = (&'a Step, u64)>) -> bool {
        let mut is_reset = false;
        for (&(operation, number), step) in steps {
            if operation % 24 == 23 {
                is_reset = true;
                break;
            }
            self.step(operation % 24, usize::from(number), step);
            self.check();
        }
        // The rest is dropped or forgotten, by turns.
        while let Some(owner) = self.owners.pop() {
            if self.owners.len() % 2 == 0 {
                self.forget(owner);
            } else {
                self.end(owner);
            }
            self.check();
        }
        is_reset
    }

    fn expected_len(&self) -> usize {
        self.owners.len() + self.cells.lost.len()
    }

    fn is_full(&self) -> bool {
        self.expected_len() == CAPACITY
    }

    fn check(&self) {
        #[cfg(fuzzing)]
        self.pool.check();
        let len = self.expected_len();
        assert_eq!((self.pool.len(), self.pool.capacity()), (len, CAPACITY));
        assert_eq!(self.pool.is_full(), len == CAPACITY);
        assert_eq!(self.pool.is_empty(), len == 0);
        let values = self.owners.iter().filter(|owner| owner.has_value()).count();
        assert_eq!(alive(), self.others + self.cells.lost_values + values);

        self.owners.iter().for_each(Owner::check);
        self.cells
            .check::<V>(self.owners.iter().map(Owner::address));
    }

    /// The owner has come out of the pool just now.
    fn add(&mut self, owner: Owner<'p, V, M>) {
        self.cells.take(owner.address(), size_of::<V>());
        self.owners.push(owner);
    }

    fn add_value(&mut self, boxed: PoolBox<'p, V, M>, number: u64) {
        self.add(Owner::Value(boxed, number));
    }

    /// One of the owners, no more among them.
    fn remove(&mut self, nth: usize) -> Option<Owner<'p, V, M>> {
        let count = self.owners.len();
        (count > 0).then(|| self.owners.swap_remove(nth % count))
    }

    /// One of the boxes with a value, no more among the owners.
    fn remove_value(&mut self, nth: usize) -> Option<(PoolBox<'p, V, M>, u64)> {
        let mut places = Vec::new();
        for (place, owner) in self.owners.iter().enumerate() {
            if matches!(owner, Owner::Value(..)) {
                places.push(place);
            }
        }
        let place = *places.get(nth % places.len().max(1))?;
        match self.owners.swap_remove(place) {
            Owner::Value(boxed, number) => Some((boxed, number)),
            _ => None,
        }
    }

    fn free_was(&mut self, address: usize) {
        self.cells.freed.push(address);
    }

    /// Frees the cell, or takes note that it is lost.
    fn end(&mut self, owner: Owner<'p, V, M>) {
        let address = owner.address();
        match owner {
            Owner::Value(boxed, _) => drop(boxed),
            Owner::Vacant(boxed) => drop(boxed),
            // SAFETY: from `into_raw` of this pool, and taken back once.
            Owner::Raw(pointer, _) => drop(unsafe { self.pool.box_from_raw(pointer) }),
            Owner::Leaked(..) => return self.forget(owner),
        }
        self.free_was(address);
    }

    fn forget(&mut self, owner: Owner<'p, V, M>) {
        if V::OWNS_MEMORY && !matches!(owner, Owner::Leaked(..)) {
            return self.end(owner);
        }
        self.cells.lost.push(owner.address());
        self.cells.lost_values += usize::from(owner.has_value());
        forget(owner);
    }

    fn step(&mut self, operation: u8, number: usize, step: u64) {
        match operation {
            0..=4 => self.alloc(step),
            5..=6 => self.alloc_with(number, step),
            7 => {
                let vacant = self.pool.try_alloc_uninit();
                assert_eq!(vacant.is_err(), self.is_full());
                if let Ok(vacant) = vacant {
                    self.add(Owner::Vacant(vacant));
                }
            }
            8..=10 => {
                if let Some(owner) = self.remove(number) {
                    self.end(owner);
                }
            }
            11 => {
                if let Some((boxed, value)) = self.remove_value(number) {
                    let address = (&raw const *boxed).addr();
                    assert!(PoolBox::into_inner(boxed).is(value));
                    self.free_was(address);
                }
            }
            12 => {
                if let Some((boxed, value)) = self.remove_value(number) {
                    let address = (&raw const *boxed).addr();
                    let (old, vacant) = PoolBox::take(boxed);
                    assert!(old.is(value));
                    let owner = match number % 2 {
                        0 => Owner::Vacant(vacant),
                        _ => Owner::Value(PoolBox::write(vacant, V::new(step)), step),
                    };
                    assert_eq!(owner.address(), address, "the same cell");
                    self.owners.push(owner);
                }
            }
            13..=14 => self.exchange(number, step),
            15 => {
                if let Some((boxed, value)) = self.remove_value(number) {
                    self.owners
                        .push(Owner::Raw(PoolBox::into_raw(boxed), value));
                }
            }
            16 if !V::OWNS_MEMORY => {
                if let Some((boxed, value)) = self.remove_value(number) {
                    self.owners.push(Owner::Leaked(PoolBox::leak(boxed), value));
                }
            }
            17 => {
                if let Some(owner) = self.remove(number) {
                    self.forget(owner);
                }
            }
            18 => self.pool.prepare((step % 40) as usize).unwrap(),
            19..=20 => {
                if let Some((mut boxed, value)) = self.remove_value(number) {
                    assert!(replace(&mut *boxed, V::new(step)).is(value));
                    boxed.renumber(step + 1);
                    self.owners.push(Owner::Value(boxed, step + 1));
                }
            }
            21 => {
                for value in 0..(number % CAPACITY) as u64 {
                    self.alloc(step + value);
                }
            }
            22 => {
                for _ in 0..number % CAPACITY {
                    if let Some((boxed, value)) = self.remove_value(number) {
                        self.end(Owner::Value(boxed, value));
                    }
                }
            }
            _ => {}
        }
    }

    fn alloc(&mut self, number: u64) {
        match self.pool.try_alloc(V::new(number)) {
            Ok(boxed) => self.add_value(boxed, number),
            Err(FullError(value)) => assert!(value.is(number) && self.is_full()),
        }
    }

    /// With a closure that may panic, allocate, or free.
    fn alloc_with(&mut self, number: usize, step: u64) {
        let pool = self.pool;
        let was_full = self.is_full();
        match number % 4 {
            0 => match pool.try_alloc_with(|| V::new(step)) {
                Ok(boxed) => self.add_value(boxed, step),
                Err(error) => assert_eq!(
                    (error, was_full),
                    (AllocError::Full { capacity: CAPACITY }, true)
                ),
            },
            1 => {
                struct OnPurpose;
                let panic = catch_unwind(AssertUnwindSafe(|| {
                    let value = V::new(step);
                    let boxed = pool.try_alloc_with(|| resume_unwind(Box::new(OnPurpose)));
                    assert!(boxed.is_err() && was_full);
                    drop(value);
                }));
                if let Err(panic) = panic {
                    assert!(panic.is::<OnPurpose>() && !was_full);
                    // The cell that it had is free.
                    let boxed = pool.alloc_uninit();
                    self.cells.take(boxed.as_ptr().addr(), size_of::<V>());
                    self.end(Owner::Vacant(boxed));
                }
            }
            2 => {
                let inner = RefCell::new(None);
                let outer = pool.try_alloc_with(|| {
                    *inner.borrow_mut() = Some(pool.try_alloc(V::new(step + 1)));
                    V::new(step)
                });
                assert_eq!(outer.is_err(), was_full);
                if let Ok(outer) = outer {
                    self.add_value(outer, step);
                }
                match inner.into_inner() {
                    Some(Ok(boxed)) => self.add_value(boxed, step + 1),
                    Some(Err(FullError(value))) => assert!(value.is(step + 1) && self.is_full()),
                    None => assert!(was_full, "it was not called"),
                }
            }
            _ => {
                let Some((boxed, value)) = self.remove_value(number) else {
                    return;
                };
                let address = (&raw const *boxed).addr();
                let freed = RefCell::new(Some(boxed));
                let outer = pool.try_alloc_with(|| {
                    drop(freed.take());
                    V::new(step)
                });
                assert_eq!(outer.is_err(), was_full);
                match outer {
                    Ok(outer) => {
                        self.add_value(outer, step);
                        self.free_was(address);
                    }
                    Err(_) => {
                        let boxed = freed.take().expect("it was not called");
                        self.owners.push(Owner::Value(boxed, value));
                    }
                }
            }
        }
    }

    /// Fills a vacant cell, makes a box of a pointer, writes to a leaked value.
    fn exchange(&mut self, number: usize, step: u64) {
        let owner = match self.remove(number) {
            Some(Owner::Vacant(boxed)) => Owner::Value(PoolBox::write(boxed, V::new(step)), step),
            Some(Owner::Raw(pointer, value)) => {
                // SAFETY: from `into_raw` of this pool, and taken back once.
                let boxed = unsafe { self.pool.box_from_raw(pointer) };
                assert_eq!((&raw const *boxed).addr(), pointer.addr());
                Owner::Value(boxed, value)
            }
            Some(Owner::Leaked(value, _)) => {
                value.renumber(step);
                Owner::Leaked(value, step)
            }
            Some(owner) => owner,
            None => return,
        };
        self.owners.push(owner);
    }
}
