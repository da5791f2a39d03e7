//! A slab in huge and locked pages: how to ask for them, how to find out which were
//! obtained, and how to prefetch the next value.
//!
//! ```text
//! cargo run --example huge_pages --features os-memory
//! ```

use flatslab::BoundedSlab;
use flatslab::memory::{HugePages, Lock, PageOption, Pages};

/// A cache line.
struct Order {
    id: u64,
    quantity: u64,
    _rest: [u64; 6],
}

const ORDERS: usize = 100_000;

fn main() {
    // The default: memory of the global allocator, which says nothing of pages.
    let usual = BoundedSlab::<Order>::with_capacity(ORDERS);
    println!("default: {}", usual.memory());
    assert_eq!(usual.memory().page_size(), None);
    drop(usual);

    // `Try` always makes a slab, on any machine; `Require` would be an error here
    // where the machine cannot.
    let pages = Pages::new().huge(HugePages::Try).lock(Lock::Try);
    let orders = BoundedSlab::<Order>::builder()
        .capacity(ORDERS)
        .pages(pages)
        .build();
    let memory = orders.memory();
    println!("tried:   {memory}");

    // What was not obtained is there to be read, never silent.
    for shortfall in memory.shortfalls() {
        println!("not obtained: {shortfall}");
    }
    let lacks = |option| memory.shortfalls().any(|it| it.option == option);
    if let Some(resident) = memory.resident_bytes() {
        assert!(resident >= memory.bytes(), "populated when it was made");
        // Explicit huge pages are all or nothing.
        let all_huge = memory.huge_bytes() == memory.mapped_bytes();
        assert!(all_huge || lacks(PageOption::HugePages));
        let all_locked = memory.locked_bytes() >= Some(memory.bytes());
        assert!(all_locked || lacks(PageOption::Lock));
    }

    // From here on no insertion, access or removal waits for the system.
    let keys: Vec<_> = (0..ORDERS as u64)
        .map(|id| {
            let order = Order {
                id,
                quantity: 100,
                _rest: [0; 6],
            };
            orders.insert_key(order).expect("room for all")
        })
        .collect();

    // Fills in an order that no processor foresees. The next one is known while
    // this one is worked on, so the processor can load it already.
    let fills: Vec<usize> = (0..ORDERS).map(|at| at * 7919 % ORDERS).collect();
    let mut filled = 0;
    for (at, &fill) in fills.iter().enumerate() {
        if let Some(&next) = fills.get(at + 1) {
            orders.prefetch(keys[next]);
        }
        let mut order = orders.get_mut(keys[fill]).expect("a live order");
        assert_eq!(order.id, fill as u64);
        order.quantity -= 30;
        filled += 30;
    }
    let left: u64 = keys
        .iter()
        .map(|&key| orders.remove_by_key(key).quantity)
        .sum();
    println!("filled {filled}, left {left}");
    assert_eq!(filled + left, 100 * ORDERS as u64);
    assert!(orders.is_empty());
}
