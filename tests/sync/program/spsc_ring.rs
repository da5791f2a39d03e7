//! The steps of a program on the two ends of a ring.

use std::collections::VecDeque;
use std::mem::forget;

use flatslab::sync::{Consumer, Producer, PushError, SpscRing};

use super::{Input, pages};

struct World<'i, 'p> {
    input: &'i mut Input<'p>,
    producer: Option<Producer>,
    consumer: Option<Consumer>,
    entries: VecDeque<Vec<u8>>,
    /// Places of entries that were popped and whose frame was forgotten: the consumer gives
    /// them back with the next one, or when it looks for more entries.
    forgotten: usize,
    capacity: usize,
    max_len: usize,
}

/// Pushes so many bytes, or as many as an entry may have, and one more.
fn push(
    producer: &mut Producer,
    entries: &mut VecDeque<Vec<u8>>,
    taken: usize,
    (len, byte): (usize, u8),
) {
    let len = len % (producer.max_len() + 2);
    let (bytes, is_full) = (vec![byte; len], taken == producer.capacity());
    match producer.push(&bytes) {
        Ok(()) => {
            assert!(!is_full && len <= producer.max_len());
            entries.push_back(bytes);
        }
        Err(PushError::Full) => assert!(is_full),
        Err(PushError::TooLarge(error)) => {
            assert_eq!((error.size, error.limit), (len, producer.max_len()));
            assert!(len > producer.max_len());
        }
    }
}

impl World<'_, '_> {
    fn taken(&self) -> usize {
        self.entries.len() + self.forgotten
    }

    fn push(&mut self) {
        let (taken, size) = (
            self.taken(),
            (self.input.number(), self.input.number() as u8),
        );
        if let Some(producer) = &mut self.producer {
            push(producer, &mut self.entries, taken, size);
        }
    }

    /// Fills an entry in place, and commits it or not.
    fn reserve(&mut self) {
        let is_full = self.taken() == self.capacity;
        let (end, len) = (self.input.below(4), self.input.number());
        let byte = self.input.number() as u8;
        let Some(producer) = &mut self.producer else {
            return;
        };
        let Some(mut entry) = producer.vacant_entry() else {
            assert!(is_full);
            return;
        };
        assert!(!is_full && entry.is_empty() && entry.capacity() >= self.max_len);
        let room = entry.capacity();
        let bytes = vec![byte; len];
        let mut expected = Vec::new();
        if entry.extend_from_slice(&bytes).is_ok() {
            expected = bytes;
        }
        assert_eq!(expected.len() == len, len <= room);
        if entry.resize(len / 2, !byte).is_ok() {
            expected.resize(len / 2, !byte);
        }
        entry.truncate(len / 3);
        expected.truncate(len / 3);
        assert_eq!(*entry, *expected);
        match end {
            0 => return,
            1 => {
                entry.defer();
                let found = self.consumer.as_ref().map(Consumer::len);
                assert!(found.is_none_or(|found| found == self.entries.len()));
                producer.flush();
            }
            _ => entry.commit(),
        }
        self.entries.push_back(expected);
    }

    /// Pops an entry; the producer goes on while it is read.
    fn pop(&mut self) {
        let (pushes, forgets) = (self.input.below(3), self.input.one_in(6));
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let Some(frame) = consumer.pop() else {
            assert!(self.entries.is_empty());
            self.forgotten = 0;
            return;
        };
        let expected = self.entries.pop_front().expect("there is one");
        assert_eq!(*frame, *expected);
        if let Some(producer) = &mut self.producer {
            let forgotten = producer.len() - self.entries.len() - 1;
            assert!(forgotten == 0 || forgotten == self.forgotten);
            self.forgotten = forgotten;
            for _ in 0..pushes {
                let taken = self.entries.len() + self.forgotten + 1;
                assert_eq!(producer.len(), taken);
                let size = (self.input.number(), self.input.number() as u8);
                push(producer, &mut self.entries, taken, size);
            }
        }
        assert_eq!(*frame, *expected);
        if forgets {
            forget(frame);
            self.forgotten += 1;
        } else {
            drop(frame);
            self.forgotten = 0;
        }
    }

    fn compare(&self) {
        let (len, taken) = (self.entries.len(), self.taken());
        if let Some(producer) = &self.producer {
            assert_eq!((producer.len(), producer.is_empty()), (taken, taken == 0));
            assert_eq!(producer.is_full(), taken == self.capacity);
            assert_eq!(producer.is_closed(), self.consumer.is_none());
        }
        if let Some(consumer) = &self.consumer {
            assert_eq!((consumer.len(), consumer.is_empty()), (len, len == 0));
            assert_eq!(consumer.is_closed(), self.producer.is_none());
        }
    }
}

pub(super) fn run(input: &mut Input<'_>) {
    let (capacity, max_len) = (1 + input.below(6), 1 + input.below(70));
    let builder = SpscRing::builder().entries(capacity).max_len(max_len);
    let (producer, consumer) = builder.pages(pages()).build().split();
    let mut world = World {
        input,
        producer: Some(producer),
        consumer: Some(consumer),
        entries: VecDeque::new(),
        forgotten: 0,
        capacity,
        max_len,
    };
    while let Some(step) = world.input.next() {
        match step % 8 {
            0..3 => world.push(),
            3 => world.reserve(),
            4..7 => world.pop(),
            _ if step > 250 => world.producer = None,
            _ if step > 245 => world.consumer = None,
            _ => {}
        }
        world.compare();
    }
    world.producer = None;
    while world.consumer.is_some() && !world.entries.is_empty() {
        world.pop();
        world.compare();
    }
}
