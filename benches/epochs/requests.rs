//! A loop that serves requests within the process: each is parsed into some ten to twenty
//! objects, which are read for the answer, and freed when it is sent.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use flatslab_benches::clock;
use flatslab_benches::operation::Setting;
use flatslab_benches::record::Metric;
use flatslab_benches::run::{Measured, Turn};

use super::heaps::Heap;
use super::{Random, resident};

const THREADS: usize = 4;
/// Requests that differ.
const KINDS: usize = 256;
/// Of so many requests one is timed: the clock stops the processor's pipeline.
const STRIDE: usize = 64;
/// The most that a thread times.
const MOST: usize = 1 << 20;
/// Of a turn, so that six of them make half a minute.
const TURN: Duration = Duration::from_secs(5);
const QUICK_TURN: Duration = Duration::from_millis(200);

/// Fields of 16 to 400 bytes, each with its length before it: to find their ends in text would
/// take most of the time, in every subject.
fn request(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in 0..10 + random.below(11) {
        let length = 16 + random.below(385);
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(std::iter::repeat_n(b'a' + field as u8, length));
    }
    bytes
}

/// The first field of some, and the others.
#[inline(always)]
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

/// Objects of the request's fields and of the answer; returns the sum over what was read.
#[inline(never)]
fn answer<H: Heap>(heap: &mut H, objects: &mut Vec<H::Handle>, mut bytes: &[u8]) -> u64 {
    while let Some((field, rest)) = field(bytes) {
        objects.push(heap.copy(field));
        bytes = rest;
    }
    let sum: u64 = objects.iter().map(|object| heap.read(object)).sum();
    objects.push(heap.copy(&sum.to_le_bytes()));
    for object in objects.drain(..) {
        heap.free(object);
    }
    heap.end_of_request();
    sum
}

/// What the answer is to be.
fn right(mut bytes: &[u8]) -> u64 {
    let mut sum = 0;
    while let Some((field, rest)) = field(bytes) {
        sum += u64::from(field[0]) + u64::from(field[field.len() - 1]);
        bytes = rest;
    }
    sum
}

/// So many threads serve requests for some time.
pub(crate) fn serve<H: Heap>(setting: Setting) -> Turn {
    let turn = if setting.live < 100_000 {
        QUICK_TURN
    } else {
        TURN
    };
    let overhead = clock::overhead();
    let all_here = Barrier::new(THREADS + 1);
    let one = |seed: u64| {
        let mut random = Random::new(seed);
        let texts: Vec<Vec<u8>> = (0..KINDS).map(|_| request(&mut random)).collect();
        let rights: Vec<u64> = texts.iter().map(|text| right(text)).collect();
        let mut heap = H::new();
        let mut objects = Vec::with_capacity(32);
        let mut ticks = vec![1.0_f64; MOST];
        let mut timed = 0;
        for (text, right) in texts.iter().zip(&rights) {
            assert_eq!(answer(&mut heap, &mut objects, text), *right, "{}", H::NAME);
        }
        all_here.wait();
        let begun = Instant::now();
        'serve: loop {
            for (at, (text, right)) in texts.iter().zip(&rights).enumerate() {
                let start = if at % STRIDE == 0 { clock::start() } else { 0 };
                let sum = answer(&mut heap, &mut objects, text);
                if at % STRIDE == 0 {
                    let passed = clock::stop() - start;
                    ticks[timed] = passed.saturating_sub(overhead) as f64;
                    timed += 1;
                    if timed == MOST || begun.elapsed() > turn {
                        break 'serve;
                    }
                }
                assert_eq!(sum, *right, "{}", H::NAME);
            }
        }
        ticks.truncate(timed);
        ticks
    };
    let (ticks, before, after) = std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..THREADS as u64)
            .map(|seed| scope.spawn(move || one(seed)))
            .collect();
        all_here.wait();
        std::thread::sleep(turn / 5);
        resident();
        let before = resident();
        std::thread::sleep(turn * 7 / 10);
        let after = resident();
        let joined = threads.into_iter().map(|it| it.join().expect("it ends"));
        (joined.collect::<Vec<_>>().concat(), before, after)
    });
    let growth = (after as f64 / before as f64 - 1.0) * 100.0;
    Turn(vec![Measured {
        ticks,
        ..Measured::facts(&[
            (Metric::Memory, after as f64 / 1024.0),
            (Metric::Growth, growth.max(0.0)),
        ])
    }])
}
