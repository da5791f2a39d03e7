//! A ring of values of any type.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use flatslab::AllocError;
use flatslab::bytes::SlabRing;

use crate::common::random::{random, seed};
use crate::common::{Drops, amount, panics};

#[test]
fn values_come_out_in_order() {
    let mut ring = SlabRing::with_capacity(3);
    for round in 0..10 {
        assert!((0..3).all(|number| ring.push(round + number).is_none()));
        assert!(ring.is_full());
        assert_eq!(ring.push(99), Some(round));
        assert!(ring.iter().eq(&[round + 1, round + 2, 99]));
        assert!(ring.iter().rev().eq(&[99, round + 2, round + 1]));
        *ring.get_mut(2).unwrap() = 98;
        assert_eq!(ring.pop(), Some(round + 1));
        assert_eq!(
            (ring.get(0), ring.get(1), ring.get(2)),
            (Some(&(round + 2)), Some(&98), None)
        );
        assert_eq!(
            (ring.pop(), ring.pop(), ring.pop()),
            (Some(round + 2), Some(98), None)
        );
        assert!(ring.is_empty() && ring.get_mut(0).is_none());
        // Each round begins one place further on.
        ring.push(0);
        ring.pop();
    }
}

#[test]
fn a_ring_for_none_returns_what_it_is_given() {
    let mut ring = SlabRing::with_capacity(0);
    assert!(ring.is_full() && ring.is_empty());
    for number in 0..3 {
        assert_eq!(ring.push(Box::new(number)), Some(Box::new(number)));
        assert_eq!((ring.pop(), ring.get(0), ring.len()), (None, None, 0));
    }
    ring.clear();
    ring.extend([Box::new(1)]);
    assert_eq!(ring.iter().count(), 0);
}

#[test]
fn capacities_that_pass_the_address_space_are_refused() {
    for capacity in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
        let error = SlabRing::<u64>::try_with_capacity(capacity).unwrap_err();
        assert!(matches!(error, AllocError::TooManyBytes { .. }), "{error}");
        assert!(panics(|| SlabRing::<u64>::with_capacity(capacity)));
    }
}

#[test]
fn values_without_a_size_are_counted_and_dropped() {
    thread_local! {
        static ALIVE: Cell<i32> = const { Cell::new(0) };
    }
    struct Empty;
    impl Drop for Empty {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }
    fn make() -> Empty {
        ALIVE.set(ALIVE.get() + 1);
        Empty
    }
    let mut ring = SlabRing::with_capacity(usize::MAX);
    for _ in 0..5 {
        assert!(ring.push(make()).is_none());
    }
    assert_eq!((ring.len(), ring.iter().count(), ALIVE.get()), (5, 5, 5));
    drop(ring.pop());
    ring.clear();
    assert_eq!(ALIVE.get(), 0);

    let mut ring = SlabRing::with_capacity(2);
    for _ in 0..7 {
        drop(ring.push(make()));
    }
    assert_eq!((ring.len(), ALIVE.get()), (2, 2));
    drop(ring);
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn values_stand_at_their_alignment() {
    fn aligned<T: Default>() {
        let mut ring = SlabRing::with_capacity(3);
        for _ in 0..5 {
            drop(ring.push(T::default()));
            for value in ring.iter() {
                assert_eq!(std::ptr::from_ref(value).addr() % align_of::<T>(), 0);
            }
        }
    }
    #[derive(Default)]
    #[repr(align(64))]
    struct Line(#[allow(dead_code, reason = "it has a size")] u8);
    #[derive(Default)]
    #[repr(align(4096))]
    struct Page(#[allow(dead_code, reason = "it has a size")] u8);
    #[derive(Default)]
    #[repr(align(4096))]
    struct NoBytes;
    aligned::<u8>();
    aligned::<u128>();
    aligned::<Line>();
    aligned::<Page>();
    aligned::<NoBytes>();
}

/// A value that panics on purpose when it is dropped, if `panics`.
struct Fragile {
    drops: Rc<Cell<usize>>,
    panics: bool,
}

struct OnPurpose;

impl Drop for Fragile {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        if self.panics {
            resume_unwind(Box::new(OnPurpose));
        }
    }
}

/// A ring of four, after some were overwritten; the one at `which` panics.
fn fragile(which: usize) -> (SlabRing<Fragile>, Rc<Cell<usize>>) {
    let drops = Rc::new(Cell::new(0));
    let mut ring = SlabRing::with_capacity(4);
    for number in 0..6 {
        let value = Fragile {
            drops: drops.clone(),
            panics: number == which + 2,
        };
        drop(ring.push(value));
    }
    assert_eq!(drops.take(), 2);
    (ring, drops)
}

#[track_caller]
fn panics_on_purpose(f: impl FnOnce()) {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    assert!(payload.is::<OnPurpose>());
}

#[test]
fn a_panic_of_a_destructor_loses_no_other_value() {
    for which in 0..4 {
        let (mut ring, drops) = fragile(which);
        panics_on_purpose(|| ring.clear());
        assert_eq!((drops.get(), ring.len()), (4, 0));
        let value = Fragile {
            drops: drops.clone(),
            panics: false,
        };
        assert!(ring.push(value).is_none());
        drop(ring);
        assert_eq!(drops.get(), 5);

        let (ring, drops) = fragile(which);
        panics_on_purpose(|| drop(ring));
        assert_eq!(drops.get(), 4);
    }
}

#[test]
fn a_value_that_panics_when_it_is_overwritten_is_out_of_the_ring() {
    let (mut ring, drops) = fragile(0);
    let value = || Fragile {
        drops: drops.clone(),
        panics: false,
    };
    panics_on_purpose(|| drop(ring.push(value())));
    assert_eq!((ring.len(), drops.get()), (4, 1));
    panics_on_purpose(|| {
        ring.get_mut(3).unwrap().panics = true;
        drop((ring.pop(), ring.pop(), ring.pop()));
        drop(ring.pop());
    });
    assert_eq!((ring.len(), drops.get()), (0, 5));
    let (mut ring, drops) = fragile(0);
    let more = (0..2).map(|_| Fragile {
        drops: drops.clone(),
        panics: false,
    });
    panics_on_purpose(|| ring.extend(more));
    assert_eq!(ring.len(), 4);
    drop(ring);
    assert_eq!(drops.get(), 5);
}

#[test]
fn a_destructor_may_use_the_ring_it_came_from() {
    type Shared = Rc<RefCell<SlabRing<Option<Back>>>>;
    struct Back(Shared, Rc<Cell<usize>>);
    impl Drop for Back {
        fn drop(&mut self) {
            self.1.set(self.1.get() + self.0.borrow().len());
        }
    }
    let seen = Rc::new(Cell::new(0));
    let ring: Shared = Rc::new(RefCell::new(SlabRing::with_capacity(2)));
    for _ in 0..2 {
        let back = Back(ring.clone(), seen.clone());
        ring.borrow_mut().push(Some(back));
    }
    let old = ring.borrow_mut().push(None);
    drop(old);
    assert_eq!(seen.get(), 2);
    let old = ring.borrow_mut().pop();
    drop(old);
    assert_eq!(seen.get(), 3);
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_ring_that_is_forgotten_drops_nothing() {
    let drops = Drops::new();
    let mut ring = SlabRing::with_capacity(2);
    ring.push(drops.value(1));
    std::mem::forget(ring);
    assert_eq!(drops.count(), 0);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_ring_does_as_a_queue() {
    for capacity in [1, 2, 5, 8] {
        seed(capacity as u64);
        let drops = Drops::new();
        let mut ring = SlabRing::with_capacity(capacity);
        let mut queue = VecDeque::new();
        let mut made = 0;
        for _ in 0..amount(20_000, 2_000, 60) {
            match random(5) {
                0..3 => {
                    made += 1;
                    queue.push_back(made);
                    let expected = (queue.len() > capacity).then(|| queue.pop_front().unwrap());
                    let oldest = ring.push(drops.value(made));
                    assert_eq!(oldest.map(|it| it.number), expected);
                }
                3 => assert_eq!(ring.pop().map(|it| it.number), queue.pop_front()),
                _ if random(30) == 0 => {
                    ring.clear();
                    queue.clear();
                }
                _ => {
                    let index = random(capacity as u64) as usize;
                    let value = ring.get(index).map(|it| it.number);
                    assert_eq!(value, queue.get(index).copied());
                }
            }
            assert_eq!(drops.count() as u64, made - queue.len() as u64);
            assert!(ring.iter().map(|it| it.number).eq(queue.iter().copied()));
        }
    }
}

#[test]
fn a_ring_prints_as_a_list() {
    let mut ring = SlabRing::with_capacity(2);
    ring.extend(1..=3);
    assert_eq!(format!("{ring:?}"), "[2, 3]");
    assert_eq!(format!("{:?}", SlabRing::<u8>::with_capacity(0)), "[]");
}

#[test]
#[cfg(feature = "std")]
fn a_ring_goes_to_another_thread_with_its_values() {
    let mut ring = SlabRing::with_capacity(2);
    ring.push(String::from("text"));
    let ring = std::thread::spawn(move || {
        ring.push(String::from("more"));
        ring
    });
    let ring = ring.join().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(ring.iter().eq(["text", "more"])));
    });
}
