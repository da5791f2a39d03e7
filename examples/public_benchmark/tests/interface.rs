//! The functions that the benchmark calls, called as it does. One test: there is one engine.

mod common;

use common::{Message, Naive, Plays, message};
use flatslab_engine::*;
use order_flow::message::Side::{Buy, Sell};

/// A queue of its own, where the engine has none.
#[cfg(not(feature = "ring"))]
mod queue {
    use std::ffi::{c_int, c_void};

    use super::*;

    pub(super) extern "C" fn create(_: u32) -> *mut c_void {
        Box::into_raw(Box::<Vec<WireReport>>::default()).cast()
    }
    pub(super) unsafe extern "C" fn push(queue: *mut c_void, report: *const WireReport) -> c_int {
        // SAFETY: of `create`, and one thread.
        unsafe { (*queue.cast::<Vec<WireReport>>()).push(*report) };
        1
    }
    pub(super) unsafe extern "C" fn drain(
        queue: *mut c_void,
        out: *mut WireReport,
        most: u32,
    ) -> u32 {
        // SAFETY: of `create`, and one thread.
        let queue = unsafe { &mut *queue.cast::<Vec<WireReport>>() };
        let count = queue.len().min(most as usize);
        for (at, report) in queue.drain(..count).enumerate() {
            // SAFETY: there is room for `most`.
            unsafe { out.add(at).write(report) };
        }
        count as u32
    }
    pub(super) unsafe extern "C" fn flush(_: *mut c_void) {}
    pub(super) unsafe extern "C" fn destroy(queue: *mut c_void) {
        // SAFETY: of `create`, and not used again.
        drop(unsafe { Box::from_raw(queue.cast::<Vec<WireReport>>()) });
    }
}

fn transport() -> Transport {
    #[cfg(not(feature = "ring"))]
    return Transport {
        create: queue::create,
        push: queue::push,
        drain: queue::drain,
        flush: queue::flush,
        destroy: queue::destroy,
    };
    #[cfg(feature = "ring")]
    // SAFETY: a static.
    return unsafe { *engine_get_transport() };
}

fn send(sequence: u64, message: &Message) {
    // SAFETY: called by this thread alone, after `engine_init`, with valid pointers.
    unsafe {
        match *message {
            Message::New(terms) => engine_on_new_order(&NewOrder {
                number: terms.number,
                sequence,
                price: terms.price,
                quantity: terms.quantity,
                side: terms.side as u8,
                immediate_or_cancel: u8::from(!terms.rests),
                reserved: [0; 2],
            }),
            Message::Cancel(number) => engine_on_cancel(&Cancel { number, sequence }),
            Message::Modify(terms) => engine_on_modify(&Modify {
                number: terms.number,
                sequence,
                price: terms.price,
                quantity: terms.quantity,
                side: 0,
                reserved: [0; 3],
            }),
        }
    }
}

#[test]
fn reports_and_queries_are_those_of_the_naive_engine() {
    let transport = transport();
    let handle = (transport.create)(1 << 10);
    let mut naive = Naive::default();
    let script = "buy 1 10@100, buy 2 5@101, sell 3 4@103, hit 4 12@100, cancel 2, modify 1 7@103, \
                  modify 1 7@99, lift 5 9@9223372036854775806, sell 6 1@-5, cancel 77";
    let script: Vec<Message> = script.split(',').map(message).collect();
    // SAFETY: as the benchmark does: one thread, valid pointers, the queue lives as long as the
    // engine.
    let reports = unsafe {
        engine_init(0, &transport, handle);
        assert_eq!(
            (engine_query_best_bid(), engine_query_best_ask()),
            (i64::MIN, i64::MAX)
        );
        for (sequence, message) in (1..).zip(&script) {
            send(sequence, message);
            naive.play(sequence, message);
            let best = (naive.best(Buy), naive.best(Sell));
            assert_eq!(engine_query_best_bid(), best.0.unwrap_or(i64::MIN));
            assert_eq!(engine_query_best_ask(), best.1.unwrap_or(i64::MAX));
            for price in 98..105 {
                assert_eq!(engine_query_depth_at(price, 0), naive.depth(Buy, price));
                assert_eq!(engine_query_depth_at(price, 1), naive.depth(Sell, price));
            }
        }
        engine_flush();
        (transport.flush)(handle);
        let mut out = vec![WireReport::default(); 100];
        let count = (transport.drain)(handle, out.as_mut_ptr(), 100);
        out.truncate(count as usize);
        engine_shutdown();
        (transport.destroy)(handle);
        out
    };
    let expected: Vec<WireReport> = naive.reports().into_iter().map(WireReport::from).collect();
    // A cancel and a modify have no quantity of their own to report.
    let relevant = |reports: Vec<WireReport>| -> Vec<WireReport> {
        let relevant = reports.into_iter().map(|report| WireReport {
            quantity: if report.kind == 2 { 0 } else { report.quantity },
            ..report
        });
        relevant.collect()
    };
    let (mut reports, mut expected) = (relevant(reports), relevant(expected));
    reports.sort_by_key(|report| (report.sequence, report.kind));
    expected.sort_by_key(|report| (report.sequence, report.kind));
    assert_eq!(reports, expected);
    assert!(reports.len() > script.len());
}
