//! What is alike in other exchanges: a store without snapshots, and a queue for each reader of events.

use std::convert::Infallible;

use order_book::matching::Engine;
use order_book::sessions::opened;
use order_book::store::Room;
use order_flow::program::Failure;
use order_flow::traffic::Extent;

use super::parts::{Consumer, Orders, Producer, queue};
use crate::frame::Event;

pub(crate) fn orders(orders: usize) -> Result<Orders, Failure> {
    let reserved = true;
    opened(Room { orders, reserved })
}

/// `slab` gives other slots after it is restored: the standby begins with the first command.
pub(crate) fn snapshot_at(_: usize) -> u64 {
    0
}

pub(crate) fn snapshot(_: &Engine<Orders>) -> Vec<u8> {
    Vec::new()
}

pub(crate) fn restored(_: &[u8], most: usize, extent: Extent) -> Result<Engine<Orders>, Failure> {
    Ok(Engine::new(orders(most)?, extent))
}

/// What the engine says, in a queue for each reader.
pub(crate) struct Events {
    entries: usize,
    subscribers: Vec<Producer<Event>>,
    followers: Vec<Producer<Event>>,
}

/// Who reads every event: the engine waits for it.
pub(crate) struct Subscriber(Consumer<Event>);

/// Who may miss events: what finds no room in its queue is lost.
pub(crate) struct Follower(Subscriber);

impl Events {
    pub(crate) fn new(entries: usize) -> Self {
        Events {
            entries,
            subscribers: Vec::with_capacity(2),
            followers: Vec::with_capacity(1),
        }
    }

    pub(crate) fn join(&mut self) -> Subscriber {
        let (producer, consumer) = queue(self.entries);
        self.subscribers.push(producer);
        Subscriber(consumer)
    }

    pub(crate) fn follow(&mut self) -> Follower {
        let (producer, consumer) = queue(self.entries);
        self.followers.push(producer);
        Follower(Subscriber(consumer))
    }

    pub(crate) fn push(&mut self, event: Event) {
        for subscriber in &mut self.subscribers {
            while subscriber.push(event).is_err() {
                std::thread::yield_now();
            }
        }
        for follower in &mut self.followers {
            let _ = follower.push(event);
        }
    }
}

impl Subscriber {
    pub(crate) fn pop_wait(&mut self) -> Option<Event> {
        loop {
            // First: what was pushed before the end is found.
            let is_closed = self.0.is_closed();
            let event = self.0.pop();
            if event.is_some() || is_closed {
                return event;
            }
            std::thread::yield_now();
        }
    }
}

impl Follower {
    pub(crate) fn pop_wait(&mut self) -> Result<Option<Event>, Infallible> {
        Ok(self.0.pop_wait())
    }
}
