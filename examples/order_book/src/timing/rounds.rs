//! All stores, round by round.
//!
//! The stores take turns, and every pass is a process of its own. A closed loop that the
//! machine has disturbed is repeated once.

use indicatif::ProgressBar;
use order_flow::program::{Failure, progress_bar};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::command::Refusal;
use crate::kind::{Job, StoreKind};
use crate::store::SessionStore;
use crate::timing::interruptions::Interruptions;
use crate::timing::measure::{Desk, Latency, Pass, Start, Timed};
use crate::timing::process;
use crate::timing::verdict;
use crate::traffic::Traffic;

/// Shares of the slowest store's throughput at which commands come in the open loop.
pub(crate) const LOADS: [f64; 2] = [0.5, 0.8];

/// Other shares of latecomers, in per cent, with `--full`.
const OTHER_LATE: [u32; 2] = [0, 10];

/// One store in one round.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Round {
    pub(crate) commands_per_second: u64,
    /// The closed loop.
    pub(crate) closed: Latency,
    pub(crate) interruptions: Interruptions,
    /// Whether the closed loop was disturbed, the last time that it ran.
    pub(crate) disturbed: bool,
    /// The closed loop that was repeated because it was disturbed.
    pub(crate) first_attempt: Option<Attempt>,
    /// At half of the slowest store's throughput, with `--full`.
    pub(crate) open_50: Option<Latency>,
    /// At four fifths of it.
    pub(crate) open_80: Option<Latency>,
}

/// A closed loop.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    pub(crate) closed: Latency,
    pub(crate) interruptions: Interruptions,
}

/// Commands a second with another share of latecomers, round by round.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OtherLate {
    pub(crate) per_cent: u32,
    pub(crate) commands_per_second: Vec<u64>,
}

/// All rounds of one store.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoreResult {
    pub(crate) store: StoreKind,
    pub(crate) name: &'static str,
    pub(crate) bytes_per_order: usize,
    /// The figures of the table: from empty.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    pub(crate) from_empty: Vec<Round>,
    /// With `--full`.
    pub(crate) reserved: Vec<Round>,
    pub(crate) other_late: Vec<OtherLate>,
}

/// What the rounds of a store come to.
///
/// Medians, and of the longest command the longest, of those rounds that the machine has not
/// disturbed; of all rounds, if it has disturbed all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Figures {
    pub(crate) commands_per_second: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) undisturbed_rounds: usize,
    pub(crate) rounds: usize,
}

impl Figures {
    pub(crate) fn of(rounds: &[Round]) -> Self {
        let undisturbed = rounds.iter().filter(|round| !round.disturbed).count();
        let counts = |round: &&Round| undisturbed == 0 || !round.disturbed;
        let latency = |of: fn(&Latency) -> u64| {
            let counted = rounds.iter().filter(counts);
            counted.map(|round| of(&round.closed)).collect::<Vec<_>>()
        };
        let rates = rounds.iter().map(|round| round.commands_per_second);
        Figures {
            commands_per_second: median(rates.collect()),
            p50_ns: median(latency(|it| it.p50_ns)),
            p99_ns: median(latency(|it| it.p99_ns)),
            p99_9_ns: median(latency(|it| it.p99_9_ns)),
            longest_ns: latency(|it| it.longest_ns).into_iter().max().unwrap_or(0),
            undisturbed_rounds: undisturbed,
            rounds: rounds.len(),
        }
    }
}

/// The median; of two values in the middle, the larger.
pub(crate) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
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
    pub(crate) allocator: &'static str,
    /// Whether each process was as one that has been running: had freed a block of almost 32 MiB.
    pub(crate) running: bool,
    /// The most orders live at once.
    pub(crate) peak_live_orders: usize,
    /// Commands that count: from empty, and reserved.
    pub(crate) commands: [usize; 2],
    pub(crate) trades: u64,
    pub(crate) refused: [u64; Refusal::COUNT],
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
pub(crate) fn run(arguments: &Arguments, allocator: &'static str) -> Result<Results, Failure> {
    let stores = arguments.stores();
    let passes = match arguments.full {
        false => 2,
        true => 2 * (2 + LOADS.len()) + OTHER_LATE.len(),
    };
    let bar = progress_bar((arguments.rounds() as usize * stores.len() * passes) as u64);
    let result = all_rounds(arguments, allocator, &stores, &bar);
    bar.finish_and_clear();
    result
}

fn all_rounds(
    arguments: &Arguments,
    allocator: &'static str,
    stores: &[StoreKind],
    bar: &ProgressBar,
) -> Result<Results, Failure> {
    bar.set_message("the commands");
    let traffic = arguments.traffic()?;
    let empty = Run::new(arguments, stores, &traffic, Start::Empty, bar)?;
    let digest = empty.digest;
    let Some(first) = empty.desks.first() else {
        return Err(Failure::Run("no store was timed".to_owned()));
    };
    let (tape, commands) = (first.tape.clone(), first.counted());
    let from_empty = empty.rounds()?;
    let mut results: Vec<StoreResult> = (stores.iter().zip(from_empty))
        .map(|(&store, from_empty)| StoreResult {
            store,
            name: store.name(),
            bytes_per_order: store.order_bytes(),
            figures: Figures::of(&from_empty),
            from_empty,
            reserved: Vec::new(),
            other_late: Vec::new(),
        })
        .collect();
    if arguments.full {
        let reserved = Run::new(arguments, stores, &traffic, Start::Reserved, bar)?;
        if reserved.digest != digest {
            return Err(Failure::Run("the two starts end differently".to_owned()));
        }
        for (result, rounds) in results.iter_mut().zip(reserved.rounds()?) {
            result.reserved = rounds;
        }
        for per_cent in OTHER_LATE {
            let traffic = arguments.clone().with_late(per_cent).traffic()?;
            let run = Run::new(arguments, stores, &traffic, Start::Reserved, bar)?;
            let rates = run.rates()?;
            for (result, commands_per_second) in results.iter_mut().zip(rates) {
                result.other_late.push(OtherLate {
                    per_cent,
                    commands_per_second,
                });
            }
        }
    }
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
        allocator,
        running: !arguments.fresh,
        peak_live_orders: traffic.peak,
        commands: [commands, traffic.commands.len() - traffic.ramp],
        trades: tape.trades,
        refused: tape.refused,
        digest: format!("{digest:016x}"),
        says: verdict::sentences(&results),
        stores: results,
    })
}

/// All stores, with one traffic and from one start.
struct Run<'a> {
    arguments: &'a Arguments,
    stores: &'a [StoreKind],
    desks: Vec<Desk<'a>>,
    /// Of what was traded and refused and rests in the end.
    digest: u64,
    bar: &'a ProgressBar,
}

impl<'a> Run<'a> {
    /// Records the ids that each store gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if there is no memory, or two stores trade, refuse or end differently.
    fn new(
        arguments: &'a Arguments,
        stores: &'a [StoreKind],
        traffic: &'a Traffic,
        start: Start,
        bar: &'a ProgressBar,
    ) -> Result<Self, Failure> {
        let mut desks: Vec<Desk<'a>> = Vec::with_capacity(stores.len());
        for &store in stores {
            bar.set_message(format!("ids of {}", store.short_name()));
            let desk = store.with(Record { traffic, start })?;
            let first = desks.first().unwrap_or(&desk);
            if (desk.digest, &desk.tape) != (first.digest, &first.tape) {
                return Err(Failure::Run(format!(
                    "`{}` trades, refuses or ends otherwise than the first store",
                    store.name()
                )));
            }
            desks.push(desk);
        }
        Ok(Run {
            arguments,
            stores,
            digest: desks.first().map_or(0, |desk| desk.digest),
            desks,
            bar,
        })
    }

    fn time(&self, index: usize, pass: Pass) -> Result<Timed, Failure> {
        let store = self.stores[index];
        self.bar.set_message(store.short_name());
        process::time(&self.desks[index], store, pass, !self.arguments.fresh)
    }

    /// The stores in the order of a round: each is the first of some.
    fn order(&self, round: usize) -> impl Iterator<Item = usize> + use<> {
        let stores = self.stores.len();
        (0..stores).map(move |turn| (turn + round) % stores)
    }

    /// All rounds of each store.
    fn rounds(&self) -> Result<Vec<Vec<Round>>, Failure> {
        let mut results = vec![Vec::new(); self.stores.len()];
        for round in 0..self.arguments.rounds() as usize {
            for index in self.order(round) {
                results[index].push(self.round(index)?);
            }
            if !self.arguments.full {
                continue;
            }
            let rates = results
                .iter()
                .map(|rounds| rounds[round].commands_per_second);
            let slowest = rates.min().unwrap_or(1).max(1) as f64;
            for index in self.order(round) {
                let mut latencies = [None, None];
                for (latency, load) in latencies.iter_mut().zip(LOADS) {
                    let pass = Pass::Open {
                        commands_per_second: slowest * load,
                    };
                    *latency = Some(self.time(index, pass)?.latency);
                    self.bar.inc(1);
                }
                let [open_50, open_80] = latencies;
                let round = &mut results[index][round];
                (round.open_50, round.open_80) = (open_50, open_80);
            }
        }
        Ok(results)
    }

    /// One store without a rate.
    fn round(&self, index: usize) -> Result<Round, Failure> {
        let throughput = self.time(index, Pass::Throughput)?;
        self.bar.inc(1);
        let mut timed = self.time(index, Pass::Closed)?;
        let mut first_attempt = None;
        if timed.interruptions.disturb() {
            first_attempt = Some(Attempt {
                closed: timed.latency,
                interruptions: timed.interruptions,
            });
            timed = self.time(index, Pass::Closed)?;
        }
        self.bar.inc(1);
        Ok(Round {
            commands_per_second: throughput.commands_per_second,
            closed: timed.latency,
            interruptions: timed.interruptions,
            disturbed: timed.interruptions.disturb(),
            first_attempt,
            open_50: None,
            open_80: None,
        })
    }

    /// Commands a second of each store, round by round.
    fn rates(&self) -> Result<Vec<Vec<u64>>, Failure> {
        let mut rates = vec![Vec::new(); self.stores.len()];
        for round in 0..self.arguments.rounds() as usize {
            for index in self.order(round) {
                let timed = self.time(index, Pass::Throughput)?;
                rates[index].push(timed.commands_per_second);
                self.bar.inc(1);
            }
        }
        Ok(rates)
    }
}

/// Makes the desk of a store.
struct Record<'a> {
    traffic: &'a Traffic,
    start: Start,
}

impl<'a> Job for Record<'a> {
    type Result = Result<Desk<'a>, Failure>;

    fn run<S: SessionStore>(self) -> Self::Result {
        Desk::new::<S>(self.traffic, self.start)
    }
}
