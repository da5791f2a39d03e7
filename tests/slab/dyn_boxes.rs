//! Boxes of trait objects and slices.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::mem::forget;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use flatslab::{BoundedSlab, DynSlotBox, Slab, SlotBox, unsize};

use crate::common::{Counted, Drops, Hooked, Room, over_both_slabs, panics};

trait Number {
    fn number(&self) -> u64;
    fn set(&mut self, number: u64);
}

impl Number for Counted {
    fn number(&self) -> u64 {
        self.number
    }

    fn set(&mut self, number: u64) {
        self.number = number;
    }
}

impl Number for u64 {
    fn number(&self) -> u64 {
        *self
    }

    fn set(&mut self, number: u64) {
        *self = number;
    }
}

#[test]
fn boxes_of_two_slabs_are_of_one_type() {
    let drops = Drops::new();
    let (one, two) = (BoundedSlab::with_capacity(2), Slab::new());
    let numbers = one.insert(1_u64).unwrap().into_box();
    let counted = two.insert(drops.value(2)).into_box();
    let keys = (SlotBox::key(&numbers), SlotBox::key(&counted));
    let mut boxes: Vec<DynSlotBox<dyn Number>> = vec![
        unsize!(numbers => dyn Number),
        unsize!(counted => dyn Number),
    ];
    for boxed in &mut boxes {
        let number = boxed.number();
        boxed.set(number + 10);
    }
    assert!(boxes.iter().map(|boxed| boxed.number()).eq([11, 12]));
    // The borrow goes on.
    assert!(one.try_get(keys.0).is_err() && two.try_get(keys.1).is_err());
    drop(boxes.pop());
    assert_eq!((drops.count(), one.len(), two.len()), (1, 1, 0));
    drop(boxes);
    assert!(one.is_empty());
    // The slots are free again.
    assert_eq!(
        (one.insert_key(3).unwrap(), two.insert_key(drops.value(4))),
        keys
    );
}

#[test]
fn every_layout_is_freed() {
    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page(#[expect(dead_code, reason = "wide")] [u8; 4097]);

    fn try_all<T: 'static>(value: impl Fn() -> T) {
        let slab = BoundedSlab::with_capacity(3);
        for _ in 0..2 {
            let mut boxes: Vec<DynSlotBox<dyn Any>> = Vec::new();
            while let Ok(slot) = slab.insert(value()) {
                boxes.push(unsize!(slot.into_box() => dyn Any));
            }
            assert!(boxes.len() == 3 && boxes.iter().all(|boxed| boxed.is::<T>()));
            drop(boxes.remove(1));
            assert_eq!(slab.len(), 2);
            drop(boxes);
            assert!(slab.is_empty());
        }
    }
    try_all(|| ());
    try_all(|| 1_u8);
    try_all(|| [0_u128; 0]);
    try_all(|| [0_u8; 16]);
    try_all(|| [0_u8; 17]);
    try_all(|| Line);
    try_all(|| Page([0; 4097]));
    try_all(|| [0_u64; 8192]);
    try_all(|| String::from("text"));
}

#[test]
fn a_slice_is_written_and_dropped() {
    let drops = Drops::new();
    let slab = Slab::new();
    let array = [1, 2, 3].map(|number| drops.value(number));
    let mut boxed = unsize!(slab.insert(array).into_box() => [Counted]);
    boxed[2].number = 7;
    assert!(boxed.iter().map(|value| value.number).eq([1, 2, 7]));
    drop(boxed);
    assert_eq!((drops.count(), slab.len()), (3, 0));
}

#[test]
fn a_box_is_coerced_again() {
    let slab = BoundedSlab::with_capacity(1);
    let boxed = unsize!(slab.insert(7_u64).unwrap().into_box() => dyn Any + Send);
    let boxed: DynSlotBox<dyn Any> = unsize!(boxed => dyn Any);
    assert_eq!(boxed.downcast_ref(), Some(&7_u64));
    drop(boxed);
    let boxed: DynSlotBox<u64> = unsize!(slab.insert(8).unwrap().into_box() => u64);
    assert_eq!(format!("{boxed} {boxed:?}"), "8 8");
    drop(boxed);
    assert!(slab.is_empty());
}

#[test]
fn a_box_outlives_its_slab() {
    let drops = Drops::new();
    for others in 0..2 {
        let (slab, last) = (Slab::new(), others == 0);
        let boxed = unsize!(slab.insert(drops.value(1)).into_box() => dyn Number);
        let other = slab.insert(drops.value(2)).into_box();
        let other = (!last).then_some(other);
        drop(slab);
        assert_eq!(boxed.number(), 1);
        drop(boxed);
        drop(other);
    }
    assert_eq!(drops.count(), 4);
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_forgotten_box_keeps_its_slot() {
    let drops = Drops::new();
    let slab = Slab::new();
    let boxed = slab.insert(drops.value(1)).into_box();
    let key = SlotBox::key(&boxed);
    forget(unsize!(boxed => dyn Number));
    assert!(slab.try_get(key).is_err() && slab.try_remove_by_key(key).is_err());
    assert_eq!((slab.len(), drops.count()), (1, 0));
}

fn a_destructor_that_panics_frees_the_slot<M: Room>() {
    let slab = M::with_room(2);
    let slot = slab.try_insert(Hooked::new(|| panic!("on purpose")));
    let boxed = unsize!(slot.ok().unwrap().into_box() => dyn Any);
    assert!(panics(move || drop(boxed)));
    assert!(slab.is_empty());
}

fn a_destructor_drops_the_slab_of_its_value<M: Room>() {
    let slab = Rc::new(RefCell::new(Some(M::with_room::<Hooked>(2))));
    let value = {
        let slab = Rc::clone(&slab);
        Hooked::new(move || drop(slab.take()))
    };
    let slot = slab.borrow().as_ref().unwrap().try_insert(value);
    let boxed = unsize!(slot.ok().unwrap().into_box() => dyn Any);
    drop(boxed);
    assert!(slab.borrow().is_none());
}

over_both_slabs!(
    a_destructor_that_panics_frees_the_slot,
    a_destructor_drops_the_slab_of_its_value,
);

#[test]
fn a_pinned_future_is_polled_in_its_slot() {
    struct Place(#[expect(dead_code, reason = "a size")] u64);
    impl Future for Place {
        type Output = usize;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
            Poll::Ready((&raw const *self).addr())
        }
    }

    let slab = BoundedSlab::with_capacity(1);
    let boxed = slab.insert(Place(0)).unwrap().into_box();
    let place = (&raw const *boxed).addr();
    let mut task: Pin<DynSlotBox<dyn Future<Output = usize>>> =
        DynSlotBox::into_pin(unsize!(boxed => dyn Future<Output = usize>));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(task.as_mut().poll(&mut context), Poll::Ready(place));
    drop(task);
    assert!(slab.is_empty());
}
