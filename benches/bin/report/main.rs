//! Writes what was recorded into BENCHMARKS.md and README.md, between their
//! markers, and draws the pictures: of the newest record, or the one that is
//! named.

mod pictures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use flatslab_benches::goals::{self, cycles, ratio};
use flatslab_benches::malloc::Workload;
use flatslab_benches::record::{Record, Run};
use flatslab_benches::{growth, malloc, table};

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
    let path = match &arguments.record {
        Some(path) => path.clone(),
        None => newest()?,
    };
    let record = Record::read(&path)?;
    let mut sections = sections(&record);
    let hot_paths = Record::directory().join("hotpaths.md");
    let hot_paths = std::fs::read_to_string(&hot_paths)
        .map_err(|error| format!("{}: {error}", hot_paths.display()))?;
    sections.push(("hot paths", hot_paths.trim_end().to_owned()));
    if arguments.print {
        for (name, text) in sections {
            println!("{name}\n\n{text}\n");
        }
        return Ok(());
    }
    draw(&record)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    rewrite(&root.join("BENCHMARKS.md"), &sections)?;
    rewrite(&root.join("README.md"), &[("figures", readme(&record))])
}

/// Replaces the sections of a document.
fn rewrite(document: &Path, sections: &[(&str, String)]) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", document.display());
    let mut text = std::fs::read_to_string(document).map_err(failed)?;
    for (name, section) in sections {
        text = replaced(&text, name, section)
            .map_err(|error| format!("{}: {error}", document.display()))?;
    }
    std::fs::write(document, text).map_err(failed)
}

/// Draws what was measured; leaves the pictures alone of what was not.
fn draw(record: &Record) -> Result<(), String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pictures");
    let drawn = || -> Result<(), Box<dyn std::error::Error>> {
        std::fs::create_dir_all(&directory)?;
        if let Some(growth) = &record.growth {
            pictures::growth(&directory.join("growth.svg"), growth, 8)?;
            pictures::percentiles(&directory.join("percentiles.svg"), growth, 8)?;
        }
        if let Some(table) = record.cycles.first().and_then(|run| run.tables.first()) {
            let path = directory.join("sizes.svg");
            pictures::sizes(&path, &record.cycles, table.ticks_per_cycle)?;
        }
        let order_book = Record::directory().join("order_book.json");
        if order_book.exists() {
            let result = serde_json::from_str(&std::fs::read_to_string(order_book)?)?;
            pictures::order_book(&directory.join("order_book.svg"), &result)?;
        }
        Ok(())
    };
    drawn().map_err(|error| error.to_string())
}

/// The record that was written last, by the day in its name.
fn newest() -> Result<PathBuf, String> {
    let directory = Record::directory();
    let failed = |error| format!("{}: {error}", directory.display());
    std::fs::read_dir(&directory)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or("");
            name.starts_with(|first: char| first.is_ascii_digit()) && name.ends_with(".json")
        })
        .max()
        .ok_or_else(|| {
            "nothing is recorded; record with `cargo bench --bench cycles -- --runs 3 --record`"
                .to_owned()
        })
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

fn sections(record: &Record) -> Vec<(&'static str, String)> {
    let runs = &record.cycles;
    let usual = 8192;
    let every = |bytes| -> Vec<Case> {
        [
            "INSERT fresh",
            "INSERT steady",
            "GET random",
            "GET hot",
            "GET_MUT random",
            "CONTAINS",
            "REPLACE",
            "REMOVE random",
            "REMOVE LIFO",
            "FREE random",
            "TAKE",
            "CHURN LIFO",
            "CHURN FIFO",
            "CHURN random",
        ]
        .map(|operation| Case {
            operation,
            bytes,
            live: usual,
        })
        .to_vec()
    };
    let main = [
        "INSERT steady",
        "GET random",
        "REMOVE random",
        "CHURN random",
    ];
    let each = |pairs: &[(usize, usize)]| -> Vec<Case> {
        main.iter()
            .flat_map(|operation| {
                pairs.iter().map(|&(bytes, live)| Case {
                    operation,
                    bytes,
                    live,
                })
            })
            .collect()
    };
    let cold: Vec<Case> = ["INSERT cold", "GET cold"]
        .iter()
        .flat_map(|operation| {
            [8, 64].map(|bytes| Case {
                operation,
                bytes,
                live: usual,
            })
        })
        .collect();
    vec![
        ("machine", machine(record)),
        ("goals", goals::render(runs).unwrap_or_default()),
        ("8 bytes", ratios(runs, &every(8), Case::of_operation)),
        ("64 bytes", ratios(runs, &every(64), Case::of_operation)),
        (
            "value sizes",
            ratios(
                runs,
                &each(&[(8, usual), (64, usual), (256, usual), (1024, usual)]),
                Case::of_bytes,
            ),
        ),
        (
            "live values",
            ratios(
                runs,
                &each(&[
                    (8, 1024),
                    (8, usual),
                    (8, 1 << 20),
                    (64, 1024),
                    (64, usual),
                    (64, 1 << 20),
                ]),
                Case::in_full,
            ),
        ),
        ("cold", ratios(runs, &cold, Case::of_bytes)),
        ("growth of 8 bytes", growing(record, 8)),
        ("growth of 64 bytes", growing(record, 64)),
        ("malloc", allocating(record)),
    ]
}

const NOT_MEASURED: &str = "Not measured.";

/// The growth of values of one size: goals, and all subjects.
fn growing(record: &Record, bytes: usize) -> String {
    let tables = record.growth.iter().flat_map(|growth| &growth.tables);
    let Some(table) = tables.into_iter().find(|table| table.bytes == bytes) else {
        return NOT_MEASURED.to_owned();
    };
    let goals = growth::goals(table).unwrap_or_default();
    format!("{}\n\n{goals}", growth::render(table))
}

/// The workloads of the malloc bench.
fn allocating(record: &Record) -> String {
    let Some(result) = &record.malloc else {
        return NOT_MEASURED.to_owned();
    };
    let tables: Vec<String> = Workload::ALL
        .into_iter()
        .map(|workload| {
            let name = workload.name();
            let title = name[..1].to_uppercase() + &name[1..];
            format!("{title}:\n\n{}", malloc::render(result, workload))
        })
        .collect();
    tables.join("\n\n")
}

/// The small table of the README: core cycles, and the tail of growth in ticks.
fn readme(record: &Record) -> String {
    let runs = &record.cycles;
    let columns = [
        "slab",
        "BoundedSlab, Slot",
        "BoundedSlab, Key",
        "Slab, Slot",
        "Slab, Key",
        "Box, malloc",
    ];
    let operations = [
        ("insert, free slots in random order", "INSERT steady", 8),
        ("get, at random", "GET random", 8),
        ("remove, at random", "REMOVE random", 8),
        ("remove and insert, at random, 64 bytes", "CHURN random", 64),
    ];
    let rows: Vec<Vec<String>> = operations
        .iter()
        .map(|&(label, operation, bytes)| {
            let mut row = vec![label.to_owned()];
            row.extend(columns.map(|subject| {
                cycles(runs, operation, bytes, 8192, subject)
                    .map_or_else(|| "–".to_owned(), |cycles| format!("{cycles:.1}"))
            }));
            row
        })
        .collect();
    let head = [
        "core cycles, 8,192 live",
        "`slab`",
        "`BoundedSlab`, `Slot`",
        "`Key`",
        "`Slab`, `Slot`",
        "`Key`",
        "`Box`",
    ];
    let machine = &record.machine;
    format!(
        "{}\n\n{} ({}), {}; one core of a shared machine.",
        table::markdown(&head, &rows),
        machine.cpu,
        machine.cpu_version,
        machine.compiler
    )
}

fn machine(record: &Record) -> String {
    let machine = &record.machine;
    let ticks = record.cycles.first().map_or(0.0, |run| run.ticks_per_ns);
    let step = record.cycles.first().map_or(0, |run| run.step);
    format!(
        "{} ({}), {}, {}, governor {}, {ticks:.1} ticks per ns in steps of {step}; commit {}, {}. \
         Medians of {} runs.",
        machine.cpu,
        machine.cpu_version,
        machine.system,
        machine.compiler,
        machine.governor,
        record.cycles.first().map_or("unknown", |run| &run.commit),
        machine.date,
        record.cycles.len()
    )
}

/// One row: what was done, on how many values of which size.
#[derive(Clone)]
struct Case {
    operation: &'static str,
    bytes: usize,
    live: usize,
}

impl Case {
    fn of_operation(&self) -> String {
        self.operation.to_owned()
    }

    fn of_bytes(&self) -> String {
        format!("{}, {} B", self.operation, self.bytes)
    }

    fn in_full(&self) -> String {
        format!("{}, {} of {} B", self.operation, self.live, self.bytes)
    }
}

const SUBJECTS: [(&str, &str); 12] = [
    ("BoundedSlab, Slot", "`BoundedSlab`, `Slot`"),
    ("BoundedSlab, Key", "`BoundedSlab`, `Key`"),
    ("Slab, Slot", "`Slab`, `Slot`"),
    ("Slab, Key", "`Slab`, `Key`"),
    ("floor", "floor"),
    ("floor, stamped", "stamped floor"),
    ("nexus-slab bounded", "`nexus-slab` bounded"),
    ("nexus-slab unbounded", "unbounded"),
    ("slotmap", "`slotmap`"),
    ("plurality, Box", "`plurality`"),
    ("Box, malloc", "`Box`, malloc"),
    ("Box, mimalloc", "mimalloc"),
];

/// Ratios to `slab`, and its core cycles first.
fn ratios(runs: &[Run], cases: &[Case], label: fn(&Case) -> String) -> String {
    let rows: Vec<Vec<String>> = cases
        .iter()
        .filter_map(|case| {
            let Case {
                operation,
                bytes,
                live,
            } = *case;
            let slab = cycles(runs, operation, bytes, live, "slab")?;
            let mut row = vec![label(case), format!("{slab:.1}")];
            row.extend(SUBJECTS.map(|(subject, _)| {
                ratio(runs, operation, bytes, live, subject)
                    .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
            }));
            Some(row)
        })
        .collect();
    let mut head = vec!["", "`slab`, cycles"];
    head.extend(SUBJECTS.map(|(_, title)| title));
    table::markdown(&head, &rows)
}
