//! The tests of every store: against the naive engine, refusals, recorded messages, restart.
//!
//! A package has them for its stores by `store_tests!`, and those of its program by
//! `program_tests!`.

pub mod program;
mod recorded;
mod refusals;

use order_flow::command::{Command, Kind};
use order_flow::flow::Flow;
use order_flow::message::{Message, Side};
use order_flow::naive_engine::NaiveEngine;
use order_flow::script::Script;
use order_flow::traffic::{Extent, Market, Target, Traffic};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

pub use self::recorded::*;
pub use self::refusals::*;
use crate::check::Check;
use crate::restart;
use crate::stores::Stores;

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

fn check_all<S: Stores>(traffic: &Traffic, every: usize) {
    for &store in S::ALL {
        let checked = S::with(store, Check { traffic, every });
        if let Err(failure) = checked {
            panic!("{}: {failure:?}", store.name());
        }
    }
}

pub fn every_store_answers_random_commands_as_the_naive_engine<S: Stores>() {
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let drafts = prop::collection::vec((command(), any::<usize>(), 0..12_u8), 1..300);
    let checked = TestRunner::new(config).run(&drafts, |drafts| {
        check_all::<S>(&aimed(&drafts), 1);
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

pub fn every_store_answers_generated_commands_as_the_naive_engine<S: Stores>() {
    check_all::<S>(&generated(4, 3_000, 100), 100);
}

pub fn a_restored_engine_gives_the_same_ids_and_trades<S: Stores>() {
    let restart = restart::run::<S::Restarted>(&generated(10, 4_000, 20)).unwrap();
    assert!(restart.compared > 1_500);
}

pub fn each_store_has_a_name_of_its_own<S: Stores>() {
    let mut names: Vec<_> = S::ALL.iter().map(|it| it.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), S::ALL.len());
}

/// Makes a test of each function that checks these stores.
#[macro_export]
macro_rules! store_tests {
    ($stores:ty) => {
        $crate::store_tests! { $stores:
            every_store_answers_random_commands_as_the_naive_engine
            every_store_answers_generated_commands_as_the_naive_engine
            a_restored_engine_gives_the_same_ids_and_trades
            each_store_has_a_name_of_its_own
            what_is_late_forged_or_not_yours_is_refused_and_changes_nothing
            every_top_of_the_real_hour_is_the_known_one
            every_store_has_the_tops_of_generated_messages
            messages_that_lead_to_no_command_repeat_the_top
            the_numbers_of_recorded_orders_may_be_any
            a_top_that_the_engine_cannot_have_is_an_error_and_leaves_the_file_empty
        }
    };
    ($stores:ty: $($name:ident)*) => {$(
        #[test]
        fn $name() {
            $crate::suite::$name::<$stores>();
        }
    )*};
}
