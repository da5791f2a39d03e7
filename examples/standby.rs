//! A table of orders, and a standby that follows it by differences.
//!
//! The leader carries commands out, and after each batch sends what changed in its orders, as bytes in
//! a ring. The standby applies each difference. Then the leader goes, in the middle of a batch: the
//! standby takes over from the last difference, repeats the commands since, and returns the same keys
//! as the leader did.
//!
//! A snapshot of all orders takes as long as there are orders, and the leader waits for it. A
//! difference takes as long as there are changes.
//!
//! ```text
//! cargo run --release --features serde --example standby
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::thread;

use flatslab::key_slab::{CheckpointSlab, Patch};
use flatslab::sync::{Consumer, Producer, SpscRing};
use flatslab::{GenKey, KeySlab};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    client: u32,
    price: u32,
    left: u32,
}

/// A command, by the number that it has in the journal.
fn command(number: u64) -> Command {
    let random = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let random = random ^ random >> 29;
    match random % 8 {
        0..=3 => Command::Place(Order {
            client: random as u32 >> 24,
            price: 1_000 + (random >> 40) as u32 % 100,
            left: 1 + (random >> 32) as u32 % 50,
        }),
        4..=6 => Command::Fill((random >> 8) as usize),
        _ => Command::Cancel((random >> 8) as usize),
    }
}

enum Command {
    Place(Order),
    /// One of the order in a slot, if there is one.
    Fill(usize),
    Cancel(usize),
}

/// The orders as a leader has them, and as a standby has them that has taken over.
trait Orders {
    fn place(&mut self, order: Order) -> GenKey;
    fn in_slot(&mut self, slot: usize) -> Option<(GenKey, u32)>;
    fn fill(&mut self, key: GenKey);
    fn cancel(&mut self, key: GenKey);
}

macro_rules! orders {
    ($slab:ty) => {
        impl Orders for $slab {
            fn place(&mut self, order: Order) -> GenKey {
                self.insert(order)
            }

            fn in_slot(&mut self, slot: usize) -> Option<(GenKey, u32)> {
                let slot = slot % self.used_slots().max(1);
                self.get_at(slot).map(|(key, order)| (key, order.left))
            }

            fn fill(&mut self, key: GenKey) {
                self[key].left -= 1;
            }

            fn cancel(&mut self, key: GenKey) {
                self.remove(key);
            }
        }
    };
}

orders!(CheckpointSlab<Order, GenKey>);
orders!(KeySlab<Order, GenKey>);

/// Carries a command out; returns the key of the order.
fn carry_out(orders: &mut impl Orders, command: Command) -> Option<GenKey> {
    match command {
        Command::Place(order) => Some(orders.place(order)),
        Command::Fill(slot) => orders.in_slot(slot).map(|(key, left)| {
            match left {
                1 => orders.cancel(key),
                _ => orders.fill(key),
            }
            key
        }),
        Command::Cancel(slot) => orders.in_slot(slot).map(|(key, _)| {
            orders.cancel(key);
            key
        }),
    }
}

const BATCH: u64 = 100;
/// The leader goes in the middle of a batch.
const COMMANDS: u64 = 100_050;

/// Returns its orders, the answer to each command, and the bytes that it sent.
fn lead(differences: &mut Producer) -> (KeySlab<Order, GenKey>, Vec<Option<GenKey>>, usize) {
    let mut orders = CheckpointSlab::<Order, GenKey>::with_key();
    let mut sent = orders.checkpoint();
    let (mut answers, mut bytes, mut all) = (Vec::new(), Vec::new(), 0);
    for number in 0..COMMANDS {
        answers.push(carry_out(&mut orders, command(number)));
        if (number + 1) % BATCH == 0 {
            let changes = orders.changes_since(sent).expect("it is kept");
            bytes.clear();
            bytes = postcard::to_extend(&changes, bytes).expect("a vector has room");
            while differences.push(&bytes).is_err() {
                thread::yield_now();
            }
            all += bytes.len();
            sent = orders.checkpoint();
            orders.keep_last(1);
        }
    }
    (orders.into_inner(), answers, all)
}

/// Returns the orders after all differences that came.
fn follow(
    differences: &mut Consumer,
) -> Result<KeySlab<Order, GenKey>, Box<dyn Error + Send + Sync>> {
    let mut orders = KeySlab::with_key();
    loop {
        let is_last = differences.is_closed();
        while let Some(difference) = differences.pop() {
            let patch: Patch<Order> = postcard::from_bytes(&difference)?;
            orders.apply(patch)?;
        }
        if is_last {
            return Ok(orders);
        }
        thread::yield_now();
    }
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut producer, mut consumer) = SpscRing::with_capacity(64, 16 * 1024).split();
    let (led, followed) = thread::scope(|scope| {
        let standby = scope.spawn(move || follow(&mut consumer));
        let leader = scope.spawn(move || lead(&mut producer));
        (leader.join().unwrap(), standby.join().unwrap())
    });
    let ((orders, answers, bytes), mut standby) = (led, followed?);

    // The standby takes over.
    for number in COMMANDS - COMMANDS % BATCH..COMMANDS {
        let answer = carry_out(&mut standby, command(number));
        assert_eq!(answer, answers[number as usize], "command {number}");
    }
    assert_eq!(standby, orders);
    let snapshot = postcard::to_allocvec(&orders)?.len();
    println!("orders                       {:>10}", orders.len());
    println!("bytes of a snapshot          {snapshot:>10}");
    println!(
        "bytes of a difference        {:>10}",
        bytes as u64 / (COMMANDS / BATCH)
    );
    println!("The standby took over, and answers as the leader did.");
    Ok(())
}
