//! The stores that are compared.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::engine::store::{
    BoundedStore, BoxMapStore, FloorStore, KeyStore, PoolStore, SlabMapStore, SlabNumberStore,
    SlotMapStore, SlotStore, Store,
};

/// One store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// flatslab's `KeySlab` by `GenKey`, in a range of addresses
    Keys,
    /// flatslab's `BoundedKeySlab` by `GenKey`, with room for the most orders
    Bounded,
    /// The `slab` crate, and a number in each order that is compared by hand
    SlabNumber,
    /// The `slotmap` crate
    Slotmap,
    /// flatslab's `Slab`, which lends guards, and a number as in `slab-number`
    Slots,
    /// flatslab's `Pool` with room for the most orders, and a table from numbers to boxes
    Pool,
    /// The `slab` crate, and a map from numbers to slots
    SlabMap,
    /// A `Box` for each order, and a map from numbers to them
    BoxMap,
    /// An array that checks nothing and does not grow
    Floor,
}

impl StoreKind {
    /// The stores if none is named.
    pub(crate) const DEFAULT: [StoreKind; 4] = [
        StoreKind::Keys,
        StoreKind::Bounded,
        StoreKind::SlabNumber,
        StoreKind::Slotmap,
    ];

    /// Its name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Keys => "keys",
            StoreKind::Bounded => "bounded",
            StoreKind::SlabNumber => "slab + number",
            StoreKind::Slotmap => "slotmap",
            StoreKind::Slots => "slots",
            StoreKind::Pool => "pool",
            StoreKind::SlabMap => "slab + map",
            StoreKind::BoxMap => "box + map",
            StoreKind::Floor => "floor",
        }
    }

    /// Its name on the command line.
    pub(crate) fn argument(self) -> String {
        let value = self.to_possible_value().expect("none is hidden");
        value.get_name().to_owned()
    }

    /// What an order takes in it.
    pub(crate) fn order_bytes(self) -> usize {
        struct Bytes;
        impl Job for Bytes {
            type Result = usize;
            fn run<S: Store>(self) -> usize {
                S::ORDER_BYTES
            }
        }
        self.with(Bytes)
    }

    /// Does something with the store of this kind.
    pub(crate) fn with<J: Job>(self, job: J) -> J::Result {
        match self {
            StoreKind::Keys => job.run::<KeyStore>(),
            StoreKind::Bounded => job.run::<BoundedStore>(),
            StoreKind::SlabNumber => job.run::<SlabNumberStore>(),
            StoreKind::Slotmap => job.run::<SlotMapStore>(),
            StoreKind::Slots => job.run::<SlotStore>(),
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
    fn run<S: Store>(self) -> Self::Result;
}
