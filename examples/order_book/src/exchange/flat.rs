//! flatslab's families: nothing is allocated once the exchange runs.

use std::sync::Arc;

use flatslab::bump::{Arena, ArenaVec};
use flatslab::memory::{HugePages, Pages};
use flatslab::sync::{Consumer, Producer, SendSlot, SharedRing, SpscRing};
use flatslab::{BoundedSlab, KeySlab};

use super::frame::Numbered;
use super::plumbing::{
    Follow, Plumbing, Pop, Publish, Push, ReceiveReport, Report, Scratch, SendReport,
};
use crate::engine::matching::Engine;
use crate::engine::restart;
use crate::engine::store::KeyStore;
use crate::exit::Failure;

pub(crate) struct Flat;

impl Plumbing for Flat {
    const NAME: &'static str = "flatslab";
    type Push = Producer;
    type Pop = Consumer;
    type Publish = Arc<SharedRing>;
    type Follow = Arc<SharedRing>;
    type Receive = rtrb::Consumer<SendSlot<Report>>;
    type Scratch = Arena;
    type Store = KeyStore;
    type Reports = (usize, rtrb::Producer<SendSlot<Report>>);
    type Sender = Reports;

    fn queue(entries: usize, bytes: usize) -> (Producer, Consumer) {
        SpscRing::with_capacity(entries, bytes).split()
    }

    fn market(entries: usize, bytes: usize) -> (Arc<SharedRing>, Arc<SharedRing>) {
        let ring = Arc::new(SharedRing::with_capacity(entries, bytes));
        (ring.clone(), ring)
    }

    fn reports(entries: usize) -> (Self::Reports, Self::Receive) {
        let (producer, consumer) = rtrb::RingBuffer::new(entries);
        ((entries, producer), consumer)
    }

    fn sender((entries, queue): Self::Reports) -> Reports {
        Reports {
            slab: BoundedSlab::with_capacity(entries),
            queue,
        }
    }

    fn scratch() -> Arena {
        Arena::with_capacity(1 << 20)
    }

    fn store(orders: usize) -> Result<KeyStore, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("orders: {error}"));
        let pages = Pages::new().huge(HugePages::Try);
        let builder = KeySlab::builder_with_key().reserve(orders).pages(pages);
        let mut orders = builder.try_build().map_err(|error| failed(&error))?;
        let room = orders.free_slots();
        orders.prepare(room).map_err(|error| failed(&error))?;
        Ok(KeyStore { orders })
    }

    const HAS_SNAPSHOTS: bool = true;

    fn snapshot(engine: &Engine<KeyStore>) -> Option<Vec<u8>> {
        restart::snapshot(engine).ok()
    }

    fn restore(bytes: &[u8], orders: usize) -> Result<Engine<KeyStore>, String> {
        let mut engine = restart::restore(bytes).map_err(|error| error.to_string())?;
        let store = &mut engine.store.orders;
        let more = orders.saturating_sub(store.len());
        store.try_reserve(more).map_err(|error| error.to_string())?;
        store.prepare(more).map_err(|error| error.to_string())?;
        Ok(engine)
    }
}

impl Push for Producer {
    fn push(&mut self, bytes: &[u8]) -> bool {
        Producer::push(self, bytes).is_ok()
    }
}

impl Pop for Consumer {
    fn pop<R>(&mut self, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        Consumer::pop(self).map(|frame| f(&frame))
    }
}

impl Publish for Arc<SharedRing> {
    fn publish(&mut self, bytes: &[u8]) {
        let pushed = self.push(bytes);
        debug_assert!(pushed.is_ok(), "the reader keeps no frame");
    }

    fn close(&mut self) {
        SharedRing::close(self);
    }
}

impl Follow for Arc<SharedRing> {
    fn next<R>(&mut self, f: impl FnOnce(u64, &[u8]) -> R) -> Option<R> {
        loop {
            // Before it looks: what came before the end is read.
            let is_closed = self.is_closed();
            match self.pop() {
                Some(frame) => return Some(f(frame.sequence, &frame)),
                None if is_closed => return None,
                // `pop_wait` sleeps, and has the engine wake it for each quote.
                None => std::thread::yield_now(),
            }
        }
    }
}

/// Reports live in a slab of the engine's thread, and the gateway gives them back.
pub(crate) struct Reports {
    slab: BoundedSlab<Report>,
    queue: rtrb::Producer<SendSlot<Report>>,
}

impl SendReport for Reports {
    fn send(&mut self, mut report: Report) {
        // Those that the gateway has retired: a few at a time.
        self.slab.reclaim_some(2);
        loop {
            match self.slab.insert(report) {
                Ok(slot) => {
                    let sent = self.queue.push(slot.into_send());
                    return assert!(sent.is_ok(), "there is room for all that the slab has");
                }
                Err(full) => report = full.into_inner(),
            }
            self.slab.reclaim();
            std::thread::yield_now();
        }
    }

    fn settle(&mut self) -> bool {
        self.slab.reclaim();
        self.slab.is_empty()
    }
}

impl ReceiveReport for rtrb::Consumer<SendSlot<Report>> {
    type Report = SendSlot<Report>;

    fn receive(&mut self) -> Option<SendSlot<Report>> {
        self.pop().ok()
    }

    fn end(&mut self, report: SendSlot<Report>) {
        let retired = SendSlot::retire(report);
        assert!(retired.is_ok(), "the engine ends after the gateway");
    }
}

impl Scratch for Arena {
    fn batch(&mut self, mut next: impl FnMut() -> Option<Numbered>, each: impl FnMut(&Numbered)) {
        self.scope(|scope| {
            let mut batch = ArenaVec::new_in(&scope);
            while let Some(item) = next() {
                batch.push(item);
            }
            batch.iter().for_each(each);
        });
    }
}
