//! The engine and its stores, as they are checked and timed.

use engine_trial::stores::{Engines, Job, Snapshots, StoreKind, Subject};
use flatslab::KeySlab;
use order_flow::command::{Command, Response};
use order_flow::program::Failure;
use order_flow::tape::Tape;
use order_flow::top::Top;
use order_flow::traffic::Extent;

use crate::matching::Engine;
use crate::restart;
use crate::sessions::opened;
use crate::store::{
    BoundedKeyStore, BoundedSlabStore, BoxMapStore, ByHandStore, FloorStore, KeyStore, PoolStore,
    Room, SessionStore, SlabHashMapStore, SlabMapStore, SlabNumberStore, SlabStore, SlotMapStore,
};

/// The engine on each store.
#[derive(Clone, Copy, Debug)]
pub struct OrderStores;

impl Engines for OrderStores {
    type Restarted = Engine<KeyStore>;
    fn with<J: Job>(store: StoreKind, job: J) -> J::Result {
        match store {
            StoreKind::Slab => job.run::<Engine<SlabStore>>(),
            StoreKind::BoundedSlab => job.run::<Engine<BoundedSlabStore>>(),
            StoreKind::KeySlab => job.run::<Engine<KeyStore>>(),
            StoreKind::ByHand => job.run::<Engine<ByHandStore>>(),
            StoreKind::SlabNumber => job.run::<Engine<SlabNumberStore>>(),
            StoreKind::Slotmap => job.run::<Engine<SlotMapStore>>(),
            StoreKind::SlabHashmap => job.run::<Engine<SlabHashMapStore>>(),
            StoreKind::BoundedKeySlab => job.run::<Engine<BoundedKeyStore>>(),
            StoreKind::Pool => job.run::<Engine<PoolStore>>(),
            StoreKind::SlabMap => job.run::<Engine<SlabMapStore>>(),
            StoreKind::BoxMap => job.run::<Engine<BoxMapStore>>(),
            StoreKind::Floor => job.run::<Engine<FloorStore>>(),
        }
    }
}

impl<S: SessionStore> Subject for Engine<S> {
    const TRUSTS_IDS: bool = S::TRUSTS_IDS;
    const ORDER_BYTES: usize = S::ORDER_BYTES;

    fn open(extent: Extent, orders: usize, reserved: bool) -> Result<Self, Failure> {
        Ok(Engine::new(opened(Room { orders, reserved })?, extent))
    }

    #[inline]
    fn apply(&mut self, command: &Command) -> Response {
        Engine::apply(self, command)
    }

    fn top(&self, symbol: usize) -> Top {
        Engine::top(self, symbol)
    }

    fn orders(&self) -> usize {
        self.store.len()
    }

    fn tape(&self) -> &Tape {
        &self.clients.tape
    }

    fn digest(&self) -> u64 {
        Engine::digest(self)
    }

    fn check(&self) -> Result<(), String> {
        self.check_all()
    }
}

impl Snapshots for Engine<KeyStore> {
    fn snapshot(&self) -> Result<Vec<u8>, Failure> {
        restart::snapshot(self).map_err(failed)
    }

    fn restore(bytes: &[u8]) -> Result<Self, Failure> {
        let orders = KeySlab::builder_with_key().build();
        restart::restore(KeyStore { orders }, bytes).map_err(failed)
    }
}

fn failed(error: postcard::Error) -> Failure {
    Failure::Run(format!("snapshot: {error}"))
}
