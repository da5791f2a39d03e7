//! What the exchange is made of.

use flatslab::bump::{Arena, ArenaVec};
use flatslab::memory::{HugePages, Pages};
use flatslab::sync::{
    BroadcastConsumer, BroadcastProducer, BroadcastReaders, BroadcastRing, SendSlot, SpscRing,
    Values,
};
use flatslab::{BoundedSlab, KeySlab};
use order_book::matching::Engine;
use order_book::restart;
use order_book::store::KeyStore;
use order_flow::program::Failure;
use order_flow::traffic::Extent;

use crate::frame::{Event, Frame, Report};

pub(crate) const NAME: &str = "flatslab";
/// Orders in a key slab: its keys are the ids.
pub(crate) type Orders = KeyStore;
pub(crate) type Producer<T> = flatslab::sync::Producer<Values<T>>;
pub(crate) type Consumer<T> = flatslab::sync::Consumer<Values<T>>;
/// Who reads every event: the engine waits for it.
pub(crate) type Subscriber = BroadcastConsumer<Event>;
/// Who may miss events, and is told so: the engine does not wait for it.
pub(crate) type Follower = flatslab::sync::Follower<Event>;

/// Room for so many orders, on huge pages where there are such, and touched.
pub(crate) fn orders(most: usize) -> Result<Orders, Failure> {
    let pages = Pages::new().huge(HugePages::Try);
    let built = KeySlab::builder_with_key().pages(pages).try_build();
    let mut orders = built.map_err(Failure::run)?;
    orders.prepare(most).map_err(Failure::run)?;
    Ok(KeyStore { orders })
}

pub(crate) fn queue<T: Copy>(entries: usize) -> (Producer<T>, Consumer<T>) {
    SpscRing::of_values(entries).split()
}

/// One ring of what the engine says, for the journal, the standby and market data.
pub(crate) struct Events {
    producer: BroadcastProducer<Event>,
    readers: BroadcastReaders<Event>,
}

impl Events {
    pub(crate) fn new(entries: usize) -> Self {
        let ring = BroadcastRing::builder().entries(entries);
        let (producer, readers) = ring.consumers(2).followers(1).build().split();
        Events { producer, readers }
    }

    /// Adds a reader of all events from now on.
    pub(crate) fn join(&mut self) -> Subscriber {
        self.readers.join().expect("there are two")
    }

    /// Adds a reader of the events from now on for which the engine does not wait.
    pub(crate) fn follow(&mut self) -> Follower {
        self.readers.follow().expect("there is one")
    }

    /// Pushes an event; waits for readers that read all.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        while self.producer.push(event).is_err() {
            std::thread::yield_now();
        }
    }
}

/// Reports are values in a slab of the engine's thread; the gateway reads them where they are.
pub(crate) struct SendReports(rtrb::Producer<SendSlot<Report>>);
pub(crate) struct ReceiveReports(rtrb::Consumer<SendSlot<Report>>);
pub(crate) struct Outbox(BoundedSlab<Report>);

pub(crate) fn reports(most: usize) -> (SendReports, ReceiveReports) {
    let (sender, receiver) = rtrb::RingBuffer::new(most);
    (SendReports(sender), ReceiveReports(receiver))
}

impl Outbox {
    pub(crate) fn new(most: usize) -> Self {
        Outbox(BoundedSlab::with_capacity(most))
    }

    #[inline(always)]
    pub(crate) fn send(&self, report: Report, to: &mut SendReports) {
        // Two come back for each one that goes out, so there is always room for what is
        // under way, and no command pays for many.
        self.0.reclaim_some(2);
        let slot = self.0.insert(report);
        let slot = slot.expect("there is room for all that are under way");
        let sent = to.0.push(slot.into_send());
        assert!(sent.is_ok(), "there is room for all that are under way");
    }

    pub(crate) fn close(self) {
        self.0.reclaim();
        assert!(self.0.is_empty(), "the gateway has given all reports back");
    }
}

impl ReceiveReports {
    /// Takes a report, and gives its memory back to the engine.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Report> {
        let slot = self.0.pop().ok()?;
        let report = *slot;
        let retired = SendSlot::retire(slot);
        assert!(retired.is_ok(), "the engine ends after the gateway");
        Some(report)
    }
}

/// For frames that are decoded; empty again after each batch.
pub(crate) struct Batches(Arena);

impl Batches {
    pub(crate) fn new() -> Self {
        Batches(Arena::with_capacity(1 << 16))
    }

    pub(crate) fn batch<R>(&mut self, f: impl FnOnce(&mut ArenaVec<'_, '_, Frame>) -> R) -> R {
        self.0.scope(|scope| f(&mut ArenaVec::new_in(&scope)))
    }
}

/// The command before which the standby gets a snapshot: a full book. The engine that is restored
/// gives the same ids as the one that goes on.
pub(crate) fn snapshot_at(ramp: usize) -> u64 {
    ramp as u64
}

pub(crate) fn snapshot(engine: &Engine<Orders>) -> Vec<u8> {
    restart::snapshot(engine).expect("what is in memory can be written there")
}

/// The engine of a snapshot, with room for so many orders.
pub(crate) fn restored(bytes: &[u8], most: usize, _: Extent) -> Result<Engine<Orders>, Failure> {
    restart::restore(orders(most)?, bytes).map_err(Failure::run)
}
