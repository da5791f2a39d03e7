//! Ticks and core cycles per operation, beside the `slab` crate and others, in
//! one run on one pinned core.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::collections::BTreeSet;
    use std::process::ExitCode;

    use clap::Parser;
    use flatslab_benches::machine::{Machine, commit};
    use flatslab_benches::operation::{BATCH, Setting};
    use flatslab_benches::plan::{self, Operation, Run};
    use flatslab_benches::record::{self, Record, Row, Table, median, rounded};
    use flatslab_benches::{Turn, clock, goals, model, pin, table};
    use indicatif::{ProgressBar, ProgressStyle};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    /// Ticks and core cycles per operation of flatslab's slabs, the slab crate,
    /// other slabs and Box, interleaved on one pinned core
    ///
    /// Without --bytes or --live it takes all operations at 8,192 live values of
    /// 8, 64, 256 and 1,024 bytes, those of 8 and 64 bytes also at 1,024, and
    /// the main operations at 1,048,576.
    #[derive(Parser)]
    struct Arguments {
        /// A few turns of each, on few values: checks the answers, measures
        /// roughly
        #[arg(long)]
        quick: bool,
        /// Turns of each subject in each operation at 8,192 live values
        #[arg(long, default_value_t = 61)]
        turns: usize,
        /// Sizes of a value, of 8, 64, 256, 1024
        #[arg(long, value_delimiter = ',')]
        bytes: Vec<usize>,
        /// Live values, rounded up to whole batches of 64
        #[arg(long, value_delimiter = ',')]
        live: Vec<usize>,
        /// Whole runs, one after the other
        #[arg(long, default_value_t = 1)]
        runs: usize,
        /// Keeps the result under benches/record/, for the report
        #[arg(long)]
        record: bool,
        /// Only subjects whose name contains this, and slab
        #[arg(long)]
        subject: Option<String>,
        /// Only operations whose name contains this
        filter: Option<String>,
        /// What `cargo bench` passes to every bench
        #[arg(long, hide = true)]
        bench: bool,
    }

    const SIZES: [usize; 4] = [8, 64, 256, 1024];
    const USUAL: usize = 8192;
    const MANY: usize = 1 << 20;

    /// At a million values: the others say nothing new for minutes of time.
    const MAIN: [&str; 4] = [
        "INSERT steady",
        "GET random",
        "REMOVE random",
        "CHURN random",
    ];

    impl Arguments {
        /// The pairs of value size and live values that are measured.
        fn pairs(&self) -> BTreeSet<(usize, usize)> {
            let every = |bytes: &[usize], live: &[usize]| {
                let pairs = bytes
                    .iter()
                    .flat_map(|&bytes| live.iter().map(move |&live| (live, bytes)));
                pairs.collect::<Vec<_>>()
            };
            let pairs = match (&self.bytes[..], &self.live[..]) {
                ([], []) if self.quick => every(&SIZES, &[1024]),
                ([], []) => [every(&SIZES, &[USUAL]), every(&[8, 64], &[1024, MANY])].concat(),
                ([], live) => every(&SIZES, live),
                (bytes, []) => every(bytes, &[USUAL]),
                (bytes, live) => every(bytes, live),
            };
            pairs
                .into_iter()
                .map(|(live, bytes)| (live.max(1).next_multiple_of(BATCH), bytes))
                .collect()
        }

        /// More turns where a turn is short; fewer where it takes tens of
        /// milliseconds.
        fn turns(&self, bytes: usize, live: usize, cold: bool) -> usize {
            if self.quick {
                return 2;
            }
            let turns = match live * bytes.max(32) {
                _ if cold => self.turns / 8,
                0..0x4_0000 => self.turns * 3,
                0x4_0000..0x10_0000 => self.turns,
                0x10_0000..0x100_0000 => self.turns / 2,
                _ => self.turns / 12,
            };
            turns.max(3)
        }

        fn takes(&self, operation: &Operation, live: usize) -> bool {
            let named = |filter: &String| operation.name.contains(filter.as_str());
            // A flush goes over all memory, operation by operation.
            let too_long = live > USUAL && (operation.is_cold() || !MAIN.contains(&operation.name));
            match &self.filter {
                Some(filter) => named(filter),
                None => !too_long,
            }
        }

        fn takes_subject(&self, run: &Run) -> bool {
            let named = |part: &String| run.subject.contains(part.as_str());
            run.subject == "slab" || self.subject.as_ref().is_none_or(named)
        }
    }

    pub(super) fn main() -> ExitCode {
        match measure() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn measure() -> Result<(), String> {
        let arguments = Arguments::parse();
        if let Some(size) = arguments.bytes.iter().find(|size| !SIZES.contains(size)) {
            return Err(format!(
                "there are no values of {size} bytes; of {SIZES:?} there are"
            ));
        }
        model::check_the_check();

        let machine = Machine::this();
        println!(
            "{} ({}), {}",
            machine.cpu, machine.cpu_version, machine.system
        );
        println!(
            "governor: {}; {}; commit {}",
            machine.governor,
            machine.compiler,
            commit()
        );
        match pin::to_physical_core() {
            Some(pinned) if pinned.held => println!("pinned to core {}", pinned.core),
            _ => println!("NOT pinned: figures will wander"),
        }
        let (ticks_per_ns, step) = (clock::ticks_per_ns(), clock::step());
        println!("counter: {ticks_per_ns:.3} ticks per ns, in steps of {step} ticks");

        let mut runs = Vec::new();
        for number in 1..=arguments.runs {
            if arguments.runs > 1 {
                println!("\nRun {number} of {}", arguments.runs);
            }
            let run = record::Run {
                commit: commit(),
                ticks_per_ns,
                step,
                tables: run(&arguments)?,
            };
            if arguments.record {
                let recorded = run.clone();
                let path = Record::extend(|record| {
                    record.cycles.retain(|run| run.commit == recorded.commit);
                    record.cycles.push(recorded);
                })?;
                println!("\nrecorded in {}", path.display());
            }
            runs.push(run);
        }
        if let Some(goals) = goals::render(&runs) {
            println!(
                "\nGoals, as ratios to slab; beside them the floors. What misses is **marked**."
            );
            if arguments.quick {
                println!("These figures are of few turns: they say nothing.");
            }
            println!("{goals}");
        }
        Ok(())
    }

    fn run(arguments: &Arguments) -> Result<Vec<Table>, String> {
        let mut tables = Vec::new();
        for (live, bytes) in arguments.pairs() {
            let operations = match bytes {
                8 => plan::operations::<u64>(),
                64 => plan::operations::<[u64; 8]>(),
                256 => plan::operations::<[u64; 32]>(),
                _ => plan::operations::<[u64; 128]>(),
            };
            check(&operations)?;
            let operations: Vec<_> = operations
                .into_iter()
                .filter(|operation| arguments.takes(operation, live))
                .collect();
            let progress = ProgressBar::new(operations.len() as u64).with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template"),
            );
            for operation in operations {
                progress.set_message(format!("{}, {bytes} bytes, {live} live", operation.name));
                let turns = arguments.turns(bytes, live, operation.is_cold());
                let table = measure_operation(arguments, &operation, bytes, live, turns)?;
                progress.suspend(|| {
                    println!("\n{}, {bytes} bytes, {live} live", operation.name);
                    println!("{}", table::operation(&table));
                });
                tables.push(table);
                progress.inc(1);
            }
            progress.finish_and_clear();
        }
        Ok(tables)
    }

    /// Every subject once against the model.
    fn check(operations: &[Operation]) -> Result<(), String> {
        let mut checked = BTreeSet::new();
        for run in operations.iter().flat_map(|operation| &operation.runs) {
            if checked.insert(run.subject) {
                (run.check)()?;
            }
        }
        Ok(())
    }

    fn measure_operation(
        arguments: &Arguments,
        operation: &Operation,
        bytes: usize,
        live: usize,
        turns: usize,
    ) -> Result<Table, String> {
        let runs: Vec<&Run> = operation
            .runs
            .iter()
            .filter(|run| arguments.takes_subject(run))
            .collect();
        let overhead = clock::overhead();
        let ticks_per_cycle = clock::ticks_per_cycle()?;
        let mut results: Vec<Vec<Turn>> = runs.iter().map(|_| Vec::new()).collect();
        for turn in 0..turns {
            // Whoever goes first in a round is another each time.
            for place in 0..runs.len() {
                let subject = (place + turn) % runs.len();
                let setting = Setting {
                    live,
                    timed: live.min(1 << 16),
                    overhead,
                    random: ChaCha8Rng::seed_from_u64(turn as u64),
                    turn,
                };
                results[subject].push((runs[subject].turn)(setting));
            }
        }
        let rows = runs.iter().zip(&results);
        Ok(Table {
            operation: operation.name.to_owned(),
            bytes,
            live,
            ticks_per_cycle: (ticks_per_cycle * 1e4).round() / 1e4,
            rows: rows.map(|(run, turns)| row(run.subject, turns)).collect(),
        })
    }

    fn row(subject: &str, turns: &[Turn]) -> Row {
        let mut batches: Vec<f64> = turns
            .iter()
            .flat_map(|turn| turn.batches().iter().copied())
            .collect();
        batches.sort_unstable_by(f64::total_cmp);
        let percentile =
            |share: f64| rounded(batches[((batches.len() - 1) as f64 * share) as usize]);
        Row {
            subject: subject.to_owned(),
            ticks: rounded(median(turns.iter().map(Turn::mean).collect())),
            percentiles: [0.5, 0.9, 0.99, 0.999, 1.0].map(percentile),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    x86_64::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("the cycle benches read the x86_64 time-stamp counter; nothing to do here");
}
