//! All stores, round by round.

use serde::{Deserialize, Serialize};

use indicatif::ProgressBar;
use order_flow::program::{Failure, progress_bar};

use crate::engine::arguments::Arguments;
use crate::engine::kind::StoreKind;
use crate::engine::measure::Latency;
use crate::engine::process::{Process, Unhurried};
use crate::engine::verdict::sentences;

/// Other shares of latecomers, in per cent, with `--full`.
const OTHER_LATE: [u32; 2] = [0, 10];

/// One store in one round, from one start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) commands_per_second: u64,
    pub(crate) closed: Latency,
    /// At half of the slowest store's throughput.
    pub(crate) open_50: Latency,
    /// At four fifths of it.
    pub(crate) open_80: Latency,
}

/// Commands a second with another share of latecomers, round by round: from empty, and
/// reserved.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OtherLate {
    pub(crate) per_cent: u32,
    pub(crate) commands_per_second: Vec<[u64; 2]>,
}

/// All rounds of one store.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoreResult {
    pub(crate) store: StoreKind,
    pub(crate) name: &'static str,
    pub(crate) order_bytes: usize,
    pub(crate) from_empty: Vec<Figures>,
    pub(crate) reserved: Vec<Figures>,
    pub(crate) other_late: Vec<OtherLate>,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) source: &'static str,
    pub(crate) symbols: usize,
    pub(crate) sessions: u32,
    pub(crate) late_per_cent: u32,
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    /// The most orders live at once.
    pub(crate) peak_live_orders: usize,
    /// Commands that count: from empty, and reserved.
    pub(crate) commands: [usize; 2],
    pub(crate) trades: u64,
    pub(crate) refused: [u64; 4],
    /// Of all trades and refusals and of the books at the end, in hexadecimal.
    pub(crate) digest: String,
    pub(crate) stores: Vec<StoreResult>,
    /// What the figures say, in sentences.
    pub(crate) says: Vec<String>,
}

/// Runs all rounds.
///
/// # Errors
///
/// [`Failure::Run`], if a process fails or two stores differ.
pub(crate) fn run(arguments: &Arguments) -> Result<Results, Failure> {
    let stores = arguments.stores();
    let others: &[u32] = if arguments.full { &OTHER_LATE } else { &[] };
    let turns = arguments.rounds() as usize * stores.len() * (2 + others.len());
    let bar = progress_bar(turns as u64);
    let result = all_rounds(arguments, &stores, others, &bar);
    bar.finish_and_clear();
    result
}

fn all_rounds(
    arguments: &Arguments,
    stores: &[StoreKind],
    others: &[u32],
    bar: &ProgressBar,
) -> Result<Results, Failure> {
    let mut first: Option<Unhurried> = None;
    let mut results: Vec<StoreResult> = stores
        .iter()
        .map(|&store| StoreResult {
            store,
            name: store.name(),
            order_bytes: store.order_bytes(),
            from_empty: Vec::new(),
            reserved: Vec::new(),
            other_late: (others.iter())
                .map(|&per_cent| OtherLate {
                    per_cent,
                    commands_per_second: Vec::new(),
                })
                .collect(),
        })
        .collect();
    for round in 0..arguments.rounds() as usize {
        let order: Vec<usize> = (0..stores.len())
            .map(|turn| (turn + round) % stores.len())
            .collect();
        let mut waiting = Vec::new();
        for &index in &order {
            let store = stores[index];
            bar.set_message(store.name());
            let mut process = Process::start(arguments, store, arguments.late, false)?;
            let unhurried = process.unhurried()?;
            agree(
                first.get_or_insert_with(|| unhurried.clone()),
                &unhurried,
                store,
            )?;
            waiting.push((index, process, unhurried));
            bar.inc(1);
        }
        let slowest = |start: usize| {
            let rates = waiting.iter().map(|it| it.2.per_second[start]);
            rates.min().unwrap_or(1).max(1) as f64
        };
        let slowest = [slowest(0), slowest(1)];
        for (index, mut process, unhurried) in waiting {
            bar.set_message(stores[index].name());
            let loaded = process.loaded(slowest)?;
            let closed = unhurried.closed.unwrap_or_default();
            let both = unhurried.per_second.into_iter().zip(closed).zip(loaded);
            let mut both = both.map(|((rate, closed), [open_50, open_80])| Figures {
                commands_per_second: rate,
                closed,
                open_50,
                open_80,
            });
            results[index].from_empty.extend(both.next());
            results[index].reserved.extend(both.next());
            bar.inc(1);
        }
        for &index in &order {
            for other in &mut results[index].other_late {
                bar.set_message(stores[index].name());
                let mut process = Process::start(arguments, stores[index], other.per_cent, true)?;
                other
                    .commands_per_second
                    .push(process.unhurried()?.per_second);
                bar.inc(1);
            }
        }
    }
    let first = first.ok_or_else(|| Failure::Run("no store was timed".to_owned()))?;
    Ok(Results {
        source: match arguments.lobster {
            Some(_) => "lobster",
            None => "generated",
        },
        symbols: arguments.symbols(),
        sessions: arguments.sessions,
        late_per_cent: arguments.late,
        seed: arguments.seed,
        rounds: arguments.rounds(),
        peak_live_orders: first.peak,
        commands: first.commands,
        trades: first.trades,
        refused: first.refused,
        digest: format!("{:016x}", first.digest[0]),
        says: sentences(&results),
        stores: results,
    })
}

/// Every store trades the same, refuses the same and ends with the same books.
fn agree(first: &Unhurried, other: &Unhurried, store: StoreKind) -> Result<(), Failure> {
    let same = [first.digest[0]; 2] == other.digest;
    same.then_some(()).ok_or_else(|| {
        Failure::Run(format!(
            "`{}` trades, refuses or ends otherwise than the first store",
            store.name()
        ))
    })
}
