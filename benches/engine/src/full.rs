//! What the record has besides the first command: full books in memory that was reserved and
//! touched, commands at a fixed rate, and other shares of latecomers.

use std::io::{self, Write};

use engine_trial::Arguments;
use engine_trial::measure::{Latency, Pass, Start};
use engine_trial::report::{duration, millions, table};
use engine_trial::rounds::{Figures, OtherLate, Results, Round, Run, StoreResult, median};
use engine_trial::stores::{StoreKind, Stores};
use indicatif::ProgressBar;
use order_flow::program::table::{grouped, write_columns};
use order_flow::program::{Failure, progress_bar};

use crate::AllStores;

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
pub(crate) fn in_full(mut arguments: Arguments<AllStores>) -> Arguments<AllStores> {
    if arguments.store.is_empty() {
        arguments.store = AllStores::ALL.to_vec();
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
pub(crate) fn run(
    arguments: &Arguments<AllStores>,
    allocator: &'static str,
) -> Result<Results, Failure> {
    let stores = arguments.stores();
    let bar = progress_bar((arguments.rounds() as usize * stores.len() * PASSES) as u64);
    let result = from_both(arguments, allocator, &stores, &bar);
    bar.finish_and_clear();
    result
}

fn from_both(
    arguments: &Arguments<AllStores>,
    allocator: &'static str,
    stores: &[StoreKind],
    bar: &ProgressBar,
) -> Result<Results, Failure> {
    bar.set_message("the commands");
    let traffic = arguments.traffic()?;
    let empty = Run::new(arguments, stores, &traffic, Start::Empty, bar)?;
    let from_empty = rounds(&empty, arguments)?;
    let mut results = Results::new(&empty, allocator, from_empty);
    let reserved = Run::new(arguments, stores, &traffic, Start::Reserved, bar)?;
    if reserved.digest != empty.digest {
        return Err(Failure::Run("the two starts end differently".to_owned()));
    }
    for (result, rounds) in results.stores.iter_mut().zip(rounds(&reserved, arguments)?) {
        result.reserved = rounds;
    }
    for per_cent in OTHER_LATE {
        let mut others = arguments.clone();
        others.late = per_cent;
        let traffic = others.traffic()?;
        let run = Run::new(&others, stores, &traffic, Start::Reserved, bar)?;
        for (result, commands_per_second) in results.stores.iter_mut().zip(rates(&run, &others)?) {
            result.other_late.push(OtherLate {
                per_cent,
                commands_per_second,
            });
        }
    }
    results.more_tables = tables(&results);
    Ok(results)
}

/// All rounds of each store, with those at a fixed rate.
fn rounds(
    run: &Run<'_, AllStores>,
    arguments: &Arguments<AllStores>,
) -> Result<Vec<Vec<Round>>, Failure> {
    let mut results = vec![Vec::new(); arguments.stores().len()];
    for number in 0..arguments.rounds() as usize {
        for index in run.order(number) {
            results[index].push(run.round(index)?);
        }
        let rates = results
            .iter()
            .map(|rounds| rounds[number].commands_per_second);
        let slowest = rates.min().unwrap_or(1).max(1) as f64;
        for index in run.order(number) {
            let at = |load: f64| {
                let commands_per_second = slowest * load;
                run.time(
                    index,
                    Pass::Open {
                        commands_per_second,
                    },
                )
            };
            let round = &mut results[index][number];
            round.open_50 = Some(at(LOADS[0])?.latency);
            round.open_80 = Some(at(LOADS[1])?.latency);
        }
    }
    Ok(results)
}

/// Commands a second of each store, round by round.
fn rates(
    run: &Run<'_, AllStores>,
    arguments: &Arguments<AllStores>,
) -> Result<Vec<Vec<u64>>, Failure> {
    let mut rates = vec![Vec::new(); arguments.stores().len()];
    for round in 0..arguments.rounds() as usize {
        for index in run.order(round) {
            rates[index].push(run.time(index, Pass::Throughput)?.commands_per_second);
        }
    }
    Ok(rates)
}

/// The tables that the first command does not have.
fn tables(results: &Results) -> String {
    let mut text = Vec::new();
    write(results, &mut text).expect("there is memory");
    String::from_utf8(text).expect("it is text")
}

fn write(results: &Results, out: &mut Vec<u8>) -> io::Result<()> {
    let commands = grouped(results.commands[1] as u64);
    writeln!(
        out,
        "Memory reserved and touched, {commands} commands to full books"
    )?;
    write_columns(out, &table(&results.stores, |it| Figures::of(&it.reserved)))?;
    writeln!(out)?;
    write_open_loops(&results.stores, out)?;
    write_other_late(results, out)
}

/// Latencies at a fixed rate: medians of the rounds, and the longest command of all.
fn write_open_loops(stores: &[StoreResult], out: &mut Vec<u8>) -> io::Result<()> {
    type Of = fn(&Round) -> Option<&Latency>;
    let loads: [Of; 2] = [|it| it.open_50.as_ref(), |it| it.open_80.as_ref()];
    type Rounds = fn(&StoreResult) -> &[Round];
    let starts: [(&str, Rounds); 2] = [
        ("From empty", |it| &it.from_empty),
        ("Reserved", |it| &it.reserved),
    ];
    for (start, rounds) in starts {
        let percents = LOADS.map(|load| format!("{:.0} %", load * 100.0));
        writeln!(
            out,
            "{start}, commands at {} and {} of what the slowest store carries out",
            percents[0], percents[1]
        )?;
        let mut head = vec!["store".to_owned()];
        for percent in &percents {
            head.push(format!("{percent}: p50"));
            head.extend(["p99", "longest"].map(str::to_owned));
        }
        let mut rows = vec![head];
        for store in stores {
            let mut row = vec![store.name.to_owned()];
            for load in loads {
                let latencies = || rounds(store).iter().filter_map(load);
                row.push(duration(median(latencies().map(|it| it.p50_ns).collect())));
                row.push(duration(median(latencies().map(|it| it.p99_ns).collect())));
                row.push(duration(
                    latencies().map(|it| it.longest_ns).max().unwrap_or(0),
                ));
            }
            rows.push(row);
        }
        write_columns(out, &rows)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Commands a second with other shares of latecomers.
fn write_other_late(results: &Results, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(
        out,
        "Commands a second, reserved, by the share of latecomers"
    )?;
    let others = results.stores.first().map_or(&[][..], |it| &it.other_late);
    let mut rows = vec![vec!["store".to_owned()]];
    rows[0].extend(others.iter().map(|other| format!("{} %", other.per_cent)));
    rows[0].push(format!("{} %", results.late_per_cent));
    for store in &results.stores {
        let mut row = vec![store.name.to_owned()];
        let rates = store.other_late.iter().map(|it| &it.commands_per_second);
        row.extend(rates.map(|rates| millions(median(rates.clone()))));
        row.push(millions(Figures::of(&store.reserved).commands_per_second));
        rows.push(row);
    }
    write_columns(out, &rows)?;
    writeln!(out)
}
