//! Reports by flatslab's `SpscRing`, several at once.
//!
//! A report is found by the reader with those after it, [`AT_ONCE`] together, or when the engine is
//! flushed: telling the reader of each costs more than the report. And the reader takes none while
//! fewer than [`BEHIND`] are there, so that it does not read, nor prefetch, the line of the cache
//! that the engine writes.
//!
//! # Invariants
//!
//! * R1: the benchmark gives the handle of `create` to the other functions until `destroy`; `push`
//!   and `flush` and the engine are called on one thread, `drain` on one.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use flatslab::sync::{Consumer, Producer, SpscRing};
use order_book::numbers::{Report, Reports};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{Transport, WireReport};

/// Reports that the reader finds together.
const AT_ONCE: u32 = 16;
/// Reports that are there before the reader takes any.
const BEHIND: usize = 4096;

/// A report in the ring.
#[derive(Clone, Copy, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Entry {
    sequence: u64,
    /// Of a trade the taker.
    number: u64,
    price: i64,
    maker: u64,
    quantity: u32,
    kind: u8,
    side: u8,
    unused: [u8; 2],
}

/// With its length it takes a line of the cache.
const MOST_BYTES: usize = 48;
const _: () = assert!(size_of::<Entry>() <= MOST_BYTES);

/// Both ends, each used by a thread of its own.
struct Ends {
    producer: UnsafeCell<Writer>,
    consumer: UnsafeCell<Consumer>,
    /// No report follows that the reader would have to wait for.
    is_flushed: AtomicBool,
}

struct Writer {
    producer: Producer,
    /// Reports that the reader does not find yet.
    deferred: u32,
}

/// The engine's end.
pub(crate) struct Ring {
    ends: *const Ends,
}

impl Ring {
    /// # Safety
    ///
    /// The handle is of a queue of [`TRANSPORT`], and this thread pushes to it alone.
    pub(crate) unsafe fn new(_: &Transport, handle: *mut c_void) -> Self {
        Ring {
            ends: handle.cast_const().cast(),
        }
    }

    #[inline(always)]
    fn writer(&mut self) -> &mut Writer {
        // SAFETY: there until `destroy`, and used by this thread alone (R1).
        unsafe { &mut *(*self.ends).producer.get() }
    }

    /// Lets the reader find all reports, however few.
    pub(crate) fn flush(&mut self) {
        self.writer().producer.flush();
        // SAFETY: there until `destroy` (R1).
        let ends = unsafe { &*self.ends };
        // Release: the thread that reads it finds the reports.
        ends.is_flushed.store(true, Ordering::Release);
    }
}

impl Reports for Ring {
    #[inline(always)]
    fn push(&mut self, report: Report) {
        let report = WireReport::from(report);
        let entry = Entry {
            sequence: report.sequence,
            number: report.number | report.taker,
            price: report.price,
            maker: report.maker,
            quantity: report.quantity,
            kind: report.kind,
            side: report.side,
            unused: [0; 2],
        };
        let writer = self.writer();
        while writer.producer.push_deferred(entry.as_bytes()).is_err() {
            std::hint::spin_loop();
        }
        writer.deferred += 1;
        if writer.deferred == AT_ONCE {
            writer.deferred = 0;
            writer.producer.flush();
        }
    }
}

extern "C" fn create(capacity: u32) -> *mut c_void {
    let (producer, consumer) = SpscRing::with_capacity(capacity as usize, MOST_BYTES).split();
    let ends = Ends {
        producer: UnsafeCell::new(Writer {
            producer,
            deferred: 0,
        }),
        consumer: UnsafeCell::new(consumer),
        is_flushed: AtomicBool::new(false),
    };
    Box::into_raw(Box::new(ends)).cast()
}

/// The engine pushes by itself.
unsafe extern "C" fn push(_: *mut c_void, _: *const WireReport) -> c_int {
    0
}

/// # Safety
///
/// As R1 says, and `out` has room for so many reports.
unsafe extern "C" fn drain(handle: *mut c_void, out: *mut WireReport, most: u32) -> u32 {
    // SAFETY: there until `destroy` (R1).
    let ends = unsafe { &*handle.cast::<Ends>() };
    // SAFETY: used by this thread alone (R1).
    let consumer = unsafe { &mut *ends.consumer.get() };
    // Acquire: what was pushed before the flush is found.
    if consumer.len() < BEHIND && !ends.is_flushed.load(Ordering::Acquire) {
        return 0;
    }
    let mut taken = 0;
    while taken < most {
        let Some(frame) = consumer.pop() else { break };
        let entry = Entry::read_from_bytes(&frame).expect("the engine pushes entries");
        let is_trade = entry.kind == 1;
        let report = WireReport {
            kind: entry.kind,
            side: entry.side,
            sequence: entry.sequence,
            number: if is_trade { 0 } else { entry.number },
            price: entry.price,
            quantity: entry.quantity,
            maker: entry.maker,
            taker: if is_trade { entry.number } else { 0 },
            ..WireReport::default()
        };
        // SAFETY: there is room for `most` (precondition).
        unsafe { out.add(taken as usize).write(report) };
        taken += 1;
    }
    taken
}

/// # Safety
///
/// As R1 says.
unsafe extern "C" fn flush(handle: *mut c_void) {
    let mut ring = Ring {
        ends: handle.cast_const().cast(),
    };
    ring.flush();
}

/// # Safety
///
/// As R1 says; the handle is not used again.
unsafe extern "C" fn destroy(handle: *mut c_void) {
    // SAFETY: of `create`, and not used again (precondition).
    drop(unsafe { Box::from_raw(handle.cast::<Ends>()) });
}

/// The ring, as the benchmark calls it.
pub(crate) static TRANSPORT: Transport = Transport {
    create,
    push,
    drain,
    flush,
    destroy,
};
