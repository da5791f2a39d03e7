//! The workshop's goals, which are data (`benches/goals.json`), and which of them are met. What users
//! read compares with what they have ([`summary`](crate::summary), [`claims`](crate::claims)), not
//! with these.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::epoch;
use crate::record::{Case, Limit, Metric, Record};
use crate::table::{self, line};

/// What the file has. A `why` in it is for its readers alone.
#[derive(Deserialize)]
struct Goals {
    places: BTreeMap<String, Place>,
    rows: BTreeMap<String, Vec<String>>,
    bounds: BTreeMap<String, Bounds>,
    goals: Vec<Goal>,
}

/// The cases of a bench that a goal holds for.
#[derive(Deserialize)]
struct Place {
    bench: String,
    /// The value sizes.
    bytes: Vec<usize>,
    /// The numbers of live values.
    live: Vec<usize>,
}

/// One subject in some rows of a bench.
#[derive(Deserialize)]
struct Goal {
    /// The name of its place.
    at: String,
    subject: String,
    /// Rows, or names of rows.
    rows: Vec<String>,
    figure: Metric,
    /// What the figure must not exceed.
    most: Most,
}

/// Each of some bounds, which may have a name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Most {
    Named(String),
    Given(Vec<Bound>),
}

#[derive(Deserialize)]
struct Bounds {
    each: Vec<Bound>,
}

/// So many times what another subject takes and some core cycles more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    /// At most this ratio; at most this number where no other subject is named.
    times: f64,
    /// The first of these subjects that was measured.
    #[serde(default)]
    of: Vec<String>,
    /// Which of its figures, if it is another one than the goal's.
    metric: Option<Metric>,
    /// Core cycles that are added to it.
    #[serde(default)]
    plus_cycles: f64,
    /// What is taken off both sides: that subject's figure.
    less: Option<String>,
}

static GOALS: LazyLock<Goals> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../goals.json")).expect("what the types above say")
});

/// A bound of a goal, and what was measured.
struct Judged<'r> {
    goal: &'static Goal,
    bound: &'static Bound,
    case: Case<'r>,
    ratio: f64,
}

/// All bounds of a bench's goals that were measured.
fn judged<'r>(record: &'r Record, bench: &str) -> Vec<Judged<'r>> {
    let mut all = Vec::new();
    let mut cases = record.cases(bench);
    cases.sort_by_key(|case| (case.live, case.bytes));
    for goal in GOALS.goals.iter().filter(|it| it.place().bench == bench) {
        for &case in cases.iter().filter(|case| goal.holds_for(case)) {
            let bounds = goal.bounds().iter();
            all.extend(bounds.filter_map(|bound| {
                Some(Judged {
                    goal,
                    bound,
                    case,
                    ratio: goal.ratio(bound, record, case)?,
                })
            }));
        }
    }
    all
}

/// All goals of a bench, a line for each row of each, and how many are met. What misses is
/// **marked**.
#[must_use]
pub fn of_bench(record: &Record, bench: &str) -> Option<String> {
    let judged = judged(record, bench);
    let lines = judged.iter().map(|it| {
        let ratio = table::marked(format!("{:.2}", it.ratio), !it.is_met());
        line(it.what(), [it.bound.head(it.goal), ratio])
    });
    let table = table::markdown(line("", ["at most", "measured"]), lines)?;
    let met = judged.iter().filter(|it| it.is_met()).count();
    Some(format!(
        "{table}\n\n{met} of {} goals are met.",
        judged.len()
    ))
}

/// The goals of a bench that are missed and are of [facts](Metric::FACTS): a line each.
#[must_use]
pub fn missed_facts(record: &Record, bench: &str) -> Vec<String> {
    let judged = judged(record, bench).into_iter();
    let missed = judged.filter(|it| it.goal.figure.is_fact() && !it.is_met());
    let line = |it: Judged<'_>| {
        let bounds = it.goal.bounds().iter().map(|bound| bound.head(it.goal));
        let bounds: Vec<String> = bounds.collect();
        let (subject, metric) = (table::prose(&it.goal.subject), it.goal.figure.name());
        let head = format!("{subject}, {metric}: {}", bounds.join(" · "));
        format!("{}: {:.2}; at most: {head}", it.case.row, it.ratio)
    };
    missed.map(line).collect()
}

impl Judged<'_> {
    /// Whether the ratio, as it is printed, is within the bound.
    fn is_met(&self) -> bool {
        (self.ratio * 100.0).round() <= (self.bound.times * 100.0).round()
    }

    /// The row, the size and number of values, as far as the rows of the bench differ in them,
    /// and whose figure it is.
    fn what(&self) -> String {
        let Case {
            row, bytes, live, ..
        } = self.case;
        let Place {
            bench, live: lives, ..
        } = self.goal.place();
        let size = match lives.len() {
            _ if bench == epoch::BENCH => String::new(),
            1 => format!(", {bytes} B"),
            _ => format!(", {bytes} B, {} live", table::thousands(live)),
        };
        let (subject, metric) = (table::prose(&self.goal.subject), self.goal.figure.name());
        format!("{row}{size}: {subject}, {metric}")
    }
}

impl Goal {
    fn place(&self) -> &'static Place {
        &GOALS.places[&self.at]
    }

    fn bounds(&self) -> &[Bound] {
        match &self.most {
            Most::Named(name) => &GOALS.bounds[name].each,
            Most::Given(bounds) => bounds,
        }
    }

    fn has(&self, row: &str) -> bool {
        let is = |it: &String| match GOALS.rows.get(it) {
            Some(rows) => rows.iter().any(|it| it == row),
            None => it == row,
        };
        self.rows.iter().any(is)
    }

    fn holds_for(&self, case: &Case<'_>) -> bool {
        let Place { bytes, live, .. } = self.place();
        self.has(case.row) && bytes.contains(&case.bytes) && live.contains(&case.live)
    }

    /// The ratio to a bound, where it was measured.
    fn ratio(&self, bound: &Bound, record: &Record, case: Case<'_>) -> Option<f64> {
        if bound.of.is_empty() {
            return record.value(case, &self.subject, self.figure);
        }
        let to = |subject: &String| {
            let limit = Limit {
                subject,
                metric: bound.metric.unwrap_or(self.figure),
                plus_cycles: bound.plus_cycles,
                less: bound.less.as_deref(),
            };
            record.ratio_to(case, (&self.subject, self.figure), &limit)
        };
        bound.of.iter().find_map(to)
    }
}

impl Bound {
    fn head(&self, goal: &Goal) -> String {
        let Some(of) = self.of.first() else {
            return format!("{:.0}", self.times);
        };
        let of = table::prose(of);
        let metric = match self.metric {
            Some(metric) if metric != goal.figure => format!(" {}", metric.name()),
            _ => String::new(),
        };
        match (self.plus_cycles, &self.less) {
            (_, Some(less)) => {
                let less = table::prose(less);
                format!("{:.2} × {of}{metric}, both less {less}", self.times)
            }
            (0.0, None) => format!("{:.2} × {of}{metric}", self.times),
            (cycles, None) => format!("{:.2} × ({of}{metric} + {cycles:.0} cycles)", self.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::record::Row;

    #[test]
    fn a_goal_that_is_missed_is_marked() {
        let row = |subject: &str, bytes, ticks| Row {
            bench: "cycles".to_owned(),
            row: "CONTAINS".to_owned(),
            bytes,
            live: 8192,
            subject: subject.to_owned(),
            run: 1,
            ticks_per_cycle: 1.0,
            values: [(Metric::Ticks, ticks)].into(),
            stretches: Vec::new(),
        };
        let mut record = Record::new(Machine::this());
        record.rows = vec![
            row("slab", 8, 2.0),
            row("BoundedSlab, Key", 8, 2.1),
            row("slab", 64, 2.0),
            row("BoundedSlab, Key", 64, 3.0),
        ];
        let goals = of_bench(&record, "cycles").expect("two goals");
        assert!(goals.ends_with("1 of 2 goals are met."), "{goals}");
        assert!(
            goals.contains("**1.50**") && !goals.contains("**1.05**"),
            "{goals}"
        );
        assert!(
            goals.contains("CONTAINS, 64 B: `BoundedSlab`, `Key`"),
            "{goals}"
        );
    }

    #[test]
    fn what_a_goal_names_is_there_and_was_recorded() {
        let records = Record::newest_of_each_bench().expect("records");
        for goal in &GOALS.goals {
            let bench = &goal.place().bench;
            let rows = || records.iter().flat_map(|(_, it)| &it.rows);
            let of_it = || rows().filter(|it| it.bench == *bench && it.subject == goal.subject);
            assert!(
                of_it().any(|it| goal.has(&it.row)),
                "{bench}: {}",
                goal.subject
            );
            for bound in goal.bounds() {
                let was_recorded = |name: &String| rows().any(|it| it.subject == *name);
                assert!(bound.of.iter().all(was_recorded), "{bench}: {:?}", bound.of);
            }
        }
    }
}
