//! Pools in a static and on the stack, in a program without `std`, without `alloc`
//! and without an allocator: that it links shows that the crate needs none of them.

#![no_std]
#![no_main]

use core::panic::PanicInfo;

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, StorageBox};

/// An order of one cache line.
#[repr(C, align(64))]
struct Order {
    price: u32,
    quantity: u32,
}

static ORDERS: PoolStorage<Order, 16> = PoolStorage::new();

/// Where the linker has the program begin.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let orders = ORDERS.claim().expect("the first claim");
    let paid = trade(orders);
    orders.reset();
    assert!(ORDERS.claim().is_none());

    // Its values borrow.
    let mut storage = PoolStorage::<&u32, 4>::new();
    let pool = Pool::in_storage(&mut storage);
    let boxed = pool.try_alloc_with(|| &paid).expect("a free cell");
    assert!(**boxed == (100..116).sum());
    halt()
}

/// Fills the pool, and sums up what its orders are worth.
fn trade(pool: &Pool<'_, Order, InStorage>) -> u32 {
    let mut live: [Option<StorageBox<'_, Order>>; 16] = [const { None }; 16];
    for (price, place) in (100..).zip(&mut live) {
        *place = pool.try_alloc(Order { price, quantity: 1 }).ok();
    }
    assert!(pool.is_full());
    live.into_iter()
        .flatten()
        .map(PoolBox::into_inner)
        .map(|order| order.price * order.quantity)
        .sum()
}

fn halt() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    halt()
}
