//! What the figures say: the summary for a stranger, and which goals are missed.

use crate::goals::{
    Bound, Comparison, GOALS, Goal, SUMMARY, SUMMARY_BYTES, TOLD, TOLD_OF, TOLD_TO, Told,
};
use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING};
use crate::{epoch, threads};

/// A difference this small comes and goes from one build to the next.
const LEVEL: f64 = 0.03;

/// What is faster than what people use today, by how much, and where it is not: a
/// line for each comparison that was measured.
#[must_use]
pub fn summary(record: &Record) -> Vec<String> {
    SUMMARY.iter().filter_map(|it| it.line(record)).collect()
}

impl Comparison {
    fn line(&self, record: &Record) -> Option<String> {
        let (subject, reference) = (
            (self.subject, self.metric),
            (self.reference, self.metric, 0.0),
        );
        let mut rows: Vec<(f64, Case<'_>)> = record
            .cases(self.bench)
            .into_iter()
            .filter(|case| case.live == self.live && case.bytes <= SUMMARY_BYTES)
            .filter_map(|case| Some((record.ratio(case, subject, reference)?, case)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, worst) = (rows.first()?, rows.last()?);
        let count = |wanted: fn(f64) -> bool| rows.iter().filter(|row| wanted(row.0)).count();
        let (faster, slower) = (
            count(|ratio| ratio < 1.0 - LEVEL),
            count(|ratio| ratio > 1.0 + LEVEL),
        );
        let (all, level) = (rows.len(), rows.len() - faster - slower);
        let counts = if faster == all {
            format!("faster in all {all} rows")
        } else if slower == all {
            format!("slower in all {all} rows")
        } else {
            format!("faster in {faster} of {all} rows, level in {level}, slower in {slower}")
        };
        let result = match all {
            1 => pace(*best),
            _ => format!("{counts}; from {} to {}", pace(*best), pace(*worst)),
        };
        Some(format!(
            "{} against {}{}: {result}.",
            table::prose(self.subject),
            table::prose(self.reference),
            self.what
        ))
    }
}

/// A ratio and its case in words.
fn pace((ratio, case): (f64, Case<'_>)) -> String {
    let pace = if ratio < 1.0 - LEVEL {
        format!("{:.1} × as fast", 1.0 / ratio)
    } else if ratio > 1.0 + LEVEL {
        format!("{ratio:.1} × the time")
    } else {
        "level".to_owned()
    };
    format!("{pace} ({}, {} bytes)", case.row, case.bytes)
}

/// The speed-ups over malloc that are told of another allocator, and ours on this
/// machine: a row for each of ours, a column for each value size. `None` if there is
/// none in the record.
#[must_use]
pub fn told(record: &Record, bench: &str) -> Option<String> {
    let told = TOLD.iter().filter(|told| told.bench == bench);
    let rows = told.flat_map(|told| told.rows.iter().map(move |row| (told, *row)));
    let cases = record.cases(bench);
    let mut sizes: Vec<(usize, usize)> = cases.iter().map(|it| (it.bytes, it.live)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let ours = |(told, row): (&Told, &str)| {
        let speed = |&(bytes, live): &(usize, usize)| {
            let of_row = |it: &&Case<'_>| (it.row, it.bytes, it.live) == (row, bytes, live);
            record.ticks_ratio(*cases.iter().find(of_row)?, TOLD_TO.1, TOLD_TO.0)
        };
        let speeds: Vec<Option<f64>> = sizes.iter().map(speed).collect();
        speeds.iter().any(Option::is_some).then(|| {
            let mut cells = vec![row.to_owned(), format!("{}: {:.2}", told.what, told.speed)];
            let shown = |it: Option<f64>| it.map_or(NOTHING.to_owned(), |it| format!("{it:.2}"));
            cells.extend(speeds.into_iter().map(shown));
            cells
        })
    };
    let rows: Vec<Vec<String>> = rows.filter_map(ours).collect();
    let mut head = vec![format!("× {}", TOLD_TO.1), TOLD_OF.to_owned()];
    let subject = table::prose(TOLD_TO.0);
    head.extend(
        sizes
            .iter()
            .map(|(bytes, _)| format!("{subject}, {bytes} B")),
    );
    (!rows.is_empty()).then(|| table::markdown(&head, &rows))
}

/// All goals of a bench, as [`goals_of`] has them.
#[must_use]
pub fn goals(record: &Record, bench: &str) -> Option<String> {
    // Their goals have hardly a row in common.
    if [epoch::BENCH, threads::BENCH].contains(&bench) {
        return listed(record, bench);
    }
    goals_of(record, bench, |_| true)
}

/// All goals of a bench, a line for each row of each, and how many are met.
fn listed(record: &Record, bench: &str) -> Option<String> {
    let (mut met, mut rows) = (0, Vec::new());
    for goal in GOALS.iter().filter(|goal| goal.bench == bench) {
        for case in record.cases(bench) {
            for (bound, ratio) in goal.ratios(record, case) {
                let is_met = bound.is_met(ratio);
                met += usize::from(is_met);
                let bytes = match goal.bytes.len() {
                    _ if bench == epoch::BENCH => String::new(),
                    _ => format!(", {} B", case.bytes),
                };
                let (subject, metric) = (table::prose(goal.subject), goal.metric.name());
                let what = format!("{}{bytes}: {subject}, {metric}", case.row);
                let figure = match is_met {
                    true => format!("{ratio:.2}"),
                    false => format!("**{ratio:.2}**"),
                };
                rows.push(vec![what, bound.head(goal), figure]);
            }
        }
    }
    let head = ["", "at most", "measured"].map(str::to_owned);
    let table = table::markdown(&head, &rows);
    (!rows.is_empty()).then(|| format!("{table}\n\n{met} of {} are met.", rows.len()))
}

/// Those goals of a bench, a column for each subject, and how many are met. What
/// misses is **marked**. `None` if nothing that has such a goal was measured.
#[must_use]
pub fn goals_of(record: &Record, bench: &str, are: fn(&Goal) -> bool) -> Option<String> {
    let goals = GOALS.iter().filter(|goal| goal.bench == bench && are(goal));
    let goals: Vec<&Goal> = goals.collect();
    let mut head = vec!["at most".to_owned()];
    head.extend(goals.iter().map(|goal| goal.head()));
    let (mut met, mut all) = (0, 0);
    let mut rows = Vec::new();
    for case in record.cases(bench) {
        let mut cell = |goal: &&Goal| {
            let ratios = goal.ratios(record, case);
            all += ratios.len();
            let shown = ratios.iter().map(|(bound, ratio)| {
                let is_met = bound.is_met(*ratio);
                met += usize::from(is_met);
                match is_met {
                    true => format!("{ratio:.2}"),
                    false => format!("**{ratio:.2}**"),
                }
            });
            shown.collect::<Vec<_>>().join(" · ")
        };
        let cells: Vec<String> = goals.iter().map(&mut cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let mut label = format!("{}, {} B", case.row, case.bytes);
            if !goals[0].live.contains(&case.live) {
                label += &format!(", {} live", table::thousands(case.live));
            }
            let mut row = vec![label];
            row.extend(cells.into_iter().map(|cell| match cell.is_empty() {
                true => NOTHING.to_owned(),
                false => cell,
            }));
            rows.push(row);
        }
    }
    let table = table::markdown(&head, &rows);
    (all > 0).then(|| format!("{table}\n\n{met} of {all} are met."))
}

/// The goals of a bench that are missed and are of [facts](Metric::FACTS): a line each.
#[must_use]
pub fn missed_facts(record: &Record, bench: &str) -> Vec<String> {
    let goals = GOALS.iter().filter(|goal| goal.bench == bench);
    let goals = goals.filter(|goal| goal.metric.is_fact());
    let mut missed = Vec::new();
    for goal in goals {
        for case in record.cases(bench) {
            for (bound, ratio) in goal.ratios(record, case) {
                if !bound.is_met(ratio) {
                    let head = goal.head();
                    missed.push(format!("{}: {ratio:.2}; at most: {head}", case.row));
                }
            }
        }
    }
    missed
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
    fn ratios(&self, record: &Record, case: Case<'_>) -> Vec<(&Bound, f64)> {
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
