//! What the programs share: from arguments to text and an exit code, and how much memory there is.

mod exit;
pub mod memory;
pub mod table;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use self::exit::{BAD_INPUT, FAILED, Failure, written};

/// Runs a program with the arguments of the process: `job` is given them, standard output and
/// standard error.
///
/// An error is written to standard error. If that fails too, only the exit code tells.
pub fn run<A: Parser>(
    job: impl FnOnce(&A, &mut dyn Write, &mut dyn Write) -> Result<ExitCode, Failure>,
) -> ExitCode {
    let out = &mut BufWriter::new(io::stdout().lock());
    let err = &mut io::stderr();
    match A::try_parse() {
        Ok(arguments) => job(&arguments, out, err).unwrap_or_else(|failure| failure.tell(err)),
        Err(error) if error.use_stderr() => {
            let _ = write!(err, "{error}");
            ExitCode::from(BAD_INPUT)
        }
        // `--help` and `--version` are answers, not errors.
        Err(answer) => written(write!(out, "{answer}").and_then(|()| out.flush()), err),
    }
}

/// Returns a bar on standard error; indicatif hides it where that is no terminal.
pub fn progress_bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:20} {wide_bar} {percent:>3} % {eta:>4}");
    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
