//! The stores that are compared, and the engine over each of them.

use clap::ValueEnum;
use order_flow::command::{Command, Response};
use order_flow::program::Failure;
use order_flow::tape::Tape;
use order_flow::top::Top;
use order_flow::traffic::Extent;
use serde::{Deserialize, Serialize};

/// An engine whose orders live in one of the stores.
pub trait Subject: Sized {
    /// Whether it takes an id for that of a live order without a check: then a late or forged
    /// id has to be [`NO_ID`](order_flow::command::NO_ID), or another order is found.
    const TRUSTS_IDS: bool;
    /// What an order takes in the store, with its id and its part of the list of free slots.
    const ORDER_BYTES: usize;

    /// Builds an engine without orders, whose store has at most `orders`. Where they are
    /// `reserved`, the memory of a store that grows has been allocated and touched, too.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if there is no such memory.
    fn open(extent: Extent, orders: usize, reserved: bool) -> Result<Self, Failure>;
    /// Carries out a command.
    fn apply(&mut self, command: &Command) -> Response;
    /// Returns the best prices of a symbol, and the shares at them.
    fn top(&self, symbol: usize) -> Top;
    /// Returns the number of orders that rest.
    fn orders(&self) -> usize;
    /// Returns what went out.
    fn tape(&self) -> &Tape;
    /// Returns a hash of the tape and of every order that rests, the same for all stores.
    fn digest(&self) -> u64;
    /// Checks the invariants.
    ///
    /// # Errors
    ///
    /// The first one that does not hold, in words.
    fn check(&self) -> Result<(), String>;
}

/// An engine that is restored from a snapshot: from then on it gives the same ids.
pub trait Snapshots: Subject {
    /// Writes a snapshot.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if it cannot be written.
    fn snapshot(&self) -> Result<Vec<u8>, Failure>;
    /// Restores the engine of a snapshot.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the bytes are none.
    fn restore(bytes: &[u8]) -> Result<Self, Failure>;
}

/// The engine on each store.
pub trait Engines {
    /// The engine whose restart is compared.
    type Restarted: Snapshots;

    /// Does something with the engine on a store.
    fn with<J: Job>(store: StoreKind, job: J) -> J::Result;
}

/// What can be done with the engine on any store.
pub trait Job {
    /// What comes of it.
    type Result;
    /// Does it.
    fn run<E: Subject>(self) -> Self::Result;
}

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
    /// The stores that are compared if none is named.
    pub const DEFAULT: [StoreKind; 7] = [
        StoreKind::Slab,
        StoreKind::BoundedSlab,
        StoreKind::KeySlab,
        StoreKind::ByHand,
        StoreKind::SlabNumber,
        StoreKind::Slotmap,
        StoreKind::SlabHashmap,
    ];

    /// Returns its name in the tables: what it is made of.
    pub fn name(self) -> &'static str {
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

    /// Returns its name in a sentence.
    pub fn short_name(self) -> &'static str {
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

    /// Returns whether it is a store of flatslab.
    pub fn is_ours(self) -> bool {
        self.name().starts_with("flatslab ")
    }

    /// Returns its name on the command line.
    pub fn argument(self) -> String {
        let value = self.to_possible_value().expect("no store is hidden");
        value.get_name().to_owned()
    }
}
