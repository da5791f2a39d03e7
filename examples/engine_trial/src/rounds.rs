//! All stores, round by round.
//!
//! The stores take turns, and every pass is a process of its own. A closed loop that the
//! machine has disturbed is repeated once.

use indicatif::ProgressBar;
use order_flow::command::Refusal;
use order_flow::program::{Failure, progress_bar};
use order_flow::traffic::Traffic;
use serde::Serialize;

use crate::arguments::Arguments;
use crate::interruptions::Interruptions;
use crate::measure::{Desk, Latency, Pass, Start, Timed};
use crate::process;
use crate::stores::{Engines, Job, StoreKind, Subject};
use crate::verdict;

/// One store in one round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Round {
    /// Without a clock between commands.
    pub commands_per_second: u64,
    /// The closed loop.
    pub closed: Latency,
    /// What the machine did during the closed loop.
    pub interruptions: Interruptions,
    /// Whether the closed loop was disturbed, the last time that it ran.
    pub disturbed: bool,
    /// Whether it ran twice, because it was disturbed the first time.
    pub repeated: bool,
    /// At half of the slowest store's throughput, in the record.
    pub open_50: Option<Latency>,
    /// At four fifths of it.
    pub open_80: Option<Latency>,
}

/// Commands a second with another share of latecomers, round by round: in the
/// record.
#[derive(Clone, Debug, Serialize)]
pub struct OtherLate {
    /// The share.
    pub per_cent: u32,
    /// Of each round.
    pub commands_per_second: Vec<u64>,
}

/// All rounds of one store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreResult {
    /// Which store it is.
    pub store: StoreKind,
    /// Its name in the tables.
    pub name: &'static str,
    /// What an order takes in it.
    pub bytes_per_order: usize,
    /// The figures of the table: from empty.
    #[serde(flatten)]
    pub figures: Figures,
    /// The rounds that the figures are of.
    pub from_empty: Vec<Round>,
    /// Memory reserved and books full: in the record.
    pub reserved: Vec<Round>,
    /// In the record.
    pub other_late: Vec<OtherLate>,
}

impl StoreResult {
    /// Sums up rounds from empty.
    pub(crate) fn new(store: StoreKind, bytes_per_order: usize, from_empty: Vec<Round>) -> Self {
        StoreResult {
            store,
            name: store.name(),
            bytes_per_order,
            figures: Figures::of(&from_empty),
            from_empty,
            reserved: Vec::new(),
            other_late: Vec::new(),
        }
    }
}

/// What the rounds of a store come to.
///
/// Medians, and of the longest command the longest, of those rounds that the machine has not
/// disturbed; of all rounds, if it has disturbed all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The median.
    pub commands_per_second: u64,
    /// Of the medians, the median.
    pub p50_ns: u64,
    /// Of the 99th percentiles, the median.
    pub p99_ns: u64,
    /// Of the 99.9th percentiles, the median.
    pub p99_9_ns: u64,
    /// The longest command.
    pub longest_ns: u64,
    /// Rounds that the machine has not disturbed.
    pub undisturbed_rounds: usize,
    /// All rounds.
    pub rounds: usize,
}

impl Figures {
    /// Sums up these rounds.
    pub fn of(rounds: &[Round]) -> Self {
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
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The result of a run.
#[derive(Debug, Default, Serialize)]
pub struct Results {
    /// `lobster` or `generated`.
    pub source: &'static str,
    /// Books.
    pub symbols: usize,
    /// Sessions that send commands.
    pub sessions: u32,
    /// Commands about orders that are gone.
    pub late_per_cent: u32,
    /// Of the generated commands.
    pub seed: u64,
    /// Rounds of each store.
    pub rounds: u32,
    /// The name of the allocator.
    pub allocator: &'static str,
    /// Whether each process was as one that has been running: had freed a block of almost 32 MiB.
    pub running: bool,
    /// The most orders live at once.
    pub peak_live_orders: usize,
    /// Commands that count: from empty, and reserved.
    pub commands: [usize; 2],
    /// Trades from empty.
    pub trades: u64,
    /// Refusals from empty, by reason.
    pub refused: [u64; Refusal::COUNT],
    /// Of all trades and refusals and of the books at the end, in hexadecimal.
    pub digest: String,
    /// Each store.
    pub stores: Vec<StoreResult>,
    /// What the figures say, in sentences.
    pub says: Vec<String>,
}

/// Passes of a store in a round, unless one is repeated.
const PASSES: usize = 2;

/// Runs all rounds.
///
/// # Errors
///
/// [`Failure::Run`], if a process fails or two stores differ.
pub fn run<S: Engines>(arguments: &Arguments, allocator: &'static str) -> Result<Results, Failure> {
    with_progress(arguments, PASSES, |stores, bar| {
        let traffic = arguments.traffic()?;
        let run = Run::new::<S>(arguments, stores, &traffic, Start::Empty, bar)?;
        Ok(Results::new(&run, allocator, run.rounds(None)?))
    })
}

/// Shows the progress of so many passes of each store in each round.
pub fn with_progress<R>(
    arguments: &Arguments,
    passes: usize,
    job: impl FnOnce(&[StoreKind], &ProgressBar) -> R,
) -> R {
    let stores = arguments.stores();
    let bar = progress_bar((arguments.rounds() as usize * stores.len() * passes) as u64);
    bar.set_message("the commands");
    let result = job(&stores, &bar);
    bar.finish_and_clear();
    result
}

impl Results {
    /// Sums up the rounds of a run from empty.
    pub fn new(run: &Run<'_>, allocator: &'static str, from_empty: Vec<Vec<Round>>) -> Self {
        let Run {
            arguments, traffic, ..
        } = *run;
        let stores = (run.stores.iter().zip(&run.desks).zip(from_empty)).map(
            |((&store, desk), from_empty)| {
                StoreResult::new(store, desk.bytes_per_order, from_empty)
            },
        );
        let stores: Vec<StoreResult> = stores.collect();
        let first = &run.desks[0];
        Results {
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
            commands: [first.counted(), traffic.commands.len() - traffic.ramp],
            trades: first.tape.trades,
            refused: first.tape.refused,
            digest: format!("{:016x}", run.digest),
            says: verdict::sentences(&stores),
            stores,
        }
    }
}

/// All stores, with one traffic and from one start.
pub struct Run<'a> {
    arguments: &'a Arguments,
    stores: &'a [StoreKind],
    traffic: &'a Traffic,
    desks: Vec<Desk<'a>>,
    /// Of what was traded and refused and rests in the end.
    pub digest: u64,
    bar: &'a ProgressBar,
}

impl<'a> Run<'a> {
    /// Records the ids that each store gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if there is no memory, or two stores trade, refuse or end differently.
    pub fn new<S: Engines>(
        arguments: &'a Arguments,
        stores: &'a [StoreKind],
        traffic: &'a Traffic,
        start: Start,
        bar: &'a ProgressBar,
    ) -> Result<Self, Failure> {
        let mut desks: Vec<Desk<'a>> = Vec::with_capacity(stores.len());
        for &store in stores {
            bar.set_message(format!("ids of {}", store.short_name()));
            let desk = S::with(store, Record { traffic, start })?;
            let first = desks.first().unwrap_or(&desk);
            if (desk.digest, &desk.tape) != (first.digest, &first.tape) {
                return Err(Failure::Run(format!(
                    "`{}` trades, refuses or ends otherwise than the first store",
                    store.name()
                )));
            }
            desks.push(desk);
        }
        let Some(first) = desks.first() else {
            return Err(Failure::Run("no store was timed".to_owned()));
        };
        Ok(Run {
            arguments,
            stores,
            traffic,
            digest: first.digest,
            desks,
            bar,
        })
    }

    /// Times a pass of the store of this index.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if its process fails.
    fn time(&self, index: usize, pass: Pass) -> Result<Timed, Failure> {
        let store = self.stores[index];
        self.bar.set_message(store.short_name());
        let timed = process::time(&self.desks[index], store, pass, !self.arguments.fresh);
        self.bar.inc(1);
        timed
    }

    /// The indices of the stores in the order of a round: each is the first of some.
    fn order(&self, round: usize) -> impl Iterator<Item = usize> + use<> {
        let stores = self.stores.len();
        (0..stores).map(move |turn| (turn + round) % stores)
    }

    /// Runs all rounds, and returns those of each store. With `loads`, commands also come at a fixed
    /// rate: at these shares of the slowest store's throughput in the round.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the process of a pass fails.
    pub fn rounds(&self, loads: Option<[f64; 2]>) -> Result<Vec<Vec<Round>>, Failure> {
        let mut results = vec![Vec::new(); self.stores.len()];
        for number in 0..self.arguments.rounds() as usize {
            for index in self.order(number) {
                results[index].push(self.round(index)?);
            }
            let Some(loads) = loads else { continue };
            let rates = results
                .iter()
                .map(|rounds| rounds[number].commands_per_second);
            let slowest = rates.min().unwrap_or(1).max(1) as f64;
            for index in self.order(number) {
                let open = loads.map(|load| {
                    let commands_per_second = slowest * load;
                    self.time(
                        index,
                        Pass::Open {
                            commands_per_second,
                        },
                    )
                });
                let [half, more] = open;
                let round: &mut Round = &mut results[index][number];
                round.open_50 = Some(half?.latency);
                round.open_80 = Some(more?.latency);
            }
        }
        Ok(results)
    }

    /// Commands a second of each store, round by round.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the process of a pass fails.
    pub fn rates(&self) -> Result<Vec<Vec<u64>>, Failure> {
        let mut rates = vec![Vec::new(); self.stores.len()];
        for round in 0..self.arguments.rounds() as usize {
            for index in self.order(round) {
                rates[index].push(self.time(index, Pass::Throughput)?.commands_per_second);
            }
        }
        Ok(rates)
    }

    /// Times the store of this index without a rate.
    fn round(&self, index: usize) -> Result<Round, Failure> {
        let throughput = self.time(index, Pass::Throughput)?;
        let mut timed = self.time(index, Pass::Closed)?;
        let repeated = timed.interruptions.disturb();
        if repeated {
            timed = self.time(index, Pass::Closed)?;
        }
        Ok(Round {
            commands_per_second: throughput.commands_per_second,
            closed: timed.latency,
            interruptions: timed.interruptions,
            disturbed: timed.interruptions.disturb(),
            repeated,
            open_50: None,
            open_80: None,
        })
    }
}

/// Makes the desk of a store.
struct Record<'a> {
    traffic: &'a Traffic,
    start: Start,
}

impl<'a> Job for Record<'a> {
    type Result = Result<Desk<'a>, Failure>;

    fn run<E: Subject>(self) -> Self::Result {
        Desk::new::<E>(self.traffic, self.start)
    }
}
