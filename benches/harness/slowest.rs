//! The slowest single operation: programs whose operations are timed one by one, and the
//! table that tells the longest of each beside the median.
//!
//! A program does the same each time that it runs. It runs several times, and the least
//! that an operation took counts at each place: an interrupt hits another place each time, and
//! work that an operation has to do is there each time.

use std::hint::black_box;

use crate::clock;
use crate::operation::Setting;
use crate::record::{Metric, Record};
use crate::run::Measured;
use crate::table::{self, line};

/// The bench.
pub const BENCH: &str = "slowest";

/// What one operation may take, in steps.
const STEPS: f64 = 64.0;

/// A step: a load that has to wait for the one before it, of a line among as many as there are
/// values, at random. Whatever an operation has to do for others, it finds by such loads.
pub const STEP: &str = "one step: a load at random";

/// What is measured besides: no container.
pub const FLOOR: &str = "floor";

/// How often a program runs.
const PASSES: usize = 9;

/// The operations of a program, each timed by itself.
pub struct Watch {
    least: Vec<u64>,
    at: usize,
}

impl Watch {
    /// Times one operation.
    #[inline(always)]
    pub fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        let begun = clock::start();
        let result = black_box(operation());
        let ticks = clock::stop() - begun;
        match self.least.get_mut(self.at) {
            Some(least) => *least = ticks.min(*least),
            None => self.least.push(ticks),
        }
        self.at += 1;
        result
    }
}

/// Runs a program several times, with a watch for each kind of operation: the least ticks of
/// each of them.
pub fn passes<const KINDS: usize>(
    setting: &Setting,
    mut program: impl FnMut(&mut [Watch; KINDS]),
) -> [Measured; KINDS] {
    let mut watches = [const {
        Watch {
            least: Vec::new(),
            at: 0,
        }
    }; KINDS];
    for _ in 0..PASSES {
        for watch in &mut watches {
            watch.at = 0;
        }
        program(&mut watches);
    }
    watches.map(|watch| {
        let ticks = watch.least.into_iter();
        let ticks = ticks.map(|ticks| ticks.saturating_sub(setting.overhead) as f64);
        Measured::from(ticks.collect::<Vec<_>>())
    })
}

/// One operation of a container.
struct Slowest<'r> {
    subject: &'r str,
    operation: &'r str,
    /// Ticks.
    median: f64,
    worst: f64,
    /// The worst in [steps](STEP).
    steps: f64,
}

fn all(record: &Record) -> Vec<Slowest<'_>> {
    let mut all = Vec::new();
    let cases = record.cases(BENCH);
    let steps = cases.iter().find(|case| case.row == STEP);
    let Some(step) = steps.and_then(|case| record.value(*case, FLOOR, Metric::P50)) else {
        return all;
    };
    for case in cases {
        for subject in record.subjects(&[case]) {
            let value = |metric| record.value(case, subject, metric);
            if let (Some(median), Some(worst)) = (value(Metric::P50), value(Metric::Worst)) {
                all.push(Slowest {
                    subject,
                    operation: case.row,
                    median,
                    worst,
                    steps: worst / step,
                });
            }
        }
    }
    all
}

fn table(record: &Record, all: &[Slowest<'_>], marks: bool) -> String {
    let bench = record.bench(BENCH);
    let (ticks_per_ns, step) = bench.map_or((1.0, 1), |it| (it.ticks_per_ns, it.step));
    // Less than a step of the counter is read as none.
    let ns = |ticks: f64| match ticks {
        0.0 => format!("< {:.0}", step as f64 / ticks_per_ns),
        _ => format!("{:.0}", ticks / ticks_per_ns),
    };
    let of = |it: &Slowest<'_>| {
        let steps = table::marked(format!("{:.0}", it.steps), marks && it.steps > STEPS);
        let cells = [it.operation.to_owned(), ns(it.median), ns(it.worst), steps];
        line(table::prose(it.subject), cells)
    };
    let head = ["operation", "median, ns", "slowest, ns", "steps"];
    table::markdown(line("container", head), all.iter().map(of)).unwrap_or_default()
}

/// All of it, for a terminal or a document: nanoseconds, the median and the slowest of each
/// operation, and how many [steps](STEP) that is. What takes more than 64 is marked.
#[must_use]
pub fn tables(record: &Record) -> String {
    table(record, &all(record), true)
}

/// How many lines the short table has.
const LINES: usize = 4;

/// The operations of containers.
fn ours(record: &Record) -> Vec<Slowest<'_>> {
    let mut all = all(record);
    all.retain(|it| it.subject != FLOOR);
    all
}

/// The operations that take the most steps, one of a container.
#[must_use]
pub fn in_short(record: &Record) -> String {
    let mut most: Vec<Slowest<'_>> = Vec::new();
    for it in ours(record) {
        match most.iter_mut().find(|most| most.subject == it.subject) {
            Some(most) if it.worst <= most.worst => {}
            Some(most) => *most = it,
            None => most.push(it),
        }
    }
    most.sort_by(|a, b| b.worst.total_cmp(&a.worst));
    most.truncate(LINES);
    table(record, &most, false)
}
