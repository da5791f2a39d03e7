//! The operations: each takes a subject through one turn, times it in batches,
//! checks its answers, and returns the ticks of an operation, one figure a batch.

use std::mem::MaybeUninit;

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::payload::{Payload, barrier, opaque, whole};
use crate::run::{Measured, Turn};
use crate::subject::{Contains, Iterate, Prefetch, Subject};
use crate::{clock, machine};

/// Operations in one timed batch.
pub const BATCH: usize = 64;

/// What a turn is given.
pub struct Setting {
    /// Live values, a multiple of [`BATCH`].
    pub live: usize,
    /// Operations to be timed, at most `live`, a multiple of [`BATCH`].
    pub timed: usize,
    /// Ticks of an empty batch.
    pub overhead: u64,
    /// Where orders are drawn from: the same for every subject of a round.
    pub random: ChaCha8Rng,
    /// Changes from turn to turn: buffers are shifted by it within a page, so
    /// that no subject meets the same 4 KiB aliasing in all its turns.
    pub turn: usize,
}

impl Setting {
    /// Returns the ticks of one of so many operations, which `work` does.
    #[inline(always)]
    pub fn time(&self, operations: usize, work: impl FnOnce()) -> f64 {
        let begun = clock::start();
        work();
        let ticks = clock::stop() - begun;
        ticks.saturating_sub(self.overhead) as f64 / operations as f64
    }

    /// Times `operation` for `0..timed`, in batches.
    #[inline(always)]
    pub(crate) fn batches(&self, mut operation: impl FnMut(usize)) -> Vec<f64> {
        let mut batches = Vec::with_capacity(self.timed / BATCH);
        for first in (0..self.timed).step_by(BATCH) {
            let begun = clock::start();
            for at in first..first + BATCH {
                operation(at);
            }
            let ticks = clock::stop() - begun;
            batches.push(ticks.saturating_sub(self.overhead) as f64 / BATCH as f64);
        }
        batches
    }

    /// Times `walk`, which visits so many values, a few times over.
    #[inline(always)]
    fn walks(&self, values: usize, mut walk: impl FnMut()) -> Vec<f64> {
        let mut walks = Vec::with_capacity(WALKS);
        for _ in 0..WALKS {
            let begun = clock::start();
            walk();
            let ticks = clock::stop() - begun;
            walks.push(ticks.saturating_sub(self.overhead) as f64 / values as f64);
        }
        walks
    }

    /// Moves what is allocated after it to other addresses each turn.
    #[must_use]
    pub fn spacer(&self) -> Vec<u8> {
        std::hint::black_box(vec![0; self.turn * 208 % 4096 + 1])
    }

    /// A container that is filled with the numbers `0..live`.
    fn filled<V: Payload, S: Subject<V>>(&self) -> Filled<V, S> {
        self.filled_up_to(self.live)
    }

    fn filled_up_to<V: Payload, S: Subject<V>>(&self, live: usize) -> Filled<V, S> {
        let spacer = self.spacer();
        let mut filled = Filled {
            subject: S::with_capacity(self.live),
            handles: Handles::new(self),
            numbers: (0..self.live as u64).collect(),
            _spacer: spacer,
        };
        let (subject, handles) = filled.parts();
        for at in 0..live {
            handles.put(at, subject.insert(V::of(at as u64)));
        }
        filled
    }

    /// The same in random order.
    fn shuffled<V: Payload, S: Subject<V>>(&mut self) -> Filled<V, S> {
        let mut filled = self.filled();
        // The same steps for handles and numbers.
        filled.handles.all().shuffle(&mut self.random.clone());
        filled.numbers.shuffle(&mut self.random);
        filled
    }

    /// The sum of the numbers that [`filled`](Self::filled) puts in.
    fn sum(&self) -> u64 {
        let live = self.live as u64;
        live * (live - 1) / 2
    }
}

/// A container, the handles of its values, and the number of each.
struct Filled<V: Payload, S: Subject<V>> {
    subject: S,
    handles: Handles<S::Handle>,
    numbers: Vec<u64>,
    _spacer: Vec<u8>,
}

impl<V: Payload, S: Subject<V>> Filled<V, S> {
    /// The container, and where its handles are.
    #[inline(always)]
    fn parts(&mut self) -> (&mut S, Cursor<S::Handle>) {
        (&mut self.subject, self.handles.cursor())
    }

    /// The sum of the first numbers.
    fn sum_of(&self, first: usize) -> u64 {
        self.numbers[..first].iter().sum()
    }

    /// Removes what stands at these handles and returns its sum.
    fn remove(&mut self, range: impl Iterator<Item = usize>) -> u64 {
        let (subject, handles) = self.parts();
        range
            .map(|at| subject.remove(handles.take(at)).number())
            .sum()
    }

    /// Removes all, and makes sure that it was all.
    fn empty(&mut self, sum: u64) {
        let found = self.remove(0..self.numbers.len());
        expect::<V, S>("kept", found, sum);
    }
}

fn expect<V: Payload, S: Subject<V>>(what: &str, found: u64, right: u64) {
    let (name, bytes) = (S::NAME, V::BYTES);
    assert_eq!(found, right, "{name}, {bytes} bytes, {what} wrongly");
}

/// Handles in a row, at another offset within the page each turn. Bare memory:
/// neither an `Option` nor a bounds check stands between a subject and its
/// handle.
pub(crate) struct Handles<H> {
    memory: Vec<MaybeUninit<H>>,
    shift: usize,
    live: usize,
}

impl<H> Handles<H> {
    pub(crate) fn new(setting: &Setting) -> Self {
        let page = 4096 / size_of::<H>();
        let mut memory: Vec<MaybeUninit<H>> = Vec::new();
        memory.resize_with(setting.live + page, MaybeUninit::uninit);
        let mut handles: Self = Handles {
            memory,
            shift: setting.turn * 17 % page,
            live: setting.live,
        };
        // Faults of the buffer are not the subject's.
        for at in 0..setting.live {
            // SAFETY: a byte of memory that is ours, to be overwritten.
            unsafe { handles.cursor().0.add(at).cast::<u8>().write_volatile(0) };
        }
        handles
    }

    fn all(&mut self) -> &mut [MaybeUninit<H>] {
        &mut self.memory[self.shift..self.shift + self.live]
    }

    pub(crate) fn cursor(&mut self) -> Cursor<H> {
        let first = self.memory.as_mut_ptr().cast::<H>();
        Cursor(first.wrapping_add(self.shift))
    }
}

/// Where handles are put and found. A pointer of its own, which no barrier
/// reaches: to load it again for every operation would be counted with each.
pub(crate) struct Cursor<H>(*mut H);

impl<H> Cursor<H> {
    #[inline(always)]
    pub(crate) fn put(&self, index: usize, handle: H) {
        // SAFETY: the operations put below `live`, and the memory has a page
        // more than that.
        unsafe { self.0.add(index).write(handle) };
    }

    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "a pointer to memory it does not own")]
    fn get(&self, index: usize) -> &mut H {
        // SAFETY: the operations get what was put, one at a time.
        unsafe { &mut *self.0.add(index) }
    }

    #[inline(always)]
    pub(crate) fn take(&self, index: usize) -> H {
        // SAFETY: the operations take what was put, once.
        unsafe { self.0.add(index).read() }
    }
}

/// INSERT into a container that has not been used.
pub fn insert_fresh<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    let before = setting.live - setting.timed;
    insert::<V, S>(&setting, setting.filled_up_to(before), before)
}

/// INSERT into a container whose free cells came from removals in random order:
/// as they lie after an hour's work.
pub fn insert_steady<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let filled = scattered(&mut setting);
    insert::<V, S>(&setting, filled, setting.live - setting.timed)
}

/// A container with `live - timed` values, whose free cells were freed in
/// random order.
fn scattered<V: Payload, S: Subject<V>>(setting: &mut Setting) -> Filled<V, S> {
    let mut filled: Filled<V, S> = setting.shuffled();
    filled.remove(0..setting.live);
    let (subject, handles) = filled.parts();
    for at in 0..setting.live - setting.timed {
        handles.put(at, subject.insert(V::of(at as u64)));
    }
    filled
}

#[inline(always)]
fn insert<V: Payload, S: Subject<V>>(
    setting: &Setting,
    mut filled: Filled<V, S>,
    before: usize,
) -> Vec<f64> {
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        let at = before + at;
        handles.put(at, subject.insert(V::of(at as u64)));
    });
    filled.empty(setting.sum());
    turn
}

/// GET of every value in random order.
pub fn get_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        sum = sum.wrapping_add(subject.get(handles.get(at)));
    });
    expect::<V, S>("read", sum, filled.sum_of(setting.timed));
    filled.empty(setting.sum());
    turn
}

/// The rows that [`get_ahead`] gives, in its order.
pub const GET_AHEAD: [&str; 6] = [
    "GET overlapped",
    "GET overlapped, 1 ahead",
    "GET overlapped, 4 ahead",
    "GET alone",
    "GET alone, 1 ahead",
    "GET alone, 4 ahead",
];

/// GET of values in random order, each of them once, in a process of its own:
/// without a look ahead, and with [`Prefetch`] of the value that is next, or
/// fourth. *Overlapped*, the processor is free to begin the next before the last
/// has arrived; *alone*, each is waited for, as where a program has work to do
/// between one and the next.
pub fn get_ahead<V: Payload, S: Prefetch<V>>(mut setting: Setting) -> Turn {
    let mut filled = setting.apart::<V, S>();
    let hint = |subject: &S, handle: &S::Handle| subject.prefetch(handle);
    Turn(vec![
        gets::<V, S, 0, false>(&setting, &mut filled, 0, hint).into(),
        gets::<V, S, 1, false>(&setting, &mut filled, 1, hint).into(),
        gets::<V, S, 4, false>(&setting, &mut filled, 2, hint).into(),
        gets::<V, S, 0, true>(&setting, &mut filled, 3, hint).into(),
        gets::<V, S, 1, true>(&setting, &mut filled, 4, hint).into(),
        gets::<V, S, 4, true>(&setting, &mut filled, 5, hint).into(),
    ])
}

/// The same of a container that has no prefetch: nothing is in those rows.
pub fn get_without_a_look_ahead<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    let mut filled = setting.apart::<V, S>();
    let none = |_: &S, _: &S::Handle| {};
    Turn(vec![
        gets::<V, S, 0, false>(&setting, &mut filled, 0, none).into(),
        Measured::default(),
        Measured::default(),
        gets::<V, S, 0, true>(&setting, &mut filled, 3, none).into(),
    ])
}

impl Setting {
    /// A shuffled container, of which each row of [`GET_AHEAD`] has a part of its
    /// own: what one has loaded the next does not use. The process ends with the
    /// turn, so it is not taken down.
    fn apart<V: Payload, S: Subject<V>>(&mut self) -> std::mem::ManuallyDrop<Filled<V, S>> {
        machine::pin();
        self.overhead = clock::overhead();
        let part = (self.live - 4) / GET_AHEAD.len() / BATCH * BATCH;
        self.timed = self.timed.min(part);
        std::mem::ManuallyDrop::new(self.shuffled())
    }
}

#[inline(never)]
fn gets<V: Payload, S: Subject<V>, const AHEAD: usize, const ALONE: bool>(
    setting: &Setting,
    filled: &mut Filled<V, S>,
    part: usize,
    hint: impl Fn(&S, &S::Handle),
) -> Vec<f64> {
    let mut sum = 0u64;
    let first = part * setting.timed;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        let at = first + at;
        barrier(subject);
        if AHEAD > 0 {
            hint(subject, handles.get(at + AHEAD));
        }
        sum = sum.wrapping_add(subject.get(handles.get(at)));
        if ALONE {
            clock::fence();
        }
    });
    let right = filled.numbers[first..first + setting.timed].iter().sum();
    expect::<V, S>("read", sum, right);
    turn
}

/// GET of one value over and over.
pub fn get_hot<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|_| {
        barrier(subject);
        sum = sum.wrapping_add(subject.get(handles.get(0)));
    });
    let right = filled.numbers[0] * setting.timed as u64;
    expect::<V, S>("read", sum, right);
    filled.empty(setting.sum());
    turn
}

/// GET_MUT of every value in random order, to add to its number.
pub fn get_mut_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        subject.add(handles.get(at), 3);
    });
    filled.empty(setting.sum() + 3 * setting.timed as u64);
    turn
}

/// CONTAINS of every value in random order.
pub fn contains<V: Payload, S: Contains<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let mut found = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        found += u64::from(subject.contains(handles.get(at)));
    });
    expect::<V, S>("found", found, setting.timed as u64);
    filled.empty(setting.sum());
    turn
}

/// REPLACE of every value in random order.
pub fn replace_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        let old = subject.replace(handles.get(at), V::of(at as u64));
        sum = sum.wrapping_add(old.number());
    });
    let right = filled.sum_of(setting.timed);
    expect::<V, S>("replaced", sum, right);
    let timed = setting.timed as u64;
    filled.empty(setting.sum() - right + timed * (timed - 1) / 2);
    turn
}

/// REMOVE of every value in random order, the whole value kept.
pub fn remove_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    remove::<V, S>(setting.shuffled(), &setting)
}

/// REMOVE of every value, the last inserted first.
pub fn remove_lifo<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.filled();
    filled.handles.all().reverse();
    filled.numbers.reverse();
    remove(filled, &setting)
}

#[inline(always)]
fn remove<V: Payload, S: Subject<V>>(mut filled: Filled<V, S>, setting: &Setting) -> Vec<f64> {
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        let value = subject.remove(handles.take(at));
        whole(&value);
        sum = sum.wrapping_add(value.number());
    });
    expect::<V, S>("removed", sum, filled.sum_of(setting.timed));
    let rest = filled.remove(setting.timed..setting.live);
    expect::<V, S>("kept", sum + rest, setting.sum());
    turn
}

/// FREE: every value dropped in random order, unused.
pub fn free_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        subject.free(handles.take(at));
    });
    // What was freed has room again, and what was not is still there.
    for at in 0..setting.timed {
        let value = V::of(filled.numbers[at]);
        let (subject, handles) = filled.parts();
        handles.put(at, subject.insert(value));
    }
    filled.empty(setting.sum());
    turn
}

/// TAKE and refill, in random order: a value moved out, another put in.
pub fn take_refill<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        barrier(subject);
        let handle = handles.take(at);
        let (old, handle) = subject.refill(handle, V::of(at as u64));
        handles.put(at, handle);
        sum = sum.wrapping_add(old.number());
    });
    let right = filled.sum_of(setting.timed);
    expect::<V, S>("took", sum, right);
    let timed = setting.timed as u64;
    filled.empty(setting.sum() - right + timed * (timed - 1) / 2);
    turn
}

/// CHURN LIFO: insert a value, remove the same, over and over, in a container
/// half full.
pub fn churn_lifo<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    let number = |value: V| value.number();
    lifo::<V, S>(&setting, |at| V::of(at), number)
}

/// The same with values that are built word by word, and moved out whole.
pub fn churn_lifo_built<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    lifo::<V, S>(&setting, |at| V::of_words(at), kept)
}

/// The same with values that lie in memory, and are moved out whole.
pub fn churn_lifo_copied<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    let values: Vec<V> = (0..setting.timed as u64).map(V::of).collect();
    // A pointer that no barrier reaches, as of the handles.
    let first = values.as_ptr();
    // SAFETY: one of the values for each operation.
    lifo::<V, S>(&setting, |at| unsafe { *first.add(at as usize) }, kept)
}

/// The number of a value that is kept whole.
#[inline(always)]
fn kept<V: Payload>(value: V) -> u64 {
    whole(&value);
    value.number()
}

#[inline(always)]
fn lifo<V: Payload, S: Subject<V>>(
    setting: &Setting,
    value: impl Fn(u64) -> V,
    number: impl Fn(V) -> u64,
) -> Vec<f64> {
    let half = setting.live / 2;
    let mut filled: Filled<V, S> = setting.filled_up_to(half);
    let mut sum = 0u64;
    let Filled { subject, .. } = &mut filled;
    let turn = setting.batches(|at| {
        barrier(subject);
        let handle = opaque(subject.insert(value(at as u64)));
        barrier(subject);
        sum = sum.wrapping_add(number(subject.remove(handle)));
    });
    let timed = setting.timed as u64;
    expect::<V, S>("churned", sum, timed * (timed - 1) / 2);
    let rest = filled.remove(0..half);
    expect::<V, S>("kept", rest, filled.sum_of(half));
    turn
}

/// CHURN FIFO: remove the oldest value, insert another.
pub fn churn_fifo<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    churn::<V, S>(&setting, setting.filled(), |at| at)
}

/// CHURN random: remove one value at random, insert another.
pub fn churn_random<V: Payload, S: Subject<V>>(mut setting: Setting) -> Vec<f64> {
    let filled: Filled<V, S> = setting.shuffled();
    let live = setting.live as u32;
    let places: Vec<u32> = (0..setting.timed)
        .map(|_| setting.random.random_range(0..live))
        .collect();
    churn::<V, S>(&setting, filled, |at| places[at] as usize)
}

#[inline(always)]
fn churn<V: Payload, S: Subject<V>>(
    setting: &Setting,
    mut filled: Filled<V, S>,
    place: impl Fn(usize) -> usize,
) -> Vec<f64> {
    let mut sum = 0u64;
    let (subject, handles) = filled.parts();
    let turn = setting.batches(|at| {
        let place = place(at);
        barrier(subject);
        sum = sum.wrapping_add(subject.remove(handles.take(place)).number());
        barrier(subject);
        handles.put(place, subject.insert(V::of(at as u64)));
    });
    // What came out and what is left is what was ever put in.
    let timed = setting.timed as u64;
    filled.empty(setting.sum() + timed * (timed - 1) / 2 - sum);
    turn
}

/// Walks over a container in one turn.
const WALKS: usize = 8;

/// One value in so many is left for the sparse walks.
const SPARSE: usize = 100;

/// ITERATE dense: every slot has a value. The figures are per value.
pub fn iterate_dense<V: Payload, S: Iterate<V>>(mut setting: Setting) -> Vec<f64> {
    iterate::<V, S>(setting.shuffled(), &setting, 1)
}

/// ITERATE 1 %: one slot in a hundred has a value.
pub fn iterate_sparse<V: Payload, S: Iterate<V>>(mut setting: Setting) -> Vec<f64> {
    iterate::<V, S>(setting.shuffled(), &setting, SPARSE)
}

/// Walks when all but one value in `of` were removed.
#[inline(always)]
fn iterate<V: Payload, S: Iterate<V>>(
    mut filled: Filled<V, S>,
    setting: &Setting,
    of: usize,
) -> Vec<f64> {
    let removed = filled.remove((0..setting.live).filter(|at| at % of != 0));
    let subject = &filled.subject;
    let mut sum = 0u64;
    let turn = setting.walks(setting.live.div_ceil(of), || {
        barrier(subject);
        // A sum of its own, which stays in a register, as in a loop of a program: outside
        // of this closure it was in memory, and each value waited for it.
        let mut walked = 0u64;
        subject.each(|number| walked = walked.wrapping_add(number));
        sum = sum.wrapping_add(walked);
    });
    let kept = setting.sum() - removed;
    expect::<V, S>("visited", sum, WALKS as u64 * kept);
    let (subject, handles) = filled.parts();
    let left = (0..setting.live).filter(|at| at % of == 0);
    let found = left.map(|at| subject.remove(handles.take(at)).number());
    let found = found.sum();
    expect::<V, S>("kept", found, kept);
    turn
}

/// ITERATE mut: adds to every value, every slot having one.
pub fn iterate_mut<V: Payload, S: Iterate<V>>(mut setting: Setting) -> Vec<f64> {
    let mut filled: Filled<V, S> = setting.shuffled();
    let subject = &mut filled.subject;
    let turn = setting.walks(setting.live, || {
        barrier(subject);
        subject.each_mut(|number| *number += 3);
    });
    let added = 3 * (WALKS * setting.live) as u64;
    filled.empty(setting.sum() + added);
    turn
}
