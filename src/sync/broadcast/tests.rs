//! Followers that are stopped in the middle of an entry, which no program can do from outside.

use super::block::{ABSENT, State, state, word};
use super::{BroadcastConsumer, BroadcastProducer, BroadcastReaders, BroadcastRing, Follower};
use crate::raw::atomic::Ordering;

fn ring(
    entries: usize,
    consumers: usize,
    followers: usize,
) -> (BroadcastProducer<u64>, BroadcastReaders<u64>) {
    let builder = BroadcastRing::builder().entries(entries);
    builder
        .consumers(consumers)
        .followers(followers)
        .build()
        .split()
}

/// The value in a cell that a follower reads.
fn value(follower: &Follower<u64>, cell: usize) -> u64 {
    // SAFETY: the follower has started to read this cell.
    unsafe { follower.end.read(cell) }
}

fn is_lapped(follower: &Follower<u64>) -> bool {
    let word = follower.word().load(Ordering::Relaxed);
    state(word) == State::Lapped
}

#[test]
fn a_follower_that_stops_in_the_middle_keeps_its_entry_and_holds_up_nobody() {
    for entries in [1, 2, 4] {
        let (mut producer, readers) = ring(entries, 0, 1);
        let mut follower = readers.follow().unwrap();
        let count = 5 * entries as u64 + 1;
        producer.push(0).unwrap();
        let cell = follower.start().unwrap().unwrap();
        for number in 1..=count {
            producer.push(number).unwrap();
            assert_eq!(value(&follower, cell), 0);
        }
        assert!(is_lapped(&follower));
        follower.finish();
        let missed = follower.pop().unwrap_err();
        assert_eq!((missed.first, missed.count), (1, count));
        assert_eq!(follower.pop(), Ok(None));
        producer.push(7).unwrap();
        assert_eq!(follower.pop(), Ok(Some(7)));
        assert_eq!(follower.missed(), count);
    }
}

#[test]
fn each_of_several_followers_keeps_its_entry() {
    const FOLLOWERS: usize = 4;
    let (mut producer, readers) = ring(2, 0, FOLLOWERS);
    let mut followers: Vec<_> = (0..FOLLOWERS).map(|_| readers.follow().unwrap()).collect();
    let mut next = 0;
    for round in 0..50 {
        let mut reads = Vec::new();
        // Some at the same entry, and some a lap later, when the place has a spare.
        for (number, follower) in followers.iter_mut().enumerate() {
            if (number + round) % 2 == 0 {
                producer.push(next).unwrap();
                next += 1;
            }
            let cell = loop {
                match follower.start() {
                    Ok(Some(cell)) => break cell,
                    Ok(None) => {
                        producer.push(next).unwrap();
                        next += 1;
                    }
                    Err(_) => {}
                }
            };
            reads.push((cell, value(follower, cell)));
        }
        for _ in 0..round % 7 {
            producer.push(next).unwrap();
            next += 1;
        }
        for (follower, (cell, before)) in followers.iter_mut().zip(reads) {
            assert_eq!(
                (value(follower, cell), follower.sequence()),
                (before, before)
            );
            follower.finish();
        }
    }
}

/// Takes a word as `End::join` does on a thread that has read long ago that nothing is published.
fn takes_late(readers: &BroadcastReaders<u64>, number: usize, state: State) -> u64 {
    let written = word(0, state);
    let its_word = &readers.end.words()[number].at;
    let taken = its_word.compare_exchange(ABSENT, written, Ordering::Acquire, Ordering::Relaxed);
    assert_eq!(taken, Ok(ABSENT));
    written
}

/// Readers leave a word to the next one, each of which comes to it late and is lapped.
#[test]
fn two_spares_are_enough_for_followers_that_join_late() {
    for entries in [4, 8, 16, 32] {
        let (mut producer, readers) = ring(entries, 1, 1);
        let mut consumer = readers.join().unwrap();
        for number in 0..entries as u64 {
            producer.push(number).unwrap();
        }
        // The consumer is always a ring behind, so that each push looks at the words.
        let mut push = |count| {
            for _ in 0..count {
                consumer.pop().unwrap();
                producer.push(producer.sequence()).unwrap();
            }
        };
        for round in 0..50 {
            let written = takes_late(&readers, 1, State::Idle);
            push(1 + round % 2);
            let mut follower = Follower::joined(&readers.end, 1, readers.end.begin(1, written));
            let Ok(Some(cell)) = follower.start() else {
                continue;
            };
            let read = follower.sequence();
            push(entries / 8 + 1 + round % 3);
            assert_eq!(value(&follower, cell), read);
            follower.finish();
        }
    }
}

#[test]
fn no_more_places_are_taken_than_there_are_while_a_consumer_joins_late() {
    let (mut producer, readers) = ring(4, 1, 0);
    for number in 0..9 {
        producer.push(number).unwrap();
    }
    takes_late(&readers, 0, State::Gating);
    let stats = producer.stats();
    assert!(stats.live <= 4 && stats.free <= 4, "{stats:?}");
    assert!(producer.free() <= 4);
}

/// What a reader is known to have.
enum Reader {
    Consumer(BroadcastConsumer<u64>),
    Follower {
        reader: Follower<u64>,
        /// The cell that it reads.
        cell: Option<usize>,
    },
}

struct World {
    state: u64,
    producer: BroadcastProducer<u64>,
    readers: BroadcastReaders<u64>,
    /// With the sequence of the entry that it reads next.
    there: Vec<(Reader, u64)>,
    pushed: u64,
    published: u64,
}

impl World {
    fn below(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % n
    }

    /// The number of entries for which no consumer is in the way.
    fn free(&self) -> u64 {
        let consumers = self.there.iter();
        let slowest = consumers.filter_map(|(reader, next)| match reader {
            Reader::Consumer(_) => Some(*next),
            Reader::Follower { .. } => None,
        });
        let slowest = slowest.min().unwrap_or(u64::MAX).min(self.published);
        slowest + self.producer.capacity() as u64 - self.pushed
    }

    fn push(&mut self) {
        let number = self.pushed;
        match self.below(4) {
            0 => {
                self.producer.flush();
                self.published = number;
                let most = self.producer.capacity().min(4) as u64;
                let (count, kept) = (self.below(most + 1), self.below(2) == 0);
                let free = self.free();
                let Some(mut claim) = self.producer.claim(count as usize) else {
                    assert!(count > free);
                    return;
                };
                assert!(count <= free);
                for at in 0..count {
                    claim.push(number + at);
                }
                if kept {
                    assert_eq!(claim.publish(), number);
                    self.pushed += count;
                    self.published = self.pushed;
                }
            }
            1 => {
                let was_full = self.free() == 0;
                if was_full {
                    // It publishes, and finds room if no consumer was in the way.
                    self.published = number;
                }
                let is_full = self.free() == 0;
                assert_eq!(self.producer.push_deferred(number).is_err(), is_full);
                self.pushed += u64::from(!is_full);
            }
            2 => {
                self.producer.flush();
                self.published = number;
                assert_eq!(self.producer.free() as u64, self.free());
            }
            _ => {
                let was_full = self.free() == 0;
                if was_full {
                    self.published = number;
                }
                let is_full = self.free() == 0;
                assert_eq!(self.producer.push(number).is_err(), is_full);
                if !is_full {
                    self.pushed += 1;
                    self.published = self.pushed;
                }
            }
        }
    }

    fn read(&mut self) {
        if self.there.is_empty() {
            return;
        }
        let at = self.below(self.there.len() as u64) as usize;
        let most = self.below(4) as usize;
        let published = self.published;
        let (reader, next) = &mut self.there[at];
        match reader {
            Reader::Consumer(consumer) if most == 0 => {
                let expected = (*next < published).then_some(*next);
                assert_eq!(consumer.pop(), expected);
                *next += u64::from(expected.is_some());
            }
            Reader::Consumer(consumer) => {
                for value in consumer.batch().take(most) {
                    assert_eq!(value, *next);
                    *next += 1;
                }
                assert_eq!(consumer.len() as u64, published - *next);
            }
            Reader::Follower { reader, cell } => match cell.take() {
                Some(read) => {
                    assert_eq!(value(reader, read), *next);
                    reader.finish();
                    *next += 1;
                }
                None => match reader.start() {
                    Ok(None) => assert_eq!(*next, published),
                    Ok(Some(read)) => {
                        assert_eq!(value(reader, read), *next);
                        *cell = Some(read);
                    }
                    Err(missed) => {
                        assert_eq!(missed.first, *next);
                        assert!(missed.count > 0);
                        *next += missed.count;
                        assert!(*next <= published);
                    }
                },
            },
        }
    }

    fn join_or_leave(&mut self) {
        let published = self.published;
        match self.below(3) {
            0 if !self.there.is_empty() => {
                let at = self.below(self.there.len() as u64) as usize;
                self.there.swap_remove(at);
            }
            1 => {
                if let Some(consumer) = self.readers.join() {
                    self.there.push((Reader::Consumer(consumer), published));
                }
            }
            _ => {
                if let Some(reader) = self.readers.follow() {
                    let cell = None;
                    self.there
                        .push((Reader::Follower { reader, cell }, published));
                }
            }
        }
    }
}

#[test]
fn every_order_of_operations_agrees_with_a_list_of_all_entries() {
    let steps = if cfg!(miri) { 60 } else { 5_000 };
    for seed in 1..=60 {
        let (entries, consumers, followers) = (1 << (seed % 4), seed % 3, seed % 5);
        let (producer, readers) = ring(entries, consumers, followers);
        let mut world = World {
            state: (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            producer,
            readers,
            there: Vec::new(),
            pushed: 0,
            published: 0,
        };
        for _ in 0..steps {
            match world.below(40) {
                0 => world.join_or_leave(),
                1..20 => world.push(),
                _ => world.read(),
            }
        }
        assert!(world.pushed > 5);
    }
}
