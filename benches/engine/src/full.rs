//! What the record has besides the first command: full books in memory that was reserved and
//! touched, commands at a fixed rate, and other shares of latecomers.

use clap::ValueEnum;
use engine_trial::Arguments;
use engine_trial::measure::Start;
use engine_trial::rounds::{OtherLate, Results, Run, with_progress};
use engine_trial::stores::StoreKind;
use order_book::trial::OrderStores;
use order_flow::program::Failure;

/// Commands after those that fill the books.
const COMMANDS: u32 = 2_000_000;
const ROUNDS: u32 = 7;
/// Shares of the slowest store's throughput at which commands come in the open loop.
const LOADS: [f64; 2] = [0.5, 0.8];
/// Other shares of latecomers, in per cent.
const OTHER_LATE: [u32; 2] = [0, 10];
/// Passes of a store in a round, unless one is repeated.
const PASSES: usize = 2 * (2 + LOADS.len()) + OTHER_LATE.len();

/// Where nothing else is asked for: all stores, more rounds and more commands.
pub(crate) fn in_full(mut arguments: Arguments) -> Arguments {
    if arguments.store.is_empty() {
        arguments.store = StoreKind::value_variants().to_vec();
    }
    if arguments.lobster.is_none() {
        arguments.commands.get_or_insert(COMMANDS);
    }
    arguments.rounds.get_or_insert(ROUNDS);
    arguments
}

/// Runs all rounds.
///
/// # Errors
///
/// [`Failure::Run`], if a process fails, or two stores or starts differ.
pub(crate) fn run(arguments: &Arguments, allocator: &'static str) -> Result<Results, Failure> {
    with_progress(arguments, PASSES, |stores, bar| {
        let traffic = arguments.traffic()?;
        let empty = Run::new::<OrderStores>(arguments, stores, &traffic, Start::Empty, bar)?;
        let mut results = Results::new(&empty, allocator, empty.rounds(Some(LOADS))?);
        let reserved = Run::new::<OrderStores>(arguments, stores, &traffic, Start::Reserved, bar)?;
        if reserved.digest != empty.digest {
            return Err(Failure::Run("the two starts end differently".to_owned()));
        }
        for (result, rounds) in results.stores.iter_mut().zip(reserved.rounds(Some(LOADS))?) {
            result.reserved = rounds;
        }
        for per_cent in OTHER_LATE {
            let mut others = arguments.clone();
            others.late = per_cent;
            let traffic = others.traffic()?;
            let run = Run::new::<OrderStores>(&others, stores, &traffic, Start::Reserved, bar)?;
            for (result, commands_per_second) in results.stores.iter_mut().zip(run.rates()?) {
                result.other_late.push(OtherLate {
                    per_cent,
                    commands_per_second,
                });
            }
        }
        Ok(results)
    })
}
