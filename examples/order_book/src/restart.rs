//! A snapshot between two commands, and the engine that is restored from it.
//!
//! `KeySlab` writes which slots are free and in which order, so the restored engine gives
//! the same ids for the same commands as the one that went on. The rest of the engine is
//! links, which are keys, and stay what they were.

use std::io::Write;
use std::time::Instant;

use flatslab::{GenKey, KeySlab};
use order_flow::program::Failure;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

use crate::book::Books;
use crate::matching::Engine;
use crate::order::Order;
use crate::sessions::{Member, Sessions};
use crate::store::{KeyStore, Room, Store};
use crate::traffic::Traffic;
use crate::wire::Clerk;

type Link = <KeyStore as Store>::Link;

#[derive(Serialize)]
struct Snapshot<'a> {
    orders: &'a KeySlab<Order<Link, Member<Link>>, GenKey>,
    books: &'a Books<Link>,
    clients: &'a Sessions<Link>,
}

/// The engine as bytes.
pub fn snapshot(engine: &Engine<KeyStore>) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(&Snapshot {
        orders: &engine.store.orders,
        books: &engine.books,
        clients: &engine.clients,
    })
}

/// The engine of a snapshot, whose orders are read into this slab, which has had none.
pub fn restore(mut store: KeyStore, bytes: &[u8]) -> Result<Engine<KeyStore>, postcard::Error> {
    // Fields of a struct follow each other without a mark.
    let mut fields = postcard::Deserializer::from_bytes(bytes);
    store.orders.restore().deserialize(&mut fields)?;
    let mut books = Books::deserialize(&mut fields)?;
    // A snapshot has no spare memory.
    books.reserve();
    let clients = Sessions::deserialize(&mut fields)?;
    Ok(Engine {
        store,
        books,
        clients,
    })
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart {
    orders: usize,
    bytes: usize,
    /// Commands that both engines have answered alike afterwards.
    pub(crate) compared: usize,
    written_ms: u128,
    read_ms: u128,
}

/// Takes a snapshot in the middle of the commands that count, restores it, and lets both
/// engines carry out the rest.
///
/// # Errors
///
/// [`Failure::Run`], if there is no memory, or the two answer or end differently.
pub(crate) fn run(traffic: &Traffic) -> Result<Restart, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("snapshot: {error}"));
    let room = Room {
        orders: traffic.peak,
        reserved: false,
    };
    // SAFETY: this store checks its links and ids.
    let store = unsafe { KeyStore::open(room) }.map_err(|error| failed(&error))?;
    let mut engine = Engine::new(store, traffic.extent());
    let mut clerk = Clerk::new(traffic.commands.len());
    let half = traffic.ramp + (traffic.commands.len() - traffic.ramp) / 2;
    let mut commands = traffic.commands.iter().zip(&traffic.targets);
    for (command, &target) in commands.by_ref().take(half) {
        let command = clerk.address::<KeyStore>(command, target);
        clerk.note(engine.apply(&command));
    }

    let start = Instant::now();
    let bytes = snapshot(&engine).map_err(|error| failed(&error))?;
    let written_ms = start.elapsed().as_millis();
    let start = Instant::now();
    let orders = KeySlab::builder_with_key().build();
    let restored = restore(KeyStore { orders }, &bytes);
    let mut restored = restored.map_err(|error| failed(&error))?;
    let read_ms = start.elapsed().as_millis();
    restored.check_all().map_err(Failure::Run)?;
    let orders = restored.store.len();

    let mut compared = 0;
    for (command, &target) in commands {
        let command = clerk.address::<KeyStore>(command, target);
        let (went_on, came_back) = (engine.apply(&command), restored.apply(&command));
        if went_on != came_back {
            return Err(Failure::Run(format!(
                "the restored engine answers {came_back:?} instead of {went_on:?}"
            )));
        }
        clerk.note(went_on);
        compared += 1;
    }
    if (engine.digest(), &engine.clients.tape) != (restored.digest(), &restored.clients.tape) {
        return Err(Failure::Run(
            "the restored engine ends otherwise".to_owned(),
        ));
    }
    Ok(Restart {
        orders,
        bytes: bytes.len(),
        compared,
        written_ms,
        read_ms,
    })
}

impl Restart {
    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "A snapshot of {} orders: {} MiB, written in {} ms, restored in {} ms.\n\
             The restored engine gave the same ids, trades and refusals for the {} commands after.",
            self.orders,
            self.bytes >> 20,
            self.written_ms,
            self.read_ms,
            self.compared
        )
    }
}
