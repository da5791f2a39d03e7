//! How the program ends: exit codes, and what goes before them.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The stores differ, one is full, memory cannot be had or the output cannot be
/// written.
pub const FAILED: u8 = 1;
/// A bad argument or file.
pub const BAD_INPUT: u8 = 2;

/// Why the program ends early.
#[derive(Debug)]
pub enum Failure {
    /// A bad argument or input file, in one line: exit code 2.
    Input(String),
    /// Anything else, in one line: exit code 1.
    Run(String),
    /// Standard output cannot be written: exit code 1, or 0 if its reader has seen enough, as in
    /// `| head`.
    Output(io::Error),
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

    /// Writes the reason to standard error. If that fails too, only the exit code tells.
    pub(super) fn tell(self) -> ExitCode {
        let (code, reason) = match self {
            Failure::Input(reason) => (BAD_INPUT, reason),
            Failure::Run(reason) => (FAILED, reason),
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Failure::Output(error) => (FAILED, format!("standard output: {error}")),
        };
        let _ = writeln!(io::stderr(), "error: {reason}");
        ExitCode::from(code)
    }
}

/// Of standard output: nothing else is written without a name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}
