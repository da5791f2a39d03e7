//! The messages of LOBSTER files: rows of six columns, without a header.
//!
//! Every message is checked here, once: sizes and prices of visible orders are at least 1. The book
//! relies on that. Parsing ends at the first bad row, and says which it is and why.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::message::{Kind, Message, Side};

/// Reads at most `limit` messages of a file. Rows past the limit are not parsed.
///
/// # Errors
///
/// One line that names the file, and the row if one is bad.
pub fn read(path: &Path, limit: Option<u64>) -> Result<Vec<Message>, String> {
    let limit = limit.map_or(usize::MAX, |limit| limit as usize);
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(file, limit).map_err(|error| format!("{}: {error}", path.display()))
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

/// Time, type, order id, size, price and direction.
type Row = (f64, u8, i128, i64, i64, i8);

/// Returns messages as the rows of a file, all at time 0.
pub fn rows(messages: &[Message]) -> String {
    let row = |it: &Message| {
        let (kind, direction) = (it.kind as u8 + 1, if it.side == Side::Buy { 1 } else { -1 });
        let Message {
            id, size, price, ..
        } = it;
        format!("0,{kind},{id},{size},{price},{direction}\n")
    };
    messages.iter().map(row).collect()
}

/// Parses the text of a file.
fn parse(text: impl Read, limit: usize) -> Result<Vec<Message>, String> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).flexible(true).from_reader(text);
    let mut messages = Vec::new();
    for record in reader.records().take(limit) {
        let record = record.map_err(|error| error.to_string())?;
        let message = match record.len() {
            6 => message(
                record
                    .deserialize(None)
                    .map_err(|error| error.to_string())?,
            ),
            columns => Err(format!("{columns} columns instead of 6")),
        };
        let line = record.position().map_or(0, csv::Position::line);
        messages.push(message.map_err(|reason| format!("line {line}: {reason}"))?);
    }
    match messages.is_empty() {
        true => Err("the file holds no messages".to_owned()),
        false => Ok(messages),
    }
}

/// The message of a row.
fn message((_, kind, id, size, price, direction): Row) -> Result<Message, String> {
    let kind = match kind {
        1 => Kind::Add,
        2 => Kind::Cancel,
        3 => Kind::Delete,
        4 => Kind::Execute,
        5 => Kind::Hidden,
        6 => Kind::Cross,
        7 => Kind::Halt,
        _ => return Err(format!("type {kind} is not from 1 to 7")),
    };
    let side = match direction {
        1 => Side::Buy,
        -1 => Side::Sell,
        _ => return Err(format!("direction {direction} is neither 1 nor -1")),
    };
    // Auctions and halts have 0 or -1 in unused columns; the price of a halt is a code.
    if matches!(kind, Kind::Cross | Kind::Halt) {
        let (id, size, price) = (0, 0, 0);
        return Ok(Message {
            id,
            price,
            size,
            kind,
            side,
        });
    }
    let is_whole = |number: i64| u32::try_from(number).ok().filter(|&number| number > 0);
    Ok(Message {
        id: u64::try_from(id).map_err(|_| format!("order id {id} does not fit 64 bits"))?,
        price: is_whole(price).ok_or(format!("price {price} is not from 1 to {}", u32::MAX))?,
        size: is_whole(size).ok_or(format!("size {size} is not from 1 to {}", u32::MAX))?,
        kind,
        side,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;

    const ROW: &str = "34200.5,1,7,18,5853300,1";

    fn parsed(text: &str) -> Result<Vec<Message>, String> {
        parse(text.as_bytes(), usize::MAX)
    }

    #[test]
    fn a_row_becomes_a_message() {
        let wanted = Message {
            id: 7,
            price: 5_853_300,
            size: 18,
            kind: Kind::Add,
            side: Side::Buy,
        };
        for text in [ROW.to_owned(), format!("{ROW}\n"), format!("{ROW}\r\n")] {
            assert_eq!(parsed(&text), Ok(vec![wanted]), "{text:?}");
        }
    }

    #[test]
    fn rows_are_parsed_as_the_messages_they_were() {
        let mut messages: Vec<_> = Flow::new(1).take(2_000).collect();
        for kind in [Kind::Hidden, Kind::Cross, Kind::Halt] {
            let (id, price, size, side) = match kind {
                Kind::Hidden => (u64::MAX, u32::MAX, u32::MAX, Side::Sell),
                _ => (0, 0, 0, Side::Sell),
            };
            messages.push(Message {
                id,
                price,
                size,
                kind,
                side,
            });
        }
        assert_eq!(parsed(&rows(&messages)), Ok(messages));
    }

    #[test]
    fn halts_carry_codes_instead_of_prices() {
        for price in [-1, 0, 1] {
            let messages = parsed(&format!("34200.1,7,-1,0,{price},-1")).unwrap();
            assert_eq!(messages[0].kind, Kind::Halt);
        }
    }

    #[test]
    fn rows_past_the_limit_are_not_parsed() {
        let text = format!("{ROW}\n{ROW}\nnonsense\n");
        assert_eq!(parse(text.as_bytes(), 2).unwrap().len(), 2);
        assert!(parse(text.as_bytes(), 3).is_err());
    }

    #[test]
    fn a_bad_row_is_named_and_why() {
        for (row, reason) in [
            ("1,1,7,18,100", "5 columns"),
            ("1,1,7,18,100,1,9", "7 columns"),
            ("Time,Type,ID,Size,Price,Direction", "field 0"),
            ("1,0,7,18,100,1", "type 0 is not from 1 to 7"),
            ("1,8,7,18,100,1", "type 8 is not from 1 to 7"),
            ("1,add,7,18,100,1", "field 1"),
            ("1,1,-7,18,100,1", "order id -7"),
            ("1,1,18446744073709551616,18,100,1", "does not fit 64 bits"),
            ("1,1,7,1.5,100,1", "field 3"),
            ("1,1,7,0,100,1", "size 0 is not from 1 to"),
            ("1,4,7,-3,100,1", "size -3"),
            (
                "1,1,7,4294967296,100,1",
                "size 4294967296 is not from 1 to 4294967295",
            ),
            ("1,3,7,18,0,1", "price 0 is not from 1 to"),
            ("1,1,7,18,4294967296,1", "price 4294967296"),
            ("1,1,7,18,,1", "field 4"),
            ("1,1,7, 18,100,1", "field 3"),
            ("1,1,7,18,100,0", "direction 0 is neither 1 nor -1"),
        ] {
            let error = parsed(&format!("{ROW}\n{row}\n{ROW}\n")).unwrap_err();
            let has_line = error.contains("line 2: ") || error.contains("line: 2,");
            assert!(has_line && error.contains(reason), "{row}: {error}");
        }
        let text = b"1,1,7,\xff,100,1";
        assert!(parse(&text[..], 1).unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_file_without_rows_is_refused() {
        for text in ["", "\n"] {
            assert_eq!(parsed(text).unwrap_err(), "the file holds no messages");
        }
    }
}
