//! Which of the workshop's goals are met: a line for each.

use crate::goals::{Bound, GOALS, Goal};
use crate::record::{Case, Metric, Record};
use crate::{epoch, table};

/// A bound of a goal, and what was measured.
struct Judged<'r> {
    goal: &'static Goal,
    bound: &'static Bound,
    case: Case<'r>,
    ratio: f64,
}

impl Judged<'_> {
    fn is_met(&self) -> bool {
        self.bound.is_met(self.ratio)
    }

    /// The ratio, **marked** if it misses.
    fn figure(&self) -> String {
        table::marked(format!("{:.2}", self.ratio), !self.is_met())
    }

    /// The size and number of values, as far as the rows of the bench differ in them.
    fn size(&self) -> String {
        let Case { bytes, live, .. } = self.case;
        if self.goal.bench == epoch::BENCH {
            return String::new();
        }
        match self.goal.live.len() {
            1 => format!("{bytes} B"),
            _ => format!("{bytes} B, {} live", table::thousands(live)),
        }
    }
}

/// All bounds of a bench's goals that were measured.
fn judged<'r>(record: &'r Record, bench: &str) -> Vec<Judged<'r>> {
    let mut all = Vec::new();
    let mut cases = record.cases(bench);
    cases.sort_by_key(|case| (case.live, case.bytes));
    for goal in GOALS.iter().filter(|goal| goal.bench == bench) {
        for &case in &cases {
            let ratios = goal.ratios(record, case).into_iter();
            all.extend(ratios.map(|(bound, ratio)| Judged {
                goal,
                bound,
                case,
                ratio,
            }));
        }
    }
    all
}

/// All goals of a bench, a line for each row of each, and how many are met. What misses is
/// **marked**.
#[must_use]
pub fn goals(record: &Record, bench: &str) -> Option<String> {
    let judged = judged(record, bench);
    let row = |it: &Judged<'_>| {
        let bytes = match it.size() {
            size if size.is_empty() => size,
            size => format!(", {size}"),
        };
        let what = format!(
            "{}{bytes}: {}, {}",
            it.case.row,
            table::prose(it.goal.subject),
            it.goal.metric.name()
        );
        vec![what, it.bound.head(it.goal), it.figure()]
    };
    let rows: Vec<Vec<String>> = judged.iter().map(row).collect();
    let head = ["", "at most", "measured"].map(str::to_owned);
    let table = table::markdown(&head, &rows);
    let met = judged.iter().filter(|it| it.is_met()).count();
    let count = format!("{met} of {} goals are met.", judged.len());
    (!rows.is_empty()).then(|| format!("{table}\n\n{count}"))
}

/// The goals of a bench that are missed and are of [facts](Metric::FACTS): a line each.
#[must_use]
pub fn missed_facts(record: &Record, bench: &str) -> Vec<String> {
    let judged = judged(record, bench);
    let facts = judged.iter().filter(|it| it.goal.metric.is_fact());
    let missed = facts.filter(|it| !it.is_met());
    let line = |it: &Judged<'_>| {
        let head = it.goal.head();
        format!("{}: {:.2}; at most: {head}", it.case.row, it.ratio)
    };
    missed.map(line).collect()
}

impl Goal {
    fn head(&self) -> String {
        let bounds: Vec<String> = self.bounds.iter().map(|bound| bound.head(self)).collect();
        let subject = table::prose(self.subject);
        match self.metric {
            Metric::Ticks => format!("{subject}: {}", bounds.join(" · ")),
            metric => format!("{subject}, {}: {}", metric.name(), bounds.join(" · ")),
        }
    }

    /// The ratio of each bound, where it applies and was measured.
    fn ratios(&'static self, record: &Record, case: Case<'_>) -> Vec<(&'static Bound, f64)> {
        if !self.rows.contains(&case.row)
            || !self.bytes.contains(&case.bytes)
            || !self.live.contains(&case.live)
        {
            return Vec::new();
        }
        let ratio = |bound: &Bound| {
            if bound.of.is_empty() {
                return record.value(case, self.subject, self.metric);
            }
            bound.of.iter().find_map(|of| {
                let (subject, limit) = (
                    (self.subject, self.metric),
                    (*of, bound.metric, bound.plus_cycles),
                );
                match bound.less {
                    None => record.ratio(case, subject, limit),
                    Some(less) => record.ratio_less(case, subject, (*of, bound.metric), less),
                }
            })
        };
        let bounds = self.bounds.iter();
        bounds
            .filter_map(|bound| Some((bound, ratio(bound)?)))
            .collect()
    }
}

impl Bound {
    fn head(&self, goal: &Goal) -> String {
        let Some(of) = self.of.first() else {
            return format!("{:.0}", self.factor);
        };
        let of = table::prose(of);
        let metric = match self.metric == goal.metric {
            true => String::new(),
            false => format!(" {}", self.metric.name()),
        };
        match (self.plus_cycles, self.less) {
            (_, Some(less)) => {
                let less = table::prose(less);
                format!("{:.2} × {of}{metric}, both less {less}", self.factor)
            }
            (0.0, None) => format!("{:.2} × {of}{metric}", self.factor),
            (cycles, None) => format!("{:.2} × ({of}{metric} + {cycles:.0} cycles)", self.factor),
        }
    }

    /// Whether a ratio, as it is printed, is within the bound.
    fn is_met(&self, ratio: f64) -> bool {
        (ratio * 100.0).round() <= (self.factor * 100.0).round()
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
        let goals = goals(&record, "cycles").expect("two goals");
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
}
