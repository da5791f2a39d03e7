//! Frames of a simulation that can be rolled back: the state is saved, some values change, and the
//! frame is kept or undone. With checkpoints of a slab, with copies of the whole slab, and with its
//! snapshots in bytes; and a replica that follows by differences in bytes.

use std::mem::take;

use flatslab::key_slab::{Checkpoint, CheckpointSlab};
use flatslab::{Key, KeySlab};
use flatslab_benches::prelude::*;
use rand::seq::SliceRandom;

const PLAN: Plan = plan::of("checkpoints", &[(1 << 14, &[64])], 1_024, &[COPIES], cases);

const COPIES: &str = "KeySlab, clone_from";

/// The part of the values that changes in a frame, in percent: by key, in random order, or all of
/// them in one walk.
const PARTS: [usize; 4] = [1, 10, 33, 100];

/// Each in ticks of a frame.
const ROWS: [&str; 2 * PARTS.len()] = [
    "FRAME 1 %",
    "FRAME 10 %",
    "FRAME 33 %",
    "FRAME 100 %",
    "ROLLBACK 1 %",
    "ROLLBACK 10 %",
    "ROLLBACK 33 %",
    "ROLLBACK 100 %",
];

/// How many frames can be rolled back.
const WINDOW: usize = 8;

/// Timed frames of a row, after as many as fill the window twice.
const FRAMES: usize = 64;

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, _: usize) -> Vec<Case> {
    macro_rules! entry {
        ($subject:expr, $state:ty) => {
            Entry {
                subject: $subject,
                check: check::<$state>,
                turn: turn::<$state>,
            }
        };
    }
    let entries = vec![
        entry!(COPIES, Kept<Copied<true>>),
        entry!("KeySlab, clone", Kept<Copied<false>>),
        entry!("CheckpointSlab", Checkpoints),
        entry!("KeySlab, postcard", Kept<Snapshot>),
        entry!("CheckpointSlab, followed", Followed),
        entry!("KeySlab, not saved", Kept<NotSaved>),
    ];
    let columns = const { &[Column::Value(Metric::Ticks), Column::Ratio(COPIES)] };
    vec![Case::of(&ROWS, 7, columns, entries)]
}

type Value = [u64; 8];

/// The state of a simulation, and how it is saved.
trait State: Default {
    /// Whether it can be rolled back.
    const IS_SAVED: bool;

    fn insert(&mut self, value: Value) -> Key;
    fn remove(&mut self, key: Key);
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Value));

    /// Changes all values, in the order of their slots.
    fn change_all(&mut self, change: impl FnMut(&mut Value));

    /// Saves the state at the beginning of a frame, and gives up the oldest one.
    fn save(&mut self);

    /// Returns to the state that was saved last.
    fn roll_back(&mut self);

    fn slab(&self) -> &KeySlab<Value>;
}

/// Methods of a state whose slab is a field.
macro_rules! forward {
    () => {
        #[inline(always)]
        fn insert(&mut self, value: Value) -> Key {
            self.slab.insert(value)
        }

        #[inline(always)]
        fn remove(&mut self, key: Key) {
            self.slab.remove(key);
        }

        #[inline(always)]
        fn change(&mut self, key: Key, change: impl FnOnce(&mut Value)) {
            change(&mut self.slab[key]);
        }

        #[inline(always)]
        fn change_all(&mut self, change: impl FnMut(&mut Value)) {
            self.slab.values_mut().for_each(change);
        }

        fn slab(&self) -> &KeySlab<Value> {
            &self.slab
        }
    };
}

/// A slab with checkpoints.
#[derive(Default)]
struct Checkpoints {
    slab: CheckpointSlab<Value>,
    last: Option<Checkpoint>,
}

impl State for Checkpoints {
    const IS_SAVED: bool = true;

    forward!();

    #[inline(always)]
    fn save(&mut self) {
        self.last = Some(self.slab.checkpoint());
        self.slab.keep_last(WINDOW);
    }

    #[inline(always)]
    fn roll_back(&mut self) {
        self.slab.rewind(self.last.expect("it was saved"));
    }
}

/// A slab whose changes in each frame are written, and read and applied by a replica.
#[derive(Default)]
struct Followed {
    slab: CheckpointSlab<Value>,
    replica: KeySlab<Value>,
    last: Option<Checkpoint>,
    bytes: Vec<u8>,
}

impl State for Followed {
    const IS_SAVED: bool = false;

    forward!();

    fn save(&mut self) {
        if let Some(last) = self.last {
            let changes = self.slab.changes_since(last).expect("it is kept");
            self.bytes.clear();
            self.bytes = postcard::to_extend(&changes, take(&mut self.bytes)).expect("it has room");
            let patch = postcard::from_bytes(&self.bytes).expect("it is a difference");
            self.replica.apply(patch).expect("it follows");
        } else {
            self.replica = self.slab.parts().clone();
        }
        self.last = Some(self.slab.checkpoint());
        self.slab.keep_last(1);
    }

    fn roll_back(&mut self) {
        unreachable!("it is not saved")
    }
}

/// A slab, and what is kept of it in each of the last frames.
#[derive(Default)]
struct Kept<K> {
    slab: KeySlab<Value>,
    saved: [K; WINDOW],
    frame: usize,
}

/// What a frame is kept in.
trait Keep: Default {
    const IS_SAVED: bool = true;

    fn save(&mut self, slab: &KeySlab<Value>);

    fn load(&self, slab: &mut KeySlab<Value>);
}

impl<K: Keep> State for Kept<K> {
    const IS_SAVED: bool = K::IS_SAVED;

    forward!();

    #[inline(always)]
    fn save(&mut self) {
        self.frame += 1;
        self.saved[self.frame % WINDOW].save(&self.slab);
    }

    #[inline(always)]
    fn roll_back(&mut self) {
        self.saved[self.frame % WINDOW].load(&mut self.slab);
    }
}

/// A copy: in memory that is used again if `REUSED`, otherwise in memory of its own.
#[derive(Default)]
struct Copied<const REUSED: bool>(KeySlab<Value>);

#[inline(always)]
fn copy<const REUSED: bool>(from: &KeySlab<Value>, to: &mut KeySlab<Value>) {
    match REUSED {
        true => to.clone_from(from),
        false => *to = from.clone(),
    }
}

impl<const REUSED: bool> Keep for Copied<REUSED> {
    #[inline(always)]
    fn save(&mut self, slab: &KeySlab<Value>) {
        copy::<REUSED>(slab, &mut self.0);
    }

    #[inline(always)]
    fn load(&self, slab: &mut KeySlab<Value>) {
        copy::<REUSED>(&self.0, slab);
    }
}

/// A snapshot in bytes, whose memory is used again.
#[derive(Default)]
struct Snapshot(Vec<u8>);

impl Keep for Snapshot {
    fn save(&mut self, slab: &KeySlab<Value>) {
        self.0.clear();
        self.0 = postcard::to_extend(slab, take(&mut self.0)).expect("a vector has room");
    }

    fn load(&self, slab: &mut KeySlab<Value>) {
        *slab = postcard::from_bytes(&self.0).expect("it is a snapshot");
    }
}

/// What the changes alone take.
#[derive(Default)]
struct NotSaved;

impl Keep for NotSaved {
    const IS_SAVED: bool = false;

    #[inline(always)]
    fn save(&mut self, _: &KeySlab<Value>) {}

    fn load(&self, _: &mut KeySlab<Value>) {
        unreachable!("it is not saved")
    }
}

/// Compares a state with a clone, over frames that insert, remove and change.
fn check<S: State>() -> Result<(), String> {
    let mut state = S::default();
    for number in 0..40 {
        state.insert(Value::of(number));
    }
    for frame in 0..100 {
        let before = numbers(&state);
        state.save();
        let mut is_changed = false;
        for step in 0..frame % 30 {
            let keys: Vec<_> = state.slab().keys().collect();
            let key = keys[(frame * 31 + step * 7) % keys.len()];
            let number = (frame * 100 + step) as u64;
            match step % 4 {
                0 => drop(state.insert(Value::of(number)).index()),
                1 if keys.len() > 20 => state.remove(key),
                _ => state.change(key, |value| *value.number_mut() = number),
            }
            is_changed |= step % 4 > 1;
        }
        if is_changed && numbers(&state) == before {
            return Err(format!("frame {frame} changed nothing"));
        }
        if S::IS_SAVED && frame % 3 > 0 {
            state.roll_back();
            if numbers(&state) != before {
                return Err(format!("frame {frame} was not rolled back"));
            }
        }
    }
    Ok(())
}

/// All keys and numbers, and the keys that come next.
fn numbers<S: State>(state: &S) -> (Vec<(Key, u64)>, [Key; 3]) {
    let mut slab = state.slab().clone();
    let all = slab.iter().map(|(key, value)| (key, value.number()));
    let all = all.collect();
    (all, [(); 3].map(|()| slab.insert(Value::of(0))))
}

/// Times frames.
fn turn<S: State>(mut setting: Setting) -> Turn {
    let mut state = S::default();
    let mut keys: Vec<_> = (0..setting.live)
        .map(|_| state.insert(Value::of(0)))
        .collect();
    keys.shuffle(&mut setting.random);
    let (mut rows, mut changes) = (Vec::new(), 0);
    for is_kept in [true, false] {
        for percent in PARTS {
            let part = (setting.live * percent / 100).max(1);
            let (mut ticks, mut at) = (Vec::new(), 0);
            for frame in 0..2 * WINDOW + FRAMES {
                if !is_kept && !S::IS_SAVED {
                    break;
                }
                if at + part > keys.len() {
                    at = 0;
                }
                let changed = &keys[at..at + part];
                at += part;
                let begun = clock::start();
                state.save();
                if percent == 100 {
                    state.change_all(|value| *value.number_mut() += 1);
                } else {
                    for &key in changed {
                        state.change(key, |value| *value.number_mut() += 1);
                    }
                }
                if !is_kept {
                    state.roll_back();
                }
                let passed = clock::stop() - begun;
                if frame >= 2 * WINDOW {
                    ticks.push(passed.saturating_sub(setting.overhead) as f64);
                }
                changes += if is_kept { part as u64 } else { 0 };
            }
            rows.push(Measured::from(ticks));
        }
    }
    let sum: u64 = state.slab().values().map(Payload::number).sum();
    assert_eq!(sum, changes, "a wrong value");
    Turn(rows)
}
