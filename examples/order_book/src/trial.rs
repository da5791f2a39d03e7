//! The engine on each of its stores, as they are checked and timed.

use engine_trial::stores::{Engines, Job, Snapshots, StoreKind};
use flatslab::KeySlab;
use order_flow::program::Failure;

use crate::matching::Engine;
use crate::restart;
use crate::store::{
    BoundedKeyStore, BoundedSlabStore, BoxMapStore, ByHandStore, FloorStore, KeyStore, PoolStore,
    SlabHashMapStore, SlabMapStore, SlabNumberStore, SlabStore, SlotMapStore,
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
