//! `cargo bench`: every bench in the order of what the crate is for, then one page for the whole.
//!
//! Each is built when its turn comes, with what it alone needs: the first figures are there before
//! allocators in C are compiled.

use std::process::{Command, ExitCode};

use flatslab_benches::arguments::Arguments;
use flatslab_benches::record::Record;

/// The benches, and the features with which each is built.
const BENCHES: [(&str, &str); 18] = [
    ("cycles", ""),
    ("growth", "allocators"),
    ("malloc", "allocators"),
    ("lives", "allocators"),
    ("intrusive", "allocators"),
    ("objects", "allocators"),
    ("heaps", "allocators"),
    ("collections", "allocators"),
    ("checkpoints", "allocators"),
    ("pages", "allocators"),
    ("bytes", "allocators"),
    ("registered", "allocators"),
    ("arena", "allocators"),
    ("epoch", "allocators"),
    ("threads", "allocators"),
    ("slowest", "allocators"),
    ("throughput", "full"),
    ("hotpaths", "full"),
];

fn main() -> ExitCode {
    // The benches check them once more; bad ones are refused before anything is built.
    let arguments = Arguments::of_this_process();
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    for (bench, features) in BENCHES {
        if let Err(error) = run(bench, features, &given) {
            eprintln!("{bench}: {error}");
            return ExitCode::FAILURE;
        }
    }
    if arguments.quick || arguments.list {
        return ExitCode::SUCCESS;
    }
    match page() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds and runs a bench.
fn run(bench: &str, features: &str, arguments: &[String]) -> Result<(), String> {
    println!("\n== {bench}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // What is built for all of them is built once.
    let features = match cfg!(feature = "full") {
        true => "full",
        false => features,
    };
    let status = Command::new(cargo)
        .args(["bench", "--package", "flatslab-benches", "--bench", bench])
        .args(["--features", features, "--"])
        .args(arguments)
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err("failed".to_owned()),
    }
}

/// What was measured on this machine, on one page, and the pictures.
fn page() -> Result<(), String> {
    let measured = Record::of_last_run()?;
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    let status = report.arg("--page").arg(measured).status();
    match status.map_err(|error| error.to_string())?.success() {
        true => Ok(()),
        false => Err("the page could not be written".to_owned()),
    }
}
