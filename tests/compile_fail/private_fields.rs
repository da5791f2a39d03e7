//! What has private fields is not made by hand.
//!
//! Without any other error: the compiler looks at what is private only where all types and
//! borrows are right.

use flatslab::pool::{Pool, PoolBox};

#[test]
fn box_made_by_its_pool() {
    let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
    let boxed = one.alloc(1);
    let moved: PoolBox<'_, i32> = two.alloc(2);
}

#[cfg(compile_fail)]
fn box_made_by_hand() {
    let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
    let boxed = one.alloc(1);
    let moved = PoolBox {
        value: std::ptr::NonNull::<i32>::dangling(), //~ E0451
        ..two.alloc(2)                               //~ E0451
    };
}
