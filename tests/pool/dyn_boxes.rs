//! Boxes of trait objects and slices.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt::Display;
use std::future::Future;
use std::mem::forget;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use flatslab::pool::{Pool, PoolBox, PoolMemory, StorageBox};
use flatslab::unsize;

use crate::common::{Counted, Drops, Hooked, amount, panics};
use crate::kinds::{assert_all_usable_but, keep, with_each_pool};

trait Number {
    fn number(&self) -> u64;
    fn set(&mut self, number: u64);
}

impl Number for u64 {
    fn number(&self) -> u64 {
        *self
    }

    fn set(&mut self, number: u64) {
        *self = number;
    }
}

impl Number for Counted {
    fn number(&self) -> u64 {
        self.number
    }

    fn set(&mut self, number: u64) {
        self.number = number;
    }
}

#[test]
fn boxes_of_two_pools_are_of_one_type() {
    let drops = Drops::new();
    let (one, two) = (Pool::with_capacity(2), Pool::with_capacity(2));
    let mut boxes: Vec<PoolBox<'_, dyn Number>> = vec![
        unsize!(one.alloc(1_u64) => dyn Number),
        unsize!(two.alloc(drops.value(2)) => dyn Number),
        unsize!(one.alloc(3_u64) => dyn Number),
    ];
    for boxed in &mut boxes {
        let number = boxed.number();
        boxed.set(number + 10);
    }
    assert!(boxes.iter().map(|boxed| boxed.number()).eq([11, 12, 13]));
    drop(boxes.remove(1));
    assert_eq!((drops.count(), one.len(), two.len()), (1, 2, 0));
    drop(boxes);
    assert_all_usable_but(&one, 0);
    assert_all_usable_but(&two, 0);
}

#[test]
fn the_size_is_that_of_a_box_of_the_standard_library() {
    let word = size_of::<usize>();
    assert_eq!(size_of::<PoolBox<'_, u64>>(), word);
    assert_eq!(size_of::<PoolBox<'_, dyn Number>>(), 2 * word);
    assert_eq!(size_of::<Option<PoolBox<'_, dyn Number>>>(), 2 * word);
    assert_eq!(size_of::<Option<StorageBox<'_, [u8]>>>(), 3 * word);
}

/// The address of a cell is masked by the size of its segment, which depends on the layout of the
/// value: for each layout, cells of several segments.
#[test]
fn every_layout_finds_its_pool() {
    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page(#[expect(dead_code, reason = "wide")] [u8; 4097]);

    fn try_all<T: 'static>(cells: usize, value: impl Fn() -> T) {
        let pool = Pool::with_capacity(cells);
        let mut boxes: Vec<PoolBox<'_, dyn Any>> = (0..cells)
            .map(|_| unsize!(pool.alloc(value()) => dyn Any))
            .collect();
        assert!(boxes.iter().all(|boxed| boxed.is::<T>()) && pool.is_full());
        // The last is at the end of the last segment.
        drop(boxes.pop());
        drop(boxes.remove(0));
        assert_eq!(pool.len(), cells - 2);
        drop(boxes);
        assert_all_usable_but(&pool, 0);
    }
    // Of 2 MiB, and of 1 KiB under an interpreter.
    let segments = |bytes: usize| amount(5_usize << 20, 3 << 10) / bytes + 3;
    try_all(segments(64), || [0_u8; 1]);
    try_all(20, || ());
    try_all(20, || [0_u128; 0]);
    try_all(segments(64), || Line);
    try_all(segments(72), || [0_u64; 9]);
    try_all(segments(999), || [0_u8; 999]);
    try_all(amount(700, 20), || Page([0; 4097]));
    try_all(amount(90, 20), || [0_u64; 8192]);
    // A sanitizer's frames would have several copies of it on the stack at once.
    #[cfg(not(sanitized))]
    try_all(amount(20, 9), || [0_u8; 300_001]);
}

#[test]
fn every_memory_frees_an_unsized_value() {
    with_each_pool!(3, |pool: Counted| {
        let drops = Drops::new();
        let first = unsize!(pool.alloc(drops.value(1)) => dyn Number);
        let second = unsize!(pool.alloc(drops.value(2)) => dyn Number);
        drop(first);
        assert_eq!((drops.count(), second.number(), pool.len()), (1, 2, 1));
        drop(second);
        assert_eq!(drops.count(), 2);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

#[test]
fn a_forgotten_box_keeps_its_cell() {
    with_each_pool!(2, |pool: u64| {
        forget(unsize!(pool.alloc(1) => dyn Number));
        let leaked = PoolBox::leak(unsize!(pool.alloc(2) => dyn Number));
        leaked.set(3);
        assert_eq!((leaked.number(), pool.len()), (3, 2));
        pool.reset();
        assert_all_usable_but(&pool, 0);
    });
}

#[test]
fn a_destructor_that_panics_frees_the_cell() {
    with_each_pool!(2, |pool: Hooked| {
        let boxed = unsize!(pool.alloc(Hooked::new(|| panic!("on purpose"))) => dyn Any);
        assert!(panics(move || drop(boxed)));
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

#[test]
fn a_destructor_that_uses_the_pool_does_not_get_its_own_cell() {
    type Value = RefCell<Option<Hooked>>;
    let pool: &'static Pool<'_, Value> = keep(Pool::with_capacity(2));
    let boxed = pool.alloc(RefCell::new(None));
    let place = (&raw const *boxed).addr();
    boxed.replace(Some(Hooked::new(move || {
        let other = pool.alloc(RefCell::new(None));
        assert_ne!((&raw const *other).addr(), place);
        assert!(pool.is_full());
    })));
    drop(unsize!(boxed => dyn Any));
    assert_all_usable_but(pool, 0);
}

/// As with `Box`: from arrays, of structs that end in one, and again from a trait object.
#[test]
fn what_the_compiler_coerces_is_coerced() {
    struct Tail<T: ?Sized> {
        head: u8,
        tail: T,
    }

    let arrays = Pool::with_capacity(2);
    let mut slice = unsize!(arrays.alloc([1_u32, 2, 3]) => [u32]);
    slice[1] += 5;
    let other = unsize!(arrays.alloc([1, 7, 3]) => [u32]);
    assert_eq!((slice.len(), slice == other), (3, true));
    assert_eq!(format!("{slice:?}"), "[1, 7, 3]");
    assert_eq!(HashSet::from([slice]).len(), 1);
    assert_eq!(arrays.len(), 1);

    let tails = Pool::with_capacity(1);
    let boxed = tails.alloc(Tail {
        head: 1,
        tail: [2_u16; 5],
    });
    let boxed = unsize!(boxed => Tail<[u16]>);
    assert_eq!((boxed.head, &boxed.tail), (1, &[2; 5][..]));
    drop(boxed);

    let tails = Pool::with_capacity(1);
    let tail = String::from("text");
    let boxed: PoolBox<'_, Tail<dyn Display>> =
        unsize!(tails.alloc(Tail { head: 1, tail }) => Tail<dyn Display>);
    assert_eq!((boxed.head, boxed.tail.to_string().as_str()), (1, "text"));
    drop(boxed);

    let numbers = Pool::with_capacity(1);
    let boxed = unsize!(numbers.alloc(7_u64) => dyn Any + Send + Sync);
    let boxed: PoolBox<'_, dyn Any + Send> = unsize!(boxed => dyn Any + Send);
    let boxed: PoolBox<'_, dyn Any> = unsize!(boxed => dyn Any);
    assert_eq!(boxed.downcast_ref(), Some(&7_u64));
    drop(boxed);
    // The type itself.
    assert_eq!(*unsize!(numbers.alloc(8) => u64), 8);
    assert!(numbers.is_empty() && tails.is_empty());
}

#[test]
fn the_box_is_evaluated_once_and_calls_nest() {
    let pool = Pool::with_capacity(2);
    let calls = Cell::new(0);
    let boxed = unsize!(
        unsize!({
            calls.set(calls.get() + 1);
            pool.alloc(7_u64)
        } => dyn Any + Send) => dyn Any,
    );
    assert_eq!((calls.get(), boxed.is::<u64>()), (1, true));
}

/// The values have the lifetime of a borrow.
#[test]
fn a_trait_object_borrows() {
    struct Sum<'a>(&'a Cell<u64>, u64);
    impl Number for Sum<'_> {
        fn number(&self) -> u64 {
            self.0.get()
        }
        fn set(&mut self, number: u64) {
            self.1 = number;
        }
    }
    impl Drop for Sum<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + self.1);
        }
    }

    fn shorter<'p, 'a>(boxed: PoolBox<'p, dyn Number + 'a>, _: &'a u64) -> u64 {
        boxed.number()
    }

    let sum = Cell::new(0);
    let pool = Pool::with_capacity(2);
    let mut boxed: PoolBox<'_, dyn Number + '_> = unsize!(pool.alloc(Sum(&sum, 1)) => dyn Number);
    boxed.set(5);
    drop(boxed);
    assert_eq!(sum.get(), 5);
    let local = 3;
    assert_eq!(
        shorter(unsize!(pool.alloc(Sum(&sum, local)) => dyn Number), &local),
        5
    );
    assert_eq!(sum.get(), 8);
}

/// A value owns boxes of trait objects of its own pool.
#[test]
fn a_tree_of_trait_objects_is_dropped() {
    trait Node {
        fn sum(&self) -> u64;
    }
    struct Inner<'p>(Vec<PoolBox<'p, dyn Node + 'p>>, u64);
    impl Node for Inner<'_> {
        fn sum(&self) -> u64 {
            self.1 + self.0.iter().map(|node| node.sum()).sum::<u64>()
        }
    }

    let pool: Pool<'_, Inner<'_>> = Pool::with_capacity(7);
    let leaf = |value| unsize!(pool.alloc(Inner(Vec::new(), value)) => dyn Node);
    let pair = |a, b| unsize!(pool.alloc(Inner(vec![a, b], 1)) => dyn Node);
    let root = pair(pair(leaf(10), leaf(20)), pair(leaf(30), leaf(40)));
    assert_eq!((root.sum(), pool.len()), (103, 7));
    drop(root);
    assert!(pool.is_empty());
}

#[test]
fn a_pinned_future_is_polled_in_its_cell() {
    struct Twice(bool, Rc<Cell<usize>>);
    impl Future for Twice {
        type Output = usize;
        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
            let place = (&raw const *self).addr();
            match std::mem::replace(&mut self.0, true) {
                false => {
                    self.1.set(place);
                    Poll::Pending
                }
                true => Poll::Ready(place),
            }
        }
    }

    let pool: &'static Pool<'_, Twice> = keep(Pool::with_capacity(1));
    let place = Rc::new(Cell::new(0));
    let boxed = pool.alloc(Twice(false, Rc::clone(&place)));
    let mut task: Pin<PoolBox<'static, dyn Future<Output = usize>>> =
        PoolBox::into_pin(unsize!(boxed => dyn Future<Output = usize>));
    let mut context = Context::from_waker(Waker::noop());
    assert!(task.as_mut().poll(&mut context).is_pending());
    assert_eq!(task.as_mut().poll(&mut context), Poll::Ready(place.get()));
    drop(task);
    assert_eq!((pool.len(), Rc::strong_count(&place)), (0, 1));
}

#[test]
fn generic_code_unsizes_boxes_of_any_memory() {
    fn shown<'p, T: Display + 'p, M: PoolMemory>(
        boxed: PoolBox<'p, T, M>,
    ) -> PoolBox<'p, dyn Display + 'p, M> {
        unsize!(boxed => dyn Display + 'p)
    }

    with_each_pool!(1, |pool: u64| {
        assert_eq!(shown(pool.alloc(7)).to_string(), "7");
        pool.reset();
    });
}

#[cfg(all(feature = "std", target_has_atomic = "ptr"))]
#[test]
fn a_closure_is_sent_to_another_thread() {
    use flatslab::pool::{PoolStorage, SendBox};

    type Job = SendBox<dyn FnMut() -> u64 + Send>;

    static JOBS: PoolStorage<[u64; 3], 2> = PoolStorage::new();
    let pool = &*JOBS.claim().unwrap();
    // The pool is of arrays; a closure has no name.
    let arrays: SendBox<[u64]> = unsize!(PoolBox::into_send(pool.alloc([1, 2, 3])) => [u64]);
    let boxed = unsize!(pool.alloc([4, 5, 6]) => [u64]);
    let late: SendBox<[u64]> = PoolBox::into_send(boxed);
    let sum = std::thread::spawn(move || arrays.iter().chain(late.iter()).sum::<u64>());
    assert_eq!(sum.join().unwrap(), 21);
    assert_eq!((pool.len(), pool.reclaim(), pool.len()), (2, 2, 0));

    fn storage<F: 'static>(_: &F) -> Pool<'static, F, flatslab::pool::InStorage> {
        let storage: &'static mut PoolStorage<F, 1> = Box::leak(PoolStorage::boxed());
        Pool::in_storage(storage)
    }
    let mut calls = 0;
    let job = move || {
        calls += 1;
        calls
    };
    let pool: &'static _ = keep(storage(&job));
    let mut job: Job = unsize!(PoolBox::into_send(pool.alloc(job)) => dyn FnMut() -> u64 + Send);
    let worker = std::thread::spawn(move || job() + job());
    assert_eq!(worker.join().unwrap(), 3);
    assert_eq!(pool.reclaim(), 1);
}
