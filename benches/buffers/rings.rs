//! Rings of frames.

use std::collections::VecDeque;

use flatslab::bytes::Ring;
use flatslab_benches::bytes::{DEQUE, RING};

/// A frame as it was received: its bytes, and how many there are.
#[derive(Clone, Copy)]
pub(crate) struct Frame<const BYTES: usize> {
    pub(crate) len: usize,
    pub(crate) bytes: [u8; BYTES],
}

impl<const BYTES: usize> Frame<BYTES> {
    /// The length is loaded: the compiler does not know it.
    #[inline(always)]
    fn slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// What a reader reads of it.
    #[inline(always)]
    pub(crate) fn read(&self) -> u64 {
        read(self.slice())
    }
}

/// What a reader reads of a frame: its number and its length.
#[inline(always)]
fn read(bytes: &[u8]) -> u64 {
    let number = bytes.first_chunk().expect("eight bytes");
    u64::from_le_bytes(*number) + bytes.len() as u64
}

/// So many frames, first in, first out; the newest overwrites the oldest.
pub(crate) trait Fifo<const BYTES: usize> {
    const NAME: &'static str;

    fn new(entries: usize) -> Self;

    /// Copies a frame in, and says whether the oldest was overwritten.
    fn push(&mut self, frame: &Frame<BYTES>) -> bool;

    /// Takes the oldest, reads it, and drops it.
    fn pop(&mut self) -> Option<u64>;

    /// Reads the oldest.
    fn look(&self) -> Option<u64>;
}

impl<const BYTES: usize> Fifo<BYTES> for Ring {
    const NAME: &'static str = RING;

    fn new(entries: usize) -> Self {
        Ring::with_capacity(entries, BYTES)
    }

    #[inline(always)]
    fn push(&mut self, frame: &Frame<BYTES>) -> bool {
        Ring::push(self, frame.slice()).expect("room").is_some()
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        Ring::pop(self).map(|buf| read(&buf))
    }

    #[inline(always)]
    fn look(&self) -> Option<u64> {
        self.get(0).map(|buf| read(buf))
    }
}

/// A `Vec` for each frame, or each `Vec` used again by hand.
pub(crate) struct Vecs<const REUSED: bool> {
    frames: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    entries: usize,
}

pub(crate) type Deque = Vecs<false>;
pub(crate) type ReusedDeque = Vecs<true>;

impl<const BYTES: usize, const REUSED: bool> Fifo<BYTES> for Vecs<REUSED> {
    const NAME: &'static str = if REUSED {
        "VecDeque<Vec<u8>>, reused"
    } else {
        DEQUE
    };

    fn new(entries: usize) -> Self {
        Vecs {
            frames: VecDeque::with_capacity(entries),
            spare: Vec::with_capacity(if REUSED { entries } else { 0 }),
            entries,
        }
    }

    #[inline(always)]
    fn push(&mut self, frame: &Frame<BYTES>) -> bool {
        let is_full = self.frames.len() == self.entries;
        let used = match is_full {
            true => self.frames.pop_front(),
            false if REUSED => self.spare.pop(),
            false => None,
        };
        self.frames.push_back(if REUSED {
            let mut vec = used.unwrap_or_default();
            vec.clear();
            vec.extend_from_slice(frame.slice());
            vec
        } else {
            drop(used);
            frame.slice().to_vec()
        });
        is_full
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        let frame = self.frames.pop_front()?;
        let read = read(&frame);
        if REUSED {
            self.spare.push(frame);
        }
        Some(read)
    }

    #[inline(always)]
    fn look(&self) -> Option<u64> {
        self.frames.front().map(|frame| read(frame))
    }
}
