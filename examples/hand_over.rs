//! Execution reports that one thread creates and another drops. A matching thread inserts them
//! into a slab of its own and sends them through a bounded channel. A logging thread formats and
//! drops them, and their slots return to the slab. The program counts the matching thread's calls
//! of the allocator: after its start it makes none.
//!
//! ```text
//! cargo run --release --example hand_over
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;

use flatslab::BoundedSlab;
use flatslab::sync::SendSlot;

/// Counts the calls of each thread, those that give memory back too.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: the system's allocator, and a count that takes no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: says the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: says the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: says the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ORDERS: u64 = 50_000;
/// Reports that may wait for the logger.
const WAITING: usize = 256;
const PRICES: usize = 32;

/// That an order was filled, wholly or in part, by one that rested at this price.
struct Report {
    number: u64,
    order: u64,
    price: u32,
    quantity: u32,
    left: u32,
}

type Sent = SendSlot<Report>;

/// What rests at each price. Buyers take what sellers have left there.
struct Book {
    random: u64,
    resting: [u32; PRICES],
}

impl Book {
    /// A random number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    /// The next order, and a report for each price at which it is filled.
    fn take_order(&mut self, order: u64, mut report: impl FnMut(Report)) {
        let limit = self.below(PRICES as u64) as usize;
        let mut left = 1 + self.below(100) as u32;
        if order % 2 == 0 {
            self.resting[limit] += left;
            return;
        }
        for (price, resting) in self.resting.iter_mut().enumerate().take(limit + 1) {
            let quantity = left.min(*resting);
            if quantity > 0 {
                *resting -= quantity;
                left -= quantity;
                report(Report {
                    number: 0,
                    order,
                    price: price as u32,
                    quantity,
                    left,
                });
            }
        }
    }
}

/// What a thread counted.
#[derive(Debug, PartialEq)]
struct Totals {
    reports: u64,
    quantity: u64,
}

/// Keeps this thread on a core, if the system has enough of them and allows it.
fn pin(name: &str, at: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    match cores.get(at) {
        Some(core) if core_affinity::set_for_current(*core) => {
            println!("the {name} thread is pinned to core {}", core.id);
        }
        _ => println!("the {name} thread is not pinned: the system refuses it"),
    }
}

/// Matches all orders; returns how often it called the allocator, and what it sent.
fn run_matching(sender: &SyncSender<Sent>) -> (u64, Totals) {
    pin("matching", 1);
    // Those that wait, one that is being formatted, and one that is being made.
    let slab = BoundedSlab::with_capacity(WAITING + 2);
    let mut book = Book {
        random: 0x2545_F491_4F6C_DD1D,
        resting: [0; PRICES],
    };
    let mut totals = Totals {
        reports: 0,
        quantity: 0,
    };
    let calls = CALLS.get();

    for order in 0..ORDERS {
        book.take_order(order, |mut report| {
            report.number = totals.reports;
            totals.reports += 1;
            totals.quantity += u64::from(report.quantity);
            let slot = slab.insert(report);
            // What the logger has dropped is found here.
            let slot = slot.expect("the slab has room for all that may wait");
            let mut sent = slot.into_send();
            // `send` would wait for a channel that is full, and allocate for that.
            while let Err(refused) = sender.try_send(sent) {
                match refused {
                    TrySendError::Full(back) => sent = back,
                    TrySendError::Disconnected(_) => panic!("the logger has stopped"),
                }
                thread::yield_now();
            }
        });
    }

    (CALLS.get() - calls, totals)
}

/// Formats each report and drops it; returns how often it called the allocator, and what came.
fn run_logging(receiver: &Receiver<Sent>) -> (u64, Totals) {
    pin("logging", 0);
    let mut totals = Totals {
        reports: 0,
        quantity: 0,
    };
    let mut log = Vec::new();
    let calls = CALLS.get();
    loop {
        // It looks again and again: to wake it would cost the matching thread a system call.
        let report = match receiver.try_recv() {
            Ok(report) => report,
            Err(TryRecvError::Empty) => {
                thread::yield_now();
                continue;
            }
            Err(TryRecvError::Disconnected) => break,
        };
        assert_eq!(report.number, totals.reports);
        totals.reports += 1;
        totals.quantity += u64::from(report.quantity);
        let mut line = String::new();
        let Report {
            order,
            price,
            quantity,
            left,
            ..
        } = &*report;
        write!(line, "order {order}: {quantity} at {price}, {left} left").expect("it is a string");
        log.push(line);
    }
    println!("the last of the log: {}", log.last().expect("some matched"));
    (CALLS.get() - calls, totals)
}

fn main() -> ExitCode {
    let (sender, receiver) = sync_channel(WAITING);
    let logging = thread::spawn(move || run_logging(&receiver));
    // The sender goes with its thread, and the logger stops.
    let matching = thread::spawn(move || run_matching(&sender));
    let (calls, sent) = matching.join().expect("it matches all orders");
    let (logger_calls, logged) = logging.join().expect("it logs all reports");

    assert_eq!(sent, logged);
    println!(
        "{} reports of a quantity of {} in all",
        sent.reports, sent.quantity
    );
    println!("calls of the allocator: {calls} by the matching thread, {logger_calls} by the other");
    match calls {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
