//! Orders to and fro between two threads, through two queues of `rtrb`.
//!
//! The gateway has a slab and an arena. It makes an order of each line that comes in, and sends it
//! with the line's bytes to the engine, which fills the order in and sends it back, and keeps the
//! line for its log. Orders are used by one thread at a time, so they are `SendSlot`s: two words in
//! a queue, whatever the size of an order. Lines are shared, so they are `Buf`s with atomic counts.
//!
//! A full queue returns the value that could not be pushed, so nothing is lost and nothing is copied;
//! the gateway takes answers until there is room. The memory of values that the engine drops returns
//! to the gateway. Both threads poll; `sleeping` shows a thread that sleeps.
//!
//! ```text
//! cargo run --release -p threads --bin two_threads
//! ```
#![forbid(unsafe_code)]

use std::thread;

use flatslab::BoundedSlab;
use flatslab::bytes::{Atomic, Buf, ByteArena};
use flatslab::sync::SendSlot;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

/// Orders that may wait in one of the queues.
const WAITING: usize = 64;
/// Lines that the engine keeps.
const LOGGED: usize = 8;

#[derive(Debug)]
struct Order {
    number: u64,
    quantity: u64,
    filled: u64,
}

/// What goes to the engine; the order alone comes back.
struct Request {
    order: SendSlot<Order>,
    line: Buf<Atomic>,
}

/// Fills each order; returns what it has filled, and the last lines.
fn engine(
    mut requests: Consumer<Request>,
    mut answers: Producer<SendSlot<Order>>,
) -> (u64, Vec<Buf<Atomic>>) {
    let (mut sum, mut log) = (0, Vec::new());
    loop {
        // Asked first: what was pushed before the gateway ended is found.
        let ends = requests.is_abandoned();
        while let Ok(Request { mut order, line }) = requests.pop() {
            order.filled = order.quantity.min(line.len() as u64);
            sum += order.filled;
            log.push(line);
            if log.len() > LOGGED {
                // The last reference: the buffer goes back to its arena.
                log.remove(0);
            }
            // No more orders are on their way than this queue has room for.
            answers.push(order).expect("there is room for the answer");
        }
        if ends {
            return (sum, log);
        }
        thread::yield_now();
    }
}

/// Takes the orders that are back; returns how many, and what was filled of them.
fn take_back(slab: &BoundedSlab<Order>, answers: &mut Consumer<SendSlot<Order>>) -> (u64, u64) {
    let (mut count, mut filled) = (0, 0);
    while let Ok(order) = answers.pop() {
        // A slot of this slab again, not a copy; dropped here, it is free at once.
        let order = slab.receive(order).expect("it is of this slab");
        assert!(order.get().filled <= order.get().quantity);
        filled += order.get().filled;
        count += 1;
    }
    (count, filled)
}

/// Sends that many lines through the engine; returns what was filled, as each of the two says.
fn run(lines: u64) -> (u64, u64) {
    let slab = BoundedSlab::with_capacity(WAITING);
    let arena = ByteArena::atomic();
    let (mut requests, receiver) = RingBuffer::new(WAITING);
    let (sender, mut answers) = RingBuffer::new(WAITING);
    let engine = thread::spawn(move || engine(receiver, sender));

    let (mut sum, mut number, mut back) = (0, 0, 0);
    let mut refused = None;
    while back < lines {
        if refused.is_none() && number < lines {
            let line = arena.copy(format!("buy {number}").as_bytes());
            let order = Order {
                number,
                quantity: 1 + number % 9,
                filled: 0,
            };
            // A full slab is the limit on what is on its way.
            if let Ok(slot) = slab.insert(order) {
                assert_eq!(slot.get().number, number);
                let order = slot.into_send();
                number += 1;
                refused = Some(Request { order, line });
            }
        }
        if let Some(request) = refused.take() {
            if let Err(PushError::Full(request)) = requests.push(request) {
                refused = Some(request);
            }
        }
        let (count, filled) = take_back(&slab, &mut answers);
        back += count;
        sum += filled;
        if count == 0 && number == lines {
            thread::yield_now();
        }
    }
    drop(requests);
    let (filled, log) = engine.join().expect("the engine ends");

    assert!(slab.is_empty());
    // The arena may end before its buffers.
    drop(arena);
    let last = format!("buy {}", lines - 1);
    assert_eq!(*log[log.len() - 1], *last.as_bytes());
    (sum, filled)
}

fn main() {
    let (back, filled) = run(100_000);
    println!("{filled} filled by the engine, {back} came back");
    assert_eq!(back, filled);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_fills_comes_back() {
        for lines in [1, 3, 1000] {
            let (back, filled) = run(lines);
            assert!(back == filled && back >= lines);
        }
    }

    #[test]
    fn a_full_queue_gives_the_order_back() {
        let slab = BoundedSlab::with_capacity(2);
        let (mut sender, receiver) = RingBuffer::new(1);
        let sent = [1, 2].map(|value| slab.insert(value).unwrap().into_send());
        let [first, second] = sent;
        sender.push(first).unwrap();
        let Err(PushError::Full(second)) = sender.push(second) else {
            panic!("it is full");
        };
        assert_eq!(*slab.receive(second).unwrap().get(), 2);
        // A queue that is dropped drops what is in it: on the slab's thread the slot is free at once.
        drop((sender, receiver));
        assert_eq!(slab.free_slots(), 2);
    }
}
