//! Records of measurements: JSON files under `benches/record/`, one for a day and
//! a processor, which the `report` program turns into the tables of the documents.
//!
//! A record is a head and flat rows. A [`Row`] is one subject in one row of one
//! run of one bench, with all its metrics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// All that was measured on one machine in a day: the newest of each bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Where, and with which compiler.
    pub machine: Machine,
    /// What each bench measured, and how the counter ran.
    pub benches: Vec<Bench>,
    /// All figures.
    pub rows: Vec<Row>,
}

/// The head of one bench's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// The bench.
    pub bench: String,
    /// The commit of the crate, with a `+` where files differ from it.
    pub commit: String,
    /// Ticks of the counter per nanosecond.
    pub ticks_per_ns: f64,
    /// Ticks in which the counter advances.
    pub step: u64,
    /// What else the figures depend on: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One subject in one row of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The bench.
    pub bench: String,
    /// What was done.
    pub row: String,
    /// The size of a value.
    pub bytes: usize,
    /// How many values were live.
    pub live: usize,
    /// The container.
    pub subject: String,
    /// The number of the run, from 1.
    pub run: u32,
    /// Ticks of the counter in a core cycle, measured just before.
    pub ticks_per_cycle: f64,
    /// The figures, in ticks per operation; none of a subject that cannot do it here.
    #[serde(flatten)]
    pub values: BTreeMap<Metric, f64>,
    /// The worst of each stretch of the operations, all of one length: the lowest
    /// of the runs, in the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<u64>,
}

/// Writes the metrics, each with its name in records and tables.
macro_rules! metrics {
    ($($(#[$what:meta])* $metric:ident $name:tt;)*) => {
        /// What is told of the ticks of a row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Metric {
            $($(#[$what])* #[serde(rename = $name)] $metric,)*
        }

        impl Metric {
            /// As it stands in tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Metric::$metric => $name,)*
                }
            }
        }
    };
}

metrics! {
    /// The median over turns of the mean of a turn.
    Ticks "ticks";
    /// Percentiles of what was timed.
    P50 "p50";
    /// One in 10 takes longer.
    P90 "p90";
    /// One in 20 takes longer.
    P95 "p95";
    /// One in 100 takes longer.
    P99 "p99";
    /// One in 1,000 takes longer.
    P999 "p99.9";
    /// One in 10,000 takes longer.
    P9999 "p99.99";
    /// The longest.
    Worst "worst";
    /// Minor page faults, of all operations together: the median over turns.
    Faults "faults";
    /// Chunks of closed epochs that had no value, in percent.
    Recycled "recycled %";
    /// Chunks of closed epochs that had some, in percent.
    Pinned "pinned %";
    /// Memory at the end, in KiB.
    Memory "KiB";
    /// By how much memory has grown since warm-up, in percent.
    Drift "drift %";
    /// By how much the resident set has grown since warm-up, in percent.
    Growth "RSS growth %";
    /// What of the bytes given back is still resident, in percent.
    Resident "still resident %";
    /// How far a rate is from the expected one, in standard deviations.
    Sigmas "sigmas off";
    /// Chunks more than there should be.
    Chunks "chunks too many";
}

/// What the turns of a run gave of one row.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The mean of each turn.
    pub means: Vec<f64>,
    /// All that was timed, in order.
    pub sorted: Vec<f64>,
    /// The page faults of each turn, if they were counted.
    pub faults: Vec<u64>,
    /// What the turns found out themselves.
    pub facts: Vec<(Metric, f64)>,
}

impl Metric {
    /// Those that a turn finds out itself; no machine's noise is in them, so a bench fails
    /// where one of them misses its goal.
    pub const FACTS: [Metric; 8] = [
        Metric::Recycled,
        Metric::Pinned,
        Metric::Memory,
        Metric::Drift,
        Metric::Growth,
        Metric::Resident,
        Metric::Sigmas,
        Metric::Chunks,
    ];

    /// Whether it is one of [`FACTS`](Self::FACTS).
    #[must_use]
    pub fn is_fact(self) -> bool {
        Self::FACTS.contains(&self)
    }

    /// Of the turns of a run; `None` if it was not measured.
    #[must_use]
    pub fn of(self, figures: &Figures) -> Option<f64> {
        let Figures {
            means,
            sorted,
            faults,
            facts,
        } = figures;
        if self.is_fact() {
            let values = facts.iter().filter(|fact| fact.0 == self);
            let value = self.over_runs(values.map(|fact| fact.1))?;
            return Some((value * 100.0).round() / 100.0);
        }
        let last = match self {
            Metric::Faults => 0,
            _ => sorted.len().checked_sub(1)?,
        };
        let percentile = |share: f64| sorted[(last as f64 * share) as usize];
        let value = match self {
            Metric::Faults => median(faults.iter().map(|&it| it as f64))?,
            Metric::Ticks => median(means.iter().copied())?,
            Metric::P50 => percentile(0.5),
            Metric::P90 => percentile(0.9),
            Metric::P95 => percentile(0.95),
            Metric::P99 => percentile(0.99),
            Metric::P999 => percentile(0.999),
            Metric::P9999 => percentile(0.9999),
            Metric::Worst => percentile(1.0),
            _ => return None,
        };
        // More decimals than the clock can vouch for.
        Some((value * 100.0).round() / 100.0)
    }

    /// Over several runs: the median; of the worst the lowest, as what hits one
    /// process now and then is the machine's. Of what must not grow the highest.
    #[must_use]
    pub fn over_runs(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Metric::Pinned
            | Metric::Drift
            | Metric::Growth
            | Metric::Resident
            | Metric::Sigmas
            | Metric::Chunks => values.max_by(f64::total_cmp),
            Metric::Worst => values.min_by(f64::total_cmp),
            _ => median(values),
        }
    }
}

/// One line of a table: what was done, on how many values of which size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case<'a> {
    /// The bench.
    pub bench: &'a str,
    /// What was done.
    pub row: &'a str,
    /// The size of a value.
    pub bytes: usize,
    /// How many values were live.
    pub live: usize,
}

impl<'a> Case<'a> {
    /// Values of so many bytes, so many of them live.
    #[must_use]
    pub const fn of(bench: &'a str, row: &'a str, bytes: usize, live: usize) -> Self {
        Case {
            bench,
            row,
            bytes,
            live,
        }
    }

    /// The row, and the size of a value.
    #[must_use]
    pub fn by_bytes(&self) -> String {
        format!("{}, {} B", self.row, self.bytes)
    }
}

/// What a figure is divided by.
pub struct Limit<'a> {
    /// The subject that it is of.
    pub subject: &'a str,
    /// Which of its figures.
    pub metric: Metric,
    /// Core cycles that are added to it.
    pub plus_cycles: f64,
    /// What is taken off both sides: the same figure of this subject.
    pub less: Option<&'a str>,
}

impl Row {
    /// The case it belongs to.
    #[must_use]
    pub fn case(&self) -> Case<'_> {
        Case::of(&self.bench, &self.row, self.bytes, self.live)
    }
}

impl Record {
    /// One of this machine with nothing in it.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Record {
            machine,
            benches: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The head of a bench's rows; `None` if it was not run.
    #[must_use]
    pub fn bench(&self, bench: &str) -> Option<&Bench> {
        self.benches.iter().find(|it| it.bench == bench)
    }

    /// The cases of a bench, in the order in which they were measured.
    #[must_use]
    pub fn cases<'a>(&'a self, bench: &str) -> Vec<Case<'a>> {
        let mut cases = Vec::new();
        for row in self.rows.iter().filter(|row| row.bench == bench) {
            if !cases.contains(&row.case()) {
                cases.push(row.case());
            }
        }
        cases
    }

    /// The cases of some rows of a bench, in the order of these and of the sizes of values.
    #[must_use]
    pub fn cases_of<'a>(&'a self, bench: &str, rows: &[&str]) -> Vec<Case<'a>> {
        let mut cases = self.cases(bench);
        cases.retain(|case| rows.contains(&case.row));
        cases.sort_by_key(|case| (rows.iter().position(|row| *row == case.row), case.bytes));
        cases
    }

    /// The subjects of some cases, in the order in which they were measured.
    #[must_use]
    pub fn subjects<'a>(&'a self, cases: &[Case<'_>]) -> Vec<&'a str> {
        let mut subjects: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| cases.contains(&row.case())) {
            if !subjects.contains(&&*row.subject) {
                subjects.push(&row.subject);
            }
        }
        subjects
    }

    /// The rows of a subject in a case, one a run.
    pub fn rows_of(&self, case: Case<'_>, subject: &str) -> impl Iterator<Item = &Row> {
        let rows = self.rows.iter();
        rows.filter(move |row| row.case() == case && row.subject == subject)
    }

    /// The values of a metric, one a run; none where it was not measured.
    pub fn values(
        &self,
        case: Case<'_>,
        subject: &str,
        metric: Metric,
    ) -> impl Iterator<Item = f64> {
        let rows = self.rows_of(case, subject);
        rows.filter_map(move |row| row.values.get(&metric).copied())
    }

    /// A metric over all runs; `None` where it was not measured.
    #[must_use]
    pub fn value(&self, case: Case<'_>, subject: &str, metric: Metric) -> Option<f64> {
        metric.over_runs(self.values(case, subject, metric))
    }

    /// The same in nanoseconds.
    #[must_use]
    pub fn ns(&self, case: Case<'_>, subject: &str, metric: Metric) -> Option<f64> {
        Some(self.value(case, subject, metric)? / self.bench(case.bench)?.ticks_per_ns)
    }

    /// The core cycles of an operation: the median over runs.
    #[must_use]
    pub fn cycles(&self, case: Case<'_>, subject: &str) -> Option<f64> {
        let of = |row: &Row| Some(row.values.get(&Metric::Ticks)? / row.ticks_per_cycle);
        median(self.rows_of(case, subject).filter_map(of))
    }

    /// The ratio of one subject's metric to a limit in the same run; over runs the median. Of the
    /// worst that of the two values.
    #[must_use]
    pub fn ratio_to(
        &self,
        case: Case<'_>,
        (subject, metric): (&str, Metric),
        limit: &Limit<'_>,
    ) -> Option<f64> {
        if metric == Metric::Worst {
            let limit = self.value(case, limit.subject, limit.metric)?;
            return Some(self.value(case, subject, metric)? / limit);
        }
        median(self.rows_of(case, subject).filter_map(|row| {
            let of = |subject: &str| {
                let other = self.rows_of(case, subject).find(|it| it.run == row.run)?;
                Some((*other.values.get(&limit.metric)?, other.ticks_per_cycle))
            };
            let (value, ticks_per_cycle) = of(limit.subject)?;
            let less = limit.less.map_or(Some(0.0), |less| Some(of(less)?.0))?;
            let most = value + limit.plus_cycles * ticks_per_cycle - less;
            Some((row.values.get(&metric)? - less) / most)
        }))
    }

    /// The ratio of one subject's metric to the same of another.
    #[must_use]
    pub fn ratio(
        &self,
        case: Case<'_>,
        metric: Metric,
        subject: &str,
        reference: &str,
    ) -> Option<f64> {
        let limit = Limit {
            subject: reference,
            metric,
            plus_cycles: 0.0,
            less: None,
        };
        self.ratio_to(case, (subject, metric), &limit)
    }

    /// The ratio of the ticks of one subject to another's.
    #[must_use]
    pub fn ticks_ratio(&self, case: Case<'_>, subject: &str, reference: &str) -> Option<f64> {
        self.ratio(case, Metric::Ticks, subject, reference)
    }

    /// Puts `measured` in: in place of the same rows, and of all rows of its
    /// benches that another commit gave.
    pub fn add(&mut self, measured: Record) {
        let benches = &self.benches;
        let is_outdated = |bench: &str| {
            let before = benches.iter().find(|it| it.bench == bench);
            let pair = before.zip(measured.bench(bench));
            pair.is_some_and(|(before, now)| before.commit != now.commit)
        };
        self.rows.retain(|row| {
            let same = |it: &Row| it.case() == row.case() && it.subject == row.subject;
            !is_outdated(&row.bench) && !measured.rows.iter().any(same)
        });
        self.benches
            .retain(|it| measured.bench(&it.bench).is_none());
        self.benches.extend(measured.benches);
        self.rows.extend(measured.rows);
    }

    /// Where records are kept.
    #[must_use]
    pub fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("record")
    }

    /// Where each bench leaves what it has measured last, for the page at the end of `cargo bench`:
    /// beside the programs.
    ///
    /// # Errors
    ///
    /// If the program does not know where it is.
    pub fn of_last_run() -> Result<PathBuf, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let place = program.ancestors().nth(2);
        Ok(place.unwrap_or(Path::new(".")).join("flatslab-benches"))
    }

    /// Writes all rows as a text, and the figures; returns the place of the text.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn keep_for_page(&self, bench: &str, text: &str) -> Result<PathBuf, String> {
        let directory = Self::of_last_run()?;
        let text_file = directory.join(format!("{bench}.md"));
        let failed = |error| format!("{}: {error}", directory.display());
        std::fs::create_dir_all(&directory).map_err(failed)?;
        std::fs::write(&text_file, format!("{text}\n")).map_err(failed)?;
        let figures = directory.join(format!("{bench}.json"));
        std::fs::write(figures, self.to_json()).map_err(failed)?;
        Ok(text_file)
    }

    /// Adds what was measured to today's record of this machine, which starts
    /// empty if the file there is of another compiler or system.
    ///
    /// # Errors
    ///
    /// If the file can be neither read nor written, or is not a record.
    pub fn keep(measured: Record) -> Result<PathBuf, String> {
        let path = Self::directory().join(measured.machine.file_stem() + ".json");
        let mut record = match path.exists() {
            true => Self::read(&path)?,
            false => Self::new(measured.machine.clone()),
        };
        if record.machine != measured.machine {
            record = Self::new(measured.machine.clone());
        }
        record.add(measured);
        let failed = |error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(Self::directory()).map_err(failed)?;
        std::fs::write(&path, record.to_json()).map_err(failed)?;
        Ok(path)
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// If there is none, or what is there is not one.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    /// Every bench that is kept, each in the record that was written last, by the day in its name:
    /// the names of the files and the records, the newest first.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn newest_of_each_bench() -> Result<Vec<(String, Self)>, String> {
        let directory = Self::directory();
        let files = std::fs::read_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut names: Vec<String> = files
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(|it: char| it.is_ascii_digit()))
            .filter(|name| name.ends_with(".json"))
            .collect();
        names.sort();
        let (mut newest, mut seen) = (Vec::new(), Vec::new());
        for name in names.into_iter().rev() {
            let mut record = Self::read(&directory.join(&name))?;
            record.benches.retain(|it| !seen.contains(&it.bench));
            record.rows.retain(|it| !seen.contains(&it.bench));
            seen.extend(record.benches.iter().map(|it| it.bench.clone()));
            if !record.benches.is_empty() {
                newest.push((name, record));
            }
        }
        Ok(newest)
    }

    /// A line for each row: fit to be compared, and not longer than need be.
    fn to_json(&self) -> String {
        fn lines<T: Serialize>(items: &[T]) -> String {
            let lines = items.iter().map(json);
            lines.collect::<Vec<_>>().join(",\n")
        }
        fn json<T: Serialize>(item: &T) -> String {
            serde_json::to_string(item).expect("plain data")
        }
        format!(
            "{{\"machine\":{},\n\"benches\":[\n{}],\n\"rows\":[\n{}]}}\n",
            json(&self.machine),
            lines(&self.benches),
            lines(&self.rows)
        )
    }
}

/// The one in the middle; of an even number the lower. `None` if there is none.
#[must_use]
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bench: &str, subject: &str, run: u32, ticks: f64) -> Row {
        Row {
            bench: bench.to_owned(),
            row: "INSERT".to_owned(),
            bytes: 8,
            live: 64,
            subject: subject.to_owned(),
            run,
            ticks_per_cycle: 0.5,
            values: [(Metric::Ticks, ticks), (Metric::P999, 3.0)].into(),
            stretches: Vec::new(),
        }
    }

    fn record(bench: &str, commit: &str, rows: Vec<Row>) -> Record {
        let bench = Bench {
            bench: bench.to_owned(),
            commit: commit.to_owned(),
            ticks_per_ns: 2.0,
            step: 1,
            notes: Vec::new(),
        };
        Record {
            benches: vec![bench],
            rows,
            ..Record::new(Machine::this())
        }
    }

    #[test]
    fn a_record_reads_back_what_was_written() {
        let before = record("cycles", "1", vec![row("cycles", "slab", 1, 2.5)]);
        let after: Record = serde_json::from_str(&before.to_json()).expect("a record");
        assert_eq!(after.to_json(), before.to_json());
        assert!(before.to_json().contains("\"ticks\":2.5,\"p99.9\":3.0}"));
    }

    #[test]
    fn ratios_are_taken_within_a_run() {
        let rows = vec![
            row("cycles", "slab", 1, 2.0),
            row("cycles", "slab", 2, 20.0),
            row("cycles", "ours", 1, 1.0),
            row("cycles", "ours", 2, 10.0),
        ];
        let record = record("cycles", "1", rows);
        let case = record.cases("cycles")[0];
        assert_eq!(record.ticks_ratio(case, "ours", "slab"), Some(0.5));
        assert_eq!(record.ticks_ratio(case, "ours", "Box"), None);
        assert_eq!(record.cycles(case, "ours"), Some(2.0));
        let ratio = |plus_cycles, less| {
            let limit = Limit {
                subject: "slab",
                metric: Metric::Ticks,
                plus_cycles,
                less,
            };
            record.ratio_to(case, ("ours", Metric::Ticks), &limit)
        };
        assert_eq!(ratio(4.0, None), Some(0.25));
        assert_eq!(ratio(0.0, Some("ours")), Some(0.0));
        assert_eq!(ratio(0.0, Some("Box")), None);
    }

    #[test]
    fn rows_replace_the_same_rows_and_those_of_another_commit() {
        let mut kept = record("cycles", "1", vec![row("cycles", "slab", 1, 2.0)]);
        kept.add(record("growth", "1", vec![row("growth", "slab", 1, 3.0)]));
        kept.add(record("cycles", "1", vec![row("cycles", "ours", 1, 4.0)]));
        assert_eq!((kept.rows.len(), kept.benches.len()), (3, 2));
        kept.add(record("cycles", "1", vec![row("cycles", "slab", 1, 5.0)]));
        let case = kept.cases("cycles")[0];
        assert_eq!(kept.value(case, "slab", Metric::Ticks), Some(5.0));
        assert_eq!(kept.rows.len(), 3);
        kept.add(record("cycles", "2", vec![row("cycles", "slab", 1, 6.0)]));
        assert_eq!(kept.rows.len(), 2);
    }
}
