//! What the exchange is made of.

use std::sync::Arc;

pub(crate) use flatslab::BoundedSlab;
use flatslab::KeySlab;
pub(crate) use flatslab::bump::{Arena, ArenaVec};
use flatslab::memory::{HugePages, Pages};
pub(crate) use flatslab::sync::{Consumer, Producer, SendSlot, SharedRing, SpscRing};
use order_book::matching::Engine;
use order_book::restart;
use order_book::store::KeyStore;
use order_flow::program::Failure;
use order_flow::traffic::Extent;

pub(crate) const NAME: &str = "flatslab";
/// Orders in a key slab: its keys are the ids.
pub(crate) type Orders = KeyStore;
/// Market data. The writer never waits: the oldest frame is overwritten.
pub(crate) type Publisher = Arc<SharedRing>;
pub(crate) type Follower = Arc<SharedRing>;

/// Reports, each a handle of a value in the engine's slab.
pub(crate) type SendReports<T> = rtrb::Producer<SendSlot<T>>;
pub(crate) type ReceiveReports<T> = rtrb::Consumer<SendSlot<T>>;

/// Room for so many orders, on huge pages where there are such, and touched.
pub(crate) fn orders(most: usize) -> Result<Orders, Failure> {
    let pages = Pages::new().huge(HugePages::Try);
    let built = KeySlab::builder_with_key().pages(pages).try_build();
    let mut orders = built.map_err(Failure::run)?;
    orders.prepare(most).map_err(Failure::run)?;
    Ok(KeyStore { orders })
}

pub(crate) fn market(frames: usize, max_len: usize) -> (Publisher, Follower) {
    let ring = Arc::new(SharedRing::with_capacity(frames, max_len));
    (ring.clone(), ring)
}

pub(crate) fn reports<T>(most: usize) -> (SendReports<T>, ReceiveReports<T>) {
    rtrb::RingBuffer::new(most)
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
