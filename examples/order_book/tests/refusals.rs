//! What is refused has a reason, and changes nothing.

use clap::ValueEnum;
use order_book::trial::OrderStores;
use order_flow::command::{Command, Kind, NO_ID, Refusal, Response};
use order_flow::message::Side;
use order_flow::traffic::Extent;

use engine_trial::stores::{Engines, Job, StoreKind, Subject};

/// Two sessions with an order each at two prices of one symbol.
struct Refusals;

const EXTENT: Extent = Extent {
    symbols: 1,
    sessions: 2,
    pages: 3,
    tick: 1,
};

fn new(session: u32, side: Side, price: u32, quantity: u32) -> Command {
    Command {
        id: 0,
        price,
        quantity,
        session,
        reference: [0; 2],
        symbol: 0,
        kind: Kind::New,
        side,
    }
}

fn about(id: u64, session: u32, kind: Kind) -> Command {
    Command {
        id,
        kind,
        ..new(session, Side::Buy, 100, 1)
    }
}

fn id(response: Response) -> u64 {
    match response {
        Response::Entered { id: Some(id), .. } => id,
        other => panic!("{other:?} has no id"),
    }
}

impl Job for Refusals {
    type Result = ();

    fn run<E: Subject>(self) {
        let mut engine = E::open(EXTENT, 4, false).unwrap();
        let first = id(engine.apply(&new(0, Side::Buy, 100, 10)));
        let other = id(engine.apply(&new(1, Side::Buy, 99, 10)));
        // The first one is filled, and its slot has another order.
        let sold = engine.apply(&new(1, Side::Sell, 100, 10));
        let filled = Response::Entered {
            traded: 10,
            id: None,
        };
        assert_eq!(sold, filled);
        let next = id(engine.apply(&new(0, Side::Buy, 98, 5)));
        assert_ne!(E::TRUSTS_IDS, first != next, "the id is used again");

        let late = if E::TRUSTS_IDS { NO_ID } else { first };
        let [missing, foreign, nothing, unknown] = [
            Refusal::NoSuchOrder,
            Refusal::NotYours,
            Refusal::Nothing,
            Refusal::Unknown,
        ];
        let mut refused = Vec::new();
        for kind in [Kind::Cancel, Kind::Reduce, Kind::Replace] {
            refused.push((about(late, 0, kind), missing));
            refused.push((about(NO_ID, 0, kind), missing));
            refused.push((about(other, 0, kind), foreign));
            if !E::TRUSTS_IDS {
                for forged in [other ^ 1 << 40, other ^ 1 << 31, !other, 1 << 63] {
                    refused.push((about(forged, 1, kind), missing));
                }
            }
        }
        let changed = |mut command: Command, change: fn(&mut Command)| {
            change(&mut command);
            command
        };
        let [reduce, replace] = [Kind::Reduce, Kind::Replace].map(|kind| about(other, 1, kind));
        refused.extend([
            (changed(reduce, |it| it.quantity = 0), nothing),
            (changed(replace, |it| it.quantity = 0), nothing),
            (changed(replace, |it| it.price = 0), nothing),
            (new(0, Side::Buy, 0, 1), nothing),
            (new(0, Side::Buy, 1, 0), nothing),
            (new(2, Side::Buy, 1, 1), unknown),
            (about(0, 2, Kind::CancelAll), unknown),
            (
                changed(new(0, Side::Buy, 1, 1), |it| it.symbol = 1),
                unknown,
            ),
        ]);

        let state = |engine: &E| {
            let tape = engine.tape();
            (engine.orders(), engine.top(0), tape.trades, tape.shares)
        };
        let before = state(&engine);
        let mut counts = [0; Refusal::COUNT];
        for (command, reason) in refused {
            assert_eq!(
                engine.apply(&command),
                Response::Refused(reason),
                "{command:?}"
            );
            assert_eq!(state(&engine), before);
            engine.check().unwrap();
            counts[reason as usize] += 1;
        }
        assert_eq!(engine.tape().refused, counts);
        assert_eq!(
            engine.apply(&about(other, 1, Kind::Cancel)),
            Response::Cancelled
        );
        assert_eq!(
            engine.apply(&about(next, 0, Kind::Cancel)),
            Response::Cancelled
        );
        assert_eq!(engine.orders(), 0);
    }
}

#[test]
fn what_is_late_forged_or_not_yours_is_refused_and_changes_nothing() {
    for &store in StoreKind::value_variants() {
        OrderStores::with(store, Refusals);
    }
}
