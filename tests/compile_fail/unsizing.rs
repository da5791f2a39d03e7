//! What must not compile of boxes of trait objects and slices.

use std::any::Any;
use std::fmt::Display;

use flatslab::pool::{InStorage, Pool, PoolBox, SendBox};
use flatslab::unsizing::Coercion;
use flatslab::{BoundedSlab, DynSlotBox, SlotBox, unsize};

fn send<T: Send>() {}
fn sync<T: Sync>() {}

// # Only what the compiler coerces

#[test]
fn value_implements_the_trait() {
    let pool = Pool::with_capacity(1);
    assert_eq!(unsize!(pool.alloc(7) => dyn Display).to_string(), "7");
}

#[cfg(compile_fail)]
fn value_does_not_implement_the_trait() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(vec![7]) => dyn Display); //~ E0277
}

#[cfg(compile_fail)]
fn value_of_another_type() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7_u64) => i64); //~ E0308
}

#[cfg(compile_fail)]
fn first_value_of_an_array() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc([7_u64]) => u64); //~ E0308
}

#[cfg(compile_fail)]
fn value_in_a_box_of_the_standard_library() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(String::new()) => str); //~ E0308
}

#[cfg(compile_fail)]
fn another_trait_object() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7) => dyn Any);
    let boxed = unsize!(boxed => dyn Display); //~ E0308
}

#[cfg(compile_fail)]
fn not_a_box() {
    let boxed = unsize!(7 => dyn Any); //~ E0277
}

// # No other pointer

// The coercion believes its closure.
#[cfg(compile_fail)]
fn closure_of_the_caller() {
    let pool = Pool::with_capacity(1);
    let boxed = flatslab::unsizing::unsize::<_, dyn Any>(
        pool.alloc(7),
        Coercion::new(|value| value), //~ E0133
    );
}

#[cfg(compile_fail)]
fn coercion_of_the_caller() {
    let coercion = Coercion::<u64, dyn Any>(|value| value); //~ E0423
}

// What the caller writes is outside of the macro's unsafe block.
#[cfg(compile_fail)]
fn unsafe_call_in_the_box() {
    unsafe fn boxed<'p>(pool: &'p Pool<'_, u64>) -> PoolBox<'p, u64> {
        pool.alloc(7)
    }
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(boxed(&pool) => dyn Any); //~ E0133
}

#[cfg(compile_fail)]
fn unsafe_call_in_the_type() {
    const unsafe fn length() -> usize {
        1
    }
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc([7; 1]) => [u64; length()]); //~ E0133
}

// # One owner

#[cfg(compile_fail)]
fn box_after_it_was_unsized() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    let other = unsize!(boxed => dyn Any);
    drop(boxed); //~ E0382
}

#[cfg(compile_fail)]
fn unsized_value_moved_out() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7) => dyn Any);
    let value = PoolBox::into_inner(boxed); //~ E0277
}

#[cfg(compile_fail)]
fn unsized_box_given_back_as_a_slot() {
    let slab = BoundedSlab::with_capacity(1);
    let boxed = unsize!(slab.insert(7).unwrap().into_box() => dyn Any);
    let slot = SlotBox::into_slot(boxed); //~ E0308
}

#[cfg(compile_fail)]
fn unsized_box_after_its_pool() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7) => dyn Any);
    drop(pool); //~ E0505
    assert!(boxed.is::<i32>());
}

// # No longer lifetime

#[test]
fn value_borrowed_long_enough() {
    let pool = Pool::with_capacity(1);
    let text = String::from("text");
    let boxed = unsize!(pool.alloc(&text) => dyn Display);
    assert_eq!(boxed.to_string(), "text");
}

#[cfg(compile_fail)]
fn value_borrowed_too_short() {
    let pool = Pool::with_capacity(1);
    let text = String::from("text");
    let boxed = unsize!(pool.alloc(&text) => dyn Display + 'static); //~ E0597
}

#[cfg(compile_fail)]
fn value_in_a_slot_borrowed_too_short() {
    let boxed: DynSlotBox<dyn Display>;
    let text = String::from("text");
    let slab = BoundedSlab::with_capacity(1);
    boxed = unsize!(slab.insert(&text).unwrap().into_box() => dyn Display); //~ E0597
}

#[cfg(compile_fail)]
fn lifetime_of_a_trait_object_made_longer<'p, 'a>(
    boxed: PoolBox<'p, dyn Display + 'a>,
) -> PoolBox<'p, dyn Display + 'static> {
    unsize!(boxed => dyn Display + 'static) //~ lifetime may not live long enough
}

fn lifetime_of_a_trait_object_made_shorter<'p, 'a>(
    boxed: PoolBox<'p, dyn Display + 'static>,
) -> PoolBox<'p, dyn Display + 'a> {
    boxed
}

fn lifetime_of_a_trait_object_in_a_slot_made_shorter<'a>(
    boxed: DynSlotBox<dyn Display + 'static>,
) -> DynSlotBox<dyn Display + 'a> {
    unsize!(boxed => dyn Display + 'a)
}

// # A value in a slot is dropped as the type that its slab has

fn values_of_the_same_type(boxed: DynSlotBox<[&'static str]>) -> DynSlotBox<[&'static str]> {
    boxed
}

#[cfg(compile_fail)]
fn values_of_a_shorter_lifetime<'a>(boxed: DynSlotBox<[&'static str]>) -> DynSlotBox<[&'a str]> {
    boxed //~ lifetime may not live long enough
}

// The two types can implement a trait differently, by which a destructor calls the function.
#[cfg(compile_fail)]
fn values_of_a_supertype(
    boxed: DynSlotBox<[for<'a> fn(&'a str)]>,
) -> DynSlotBox<[fn(&'static str)]> {
    boxed //~ E0308
}

// # No other thread

#[test]
fn threads_of_unsized_boxes() {
    sync::<PoolBox<'_, dyn Any + Sync>>();
    sync::<PoolBox<'_, dyn Any + Sync, InStorage>>();
    send::<SendBox<dyn Any + Send>>();
    sync::<SendBox<[u8]>>();
}

#[cfg(compile_fail)]
fn unsized_boxes_sent() {
    send::<PoolBox<'_, dyn Any + Send>>(); //~ E0277
    send::<DynSlotBox<dyn Any + Send + Sync>>(); //~ E0277
    send::<SendBox<dyn Any + Sync>>(); //~ E0277
}

#[cfg(compile_fail)]
fn unsized_boxes_shared() {
    sync::<PoolBox<'_, dyn Any + Send>>(); //~ E0277
    sync::<DynSlotBox<dyn Any + Send + Sync>>(); //~ E0277
    sync::<SendBox<dyn Any + Send>>(); //~ E0277
}

#[cfg(compile_fail)]
fn trait_object_that_becomes_send() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7) => dyn Any);
    let boxed = unsize!(boxed => dyn Any + Send); //~ E0308
}

#[cfg(compile_fail)]
fn value_that_is_not_send() {
    let pool = Pool::with_capacity(1);
    let value = std::rc::Rc::new(7);
    let boxed = unsize!(pool.alloc(value) => dyn Any + Send); //~ E0277
}

// # Pinned for good

#[cfg(compile_fail)]
fn unsized_value_pinned_in_a_pool_that_ends() {
    let pool = Pool::with_capacity(1);
    let boxed = unsize!(pool.alloc(7) => dyn Any);
    let pinned = PoolBox::into_pin(boxed); //~^ E0597
}
