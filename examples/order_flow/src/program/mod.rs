//! What the programs share: from arguments to text and an exit code, and how much memory there is.

mod exit;
pub mod memory;
pub mod table;

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

pub use self::exit::{BAD_INPUT, FAILED, Failure};

/// Runs a program with the arguments of the process: `job` is given them and standard output.
pub fn run<A: Parser>(job: impl FnOnce(&A, &mut dyn Write) -> Result<(), Failure>) -> ExitCode {
    let out = &mut BufWriter::new(io::stdout().lock());
    let result = match A::try_parse() {
        Ok(arguments) => job(&arguments, out),
        Err(error) if error.use_stderr() => {
            let _ = write!(io::stderr(), "{error}");
            return ExitCode::from(BAD_INPUT);
        }
        // `--help` and `--version` are answers, not errors.
        Err(answer) => write!(out, "{answer}").map_err(Failure::from),
    };
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

/// Writes what was measured to a file, as one JSON object.
///
/// # Errors
///
/// [`Failure::Run`], if it cannot be written.
pub fn record(path: &Path, result: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(result).map_err(Failure::run)?;
    std::fs::write(path, json + "\n").map_err(|error| Failure::file(path, &error))
}

/// Returns a bar on standard error; indicatif hides it where that is no terminal.
pub fn progress_bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:20} {wide_bar} {percent:>3} % {eta:>4}");
    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
