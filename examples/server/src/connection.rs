//! A connection: bytes that are not cut into frames yet, and answers that are not written.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};

use flatslab::GenKey;
use flatslab::bytes::{Atomic, Buf, BufMut, ByteArena};
use mio::net::UnixStream;

use crate::worker::Worker;

/// Bytes of a length.
pub(crate) const LENGTH: usize = 4;

/// The most bytes of a frame after its length.
const LONGEST: usize = 1024;

/// The most frames of a connection whose answers are not written.
pub(crate) const UNREAD: usize = 64;

/// Bytes of a buffer that is read into: several frames, and more than one that is incomplete.
const READ: usize = 16 * 1024;

pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    /// Came in, and not cut yet.
    bytes: BufMut<Atomic>,
    answers: VecDeque<Buf<Atomic>>,
    /// Frames that the worker has.
    asked: usize,
    /// Whether no more bytes come.
    is_at_end: bool,
}

/// The bytes of the first frame with its length, if all have come.
fn first_frame(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(length) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok(Some(LENGTH + length).filter(|&all| all <= bytes.len()))
}

impl Connection {
    pub(crate) fn new(stream: UnixStream, arena: &ByteArena<Atomic>) -> Self {
        Connection {
            stream,
            bytes: arena.alloc(0),
            answers: VecDeque::new(),
            asked: 0,
            is_at_end: false,
        }
    }

    pub(crate) fn answer(&mut self, answer: Buf<Atomic>) {
        self.asked -= 1;
        self.answers.push_back(answer);
    }

    fn unread(&self) -> usize {
        self.asked + self.answers.len()
    }

    /// Whether there is a frame that its worker has no room for.
    pub(crate) fn waits_for_worker(&self) -> bool {
        self.unread() < UNREAD && matches!(first_frame(&self.bytes), Ok(Some(_)))
    }

    /// Writes and reads until the socket or a limit says no; what is there is all that comes if
    /// the server `ends`. Returns whether something is left to be done.
    pub(crate) fn go_on(
        &mut self,
        key: GenKey,
        worker: &mut Worker,
        arena: &ByteArena<Atomic>,
        ends: bool,
    ) -> io::Result<bool> {
        self.write()?;
        loop {
            while let Some(frame) = first_frame(&self.bytes)? {
                if self.unread() == UNREAD || !worker.has_room() {
                    // Goes on when an answer is delivered or written.
                    return Ok(true);
                }
                // A reference to the buffer, which goes on to be filled.
                let mut frame = self.bytes.split_to(frame);
                frame.advance(LENGTH);
                worker.send(key, frame);
                self.asked += 1;
            }
            if self.is_at_end {
                return Ok(self.unread() > 0);
            }
            match self.read(arena) {
                Ok(count) => self.is_at_end = count == 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) if ends => self.is_at_end = true,
                Err(_) => return Ok(true),
            }
        }
    }

    /// Reads once, after what is there of a frame.
    fn read(&mut self, arena: &ByteArena<Atomic>) -> io::Result<usize> {
        // It moves only if the frames before it keep the room that the rest may need.
        if !self.bytes.try_reclaim(LENGTH + LONGEST - self.bytes.len()) {
            let begun = std::mem::replace(&mut self.bytes, arena.alloc(READ));
            self.bytes.extend_from_slice(&begun).expect("it has room");
        }
        self.bytes.read_from(&mut self.stream)
    }

    fn write(&mut self) -> io::Result<()> {
        while let Some(answer) = self.answers.front_mut() {
            match self.stream.write(answer) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => answer.advance(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if answer.is_empty() {
                // Its buffer goes back to the worker's arena.
                self.answers.pop_front();
            }
        }
        Ok(())
    }
}
