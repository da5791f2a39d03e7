//! A snapshot of the engine, and the engine that is restored from it.
//!
//! `KeySlab` writes which slots are free and in which order, so the restored engine gives
//! the same ids for the same commands as the one that went on. The rest of the engine is
//! links, which are keys, and stay what they were.

use flatslab::{GenKey, KeySlab};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

use crate::book::Books;
use crate::matching::Engine;
use crate::order::Order;
use crate::sessions::{Member, Sessions};
use crate::store::{KeyStore, Store};

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
