//! Readers that do what safe code may: lie, panic, fail, look at what they are lent.

use std::io::{Error, ErrorKind, Read, Result};

/// Reads what its function says, which is given the room.
pub(crate) struct Reader<F>(pub(crate) F);

impl<F: FnMut(&mut [u8]) -> Result<usize>> Read for Reader<F> {
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        (self.0)(room)
    }
}

/// Writes over all of the room, and then does not say so.
pub(crate) fn fails(kind: ErrorKind) -> impl Read {
    Reader(move |room: &mut [u8]| {
        room.fill(b'!');
        Err(Error::from(kind))
    })
}

/// Says that it has read that many bytes more than it was given room for.
pub(crate) fn lies(by: usize) -> impl Read {
    Reader(move |room: &mut [u8]| {
        room.fill(b'!');
        Ok(room.len().saturating_add(by))
    })
}

/// Fills all of the room. What it was lent is in `seen` then: to compare that is an error under
/// Miri where a byte is not initialised.
pub(crate) fn looks(seen: &mut Vec<u8>, byte: u8) -> impl Read {
    Reader(move |room: &mut [u8]| {
        seen.clear();
        seen.extend_from_slice(room);
        room.fill(byte);
        Ok(room.len())
    })
}

/// The message of the panic in which this ends.
pub(crate) fn message(f: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast_ref::<&str>().unwrap().to_string(),
    }
}
