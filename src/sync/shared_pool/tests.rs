//! What needs more than the public methods.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::vec::Vec;

use super::*;
use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::sync::counted;

fn pool(capacity: usize, direct: usize) -> SharedPool<u64> {
    SharedPool::try_new_in(capacity, direct, || 7, |_| {}, &Source::GLOBAL).unwrap()
}

#[test]
fn taking_and_giving_take_one_locked_operation_or_two_with_the_map() {
    let direct = pool(300, 300);
    drop(direct.take());
    assert_eq!(counted::changes(|| drop(direct.take())), 1);
    let mapped = pool(300, 0);
    drop(mapped.take());
    assert_eq!(counted::changes(|| drop(mapped.take())), 2);
    // Several at once.
    let values: Vec<_> = (0..8).map(|_| direct.take()).collect();
    drop(values);
    let several = || drop((0..8).map(|_| direct.take()).collect::<Vec<_>>());
    assert_eq!(counted::changes(several), 8);
}

#[test]
fn random_programs_keep_each_value_once() {
    for (capacity, direct) in [(0, 0), (1, 1), (3, 3), (3, 1), (3, 0), (70, 3), (70, 66)] {
        seed((capacity * 100 + direct) as u64);
        let mut pool = SharedPool::<Vec<u64>>::try_new_in(
            capacity,
            direct,
            Vec::new,
            Vec::clear,
            &Source::GLOBAL,
        )
        .unwrap();
        for part in 0..3 {
            let (mut taken, mut idle, mut forgotten) = (Vec::new(), pool.idle(), pool.len());
            for step in 0..amount(2000, 100) {
                match random(8) {
                    0..4 => match pool.take() {
                        Some(mut value) => {
                            assert!(value.is_empty());
                            value.push(step);
                            taken.push((step, value));
                            idle = idle.saturating_sub(1);
                        }
                        None => assert_eq!(taken.len() + forgotten, capacity),
                    },
                    kind if !taken.is_empty() => {
                        let at = random(taken.len() as u64) as usize;
                        let (number, value) = taken.swap_remove(at);
                        assert_eq!(*value, [number]);
                        match kind {
                            4 => assert_eq!(Pooled::into_inner(value), [number]),
                            5 if part == 1 && random(100) == 0 => {
                                // Its `Vec` is lost, too.
                                let mut value = value;
                                *value = Vec::new();
                                core::mem::forget(value);
                                forgotten += 1;
                            }
                            _ => {
                                drop(value);
                                idle += 1;
                            }
                        }
                    }
                    _ => {}
                }
                assert_eq!(pool.len(), taken.len() + forgotten);
                assert!(pool.idle() <= capacity - pool.len());
                // A mapped cell may get a value while another has an idle one.
                assert!(direct < capacity || pool.idle() == idle);
                pool.check();
            }
            drop(taken);
            match part {
                0 => pool.fill(),
                _ => pool.clear(),
            }
            pool.check();
            let idle = if part == 0 { capacity - forgotten } else { 0 };
            assert_eq!((pool.idle(), pool.len()), (idle, forgotten));
        }
    }
}

#[test]
fn a_panic_leaves_each_kind_of_cell_empty() {
    static PANICS: AtomicBool = AtomicBool::new(false);

    fn init() -> Arc<()> {
        assert!(!PANICS.load(Ordering::Relaxed), "in init");
        Arc::new(())
    }
    fn reset(_: &mut Arc<()>) {
        assert!(!PANICS.load(Ordering::Relaxed), "in reset");
    }

    for direct in [0, 1] {
        let mut pool = SharedPool::try_new_in(1, direct, init, reset, &Source::GLOBAL).unwrap();
        PANICS.store(true, Ordering::Relaxed);
        assert!(panics(|| pool.take()));
        assert_eq!((pool.len(), pool.idle()), (0, 0));
        assert!(panics(|| pool.fill()));
        assert_eq!((pool.len(), pool.idle()), (0, 0));
        PANICS.store(false, Ordering::Relaxed);
        let value = pool.take().unwrap();
        let weak = Arc::downgrade(&value);
        PANICS.store(true, Ordering::Relaxed);
        assert!(panics(|| drop(value)));
        assert!(weak.upgrade().is_none(), "the value is lost");
        assert_eq!((pool.len(), pool.idle()), (0, 0));
        PANICS.store(false, Ordering::Relaxed);
        pool.check();
        assert!(pool.take().is_some());
    }
}

#[test]
fn empty_direct_cells_are_filled_before_mapped_ones() {
    let pool = pool(70, 2);
    let values: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    assert_eq!(pool.mapped.as_ref().unwrap().count(), 67);
    drop(values);
    assert_eq!((pool.idle(), pool.len()), (3, 0));
    let values: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    assert_eq!(pool.idle(), 0);
    drop(values);
    pool.check();
}
