//! The short tables, for the terminal and for BENCHMARKS.md: of each family the rows that decide.
//! Which these are is data (`benches/tables.json`); this file knows how they are shown.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::record::Metric::{self, Faults, P50, P999, Ticks};
use crate::record::{Case, Record};
use crate::table::{self, NOTHING, Ratios, figure, line, named};
use crate::{arena, epoch, growth, lives, slowest, threads};

/// A table: its name as a marker of BENCHMARKS.md, what it shows, and itself.
pub type Section = (&'static str, &'static str, String);

/// What the file has. A `why` in it is for its readers alone.
#[derive(Deserialize)]
struct Tables {
    slabs: Vec<OfSlabs>,
    by_subject: Vec<BySubject>,
    duels: Vec<Duels>,
    /// Of each line ours, what stands behind a lock, the row, and the bytes of a value.
    across_threads: Vec<(String, String, String, usize)>,
    readme: Readme,
    readme_growth: BySubject,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../tables.json")).expect("what the types here say")
});

/// The tables of a bench that the record has figures for.
#[must_use]
pub fn sections(record: &Record, bench: &str) -> Vec<Section> {
    if record.bench(bench).is_none() {
        return Vec::new();
    }
    match bench {
        "cycles" => TABLES.slabs.iter().map(|it| it.section(record)).collect(),
        lives::BENCH => vec![(
            "lives",
            "Whole lives, and many values at once",
            lives::tables(record, &[64]),
        )],
        "arena" => {
            let rows = [ARENAS, &arena::WARM[1..4]].concat();
            let table = arena::in_short(record, &rows).unwrap_or_default();
            vec![("arenas", "Arenas: the fastest library is 1.00", table)]
        }
        slowest::BENCH => vec![(
            "the slowest",
            "The slowest single operations",
            slowest::in_short(record),
        )],
        _ => {
            let across = (bench == threads::BENCH)
                .then(|| ("threads", "Across threads", across_threads(record)));
            let duels = TABLES.duels.iter().filter(|it| it.bench == bench);
            let duels = duels.map(|it| (&*it.name, &*it.title, it.table(record)));
            let more = duels.chain(by_subject(record, bench));
            across.into_iter().chain(more).collect()
        }
    }
}

/// The number of live values of most tables.
const USUAL: usize = 8192;

/// Operations on slabs: core cycles of one subject, and of the others the ratios to it.
#[derive(Deserialize)]
struct OfSlabs {
    name: String,
    title: String,
    base: String,
    /// The rows, and the sizes of the values.
    rows: Vec<(String, usize)>,
    subjects: Vec<String>,
}

impl OfSlabs {
    fn section(&'static self, record: &Record) -> Section {
        let cases = self.rows.iter();
        let cases = cases.map(|(row, bytes)| Case::of("cycles", row, *bytes, USUAL));
        let cases: Vec<Case<'_>> = cases.collect();
        let ratios = Ratios {
            title: &format!("time / that of {}", table::prose(&self.base)),
            base: &self.base,
            unit: ("cycles", true),
            subjects: named(&self.subjects.iter().map(String::as_str).collect::<Vec<_>>()),
        };
        let table = ratios.of(record, &cases, |case| case.by_bytes());
        (&self.name, &self.title, table.unwrap_or_default())
    }
}

/// A column: its name, the row and the figure that it shows, the bytes of a value, and how many are
/// live.
type Shown = (String, String, Metric, usize, usize);

/// A table with a line for each subject.
#[derive(Deserialize)]
struct BySubject {
    bench: String,
    /// Its name; one after the other have the same if they are shown together.
    name: String,
    title: String,
    label: String,
    subjects: Vec<String>,
    columns: Vec<Shown>,
}

/// The tables of a bench.
fn by_subject(record: &Record, bench: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for it in TABLES.by_subject.iter().filter(|it| it.bench == bench) {
        let table = it.table(record).unwrap_or_default();
        match sections.last_mut() {
            Some(last) if last.0 == it.name => last.2 += &format!("\n\n{table}"),
            _ => sections.push((&it.name, &it.title, table)),
        }
    }
    sections
}

/// The time of a metric.
fn nanoseconds(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> String {
    let ns = record.ns(case, subject, metric);
    ns.map_or(NOTHING.to_owned(), table::time)
}

impl BySubject {
    /// Times and numbers of faults.
    fn table(&self, record: &Record) -> Option<String> {
        let of = |subject: &String| {
            let columns = self.columns.iter().map(|(_, row, metric, bytes, live)| {
                (Case::of(&self.bench, row, *bytes, *live), *metric)
            });
            let value = |(case, metric)| record.value(case, subject, metric);
            columns.clone().find_map(value)?;
            let cells = columns.map(|(case, metric)| match metric {
                Faults => value((case, metric)).map_or(NOTHING.to_owned(), thousands),
                _ => nanoseconds(record, case, subject, metric),
            });
            Some(line(table::prose(subject), cells))
        };
        let head = line(&self.label, self.columns.iter().map(|it| &it.0));
        table::markdown(head, self.subjects.iter().filter_map(of))
    }
}

fn thousands(number: f64) -> String {
    table::thousands(number.round() as usize)
}

/// Rows in fresh arenas: of each kind one or two.
const ARENAS: &[&str] = &[
    "alloc_u64",
    "alloc_slice_u8_32",
    "alloc_sized_slice_u8_8",
    "alloc_struct_26",
    "alloc_str_16",
];

/// Figures of ours next to those of what they are compared with: of each what it is, the row, the
/// bytes of a value, ours and the other, and the figure.
#[derive(Deserialize)]
struct Duels {
    bench: String,
    name: String,
    title: String,
    duels: Vec<(String, String, usize, String, String, Metric)>,
}

impl Duels {
    fn table(&self, record: &Record) -> String {
        let of = |(what, row, bytes, ours, theirs, metric): &(_, String, _, String, String, _)| {
            let (bench, metric): (&str, Metric) = (&self.bench, *metric);
            let cases = record.cases_of(bench, &[row]);
            let case = *cases.iter().find(|case| case.bytes == *bytes)?;
            let shown = |subject: &str| {
                let figure = match (bench, metric) {
                    (epoch::BENCH, Ticks) => format!("{:.1}", record.cycles(case, subject)?),
                    (_, Ticks | P50 | P999) => match record.ns(case, subject, metric)? {
                        ns @ 100.0.. => thousands(ns),
                        ns => format!("{ns:.1}"),
                    },
                    _ => match record.value(case, subject, metric)? {
                        value @ 1000.0.. => thousands(value),
                        value => format!("{value:.1}"),
                    },
                };
                Some(format!("{} {figure}", table::prose(subject)))
            };
            let ratio = record.ratio(case, metric, ours, theirs);
            let ratio = figure(ratio.filter(|it| it.is_finite()), 2);
            Some(line(what as &String, [shown(ours)?, shown(theirs)?, ratio]))
        };
        let head = line("", ["ours", "compared with", "ratio"]);
        table::markdown(head, self.duels.iter().filter_map(of)).unwrap_or_default()
    }
}

/// What goes across threads: ours, and what could stand in its place.
fn across_threads(record: &Record) -> String {
    use threads::{BENCH, MALLOC, MIMALLOC, PLURALITY, SHARDED, UNSHARED, above_a_word};
    let of = |(ours, locked, row, bytes): &(String, String, String, usize)| {
        let case = Case::of(BENCH, row, *bytes, 1024);
        record.value(case, ours, P50)?;
        let cell = |subject: &str| {
            let ns = nanoseconds(record, case, subject, P50);
            match above_a_word(record, case, subject) {
                Some(above) => format!("{ns} ({above:.1})"),
                None => ns,
            }
        };
        let cells = [ours, SHARDED, PLURALITY, MALLOC, MIMALLOC, locked, UNSHARED].map(cell);
        let (_, ours) = ours.rsplit_once(' ').unwrap_or(("", ours));
        Some(line(format!("`{ours}`, {}", case.by_bytes()), cells))
    };
    let others = [SHARDED, PLURALITY, MALLOC, MIMALLOC].map(table::prose);
    let last = ["behind a `Mutex`", "not shared"].map(str::to_owned);
    let head = ["ours".to_owned()].into_iter().chain(others).chain(last);
    let lines = TABLES.across_threads.iter().filter_map(of);
    table::markdown(line("ns (less the channel)", head), lines).unwrap_or_default()
}

/// The rows, and the subjects, each with what stands in the table for it.
#[derive(Deserialize)]
struct Readme {
    rows: Vec<(String, String)>,
    columns: Vec<(String, String)>,
}

/// The table of operations of the README, in the words of people: core cycles.
#[must_use]
pub fn readme(record: &Record) -> Option<String> {
    record.bench("cycles")?;
    let Readme { rows, columns } = &TABLES.readme;
    let of = |(label, row): &(String, String)| {
        let case = Case::of("cycles", row, 8, USUAL);
        let cycles = |subject| figure(record.cycles(case, subject), 1);
        line(label, columns.iter().map(|(subject, _)| cycles(subject)))
    };
    let head = line("core cycles, 8 bytes", columns.iter().map(|it| &it.1));
    table::markdown(head, rows.iter().map(of))
}

/// The table of growth of the README.
#[must_use]
pub fn readme_growth(record: &Record) -> Option<String> {
    record.bench(growth::BENCH)?;
    TABLES.readme_growth.table(record)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::summary;

    /// A document of the repository.
    fn document(name: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::read_to_string(root.join(name)).unwrap()
    }

    /// The newest record of the growth bench.
    fn newest() -> Record {
        let records = Record::newest_of_each_bench().unwrap().into_iter();
        let mut records = records.map(|(_, record)| record);
        records
            .find(|it| it.bench(growth::BENCH).is_some())
            .unwrap()
    }

    #[test]
    fn the_first_page_shows_the_rows_and_columns_in_which_ours_is_slower() {
        let table = readme_growth(&newest()).unwrap();
        assert!(document("README.md").contains(&table), "{table}");
        let head = table.lines().next().unwrap();
        assert!(head.contains("p99.99"), "{head}");
        for row in ["`Box` ", "`nexus-slab` unbounded", "`KeySlab` "] {
            assert!(table.contains(&format!("| {row}")), "{row}: {table}");
        }
    }

    #[test]
    fn where_it_is_slower_lists_the_percentiles_of_growth() {
        let record = newest();
        let lines = summary::slower(std::iter::once(&record));
        let page = document("BENCHMARKS.md");
        for line in &lines {
            if line.contains("while it grows") {
                assert!(page.contains(line), "{line}");
            }
        }
        let of = |names: &str| lines.iter().any(|line| line.starts_with(names));
        assert!(of(
            "`Slab`, `Slot` against `slab`, the slowest insertion of 10,000"
        ));
        assert!(of(
            "`KeySlab`, grow_in_place against `slab`, the slowest insertion of 10,000"
        ));
    }

    #[test]
    fn what_a_table_names_was_recorded() {
        let records = Record::newest_of_each_bench().unwrap();
        let tables = TABLES.by_subject.iter().chain([&TABLES.readme_growth]);
        for BySubject {
            bench,
            subjects,
            columns,
            ..
        } in tables
        {
            let mut records = records.iter().map(|(_, record)| record);
            let record = records.find(|it| it.bench(bench).is_some()).unwrap();
            let value = |it: &Shown, subject: &String| {
                record.value(Case::of(bench, &it.1, it.3, it.4), subject, it.2)
            };
            for it in columns {
                let any = subjects.iter().any(|subject| value(it, subject).is_some());
                assert!(any, "{bench}: {}", it.1);
            }
            for subject in subjects {
                let any = columns.iter().any(|it| value(it, subject).is_some());
                assert!(any, "{bench}: {subject}");
            }
        }
    }
}
