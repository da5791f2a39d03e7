//! `rtrb`, `Vec`s that come back, and `slab` with a number.

use std::cell::{RefCell, RefMut};
use std::ops::{Deref, DerefMut};

use order_book::matching::Engine;
use order_book::sessions::opened;
use order_book::store::{Room, SlabNumberStore};
use order_flow::program::Failure;
use order_flow::traffic::Extent;

use crate::frame::Frame;
use crate::rivals::queues::{self, Full, Pop, Push};
use crate::rivals::reports::{self, Carry};

pub(crate) const NAME: &str = "`rtrb`, `Vec`s used again, `slab` + number";

pub(crate) type Orders = SlabNumberStore;
pub(crate) type SpscRing = queues::SpscRing<FillAgain, GiveBack>;
pub(crate) type Producer = queues::Producer<FillAgain>;
pub(crate) type Consumer = queues::Consumer<GiveBack>;
pub(crate) type Publisher = queues::Publisher<FillAgain>;
pub(crate) type Follower = queues::Follower<GiveBack>;
pub(crate) type BoundedSlab<T> = reports::BoundedSlab<ByValue<T>>;
pub(crate) type SendSlot<T> = reports::SendSlot<ByValue<T>>;
pub(crate) type SendReports<T> = rtrb::Producer<SendSlot<T>>;
pub(crate) type ReceiveReports<T> = rtrb::Consumer<SendSlot<T>>;

pub(crate) fn orders(most: usize) -> Result<Orders, Failure> {
    opened(Room {
        orders: most,
        reserved: true,
    })
}

pub(crate) fn market(frames: usize, max_len: usize) -> (Publisher, Follower) {
    SpscRing::with_capacity(frames, max_len + 8).market()
}

pub(crate) fn reports<T>(most: usize) -> (SendReports<T>, ReceiveReports<T>) {
    rtrb::RingBuffer::new(most)
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

/// A queue of `Vec`s, and one in which they come back.
pub(crate) struct FillAgain {
    full: rtrb::Producer<Vec<u8>>,
    empty: rtrb::Consumer<Vec<u8>>,
}

pub(crate) struct GiveBack {
    full: rtrb::Consumer<Vec<u8>>,
    empty: rtrb::Producer<Vec<u8>>,
}

/// Bytes that were read; the `Vec` goes back.
pub(crate) struct Bytes<'a> {
    bytes: Vec<u8>,
    empty: &'a mut rtrb::Producer<Vec<u8>>,
}

impl SpscRing {
    pub(crate) fn with_capacity(entries: usize, max_len: usize) -> Self {
        let (to_reader, full) = rtrb::RingBuffer::new(entries);
        let (mut empty, back) = rtrb::RingBuffer::new(entries);
        for _ in 0..entries {
            let pushed = empty.push(Vec::with_capacity(max_len));
            assert!(pushed.is_ok(), "there is room for so many");
        }
        let producer = FillAgain {
            full: to_reader,
            empty: back,
        };
        queues::SpscRing(producer, GiveBack { full, empty })
    }
}

impl Push for FillAgain {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let mut entry = self.empty.pop().map_err(|_| Full)?;
        entry.clear();
        entry.extend_from_slice(bytes);
        self.full.push(entry).map_err(|_| Full)
    }
}

impl Pop for GiveBack {
    type Bytes<'a> = Bytes<'a>;

    fn pop(&mut self) -> Option<Bytes<'_>> {
        let bytes = self.full.pop().ok()?;
        let empty = &mut self.empty;
        Some(Bytes { bytes, empty })
    }

    fn is_closed(&self) -> bool {
        self.full.is_abandoned()
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Bytes<'_> {
    fn drop(&mut self) {
        let _ = self.empty.push(std::mem::take(&mut self.bytes));
    }
}

/// A report by value.
pub(crate) struct ByValue<T>(T);

impl<T> Carry for ByValue<T> {
    type Value = T;

    fn new(value: T) -> Self {
        ByValue(value)
    }

    fn value(&self) -> &T {
        &self.0
    }
}

/// A `Vec` that is filled again for each batch.
pub(crate) struct Arena(RefCell<Vec<Frame>>);
pub(crate) struct Scope<'s>(&'s RefCell<Vec<Frame>>);
pub(crate) struct ArenaVec<'s>(RefMut<'s, Vec<Frame>>);

impl Arena {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Arena(RefCell::new(Vec::with_capacity(bytes / size_of::<Frame>())))
    }

    pub(crate) fn scope<R>(&mut self, f: impl FnOnce(Scope<'_>) -> R) -> R {
        f(Scope(&self.0))
    }
}

impl<'s> ArenaVec<'s> {
    pub(crate) fn new_in(scope: &Scope<'s>) -> Self {
        let mut frames = scope.0.borrow_mut();
        frames.clear();
        ArenaVec(frames)
    }
}

impl Deref for ArenaVec<'_> {
    type Target = Vec<Frame>;

    fn deref(&self) -> &Vec<Frame> {
        &self.0
    }
}

impl DerefMut for ArenaVec<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Frame> {
        &mut self.0
    }
}
