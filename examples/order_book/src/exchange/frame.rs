//! Frames: commands, log entries and market data as bytes.

use crate::engine::command::{Command, Kind};
use crate::feed::book::Top;
use crate::feed::message::Side;

/// Bytes of a command's frame.
pub(crate) const COMMAND: usize = 40;
/// Bytes of a log entry: the command's frame, and the id that it was given.
pub(crate) const LOGGED: usize = COMMAND + 8;
/// Bytes of a market data frame.
pub(crate) const QUOTE: usize = 26;

/// A command, and its number among those of its connection.
pub(crate) type Numbered = (u64, Command);

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFrame {
    /// Not as long as a frame is.
    Length,
    /// Of no kind or side that there is.
    Kind,
    /// Of another session than the connection's.
    Session,
    /// A symbol that there is not, or a replaced number.
    Range,
}

impl BadFrame {
    pub(crate) const COUNT: usize = 4;
    pub(crate) const NAMES: [&str; Self::COUNT] = ["length", "kind", "session", "range"];
}

/// What a connection may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) session: u32,
    pub(crate) symbols: u16,
}

pub(crate) fn encode(&(number, command): &Numbered) -> [u8; COMMAND] {
    let mut bytes = [0; COMMAND];
    let mut put = Writer(&mut bytes);
    put.bytes(&[command.kind as u8, command.side as u8]);
    put.bytes(&command.symbol.to_le_bytes());
    for word in [command.session, command.price, command.quantity] {
        put.bytes(&word.to_le_bytes());
    }
    for word in command.reference {
        put.bytes(&word.to_le_bytes());
    }
    put.bytes(&command.id.to_le_bytes());
    put.bytes(&number.to_le_bytes());
    bytes
}

/// The command of a frame.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Numbered, BadFrame> {
    let bytes: &[u8; COMMAND] = bytes.try_into().map_err(|_| BadFrame::Length)?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let kinds = [
        Kind::New,
        Kind::Cancel,
        Kind::Replace,
        Kind::Reduce,
        Kind::CancelAll,
    ];
    let kind = kinds.get(usize::from(bytes[0])).ok_or(BadFrame::Kind)?;
    let sides = [Side::Buy, Side::Sell];
    let side = sides.get(usize::from(bytes[1])).ok_or(BadFrame::Kind)?;
    let command = Command {
        kind: *kind,
        side: *side,
        symbol: u16::from_le_bytes([bytes[2], bytes[3]]),
        session: word(4),
        price: word(8),
        quantity: word(12),
        reference: [word(16), word(20)],
        id: long(24),
    };
    Ok((long(32), command))
}

/// The command of a frame that came from a client.
///
/// # Errors
///
/// As [`decode`], and where the connection may not send it.
pub(crate) fn accept(bytes: &[u8], expected: u64, limits: Limits) -> Result<Numbered, BadFrame> {
    let (number, command) = decode(bytes)?;
    if command.session != limits.session {
        Err(BadFrame::Session)
    } else if command.symbol >= limits.symbols || number != expected {
        Err(BadFrame::Range)
    } else {
        Ok((number, command))
    }
}

pub(crate) fn quote(symbol: u16, top: Top) -> [u8; QUOTE] {
    let mut bytes = [0; QUOTE];
    let mut put = Writer(&mut bytes);
    put.bytes(&symbol.to_le_bytes());
    put.bytes(&top.ask.to_le_bytes());
    put.bytes(&top.ask_size.to_le_bytes());
    put.bytes(&top.bid.to_le_bytes());
    put.bytes(&top.bid_size.to_le_bytes());
    bytes
}

struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = rest;
    }
}
