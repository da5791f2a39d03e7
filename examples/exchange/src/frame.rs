//! Frames, whose bytes stand on the wire; and what the engine says of them.

use order_flow::command::{Command, Response};
use order_flow::top::Top;
use zerocopy::{ConvertError, Immutable, IntoBytes, TryFromBytes};

/// A command, and its number among all of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    pub(crate) command: Command,
}

/// What the engine says of one command, to the journal, the standby and market data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) frame: Frame,
    pub(crate) answer: u64,
    /// The best prices of the command's symbol, if it has changed them.
    pub(crate) quote: Option<Top>,
    /// The number of events with a quote before this one.
    pub(crate) quotes: u64,
}

/// What the engine says of one command, to the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) number: u64,
    pub(crate) response: Response,
}

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFrame {
    /// Not as long as a frame is.
    Length,
    /// Of no kind or side that there is.
    Kind,
    /// Of another session than the connection's.
    Session,
    /// A symbol that there is not, or a repeated number.
    Range,
}

impl BadFrame {
    pub(crate) const COUNT: usize = 4;
}

impl Frame {
    /// The frame that a client of this session has sent.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn accept(
        bytes: &[u8],
        number: u64,
        session: u32,
        symbols: u32,
    ) -> Result<Self, BadFrame> {
        let frame = Frame::try_read_from_bytes(bytes).map_err(|error| match error {
            ConvertError::Size(_) => BadFrame::Length,
            _ => BadFrame::Kind,
        })?;
        if frame.command.session != session {
            Err(BadFrame::Session)
        } else if u32::from(frame.command.symbol) >= symbols || frame.number != number {
            Err(BadFrame::Range)
        } else {
            Ok(frame)
        }
    }
}
