//! Two million insertions into an empty container, every single one timed, each
//! container in a process of its own: what growth costs whom it hits.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::mem::MaybeUninit;
    use std::process::{Command, ExitCode};

    use clap::Parser;
    use flatslab_benches::machine::commit;
    use flatslab_benches::record::{Growth, GrowthRound, GrowthRow, GrowthTable, Record};
    use flatslab_benches::subject::growing::{GrowableAhead, Incremental, VecPush};
    use flatslab_benches::subject::ours::{BoundedBySlot, GrowableBySlot};
    use flatslab_benches::subject::peers::{BoxOnMalloc, NexusUnbounded, SlabCrate, SlotMap};
    use flatslab_benches::{Payload, Subject, clock, growth, model, pin};
    use indicatif::{ProgressBar, ProgressStyle};

    /// Insertions into empty containers, every single one timed, in a process of
    /// its own for each container and round
    #[derive(Parser)]
    struct Arguments {
        /// Few insertions, one round: checks the answers, measures roughly
        #[arg(long)]
        quick: bool,
        /// Insertions into each container
        #[arg(long, default_value_t = 2_000_000)]
        inserts: usize,
        /// Processes for each container
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Sizes of a value, of 8, 64
        #[arg(long, value_delimiter = ',', default_values_t = SIZES)]
        bytes: Vec<usize>,
        /// Keeps the result under benches/record/, for the report
        #[arg(long)]
        record: bool,
        /// Only containers whose name contains this, and slab
        filter: Option<String>,
        /// What one of the processes is to do
        #[arg(long, hide = true)]
        child: Option<String>,
        /// What `cargo bench` passes to every bench
        #[arg(long, hide = true)]
        bench: bool,
    }

    const SIZES: [usize; 2] = [8, 64];
    /// Stretches whose worst insertion is kept, for the picture.
    const STRETCHES: usize = 500;

    type Fill = fn(usize) -> Result<GrowthRound, String>;

    /// The containers; `slab` first.
    fn subjects<V: Payload>() -> Vec<(&'static str, Fill)> {
        macro_rules! all {
            ($($subject:ident)*) => {
                vec![$((<$subject<V> as Subject<V>>::NAME, fill::<V, $subject<V>> as Fill)),*]
            };
        }
        all!(SlabCrate GrowableBySlot GrowableAhead BoundedBySlot Incremental NexusUnbounded SlotMap
            VecPush BoxOnMalloc)
    }

    pub(super) fn main() -> ExitCode {
        let arguments = Arguments::parse();
        let done = match &arguments.child {
            Some(subject) => fill_as_told(&arguments, subject),
            None => measure(&arguments),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn subjects_of(bytes: usize) -> Result<Vec<(&'static str, Fill)>, String> {
        match bytes {
            8 => Ok(subjects::<u64>()),
            64 => Ok(subjects::<[u64; 8]>()),
            _ => Err(format!(
                "there are no values of {bytes} bytes; of {SIZES:?} there are"
            )),
        }
    }

    fn measure(arguments: &Arguments) -> Result<(), String> {
        let (inserts, rounds) = match arguments.quick {
            true => (50_000, 1),
            false => (arguments.inserts.max(STRETCHES), arguments.rounds.max(1)),
        };
        let mut tables = Vec::new();
        for &bytes in &arguments.bytes {
            let names: Vec<_> = subjects_of(bytes)?
                .into_iter()
                .map(|(name, _)| name)
                .filter(|&name| {
                    let named = |part: &String| name.contains(part.as_str());
                    name == "slab" || arguments.filter.as_ref().is_none_or(named)
                })
                .collect();
            let mut rows: Vec<GrowthRow> = names
                .iter()
                .map(|&name| GrowthRow {
                    subject: name.to_owned(),
                    rounds: Vec::new(),
                })
                .collect();
            let progress = ProgressBar::new((rounds * names.len()) as u64).with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template"),
            );
            for _ in 0..rounds {
                for row in &mut rows {
                    progress.set_message(format!("{}, {bytes} bytes", row.subject));
                    let mut measured = in_a_process_of_its_own(&row.subject, bytes, inserts)?;
                    keep_the_lowest(&mut measured.stretches, row.rounds.last_mut());
                    row.rounds.push(measured);
                    progress.inc(1);
                }
            }
            progress.finish_and_clear();
            let table = GrowthTable { bytes, rows };
            println!(
                "\nGROWTH, {inserts} insertions of {bytes} bytes, ticks each, {rounds} rounds"
            );
            println!("{}", growth::render(&table));
            if let Some(goals) = growth::goals(&table) {
                println!("\n{goals}");
            }
            tables.push(table);
        }
        if arguments.quick {
            println!("\nThese figures are of few insertions: they say nothing.");
        }
        if arguments.record {
            let ticks_per_ns = clock::ticks_per_ns();
            let path = Record::extend(|record| {
                record.growth = Some(Growth {
                    commit: commit(),
                    ticks_per_ns,
                    inserts,
                    tables,
                });
            })?;
            println!("\nrecorded in {}", path.display());
        }
        Ok(())
    }

    /// Stretch by stretch, so that what hits a process now and then does not hide
    /// what growth does each time; the last round has them.
    fn keep_the_lowest(stretches: &mut [u32], before: Option<&mut GrowthRound>) {
        if let Some(before) = before {
            for (worst, other) in stretches.iter_mut().zip(before.stretches.drain(..)) {
                *worst = other.min(*worst);
            }
        }
    }

    /// What one container did before changes nothing for the next: neither what
    /// the allocator has kept, nor which pages the process has.
    fn in_a_process_of_its_own(
        subject: &str,
        bytes: usize,
        inserts: usize,
    ) -> Result<GrowthRound, String> {
        let failed = |what: String| format!("{subject}, {bytes} bytes: {what}");
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let output = Command::new(program)
            .args(["--child", subject, "--bytes", &bytes.to_string()])
            .args(["--inserts", &inserts.to_string()])
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    fn fill_as_told(arguments: &Arguments, subject: &str) -> Result<(), String> {
        let bytes = arguments.bytes[0];
        let fill = subjects_of(bytes)?
            .into_iter()
            .find(|(name, _)| *name == subject)
            .ok_or_else(|| format!("there is no container {subject}"))?
            .1;
        let measured = fill(arguments.inserts)?;
        println!("{}", serde_json::to_string(&measured).expect("plain data"));
        Ok(())
    }

    fn fill<V: Payload, S: Subject<V>>(inserts: usize) -> Result<GrowthRound, String> {
        model::check::<V, S>()?;
        // Buffers whose pages are there: their faults are not the container's.
        let mut times = vec![u32::MAX; inserts];
        let mut handles: Vec<MaybeUninit<S::Handle>> = Vec::with_capacity(inserts);
        for at in 0..inserts {
            // SAFETY: within the capacity; a byte to be overwritten.
            unsafe { handles.as_mut_ptr().add(at).cast::<u8>().write_volatile(0) };
        }
        // Made before the thread is pinned: a helper of its own runs elsewhere.
        // What does not grow shows what the machine does to anyone.
        let grows = S::NAME != BoundedBySlot::<V>::NAME;
        let mut subject = S::with_capacity(if grows { 0 } else { inserts });
        pin::to_physical_core();
        let ticks_per_cycle = clock::ticks_per_cycle()?;
        let overhead = clock::overhead();
        for (at, time) in times.iter_mut().enumerate() {
            let value = V::of(at as u64);
            let begun = clock::start();
            let handle = subject.insert(value);
            let ticks = clock::stop() - begun;
            *time = ticks.saturating_sub(overhead).min(u64::from(u32::MAX)) as u32;
            handles.push(MaybeUninit::new(handle));
        }
        for (at, handle) in handles.iter().enumerate() {
            // SAFETY: written above.
            let found = subject.get(unsafe { handle.assume_init_ref() });
            if found != at as u64 {
                return Err(format!("{}: value {at} is {found}", S::NAME));
            }
        }
        // The process ends: to take it all down again would only take time.
        std::mem::forget(subject);

        let stretches = times.chunks(inserts.div_ceil(STRETCHES));
        let stretches = stretches.map(|stretch| *stretch.iter().max().expect("not empty"));
        let stretches = stretches.collect();
        times.sort_unstable();
        let percentile = |share: f64| times[((inserts - 1) as f64 * share) as usize];
        Ok(GrowthRound {
            percentiles: [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0].map(percentile),
            ticks_per_cycle,
            stretches,
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    x86_64::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("single insertions are timed by the x86_64 time-stamp counter; nothing to do here");
}
