//! What queues of bytes have in common, and market data on one that does not overwrite: what finds
//! no room is lost, and the number before the bytes tells the reader.

use std::ops::Deref;

/// One end of a queue of bytes.
pub(crate) trait Push {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Full>;
}

/// The other end.
pub(crate) trait Pop {
    type Bytes<'a>: Deref<Target = [u8]>
    where
        Self: 'a;
    fn pop(&mut self) -> Option<Self::Bytes<'_>>;
    fn is_closed(&self) -> bool;
}

/// There was no room.
#[derive(Debug)]
pub(crate) struct Full;

/// A queue with flatslab's names.
pub(crate) struct SpscRing<A, B>(pub(super) A, pub(super) B);
pub(crate) struct Producer<A>(A);
pub(crate) struct Consumer<B>(B);

impl<A, B> SpscRing<A, B> {
    pub(crate) fn split(self) -> (Producer<A>, Consumer<B>) {
        (Producer(self.0), Consumer(self.1))
    }

    pub(super) fn market(self) -> (Publisher<A>, Follower<B>) {
        let (queue, number) = (Some(self.0), 0);
        (Publisher { queue, number }, Follower(self.1))
    }
}

impl<A: Push> Producer<A> {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.push(bytes)
    }
}

impl<B: Pop> Consumer<B> {
    pub(crate) fn pop(&mut self) -> Option<B::Bytes<'_>> {
        self.0.pop()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// The engine's end.
pub(crate) struct Publisher<Q> {
    /// None when it is closed.
    queue: Option<Q>,
    number: u64,
}

impl<Q: Push> Publisher<Q> {
    /// Never waits, and says nothing of what is lost.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let mut numbered = [0; 64];
        let (number, rest) = numbered.split_at_mut(8);
        number.copy_from_slice(&self.number.to_le_bytes());
        rest[..bytes.len()].copy_from_slice(bytes);
        self.number += 1;
        let queue = self.queue.as_mut().ok_or(Full)?;
        let _ = queue.push(&numbered[..8 + bytes.len()]);
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.queue = None;
    }
}

/// The end of the one who reads market data.
pub(crate) struct Follower<Q>(Q);

/// A frame and its number.
pub(crate) struct Numbered<B> {
    bytes: B,
    pub(crate) sequence: u64,
}

impl<Q: Pop> Follower<Q> {
    pub(crate) fn pop(&mut self) -> Option<Numbered<Q::Bytes<'_>>> {
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
