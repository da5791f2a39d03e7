//! Rings of values of one type, from one thread to another: all of a batch, or one at a time.
//!
//! The other rings are used in the way that is fastest: `rtrb` reads all that is there as a chunk,
//! `disruptor` polls for all that is there.

use std::thread;

use disruptor::{EventPoller, Producer as _, SingleConsumerBarrier, SingleProducerBarrier};
use flatslab::sync::{BroadcastConsumer, BroadcastProducer, BroadcastRing, SpscRing};
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::{Payload, barrier, whole};
use flatslab_benches::run::Turn;
use flatslab_benches::threads::{BROADCAST, DISRUPTOR, FOLLOWED, RTRB, SPSC};
use flatslab_benches::{clock, machine};

use super::hand_over::{Pace, between};
use super::wait_until;

/// Values that a ring has room for.
const ENTRIES: usize = 256;

pub(crate) trait Ring<V> {
    const NAME: &'static str;
    type Producer: Send;
    type Consumer: Send;

    fn new() -> (Self::Producer, Self::Consumer);

    /// `false` if the ring is full.
    fn push(producer: &mut Self::Producer, value: V) -> bool;

    /// Reads one value.
    fn pop(consumer: &mut Self::Consumer) -> Option<V>;

    /// Reads at most so many of those that are there; returns how many.
    fn read(consumer: &mut Self::Consumer, most: usize, read: impl FnMut(V)) -> usize;
}

/// Ours, for several readers, of which there is one.
pub(crate) struct Broadcast;

impl<V: Copy + Send> Ring<V> for Broadcast {
    const NAME: &'static str = BROADCAST;
    type Producer = BroadcastProducer<V>;
    type Consumer = BroadcastConsumer<V>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let (producer, readers) = BroadcastRing::with_capacity(ENTRIES, 1).split();
        (producer, readers.join().expect("one"))
    }

    #[inline(always)]
    fn push(producer: &mut Self::Producer, value: V) -> bool {
        producer.push(value).is_ok()
    }

    #[inline(always)]
    fn pop(consumer: &mut Self::Consumer) -> Option<V> {
        consumer.pop()
    }

    #[inline(always)]
    fn read(consumer: &mut Self::Consumer, most: usize, read: impl FnMut(V)) -> usize {
        let batch = consumer.batch().take(most);
        let count = batch.len();
        batch.for_each(read);
        count
    }
}

/// Ours, whose reader the producer does not wait for.
pub(crate) struct Followed;

impl<V: Copy + Send> Ring<V> for Followed {
    const NAME: &'static str = FOLLOWED;
    type Producer = BroadcastProducer<V>;
    type Consumer = flatslab::sync::Follower<V>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let ring = BroadcastRing::builder().entries(ENTRIES).followers(1);
        let (producer, readers) = ring.build().split();
        (producer, readers.follow().expect("one"))
    }

    #[inline(always)]
    fn push(producer: &mut Self::Producer, value: V) -> bool {
        producer.push(value).is_ok()
    }

    #[inline(always)]
    fn pop(follower: &mut Self::Consumer) -> Option<V> {
        follower.pop().expect("as many as it has room for")
    }

    #[inline(always)]
    fn read(follower: &mut Self::Consumer, _: usize, mut read: impl FnMut(V)) -> usize {
        Self::pop(follower).map_or(0, |value| {
            read(value);
            1
        })
    }
}

/// Ours, for one reader.
pub(crate) struct Spsc;

type Values<V> = flatslab::sync::Values<V>;

impl<V: Copy + Send> Ring<V> for Spsc {
    const NAME: &'static str = SPSC;
    type Producer = flatslab::sync::Producer<Values<V>>;
    type Consumer = flatslab::sync::Consumer<Values<V>>;

    fn new() -> (Self::Producer, Self::Consumer) {
        SpscRing::of_values(ENTRIES).split()
    }

    #[inline(always)]
    fn push(producer: &mut Self::Producer, value: V) -> bool {
        producer.push(value).is_ok()
    }

    #[inline(always)]
    fn pop(consumer: &mut Self::Consumer) -> Option<V> {
        consumer.pop()
    }

    #[inline(always)]
    fn read(consumer: &mut Self::Consumer, most: usize, read: impl FnMut(V)) -> usize {
        let batch = consumer.batch().take(most);
        let count = batch.len();
        batch.for_each(read);
        count
    }
}

pub(crate) struct Rtrb;

impl<V: Copy + Send> Ring<V> for Rtrb {
    const NAME: &'static str = RTRB;
    type Producer = rtrb::Producer<V>;
    type Consumer = rtrb::Consumer<V>;

    fn new() -> (Self::Producer, Self::Consumer) {
        rtrb::RingBuffer::new(ENTRIES)
    }

    #[inline(always)]
    fn push(producer: &mut Self::Producer, value: V) -> bool {
        producer.push(value).is_ok()
    }

    #[inline(always)]
    fn pop(consumer: &mut Self::Consumer) -> Option<V> {
        consumer.pop().ok()
    }

    #[inline(always)]
    fn read(consumer: &mut Self::Consumer, most: usize, read: impl FnMut(V)) -> usize {
        let count = consumer.slots().min(most);
        let chunk = consumer.read_chunk(count).expect("they are there");
        chunk.into_iter().for_each(read);
        count
    }
}

/// `disruptor`, with one producer, whose readers poll.
pub(crate) struct Disruptor;

/// An event of it, which it makes in advance.
pub(crate) struct Event<V>(V);

impl<V: Payload + Send + Sync> Ring<V> for Disruptor {
    const NAME: &'static str = DISRUPTOR;
    type Producer = disruptor::SingleProducer<Event<V>, SingleConsumerBarrier>;
    type Consumer = EventPoller<Event<V>, SingleProducerBarrier>;

    fn new() -> (Self::Producer, Self::Consumer) {
        let event = || Event(V::of(0));
        let builder = disruptor::build_single_producer(ENTRIES, event, disruptor::BusySpin);
        let (consumer, builder) = builder.new_event_poller();
        (builder.build(), consumer)
    }

    #[inline(always)]
    fn push(producer: &mut Self::Producer, value: V) -> bool {
        producer.try_publish(|event| event.0 = value).is_ok()
    }

    #[inline(always)]
    fn pop(consumer: &mut Self::Consumer) -> Option<V> {
        let mut events = consumer.take(1).ok()?;
        let event = (&mut events).next();
        event.map(|event| event.0)
    }

    #[inline(always)]
    fn read(consumer: &mut Self::Consumer, most: usize, mut read: impl FnMut(V)) -> usize {
        let Ok(mut events) = consumer.take(most as u64) else {
            return 0;
        };
        let count = (&mut events).len();
        for event in &mut events {
            read(event.0);
        }
        count
    }
}

/// Values from one thread to another.
#[inline(never)]
pub(crate) fn values<R: Ring<V>, V: Payload + Send, const IN_TURNS: bool>(
    setting: Setting,
) -> Turn {
    let pace = Pace::of(IN_TURNS);
    let (batches, batch) = pace.batches(&setting, ENTRIES);
    let (mut producer, mut consumer) = R::new();
    let sender = || {
        move |number: usize| {
            wait_until(|| {
                barrier(&producer);
                R::push(&mut producer, V::of(number as u64))
            });
        }
    };
    let taker = || {
        let mut number = 0;
        move |most: usize| {
            let (mut count, mut right) = (0, 0);
            wait_until(|| {
                barrier(&consumer);
                count = R::read(&mut consumer, most, |value| {
                    whole(&value);
                    right += u64::from(value.number() == number);
                    number += 1;
                });
                count != 0
            });
            (count, right)
        }
    };
    let (ticks, were_right) = between((batches, batch, pace), sender, taker);
    // Counted: after a panic there the other thread would wait for ever.
    let all = (batches / 8 + batches) * batch;
    assert_eq!(were_right as usize, all, "{}", R::NAME);
    ticks.into()
}

/// Values from one thread to three others, all of which wait by letting others run: there are fewer
/// processors than threads.
#[inline(never)]
pub(crate) fn three_readers<V: Payload + Send>(setting: Setting) -> Turn {
    let batches = if setting.live < 1024 { 8 } else { 64 };
    let batch = 8 * ENTRIES;
    let (mut producer, readers) = BroadcastRing::with_capacity(ENTRIES, 3).split();
    let consumers = [(); 3].map(|()| readers.join().expect("three"));
    let read = |mut consumer: BroadcastConsumer<V>| {
        let mut number = 0;
        while let Some(value) = consumer.pop_wait() {
            whole(&value);
            assert_eq!(value.number(), number, "{BROADCAST}");
            number += 1;
            consumer.batch().for_each(|value| {
                whole(&value);
                assert_eq!(value.number(), number, "{BROADCAST}");
                number += 1;
            });
        }
        number
    };
    thread::scope(|scope| {
        let readers = consumers.map(|consumer| scope.spawn(move || read(consumer)));
        let mut ticks = Vec::with_capacity(batches);
        for at in 0..batches {
            let begun = clock::start();
            for number in at * batch..(at + 1) * batch {
                while producer.push(V::of(number as u64)).is_err() {
                    thread::yield_now();
                }
            }
            let passed = (clock::stop() - begun).saturating_sub(setting.overhead);
            ticks.push(passed as f64 / batch as f64);
        }
        drop(producer);
        for reader in readers {
            let all = reader.join().expect("it ends");
            assert_eq!(all, (batches * batch) as u64, "{BROADCAST}");
        }
        ticks.into()
    })
}

/// A value written and one read, on one thread.
#[inline(never)]
pub(crate) fn values_alone<R: Ring<V>, V: Payload>(setting: Setting) -> Turn {
    let (mut producer, mut consumer) = R::new();
    let half = ENTRIES as u64 / 2;
    for number in 0..half {
        assert!(R::push(&mut producer, V::of(number)));
    }
    let batches = if setting.live < 1024 { 8 } else { 128 };
    let mut ticks = Vec::with_capacity(batches);
    let mut number = 0;
    for _ in 0..batches {
        let begun = clock::start();
        for _ in 0..ENTRIES {
            barrier(&producer);
            assert!(R::push(&mut producer, V::of(number + half)), "{}", R::NAME);
            barrier(&consumer);
            let value = R::pop(&mut consumer).expect("half are there");
            whole(&value);
            assert_eq!(value.number(), number, "{}", R::NAME);
            number += 1;
        }
        let passed = (clock::stop() - begun).saturating_sub(setting.overhead);
        ticks.push(passed as f64 / ENTRIES as f64);
    }
    ticks.into()
}

/// One value at a time to another thread, and back through another ring.
#[inline(never)]
pub(crate) fn there_and_back<R: Ring<V>, V: Payload + Send>(setting: Setting) -> Turn {
    let count = if setting.live < 1024 { 500 } else { 20_000 };
    let (mut to, mut at_other) = R::new();
    let (mut from_other, mut back) = R::new();
    let pop = |ring: &mut R::Consumer| {
        let mut read = None;
        wait_until(|| {
            read = R::pop(ring);
            read.is_some()
        });
        read.expect("it waited for it")
    };
    let other = move || {
        machine::pin_to(1);
        for _ in 0..count {
            let value = pop(&mut at_other);
            assert!(R::push(&mut from_other, value), "there is one");
        }
    };
    let one = move || {
        machine::pin_to(0);
        let overhead = clock::overhead();
        let mut ticks = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let begun = clock::start();
            assert!(R::push(&mut to, V::of(number)), "there is one");
            let value = pop(&mut back);
            ticks.push((clock::stop() - begun).saturating_sub(overhead) as f64);
            assert_eq!(value.number(), number, "{}", R::NAME);
        }
        ticks
    };
    let ticks = thread::scope(|scope| {
        scope.spawn(other);
        scope.spawn(one).join().expect("it ends")
    });
    ticks.into()
}
