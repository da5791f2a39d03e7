//! The arguments of the replay.

use std::path::PathBuf;

use clap::{Parser, value_parser};

use crate::variant::{PageKind, Prefetch, StoreKind, Variant};

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
/// Exit codes: 0, all books are the same; 1, they are not, a store is full,
/// its memory cannot be had or an output cannot be written; 2, a bad argument or
/// input file.
#[derive(Debug, Parser)]
#[command(name = "feed", version)]
pub(crate) struct Arguments {
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

    /// Where the orders, the index by order number and the price levels live, with
    /// commas between: each store runs with each kind of pages
    #[arg(
        long,
        value_name = "PAGES",
        value_enum,
        value_delimiter = ',',
        default_value = "default"
    )]
    pub(crate) pages: Vec<PageKind>,

    /// What to do for the next message before the present one is applied, as part of
    /// its time, with commas between: each store runs with each of them
    #[arg(
        long,
        value_name = "PREFETCH",
        value_enum,
        value_delimiter = ',',
        default_value = "off"
    )]
    pub(crate) prefetch: Vec<Prefetch>,

    /// Rounds to take medians over (7 if not given, fewer for many messages)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: Option<u32>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
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

    /// The variants to replay through, each once.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        Variant::all(&self.store, &self.pages, &self.prefetch)
    }
}
