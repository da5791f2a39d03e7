//! Byte buffers: references, allocation, positions, chains and rings, next to `bytes`,
//! `Rc<[u8]>` and `Vec<u8>` on malloc.
//!
//! A figure is of one operation. The size is that of a buffer; where sizes are mixed it is the
//! largest. What is read is checked in every turn.

mod buffers;

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::rc::Rc;

use ::bytes::Bytes;
use buffers::counting::{Counting, Stretch};
use buffers::rings::{Deque, Fifo, Frame, ReusedDeque};
use buffers::{
    Allocate, BytesMuts, Chain, EachBuf, Indices, Keys, Link, Linked, Lookup, OneBuf, Positions,
    Share, Vecs, touch,
};
use flatslab::bytes::{Buf, ByteArena, Ring};
use flatslab_benches::bytes::*;
use flatslab_benches::prelude::*;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

const PLAN: Plan = Plan {
    notes,
    tables: Some(tables),
    ..plan::of(
        BENCH,
        &[(1024, &[1, 40, 128, 256, 900, LARGEST])],
        128,
        &[VEC, RC, DEQUE, PAIR, BYTES_IN_VEC],
        cases,
    )
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Of buffers of mixed sizes.
const LARGEST: usize = 1500;

const COLUMNS: &[Column] = &[Column::Value(Metric::Ticks)];

/// Whether figures are not wanted, only answers.
fn is_quick(setting: &Setting) -> bool {
    setting.live <= PLAN.quick_live
}

/// Times the operation in batches, after some that do not count. It is handed the numbers
/// below `live`, again and again.
#[inline(always)]
fn batches(setting: &Setting, mut operation: impl FnMut(usize)) -> Turn {
    let batches = if is_quick(setting) { 20 } else { 2_000 };
    let warm_up = batches / 10;
    let mut figures = Vec::with_capacity(batches);
    for batch in 0..warm_up + batches {
        let first = batch * BATCH % setting.live;
        let begun = clock::start();
        for at in first..first + BATCH {
            operation(at);
        }
        let ticks = (clock::stop() - begun).saturating_sub(setting.overhead);
        if batch >= warm_up {
            figures.push(ticks as f64 / BATCH as f64);
        }
    }
    figures.into()
}

/// Times rounds of so many operations, which are not alike.
#[inline(always)]
fn rounds(setting: &Setting, operations: usize, mut round: impl FnMut() -> u64) -> Turn {
    let rounds = if is_quick(setting) { 4 } else { 100 };
    for _ in 0..rounds / 4 {
        round();
    }
    let ticks = (0..rounds).map(|_| round().saturating_sub(setting.overhead));
    let figures = ticks.map(|ticks| ticks as f64 / operations as f64);
    figures.collect::<Vec<f64>>().into()
}

/// A clone of a shared buffer and its drop. The barriers keep the two apart; the clone stays in
/// registers, unless it is moved through memory.
#[inline(never)]
fn clone_drop<S: Share, const MOVED: bool>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let arena = ByteArena::new();
    let shared = S::copied(&arena, &[7; 40]);
    let other = shared.clone();
    let turn = batches(&setting, |_| {
        barrier(&shared);
        match MOVED {
            true => drop(black_box(shared.clone())),
            false => {
                let clone = shared.clone();
                barrier(&shared);
                drop(clone);
            }
        }
    });
    // All clones were dropped, and no more than these.
    assert!(shared.references().is_none_or(|it| it == 2), "{}", S::NAME);
    drop(other);
    assert!(shared.references().is_none_or(|it| it == 1), "{}", S::NAME);
    assert_eq!(*shared, [7; 40], "{}", S::NAME);
    turn
}

/// Buffers of these sizes have the bytes that are written to them, and no others.
fn check_buffers<S: Allocate>(subject: &S, sizes: impl Iterator<Item = usize>) {
    let mut buffers: Vec<(S::Buffer, usize)> =
        sizes.map(|size| (subject.alloc(size), size)).collect();
    for (at, (buffer, size)) in buffers.iter_mut().enumerate() {
        assert!(S::holds(buffer, *size, at as u8), "{}", S::NAME);
    }
    for (at, (buffer, size)) in buffers.iter().enumerate() {
        let (start, byte) = (S::start(buffer), at as u8);
        // SAFETY: so many bytes were written just now.
        let bytes = unsafe { std::slice::from_raw_parts(start, *size) };
        assert!(bytes.iter().all(|&it| it == byte), "{}", S::NAME);
    }
}

/// A buffer, dropped at once; the compiler does not know the size.
#[inline(never)]
fn alloc_drop<S: Allocate, const SIZE: usize>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let subject = S::new();
    let size = black_box(SIZE);
    check_buffers(&subject, (0..setting.live).map(|_| size));
    batches(&setting, |_| {
        barrier(&subject);
        let buffer = subject.alloc(size);
        touch(S::start(&buffer));
        drop(buffer);
    })
}

/// Sizes in random order: the same for every subject of a round.
fn sizes(setting: &mut Setting) -> Vec<usize> {
    let sizes = (0..setting.live).map(|_| setting.random.random_range(1..=LARGEST));
    sizes.collect()
}

#[inline(never)]
fn alloc_drop_mixed<S: Allocate>(mut setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let subject = S::new();
    let sizes = sizes(&mut setting);
    check_buffers(&subject, sizes.iter().copied());
    batches(&setting, |at| {
        barrier(&subject);
        let buffer = subject.alloc(sizes[at]);
        touch(S::start(&buffer));
        drop(buffer);
    })
}

#[inline(never)]
fn alloc_all<S: Allocate, const SIZE: usize>(setting: Setting) -> Turn {
    let sizes = vec![SIZE; setting.live];
    alloc_all_of::<S>(setting, &sizes)
}

#[inline(never)]
fn alloc_all_mixed<S: Allocate>(mut setting: Setting) -> Turn {
    let sizes = sizes(&mut setting);
    alloc_all_of::<S>(setting, &sizes)
}

/// All are allocated, then dropped in random order: another one each round.
#[inline(always)]
fn alloc_all_of<S: Allocate>(setting: Setting, sizes: &[usize]) -> Turn {
    let _spacer = setting.spacer();
    let subject = S::new();
    check_buffers(&subject, sizes.iter().copied());
    let mut random = setting.random.clone();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    let mut buffers: Vec<MaybeUninit<S::Buffer>> = Vec::new();
    buffers.resize_with(sizes.len(), MaybeUninit::uninit);
    rounds(&setting, sizes.len(), || {
        order.shuffle(&mut random);
        let begun = clock::start();
        for (place, &size) in buffers.iter_mut().zip(sizes) {
            barrier(&subject);
            let buffer = subject.alloc(size);
            touch(S::start(&buffer));
            place.write(buffer);
        }
        for &at in &order {
            barrier(&subject);
            // SAFETY: just written, and each is dropped once.
            unsafe { buffers[at].assume_init_drop() };
        }
        clock::stop() - begun
    })
}

/// A buffer of 40 bytes from a slice, shared, and dropped; the compiler does not know the
/// length.
#[inline(never)]
fn fill<S: Share>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let arena = ByteArena::new();
    let source: &[u8] = black_box(&[7; 40]);
    assert_eq!(*S::copied(&arena, source), *source, "{}", S::NAME);
    batches(&setting, |_| {
        barrier(&arena);
        let buffer = S::copied(&arena, source);
        touch(buffer.as_ptr());
        drop(buffer);
    })
}

/// So many contents, which differ, and a random order of them.
fn contents(random: &mut ChaCha8Rng, count: usize) -> (Vec<[u8; 40]>, Vec<usize>) {
    let contents = (0..count).map(|number| {
        let mut bytes = [number as u8; 40];
        bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
        bytes
    });
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(random);
    (contents.collect(), order)
}

/// The right buffer is behind each look-up.
fn check_lookup<S: Lookup>(subject: &S, contents: &[[u8; 40]], order: &[usize]) {
    for (at, &number) in order.iter().enumerate() {
        // One subject has one buffer.
        let number = if S::NAME == PAIR { order[0] } else { number };
        subject.resolve(at, |bytes| {
            assert_eq!(*bytes, contents[number], "{}", S::NAME)
        });
    }
}

/// Looks buffers up, or has one more reference to each held.
#[inline(never)]
fn look_up<S: Lookup, const HOLDS: bool>(mut setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let (contents, order) = contents(&mut setting.random, setting.live);
    let mut subject = S::new(&contents, &order);
    let turn = batches(&setting, |at| {
        barrier(&subject);
        match HOLDS {
            true => subject.hold(at),
            false => subject.resolve(at, |bytes| touch(bytes.as_ptr())),
        }
    });
    check_lookup(&subject, &contents, &order);
    turn
}

/// Walks a chain, each walk timed: with a reference to each link, or borrowing each.
#[inline(never)]
fn walk<S: Chain, const BORROWS: bool>(mut setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let (contents, order) = contents(&mut setting.random, LINKS);
    let chain = S::new(&contents, &order);
    let right: u64 = contents.iter().map(|bytes| buffers::read(bytes)).sum();
    rounds(&setting, 1, || {
        barrier(&chain);
        let begun = clock::start();
        let sum = match BORROWS {
            true => chain.by_slice(),
            false => chain.by_reference(),
        };
        let ticks = clock::stop() - begun;
        assert_eq!(sum, right, "{}", S::NAME);
        ticks
    })
}

/// Frames to be written, one after the other. They are not changed: a copy that
/// begins by loading what was stored in pieces would wait.
fn frames<const BYTES: usize>() -> Vec<Frame<BYTES>> {
    let frame = |number: u64| {
        let mut frame = Frame {
            len: BYTES,
            bytes: [number as u8; BYTES],
        };
        frame.bytes[..8].copy_from_slice(&(number << 10).to_le_bytes());
        frame
    };
    black_box((0..BATCH as u64).map(frame).collect())
}

/// Frames by their numbers, over and over.
fn read_of<const BYTES: usize>(
    frames: &[Frame<BYTES>],
    numbers: impl Iterator<Item = usize>,
) -> u64 {
    numbers.map(|number| frames[number % BATCH].read()).sum()
}

/// 1,000 writes to a ring of 10, and its end is read: evicted, survivors, and their sum.
#[inline(always)]
fn ten<const BYTES: usize, S: Fifo<BYTES>>(
    ring: &mut S,
    frames: &[Frame<BYTES>],
) -> (usize, usize, u64) {
    let mut evicted = 0;
    for number in 0..WRITES {
        barrier(ring);
        evicted += usize::from(ring.push(&frames[number % BATCH]));
    }
    let (mut survivors, mut sum) = (0, 0);
    while let Some(read) = ring.pop() {
        barrier(ring);
        survivors += 1;
        sum += read;
    }
    (evicted, survivors, sum)
}

const WRITES: usize = 1_000;
const ENTRIES: usize = 10;

/// What is right of [`ten`].
fn right_of_ten<const BYTES: usize>(frames: &[Frame<BYTES>]) -> (usize, usize, u64) {
    let survivors = read_of(frames, WRITES - ENTRIES..WRITES);
    (WRITES - ENTRIES, ENTRIES, survivors)
}

#[inline(never)]
fn ring_of_ten<S: Fifo<BYTES>, const BYTES: usize>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let frames = frames();
    let mut ring = S::new(ENTRIES);
    rounds(&setting, WRITES, || {
        let begun = clock::start();
        let given = ten(&mut ring, &frames);
        let ticks = clock::stop() - begun;
        assert_eq!(given, right_of_ten(&frames), "{}", S::NAME);
        ticks
    })
}

/// What a ring of 10 does, and what it takes of the allocator.
fn note_of_ten<S: Fifo<40>>() -> String {
    let frames = frames();
    let whole = Stretch::begin();
    let mut ring = S::new(ENTRIES);
    let made = whole.calls();
    let given = ten(&mut ring, &frames);
    assert_eq!(given, right_of_ten(&frames), "{}", S::NAME);
    let (later, bytes) = (whole.calls() - made, whole.most_bytes());
    drop(whole);
    let (evicted, survivors, _) = given;
    format!(
        "ring of 10, 1,000 writes of 40 bytes, then reads, `{}`: {evicted} evicted, {survivors} \
         survivors; {bytes} bytes at most, {made} calls of the allocator when made, {later} afterwards",
        S::NAME
    )
}

/// One write and one read for each step, at half of the entries.
#[inline(never)]
fn half_full<S: Fifo<BYTES>, const BYTES: usize, const ENTRIES: usize>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let frames = frames();
    let mut ring = S::new(ENTRIES);
    let (mut number, mut sum) = (0, 0);
    while number < ENTRIES / 2 {
        assert!(!ring.push(&frames[number % BATCH]));
        number += 1;
    }
    let turn = batches(&setting, |_| {
        barrier(&ring);
        ring.push(&frames[number % BATCH]);
        number += 1;
        barrier(&ring);
        sum += ring.pop().expect("a frame");
    });
    while let Some(read) = ring.pop() {
        sum += read;
    }
    assert_eq!(sum, read_of(&frames, 0..number), "{}", S::NAME);
    turn
}

/// One write over the oldest and one look at the next for each step.
#[inline(never)]
fn full<S: Fifo<BYTES>, const BYTES: usize, const ENTRIES: usize>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let frames = frames();
    let mut ring = S::new(ENTRIES);
    let (mut number, mut sum, mut evicted) = (0, 0, 0);
    while number < ENTRIES {
        assert!(!ring.push(&frames[number % BATCH]));
        number += 1;
    }
    let turn = batches(&setting, |_| {
        barrier(&ring);
        evicted += usize::from(ring.push(&frames[number % BATCH]));
        number += 1;
        barrier(&ring);
        sum += ring.look().expect("a frame");
    });
    let steps = number - ENTRIES;
    assert_eq!(evicted, steps, "{}", S::NAME);
    assert_eq!(sum, read_of(&frames, 1..=steps), "{}", S::NAME);
    turn
}

fn notes(_: &Arguments) -> Vec<String> {
    vec![
        note_of_ten::<Ring>(),
        note_of_ten::<Deque>(),
        note_of_ten::<ReusedDeque>(),
    ]
}

fn cases(arguments: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |row, entries: Vec<Entry>| {
        let turns = if arguments.quick { 1 } else { 15 };
        cases.push(Case::of(&[row], turns, COLUMNS, entries));
    };
    macro_rules! buffers {
        ($turn:ident[$($size:literal)?]) => {
            entries_of!(Allocate, $turn[$($size)?]: ByteArena, Vecs, BytesMuts)
        };
    }
    macro_rules! shared {
        ($turn:ident[$($moved:literal)?]) => {
            entries_of!(Share, $turn[$($moved)?]: Buf, Rc<[u8]>, Bytes)
        };
    }
    macro_rules! rings {
        ($turn:ident[$bytes:literal $(, $entries:literal)?]) => {
            entries_of!(Fifo<$bytes>, $turn[$bytes $(, $entries)?]: Ring, Deque, ReusedDeque)
        };
    }
    macro_rules! loops {
        ($bytes:literal) => {{
            add(HALF_FULL[0], rings!(half_full[$bytes, 64]));
            add(HALF_FULL[1], rings!(half_full[$bytes, 1024]));
            add(FULL[0], rings!(full[$bytes, 64]));
            add(FULL[1], rings!(full[$bytes, 1024]));
        }};
    }
    macro_rules! sized {
        ($size:literal) => {{
            add(ALLOC, buffers!(alloc_drop[$size]));
            add(ALLOC_ALL, buffers!(alloc_all[$size]));
        }};
    }
    match bytes {
        1 => sized!(1),
        128 => sized!(128),
        256 => sized!(256),
        LARGEST => {
            add(ALLOC_MIXED, buffers!(alloc_drop_mixed[]));
            add(ALLOC_ALL_MIXED, buffers!(alloc_all_mixed[]));
        }
        900 => loops!(900),
        _ => {
            add(CLONE, shared!(clone_drop[false]));
            add(CLONE_MOVED, shared!(clone_drop[true]));
            add(FILL, shared!(fill[]));
            add(
                RESOLVE,
                entries_of!(Lookup, look_up[false]: Positions, OneBuf, EachBuf, Keys, Indices),
            );
            add(
                HOLD,
                entries_of!(Lookup, look_up[true]: Positions, OneBuf, EachBuf, Keys),
            );
            add(
                WALK,
                entries_of!(Chain, walk[false]: Linked, Vec<Bytes>, Rc<Link>),
            );
            add(
                WALK_PARTS,
                entries_of!(Chain, walk[true]: Linked, Vec<Bytes>, Rc<Link>),
            );
            add(RING_OF_10, rings!(ring_of_ten[40]));
            loops!(40);
        }
    }
    cases
}
