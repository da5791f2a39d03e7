//! Rings of frames of bytes for two threads: each frame is written in place and read in place.
//!
//! The other rings are used in the way that is fastest: `rtrb` with entries of a fixed size, so
//! that a frame never wraps around; `bbqueue` borrowed, since its shared form counts references
//! at each frame.

use std::hint::black_box;
use std::mem::MaybeUninit;

use bbqueue::nicknames::YakiNiku;
use bbqueue::prod_cons::framed::{FramedConsumer, FramedProducer};
use bbqueue::traits::storage::BoxedSlice;
use flatslab::sync::SpscRing;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::barrier;
use flatslab_benches::run::Turn;
use flatslab_benches::threads::{BBQUEUE, RTRB, SPSC};

use super::hand_over::{Pace, between};
use super::wait_until;

/// Frames that a ring has room for.
const ENTRIES: usize = 256;

/// A ring of frames of at most so many bytes.
pub(crate) trait Frames<const BYTES: usize> {
    const NAME: &'static str;
    type Ring;
    type Producer<'r>: Send;
    type Consumer<'r>: Send;

    fn new() -> Self::Ring;

    /// Its two ends, once.
    fn split(ring: &mut Self::Ring) -> (Self::Producer<'_>, Self::Consumer<'_>);

    /// Copies a frame to its place; `false` if the ring is full.
    fn write(producer: &mut Self::Producer<'_>, frame: &[u8]) -> bool;

    /// Reads the oldest frame where it is; `None` if there is none.
    fn read(consumer: &mut Self::Consumer<'_>) -> Option<u64>;
}

/// All words of a frame, added up: all its lines come to the reader.
#[inline(always)]
fn sum(frame: &[u8]) -> u64 {
    let (words, rest) = frame.split_at(frame.len() / 8 * 8);
    let words = words.chunks_exact(8);
    let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(0, u64::wrapping_add)
}

/// Ours.
pub(crate) struct Spsc;

impl<const BYTES: usize> Frames<BYTES> for Spsc {
    const NAME: &'static str = SPSC;
    type Ring = Option<SpscRing>;
    type Producer<'r> = flatslab::sync::Producer;
    type Consumer<'r> = flatslab::sync::Consumer;

    fn new() -> Option<SpscRing> {
        Some(SpscRing::with_capacity(ENTRIES, BYTES))
    }

    fn split(ring: &mut Option<SpscRing>) -> (flatslab::sync::Producer, flatslab::sync::Consumer) {
        ring.take().expect("once").split()
    }

    #[inline(always)]
    fn write(producer: &mut flatslab::sync::Producer, frame: &[u8]) -> bool {
        let Some(mut entry) = producer.vacant_entry() else {
            return false;
        };
        entry.extend_from_slice(frame).expect("it fits");
        entry.commit();
        true
    }

    #[inline(always)]
    fn read(consumer: &mut flatslab::sync::Consumer) -> Option<u64> {
        Some(sum(&consumer.pop()?))
    }
}

/// `rtrb`, with a frame in each of its places.
pub(crate) struct Rtrb;

/// As long as its longest.
pub(crate) struct Place<const BYTES: usize> {
    len: usize,
    bytes: [MaybeUninit<u8>; BYTES],
}

impl<const BYTES: usize> Frames<BYTES> for Rtrb {
    const NAME: &'static str = RTRB;
    type Ring = Option<(rtrb::Producer<Place<BYTES>>, rtrb::Consumer<Place<BYTES>>)>;
    type Producer<'r> = rtrb::Producer<Place<BYTES>>;
    type Consumer<'r> = rtrb::Consumer<Place<BYTES>>;

    fn new() -> Self::Ring {
        Some(rtrb::RingBuffer::new(ENTRIES))
    }

    fn split(ring: &mut Self::Ring) -> (Self::Producer<'_>, Self::Consumer<'_>) {
        ring.take().expect("once")
    }

    #[inline(always)]
    fn write(producer: &mut rtrb::Producer<Place<BYTES>>, frame: &[u8]) -> bool {
        let Ok(mut chunk) = producer.write_chunk_uninit(1) else {
            return false;
        };
        assert!(frame.len() <= BYTES);
        let place = chunk.as_mut_slices().0[0].as_mut_ptr();
        // SAFETY: the place is this chunk's; the frame fits, and both its fields are written
        // before it is committed: bytes past its length need not be.
        unsafe {
            (&raw mut (*place).len).write(frame.len());
            let bytes = (&raw mut (*place).bytes).cast::<u8>();
            bytes.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
            chunk.commit_all();
        }
        true
    }

    #[inline(always)]
    fn read(consumer: &mut rtrb::Consumer<Place<BYTES>>) -> Option<u64> {
        let chunk = consumer.read_chunk(1).ok()?;
        let place = &chunk.as_slices().0[0];
        let bytes = &place.bytes[..place.len];
        // SAFETY: so many bytes were written.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
        let sum = sum(bytes);
        chunk.commit_all();
        Some(sum)
    }
}

/// `bbqueue`, which takes any length, and puts two bytes before each frame.
pub(crate) struct BbQueue;

impl<const BYTES: usize> Frames<BYTES> for BbQueue {
    const NAME: &'static str = BBQUEUE;
    type Ring = YakiNiku;
    type Producer<'r> = FramedProducer<&'r YakiNiku>;
    type Consumer<'r> = FramedConsumer<&'r YakiNiku>;

    fn new() -> YakiNiku {
        // It keeps its two ends apart.
        YakiNiku::new_with_storage(BoxedSlice::new((ENTRIES + 1) * (BYTES + 2)))
    }

    fn split(ring: &mut YakiNiku) -> (Self::Producer<'_>, Self::Consumer<'_>) {
        (ring.framed_producer(), ring.framed_consumer())
    }

    #[inline(always)]
    fn write(producer: &mut FramedProducer<&YakiNiku>, frame: &[u8]) -> bool {
        let len = u16::try_from(frame.len()).expect("it is short");
        let Ok(mut grant) = producer.grant(len) else {
            return false;
        };
        grant.copy_from_slice(frame);
        grant.commit(len);
        true
    }

    #[inline(always)]
    fn read(consumer: &mut FramedConsumer<&YakiNiku>) -> Option<u64> {
        let grant = consumer.read().ok()?;
        let sum = sum(&grant);
        grant.release();
        Some(sum)
    }
}

/// Different frames.
const DIFFERENT: usize = 64;

/// Frames to be written, one after the other, over and over. They are not changed: a copy that
/// begins by loading what was stored in pieces would wait.
fn contents<const BYTES: usize>() -> Vec<[u8; BYTES]> {
    let byte = |number: usize, at: usize| (number * 31 + at * 7 + at / 37) as u8;
    let frame = |number| std::array::from_fn(|at| byte(number, at));
    black_box((0..DIFFERENT).map(frame).collect())
}

/// Frames from one thread to another.
#[inline(never)]
pub(crate) fn frames<F: Frames<BYTES>, const BYTES: usize, const IN_TURNS: bool>(
    setting: Setting,
) -> Turn {
    let pace = Pace::of(IN_TURNS);
    let (batches, batch) = pace.batches(&setting, ENTRIES);
    let frames = contents::<BYTES>();
    let right: Vec<u64> = frames.iter().map(|frame| sum(frame)).collect();
    // The compiler does not know it.
    let len = black_box(BYTES);
    let mut ring = F::new();
    let (mut producer, mut consumer) = F::split(&mut ring);
    let sender = || {
        let frames = &frames;
        move |number: usize| {
            wait_until(|| {
                barrier(&producer);
                F::write(&mut producer, &frames[number % DIFFERENT][..len])
            });
        }
    };
    let taker = || {
        let right = &right;
        let mut number = 0;
        move |_| {
            let mut read = None;
            wait_until(|| {
                barrier(&consumer);
                read = F::read(&mut consumer);
                read.is_some()
            });
            let is_right = read == Some(right[number % DIFFERENT]);
            number += 1;
            // Counted: after a panic here the other thread would wait for ever.
            (1, u64::from(is_right))
        }
    };
    let (ticks, were_right) = between((batches, batch, pace), sender, taker);
    assert_eq!(
        were_right as usize,
        (batches / 8 + batches) * batch,
        "{}",
        F::NAME
    );
    ticks.into()
}

/// A frame written and one read, on one thread: what neither takes from the other.
#[inline(never)]
pub(crate) fn frames_alone<F: Frames<BYTES>, const BYTES: usize>(setting: Setting) -> Turn {
    let frames = contents::<BYTES>();
    let right: Vec<u64> = frames.iter().map(|frame| sum(frame)).collect();
    let len = black_box(BYTES);
    let mut ring = F::new();
    let (mut producer, mut consumer) = F::split(&mut ring);
    for number in 0..ENTRIES / 2 {
        assert!(F::write(&mut producer, &frames[number % DIFFERENT][..len]));
    }
    let batches = if setting.live < 1024 { 8 } else { 128 };
    let mut ticks = Vec::with_capacity(batches);
    for at in 0..batches {
        let begun = flatslab_benches::clock::start();
        for number in 0..ENTRIES {
            barrier(&producer);
            let frame = &frames[(number + ENTRIES / 2) % DIFFERENT][..len];
            assert!(F::write(&mut producer, frame), "{}", F::NAME);
            barrier(&consumer);
            let read = F::read(&mut consumer);
            assert_eq!(read, Some(right[number % DIFFERENT]), "{}", F::NAME);
        }
        let passed = flatslab_benches::clock::stop() - begun;
        if at >= batches / 8 {
            ticks.push(passed.saturating_sub(setting.overhead) as f64 / ENTRIES as f64);
        }
    }
    ticks.into()
}
