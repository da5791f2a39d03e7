//! The stores that are compared.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::store::{
    BoundedKeyStore, BoundedSlabStore, BoxMapStore, ByHandStore, FloorStore, KeyStore, PoolStore,
    SessionStore, SlabHashMapStore, SlabMapStore, SlabNumberStore, SlabStore, SlotMapStore,
};

/// One store, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// flatslab's `Slab` by key, and a number in each order that the engine compares
    Slab,
    /// flatslab's `BoundedSlab` with room for the most orders, by key, and such a number
    BoundedSlab,
    /// flatslab's `KeySlab<GenKey>`, built with `grow_in_place`; the key is the order number
    KeySlab,
    /// A pool written by hand: a `Vec`, a stack of free indices, and such a number
    ByHand,
    /// The `slab` crate, and such a number
    SlabNumber,
    /// The `slotmap` crate; the key is the order number
    Slotmap,
    /// The `slab` crate, and std's `HashMap` from order numbers to slots
    SlabHashmap,
    /// flatslab's `BoundedKeySlab<GenKey>` with room for the most orders
    BoundedKeySlab,
    /// flatslab's `Pool` with room for the most orders, and a table from numbers to boxes
    Pool,
    /// The `slab` crate, and a `HashMap` with the hash of `rustc-hash`
    SlabMap,
    /// A `Box` for each order, and such a map from numbers to boxes
    BoxMap,
    /// An array that checks nothing and does not grow
    Floor,
}

impl StoreKind {
    /// The stores if none is named.
    pub(crate) const DEFAULT: [StoreKind; 7] = [
        StoreKind::Slab,
        StoreKind::BoundedSlab,
        StoreKind::KeySlab,
        StoreKind::ByHand,
        StoreKind::SlabNumber,
        StoreKind::Slotmap,
        StoreKind::SlabHashmap,
    ];

    /// Its name in the tables: what it is made of.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Slab => "flatslab Slab + number",
            StoreKind::BoundedSlab => "flatslab BoundedSlab + number",
            StoreKind::KeySlab => "flatslab KeySlab<GenKey> in place",
            StoreKind::ByHand => "by hand: Vec, free stack, number",
            StoreKind::SlabNumber => "slab + number",
            StoreKind::Slotmap => "slotmap",
            StoreKind::SlabHashmap => "slab + HashMap",
            StoreKind::BoundedKeySlab => "flatslab BoundedKeySlab<GenKey>",
            StoreKind::Pool => "flatslab Pool + table",
            StoreKind::SlabMap => "slab + HashMap, rustc-hash",
            StoreKind::BoxMap => "Box + HashMap, rustc-hash",
            StoreKind::Floor => "array without checks",
        }
    }

    /// Its name in a sentence.
    pub(crate) fn short_name(self) -> &'static str {
        match self {
            StoreKind::Slab => "Slab",
            StoreKind::BoundedSlab => "BoundedSlab",
            StoreKind::KeySlab => "KeySlab",
            StoreKind::BoundedKeySlab => "BoundedKeySlab",
            StoreKind::Pool => "Pool",
            StoreKind::ByHand => "the pool by hand",
            other => other.name(),
        }
    }

    /// Whether it is a store of this crate.
    pub(crate) fn is_ours(self) -> bool {
        self.name().starts_with("flatslab ")
    }

    /// Its name on the command line.
    pub(crate) fn argument(self) -> String {
        let value = self.to_possible_value().expect("no store is hidden");
        value.get_name().to_owned()
    }

    /// Bytes that an order takes in it.
    pub(crate) fn order_bytes(self) -> usize {
        struct Bytes;
        impl Job for Bytes {
            type Result = usize;
            fn run<S: SessionStore>(self) -> usize {
                S::ORDER_BYTES
            }
        }
        self.with(Bytes)
    }

    /// Does something with the store of this kind.
    pub(crate) fn with<J: Job>(self, job: J) -> J::Result {
        match self {
            StoreKind::Slab => job.run::<SlabStore>(),
            StoreKind::BoundedSlab => job.run::<BoundedSlabStore>(),
            StoreKind::KeySlab => job.run::<KeyStore>(),
            StoreKind::ByHand => job.run::<ByHandStore>(),
            StoreKind::SlabNumber => job.run::<SlabNumberStore>(),
            StoreKind::Slotmap => job.run::<SlotMapStore>(),
            StoreKind::SlabHashmap => job.run::<SlabHashMapStore>(),
            StoreKind::BoundedKeySlab => job.run::<BoundedKeyStore>(),
            StoreKind::Pool => job.run::<PoolStore>(),
            StoreKind::SlabMap => job.run::<SlabMapStore>(),
            StoreKind::BoxMap => job.run::<BoxMapStore>(),
            StoreKind::Floor => job.run::<FloorStore>(),
        }
    }
}

/// What can be done with any store.
pub(crate) trait Job {
    type Result;
    fn run<S: SessionStore>(self) -> Self::Result;
}
