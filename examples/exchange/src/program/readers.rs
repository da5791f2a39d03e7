//! Who reads what the engine says: the writer of market data, and the standby.

use std::sync::mpsc;
use std::time::Duration;

use engine_trial::stores::Subject;
use order_book::matching::Engine;
use order_flow::program::Failure;
use order_flow::traffic::Extent;
use zerocopy::TryFromBytes;

use super::next;
use super::parts::{self, Consumer, Follower, Orders};
use crate::frame::{Entry, Quote};
use crate::outcome::Seen;

/// Writes market data out: here, to where it is only summed up. Pauses after each `slow` frames.
pub(crate) fn write_market(quotes: &mut Follower, slow: Option<u64>) -> Seen {
    let (mut seen, mut sum) = (Seen::default(), 0_u64);
    loop {
        // Asked first: what was pushed before is found.
        let is_closed = quotes.is_closed();
        while let Some(frame) = quotes.pop() {
            let quote = Quote::try_read_from_bytes(&frame).expect("the engine's own");
            sum = sum.rotate_left(5) ^ quote.symbol ^ quote.top.ask_size ^ quote.top.bid_size;
            // So many were published before.
            seen.missed = frame.sequence - seen.frames;
            seen.frames += 1;
            if slow.is_some_and(|slow| seen.frames % slow == 0) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if is_closed {
            std::hint::black_box(sum);
            return seen;
        }
        // `pop_wait` would sleep, and the engine would have to wake it for each quote.
        std::thread::yield_now();
    }
}

/// Follows the engine from a snapshot on: the same commands must have the same answers, with the
/// same ids.
///
/// # Errors
///
/// What is wrong with the snapshot, or the first answer that differs.
pub(super) fn follow(
    log: &mut Consumer,
    snapshots: &mpsc::Receiver<Vec<u8>>,
    most: usize,
    extent: Extent,
) -> Result<Engine<Orders>, Failure> {
    let bytes = snapshots.recv().map_err(Failure::run)?;
    let mut standby = parts::restored(&bytes, most, extent);
    let decode = |bytes: &[u8]| Entry::try_read_from_bytes(bytes).expect("the engine's own");
    // Reads on when it has failed, for the engine waits for room in the log.
    while let Some(Entry { frame, answer: due }) = next(log, decode) {
        let differs = standby
            .as_mut()
            .is_ok_and(|engine| engine.apply(&frame.command).to_word() != due);
        if differs {
            let number = frame.number;
            standby = Err(Failure::Run(format!(
                "the standby answers command {number} otherwise"
            )));
        }
    }
    standby
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::super::wait_for;
    use super::*;
    use crate::frame::Frame;
    use order_flow::command::{Command, Kind};
    use order_flow::message::Side;

    const EXTENT: Extent = Extent {
        symbols: 1,
        sessions: 1,
        pages: 2,
        tick: 1,
    };

    /// Follows a log of a hundred cancels of no order, all logged with another answer, in a ring that
    /// has room for two of them.
    fn follow_wrong(snapshot: Vec<u8>) -> Result<Engine<Orders>, Failure> {
        let (mut log, mut at_standby) = parts::queue(2, size_of::<Entry>());
        let engine = std::thread::spawn(move || {
            for number in 0..100 {
                let command = Command {
                    id: 1,
                    price: 1,
                    quantity: 1,
                    session: 0,
                    reference: [0; 2],
                    symbol: 0,
                    kind: Kind::Cancel,
                    side: Side::Buy,
                };
                let frame = Frame { number, command };
                let entry = Entry { frame, answer: 0 };
                wait_for(|| log.push(entry.as_bytes()).ok());
            }
        });
        let (snapshots, taken) = mpsc::channel();
        snapshots.send(snapshot).unwrap();
        let standby = follow(&mut at_standby, &taken, 10, EXTENT);
        // It has read all: otherwise the engine would wait for ever.
        engine.join().unwrap();
        standby
    }

    #[test]
    fn the_first_answer_that_differs_is_named_and_all_is_read() {
        let engine = Engine::new(parts::orders(10).unwrap(), EXTENT);
        let Err(Failure::Run(reason)) = follow_wrong(parts::snapshot(&engine)) else {
            panic!("it follows");
        };
        assert_eq!(reason, "the standby answers command 0 otherwise");
    }

    #[test]
    fn a_snapshot_that_is_none_is_an_error_and_all_is_read() {
        // Without snapshots there is nothing to be wrong, but the answers.
        assert!(matches!(follow_wrong(vec![0xff; 3]), Err(Failure::Run(_))));
    }
}
