//! The runner of all benches. A bench is a [`Plan`]; the runner reads the
//! arguments, checks every subject against the model, lets the subjects take
//! turns, shows the progress, and prints summary, goals and tables.
//!
//! Within a case the subjects take turns (A B C A B C ...), and each round starts
//! with another one, so that a machine that drifts hits all alike. What is quoted
//! is the median over turns of the mean of a turn.

use std::io::Write;
use std::process::{Command, ExitCode};

use indicatif::{ProgressBar, ProgressStyle};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::arguments::Arguments;
use crate::clock::{self, CoreClock};
use crate::machine::{self, Machine};
use crate::operation::Setting;
use crate::record::{Bench, Metric, Record, Row};
use crate::table::{self, Column};
use crate::verdict;

/// What a bench measures.
pub struct Plan {
    /// The name of the bench.
    pub bench: &'static str,
    /// Live values, and the value sizes that are measured at that number.
    pub grid: &'static [(usize, &'static [usize])],
    /// Live values in a quick run, with all sizes of the grid.
    pub quick_live: usize,
    /// Runs, if no number is asked for.
    pub runs: u32,
    /// Subjects that are always measured, because ratios refer to them.
    pub references: &'static [&'static str],
    /// Each turn in a process of its own, which pins itself: what one subject did
    /// changes neither what the allocator kept nor which pages the next one has.
    pub in_processes: bool,
    /// Keeps the worst of each of so many stretches of a turn, for a picture.
    pub stretches: Option<usize>,
    /// What else the figures depend on, found out before anything is measured: it
    /// is printed and recorded, a line each.
    pub notes: fn(&Arguments) -> Vec<String>,
    /// The cases of a number of live values and a value size.
    pub cases: fn(&Arguments, live: usize, bytes: usize) -> Vec<Case>,
    /// Tables of its own, in place of one for each case.
    pub tables: Option<fn(&Record) -> String>,
}

/// Rows that are measured in one go, on all their subjects.
pub struct Case {
    /// The rows, in the order in which a turn gives them.
    pub rows: Vec<&'static str>,
    /// How often each subject has its turn in a run.
    pub turns: usize,
    /// What is kept and printed of each row.
    pub columns: &'static [Column],
    /// The subjects, the first reference first.
    pub entries: Vec<Entry>,
}

/// One subject in a case.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The subject's name.
    pub subject: &'static str,
    /// Compares it with the model.
    pub check: fn() -> Result<(), String>,
    /// Takes it through one turn.
    pub turn: fn(Setting) -> Turn,
}

/// What one turn gave: for each row of the case the ticks of an operation, one
/// figure for each stretch that was timed; none where the subject cannot do it.
pub struct Turn(pub Vec<Vec<f64>>);

impl Turn {
    /// The figures of a row.
    fn row(&self, number: usize) -> &[f64] {
        self.0.get(number).map_or(&[], |row| row)
    }
}

impl From<Vec<f64>> for Turn {
    fn from(ticks: Vec<f64>) -> Self {
        Turn(vec![ticks])
    }
}

impl<const ROWS: usize> From<[f64; ROWS]> for Turn {
    fn from(ticks: [f64; ROWS]) -> Self {
        Turn(ticks.iter().map(|&ticks| vec![ticks]).collect())
    }
}

/// The entries of subjects by name: `entries!(u64, get_random: SlabCrate SlotMap)`.
#[macro_export]
macro_rules! entries {
    ($value:ty, $turn:ident: $($subject:ident)*) => {
        vec![$($crate::run::Entry {
            subject: <$subject<$value> as $crate::Subject<$value>>::NAME,
            check: $crate::model::check::<$value, $subject<$value>>,
            turn: |setting| $turn::<$value, $subject<$value>>(setting).into(),
        }),*]
    };
}

/// Runs a bench as the process's arguments ask.
#[must_use]
pub fn main(plan: &Plan) -> ExitCode {
    let arguments = Arguments::of_this_process();
    if !clock::IS_HERE {
        println!("this bench needs `rdtsc` of x86_64; nothing to do here");
        return ExitCode::SUCCESS;
    }
    let measured = if arguments.child {
        plan.one_turn(&arguments)
    } else {
        plan.run(&arguments)
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A case at its number of live values and value size.
struct Planned {
    case: Case,
    live: usize,
    bytes: usize,
}

impl Plan {
    /// What the arguments leave of the plan; ends the process if they are bad.
    fn planned(&self, arguments: &Arguments) -> Vec<Planned> {
        let refuse = |message: String| -> ! { arguments.refuse(&message) };
        let pairs = arguments
            .pairs(self.grid, self.quick_live)
            .unwrap_or_else(|message| refuse(message));
        let mut planned: Vec<Planned> = Vec::new();
        for (live, bytes) in pairs {
            let cases = (self.cases)(arguments, live, bytes);
            planned.extend(cases.into_iter().map(|case| Planned { case, live, bytes }));
        }
        let mut names = Vec::new();
        for case in planned.iter().map(|it| &it.case) {
            for row in &case.rows {
                names.extend(case.entries.iter().map(|entry| (*row, entry.subject)));
            }
        }
        if let Err(message) = arguments.find_in(&names) {
            refuse(message);
        }
        for Planned { case, .. } in &mut planned {
            let asked = |entry: &Entry| arguments.takes_subject(entry.subject);
            if !case.rows.iter().any(|row| arguments.takes_row(row))
                || !case.entries.iter().any(asked)
            {
                case.entries.clear();
            }
            let refers = |entry: &Entry| self.references.contains(&entry.subject);
            case.entries.retain(|entry| asked(entry) || refers(entry));
        }
        planned.retain(|it| !it.case.entries.is_empty());
        planned
    }

    fn run(&self, arguments: &Arguments) -> Result<(), String> {
        let planned = self.planned(arguments);
        if arguments.list {
            for Planned { case, live, bytes } in planned {
                let subjects = case.entries.iter().map(|entry| entry.subject);
                let subjects = subjects.collect::<Vec<_>>().join("; ");
                println!(
                    "{}, {bytes} bytes, {live} live: {subjects}",
                    case.rows.join("; ")
                );
            }
            return Ok(());
        }
        let mut record = Record::new(Machine::this());
        println!("{}", record.machine);
        if !self.in_processes {
            println!("{}", machine::pin());
            self.check(&planned)?;
        }
        let bench = Bench {
            bench: self.bench.to_owned(),
            commit: machine::commit(),
            ticks_per_ns: clock::ticks_per_ns(),
            step: clock::step(),
            notes: (self.notes)(arguments),
        };
        println!(
            "commit {}; counter: {:.3} ticks per ns, in steps of {} ticks",
            bench.commit, bench.ticks_per_ns, bench.step
        );
        for note in &bench.notes {
            println!("{note}");
        }
        record.benches.push(bench);

        let runs = arguments.runs.unwrap_or(match arguments.quick {
            true => 1,
            false => self.runs,
        });
        let turns = |it: &Planned| {
            it.case
                .turns
                .min(if arguments.quick { 2 } else { usize::MAX })
        };
        let all: usize = planned
            .iter()
            .map(|it| turns(it) * it.case.entries.len())
            .sum();
        let progress = ProgressBar::new(all as u64 * u64::from(runs)).with_style(
            ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template"),
        );
        for run in 1..=runs {
            for it in &planned {
                // The figures of a quick run say nothing: it needs no certain clock.
                let ticks_per_cycle = match arguments.quick {
                    true => CoreClock::measured_once().estimate(),
                    false => CoreClock::measured().certain()?,
                };
                let rows = self.measure(it, turns(it), run, ticks_per_cycle, &progress)?;
                record.rows.extend(rows);
            }
        }
        progress.finish_and_clear();
        record.rows.retain(|row| arguments.takes_row(&row.row));
        keep_the_lowest(&mut record.rows);
        self.print(&record, &planned, runs, arguments.quick);
        if arguments.record {
            println!("\nrecorded in {}", Record::keep(record)?.display());
        }
        Ok(())
    }

    /// Every subject once against the model, for each value size.
    fn check(&self, planned: &[Planned]) -> Result<(), String> {
        let mut checked = Vec::new();
        for Planned { case, bytes, .. } in planned {
            for entry in &case.entries {
                if !checked.contains(&(entry.subject, bytes)) {
                    checked.push((entry.subject, bytes));
                    (entry.check)()?;
                }
            }
        }
        Ok(())
    }

    /// One run of a case.
    fn measure(
        &self,
        it: &Planned,
        turns: usize,
        run: u32,
        ticks_per_cycle: f64,
        progress: &ProgressBar,
    ) -> Result<Vec<Row>, String> {
        let Planned { case, live, bytes } = it;
        let overhead = clock::overhead();
        let ticks_per_cycle = (ticks_per_cycle * 1e4).round() / 1e4;
        let mut given: Vec<Vec<Turn>> = case.entries.iter().map(|_| Vec::new()).collect();
        for turn in 0..turns {
            for place in 0..case.entries.len() {
                let at = (place + turn + run as usize - 1) % case.entries.len();
                let entry = &case.entries[at];
                let rows = case.rows.join(", ");
                progress.set_message(format!(
                    "{rows}, {bytes} bytes, {live} live, {}",
                    entry.subject
                ));
                given[at].push(if self.in_processes {
                    in_a_process_of_its_own(it, entry, turn + run as usize - 1)?
                } else {
                    (entry.turn)(setting(*live, overhead, turn))
                });
                progress.inc(1);
            }
        }
        let mut rows = Vec::new();
        for (number, row) in case.rows.iter().enumerate() {
            for (entry, turns) in case.entries.iter().zip(&given) {
                let row_of = |turn| Turn::row(turn, number);
                let turns: Vec<&[f64]> = turns.iter().map(row_of).collect();
                let mean = |turn: &&[f64]| turn.iter().sum::<f64>() / turn.len() as f64;
                let means: Vec<f64> = turns.iter().map(mean).collect();
                let mut sorted = turns.concat();
                sorted.sort_unstable_by(f64::total_cmp);
                let mut metrics: Vec<Metric> = case.columns.iter().map(|it| it.metric()).collect();
                if sorted.is_empty() {
                    metrics.clear();
                }
                let metrics = metrics.into_iter();
                let stretch = |count: usize| turns[0].chunks(turns[0].len().div_ceil(count).max(1));
                let worst = |ticks: &[f64]| ticks.iter().fold(0.0, |a, &b| f64::max(a, b)) as u64;
                rows.push(Row {
                    bench: self.bench.to_owned(),
                    row: (*row).to_owned(),
                    bytes: *bytes,
                    live: *live,
                    subject: entry.subject.to_owned(),
                    run,
                    ticks_per_cycle,
                    values: metrics.map(|it| (it, it.of(&means, &sorted))).collect(),
                    stretches: self
                        .stretches
                        .map_or_else(Vec::new, |count| stretch(count).map(worst).collect()),
                });
            }
        }
        Ok(rows)
    }

    /// The result: the summary first.
    fn print(&self, record: &Record, planned: &[Planned], runs: u32, is_quick: bool) {
        if is_quick {
            println!("\nAll answers are right. The figures are of few turns: they say nothing.");
        }
        let summary = verdict::summary(record);
        if !is_quick && !summary.is_empty() {
            println!("\nIn short (a row is one operation on values of one size):\n");
            println!("- {}", summary.join("\n- "));
        }
        if let Some(goals) = verdict::goals(record, self.bench) {
            println!("\nGoals, as ratios; what misses is **marked**.\n\n{goals}");
        }
        if let Some(tables) = self.tables {
            println!("\n{}", tables(record));
            return;
        }
        for case in record.cases(self.bench) {
            let (row, bytes) = (case.row, case.bytes);
            let live = table::thousands(case.live);
            let runs = if runs > 1 {
                format!(", {runs} runs")
            } else {
                String::new()
            };
            println!("\n{row}, {bytes} bytes, {live} live{runs}");
            let of_row = |it: &&Planned| it.case.rows.contains(&row);
            let columns = planned
                .iter()
                .find(of_row)
                .map_or(&[][..], |it| it.case.columns);
            println!("{}", table::subjects(record, "", &[case], columns));
        }
    }

    /// In the process of one turn: what [`in_a_process_of_its_own`] asks for.
    fn one_turn(&self, arguments: &Arguments) -> Result<(), String> {
        let planned = self.planned(arguments).into_iter();
        let row = |it: &Planned| Some(it.case.rows[0]) == arguments.row.as_deref();
        let mut it = { planned }.find(row).ok_or("nothing is planned")?;
        let named = |entry: &Entry| Some(entry.subject) == arguments.subject.as_deref();
        it.case.entries.retain(named);
        let entry = it.case.entries.first().ok_or("there is no such subject")?;
        (entry.check)()?;
        // The process pins itself in the turn, once its container is there: what
        // the turn needs of the clock it measures itself.
        let Turn(rows) = (entry.turn)(setting(it.live, 0, arguments.turn));
        let mut bytes = Vec::new();
        for row in rows {
            bytes.extend((row.len() as u64).to_le_bytes());
            bytes.extend(row.iter().flat_map(|it| it.to_le_bytes()));
        }
        let mut out = std::io::stdout();
        out.write_all(&bytes).map_err(|error| error.to_string())
    }
}

fn setting(live: usize, overhead: u64, turn: usize) -> Setting {
    Setting {
        live,
        timed: live.min(1 << 16),
        overhead,
        random: ChaCha8Rng::seed_from_u64(turn as u64),
        turn,
    }
}

/// A turn of a case, in another process: for each row it writes how many figures
/// there are, and the figures.
fn in_a_process_of_its_own(it: &Planned, entry: &Entry, turn: usize) -> Result<Turn, String> {
    let failed = |what: &str| format!("{}, {} bytes: {what}", entry.subject, it.bytes);
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let output = Command::new(program)
        .args(["--child", "--subject", entry.subject, it.case.rows[0]])
        .args([
            "--bytes",
            &it.bytes.to_string(),
            "--live",
            &it.live.to_string(),
        ])
        .args(["--turn", &turn.to_string()])
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let words = output.stdout.chunks_exact(size_of::<f64>());
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut words = words.map(word);
    let mut rows = Vec::new();
    while let Some(count) = words.next() {
        let row = words.by_ref().take(count as usize);
        rows.push(row.map(f64::from_bits).collect());
    }
    Ok(Turn(rows))
}

/// Stretch by stretch, so that what hits a process now and then does not hide
/// what growth does each time. The last run keeps them.
fn keep_the_lowest(rows: &mut [Row]) {
    for last in 1..rows.len() {
        let (before, row) = rows.split_at_mut(last);
        let row = &mut row[0];
        let same = |it: &&mut Row| it.case() == row.case() && it.subject == row.subject;
        if let Some(before) = before.iter_mut().rev().find(same) {
            let others = std::mem::take(&mut before.stretches);
            for (worst, other) in row.stretches.iter_mut().zip(others) {
                *worst = other.min(*worst);
            }
        }
    }
}
