//! The engine on every store against the naive one, refusals, restart, and what the commands
//! are like.

mod recorded;
mod refusals;
mod traffic;

use clap::ValueEnum;
use order_flow::flow::Flow;
use order_flow::message::{Message, Side};
use proptest::prelude::*;

use super::check::Check;
use super::command::{Command, Kind};
use super::kind::StoreKind;
use super::naive::NaiveEngine;
use super::restart;
use super::script::Script;
use super::traffic::{Market, Target, Traffic};

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
        symbols: SYMBOLS,
        sessions: SESSIONS,
        pages: 100,
        tick: 1,
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
    let messages: Vec<Message> = Flow::new(1).take(3_000).collect();
    let market = Market {
        seed: 1,
        symbols,
        sessions: 50,
        commands,
        late,
    };
    Traffic::new(&Script::after(1_000, &messages), market)
}

fn check_all(traffic: &Traffic, every: usize) {
    for store in StoreKind::value_variants() {
        let checked = store.with(Check { traffic, every });
        if let Err(failure) = checked {
            panic!("{}: {failure:?}", store.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_store_answers_as_the_naive_engine(
        drafts in prop::collection::vec((command(), any::<usize>(), 0..12_u8), 1..300),
    ) {
        check_all(&aimed(&drafts), 1);
    }
}

#[test]
fn every_store_answers_generated_commands_as_the_naive_engine() {
    check_all(&generated(4, 3_000, 100), 100);
}

#[test]
fn a_restored_engine_gives_the_same_ids_and_trades() {
    let restart = restart::run(&generated(10, 4_000, 20)).unwrap();
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
