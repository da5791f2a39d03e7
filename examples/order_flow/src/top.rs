//! The top of a book, and the file that has one for each message.

use std::fmt;
use std::fs::File;
use std::path::Path;

use zerocopy::{Immutable, IntoBytes, TryFromBytes};

use crate::program::Failure;

/// The top of one symbol's book: 0 where a side is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Top {
    /// Lowest price asked, dollars × 10,000.
    pub ask: u32,
    /// Highest price bid, dollars × 10,000.
    pub bid: u32,
    /// Shares at the lowest price asked.
    pub ask_size: u64,
    /// Shares at the highest price bid.
    pub bid_size: u64,
}

/// As a row of the file of tops.
impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Top {
            ask,
            ask_size,
            bid,
            bid_size,
        } = self;
        write!(f, "{ask},{ask_size},{bid},{bid_size}")
    }
}

/// The file of `--bbo`: the top of book after each message of a symbol, one a line.
#[derive(Debug)]
pub struct TopsFile<'a> {
    /// As it was named.
    pub path: &'a Path,
    /// Open for writing.
    pub file: File,
}

impl<'a> TopsFile<'a> {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if it is the file of the messages; [`Failure::Run`], if it cannot be
    /// created.
    pub fn create(path: &'a Path, messages: Option<&Path>) -> Result<Self, Failure> {
        let is_path = |input: &Path| Some(input.canonicalize().ok()? == path.canonicalize().ok()?);
        if messages.and_then(is_path) == Some(true) {
            let path = path.display();
            return Err(Failure::Input(format!("{path}: would overwrite the input")));
        }
        let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
        Ok(TopsFile { path, file })
    }

    /// Empties the file, as far as it can be: devices and pipes cannot. Half of the tops could be
    /// mistaken for all of them.
    pub fn clear(&self) {
        let _ = self.file.set_len(0);
    }
}
