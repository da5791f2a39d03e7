//! Boxes in channels, and `slab` with a map. The boxes come from the `Heap` beside it.

use std::ops::{Deref, DerefMut};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use order_book::matching::Engine;
use order_book::sessions::{Member, opened};
use order_book::store::{Room, SlabMap};
use order_flow::program::Failure;
use order_flow::traffic::Extent;
use rustc_hash::FxBuildHasher;

use super::Heap;
use crate::frame::Frame;
use crate::rivals::queues::{self, Full, Pop, Push};
use crate::rivals::reports::{self, Carry};

pub(crate) const NAME: &str = super::NAME;

pub(crate) type Orders = SlabMap<FxBuildHasher, Member<u32>>;
pub(crate) type SpscRing = queues::SpscRing<Sender, Received>;
pub(crate) type Producer = queues::Producer<Sender>;
pub(crate) type Consumer = queues::Consumer<Received>;
pub(crate) type BoundedSlab<T> = reports::BoundedSlab<Box<T, Heap>>;
pub(crate) type SendSlot<T> = reports::SendSlot<Box<T, Heap>>;
pub(crate) type Publisher = queues::Publisher<Sender>;
pub(crate) type Follower = queues::Follower<Received>;

pub(crate) fn orders(most: usize) -> Result<Orders, Failure> {
    opened(Room {
        orders: most,
        reserved: true,
    })
}

pub(crate) fn market(frames: usize, max_len: usize) -> (Publisher, Follower) {
    SpscRing::with_capacity(frames, max_len + 8).market()
}

/// `slab` gives other slots after it is restored: the standby begins with the first command.
pub(crate) fn snapshot_at(_: usize) -> u64 {
    0
}

pub(crate) fn snapshot(_: &Engine<Orders>) -> std::vec::Vec<u8> {
    std::vec::Vec::new()
}

pub(crate) fn restored(_: &[u8], most: usize, extent: Extent) -> Result<Engine<Orders>, Failure> {
    Ok(Engine::new(orders(most)?, extent))
}

/// A channel that has room for so many boxes.
pub(crate) struct Sender(SyncSender<Box<[u8], Heap>>);

pub(crate) struct Received {
    receiver: Receiver<Box<[u8], Heap>>,
    is_closed: bool,
}

impl SpscRing {
    pub(crate) fn with_capacity(entries: usize, _: usize) -> Self {
        let (sender, receiver) = mpsc::sync_channel(entries);
        let is_closed = false;
        let received = Received {
            receiver,
            is_closed,
        };
        queues::SpscRing(Sender(sender), received)
    }
}

impl Push for Sender {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let mut boxed = Vec::with_capacity_in(bytes.len(), Heap);
        boxed.extend_from_slice(bytes);
        self.0.try_send(boxed.into_boxed_slice()).map_err(|_| Full)
    }
}

impl Pop for Received {
    type Bytes<'a> = Box<[u8], Heap>;

    fn pop(&mut self) -> Option<Box<[u8], Heap>> {
        let received = self.receiver.try_recv();
        self.is_closed = matches!(received, Err(TryRecvError::Disconnected));
        received.ok()
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }
}

pub(crate) struct SendReports<T>(SyncSender<SendSlot<T>>);
pub(crate) struct ReceiveReports<T>(Receiver<SendSlot<T>>);

pub(crate) fn reports<T>(most: usize) -> (SendReports<T>, ReceiveReports<T>) {
    let (sender, receiver) = mpsc::sync_channel(most);
    (SendReports(sender), ReceiveReports(receiver))
}

impl<T> SendReports<T> {
    pub(crate) fn push(&mut self, report: SendSlot<T>) -> Result<(), Full> {
        self.0.try_send(report).map_err(|_| Full)
    }
}

impl<T> ReceiveReports<T> {
    pub(crate) fn pop(&mut self) -> Result<SendSlot<T>, TryRecvError> {
        self.0.try_recv()
    }
}

/// A new `Vec` for each batch.
pub(crate) struct Arena;
pub(crate) struct Scope;
pub(crate) struct ArenaVec(Vec<Frame, Heap>);

impl Arena {
    pub(crate) fn with_capacity(_: usize) -> Self {
        Arena
    }

    pub(crate) fn scope<R>(&mut self, f: impl FnOnce(Scope) -> R) -> R {
        f(Scope)
    }
}

impl ArenaVec {
    pub(crate) fn new_in(_: &Scope) -> Self {
        ArenaVec(Vec::new_in(Heap))
    }
}

impl Deref for ArenaVec {
    type Target = Vec<Frame, Heap>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ArenaVec {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Each report in a box of its own.
impl<T> Carry for Box<T, Heap> {
    type Value = T;

    fn new(value: T) -> Self {
        Box::new_in(value, Heap)
    }

    fn value(&self) -> &T {
        self
    }
}
