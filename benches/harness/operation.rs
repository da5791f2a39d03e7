//! The operations: each takes a subject through one turn, times it in batches,
//! and checks its answers.

use std::hint::black_box;
use std::mem::MaybeUninit;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::clock;
use crate::subject::{Payload, Subject, barrier};

/// Operations in one timed batch.
pub const BATCH: usize = 64;

/// What one turn of one subject gave: ticks per operation, one figure a batch.
pub struct Turn {
    batches: Vec<f64>,
}

impl Turn {
    /// Ticks per operation over the whole turn.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.batches.iter().sum::<f64>() / self.batches.len() as f64
    }

    /// Ticks per operation of each batch.
    #[must_use]
    pub fn batches(&self) -> &[f64] {
        &self.batches
    }
}

/// What a turn is given.
pub struct Setting {
    /// Live values, a multiple of [`BATCH`].
    pub live: usize,
    /// Ticks of an empty batch.
    pub overhead: u64,
    /// Where orders are drawn from: the same for every subject of a round.
    pub random: ChaCha8Rng,
    /// Changes from turn to turn: buffers are shifted by it within a page, so
    /// that no subject meets the same 4 KiB aliasing in all its turns.
    pub turn: usize,
}

impl Setting {
    /// Times `operation` for `0..live`, in batches.
    #[inline(always)]
    fn batches(&self, mut operation: impl FnMut(usize)) -> Turn {
        let mut batches = Vec::with_capacity(self.live / BATCH);
        for first in (0..self.live).step_by(BATCH) {
            let begun = clock::start();
            for at in first..first + BATCH {
                operation(at);
            }
            let ticks = clock::stop() - begun;
            batches.push(ticks.saturating_sub(self.overhead) as f64 / BATCH as f64);
        }
        Turn { batches }
    }

    /// The sum of the numbers that [`fill`](Self::fill) puts in.
    fn sum(&self) -> u64 {
        let live = self.live as u64;
        live * (live - 1) / 2
    }

    /// Fills a container with the numbers `0..live`.
    fn fill<V: Payload, S: Subject<V>>(&self, subject: &mut S) -> Handles<S::Handle> {
        let mut handles = Handles::new(self);
        for at in 0..self.live {
            handles.put(at, subject.insert(V::of(at as u64)));
        }
        handles
    }
}

/// Handles in a row, at another offset within the page each turn. Bare memory:
/// neither an `Option` nor a bounds check stands between a subject and its
/// handle.
struct Handles<H> {
    memory: Vec<MaybeUninit<H>>,
    shift: usize,
    live: usize,
}

impl<H> Handles<H> {
    fn new(setting: &Setting) -> Self {
        let page = 4096 / size_of::<H>();
        let mut memory = Vec::new();
        memory.resize_with(setting.live + page, MaybeUninit::uninit);
        Handles {
            memory,
            shift: setting.turn * 17 % page,
            live: setting.live,
        }
    }

    #[inline(always)]
    fn at(&self, index: usize) -> *mut H {
        let first = self.memory.as_ptr().cast_mut().cast::<H>();
        first.wrapping_add(self.shift + index)
    }

    #[inline(always)]
    fn put(&mut self, index: usize, handle: H) {
        // SAFETY: `index < live`, and the memory has a page more than that.
        unsafe { self.at(index).write(handle) };
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &H {
        // SAFETY: within, as above, and filled by every operation beforehand.
        unsafe { &*self.at(index) }
    }

    #[inline(always)]
    fn take(&mut self, index: usize) -> H {
        // SAFETY: as in `get`; every operation takes a handle once.
        unsafe { self.at(index).read() }
    }

    fn shuffle(&mut self, random: &mut ChaCha8Rng) {
        let (shift, live) = (self.shift, self.live);
        self.memory[shift..shift + live].shuffle(random);
    }
}

/// Removes everything in random order, unmeasured: free cells as they lie after
/// an hour's work.
fn scatter<V: Payload, S: Subject<V>>(subject: &mut S, setting: &mut Setting) {
    let mut handles = setting.fill(subject);
    handles.shuffle(&mut setting.random);
    for at in 0..setting.live {
        black_box(subject.remove(handles.take(at)));
    }
}

fn empty<V: Payload, S: Subject<V>>(subject: &mut S, mut handles: Handles<S::Handle>, sum: u64) {
    let found: u64 = (0..handles.live)
        .map(|at| subject.remove(handles.take(at)).number())
        .sum();
    assert_eq!(found, sum, "{} lost or changed a value", S::NAME);
}

/// INSERT into a container that has not been used.
pub fn insert_fresh<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    insert::<V, S>(&mut setting, false)
}

/// INSERT into a container whose free cells came from removals in random order.
pub fn insert_steady<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    insert::<V, S>(&mut setting, true)
}

fn insert<V: Payload, S: Subject<V>>(setting: &mut Setting, steady: bool) -> Turn {
    let mut subject = S::with_capacity(setting.live);
    if steady {
        scatter(&mut subject, setting);
    }
    let mut handles: Handles<S::Handle> = Handles::new(setting);
    // Faults of the buffer are not the subject's.
    for at in 0..setting.live {
        // SAFETY: bytes of memory that is ours, to be overwritten.
        unsafe { handles.at(at).cast::<u8>().write_volatile(0) };
    }
    let turn = setting.batches(|at| {
        barrier(&subject);
        handles.put(at, subject.insert(V::of(at as u64)));
    });
    empty(&mut subject, handles, setting.sum());
    turn
}

/// GET of every value in random order.
pub fn get_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    let mut subject = S::with_capacity(setting.live);
    let mut handles = setting.fill(&mut subject);
    handles.shuffle(&mut setting.random);
    let mut sum = 0u64;
    let turn = setting.batches(|at| {
        barrier(&subject);
        sum = sum.wrapping_add(subject.get(handles.get(at)));
    });
    assert_eq!(sum, setting.sum(), "{} read wrongly", S::NAME);
    empty(&mut subject, handles, setting.sum());
    turn
}

/// REMOVE of every value in random order, the value used.
pub fn remove_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    let mut subject = S::with_capacity(setting.live);
    let mut handles = setting.fill(&mut subject);
    handles.shuffle(&mut setting.random);
    let mut sum = 0u64;
    let turn = setting.batches(|at| {
        barrier(&subject);
        sum = sum.wrapping_add(subject.remove(handles.take(at)).number());
    });
    assert_eq!(sum, setting.sum(), "{} removed wrongly", S::NAME);
    turn
}

/// CHURN LIFO: insert a value, remove the same, over and over, in a container
/// half full.
pub fn churn_lifo<V: Payload, S: Subject<V>>(setting: Setting) -> Turn {
    let mut subject = S::with_capacity(setting.live);
    let half = setting.live / 2;
    let kept: Vec<_> = (0..half)
        .map(|at| subject.insert(V::of(at as u64)))
        .collect();
    let mut sum = 0u64;
    let turn = setting.batches(|at| {
        barrier(&subject);
        let handle = black_box(subject.insert(V::of(at as u64)));
        barrier(&subject);
        sum = sum.wrapping_add(subject.remove(handle).number());
    });
    assert_eq!(sum, setting.sum(), "{} churned wrongly", S::NAME);
    for handle in kept {
        subject.remove(handle);
    }
    turn
}
