//! How the program ends: exit codes, and what goes before them.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

/// The stores differ, one is full, memory cannot be had or the output cannot be
/// written.
pub(crate) const FAILED: u8 = 1;
/// A bad argument or file.
pub(crate) const BAD_INPUT: u8 = 2;

/// Why the program ends early, in one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A bad argument or input file: exit code 2.
    Input(String),
    /// Anything else: exit code 1.
    Run(String),
}

impl Failure {
    /// A file that cannot be created or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Failure::Run(format!("{}: {error}", path.display()))
    }

    /// An error while it runs.
    pub(crate) fn run(error: impl std::fmt::Display) -> Self {
        Failure::Run(error.to_string())
    }

    /// Writes the reason to `err`.
    pub(crate) fn tell(self, err: &mut dyn Write) -> ExitCode {
        let (code, reason) = match self {
            Failure::Input(reason) => (BAD_INPUT, reason),
            Failure::Run(reason) => (FAILED, reason),
        };
        let _ = writeln!(err, "error: {reason}");
        ExitCode::from(code)
    }
}

/// The exit code for the result of writing to standard output.
pub(crate) fn written(result: io::Result<()>, err: &mut dyn Write) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as in `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(err, "error: standard output: {error}");
            ExitCode::from(FAILED)
        }
    }
}

/// A thread that others wait for must not end alone.
pub(crate) fn ending_all<R>(f: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if thread::panicking() {
                std::process::exit(FAILED.into());
            }
        }
    }
    let _end = End;
    f()
}
