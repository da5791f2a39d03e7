//! Owning handles: insert a value, borrow it, change it, take it out. A handle
//! whose value was removed by key becomes stale.
//!
//! ```text
//! cargo run --example slots
//! ```

use flatslab::{BoundedSlab, Slab, Slot};

#[derive(Debug)]
struct Order {
    id: u64,
    quantity: u32,
}

fn main() {
    // All memory is allocated and touched here, and none ever after.
    let slab = BoundedSlab::with_capacity(1024);

    let order: Slot<Order> = slab
        .insert(Order {
            id: 1,
            quantity: 100,
        })
        .unwrap();
    println!("in: {:?}", order.get());

    // A slot needs no `mut`: borrows are tracked at run time, like `RefCell`'s.
    order.get_mut().quantity -= 30;
    let reader = order.get();
    assert!(order.try_get_mut().is_err(), "it is being read");
    println!("filled in part: {reader:?}");
    drop(reader);

    // The value is removed by its key. The slot is stale from then
    // on: it refuses access, and can never come to point at another value.
    let cancelled = slab.remove_by_key(order.key());
    println!(
        "cancelled: {} with {} left",
        cancelled.id, cancelled.quantity
    );
    assert!(!order.is_valid());
    assert!(order.try_get().is_err());

    // Handles of both slabs are of one type, and may outlive their slab.
    let growable = Slab::new();
    let mut slots = vec![
        slab.insert(Order {
            id: 2,
            quantity: 10,
        })
        .unwrap(),
    ];
    slots.extend((3..6).map(|id| growable.insert(Order { id, quantity: 10 })));
    drop(growable);
    let (valid, gone): (Vec<_>, Vec<_>) = slots.into_iter().partition(Slot::is_valid);
    println!("{} valid, {} whose slab is gone", valid.len(), gone.len());
    assert_eq!((valid.len(), gone.len()), (1, 3));
}
