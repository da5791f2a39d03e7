//! Orders of a venue in a pool written by hand: a `Vec`, a stack of free indices, and a number that
//! tells an order from those that had its slot before.

use std::collections::VecDeque;

use crate::random::{random, seed};

/// A slot and the number of its value: what goes over the wire, in 64 bits.
#[derive(Clone, Copy, PartialEq)]
struct Id {
    slot: u32,
    number: u32,
}

impl Id {
    fn to_wire(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.slot)
    }

    fn from_wire(wire: u64) -> Self {
        Id {
            slot: wire as u32,
            number: (wire >> 32) as u32,
        }
    }
}

struct Numbered<T> {
    value: T,
    /// 0 in a free slot.
    number: u32,
}

struct Pool<T> {
    slots: Vec<Numbered<T>>,
    free: Vec<u32>,
    last: u32,
}

impl<T: Default> Pool<T> {
    fn new(capacity: usize) -> Self {
        Pool {
            slots: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            last: 0,
        }
    }

    fn insert(&mut self, value: T) -> Id {
        self.last = self.last.wrapping_add(1).max(1);
        let number = self.last;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Numbered { value, number };
                slot
            }
            None => {
                self.slots.push(Numbered { value, number });
                self.slots.len() as u32 - 1
            }
        };
        Id { slot, number }
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        (slot.number == id.number && id.number != 0).then_some(&mut slot.value)
    }

    fn remove(&mut self, id: Id) -> Option<T> {
        let value = std::mem::take(self.get_mut(id)?);
        // Without the number's 0 a second removal would push the slot twice.
        self.slots[id.slot as usize].number = 0;
        self.free.push(id.slot);
        Some(value)
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        (0_u32..).zip(&self.slots).filter_map(|(slot, numbered)| {
            let number = numbered.number;
            (number != 0).then_some((Id { slot, number }, &numbered.value))
        })
    }
}

/// `Default`, because a removal leaves something in the slot.
#[derive(Default)]
struct Order {
    client: u64,
    open: u64,
    legs: Vec<u64>,
}

struct Venue {
    orders: Pool<Order>,
    queue: VecDeque<Id>,
    log: Vec<String>,
}

impl Venue {
    fn place(&mut self, client: u64, open: u64) -> u64 {
        let legs = (0..open % 4).collect();
        let id = self.orders.insert(Order { client, open, legs });
        self.queue.push_back(id);
        self.log.push(format!("placed {client}"));
        id.to_wire()
    }

    fn cancel(&mut self, wire: u64, client: u64) {
        match self.orders.remove(Id::from_wire(wire)) {
            Some(order) => {
                assert!(order.client == client);
                let (open, legs) = (order.open, order.legs.len());
                self.log.push(format!("cancelled {client}: {open}, {legs} legs"));
            }
            None => self.log.push(format!("too late: {client}")),
        }
    }

    /// Fills the oldest orders. The ids of those that were cancelled are still in the queue.
    fn fill(&mut self, mut quantity: u64) {
        while quantity > 0 {
            let Some(&id) = self.queue.front() else { break };
            let Some(order) = self.orders.get_mut(id) else {
                self.queue.pop_front();
                continue;
            };
            let filled = quantity.min(order.open);
            order.open -= filled;
            quantity -= filled;
            self.log.push(format!("filled {}: {filled}", order.client));
            if order.open == 0 {
                self.orders.remove(id);
                self.queue.pop_front();
            }
        }
    }

    fn report(&mut self) {
        let clients: Vec<u64> = self.orders.iter().map(|(_, it)| it.client).collect();
        let open: u64 = self.orders.iter().map(|(_, it)| it.open).sum();
        let len = self.orders.len();
        self.log.push(format!("{clients:?}: {open} in {len} orders"));
    }

    fn close(&mut self) {
        let ids: Vec<Id> = self.orders.iter().map(|(id, _)| id).collect();
        for id in ids {
            let order = self.orders.remove(id).expect("a live order");
            self.log.push(format!("closed {}: {}", order.client, order.open));
        }
        self.queue.clear();
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut venue = Venue {
        orders: Pool::new(16),
        queue: VecDeque::new(),
        log: Vec::new(),
    };
    // What clients have: the number of an order on the wire, and who placed it.
    let mut wires: Vec<(u64, u64)> = Vec::new();
    for client in 0..400 {
        let quantity = 1 + random(60);
        match random(8) {
            0..=3 => wires.push((venue.place(client, quantity), client)),
            4 | 5 if !wires.is_empty() => {
                let at = wires.len() - 1 - random(wires.len().min(20) as u64) as usize;
                let (wire, client) = wires[at];
                venue.cancel(wire, client);
            }
            6 => venue.fill(3 * quantity),
            _ => venue.report(),
        }
    }
    venue.close();
    venue.log
}
