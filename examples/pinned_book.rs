//! An order book that is filled on one thread and then moved to another, pinned
//! to a core, that runs the messages. A `KeySlab` is `Send` if its values are: it
//! moves as a `Vec` does, nothing in it is copied, and every key stays valid.
//!
//! ```text
//! cargo run --release --example pinned_book
//! ```
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::thread;
use std::time::Instant;

use flatslab::{KeySlab, key_type};

key_type! {
    /// An order. With a generation, for an order may be filled while its
    /// cancellation is on the way.
    struct OrderKey(GenKey);
}

struct Order {
    price: usize,
    quantity: u64,
}

const PRICES: usize = 64;

/// Orders, and the quantity at each price.
struct Book<O> {
    orders: O,
    levels: [u64; PRICES],
}

impl<O: Orders> Book<O> {
    fn new(orders: O) -> Self {
        let levels = [0; PRICES];
        Book { orders, levels }
    }

    fn add(&mut self, price: usize, quantity: u64) -> O::Key {
        self.levels[price] += quantity;
        self.orders.insert(Order { price, quantity })
    }

    /// Fills an order, wholly or in part; returns the quantity traded, which is 0
    /// if the order is gone.
    fn fill(&mut self, key: O::Key, quantity: u64) -> u64 {
        let Some(order) = self.orders.get_mut(key) else {
            return 0;
        };
        let traded = quantity.min(order.quantity);
        order.quantity -= traded;
        self.levels[order.price] -= traded;
        if order.quantity == 0 {
            self.orders.remove(key);
        }
        traded
    }

    /// Returns the quantity that was left, 0 if the order is gone.
    fn cancel(&mut self, key: O::Key) -> u64 {
        self.orders.remove(key).map_or(0, |order| {
            self.levels[order.price] -= order.quantity;
            order.quantity
        })
    }
}

/// Where a book keeps its orders, so that one book can be timed on two stores. A
/// book of your own has the slab as a field and needs no trait.
trait Orders {
    type Key: Copy + Send;

    fn insert(&mut self, order: Order) -> Self::Key;
    fn get_mut(&mut self, key: Self::Key) -> Option<&mut Order>;
    fn remove(&mut self, key: Self::Key) -> Option<Order>;
}

impl Orders for KeySlab<Order, OrderKey> {
    type Key = OrderKey;

    fn insert(&mut self, order: Order) -> OrderKey {
        self.insert(order)
    }

    fn get_mut(&mut self, key: OrderKey) -> Option<&mut Order> {
        self.get_mut(key)
    }

    fn remove(&mut self, key: OrderKey) -> Option<Order> {
        self.try_remove(key)
    }
}

/// The same with `std` alone: orders under numbers that are never given twice.
#[derive(Default)]
struct Numbered {
    orders: HashMap<u64, Order>,
    next: u64,
}

impl Orders for Numbered {
    type Key = u64;

    fn insert(&mut self, order: Order) -> u64 {
        self.next += 1;
        self.orders.insert(self.next, order);
        self.next
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Order> {
        self.orders.get_mut(&number)
    }

    fn remove(&mut self, number: u64) -> Option<Order> {
        self.orders.remove(&number)
    }
}

/// What became of the quantity that was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    added: u64,
    cancelled: u64,
    traded: u64,
}

/// splitmix64, below `end`.
fn random(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % end
}

/// Fills the book on this thread and runs messages on one of their own. Returns
/// the book, what became of its orders, and the ns of a message.
fn day<O: Orders + Send + 'static>(orders: O) -> (Book<O>, Totals, f64) {
    const MESSAGES: u64 = 20_000;
    let (mut book, mut totals) = (Book::new(orders), Totals::default());
    let mut state = 1;
    let mut add = move |book: &mut Book<O>, totals: &mut Totals| {
        let (price, quantity) = (random(&mut state, PRICES as u64), random(&mut state, 9));
        totals.added += quantity + 1;
        book.add(price as usize, quantity + 1)
    };
    // The keys are what those who placed the orders remember.
    let mut keys: Vec<O::Key> = (0..4_096).map(|_| add(&mut book, &mut totals)).collect();

    let work = move || {
        // `std` cannot pin. With the crate of that name, this stands here, first,
        // so that what the slab grows by is memory of this core's node:
        //     core_affinity::set_for_current(core);
        let start = Instant::now();
        let mut state = 2;
        for _ in 0..MESSAGES {
            let filled = random(&mut state, keys.len() as u64);
            totals.traded += book.fill(keys[filled as usize], 5);
            // Some of these orders are filled already.
            let cancelled = random(&mut state, keys.len() as u64);
            totals.cancelled += book.cancel(keys[cancelled as usize]);
            keys[cancelled as usize] = add(&mut book, &mut totals);
        }
        let ns = start.elapsed().as_nanos() as f64 / (3 * MESSAGES) as f64;
        (book, totals, ns)
    };
    let thread = thread::Builder::new().name("book".into()).spawn(work);
    let done = thread.expect("the system has room for a thread").join();
    done.expect("no message panics")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (mut ns, mut numbered_ns) = (Vec::new(), Vec::new());
    // In turns, so that a busy machine slows both down.
    for round in 0..5 {
        let ours = day(KeySlab::with_key());
        let theirs = day(Numbered::default());
        assert_eq!((ours.1, ours.0.levels), (theirs.1, theirs.0.levels));
        if round == 0 {
            println!("{} orders are left; {:?}", ours.0.orders.len(), ours.1);
        }
        ns.push(ours.2);
        numbered_ns.push(theirs.2);
    }
    let (ns, numbered_ns) = (median(ns), median(numbered_ns));
    println!("a message: {ns:.0} ns; with orders in a HashMap, {numbered_ns:.0} ns");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_that_comes_back_has_what_was_neither_cancelled_nor_traded() {
        let (book, totals, _) = day(KeySlab::<Order, OrderKey>::with_key());
        let mut levels = [0; PRICES];
        for order in book.orders.values() {
            levels[order.price] += order.quantity;
        }
        assert_eq!(levels, book.levels);
        let resting: u64 = levels.iter().sum();
        assert_eq!(resting + totals.cancelled + totals.traded, totals.added);
        assert!(resting > 0 && totals.cancelled > 0 && totals.traded > 0);
    }

    #[test]
    fn a_late_cancellation_spares_the_next_order_in_the_slot() {
        let mut book = Book::new(KeySlab::<Order, OrderKey>::with_key());
        let filled = book.add(10, 5);
        assert_eq!(book.fill(filled, 3) + book.fill(filled, 3), 5);
        let next = book.add(11, 7);
        assert_eq!(filled.index(), next.index());
        assert_eq!((book.cancel(filled), book.levels[11]), (0, 7));
        assert_eq!((book.cancel(next), book.levels[11]), (7, 0));
    }

    #[test]
    fn keys_are_valid_on_the_other_thread() {
        let mut book = Book::new(KeySlab::<Order, OrderKey>::with_key());
        let keys = [1, 2, 3].map(|quantity| book.add(20, quantity));
        let moved = thread::spawn(move || keys.map(|key| book.cancel(key)));
        assert_eq!(moved.join().unwrap(), [1, 2, 3]);
    }
}
