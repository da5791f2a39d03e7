//! What clients send: the commands of the traffic as frames, and among them frames that are none.

use super::frame::{self, BadFrame, COMMAND, Limits};
use crate::engine::command::Command;

/// Of so many frames, one comes after a bad one.
const FRAMES_TO_A_BAD_ONE: usize = 200;

/// All frames, one after the other, as they were read from connections.
pub(crate) struct Stream {
    frames: Vec<u8>,
    /// The session of the connection, and the bytes of each frame.
    read: Vec<(u32, u8)>,
    /// How many frames are bad, by reason.
    pub(crate) bad: [u64; BadFrame::COUNT],
}

impl Stream {
    pub(crate) fn new(commands: &[Command]) -> Self {
        let mut stream = Stream {
            frames: Vec::with_capacity(commands.len() * COMMAND),
            read: Vec::with_capacity(commands.len()),
            bad: [0; BadFrame::COUNT],
        };
        for (number, command) in commands.iter().enumerate() {
            let bytes = frame::encode(&(number as u64, *command));
            if number % FRAMES_TO_A_BAD_ONE == 0 {
                stream.add_bad(number / FRAMES_TO_A_BAD_ONE, command.session, bytes);
            }
            stream.add(command.session, &bytes);
        }
        stream
    }

    fn add(&mut self, session: u32, bytes: &[u8]) {
        self.frames.extend_from_slice(bytes);
        self.read.push((session, bytes.len() as u8));
    }

    /// A frame that is spoilt in one of the ways there are.
    fn add_bad(&mut self, turn: usize, session: u32, mut bytes: [u8; COMMAND]) {
        let (reason, len) = match turn % 6 {
            0 => (BadFrame::Length, COMMAND - 1),
            1 => (BadFrame::Length, 0),
            2 => {
                bytes[0] = 0xff;
                (BadFrame::Kind, COMMAND)
            }
            3 => {
                bytes[4] ^= 1;
                (BadFrame::Session, COMMAND)
            }
            4 => {
                bytes[2..4].fill(0xff);
                (BadFrame::Range, COMMAND)
            }
            _ => {
                bytes[COMMAND - 1] ^= 1;
                (BadFrame::Range, COMMAND)
            }
        };
        self.bad[reason as usize] += 1;
        self.add(session, &bytes[..len]);
    }

    pub(crate) fn client(&self, symbols: u16) -> Client<'_> {
        Client {
            stream: self,
            next: 0,
            at: 0,
            symbols,
        }
    }
}

/// Reads them.
pub(crate) struct Client<'a> {
    stream: &'a Stream,
    next: usize,
    at: usize,
    symbols: u16,
}

impl<'a> Client<'a> {
    /// The next frame, and what its connection may send.
    pub(crate) fn next(&mut self) -> Option<(Limits, &'a [u8])> {
        let &(session, len) = self.stream.read.get(self.next)?;
        let bytes = &self.stream.frames[self.at..][..usize::from(len)];
        self.next += 1;
        self.at += bytes.len();
        let symbols = self.symbols;
        Some((Limits { session, symbols }, bytes))
    }
}
