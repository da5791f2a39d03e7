//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum, value_parser};
use serde::Serialize;

/// Messages of all symbols together if neither a file nor `--messages` is given.
const DEFAULT_MESSAGES: u64 = 2_250_000;

/// Symbols if neither a file nor `--messages` is given: some hundred thousand orders
/// are live then, which do not fit a cache.
const DEFAULT_SYMBOLS: u32 = 2_000;

/// Messages are kept in memory, 24 bytes each. More would not fit most machines.
const MOST_MESSAGES: u64 = 100_000_000;

/// Replays order messages through limit order books that differ only in where the
/// orders live, and compares how fast they are.
///
/// Without a file, it generates messages that resemble a busy hour of a real stock.
/// Messages per second and the time of each message are measured in separate
/// passes. The stores take turns, and figures are medians over the rounds.
///
/// Exit codes: 0, all books are the same; 1, they are not, a store is full or
/// an output cannot be written; 2, a bad argument or input file.
#[derive(Debug, Parser)]
#[command(name = "order_book", version)]
pub(crate) struct Cli {
    /// Replay this LOBSTER message file instead of generated messages
    #[arg(long, value_name = "FILE")]
    pub(crate) lobster: Option<PathBuf>,

    /// Interleave this many copies of the messages, as symbols that share one store
    /// (if not given, 1 for a file or a number of messages, otherwise 2,000)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) symbols: Option<u32>,

    /// Messages per symbol: how many to generate (2,250,000 for all symbols together
    /// if not given), or at most how many rows of the file to read
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=MOST_MESSAGES))]
    pub(crate) messages: Option<u64>,

    /// Seed of the generated messages: the same seed gives the same messages
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "lobster"
    )]
    pub(crate) seed: u64,

    /// Write the first symbol's top of book after each of its messages:
    /// ask,ask_size,bid,bid_size, 0 where a side is empty. If a replay fails, the
    /// file is left empty
    #[arg(long, value_name = "FILE")]
    pub(crate) bbo: Option<PathBuf>,

    /// Orders of each symbol that rest far from the best price before the first
    /// message, added by as many messages more: for books as large as you like
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = value_parser!(u32).range(..=1_000_000),
        conflicts_with = "lobster"
    )]
    pub(crate) resting: u32,

    /// The stores that hold the orders, one after the other, with commas between
    #[arg(
        long,
        value_name = "STORES",
        value_enum,
        value_delimiter = ',',
        default_values_t = StoreKind::DEFAULT
    )]
    pub(crate) store: Vec<StoreKind>,

    /// Rounds to take medians over (7 if not given, fewer for many messages)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: Option<u32>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Cli {
    /// Symbols to replay.
    pub(crate) fn symbols(&self) -> u32 {
        let default = match (&self.lobster, self.messages) {
            (None, None) => DEFAULT_SYMBOLS,
            _ => 1,
        };
        self.symbols.unwrap_or(default)
    }

    /// Messages to generate per symbol.
    pub(crate) fn generated_messages(&self) -> u64 {
        let default = DEFAULT_MESSAGES / u64::from(self.symbols());
        self.messages.unwrap_or(default)
    }

    /// The stores to replay through, each once.
    pub(crate) fn stores(&self) -> Vec<StoreKind> {
        let mut stores = self.store.clone();
        stores.sort_unstable();
        stores.dedup();
        stores
    }
}

/// One store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// flatslab's `KeySlab`, which grows by chunks: plain references
    Keys,
    /// flatslab's `BoundedSlab`, with room for the most orders live at once
    Bounded,
    /// flatslab's `Slab`, which grows by chunks
    Growable,
    /// The `slab` crate, which copies when it grows
    Slab,
    /// A `Box` for each order, from the global allocator
    Box,
    /// An array that checks nothing and does not grow: what any store costs at least
    Floor,
}

impl StoreKind {
    /// The stores if none is named, in the order of the report: all but the floor.
    pub(crate) const DEFAULT: [StoreKind; 5] = [
        StoreKind::Keys,
        StoreKind::Bounded,
        StoreKind::Growable,
        StoreKind::Slab,
        StoreKind::Box,
    ];

    /// Its name on the command line and in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Keys => "keys",
            StoreKind::Bounded => "bounded",
            StoreKind::Growable => "growable",
            StoreKind::Slab => "slab",
            StoreKind::Box => "box",
            StoreKind::Floor => "floor",
        }
    }
}
