//! A link that sends packets again until they are acknowledged, in a bounded slab of `nexus-slab`
//! 2.x, whose slots are freed by hand.

use std::collections::VecDeque;

use nexus_slab::bounded::Slab;
use nexus_slab::{Full, Slot};

use crate::random::{random, seed};

struct Packet {
    number: u64,
    channel: usize,
    sent: u32,
    payload: Vec<u8>,
}

struct Link {
    packets: Slab<Packet>,
    /// Not sent yet, of each channel.
    waiting: [VecDeque<Slot<Packet>>; 3],
    /// Sent, and not acknowledged.
    in_flight: Vec<Slot<Packet>>,
    log: Vec<String>,
}

impl Link {
    fn new(capacity: usize) -> Self {
        Link {
            // SAFETY: each slot is freed here, in this slab, before the slab is dropped: by
            // `Link::close`, which `run` calls.
            packets: unsafe { Slab::with_capacity(capacity) },
            waiting: Default::default(),
            in_flight: Vec::new(),
            log: Vec::new(),
        }
    }

    fn enqueue(&mut self, number: u64, channel: usize, payload: Vec<u8>) {
        let packet = Packet {
            number,
            channel,
            sent: 0,
            payload,
        };
        match self.packets.try_alloc(packet) {
            Ok(slot) => {
                self.log.push(format!("queued {number} on {channel}"));
                self.waiting[channel].push_back(slot);
            }
            Err(Full(packet)) => {
                let (number, bytes) = (packet.number, packet.payload.len());
                self.log.push(format!("refused {number}: {bytes} bytes"));
            }
        }
    }

    /// Sends the next packet of the first channel that has one.
    fn send(&mut self) {
        for channel in 0..self.waiting.len() {
            if let Some(mut packet) = self.waiting[channel].pop_front() {
                packet.sent += 1;
                self.log.push(format!("sent {}", packet.number));
                self.in_flight.push(packet);
                return;
            }
        }
    }

    fn acknowledge(&mut self, number: u64) {
        let place = self.in_flight.iter().position(|it| it.number == number);
        match place {
            Some(place) => {
                let slot = self.in_flight.remove(place);
                // The payload is wanted: `take` moves the packet out and frees the slot.
                let packet = self.packets.take(slot);
                let (sent, bytes) = (packet.sent, packet.payload.len());
                self.log
                    .push(format!("delivered {number}: {bytes} in {sent}"));
            }
            None => self.log.push(format!("unknown {number}")),
        }
    }

    /// Sends what is in flight again; gives up a packet that was sent three times.
    fn time_out(&mut self) {
        let mut kept = Vec::new();
        for mut packet in self.in_flight.drain(..) {
            if packet.sent == 3 {
                self.log.push(format!("gave up {}", packet.number));
                self.packets.free(packet);
            } else {
                packet.sent += 1;
                self.log.push(format!("sent {} again", packet.number));
                kept.push(packet);
            }
        }
        self.in_flight = kept;
    }

    /// Drops what a channel has not sent.
    fn flush(&mut self, channel: usize) {
        let slots = std::mem::take(&mut self.waiting[channel]);
        let count = slots.len();
        for slot in slots {
            self.packets.free(slot);
        }
        self.log.push(format!("flushed {count} of {channel}"));
    }

    fn report(&mut self) {
        let bytes: usize = (self.in_flight.iter())
            .chain(self.waiting.iter().flatten())
            .map(|packet| packet.payload.len())
            .sum();
        let channels: usize = self.in_flight.iter().map(|packet| packet.channel).sum();
        let flying = self.in_flight.len();
        self.log
            .push(format!("{bytes} bytes, {flying} in flight, {channels}"));
    }

    fn close(mut self) -> Vec<String> {
        for slot in self.in_flight.drain(..) {
            self.packets.free(slot);
        }
        for channel in 0..self.waiting.len() {
            self.flush(channel);
        }
        self.log
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut link = Link::new(16);
    for number in 0..400 {
        let channel = random(3) as usize;
        match random(10) {
            0..=3 => link.enqueue(number, channel, vec![0; random(100) as usize]),
            4 | 5 => link.send(),
            6 if !link.in_flight.is_empty() => {
                let place = random(link.in_flight.len() as u64) as usize;
                let number = link.in_flight[place].number;
                link.acknowledge(number);
            }
            6 => link.acknowledge(number),
            7 => link.time_out(),
            8 if random(4) == 0 => link.flush(channel),
            _ => link.report(),
        }
    }
    link.close()
}
