//! The exchange in small, and its frames.

use order_book::matching::Engine;
use order_flow::command::{Command, Kind};
use order_flow::message::Side;
use order_flow::top::Top;
use order_flow::traffic::Extent;
use zerocopy::IntoBytes;

use super::parts;
use super::program::readers::write_market;
use super::program::run;
use crate::cli::Load;
use crate::frame::{BadFrame, Event, Frame};

const LOAD: Load = Load {
    symbols: 5,
    commands: 3_000,
    seed: 3,
    slow: None,
};

const COMMAND: Command = Command {
    id: 0x0123_4567_89ab_cdef,
    price: 7,
    quantity: 8,
    session: 9,
    reference: [10, 11],
    symbol: 12,
    kind: Kind::Replace,
    side: Side::Sell,
};

#[test]
fn the_standby_follows_and_bad_frames_are_counted() {
    let outcome = run(&LOAD).unwrap();
    // Calls of the allocator are asked for in the program's tests: here others run beside.
    assert_eq!(outcome.seen.frames + outcome.seen.missed, outcome.published);
    let bad = outcome.bad;
    assert!(bad.iter().all(|&count| count > 0), "{bad:?}");
    assert!(outcome.orders > 1_000);
}

#[test]
fn a_restored_engine_has_room_for_every_price() {
    let extent = Extent {
        symbols: 3,
        sessions: 1,
        pages: 50,
        tick: 1,
    };
    let engine = Engine::new(parts::orders(10).unwrap(), extent);
    let restored = parts::restored(&parts::snapshot(&engine), 10, extent).unwrap();
    assert!(restored.books.room() >= extent.pages);
}

#[test]
fn a_reader_that_comes_late_is_told_what_it_missed() {
    let mut events = parts::Events::new(8);
    let mut market = events.follow();
    for number in 0..20 {
        events.push(Event {
            frame: Frame {
                number,
                command: COMMAND,
            },
            answer: 0,
            quote: Some(Top::default()),
            quotes: number,
        });
    }
    drop(events);
    let seen = write_market(&mut market, None);
    assert!(seen.frames > 0 && seen.missed > 0, "{seen:?}");
    assert_eq!(seen.frames + seen.missed, 20);
}

/// How much that is depends on the threads' pace.
#[test]
fn a_slow_reader_sees_what_it_was_not_told_to_have_missed() {
    let load = Load {
        slow: Some(8),
        commands: 20_000,
        ..LOAD
    };
    let outcome = run(&load).unwrap();
    assert_eq!(outcome.seen.frames + outcome.seen.missed, outcome.published);
}

#[test]
fn a_frame_that_is_no_command_says_why() {
    let number = 13;
    let frame = Frame {
        number,
        command: COMMAND,
    };
    let accept = |bytes: &[u8]| Frame::accept(bytes, 13, 9, 13);
    assert_eq!(accept(frame.as_bytes()), Ok(frame));
    for len in 0..size_of::<Frame>() {
        assert_eq!(accept(&frame.as_bytes()[..len]), Err(BadFrame::Length));
    }
    let long = [frame.as_bytes(), &[0]].concat();
    assert_eq!(accept(&long), Err(BadFrame::Length));

    for at in [8 + 30, 8 + 31] {
        let mut bytes = frame.as_bytes().to_vec();
        bytes[at] = 0xff;
        assert_eq!(accept(&bytes), Err(BadFrame::Kind));
    }
    let with = |change: fn(&mut Frame)| {
        let mut changed = frame;
        change(&mut changed);
        accept(changed.as_bytes())
    };
    assert_eq!(with(|it| it.command.session = 8), Err(BadFrame::Session));
    assert_eq!(with(|it| it.command.symbol = 13), Err(BadFrame::Range));
    assert_eq!(with(|it| it.number = 12), Err(BadFrame::Range));
}
