//! Frames of a simulation that can be rolled back: the state is saved, some values change, and the
//! frame is kept or undone. With checkpoints of a slab, with copies of the whole slab, and with its
//! snapshots in bytes.

use std::mem::take;

use flatslab::key_slab::{Checkpoint, CheckpointSlab};
use flatslab::{Key, KeySlab};
use flatslab_benches::prelude::*;
use rand::seq::SliceRandom;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    vec![Case {
        rows: ROWS.to_vec(),
        turns: 7,
        columns: const { &[Column::Value(Metric::Ticks), Column::Ratio(COPIES)] },
        entries: vec![
            entry!(COPIES, Copies<[u64; 8], true>),
            entry!("KeySlab, clone", Copies<[u64; 8], false>),
            entry!("CheckpointSlab", Checkpoints<[u64; 8]>),
            entry!("KeySlab, postcard", Snapshots<[u64; 8]>),
            entry!("KeySlab, not saved", NotSaved<[u64; 8]>),
        ],
    }]
}

/// The state of a simulation, and how it is saved.
trait State {
    type Value: Payload;
    /// Whether it can be rolled back.
    const IS_SAVED: bool = true;

    fn new() -> Self;
    fn insert(&mut self, value: Self::Value) -> Key;
    fn remove(&mut self, key: Key);
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Self::Value));

    /// Changes all values, in the order of their slots.
    fn change_all(&mut self, change: impl FnMut(&mut Self::Value));

    /// Saves the state at the beginning of a frame, and gives up the oldest one.
    fn save(&mut self);

    /// Returns to the state that was saved last.
    fn roll_back(&mut self);

    fn slab(&self) -> &KeySlab<Self::Value>;
}

/// Methods of a state whose slab is a field.
macro_rules! forward {
    () => {
        #[inline(always)]
        fn insert(&mut self, value: V) -> Key {
            self.slab.insert(value)
        }

        #[inline(always)]
        fn remove(&mut self, key: Key) {
            self.slab.remove(key);
        }

        #[inline(always)]
        fn change(&mut self, key: Key, change: impl FnOnce(&mut V)) {
            change(&mut self.slab[key]);
        }

        #[inline(always)]
        fn change_all(&mut self, change: impl FnMut(&mut V)) {
            self.slab.values_mut().for_each(change);
        }

        fn slab(&self) -> &KeySlab<V> {
            &self.slab
        }
    };
}

/// A slab with checkpoints.
struct Checkpoints<V: Payload> {
    slab: CheckpointSlab<V>,
    last: Option<Checkpoint>,
}

impl<V: Payload> State for Checkpoints<V> {
    type Value = V;

    forward!();

    fn new() -> Self {
        Checkpoints {
            slab: CheckpointSlab::new(),
            last: None,
        }
    }

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

/// A slab, and copies of it: in memory that is used again if `REUSED`, otherwise in memory of their own.
struct Copies<V: Payload, const REUSED: bool> {
    slab: KeySlab<V>,
    saved: [KeySlab<V>; WINDOW],
    frame: usize,
}

impl<V: Payload, const REUSED: bool> State for Copies<V, REUSED> {
    type Value = V;

    forward!();

    fn new() -> Self {
        Copies {
            slab: KeySlab::new(),
            saved: [(); WINDOW].map(|()| KeySlab::new()),
            frame: 0,
        }
    }

    #[inline(always)]
    fn save(&mut self) {
        self.frame += 1;
        copy::<_, REUSED>(&self.slab, &mut self.saved[self.frame % WINDOW]);
    }

    #[inline(always)]
    fn roll_back(&mut self) {
        copy::<_, REUSED>(&self.saved[self.frame % WINDOW], &mut self.slab);
    }
}

#[inline(always)]
fn copy<V: Payload, const REUSED: bool>(from: &KeySlab<V>, to: &mut KeySlab<V>) {
    match REUSED {
        true => to.clone_from(from),
        false => *to = from.clone(),
    }
}

/// A slab, and snapshots of it in bytes, whose memory is used again.
struct Snapshots<V: Payload> {
    slab: KeySlab<V>,
    saved: [Vec<u8>; WINDOW],
    frame: usize,
}

impl<V: Payload + Serialize + DeserializeOwned> State for Snapshots<V> {
    type Value = V;

    forward!();

    fn new() -> Self {
        Snapshots {
            slab: KeySlab::new(),
            saved: [(); WINDOW].map(|()| Vec::new()),
            frame: 0,
        }
    }

    fn save(&mut self) {
        self.frame += 1;
        let saved = &mut self.saved[self.frame % WINDOW];
        saved.clear();
        *saved = postcard::to_extend(&self.slab, take(saved)).expect("a vector has room");
    }

    fn roll_back(&mut self) {
        let saved = &self.saved[self.frame % WINDOW];
        self.slab = postcard::from_bytes(saved).expect("it is a snapshot");
    }
}

/// What the changes alone take.
struct NotSaved<V: Payload> {
    slab: KeySlab<V>,
}

impl<V: Payload> State for NotSaved<V> {
    type Value = V;
    const IS_SAVED: bool = false;

    forward!();

    fn new() -> Self {
        NotSaved {
            slab: KeySlab::new(),
        }
    }

    #[inline(always)]
    fn save(&mut self) {}

    fn roll_back(&mut self) {
        unreachable!("it is not saved")
    }
}

/// Compares a state with a clone, over frames that insert, remove and change.
fn check<S: State>() -> Result<(), String> {
    let mut state = S::new();
    for number in 0..40 {
        state.insert(S::Value::of(number));
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
                0 => drop(state.insert(S::Value::of(number)).index()),
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
    (all, [(); 3].map(|()| slab.insert(S::Value::of(0))))
}

/// Times frames.
fn turn<S: State>(mut setting: Setting) -> Turn {
    let mut state = S::new();
    let mut keys: Vec<_> = (0..setting.live)
        .map(|_| state.insert(S::Value::of(0)))
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
