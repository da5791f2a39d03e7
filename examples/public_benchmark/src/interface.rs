//! The functions that the benchmark calls, and its structures, as its header describes them.
//!
//! # Invariants
//!
//! * C1: the benchmark calls [`engine_init`] once before the others, and [`engine_shutdown`] after
//!   them; all of these on one thread at a time. The pointers that it passes to a function are
//!   valid during the call; transport and queue until the shutdown.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use order_book::book::LevelId;
use order_book::matching::Engine;
#[cfg(not(feature = "ring"))]
use order_book::numbers::Reports;
use order_book::numbers::{Event, Numbers, Report, Terms};
use order_book::store::{Room, Store};
use order_flow::message::Side;

/// Orders that can rest at once, and numbers that they can have: the benchmark uses a million.
const ORDERS: usize = 1 << 20;
const NUMBERS: usize = 1 << 22;
/// Pages of prices.
const PAGES: usize = 1 << 12;

#[cfg(feature = "by-hand")]
type Orders = order_book::store::ByHandStore<u32>;
#[cfg(feature = "boxes")]
type Orders = order_book::store::BoxMapStore<u32>;
#[cfg(feature = "slab")]
type Orders = order_book::store::SlabNumberStore<u32>;
#[cfg(feature = "slotmap")]
type Orders = order_book::store::SlotMapStore<u32>;
#[cfg(not(any(
    feature = "by-hand",
    feature = "boxes",
    feature = "slab",
    feature = "slotmap"
)))]
type Orders = order_book::store::BoundedKeyStore<u32>;

/// A new order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NewOrder {
    /// The client's number.
    pub number: u64,
    /// Of the message.
    pub sequence: u64,
    /// In ticks.
    pub price: i64,
    /// Shares.
    pub quantity: u32,
    /// 0 buys, 1 sells.
    pub side: u8,
    /// 1 if what does not trade at once is cancelled.
    pub immediate_or_cancel: u8,
    /// Nothing.
    pub reserved: [u8; 2],
}

/// A cancel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Cancel {
    /// The order.
    pub number: u64,
    /// Of the message.
    pub sequence: u64,
}

/// Another price and quantity for an order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Modify {
    /// The order.
    pub number: u64,
    /// Of the message.
    pub sequence: u64,
    /// In ticks.
    pub price: i64,
    /// Shares.
    pub quantity: u32,
    /// The order's.
    pub side: u8,
    /// Nothing.
    pub reserved: [u8; 3],
}

/// What the benchmark is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WireReport {
    /// 0 accepted, 1 traded, 2 cancelled, 3 modified, 4 and 5 not cancelled and not modified.
    pub kind: u8,
    /// 0 buys, 1 sells.
    pub side: u8,
    /// Nothing.
    pub reserved: [u8; 6],
    /// Of the message.
    pub sequence: u64,
    /// The order; of a trade none.
    pub number: u64,
    /// In ticks.
    pub price: i64,
    /// Shares.
    pub quantity: u32,
    /// Nothing.
    pub reserved2: u32,
    /// Of a trade: the order that rested.
    pub maker: u64,
    /// Of a trade: the order that came in.
    pub taker: u64,
    /// Nothing.
    pub reserved3: u64,
}

const _: () = assert!(size_of::<NewOrder>() == 32 && size_of::<Cancel>() == 16);
const _: () = assert!(size_of::<Modify>() == 32 && size_of::<WireReport>() == 64);

/// A queue for reports.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Transport {
    /// Makes a queue with room for so many.
    pub create: extern "C" fn(u32) -> *mut c_void,
    /// Pushes a report; returns 0 if the queue is full.
    pub push: unsafe extern "C" fn(*mut c_void, *const WireReport) -> c_int,
    /// Takes at most so many reports, on another thread; returns how many.
    pub drain: unsafe extern "C" fn(*mut c_void, *mut WireReport, u32) -> u32,
    /// Lets the other thread see what it does not see yet.
    pub flush: unsafe extern "C" fn(*mut c_void),
    /// Frees the queue.
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

impl From<Report> for WireReport {
    #[inline(always)]
    fn from(report: Report) -> Self {
        let wire = WireReport {
            side: report.side as u8,
            sequence: report.sequence,
            number: report.number,
            price: report.price,
            quantity: report.quantity,
            ..WireReport::default()
        };
        match report.event {
            Event::Accepted => wire,
            Event::Traded { maker } => WireReport {
                kind: 1,
                number: 0,
                maker,
                taker: report.number,
                ..wire
            },
            Event::Cancelled => WireReport { kind: 2, ..wire },
            Event::Modified => WireReport { kind: 3, ..wire },
            Event::CancelRejected => WireReport { kind: 4, ..wire },
            Event::ModifyRejected => WireReport { kind: 5, ..wire },
        }
    }
}

/// The queue of the benchmark.
///
/// Reports are pushed several at once. The queue's two ends look at each other with every push and
/// every pop; while a message is carried out the reader catches up, and each push would find it
/// waiting.
#[cfg(not(feature = "ring"))]
struct Queue {
    push: unsafe extern "C" fn(*mut c_void, *const WireReport) -> c_int,
    handle: *mut c_void,
    held: [WireReport; AT_ONCE],
    count: usize,
}

/// Reports that are pushed at once.
#[cfg(not(feature = "ring"))]
const AT_ONCE: usize = 16;

#[cfg(not(feature = "ring"))]
impl Queue {
    /// # Safety
    ///
    /// The handle is of a queue of this transport, and this thread pushes to it alone.
    unsafe fn new(transport: &Transport, handle: *mut c_void) -> Self {
        Queue {
            push: transport.push,
            handle,
            held: [WireReport::default(); AT_ONCE],
            count: 0,
        }
    }

    /// Pushes the reports that are held back.
    #[inline(never)]
    fn flush(&mut self) {
        for report in &self.held[..self.count] {
            // SAFETY: the caller of `new` promises it; the report is valid.
            while unsafe { (self.push)(self.handle, report) } == 0 {
                std::hint::spin_loop();
            }
        }
        self.count = 0;
    }
}

#[cfg(not(feature = "ring"))]
impl Reports for Queue {
    #[inline(always)]
    fn push(&mut self, report: Report) {
        self.held[self.count] = WireReport::from(report);
        self.count += 1;
        if self.count == AT_ONCE {
            self.flush();
        }
    }
}

#[cfg(feature = "ring")]
use crate::ring::Ring as Queue;

/// The engine, which the interface has no handle for.
struct Global(UnsafeCell<Option<Engine<Orders, Numbers<Queue>>>>);

// SAFETY: the functions that use it are called by one thread at a time (C1).
unsafe impl Sync for Global {}

static ENGINE: Global = Global(UnsafeCell::new(None));

/// # Safety
///
/// As C1 says, and what was returned before is used no more.
#[inline(always)]
unsafe fn engine() -> &'static mut Engine<Orders, Numbers<Queue>> {
    // SAFETY: one thread at a time (C1), and one borrow at a time (precondition).
    let engine = unsafe { &mut *ENGINE.0.get() };
    engine.as_mut().expect("engine_init is called first")
}

#[inline(always)]
fn side(side: u8) -> Side {
    match side {
        0 => Side::Buy,
        _ => Side::Sell,
    }
}

/// Makes the engine.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_init(_seed: u64, transport: *const Transport, queue: *mut c_void) {
    let room = Room {
        orders: ORDERS,
        reserved: true,
    };
    // SAFETY: the engine gives the store its own links alone, by E1 of its module, and asks it
    // for ids of orders that rest, by N1.
    let orders = unsafe { Orders::open(room) }.expect("there is memory for the orders");
    // SAFETY: transport and queue are valid and belong together (C1).
    let queue = unsafe { Queue::new(&*transport, queue) };
    let engine = Engine::numbered(orders, PAGES, NUMBERS, queue);
    // SAFETY: no other thread uses it (C1).
    unsafe { *ENGINE.0.get() = Some(engine) };
}

/// Frees the engine.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_shutdown() {
    // SAFETY: no other thread uses it (C1).
    unsafe { *ENGINE.0.get() = None };
}

/// Carries out a new order. One that the engine refuses has no report: the benchmark has no kind
/// for it.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_on_new_order(order: *const NewOrder) {
    // SAFETY: valid (C1).
    let order = unsafe { &*order };
    let terms = Terms {
        number: order.number,
        sequence: order.sequence,
        price: order.price,
        quantity: order.quantity,
        side: side(order.side),
        rests: order.immediate_or_cancel == 0,
    };
    // SAFETY: as C1 says; used here alone.
    let _ = unsafe { engine() }.new_order(&terms);
}

/// Carries out a cancel.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_on_cancel(cancel: *const Cancel) {
    // SAFETY: valid (C1).
    let cancel = unsafe { &*cancel };
    // SAFETY: as C1 says; used here alone.
    unsafe { engine() }.cancel_order(cancel.number, cancel.sequence);
}

/// Carries out a modify.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_on_modify(modify: *const Modify) {
    // SAFETY: valid (C1).
    let modify = unsafe { &*modify };
    let terms = Terms {
        number: modify.number,
        sequence: modify.sequence,
        price: modify.price,
        quantity: modify.quantity,
        side: side(modify.side),
        rests: true,
    };
    // SAFETY: as C1 says; used here alone.
    unsafe { engine() }.modify_order(&terms);
}

/// Waits until all messages are carried out: they are when a call returns. Reports that are held
/// back are pushed now.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_flush() {
    // SAFETY: as C1 says; used here alone.
    unsafe { engine() }.clients.reports.flush();
}

/// Returns the best bid, or the lowest number there is.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_query_best_bid() -> i64 {
    // SAFETY: as C1 says; used here alone.
    best(unsafe { engine() }, Side::Buy).unwrap_or(i64::MIN)
}

/// Returns the best ask, or the highest number there is.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_query_best_ask() -> i64 {
    // SAFETY: as C1 says; used here alone.
    best(unsafe { engine() }, Side::Sell).unwrap_or(i64::MAX)
}

fn best(engine: &Engine<Orders, Numbers<Queue>>, side: Side) -> Option<i64> {
    match engine.books.best(0, side).1 {
        LevelId::NONE => None,
        level => Some(engine.books.place(level).2),
    }
}

/// Returns the shares that rest at a price.
///
/// # Safety
///
/// As C1 says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn engine_query_depth_at(price: i64, buys_or_sells: u8) -> u64 {
    // SAFETY: as C1 says; used here alone.
    let engine = unsafe { engine() };
    let level = engine.books.find(0, side(buys_or_sells), price);
    level.map_or(0, |level| engine.books.level(level).open)
}

/// Returns the engine's own queue.
#[cfg(feature = "ring")]
#[unsafe(no_mangle)]
pub extern "C" fn engine_get_transport() -> *const Transport {
    &raw const crate::ring::TRANSPORT
}
