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
/// line for each comparison that one of the records has.
#[must_use]
pub fn summary<'r>(records: impl Iterator<Item = &'r Record> + Clone) -> Vec<String> {
    let line = |it: &Comparison| records.clone().find_map(|record| it.line(record));
    SUMMARY.iter().filter_map(line).collect()
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
        let every = match all {
            2 => "both".to_owned(),
            _ => format!("all {all}"),
        };
        let counts = if faster == all {
            format!("faster in {every} rows")
        } else if slower == all {
            format!("slower in {every} rows")
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
        marked(format!("{:.2}", self.ratio), !self.is_met())
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

/// A figure of a table, in bold if it misses a goal.
#[must_use]
pub fn marked(figure: String, is_missed: bool) -> String {
    match is_missed {
        true => format!("**{figure}**"),
        false => figure,
    }
}

/// Whether a subject misses one of its goals of this metric.
#[must_use]
pub fn is_missed(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> bool {
    let of_it = |goal: &&Goal| goal.bench == case.bench && goal.subject == subject;
    let goals = GOALS.iter().filter(of_it);
    let mut goals = goals.filter(|goal| goal.metric == metric);
    goals.any(|goal| {
        let ratios = goal.ratios(record, case);
        ratios.iter().any(|(bound, ratio)| !bound.is_met(*ratio))
    })
}

/// The bound of one subject's metric that refers to another subject, or to none if that has
/// no goal of it: as it is printed, and whether it is missed.
#[must_use]
pub fn bound(
    record: &Record,
    case: Case<'_>,
    (subject, metric): (&str, Metric),
    reference: &str,
) -> Option<(String, bool)> {
    let of_it = |goal: &&Goal| (goal.bench, goal.subject) == (case.bench, subject);
    let goals = GOALS.iter().filter(of_it);
    let goals = goals.filter(|goal| goal.metric == metric);
    let all = goals.flat_map(|goal| {
        let ratios = goal.ratios(record, case).into_iter();
        ratios.map(move |(bound, ratio)| (goal, bound, ratio))
    });
    let mut all = all.filter(|(_, bound, _)| bound.of.is_empty() || bound.of.contains(&reference));
    let (goal, bound, ratio) = all.next()?;
    let missed = !bound.is_met(ratio);
    let shown = match bound.of.is_empty() || bound.plus_cycles > 0.0 || bound.less.is_some() {
        true => bound.head(goal),
        false => format!("{:.2}", bound.factor),
    };
    Some((shown, missed))
}

/// All bounds of a bench's goals that were measured.
fn judged<'r>(record: &'r Record, bench: &str, are: fn(&Goal) -> bool) -> Vec<Judged<'r>> {
    let mut all = Vec::new();
    let mut cases = record.cases(bench);
    cases.sort_by_key(|case| (case.live, case.bytes));
    for goal in GOALS.iter().filter(|goal| goal.bench == bench && are(goal)) {
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

fn count(judged: &[Judged<'_>]) -> String {
    let met = judged.iter().filter(|it| it.is_met()).count();
    format!("{met} of {} goals are met.", judged.len())
}

/// All goals of a bench, a line for each row of each, and how many are met.
fn listed(record: &Record, bench: &str) -> Option<String> {
    let judged = judged(record, bench, |_| true);
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
    (!rows.is_empty()).then(|| format!("{table}\n\n{}", count(&judged)))
}

/// How many goals of a bench are met, and those that are missed: a line for each subject, in it
/// the bounds and the rows that miss them. `None` if nothing that has such a goal was measured.
#[must_use]
pub fn misses(record: &Record, bench: &str, are: fn(&Goal) -> bool) -> Option<(String, String)> {
    type Named<T> = Vec<(String, T)>;
    let judged = judged(record, bench, are);
    // By subject, bound and size of the values.
    let mut subjects: Named<Named<Named<Vec<String>>>> = Vec::new();
    for it in judged.iter().filter(|it| !it.is_met()) {
        let bounds = of_key(&mut subjects, table::prose(it.goal.subject));
        let bound = match it.goal.metric {
            Metric::Ticks => it.bound.head(it.goal),
            metric => format!("{} {}", metric.name(), it.bound.head(it.goal)),
        };
        let row = format!("{} {}", it.case.row, it.figure());
        of_key(of_key(bounds, bound), it.size()).push(row);
    }
    let of_size = |(size, rows): &(String, Vec<String>)| match size.is_empty() {
        true => rows.join(", "),
        false => format!("{size}: {}", rows.join(", ")),
    };
    let of_bound = |(bound, sizes): &(String, Named<Vec<String>>)| {
        let sizes: Vec<String> = sizes.iter().map(of_size).collect();
        format!("{bound} ({})", sizes.join("; "))
    };
    let line = |(subject, bounds): &(String, Named<Named<Vec<String>>>)| {
        let bounds: Vec<String> = bounds.iter().map(of_bound).collect();
        format!("- {subject} misses {}.", bounds.join(", "))
    };
    let lines: Vec<String> = subjects.iter().map(line).collect();
    (!judged.is_empty()).then(|| (count(&judged), lines.join("\n")))
}

/// The value of a key, which is added where it is missing.
fn of_key<V: Default>(map: &mut Vec<(String, V)>, key: String) -> &mut V {
    let at = map.iter().position(|it| it.0 == key);
    let at = at.unwrap_or_else(|| {
        map.push((key, V::default()));
        map.len() - 1
    });
    &mut map[at].1
}

/// How many of a bench's goals are met: a row for each subject, a column for each subject
/// that the bounds refer to.
#[must_use]
pub fn met(record: &Record, bench: &str) -> Option<String> {
    let judged = judged(record, bench, |_| true);
    let reference = |it: &Judged<'_>| it.bound.of.first().copied().unwrap_or_default();
    let (mut subjects, mut references) = (Vec::new(), Vec::new());
    for it in &judged {
        if !subjects.contains(&it.goal.subject) {
            subjects.push(it.goal.subject);
        }
        if !references.contains(&reference(it)) {
            references.push(reference(it));
        }
    }
    let row = |subject: &&str| {
        let cell = |other: &&str| {
            let of_both = |it: &&Judged<'_>| (it.goal.subject, reference(it)) == (*subject, *other);
            let all: Vec<bool> = (judged.iter().filter(of_both).map(Judged::is_met)).collect();
            match all.is_empty() {
                true => NOTHING.to_owned(),
                false => {
                    let met = all.iter().filter(|&&met| met).count();
                    format!("{met} of {}", all.len())
                }
            }
        };
        let cells = references.iter().map(cell);
        [table::prose(subject)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = subjects.iter().map(row).collect();
    let mut head = vec!["goals that are met, by what they refer to".to_owned()];
    head.extend(references.iter().map(|it| table::prose(it)));
    (!rows.is_empty()).then(|| table::markdown(&head, &rows))
}

/// Those goals of a bench, a column for each subject, and how many are met. What
/// misses is **marked**. `None` if nothing that has such a goal was measured.
#[must_use]
pub fn goals_of(record: &Record, bench: &str, are: fn(&Goal) -> bool) -> Option<String> {
    let goals = GOALS.iter().filter(|goal| goal.bench == bench && are(goal));
    let goals: Vec<&'static Goal> = goals.collect();
    let mut head = vec!["at most".to_owned()];
    head.extend(goals.iter().map(|goal| goal.head()));
    let (mut met, mut all) = (0, 0);
    let mut rows = Vec::new();
    for case in record.cases(bench) {
        let mut cell = |goal: &&'static Goal| {
            let ratios = goal.ratios(record, case);
            all += ratios.len();
            let shown = ratios.iter().map(|(bound, ratio)| {
                let is_met = bound.is_met(*ratio);
                met += usize::from(is_met);
                marked(format!("{ratio:.2}"), !is_met)
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
    (all > 0).then(|| format!("{table}\n\n{met} of {all} goals are met."))
}

/// The goals of a bench that are missed and are of [facts](Metric::FACTS): a line each.
#[must_use]
pub fn missed_facts(record: &Record, bench: &str) -> Vec<String> {
    let judged = judged(record, bench, |goal| goal.metric.is_fact());
    let missed = judged.iter().filter(|it| !it.is_met());
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
    fn misses_name_subject_bound_size_and_row() {
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
        let (count, misses) = misses(&record, "cycles", |_| true).expect("two goals");
        assert_eq!(count, "1 of 2 goals are met.");
        assert_eq!(
            misses,
            "- `BoundedSlab`, `Key` misses 1.05 × `slab` (64 B: CONTAINS **1.50**)."
        );
        let cases = record.cases("cycles");
        let missed = |case| is_missed(&record, case, "BoundedSlab, Key", Metric::Ticks);
        assert_eq!([missed(cases[0]), missed(cases[1])], [false, true]);
    }
}
