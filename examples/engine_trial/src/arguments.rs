//! The arguments of the engine, and the commands they ask for.

use std::path::{Path, PathBuf};

use clap::{Args, value_parser};
use order_flow::lobster;
use order_flow::message::Message;
use order_flow::program::{Failure, memory};
use order_flow::script::Script;
use order_flow::traffic::{Market, Traffic};

use crate::stores::StoreKind;

/// Symbols of a generated market: with some 400 orders each, about a million live.
const SYMBOLS: usize = 3_000;
/// Messages of a symbol before its book is as full as those of the real hour.
const OPENING: usize = 10_000;
/// Symbols that play the recorded hour.
const RECORDED_SYMBOLS: usize = 20;
/// Commands after those that fill the books.
const COMMANDS: usize = 300_000;
const ROUNDS: u32 = 3;

/// Times a matching engine whose keys are the order numbers, on stores that differ only in
/// where the orders live and what leads from an id to an order.
///
/// Each store and round runs in a process of its own; the stores take turns.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Measure in processes that have just been started, instead of ones that have freed
    /// almost 32 MiB
    #[arg(long)]
    pub fresh: bool,

    /// Print what the columns, the stores and the method are, and measure nothing
    #[arg(long, conflicts_with_all = ["check", "restart", "json"])]
    pub(crate) explain: bool,

    /// Play the recorded hour of this LOBSTER message file, or of the one in this directory,
    /// instead of generated commands
    #[arg(long, value_name = "FILE")]
    pub lobster: Option<PathBuf>,

    /// Write the top of book after each of the recorded messages, as the first store has it:
    /// ask,ask_size,bid,bid_size, 0 where a side is empty. If a store has another top than the
    /// messages lead to, the file is left empty
    #[arg(long, value_name = "FILE", requires = "lobster")]
    #[arg(conflicts_with_all = ["check", "restart"])]
    pub(crate) bbo: Option<PathBuf>,

    /// Symbols (3,000; 20 of a recorded hour)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) symbols: Option<u32>,

    /// Orders of each symbol that rest far from the best price, besides the 400 or so that
    /// are there at the start: for books as large as you like
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "lobster"
    )]
    #[arg(value_parser = value_parser!(u32).range(..=10_000_000))]
    pub(crate) resting: u32,

    /// Commands after those that fill the books (300,000; with --lobster the whole hour of each
    /// symbol)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000_000))]
    pub commands: Option<u32>,

    /// Sessions
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub(crate) sessions: u32,

    /// Latecomers: commands about orders that are gone, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 2)]
    #[arg(value_parser = value_parser!(u32).range(..=50))]
    pub late: u32,

    /// Seed of the generated commands: the same seed gives the same commands
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The stores, with commas between (the first seven)
    #[arg(long, value_name = "STORES", value_enum, value_delimiter = ',')]
    pub store: Vec<StoreKind>,

    /// Rounds (3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub rounds: Option<u32>,

    /// Compare the answers of each store with those of a naive engine, and time nothing:
    /// for few orders
    #[arg(long, conflicts_with_all = ["restart", "json"])]
    pub check: bool,

    /// Take a snapshot between two commands, restore it, and compare what the two engines
    /// answer from then on; time nothing else
    #[arg(long, conflicts_with_all = ["json"])]
    pub restart: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Time one store, for another process of this program
    #[arg(long, value_enum, hide = true)]
    pub(crate) child: Option<StoreKind>,
}

impl Arguments {
    /// Returns the stores, each once.
    pub fn stores(&self) -> Vec<StoreKind> {
        let mut stores = match self.store.is_empty() {
            false => self.store.clone(),
            true => StoreKind::DEFAULT.to_vec(),
        };
        stores.sort_unstable();
        stores.dedup();
        stores
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(ROUNDS)
    }

    pub(crate) fn symbols(&self) -> usize {
        let symbols = match self.lobster {
            Some(_) => RECORDED_SYMBOLS,
            None => SYMBOLS,
        };
        self.symbols.map_or(symbols, |symbols| symbols as usize)
    }

    fn commands(&self) -> usize {
        let commands = match self.lobster {
            Some(_) => usize::MAX / 2,
            None => COMMANDS,
        };
        self.commands.map_or(commands, |commands| commands as usize)
    }

    /// Refuses what does not fit into memory.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], with what is needed and what there is.
    pub(crate) fn check_memory(&self) -> Result<(), Failure> {
        // Orders in the largest store, twice while it grows. Commands without ids, with those
        // of one store, and in the process that times it; the ids of all stores.
        let orders = self.symbols() as u128 * (u128::from(self.resting) + 450);
        let commands = match self.lobster {
            Some(_) => self.symbols() as u128 * 100_000,
            None => orders + self.commands() as u128,
        };
        let stores = self.stores().len() as u128;
        let what = format!("{orders} orders and {commands} commands");
        memory::check(&what, orders * 300 + commands * (120 + 8 * stores))
    }

    /// The file of the recorded messages, if they are asked for.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if the directory has none.
    pub(crate) fn message_file(&self) -> Result<Option<PathBuf>, Failure> {
        let file = self.lobster.as_deref().map(message_file);
        file.transpose().map_err(Failure::Input)
    }

    /// The recorded messages of a file.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if they cannot be read.
    pub(crate) fn recorded(file: &Path) -> Result<Vec<Message>, Failure> {
        lobster::read(file, None).map_err(Failure::Input)
    }

    /// Returns all commands.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if the recorded messages cannot be read.
    pub fn traffic(&self) -> Result<Traffic, Failure> {
        let market = Market {
            seed: self.seed,
            symbols: self.symbols(),
            sessions: self.sessions as usize,
            commands: self.commands(),
            late: u64::from(self.late) * 10,
        };
        Ok(match self.message_file()? {
            Some(file) => {
                let script = Script::of_messages(&Self::recorded(&file)?);
                Traffic::new(&script, market)
            }
            None => Traffic::generated(market, OPENING, self.resting as usize),
        })
    }
}

/// The message file in a directory, or the file itself.
fn message_file(path: &Path) -> Result<PathBuf, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = std::fs::read_dir(path).map_err(|error| failed(&error))?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_messages = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains("_message_") && name.ends_with(".csv")
    };
    let file = files.find(is_messages);
    file.ok_or_else(|| failed(&"no file has the name of LOBSTER's messages, …_message_….csv"))
}
