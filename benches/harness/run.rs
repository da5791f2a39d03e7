//! The runner of all benches. A bench is a [`Plan`]; the runner reads the
//! arguments, checks every subject against the model, lets the subjects take
//! turns, shows the progress, and prints summary, goals and tables.
//!
//! Within a case the subjects take turns, each once a round and in another order each
//! round, so that a machine that drifts hits all alike, and that none always finds in
//! the caches, or has to map again, what the same other one has left. What is quoted is
//! the median over turns of the mean of a turn.

use std::process::{Command, ExitCode};

use indicatif::{ProgressBar, ProgressStyle};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::arguments::Arguments;
use crate::clock::{self, CoreClock};
use crate::machine::{self, Machine};
use crate::operation::Setting;
use crate::record::{Bench, Figures, Metric, Record, Row};
use crate::table::{self, Column};

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
    /// What is said of the figures.
    pub results: fn(&Record, bench: &str) -> Results,
}

/// What is said of the figures of a bench.
pub struct Results {
    /// Each compares a container with one in use today.
    pub sentences: Vec<String>,
    /// Short tables, each with its title.
    pub tables: Vec<(String, String)>,
    /// The workshop's goals, if the bench has some.
    pub goals: Option<String>,
    /// What was found and may not be: the bench fails.
    pub missed: Vec<String>,
}

/// Rows that are measured in one go, on all their subjects.
#[derive(Clone)]
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

impl Case {
    /// Rows that all these subjects have.
    #[must_use]
    pub fn of(
        rows: &[&'static str],
        turns: usize,
        columns: &'static [Column],
        entries: Vec<Entry>,
    ) -> Self {
        Case {
            rows: rows.to_vec(),
            turns,
            columns,
            entries,
        }
    }
}

impl Entry {
    /// One whose turns check their answers.
    #[must_use]
    pub fn of(subject: &'static str, turn: fn(Setting) -> Turn) -> Self {
        Entry {
            subject,
            check: || Ok(()),
            turn,
        }
    }
}

/// What one turn gave, for each row of the case; nothing of a row that the subject
/// cannot do.
#[derive(Serialize, Deserialize)]
pub struct Turn(pub Vec<Measured>);

/// What one turn gave of a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The ticks of an operation, one figure for each stretch that was timed.
    pub ticks: Vec<f64>,
    /// Minor page faults of all operations together, if they were counted.
    pub faults: Option<u64>,
    /// What it found out itself.
    pub facts: Vec<(Metric, f64)>,
    /// Bytes of memory over time, for a picture.
    pub memory: Vec<u64>,
}

impl Measured {
    /// Page faults alone.
    #[must_use]
    pub fn faults(faults: u64) -> Self {
        Measured {
            faults: Some(faults),
            ..Measured::default()
        }
    }

    /// Facts alone.
    #[must_use]
    pub fn facts(facts: &[(Metric, f64)]) -> Self {
        Measured {
            facts: facts.to_vec(),
            ..Measured::default()
        }
    }
}

impl From<Vec<f64>> for Measured {
    fn from(ticks: Vec<f64>) -> Self {
        Measured {
            ticks,
            ..Measured::default()
        }
    }
}

impl From<Vec<f64>> for Turn {
    fn from(ticks: Vec<f64>) -> Self {
        Turn(vec![ticks.into()])
    }
}

impl<M: Into<Measured>, const ROWS: usize> From<[M; ROWS]> for Turn {
    fn from(rows: [M; ROWS]) -> Self {
        Turn(rows.map(M::into).into())
    }
}

/// The entries of subjects by name: `entries!(u64, growing: SlabCrate Plain; paced: SlotMap)`.
#[macro_export]
macro_rules! entries {
    ($value:ty, $($turn:ident: $($subject:ident)*);*) => {
        vec![$($($crate::run::Entry {
            subject: <$subject<$value> as $crate::Subject<$value>>::NAME,
            check: $crate::model::check::<$value, $subject<$value>>,
            turn: |setting| $turn::<$value, $subject<$value>>(setting).into(),
        }),*),*]
    };
}

/// The entries of subjects of a role, of a function with the subject and what else it takes:
/// `entries_of!(Share, clone_drop[true]: Buf, Bytes)`. Its turns check their answers.
#[macro_export]
macro_rules! entries_of {
    ($role:path, $turn:ident $more:tt: $($subject:ty),*) => {
        vec![$($crate::entries_of!(@ $subject, $role, $turn $more)),*]
    };
    (@ $subject:ty, $role:path, $turn:ident[$($more:tt)*]) => {
        $crate::run::Entry::of(<$subject as $role>::NAME, $turn::<$subject, $($more)*>)
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

impl Results {
    fn in_short(&self) -> String {
        let mut text = String::new();
        if !self.sentences.is_empty() {
            text += &format!("\n- {}\n", self.sentences.join("\n- "));
        }
        for (title, table) in &self.tables {
            text += &format!("\n{title}\n{table}\n");
        }
        text.trim_end().to_owned()
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
        let before = machine::Interruptions::now();
        let progress = ProgressBar::new(all as u64 * u64::from(runs)).with_style(
            ProgressStyle::with_template("{bar:30} {pos}/{len}, {eta} left: {msg}")
                .expect("a template"),
        );
        for run in 1..=runs {
            for it in &planned {
                // The figures of a quick run say nothing, and facts are no times: these need
                // no certain clock.
                let columns = it.case.columns;
                let facts = columns.iter().all(|it| it.metric().is_fact());
                let ticks_per_cycle = match arguments.quick || facts {
                    true => CoreClock::measured_once().estimate(),
                    false => CoreClock::measured().certain()?,
                };
                let rows = self.measure(it, turns(it), run, ticks_per_cycle, &progress)?;
                if record.rows.is_empty() && !arguments.quick {
                    progress.suspend(|| println!("{}", first_figures(&rows)));
                }
                record.rows.extend(rows);
            }
        }
        progress.finish_and_clear();
        record.rows.retain(|row| arguments.takes_row(&row.row));
        keep_the_lowest(&mut record.rows);
        let results = (self.results)(&record, self.bench);
        let all = self.all_rows(&record, &planned, runs, &results);
        if arguments.quick {
            println!("\nAll answers are right. The figures are of few turns: they say nothing.");
        } else {
            println!("{}", table::for_terminal(&results.in_short()));
        }
        if arguments.all {
            println!("\n{all}");
        }
        let file = record.keep_for_page(self.bench, &all)?;
        if !arguments.quick && !arguments.all {
            println!(
                "\nAll rows: {}; with --all they are printed.",
                file.display()
            );
        }
        if let Some(warning) = before.warning() {
            println!("{warning}");
        }
        if !results.missed.is_empty() {
            return Err(format!("not as claimed:\n{}", results.missed.join("\n")));
        }
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
            let mut order: Vec<usize> = (0..case.entries.len()).collect();
            let seed = u64::from(run) << 32 | turn as u64;
            order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            for at in order {
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
                let measured: Vec<&Measured> =
                    turns.iter().filter_map(|Turn(it)| it.get(number)).collect();
                let turns: Vec<&[f64]> = measured.iter().map(|it| &*it.ticks).collect();
                let timed = turns.iter().filter(|turn| !turn.is_empty());
                let mean = |turn: &&[f64]| turn.iter().sum::<f64>() / turn.len() as f64;
                let figures = Figures {
                    means: timed.map(mean).collect(),
                    sorted: sorted(turns.concat()),
                    faults: measured.iter().filter_map(|it| it.faults).collect(),
                    facts: measured.iter().flat_map(|it| it.facts.clone()).collect(),
                };
                let memory = measured.first().map_or(&[][..], |it| &*it.memory);
                let metrics = case.columns.iter().map(|it| it.metric());
                let metrics = metrics.chain(Metric::FACTS);
                let stretch = |count: usize| {
                    let first = turns.first().copied().unwrap_or_default();
                    first.chunks(first.len().div_ceil(count).max(1))
                };
                let worst = |ticks: &[f64]| ticks.iter().fold(0.0, |a, &b| f64::max(a, b)) as u64;
                rows.push(Row {
                    bench: self.bench.to_owned(),
                    row: (*row).to_owned(),
                    bytes: *bytes,
                    live: *live,
                    subject: entry.subject.to_owned(),
                    run,
                    ticks_per_cycle,
                    values: metrics
                        .filter_map(|it| Some((it, it.of(&figures)?)))
                        .collect(),
                    stretches: match self.stretches {
                        Some(count) => stretch(count).map(worst).collect(),
                        None => memory.to_vec(),
                    },
                });
            }
        }
        Ok(rows)
    }

    /// All tables, and the workshop's goals.
    fn all_rows(
        &self,
        record: &Record,
        planned: &[Planned],
        runs: u32,
        results: &Results,
    ) -> String {
        let mut text = Vec::new();
        if let Some(goals) = &results.goals {
            text.push(format!(
                "Goals, as ratios; what misses is **marked**.\n\n{goals}"
            ));
        }
        if let Some(tables) = self.tables {
            text.push(tables(record));
            return text.join("\n\n");
        }
        let runs = match runs {
            1 => String::new(),
            runs => format!(", {runs} runs"),
        };
        for case in record.cases(self.bench) {
            let (row, bytes) = (case.row, case.bytes);
            let live = table::thousands(case.live);
            let of_row = |it: &&Planned| it.case.rows.contains(&row);
            let columns = planned
                .iter()
                .find(of_row)
                .map_or(&[][..], |it| it.case.columns);
            let table = table::subjects(record, "", &[case], columns);
            text.push(format!("{row}, {bytes} bytes, {live} live{runs}\n{table}"));
        }
        text.join("\n\n")
    }

    /// In the process of one turn: what [`in_a_process_of_its_own`] asks for.
    fn one_turn(&self, arguments: &Arguments) -> Result<(), String> {
        let planned = self.planned(arguments).into_iter();
        let row = |it: &Planned| Some(it.case.rows[0]) == arguments.row.as_deref();
        let mut it = { planned }.find(row).ok_or("nothing is planned")?;
        let named = |entry: &Entry| arguments.subject.iter().any(|it| it == entry.subject);
        it.case.entries.retain(named);
        let entry = it.case.entries.first().ok_or("there is no such subject")?;
        (entry.check)()?;
        // The process pins itself in the turn, once its container is there: what
        // the turn needs of the clock it measures itself.
        let turn = (entry.turn)(setting(it.live, 0, arguments.turn));
        serde_json::to_writer(std::io::stdout(), &turn).map_err(|error| error.to_string())
    }
}

/// The first row, for a reader who does not wait for the others: core cycles.
fn first_figures(rows: &[Row]) -> String {
    let figure = |row: &Row| {
        let ticks = row.values.get(&Metric::Ticks)?;
        Some(format!(
            "{} {:.1}",
            row.subject,
            ticks / row.ticks_per_cycle
        ))
    };
    let figures: Vec<String> = rows.iter().filter_map(figure).take(5).collect();
    match rows.first() {
        Some(row) if !figures.is_empty() => {
            let Row { row, bytes, .. } = row;
            format!(
                "first, {row} of {bytes} bytes, core cycles: {}",
                figures.join("; ")
            )
        }
        _ => String::new(),
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

/// The variable of the environment that names the row to the process of a turn, which may have
/// to know it before it parses its arguments.
pub const ROW: &std::ffi::CStr = c"FLATSLAB_ROW";

fn sorted(mut ticks: Vec<f64>) -> Vec<f64> {
    ticks.sort_unstable_by(f64::total_cmp);
    ticks
}

/// A turn of a case, in another process, which writes what it gave.
fn in_a_process_of_its_own(it: &Planned, entry: &Entry, turn: usize) -> Result<Turn, String> {
    let failed = |what: &str| format!("{}, {} bytes: {what}", entry.subject, it.bytes);
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let number = |option: &str, number: usize| [option.to_owned(), number.to_string()];
    let output = Command::new(program)
        .args(["--child", "--subject", entry.subject, it.case.rows[0]])
        .args(number("--bytes", it.bytes))
        .args(number("--live", it.live))
        .args(number("--turn", turn))
        .env(ROW.to_str().expect("ASCII"), it.case.rows[0])
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error.to_string()))
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
