//! Writes what was recorded into BENCHMARKS.md and README.md, between their
//! markers, and draws the pictures: of the newest record, or the one that is
//! named.

mod order_book;
mod pages;
mod pictures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use flatslab_benches::goals::Goal;
use flatslab_benches::record::{Case, Metric, Record};
use flatslab_benches::table::{self, Column, NOTHING};
use flatslab_benches::verdict;
use flatslab_benches::{arena, bytes, epoch, slowest, threads};

/// Writes the tables of a record into BENCHMARKS.md and README.md, and draws the
/// pictures
#[derive(Parser)]
struct Arguments {
    /// The record; the newest under benches/record/ if none is named
    record: Option<PathBuf>,
    /// Prints the tables, and writes nothing
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    match report(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn report(arguments: &Arguments) -> Result<(), String> {
    let record = Record::read(&arguments.record.clone().map_or_else(newest, Ok)?)?;
    let mut sections = sections(&record);
    let hot_paths = read(&Record::directory().join("hotpaths.md"))?;
    sections.push(("hot paths", hot_paths.trim_end().to_owned()));
    let order_book = order_book::results()?;
    sections.push(("order book", order_book::tables(&order_book)));
    if arguments.print {
        for (name, text) in sections {
            println!("{name}\n\n{text}\n");
        }
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    pictures::draw(&record, order_book.first(), &root.join("pictures"))
        .map_err(|error| error.to_string())?;
    rewrite(&root.join("BENCHMARKS.md"), &sections)?;
    match record.bench("cycles") {
        Some(_) => rewrite(&root.join("README.md"), &[("figures", readme(&record))]),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Replaces the sections of a document.
fn rewrite(document: &Path, sections: &[(&str, String)]) -> Result<(), String> {
    let failed = |error: String| format!("{}: {error}", document.display());
    let mut text = read(document)?;
    for (name, section) in sections {
        text = replaced(&text, name, section).map_err(failed)?;
    }
    std::fs::write(document, text).map_err(|error| failed(error.to_string()))
}

/// `text` with what stands between a section's markers replaced.
fn replaced(text: &str, name: &str, section: &str) -> Result<String, String> {
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->\n"),
    );
    let missing = || format!("no section between {begin}and {end}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{section}\n\n{end}{after}"))
}

/// The record that was written last, by the day in its name.
fn newest() -> Result<PathBuf, String> {
    let directory = Record::directory();
    let files = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let is_record = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            name.starts_with(|first: char| first.is_ascii_digit()) && name.ends_with(".json")
        })
    };
    files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_record)
        .max()
        .ok_or_else(|| {
            "nothing is recorded; record with `cargo bench --bench cycles -- --runs 3 --record`"
                .to_owned()
        })
}

const USUAL: usize = 8192;

/// The operations of the tables of value sizes and live values.
const MAIN: [&str; 4] = [
    "INSERT steady",
    "GET random",
    "REMOVE random",
    "CHURN random",
];

/// All sections that the record has figures for.
fn sections(record: &Record) -> Vec<(&'static str, String)> {
    let summary = verdict::summary(record);
    let summary: Vec<String> = summary.iter().map(|line| format!("- {line}")).collect();
    let mut sections = Vec::new();
    // Another bench's record has nothing to say of it.
    if !summary.is_empty() {
        sections.push(("summary", summary.join("\n")));
    }
    let goals = |bench| verdict::goals(record, bench).unwrap_or_default();
    let cycles_goals = |are| {
        let goals = verdict::goals_of(record, "cycles", are);
        goals.unwrap_or_else(|| missing("cycles"))
    };
    if record.bench("cycles").is_some() {
        sections.extend([
            ("machine", machine(record)),
            ("goals", cycles_goals(|goal| !goal.is_of_a_pool())),
            ("goals of the pool", cycles_goals(Goal::is_of_a_pool)),
            ("the pool", pool(record)),
            ("8 bytes", operations(record, 8)),
            ("64 bytes", operations(record, 64)),
            ("value sizes", of_main(record, &VALUE_SIZES, by_bytes)),
            ("live values", of_main(record, &LIVE_VALUES, in_full)),
        ]);
        let mut walks = record.cases("cycles");
        walks.retain(is_walk);
        if !walks.is_empty() {
            sections.push(("iteration", iteration(record, &walks)));
        }
    }
    if record.bench("growth").is_some() {
        sections.extend([
            ("goals of growth", goals("growth")),
            ("growth of 8 bytes", growth(record, 8)),
            ("growth of 64 bytes", growth(record, 64)),
        ]);
    }
    if record.bench("malloc").is_some() {
        sections.extend([
            ("goals of malloc", goals("malloc")),
            ("malloc", malloc(record)),
            ("speed-ups", speed_ups(record)),
        ]);
    }
    if record.bench("arena").is_some() {
        let text = |section: Option<String>| section.unwrap_or_else(|| missing("arena"));
        sections.extend([
            ("arenas", text(arena::fresh(record))),
            ("arenas, in short", text(arena::verdict(record))),
            ("arenas, warm", text(arena::frames(record))),
            ("arenas, percentiles", text(arena::tails(record))),
        ]);
    }
    if record.bench(bytes::BENCH).is_some() {
        let in_short = bytes::in_short(record);
        sections.extend([
            ("bytes", bytes::tables(record)),
            (
                "bytes, in short",
                in_short.unwrap_or_else(|| missing(bytes::BENCH)),
            ),
        ]);
    }
    if record.bench(epoch::BENCH).is_some() {
        sections.extend([
            ("epochs, in short", goals(epoch::BENCH)),
            ("epochs", epoch::tables(record)),
        ]);
    }
    if record.bench(threads::BENCH).is_some() {
        sections.extend([
            ("threads, in short", goals(threads::BENCH)),
            ("threads", threads::tables(record)),
        ]);
    }
    if let Some(bench) = record.bench(slowest::BENCH) {
        let where_it_ran = format!(
            "{}; commit {}, {}.",
            record.machine, bench.commit, record.machine.date
        );
        let table = slowest::tables(record);
        sections.push(("the slowest", format!("{where_it_ran}\n\n{table}")));
    }
    if record.bench("pages").is_some() {
        sections.push(("goals of pages", goals("pages")));
        sections.extend(pages::sections(record));
    }
    sections
}

const VALUE_SIZES: [(usize, usize); 4] = [(USUAL, 8), (USUAL, 64), (USUAL, 256), (USUAL, 1024)];
const LIVE_VALUES: [(usize, usize); 6] = [
    (1024, 8),
    (USUAL, 8),
    (1 << 20, 8),
    (1024, 64),
    (USUAL, 64),
    (1 << 20, 64),
];

fn case(row: &'static str, live: usize, bytes: usize) -> Case<'static> {
    Case {
        bench: "cycles",
        row,
        bytes,
        live,
    }
}

/// All operations on values of one size.
fn operations(record: &Record, bytes: usize) -> String {
    let mut cases = record.cases("cycles");
    cases.retain(|it| (it.bytes, it.live) == (bytes, USUAL) && !is_walk(it));
    ratios(record, &cases, |case| case.row.to_owned())
}

fn is_walk(case: &Case<'_>) -> bool {
    case.row.starts_with("ITERATE")
}

/// Walks over all values: of `slab` in core cycles a value, of the others as
/// ratios.
fn iteration(record: &Record, cases: &[Case<'_>]) -> String {
    let subjects = [
        ("BoundedSlab, Key", "`BoundedSlab`"),
        ("Slab, Key", "`Slab`"),
        ("BoundedKeySlab", "`BoundedKeySlab`"),
        ("BoundedKeySlab, GenKey", "`GenKey`"),
        ("KeySlab", "`KeySlab`"),
        ("KeySlab, GenKey", "`GenKey`"),
        ("slotmap", "`slotmap`"),
    ];
    let row = |case: &Case<'_>| {
        let slab = record.cycles(*case, "slab")?;
        let ratio = |subject: &str| record.ticks_ratio(*case, subject, "slab");
        let mut row = vec![in_full(*case), format!("{slab:.1}")];
        row.extend(subjects.map(|(subject, _)| figure(ratio(subject), 2)));
        Some(row)
    };
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    let mut head = vec![String::new(), "`slab`, cycles".to_owned()];
    head.extend(subjects.map(|(_, name)| name.to_owned()));
    table::markdown(&head, &rows)
}

fn of_main(record: &Record, pairs: &[(usize, usize)], label: fn(Case<'_>) -> String) -> String {
    let each = |row| {
        pairs
            .iter()
            .map(move |&(live, bytes)| case(row, live, bytes))
    };
    let cases: Vec<_> = MAIN.into_iter().flat_map(each).collect();
    ratios(record, &cases, label)
}

fn by_bytes(case: Case<'_>) -> String {
    format!("{}, {} B", case.row, case.bytes)
}

fn in_full(case: Case<'_>) -> String {
    format!("{}, {} of {} B", case.row, case.live, case.bytes)
}

/// Ratios to `slab`, and its core cycles first.
fn ratios(record: &Record, cases: &[Case<'_>], label: fn(Case<'_>) -> String) -> String {
    let subjects = [
        "BoundedSlab, Slot",
        "BoundedSlab, Key",
        "Slab, Slot",
        "Slab, Key",
        "BoundedKeySlab",
        "KeySlab",
        "BoundedKeySlab, GenKey",
        "KeySlab, GenKey",
        "floor",
        "floor, stamped",
        "nexus-slab bounded",
        "nexus-slab unbounded",
        "slotmap",
        "plurality, Box",
        "Box, malloc",
        "Box, mimalloc",
    ];
    let row = |case: &Case<'_>| {
        let slab = record.cycles(*case, "slab")?;
        let ratio = |subject: &str| record.ticks_ratio(*case, subject, "slab");
        let mut row = vec![label(*case), format!("{slab:.1}")];
        row.extend(subjects.map(|subject| figure(ratio(subject), 2)));
        Some(row)
    };
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    let mut head = vec![String::new(), "`slab`, cycles".to_owned()];
    head.extend(subjects.map(table::prose));
    table::markdown(&head, &rows)
}

fn figure(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.decimals$}"))
}

/// The growth of values of one size, all subjects.
fn growth(record: &Record, bytes: usize) -> String {
    let mut cases = record.cases("growth");
    cases.retain(|case| case.bytes == bytes);
    table::subjects(record, "ticks of one insertion", &cases, table::PERCENTILES)
}

/// The workloads of the malloc bench: with all of an order written, and with its
/// first word alone.
fn malloc(record: &Record) -> String {
    let columns = [
        Column::Nanoseconds,
        Column::Cycles,
        Column::Speed("Box, malloc"),
        Column::Ratio("floor"),
        Column::Value(Metric::Faults),
    ];
    let mut cases = record.cases("malloc");
    cases.sort_by_key(|case| std::cmp::Reverse(case.bytes));
    let workloads = cases.iter().filter(|case| case.bytes == 64);
    let table = |workload: &Case<'_>| {
        let mut pair = cases.clone();
        pair.retain(|case| case.row == workload.row);
        let title = workload.row[..1].to_uppercase() + &workload.row[1..];
        let label = "64 bytes written; 8 bytes written";
        format!(
            "{title}:\n\n{}",
            table::subjects(record, label, &pair, &columns)
        )
    };
    workloads.map(table).collect::<Vec<_>>().join("\n\n")
}

/// The pools next to the floors, to the slab that is unsafe to make, and to what they
/// take the place of: core cycles of the bare floor, of the others ratios to it.
fn pool(record: &Record) -> String {
    const BARE: &str = "floor, bare";
    const POOL: &str = "Pool, PoolBox";
    let subjects = [
        POOL,
        "Pool, storage",
        "floor",
        "nexus-slab bounded",
        "BoundedSlab, Slot",
        "Box, malloc",
    ];
    let row = |case: &Case<'_>| {
        record.value(*case, POOL, Metric::Ticks)?;
        let bare = record.cycles(*case, BARE)?;
        let ratio = |subject: &str| record.ticks_ratio(*case, subject, BARE);
        let mut row = vec![by_bytes(*case), format!("{bare:.1}")];
        row.extend(subjects.map(|subject| figure(ratio(subject), 2)));
        Some(row)
    };
    let mut cases = record.cases("cycles");
    cases.retain(|it| it.live == USUAL && it.bytes <= 64);
    cases.sort_by_key(|it| it.bytes);
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    if rows.is_empty() {
        return missing("cycles");
    }
    let mut head = vec![String::new(), "bare floor, cycles".to_owned()];
    head.extend(subjects.map(table::prose));
    table::markdown(&head, &rows)
}

/// How many times as fast as malloc: what is told of the C design, and ours.
fn speed_ups(record: &Record) -> String {
    verdict::told(record, "malloc").unwrap_or_else(|| missing("malloc"))
}

/// Stands for a table of the pool that is not in the record.
fn missing(bench: &str) -> String {
    format!(
        "The record has none of these rows; `cargo bench --bench {bench} -- --record` measures \
         them."
    )
}

/// The small table of the README: core cycles.
fn readme(record: &Record) -> String {
    let columns = [
        ("slab", "`slab`"),
        ("KeySlab", "`KeySlab`"),
        ("slotmap", "`slotmap`"),
        ("KeySlab, GenKey", "`KeySlab`, `GenKey`"),
        ("BoundedSlab, Slot", "`BoundedSlab`, `Slot`"),
        ("BoundedSlab, Key", "`Key`"),
        ("Slab, Slot", "`Slab`, `Slot`"),
        ("Slab, Key", "`Key`"),
        ("Pool, PoolBox", "`Pool`"),
        ("Box, malloc", "`Box`"),
    ];
    let operations = [
        ("insert, free slots in random order", "INSERT steady", 8),
        ("get, at random", "GET random", 8),
        ("remove, at random", "REMOVE random", 8),
        ("remove and insert, at random, 64 bytes", "CHURN random", 64),
    ];
    let row = |(label, operation, bytes): (&str, &'static str, usize)| {
        let cycles = |(subject, _)| record.cycles(case(operation, USUAL, bytes), subject);
        let cells = columns.iter().map(|column| figure(cycles(*column), 1));
        [label.to_owned()].into_iter().chain(cells).collect()
    };
    let mut head = vec!["core cycles, 8,192 live".to_owned()];
    head.extend(columns.map(|column| column.1.to_owned()));
    let machine = &record.machine;
    format!(
        "{}\n\n{} ({}), {}; one core of a shared machine.",
        table::markdown(&head, &operations.map(row)),
        machine.cpu,
        machine.cpu_version,
        machine.compiler
    )
}

fn machine(record: &Record) -> String {
    let (ticks_per_ns, step, commit) = record.bench("cycles").map_or((0.0, 0, ""), |bench| {
        (bench.ticks_per_ns, bench.step, &bench.commit)
    });
    let rows = record.rows.iter().filter(|row| row.bench == "cycles");
    format!(
        "{}, {ticks_per_ns:.1} ticks per ns in steps of {step}; commit {commit}, {}. \
         Medians of {} runs.",
        record.machine,
        record.machine.date,
        rows.map(|row| row.run).max().unwrap_or(0)
    )
}
