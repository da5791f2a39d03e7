//! The exchange in small, and its frames.

use super::frame::{BadFrame, Limits, accept, decode, encode};
use super::*;
use crate::engine::command::{Command, Kind};
use crate::feed::message::Side;

fn arguments() -> Arguments {
    Arguments {
        symbols: 5,
        commands: 3_000,
        seed: 3,
        slow: None,
        strict: false,
        beside: None,
        child: None,
    }
}

#[test]
fn an_exchange_calls_no_allocator_and_its_standby_follows() {
    let outcome = exchange::<Flat>(&arguments()).unwrap();
    // Other tests allocate at the same time, so the calls are not asked for here but in the program's.
    assert_eq!(outcome.seen.frames + outcome.seen.missed, outcome.published);
    assert!(
        outcome.bad.iter().all(|&count| count > 0),
        "{:?}",
        outcome.bad
    );
    assert!(outcome.orders > 1_000);
}

#[test]
fn a_slow_reader_is_told_what_it_missed() {
    let slow = Arguments {
        slow: Some(8),
        commands: 20_000,
        ..arguments()
    };
    let Outcome {
        seen, published, ..
    } = exchange::<Flat>(&slow).unwrap();
    assert!(seen.missed > 0);
    assert_eq!(seen.frames + seen.missed, published);
}

fn command() -> Command {
    Command {
        id: 0x0123_4567_89ab_cdef,
        price: 7,
        quantity: 8,
        session: 9,
        reference: [10, 11],
        symbol: 12,
        kind: Kind::Replace,
        side: Side::Sell,
    }
}

#[test]
fn a_command_comes_back_from_its_frame() {
    assert_eq!(decode(&encode(&(13, command()))), Ok((13, command())));
}

#[test]
fn a_frame_that_is_no_command_says_why() {
    let good = encode(&(13, command()));
    let limits = Limits {
        session: 9,
        symbols: 13,
    };
    assert!(accept(&good, 13, limits).is_ok());
    for len in 0..good.len() {
        assert_eq!(accept(&good[..len], 13, limits), Err(BadFrame::Length));
    }
    let changed = |at: usize| {
        let mut bytes = good;
        bytes[at] = 0xff;
        accept(&bytes, 13, limits).err()
    };
    assert_eq!(changed(0), Some(BadFrame::Kind));
    assert_eq!(changed(1), Some(BadFrame::Kind));
    assert_eq!(changed(2), Some(BadFrame::Range));
    assert_eq!(changed(4), Some(BadFrame::Session));
    assert_eq!(changed(32), Some(BadFrame::Range));
    let other = Limits {
        session: 8,
        ..limits
    };
    assert_eq!(accept(&good, 13, other), Err(BadFrame::Session));
}
