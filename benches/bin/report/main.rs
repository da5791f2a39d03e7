//! Writes what was recorded: all tables into `benches/record/tables/`, the short ones into
//! BENCHMARKS.md and README.md between their markers, and the pictures. Of each bench the
//! newest record that has it counts, or the one that is named.

mod engine;
mod exchange;
mod full;
mod order_book;
mod pages;
mod pictures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use flatslab_benches::record::Record;
use flatslab_benches::table;
use flatslab_benches::{claims, growth, short, summary};

/// Writes the tables of the records into benches/record/tables/, BENCHMARKS.md and
/// README.md, and draws the pictures
#[derive(Parser)]
struct Arguments {
    /// The record; of each bench the newest under benches/record/ if none is named
    record: Option<PathBuf>,
    /// Prints the tables, and writes nothing
    #[arg(long)]
    print: bool,
    /// Prints one page from what the benches left in this directory, and draws the pictures there
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["record", "print"])]
    page: Option<PathBuf>,
}

/// What stands between two markers of a document.
type Section = (&'static str, String);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.page {
        Some(directory) => page(directory),
        None => report(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn report(arguments: &Arguments) -> Result<(), String> {
    let sources = match &arguments.record {
        Some(path) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            vec![(name.to_string_lossy().into_owned(), Record::read(path)?)]
        }
        None => Record::newest_of_each_bench()?,
    };
    if sources.is_empty() {
        return Err(NOTHING_IS_RECORDED.to_owned());
    }
    let book = order_book::results()?;
    let engine = engine::result()?;
    let exchange = exchange::result()?;

    let mut files = vec![order_book::file(&book)];
    let mut sections = vec![("order book", order_book::in_short(&book))];
    for (name, record) in &sources {
        files.extend(full::files(record, name));
        for bench in record.benches.iter().map(|it| &*it.bench) {
            let of_bench = short::sections(record, bench).into_iter();
            let add = |(name, _, table)| (name, format!("{table}\n\n{}", origin(record, bench)));
            sections.extend(of_bench.map(add));
        }
    }
    let records: Vec<&Record> = sources.iter().map(|(_, record)| record).collect();
    let items = |lines: Vec<String>| format!("- {}", lines.join("\n- "));
    let all = records.iter().copied();
    sections.push(("summary", items(summary::sentences(all.clone()))));
    let mut slower = summary::slower(all);
    slower.extend(engine.as_ref().map_or_else(Vec::new, engine::slower));
    slower.extend(order_book::slower(&book));
    sections.push(("slower", items(slower)));
    let claimed = claims::tables(&records).into_iter();
    let claimed: Vec<String> = claimed
        .map(|(name, table)| format!("{name}:\n\n{table}"))
        .collect();
    sections.push(("claims", claimed.join("\n\n")));
    let mut readme: Vec<Section> = Vec::new();
    for record in &records {
        if let Some(table) = short::readme(record) {
            readme.push(("figures", format!("{table}\n\n{}", machine(record))));
        }
        if let Some(table) = short::readme_growth(record) {
            readme.push((growth::BENCH, table));
        }
    }
    if let Some(engine) = &engine {
        files.push(engine::file(engine));
        sections.push(("engine", engine::in_short(engine)));
    }
    if let Some(exchange) = &exchange {
        files.push(exchange::file(exchange));
        sections.push(("exchange", exchange::in_short(exchange)));
    }

    if arguments.print {
        for (name, text) in sections.iter().chain(&readme) {
            println!("{name}\n\n{text}\n");
        }
        for (_, text) in files {
            println!("{text}");
        }
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for record in &records {
        pictures::draw(record, book.first(), &root.join("pictures"))
            .map_err(|error| error.to_string())?;
    }
    if let Some(engine) = &engine {
        let path = root.join("pictures").join("engine.svg");
        pictures::engine(&path, engine).map_err(|error| error.to_string())?;
    }
    let tables = Record::directory().join("tables");
    std::fs::create_dir_all(&tables).map_err(|error| failed(&tables, error))?;
    for (bench, text) in files {
        write(&tables.join(format!("{bench}.md")), text)?;
    }
    rewrite(&root.join("BENCHMARKS.md"), &sections)?;
    rewrite(&root.join("README.md"), &readme)
}

const NOTHING_IS_RECORDED: &str =
    "nothing is recorded; record with `cargo bench --bench cycles -- --runs 3 --record`";

/// One page from what each bench has measured last.
fn page(directory: &Path) -> Result<(), String> {
    let mut records = Vec::new();
    for bench in full::BENCHES {
        let path = directory.join(format!("{bench}.json"));
        if path.exists() {
            records.push(Record::read(&path)?);
        }
    }
    let Some(first) = records.first() else {
        return Err(failed(directory, "no bench has left figures here"));
    };
    println!("\n== In short, on this machine: {}", first.machine);
    let (sentences, slower) = (
        summary::sentences(records.iter()).join("\n- "),
        summary::slower(records.iter()).join("\n- "),
    );
    let text = format!(
        "\nBeside what is in use today (a row is one operation on values of one size):\n\n- {sentences}\n\n\
         Slower by more than a tenth:\n\n- {slower}"
    );
    println!("{}", table::for_terminal(&text));
    let all: Vec<&Record> = records.iter().collect();
    for (title, claimed) in claims::tables(&all) {
        println!("\n{}", table::for_terminal(&format!("{title}\n{claimed}")));
    }
    let drawn = directory.join("pictures");
    std::fs::create_dir_all(&drawn).map_err(|error| failed(&drawn, error))?;
    for record in &records {
        pictures::draw(record, None, &drawn).map_err(|error| error.to_string())?;
    }
    println!(
        "\nAll rows: {}; pictures: {}",
        directory.display(),
        drawn.display()
    );
    Ok(())
}

fn machine(record: &Record) -> String {
    let machine = &record.machine;
    format!(
        "{} ({}), {}; one core of a shared machine.",
        machine.cpu, machine.cpu_version, machine.compiler
    )
}

/// Where a table comes from, and where the rest of it is.
fn origin(record: &Record, bench: &str) -> String {
    let machine = &record.machine;
    let commit = record.bench(bench).map_or("", |it| it.commit.as_str());
    format!(
        "{} ({}), commit {commit}, {}, runs: {}; [all rows](benches/record/tables/{bench}.md).",
        machine.cpu,
        machine.cpu_version,
        machine.date,
        runs(record, bench)
    )
}

fn failed(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn write(path: &Path, text: String) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| failed(path, error))
}

/// What another program has recorded, if it has.
fn json(path: &Path) -> Result<Option<serde_json::Value>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(path, error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

/// Replaces the sections of a document.
fn rewrite(document: &Path, sections: &[Section]) -> Result<(), String> {
    let text = std::fs::read_to_string(document);
    let mut text = text.map_err(|error| failed(document, error))?;
    for (name, section) in sections {
        text = replaced(&text, name, section).map_err(|error| failed(document, error))?;
    }
    write(document, text)
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
    Ok(format!("{before}{begin}{section}\n{end}{after}"))
}

/// How often a bench ran.
fn runs(record: &Record, bench: &str) -> u32 {
    let rows = record.rows.iter().filter(|row| row.bench == bench);
    rows.map(|row| row.run).max().unwrap_or(0)
}
