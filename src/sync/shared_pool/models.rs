//! `ci/loom.sh`: how two threads can act on a pool of one or two cells.
//!
//! Each value is a witness: it is written when it is created, used, reset and dropped, and loom
//! reports each pair of these accesses that has no order.

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;
use crate::raw::atomic::thread;

/// Written by its owner, who must be alone.
struct Value(UnsafeCell<u32>);

impl Value {
    fn new() -> Self {
        Value(UnsafeCell::new(0))
    }

    fn write(&self, number: u32) {
        // SAFETY: loom reports an access that has no order to this one.
        self.0.with_mut(|it| unsafe { *it = number });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom reports an access that has no order to this one.
        self.0.with(|it| unsafe { *it })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.write(u32::MAX);
    }
}

fn reset(value: &mut Value) {
    assert_eq!(value.read(), 1, "reset twice, or not used");
    value.write(0);
}

/// A pool of so many direct cells, and so many mapped ones.
fn pool(direct: usize, mapped: usize) -> SharedPool<Value> {
    let source = &Source::GLOBAL;
    SharedPool::try_new_in(direct + mapped, direct, Value::new, reset, source).unwrap()
}

fn use_value<P: core::ops::Deref<Target = SharedPool<Value>>>(value: &Pooled<Value, P>) {
    assert_eq!(value.read(), 0, "the value was not reset");
    value.write(1);
}

/// Each with direct cells alone, and with a map.
fn model(f: impl Fn(usize, usize) + Copy + Send + Sync + 'static, cells: usize) {
    for direct in 0..=cells {
        loom::model(move || f(direct, cells - direct));
    }
}

#[test]
fn loom_resetting_a_value_happens_before_another_thread_takes_it() {
    model(
        |direct, mapped| {
            let pool = Arc::new(pool(direct, mapped));
            let value = pool.take().unwrap();
            use_value(&value);
            let theirs = pool.clone();
            let other = thread::spawn(move || {
                if let Some(value) = theirs.take() {
                    use_value(&value);
                }
            });
            drop(value);
            other.join().unwrap();
            assert_eq!((pool.len(), pool.idle()), (0, 1));
        },
        1,
    );
}

#[test]
fn loom_one_of_two_threads_takes_the_only_cell() {
    model(
        |direct, mapped| {
            let pool = Arc::new(pool(direct, mapped));
            let theirs = pool.clone();
            let other = thread::spawn(move || {
                theirs.take().map(|value| {
                    use_value(&value);
                    core::mem::forget(value);
                })
            });
            let mine = pool.take().map(|value| {
                use_value(&value);
                core::mem::forget(value);
            });
            assert!(mine.is_some() != other.join().unwrap().is_some());
            assert!(pool.is_full());
        },
        1,
    );
}

#[test]
fn loom_a_value_that_is_moved_out_leaves_its_cell_to_another_thread() {
    model(
        |direct, mapped| {
            let pool = Arc::new(pool(direct, mapped));
            let value = pool.take().unwrap();
            let theirs = pool.clone();
            let other = thread::spawn(move || {
                if let Some(value) = theirs.take() {
                    use_value(&value);
                }
            });
            use_value(&value);
            assert_eq!(Pooled::into_inner(value).read(), 1);
            other.join().unwrap();
            assert!(pool.is_empty());
        },
        1,
    );
}

#[test]
fn loom_a_free_cell_that_moves_during_a_search_is_found() {
    // Two direct cells, or a direct and a mapped one; which of them the free one is; and how often
    // it moves. Each move takes two preemptions.
    for (direct, mapped, free, moves) in [
        (2, 0, 0, 1),
        (2, 0, 1, 1),
        (1, 1, 0, 1),
        (1, 1, 1, 1),
        (2, 0, 1, 3),
    ] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2 * moves);
        builder.check(move || {
            let mut pool = pool(direct, mapped);
            pool.fill();
            let (mut free, mut taken) = (free, 1 - free);
            assert!(pool.take_at(taken));
            let pool = Arc::new(pool);
            let theirs = pool.clone();
            let other = thread::spawn(move || {
                let found = theirs.search(theirs.home()).expect("refused");
                theirs.give(found.place, State::IDLE);
            });
            // Never more than two cells at the same time: this thread gives its one first.
            for _ in 0..moves {
                pool.give_unfenced(pool.place(taken));
                if !pool.take_at(free) {
                    break;
                }
                core::mem::swap(&mut free, &mut taken);
            }
            other.join().unwrap();
            pool.check();
        });
    }
}

impl SharedPool<Value> {
    /// Gives an idle cell without the fence that only models have.
    fn give_unfenced(&self, place: Place<'_, Value>) {
        if self.is_direct(place) {
            place.state().give(State::IDLE);
        } else {
            self.give_to_map(place, State::IDLE);
        }
    }

    /// Takes the cell with this index, if it is free.
    fn take_at(&self, index: usize) -> bool {
        let place = self.place(index);
        if self.is_direct(place) {
            place.state().take(State::IDLE)
        } else {
            self.take_mapped().is_some()
        }
    }
}

#[test]
fn loom_a_value_that_comes_back_while_its_pool_is_dropped_is_dropped_once() {
    model(
        |direct, mapped| {
            let pool = std::sync::Arc::new(pool(direct, mapped));
            let dropped = Arc::new(());
            let value = pool.take_owned().unwrap();
            use_value(&value);
            let theirs = dropped.clone();
            let other = thread::spawn(move || {
                drop(value);
                drop(theirs);
            });
            drop(pool);
            other.join().unwrap();
        },
        1,
    );
}

#[test]
#[cfg(feature = "std")]
fn loom_a_thread_that_sleeps_is_woken_when_a_value_comes_back() {
    model(
        |direct, mapped| {
            let pool = Arc::new(pool(direct, mapped));
            let value = pool.take().unwrap();
            use_value(&value);
            let theirs = pool.clone();
            let other = thread::spawn(move || use_value(&theirs.take_wait()));
            drop(value);
            other.join().unwrap();
            assert!(pool.is_empty());
        },
        1,
    );
}
