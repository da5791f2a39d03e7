//! What the slabs are to reach, as ratios to the `slab` crate in the same run.
//!
//! Some goals are weaker than what is known of unsafe access by key, 0.67 for
//! GET and 0.75 for REMOVE: ours checks. The untracked accessor, which does
//! not track borrows, stands beside it.

use crate::record::{Run, Table, median};
use crate::table;

/// One row of the goal table: an operation on values of a size, in the same
/// role of both slabs.
pub struct Goal {
    /// What the row is called.
    pub label: &'static str,
    operation: &'static str,
    bytes: usize,
    live: usize,
    /// The role, as it stands behind the slab's name.
    role: &'static str,
    bounded: Limit,
    growable: Limit,
}

/// What is to be reached.
#[derive(Clone, Copy)]
pub enum Limit {
    /// At most this ratio to `slab`.
    Ratio(f64),
    /// What the floor takes.
    Floor,
    /// Measured, without a goal.
    None,
}

const fn goal(
    label: &'static str,
    operation: &'static str,
    (bytes, live): (usize, usize),
    role: &'static str,
    (bounded, growable): (Limit, Limit),
) -> Goal {
    Goal {
        label,
        operation,
        bytes,
        live,
        role,
        bounded,
        growable,
    }
}

const fn at_most(bounded: f64, growable: f64) -> (Limit, Limit) {
    (Limit::Ratio(bounded), Limit::Ratio(growable))
}

const WORDS: (usize, usize) = (8, 8192);
const LINES: (usize, usize) = (64, 8192);
const MANY_LINES: (usize, usize) = (64, 1 << 20);

/// All rows.
pub const GOALS: &[Goal] = &[
    goal(
        "INSERT fresh, `Slot`",
        "INSERT fresh",
        WORDS,
        "Slot",
        at_most(0.48, 0.50),
    ),
    goal(
        "INSERT steady, `Slot`",
        "INSERT steady",
        WORDS,
        "Slot",
        at_most(0.25, 0.26),
    ),
    goal(
        "GET random, `Slot`",
        "GET random",
        WORDS,
        "Slot",
        at_most(0.78, 0.78),
    ),
    goal(
        "GET hot, `Slot`",
        "GET hot",
        WORDS,
        "Slot",
        (Limit::Floor, Limit::Floor),
    ),
    goal(
        "GET random, `Key`",
        "GET random",
        WORDS,
        "Key",
        at_most(1.05, 1.35),
    ),
    goal(
        "GET random, `SlotBox`",
        "GET random",
        WORDS,
        "SlotBox",
        at_most(0.78, 0.78),
    ),
    goal(
        "GET random, `Slot` unchecked",
        "GET random",
        WORDS,
        "Slot unchecked",
        at_most(0.78, 0.78),
    ),
    goal(
        "GET random, `Key` untracked",
        "GET random",
        WORDS,
        "Key untracked",
        at_most(0.95, 1.25),
    ),
    goal(
        "GET_MUT random, `Slot`",
        "GET_MUT random",
        WORDS,
        "Slot",
        at_most(0.76, 0.76),
    ),
    goal(
        "GET_MUT random, `Key`",
        "GET_MUT random",
        WORDS,
        "Key",
        at_most(1.05, 1.35),
    ),
    goal(
        "REPLACE, `Slot`",
        "REPLACE",
        WORDS,
        "Slot",
        at_most(0.80, 0.80),
    ),
    goal(
        "REPLACE, `Slot`, 64 B",
        "REPLACE",
        LINES,
        "Slot",
        at_most(0.96, 0.96),
    ),
    goal(
        "REMOVE random, `Slot`",
        "REMOVE random",
        WORDS,
        "Slot",
        at_most(0.92, 0.92),
    ),
    goal(
        "REMOVE random, `Key`",
        "REMOVE random",
        WORDS,
        "Key",
        at_most(1.05, 1.30),
    ),
    goal(
        "REMOVE random, `Slot`, 64 B",
        "REMOVE random",
        LINES,
        "Slot",
        at_most(0.68, 0.70),
    ),
    goal(
        "REMOVE random, `Key`, 64 B",
        "REMOVE random",
        LINES,
        "Key",
        (Limit::Ratio(0.75), Limit::None),
    ),
    goal(
        "FREE random, `Slot`",
        "FREE random",
        WORDS,
        "Slot",
        at_most(0.88, 0.88),
    ),
    goal(
        "FREE random, `Key`",
        "FREE random",
        WORDS,
        "Key",
        at_most(1.10, 1.35),
    ),
    goal(
        "CONTAINS, `is_valid`",
        "CONTAINS",
        WORDS,
        "Slot",
        at_most(0.97, 0.97),
    ),
    goal(
        "CONTAINS, `contains_key`",
        "CONTAINS",
        WORDS,
        "Key",
        at_most(1.42, 1.75),
    ),
    goal(
        "CHURN LIFO, `Slot`",
        "CHURN LIFO",
        WORDS,
        "Slot",
        at_most(0.78, 0.78),
    ),
    goal(
        "CHURN LIFO, `Slot`, 64 B",
        "CHURN LIFO",
        LINES,
        "Slot",
        at_most(0.75, 0.75),
    ),
    goal(
        "CHURN random, `Slot`",
        "CHURN random",
        WORDS,
        "Slot",
        at_most(0.82, 0.82),
    ),
    goal(
        "CHURN random, `Slot`, 64 B",
        "CHURN random",
        LINES,
        "Slot",
        at_most(0.76, 0.76),
    ),
    goal(
        "CHURN random, `Slot`, 1 Mi of 64 B",
        "CHURN random",
        MANY_LINES,
        "Slot",
        at_most(0.88, 0.88),
    ),
    goal(
        "TAKE and refill, `Slot`",
        "TAKE",
        WORDS,
        "Slot",
        at_most(0.45, 0.45),
    ),
];

/// The median over runs of a subject's ratio to `slab`; `None` where it was not
/// measured.
#[must_use]
pub fn ratio(
    runs: &[Run],
    operation: &str,
    bytes: usize,
    live: usize,
    subject: &str,
) -> Option<f64> {
    over_runs(runs, operation, bytes, live, |table| table.ratio(subject))
}

/// The same of the core cycles per operation.
#[must_use]
pub fn cycles(
    runs: &[Run],
    operation: &str,
    bytes: usize,
    live: usize,
    subject: &str,
) -> Option<f64> {
    over_runs(runs, operation, bytes, live, |table| {
        Some(table.row(subject)?.ticks / table.ticks_per_cycle)
    })
}

fn over_runs(
    runs: &[Run],
    operation: &str,
    bytes: usize,
    live: usize,
    figure: impl Fn(&Table) -> Option<f64>,
) -> Option<f64> {
    let tables = runs.iter().flat_map(|run| &run.tables);
    let figures: Vec<f64> = tables
        .filter(|table| (&*table.operation, table.bytes, table.live) == (operation, bytes, live))
        .filter_map(figure)
        .collect();
    (!figures.is_empty()).then(|| median(figures))
}

/// The goal table of these runs: goal and measured for both slabs, the floors
/// beside them. Rows that were not measured are left out.
#[must_use]
pub fn render(runs: &[Run]) -> Option<String> {
    let rows: Vec<Vec<String>> = GOALS.iter().filter_map(|goal| goal.row(runs)).collect();
    let head = [
        "ratio to `slab`",
        "goal",
        "`BoundedSlab`",
        "goal",
        "`Slab`",
        "floor",
        "stamped floor",
        "bare floor",
        "`slab`, cycles",
    ];
    (!rows.is_empty()).then(|| table::markdown(&head, &rows))
}

impl Goal {
    fn row(&self, runs: &[Run]) -> Option<Vec<String>> {
        let ratio = |subject: &str| ratio(runs, self.operation, self.bytes, self.live, subject);
        let floor = ratio("floor");
        let measured = |slab: &str, limit: Limit| {
            let found = ratio(&format!("{slab}, {}", self.role));
            let shown = found.map(|found| {
                if limit.is_met(found, floor) {
                    format!("{found:.2}")
                } else {
                    format!("**{found:.2}**")
                }
            });
            [limit.to_string(), shown.unwrap_or_else(|| "–".to_owned())]
        };
        let shown =
            |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |it| format!("{it:.2}"));
        let slab = cycles(runs, self.operation, self.bytes, self.live, "slab")?;
        let mut row = vec![self.label.to_owned()];
        row.extend(measured("BoundedSlab", self.bounded));
        row.extend(measured("Slab", self.growable));
        row.extend([
            shown(floor),
            shown(ratio("floor, stamped")),
            shown(ratio("floor, bare")),
            format!("{slab:.1}"),
        ]);
        Some(row)
    }
}

impl Limit {
    /// Whether a ratio, as it is printed, is within the limit.
    fn is_met(self, ratio: f64, floor: Option<f64>) -> bool {
        let printed = |ratio: f64| (ratio * 100.0).round();
        match self {
            Limit::Ratio(limit) => printed(ratio) <= printed(limit),
            Limit::Floor => floor.is_none_or(|floor| printed(ratio) <= printed(floor)),
            Limit::None => true,
        }
    }
}

impl core::fmt::Display for Limit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Limit::Ratio(limit) => write!(f, "≤ {limit:.2}"),
            Limit::Floor => write!(f, "floor"),
            Limit::None => write!(f, "–"),
        }
    }
}
