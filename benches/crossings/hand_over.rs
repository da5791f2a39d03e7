//! One thread makes values and sends them, another takes, reads and ends them, each pinned to
//! a core of its own; the memory comes back to the first.
//!
//! The channel is `crossbeam`'s `ArrayQueue`, the same for all: bounded, without a lock, and
//! neither side ever waits in the system or wakes the other, so that what a value itself costs
//! is not lost in it. It takes two compare-exchanges a value; what is left of that in a figure
//! is taken off by the row of a bare word.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::ArrayQueue;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::Payload;
use flatslab_benches::run::Turn;
use flatslab_benches::{clock, machine};

use super::{Store, wait_until};

/// How the two threads go on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// Both at once: what the slower side takes, and what they take from each other.
    Streaming,
    /// All values of a batch are sent before the first is taken: what both sides take.
    InTurns,
}

impl Pace {
    pub(crate) const fn of(in_turns: bool) -> Self {
        match in_turns {
            true => Pace::InTurns,
            false => Pace::Streaming,
        }
    }

    /// How many batches are timed, of `batch` values or of eight times as many.
    pub(crate) const fn batches(self, setting: &Setting, batch: usize) -> (usize, usize) {
        let is_quick = setting.live < 1024;
        match self {
            Pace::Streaming => (if is_quick { 8 } else { 32 }, 8 * batch),
            Pace::InTurns => (if is_quick { 8 } else { 128 }, batch),
        }
    }
}

/// A line of its own for what the two tell each other.
#[repr(align(128))]
struct Line(AtomicUsize);

/// One figure a batch: the time from its first value to the end of its last one, by value. And
/// the sum of what `take` gave. `send` is handed each number in turn, and `take` how many it may take;
/// it returns how many it took.
#[inline(always)]
pub(crate) fn between<P: FnMut(usize), C: FnMut(usize) -> (usize, u64)>(
    (batches, batch, pace): (usize, usize, Pace),
    sender: impl FnOnce() -> P + Send,
    taker: impl FnOnce() -> C + Send,
) -> (Vec<f64>, u64) {
    let warm_up = batches / 8;
    let (sent, ended) = (Line(AtomicUsize::new(0)), Line(AtomicUsize::new(0)));
    let both_here = Barrier::new(2);

    let sending = || {
        machine::pin_to(0);
        let mut send = sender();
        let overhead = clock::overhead();
        let mut ticks = Vec::with_capacity(batches);
        both_here.wait();
        for at in 0..warm_up + batches {
            let numbers = at * batch..(at + 1) * batch;
            let begun = clock::start();
            for number in numbers.clone() {
                send(number);
            }
            sent.0.store(numbers.end, Ordering::Release);
            wait_until(|| ended.0.load(Ordering::Acquire) == numbers.end);
            let passed = (clock::stop() - begun).saturating_sub(overhead);
            if at >= warm_up {
                ticks.push(passed as f64 / batch as f64);
            }
        }
        ticks
    };
    let taking = || {
        machine::pin_to(1);
        let mut take = taker();
        both_here.wait();
        let mut sum = 0;
        for at in 1..=warm_up + batches {
            if pace == Pace::InTurns {
                wait_until(|| sent.0.load(Ordering::Acquire) == at * batch);
            }
            let mut left = batch;
            while left != 0 {
                let (taken, of_them) = take(left);
                left -= taken;
                sum += of_them;
            }
            ended.0.store(at * batch, Ordering::Release);
        }
        sum
    };
    std::thread::scope(|scope| {
        let sending = scope.spawn(sending);
        let taking = scope.spawn(taking);
        (
            sending.join().expect("it sends all"),
            taking.join().expect("it takes all"),
        )
    })
}

/// Values through the channel, from where they are made to where they end.
pub(crate) fn hand_over<S: Store<V, Handle: Send>, V: Payload + Send, const IN_TURNS: bool>(
    setting: Setting,
) -> Turn {
    let pace = Pace::of(IN_TURNS);
    // Half of the slots may wait; what has ended and has not come back has the other half.
    let waiting = setting.live / 2;
    let (batches, batch) = pace.batches(&setting, waiting);
    let queue = ArrayQueue::<S::Handle>::new(waiting);
    let common = S::common(setting.live);
    let sender = || {
        let own = S::own(setting.live);
        let (common, queue) = (&common, &queue);
        move |number: usize| {
            let mut made = None;
            wait_until(|| {
                made = S::make(common, &own, V::of(number as u64));
                made.is_some()
            });
            wait_until(|| match queue.push(made.take().expect("it was made")) {
                Ok(()) => true,
                Err(back) => {
                    made = Some(back);
                    false
                }
            });
        }
    };
    let taker = || {
        |_| {
            let mut taken = None;
            wait_until(|| {
                taken = queue.pop();
                taken.is_some()
            });
            (1, S::end(&common, taken.expect("it was taken")))
        }
    };
    let (ticks, sum) = between((batches, batch, pace), sender, taker);
    let all = ((batches / 8 + batches) * batch) as u64;
    assert_eq!(sum, all * (all - 1) / 2, "{}", S::NAME);
    ticks.into()
}
