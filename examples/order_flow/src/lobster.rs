//! The parser of LOBSTER message files: six columns, no header.
//!
//! Every message is checked here, once: sizes and prices of visible orders are at
//! least 1 and fit 32 bits. The book relies on that. Parsing ends at the first
//! malformed row and reports its line and column.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::message::{Kind, Message, Side};

/// Where the text is malformed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// The character at which the malformed field begins, counted from 1.
    pub column: usize,
    /// Why it is malformed.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

/// Reads at most `limit` messages of a file. Rows past the limit are not parsed.
///
/// # Errors
///
/// One line that names the file, and the line and column if it is malformed.
pub fn read(path: &Path, limit: Option<u64>) -> Result<Vec<Message>, String> {
    let limit = limit.map_or(usize::MAX, |limit| limit as usize);
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text, limit).map_err(|error| format!("{}:{error}", path.display()))
}

/// Reads the recorded hour that tests compare with: LOBSTER's public sample of AAPL, 2012-06-21
/// 09:30 to 10:30, 50 levels. `FLATSLAB_LOBSTER` is its path; without it this says so and returns
/// `None`.
///
/// # Panics
///
/// If the file cannot be read.
pub fn hour() -> Option<Vec<Message>> {
    let Some(path) = std::env::var_os("FLATSLAB_LOBSTER").map(PathBuf::from) else {
        eprintln!("skipped: FLATSLAB_LOBSTER names no message file");
        return None;
    };
    Some(read(&path, None).unwrap_or_else(|reason| panic!("{reason}")))
}

/// Returns messages as the rows of a file, all at time 0.
pub fn rows(messages: &[Message]) -> String {
    let row = |message: &Message| {
        let &Message {
            id,
            price,
            size,
            kind,
            side,
        } = message;
        let direction = match side {
            Side::Buy => 1,
            Side::Sell => -1,
        };
        format!("0,{},{id},{size},{price},{direction}\n", kind as u8 + 1)
    };
    messages.iter().map(row).collect()
}

/// Parses the text of a file.
///
/// # Errors
///
/// The first malformed row, or a text without rows.
pub fn parse(text: &[u8], limit: usize) -> Result<Vec<Message>, ParseError> {
    let mut messages = Vec::new();
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        let reason = "the file holds no messages".to_owned();
        return Err(ParseError {
            line: 1,
            column: 1,
            reason,
        });
    }
    for (index, bytes) in text.split(|&byte| byte == b'\n').enumerate().take(limit) {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let message = row(bytes).map_err(|(column, reason)| ParseError {
            line: index + 1,
            column,
            reason,
        })?;
        messages.push(message);
    }
    Ok(messages)
}

/// A column and why it is malformed.
type Fault = (usize, String);

/// One field of a row.
#[derive(Clone, Copy)]
struct Field<'a> {
    name: &'static str,
    text: &'a str,
    /// As [`ParseError::column`].
    column: usize,
}

impl Field<'_> {
    fn fault(&self, reason: impl fmt::Display) -> Fault {
        (
            self.column,
            format!("{} {:?} {reason}", self.name, self.text),
        )
    }

    /// A whole number within bounds.
    fn number(&self, bounds: RangeInclusive<i128>) -> Result<i128, Fault> {
        let digits = self.text.strip_prefix('-').unwrap_or(self.text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.fault("is not a whole number"));
        }
        // Of digits alone, only too many fail to parse.
        match self.text.parse() {
            Ok(number) if bounds.contains(&number) => Ok(number),
            _ => Err(self.fault(format_args!(
                "is not from {} to {}",
                bounds.start(),
                bounds.end()
            ))),
        }
    }

    /// Seconds, with or without a fraction. The value is not used.
    fn check_time(&self) -> Result<(), Fault> {
        let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (seconds, fraction) = self.text.split_once('.').unwrap_or((self.text, "0"));
        if all_digits(seconds) && all_digits(fraction) {
            Ok(())
        } else {
            Err(self.fault("is not a number of seconds"))
        }
    }
}

const NAMES: [&str; 6] = ["time", "type", "order id", "size", "price", "direction"];

/// Parses one line without its end.
fn row(bytes: &[u8]) -> Result<Message, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        (
            valid.chars().count() + 1,
            "the text is not UTF-8".to_owned(),
        )
    })?;
    if text.is_empty() {
        return Err((1, "the line is empty".to_owned()));
    }
    let [time, kind, id, size, price, direction] = fields(text)?;

    time.check_time()?;
    let kind = match kind.number(1..=7)? {
        1 => Kind::Add,
        2 => Kind::Cancel,
        3 => Kind::Delete,
        4 => Kind::Execute,
        5 => Kind::Hidden,
        6 => Kind::Cross,
        _ => Kind::Halt,
    };
    // Auctions and halts have 0 or -1 in unused columns; the price of a halt is a
    // code.
    let about_order = !matches!(kind, Kind::Cross | Kind::Halt);
    let (id_bounds, bounds) = if about_order {
        (0..=i128::from(u64::MAX), 1..=i128::from(u32::MAX))
    } else {
        let any = i128::from(i64::MIN)..=i128::from(i64::MAX);
        (any.clone(), any)
    };
    let id = id.number(id_bounds)?;
    let size = size.number(bounds.clone())?;
    let price = price.number(bounds)?;
    let side = match direction.text {
        "1" => Side::Buy,
        "-1" => Side::Sell,
        _ => return Err(direction.fault("is neither 1 nor -1")),
    };
    let (id, size, price) = if about_order {
        (id as u64, size as u32, price as u32)
    } else {
        (0, 0, 0)
    };
    Ok(Message {
        id,
        price,
        size,
        kind,
        side,
    })
}

/// Splits a line at its commas.
fn fields(text: &str) -> Result<[Field<'_>; 6], Fault> {
    let mut fields = NAMES.map(|name| Field {
        name,
        text: "",
        column: 0,
    });
    let (mut count, mut column) = (0, 1);
    for part in text.split(',') {
        match fields.get_mut(count) {
            Some(field) => (field.text, field.column) = (part, column),
            None => {
                let found = text.split(',').count();
                return Err((column, format!("expected 6 columns, found {found}")));
            }
        }
        count += 1;
        column += part.chars().count() + 1;
    }
    if count < NAMES.len() {
        // One past the last character, where the next field is missing.
        return Err((column - 1, format!("expected 6 columns, found {count}")));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests;
