//! A C allocator for orders of 64 bytes: a free list through the cells, nothing beside them, in a
//! static or on the heap.

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, StorageBox};

#[repr(C, align(64))]
struct Order {
    id: u64,
    price: i64,
    quantity: u32,
    side: u8,
    symbol: [u8; 8],
}

const _: () = assert!(size_of::<Order>() == 64);

fn order(id: u64) -> Order {
    Order {
        id,
        price: 100,
        quantity: 10,
        side: 1,
        symbol: *b"FLATSLAB",
    }
}

/// Allocates all, frees all, and allocates again: the cell freed last comes first.
fn use_all(pool: &Pool<'_, Order, InStorage>) {
    let boxes: Vec<StorageBox<'_, Order>> = (0..pool.capacity() as u64)
        .map(|id| pool.alloc(order(id)))
        .collect();
    assert!(pool.is_full() && pool.try_alloc(order(0)).is_err());
    let address = |order: &Order| std::ptr::from_ref(order).addr();
    let mut cells: Vec<usize> = boxes.iter().map(|order| address(order)).collect();
    assert!(cells.iter().all(|cell| cell % 64 == 0), "each on one line");
    assert!(boxes.iter().enumerate().all(|(id, order)| {
        order.id == id as u64 && order.price == 100 && order.symbol == *b"FLATSLAB"
    }));
    let last = address(boxes.last().unwrap());
    drop(boxes);
    assert!(pool.is_empty());
    let first = pool.alloc(order(7));
    assert_eq!(address(&first), last);
    cells.sort_unstable();
    assert!(
        cells.windows(2).all(|pair| pair[1] - pair[0] == 64),
        "and nothing between them"
    );
}

#[test]
fn in_a_static() {
    static ORDERS: PoolStorage<Order, 64> = PoolStorage::new();
    use_all(ORDERS.claim().unwrap());
    assert!(ORDERS.claim().is_none());
}

/// Few for an interpreter.
const CELLS: usize = if cfg!(miri) { 20 } else { 1000 };

#[test]
fn on_the_heap_with_nothing_beside_the_cells() {
    let mut storage = PoolStorage::<Order, CELLS>::boxed();
    assert!(size_of_val(&*storage) - CELLS * 64 <= 256);
    use_all(&Pool::in_storage(&mut storage));
    // Freed with its owner; the next pool in it starts at its beginning.
    use_all(&Pool::in_storage(&mut storage));
}

#[test]
fn on_the_heap_with_a_stack_beside_the_cells() {
    let pool = Pool::with_capacity(CELLS);
    let mut order: PoolBox<'_, Order> = pool.alloc(order(1));
    order.quantity -= 4;
    assert_eq!((order.quantity, order.side), (6, 1));
    drop(order);
    assert!(pool.is_empty());
}
