//! A table of connections, moved over from the `slab` crate: `before` and `after`,
//! and a fault that the move removes.
//!
//! | `before`                          | `after`                              |
//! |-----------------------------------|--------------------------------------|
//! | `Slab<Connection>`                | `KeySlab<Connection, ConnectionKey>` |
//! | `Slab::new()`                     | `KeySlab::with_key()`                |
//! | `usize`                           | `ConnectionKey`, a type of its own   |
//! | `key as u64`                      | `key.into_raw()`                     |
//! | `token as usize`                  | `ConnectionKey::from_raw(token)?`    |
//! | `insert`, `get_mut`, `try_remove` | the same                             |
//!
//! The poller hands out events in batches, each with the token of a connection.
//! While a batch is handled, a connection may be closed and another accepted. The
//! new one gets the free slot. If a token is the number of a slot, it gets the same
//! token too, and the remaining events of the old connection are delivered to it.
//! A slab does not hand out a key with a generation twice, so those events find
//! nothing.
//!
//! ```text
//! cargo run --release --example connections
//! ```
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::time::Instant;

#[derive(Default)]
struct Connection {
    peer: u64,
    received: u64,
}

impl Connection {
    fn new(peer: u64) -> Self {
        Connection { peer, received: 0 }
    }

    /// Returns whom the bytes are taken to be from.
    fn receive(&mut self, bytes: u64) -> u64 {
        self.received += bytes;
        self.peer
    }
}

/// What the server does with its connections. The poller keeps a token for each,
/// 64 bits as with `epoll`, and shows it with every event.
trait Connections: Default {
    fn accept(&mut self, peer: u64) -> u64;
    fn receive(&mut self, token: u64, bytes: u64) -> Option<u64>;
    fn close(&mut self, token: u64) -> Option<Connection>;
}

mod before {
    use super::{Connection, Connections};

    /// Stands in for `slab::Slab`, with its names: numbers as keys, and the slot
    /// that became free last is taken first.
    #[derive(Default)]
    struct Slab<T> {
        entries: Vec<Option<T>>,
        vacant: Vec<usize>,
    }

    impl<T> Slab<T> {
        fn insert(&mut self, value: T) -> usize {
            if let Some(key) = self.vacant.pop() {
                self.entries[key] = Some(value);
                return key;
            }
            self.entries.push(Some(value));
            self.entries.len() - 1
        }

        fn get_mut(&mut self, key: usize) -> Option<&mut T> {
            self.entries.get_mut(key)?.as_mut()
        }

        fn try_remove(&mut self, key: usize) -> Option<T> {
            let value = self.entries.get_mut(key)?.take()?;
            self.vacant.push(key);
            Some(value)
        }
    }

    #[derive(Default)]
    pub(super) struct Server {
        connections: Slab<Connection>,
    }

    impl Connections for Server {
        fn accept(&mut self, peer: u64) -> u64 {
            self.connections.insert(Connection::new(peer)) as u64
        }

        fn receive(&mut self, token: u64, bytes: u64) -> Option<u64> {
            let connection = self.connections.get_mut(token as usize)?;
            Some(connection.receive(bytes))
        }

        fn close(&mut self, token: u64) -> Option<Connection> {
            self.connections.try_remove(token as usize)
        }
    }
}

mod after {
    use super::{Connection, Connections};
    use flatslab::{KeySlab, key_type};

    key_type! {
        /// A connection. No other table's key can stand for it, nor a number.
        struct ConnectionKey(GenKey);
    }

    impl ConnectionKey {
        fn token(self) -> u64 {
            self.into_raw()
        }

        /// `None` if the token is of no key at all.
        fn from_token(token: u64) -> Option<Self> {
            ConnectionKey::from_raw(token)
        }
    }

    #[derive(Default)]
    pub(super) struct Server {
        connections: KeySlab<Connection, ConnectionKey>,
    }

    impl Connections for Server {
        fn accept(&mut self, peer: u64) -> u64 {
            self.connections.insert(Connection::new(peer)).token()
        }

        fn receive(&mut self, token: u64, bytes: u64) -> Option<u64> {
            let key = ConnectionKey::from_token(token)?;
            let connection = self.connections.get_mut(key)?;
            Some(connection.receive(bytes))
        }

        fn close(&mut self, token: u64) -> Option<Connection> {
            let key = ConnectionKey::from_token(token)?;
            self.connections.try_remove(key)
        }
    }
}

/// As right as `after`, with `std` alone: numbers that are never given twice.
#[derive(Default)]
struct Numbered {
    connections: HashMap<u64, Connection>,
    accepted: u64,
}

impl Connections for Numbered {
    fn accept(&mut self, peer: u64) -> u64 {
        self.accepted += 1;
        let connection = Connection::new(peer);
        self.connections.insert(self.accepted, connection);
        self.accepted
    }

    fn receive(&mut self, token: u64, bytes: u64) -> Option<u64> {
        let connection = self.connections.get_mut(&token)?;
        Some(connection.receive(bytes))
    }

    fn close(&mut self, token: u64) -> Option<Connection> {
        self.connections.remove(&token)
    }
}

/// splitmix64, below `end`.
fn random(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % end
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    delivered: u64,
    dropped: u64,
    /// To another connection than the one they were sent on.
    misdelivered: u64,
}

const BATCHES: u64 = 1_000;
const EVENTS: usize = 32;
const BYTES: u64 = 100;

/// Batches of events, with each of which a connection is closed and another
/// accepted: after the events, or, if `late`, in the middle of them.
fn serve<C: Connections>(late: bool) -> (Report, f64) {
    let (mut server, mut report, mut state) = (C::default(), Report::default(), 1);
    let mut open: Vec<_> = (0..1_024).map(|peer| (peer, server.accept(peer))).collect();
    let start = Instant::now();
    for batch in 0..BATCHES {
        let closed = random(&mut state, 1_024) as usize;
        // All are for connections that are open when the poller is asked.
        let mut events = [open[closed]; EVENTS];
        for event in &mut events[..EVENTS - 1] {
            *event = open[random(&mut state, 1_024) as usize];
        }
        for (at, (peer, token)) in events.into_iter().enumerate() {
            if late && at == EVENTS / 2 {
                reconnect(&mut server, &mut open[closed], 1_024 + batch);
            }
            match server.receive(token, BYTES) {
                Some(receiver) if receiver == peer => report.delivered += 1,
                Some(_) => report.misdelivered += 1,
                None => report.dropped += 1,
            }
        }
        if !late {
            reconnect(&mut server, &mut open[closed], 1_024 + batch);
        }
    }
    let ns = start.elapsed().as_nanos() as f64 / (BATCHES * EVENTS as u64) as f64;
    (report, ns)
}

fn reconnect(server: &mut impl Connections, open: &mut (u64, u64), peer: u64) {
    let closed = server.close(open.1).expect("it was open");
    assert!(closed.peer == open.0 && closed.received % BYTES == 0);
    *open = (peer, server.accept(peer));
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    println!("before: {:?}", serve::<before::Server>(true).0);
    println!("after:  {:?}", serve::<after::Server>(true).0);

    let mut ns: [Vec<f64>; 3] = Default::default();
    // In turns, so that a busy machine slows all down.
    for _ in 0..7 {
        ns[0].push(serve::<after::Server>(true).1);
        ns[1].push(serve::<before::Server>(true).1);
        ns[2].push(serve::<Numbered>(true).1);
    }
    let [after, before, numbered] = ns.map(median);
    println!(
        "an event: {after:.0} ns with a KeySlab; \
         {before:.0} ns with the stand-in for slab, {numbered:.0} ns with a HashMap"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_deliver_the_same_where_no_event_is_late() {
        let all = Report {
            delivered: BATCHES * EVENTS as u64,
            ..Default::default()
        };
        assert_eq!(serve::<before::Server>(false).0, all);
        assert_eq!(serve::<after::Server>(false).0, all);
        assert_eq!(serve::<Numbered>(false).0, all);
    }

    #[test]
    fn a_late_event_goes_to_the_next_connection_before_and_to_none_after() {
        let before = serve::<before::Server>(true).0;
        let after = serve::<after::Server>(true).0;
        // The last event of each batch, and others by chance.
        assert!(before.misdelivered >= BATCHES && before.dropped == 0);
        let expected = Report {
            delivered: before.delivered,
            dropped: before.misdelivered,
            misdelivered: 0,
        };
        assert_eq!(after, expected);
        assert_eq!(serve::<Numbered>(true).0, expected);
    }

    #[test]
    fn a_late_close_closes_the_next_connection_before_and_none_after() {
        fn close_twice<C: Connections>() -> Option<u64> {
            let mut server = C::default();
            let first = server.accept(1);
            assert_eq!(server.close(first).map(|closed| closed.peer), Some(1));
            server.accept(2);
            server.close(first).map(|closed| closed.peer)
        }
        assert_eq!(close_twice::<before::Server>(), Some(2));
        assert_eq!(close_twice::<after::Server>(), None);
    }
}
