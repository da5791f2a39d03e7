//! What is alike in other exchanges: a store without snapshots, and market data on a queue that does
//! not overwrite. What finds no room there is lost, and the number before the bytes tells the reader.

use std::ops::Deref;

use order_book::matching::Engine;
use order_book::sessions::opened;
use order_book::store::Room;
use order_flow::program::Failure;
use order_flow::traffic::Extent;

use super::parts::{Consumer, Orders, Producer, queue};

pub(crate) fn orders(orders: usize) -> Result<Orders, Failure> {
    let reserved = true;
    opened(Room { orders, reserved })
}

/// `slab` gives other slots after it is restored: the standby begins with the first command.
pub(crate) fn snapshot_at(_: usize) -> u64 {
    0
}

pub(crate) fn snapshot(_: &Engine<Orders>) -> Vec<u8> {
    Vec::new()
}

pub(crate) fn restored(_: &[u8], most: usize, extent: Extent) -> Result<Engine<Orders>, Failure> {
    Ok(Engine::new(orders(most)?, extent))
}

/// The engine's end of market data.
pub(crate) struct Publisher {
    /// None when it is closed.
    queue: Option<Producer>,
    number: u64,
}

/// The end of the one who reads it.
pub(crate) struct Follower(Consumer);

pub(crate) fn market(frames: usize, max_len: usize) -> (Publisher, Follower) {
    let (to, from) = queue(frames, max_len + 8);
    let (queue, number) = (Some(to), 0);
    (Publisher { queue, number }, Follower(from))
}

impl Publisher {
    /// Never waits, and says nothing of what is lost.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut numbered = [0; 64];
        let (number, rest) = numbered.split_at_mut(8);
        number.copy_from_slice(&self.number.to_le_bytes());
        rest[..bytes.len()].copy_from_slice(bytes);
        self.number += 1;
        let queue = self.queue.as_mut().ok_or("it is closed")?;
        let _ = queue.push(&numbered[..8 + bytes.len()]);
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.queue = None;
    }
}

/// A frame and its number.
pub(crate) struct Numbered<B> {
    bytes: B,
    pub(crate) sequence: u64,
}

impl Follower {
    pub(crate) fn pop(&mut self) -> Option<Numbered<impl Deref<Target = [u8]>>> {
        let bytes = self.0.pop()?;
        let number = bytes[..8].try_into().expect("eight bytes");
        let sequence = u64::from_le_bytes(number);
        Some(Numbered { bytes, sequence })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<B: Deref<Target = [u8]>> Deref for Numbered<B> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[8..]
    }
}
