//! An order of 64 bytes on a cache line of its own. The layout is asserted at compile
//! time. At run time the program verifies that every cell of the pool is one whole line,
//! in a new pool and after random frees. Then it builds a price level, a queue of the
//! orders' boxes of 8 bytes each.
//!
//! ```text
//! cargo run --release --example limit_order
//! ```
#![forbid(unsafe_code)]

use std::collections::{HashSet, VecDeque};
use std::mem::offset_of;

use flatslab::FullError;
use flatslab::pool::{Pool, PoolBox};

const LINE: usize = 64;

#[derive(Debug)]
#[repr(u8)]
enum Side {
    Buy,
    Sell,
}

/// What matching reads comes first; the client's own reference fills the line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Order {
    id: u64,
    price: u64,
    quantity: u32,
    filled: u32,
    entered: u64,
    account: u64,
    instrument: u32,
    side: Side,
    reference: [u8; 19],
}

const _: () = {
    assert!(size_of::<Order>() == LINE && align_of::<Order>() == LINE);
    assert!(offset_of!(Order, entered) == 24);
    // No padding, not even before the end.
    assert!(offset_of!(Order, reference) + 19 == LINE);
    // Its owner is a pointer, also where there may be none.
    assert!(size_of::<PoolBox<'_, Order>>() == 8);
    assert!(size_of::<Option<PoolBox<'_, Order>>>() == 8);
};

impl Order {
    fn new(id: u64, quantity: u32) -> Self {
        Order {
            id,
            price: 10_125,
            quantity,
            filled: 0,
            entered: id * 1_000,
            account: id % 7,
            instrument: 42,
            side: if id % 2 == 0 { Side::Buy } else { Side::Sell },
            reference: *b"client's reference ",
        }
    }

    fn remaining(&self) -> u32 {
        self.quantity - self.filled
    }
}

/// The orders at one price, in the order of their arrival.
struct Level<'p> {
    pool: &'p Pool<'static, Order>,
    orders: VecDeque<PoolBox<'p, Order>>,
}

impl<'p> Level<'p> {
    /// Appends an order, or gives it back when the pool is full.
    fn add(&mut self, order: Order) -> Result<(), FullError<Order>> {
        self.orders.push_back(self.pool.try_alloc(order)?);
        Ok(())
    }

    /// Fills orders, the oldest first; returns the quantity traded with each.
    fn take(&mut self, mut quantity: u32) -> Vec<(u64, u32)> {
        let mut trades = Vec::new();
        while let Some(order) = self.orders.front_mut().filter(|_| quantity > 0) {
            let traded = quantity.min(order.remaining());
            order.filled += traded;
            quantity -= traded;
            trades.push((order.id, traded));
            if order.remaining() == 0 {
                // The box that is dropped frees the cell.
                self.orders.pop_front();
            }
        }
        trades
    }

    /// Takes an order out of the line and of the pool.
    fn cancel(&mut self, id: u64) -> Option<Order> {
        let place = self.orders.iter().position(|order| order.id == id)?;
        self.orders.remove(place).map(PoolBox::into_inner)
    }
}

/// The lines that the orders are on; each is a whole one, and no two are the same.
fn lines(orders: &[PoolBox<'_, Order>]) -> HashSet<usize> {
    let line = |order: &PoolBox<'_, Order>| {
        let first = (&raw const **order).addr();
        assert_eq!(first % LINE, 0);
        first / LINE
    };
    let lines: HashSet<usize> = orders.iter().map(line).collect();
    assert_eq!(lines.len(), orders.len());
    lines
}

fn random(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
    (*state >> 33) as usize % end
}

fn main() {
    const ORDERS: usize = 10_000;
    let pool = Pool::with_capacity(ORDERS);
    let mut next = 0..;
    let mut order = || Order::new(next.next().expect("endless"), 100);

    let mut orders: Vec<_> = (0..ORDERS).map(|_| pool.alloc(order())).collect();
    assert!(pool.is_full() && pool.try_alloc(order()).is_err());
    let all = lines(&orders);
    println!("{} orders, each alone on a line of {LINE} bytes", all.len());

    let (mut state, mut reused) = (1, 0);
    for _ in 0..10 {
        for _ in 0..ORDERS / 2 {
            drop(orders.swap_remove(random(&mut state, orders.len())));
        }
        while let Ok(boxed) = pool.try_alloc(order()) {
            orders.push(boxed);
            reused += 1;
        }
        assert!(lines(&orders) == all);
    }
    println!("{reused} orders more after random frees, on the same lines");
    drop(orders);

    let mut level = Level {
        pool: &pool,
        orders: VecDeque::with_capacity(16),
    };
    for (id, quantity) in [(1, 50), (2, 30), (3, 80), (4, 20)] {
        level.add(Order::new(id, quantity)).expect("there is room");
    }
    assert_eq!(level.cancel(2).map(|order| order.remaining()), Some(30));
    let trades = level.take(60);
    assert_eq!(trades, [(1, 50), (3, 10)]);
    let left: Vec<_> = (level.orders.iter())
        .map(|it| (it.id, it.remaining()))
        .collect();
    assert_eq!(
        (left.as_slice(), pool.len()),
        ([(3, 70), (4, 20)].as_slice(), 2)
    );
    println!("a trade of 60, the oldest order first: {trades:?}; left: {left:?}");
    drop(level);
    assert!(pool.is_empty());
}
