//! What clients send: commands as frames, and among them frames that are none.

use std::mem::offset_of;

use order_flow::command::Command;
use zerocopy::IntoBytes;

use super::frame::{BadFrame, Frame};

/// Of so many frames, one comes after a bad one.
const FRAMES_TO_A_BAD_ONE: u64 = 200;

/// What was read from a connection.
pub(crate) struct Received {
    pub(crate) session: u32,
    len: usize,
    bytes: [u8; size_of::<Frame>()],
}

impl Received {
    fn new(frame: Frame) -> Self {
        let bytes = frame.as_bytes().try_into().expect("as many bytes");
        let (session, len) = (frame.command.session, size_of::<Frame>());
        Received {
            session,
            len,
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Spoils the frame in one of the ways there are.
    fn spoil(&mut self, turn: usize) -> BadFrame {
        const COMMAND: usize = offset_of!(Frame, command);
        match turn % 5 {
            0 => {
                self.len = turn % self.len;
                BadFrame::Length
            }
            1 => {
                self.bytes[COMMAND + offset_of!(Command, kind)] = 0xff;
                BadFrame::Kind
            }
            2 => {
                self.session ^= 1;
                BadFrame::Session
            }
            3 => {
                self.bytes[COMMAND + offset_of!(Command, symbol)..][..2].fill(0xff);
                BadFrame::Range
            }
            _ => {
                self.bytes[offset_of!(Frame, number)] ^= 1;
                BadFrame::Range
            }
        }
    }
}

/// All that clients send, and how much of it is bad, by reason.
pub(crate) fn all(commands: &[Command]) -> (Vec<Received>, [u64; BadFrame::COUNT]) {
    let (mut received, mut bad) = (Vec::new(), [0; BadFrame::COUNT]);
    for (number, &command) in (0..).zip(commands) {
        let frame = Frame { number, command };
        if number % FRAMES_TO_A_BAD_ONE == 0 {
            let mut spoilt = Received::new(frame);
            let reason = spoilt.spoil((number / FRAMES_TO_A_BAD_ONE) as usize);
            bad[reason as usize] += 1;
            received.push(spoilt);
        }
        received.push(Received::new(frame));
    }
    (received, bad)
}
