//! Every store against the naive engine, and a restart.

use clap::ValueEnum;
use engine_trial::check::Check;
use engine_trial::restart;
use engine_trial::stores::{Engines, StoreKind};
use order_book::matching::Engine;
use order_book::store::KeyStore;
use order_book::trial::OrderStores;
use order_flow::command::{Command, Kind};
use order_flow::message::Side;
use order_flow::naive_engine::NaiveEngine;
use order_flow::traffic::{Extent, Market, Target, Traffic};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const SYMBOLS: usize = 3;
const SESSIONS: usize = 4;

/// A command with few prices, symbols and sessions, so that many meet; some of them too many.
fn command() -> impl Strategy<Value = Command> {
    let kind = prop_oneof![
        6 => Just(Kind::New),
        2 => Just(Kind::Cancel),
        2 => Just(Kind::Replace),
        2 => Just(Kind::Reduce),
        1 => Just(Kind::CancelAll),
    ];
    let number = 0..=SYMBOLS as u16;
    let session = 0..=SESSIONS as u32;
    let price = prop_oneof![30 => 95..105_u32, 1 => Just(0)];
    let quantity = prop_oneof![30 => 1..20_u32, 1 => Just(0)];
    (kind, number, session, price, quantity, any::<bool>()).prop_map(
        |(kind, symbol, session, price, quantity, buys)| Command {
            id: 0,
            price,
            quantity,
            session,
            reference: [price, quantity],
            symbol,
            kind,
            side: if buys { Side::Buy } else { Side::Sell },
        },
    )
}

/// Aims each command at an earlier one, often as the session that sent that.
fn aimed(drafts: &[(Command, usize, u8)]) -> Traffic {
    let mut naive = NaiveEngine::new(SYMBOLS, SESSIONS);
    let mut traffic = Traffic {
        commands: Vec::new(),
        targets: Vec::new(),
        ramp: drafts.len() / 4,
        extent: Extent {
            symbols: SYMBOLS,
            sessions: SESSIONS,
            pages: 100,
            tick: 1,
        },
        peak: 1,
    };
    for &(mut command, at, aim) in drafts {
        let sent = traffic.commands.len();
        let target = match (command.kind, aim) {
            (Kind::New | Kind::CancelAll, _) => Target::NONE,
            (_, 0) => Target::FORGED,
            _ if sent == 0 => Target::FORGED,
            (_, aim) => {
                let number = at % sent;
                if aim > 1 {
                    command.session = traffic.commands[number].session;
                }
                match naive.is_live(number) {
                    true => Target::live(number),
                    false => Target::gone(number),
                }
            }
        };
        naive.apply(&command, target);
        traffic.peak = traffic.peak.max(naive.len());
        traffic.commands.push(command);
        traffic.targets.push(target);
    }
    traffic
}

fn generated(symbols: usize, commands: usize, late: u64) -> Traffic {
    let market = Market {
        seed: 1,
        symbols,
        sessions: 50,
        commands,
        late,
    };
    Traffic::generated(market, 1_000, 0)
}

fn check_all(traffic: &Traffic, every: usize) {
    for &store in StoreKind::value_variants() {
        let checked = OrderStores::with(store, Check { traffic, every });
        if let Err(failure) = checked {
            panic!("{}: {failure:?}", store.name());
        }
    }
}

#[test]
fn every_store_answers_random_commands_as_the_naive_engine() {
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let drafts = prop::collection::vec((command(), any::<usize>(), 0..12_u8), 1..300);
    let checked = TestRunner::new(config).run(&drafts, |drafts| {
        check_all(&aimed(&drafts), 1);
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_store_answers_generated_commands_as_the_naive_engine() {
    check_all(&generated(4, 3_000, 100), 100);
}

#[test]
fn a_restored_engine_gives_the_same_ids_and_trades() {
    let restart = restart::run::<Engine<KeyStore>>(&generated(10, 4_000, 20)).unwrap();
    assert!(restart.compared > 1_500);
}

#[test]
fn each_store_has_a_name_of_its_own() {
    let mut names: Vec<_> = StoreKind::value_variants()
        .iter()
        .map(|it| it.name())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), StoreKind::value_variants().len());
}
