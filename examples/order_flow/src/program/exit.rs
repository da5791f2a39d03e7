//! How the program ends: exit codes, and what goes before them.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The stores differ, one is full, memory cannot be had or the output cannot be
/// written.
pub const FAILED: u8 = 1;
/// A bad argument or file.
pub const BAD_INPUT: u8 = 2;

/// Why the program ends early, in one line.
#[derive(Debug)]
pub enum Failure {
    /// A bad argument or input file: exit code 2.
    Input(String),
    /// Anything else: exit code 1.
    Run(String),
}

impl Failure {
    /// Returns the failure of a file that cannot be created or written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Failure::Run(format!("{}: {error}", path.display()))
    }

    /// Returns the failure of what cannot go on.
    pub fn run(error: impl std::fmt::Display) -> Self {
        Failure::Run(error.to_string())
    }

    /// Writes the reason to `err`.
    pub fn tell(self, err: &mut dyn Write) -> ExitCode {
        let (code, reason) = match self {
            Failure::Input(reason) => (BAD_INPUT, reason),
            Failure::Run(reason) => (FAILED, reason),
        };
        let _ = writeln!(err, "error: {reason}");
        ExitCode::from(code)
    }
}

/// Returns the exit code for the result of writing to standard output.
pub fn written(result: io::Result<()>, err: &mut dyn Write) -> ExitCode {
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
