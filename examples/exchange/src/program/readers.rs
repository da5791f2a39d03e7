//! Who reads what the engine says: the journal, the standby, and the writer of market data.

use std::sync::mpsc;
use std::time::Duration;

use engine_trial::stores::Subject;
use order_book::matching::Engine;
use order_flow::digest::Digest;
use order_flow::program::Failure;
use order_flow::traffic::Extent;

use super::parts::{self, Follower, Orders, Subscriber};
use crate::frame::Event;
use crate::outcome::Seen;

/// Writes the journal: here, to where the answers are only summed up.
pub(super) fn write_journal(events: &mut Subscriber) -> Digest {
    let mut answers = Digest::new();
    while let Some(event) = events.pop_wait() {
        answers.add(event.answer);
    }
    answers
}

/// Writes market data out: here, to where it is only summed up. Pauses after each `slow` frames.
pub(crate) fn write_market(events: &mut Follower, slow: Option<u64>) -> Seen {
    let (mut seen, mut sum) = (Seen::default(), 0_u64);
    loop {
        let event = match events.pop_wait() {
            Ok(Some(event)) => event,
            Ok(None) => {
                std::hint::black_box(sum);
                return seen;
            }
            // The next quote says how many were missed.
            Err(_) => continue,
        };
        if let Some(top) = event.quote {
            let symbol = u64::from(event.frame.command.symbol);
            sum = sum.rotate_left(5) ^ symbol ^ top.ask_size ^ top.bid_size;
            seen.missed = event.quotes - seen.frames;
            seen.frames += 1;
            if slow.is_some_and(|slow| seen.frames % slow == 0) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Follows the engine from a snapshot on: the same commands must have the same answers, with the
/// same ids.
///
/// # Errors
///
/// What is wrong with the snapshot, or the first answer that differs.
pub(super) fn follow(
    snapshots: &mpsc::Receiver<(Vec<u8>, Subscriber)>,
    most: usize,
    extent: Extent,
) -> Result<Engine<Orders>, Failure> {
    let (bytes, mut events) = snapshots.recv().map_err(Failure::run)?;
    let mut standby = parts::restored(&bytes, most, extent);
    // Reads on when it has failed, for the engine waits for it.
    while let Some(Event { frame, answer, .. }) = events.pop_wait() {
        let differs = standby
            .as_mut()
            .is_ok_and(|engine| engine.apply(&frame.command).to_word() != answer);
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
    use super::super::parts::Events;
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

    /// Follows a hundred cancels of no order, all said to have another answer, in a ring that has room
    /// for two of them.
    fn follow_wrong(snapshot: Vec<u8>) -> Result<Engine<Orders>, Failure> {
        let mut events = Events::new(2);
        let (snapshots, taken) = mpsc::channel();
        snapshots.send((snapshot, events.join())).unwrap();
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
                events.push(Event {
                    frame,
                    answer: 0,
                    quote: None,
                    quotes: 0,
                });
            }
        });
        let standby = follow(&taken, 10, EXTENT);
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
