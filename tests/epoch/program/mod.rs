//! A program on an epoch slab, and a model that knows what each key leads to, what each epoch
//! has, and what each answer has to be: for random programs and for the fuzz target.

mod model;
mod scopes;
#[allow(
    clippy::duplicate_mod,
    reason = "the library's own tests have both programs"
)]
#[path = "../../bytes/program/source.rs"]
mod source;
mod steps;
mod subject;

use flatslab::AccessError;
use flatslab::epoch::{Bytes, Contents, Epoch, EpochKey, Epochs, Values};

use model::{Entry, Model};
use source::BYTES;
use steps::World;
use subject::{Aligned, Config, Subject, Text, Unit};

/// How often the ring goes round in a program at least. A fuzzer has better things to do, and
/// an interpreter takes long.
const WRAPS: usize = if cfg!(fuzzing) {
    1
} else if cfg!(miri) {
    2
} else {
    20
};

/// What is checked of a slab after every step, besides what the model says.
pub(crate) trait Check {
    fn check<C: Contents>(slab: &Epochs<C>);
}

/// The rest of a program; when it is over, numbers that follow from it.
struct Input<'p> {
    rest: &'p [u8],
    state: u64,
}

impl<'p> Input<'p> {
    fn new(program: &'p [u8]) -> Self {
        let mix = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let state = program.iter().fold(0xcbf2_9ce4_8422_2325, mix) | 1;
        Input {
            rest: program,
            state,
        }
    }

    fn next(&mut self) -> u8 {
        if let Some((first, rest)) = self.rest.split_first() {
            self.rest = rest;
            return *first;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 32) as u8
    }

    fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    fn number(&mut self) -> usize {
        self.next().into()
    }

    fn below(&mut self, end: usize) -> usize {
        if end <= 256 {
            return self.number() % end;
        }
        (self.number() << 8 | self.number()) % end
    }

    /// A place in a list, if it has any; often of the last ones.
    fn pick<T>(&mut self, list: &[T]) -> Option<usize> {
        if list.is_empty() {
            return None;
        }
        let recent = usize::min(list.len(), 8);
        match self.next() % 3 {
            0 => Some(self.below(list.len())),
            _ => Some(list.len() - 1 - self.below(recent)),
        }
    }
}

/// What a program knows, whatever borrows the slab.
struct State<S: Subject> {
    model: Model,
    /// All epochs that there were, and those of another slab.
    epochs: Vec<Epoch>,
    others: Vec<Epoch>,
    /// All keys that there were, and those of another slab.
    keys: Vec<EpochKey>,
    other_keys: Vec<EpochKey>,
    last_number: u64,
    /// Values of no slab, and those of the other one.
    alive_elsewhere: usize,
    subject: std::marker::PhantomData<S>,
}

impl<S: Subject> State<S> {
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// An epoch that there is or was, of this slab or the other; whether it is foreign.
    fn any_epoch(&self, input: &mut Input<'_>) -> (Epoch, bool) {
        if input.number() % 16 == 0 {
            return (self.others[input.below(self.others.len())], true);
        }
        let epoch = input.pick(&self.epochs);
        (self.epochs[epoch.expect("there are some")], false)
    }

    /// A key of a value.
    fn any_value(&self, input: &mut Input<'_>) -> Option<EpochKey> {
        let place = input.below(usize::max(self.model.values.len(), 1));
        self.model.values.keys().nth(place).copied()
    }

    /// Panics unless the key leads to nothing.
    fn expect_missing(&self, slab: &Epochs<S>, key: EpochKey) {
        assert!(!self.model.values.contains_key(&key));
        assert_eq!(S::try_get(slab, key).err(), Some(AccessError::Missing));
        assert_eq!(S::try_get_mut(slab, key).err(), Some(AccessError::Missing));
        assert_eq!(S::remove(slab, key, 0), Err(AccessError::Missing));
        assert!(!slab.contains_key(key) && slab.epoch_of(key).is_none());
    }

    /// Panics unless the key leads to that value.
    fn expect_there(&self, slab: &Epochs<S>, key: EpochKey, entry: &Entry) {
        assert!(slab.contains_key(key));
        assert_eq!(slab.epoch_of(key), Some(entry.epoch));
        match S::try_get(slab, key) {
            Ok(value) => {
                assert!(!entry.is_written);
                assert!(S::is(&value, entry.number, entry.size), "{entry:?}");
            }
            Err(error) => {
                assert_eq!(error, AccessError::Borrowed);
                assert!(entry.is_written);
            }
        }
    }

    /// Compares everything there is with the model.
    fn compare(&mut self, slab: &Epochs<S>) {
        for (key, entry) in &self.model.values {
            self.expect_there(slab, *key, entry);
        }
        let recent = self.keys.len().saturating_sub(16);
        for key in &self.keys[recent..] {
            if !self.model.values.contains_key(key) {
                self.expect_missing(slab, *key);
            }
        }
        self.model.compare_stats(slab);
        if let Some(alive) = S::alive() {
            assert_eq!(alive, self.model.values.len() + self.alive_elsewhere);
        }
    }

    /// Tries all keys that there were, and all epochs.
    fn compare_all(&mut self, slab: &Epochs<S>) {
        self.compare(slab);
        for key in self.keys.iter().chain(&self.other_keys) {
            if !self.model.values.contains_key(key) {
                self.expect_missing(slab, *key);
            }
        }
        for epoch in self.epochs.iter().chain(&self.others) {
            let keys: Vec<_> = slab.keys_in(*epoch).collect();
            assert_eq!(keys, self.model.keys_in(*epoch), "in their order");
            let is_there = self.model.records.contains_key(epoch);
            assert_eq!(slab.epoch_stats(*epoch).is_some(), is_there);
        }
    }
}

/// A slab whose keys and epochs are of no use to another.
fn other_slab<S: Subject>(config: Config) -> (Epochs<S>, Vec<EpochKey>, Vec<Epoch>) {
    let mut config = config;
    config.limit = None;
    let slab = S::build(config);
    let mut epochs = vec![slab.permanent(), slab.current()];
    let mut keys = Vec::new();
    for number in 0..3 {
        keys.push(S::insert(&slab, None, number, S::size(number as usize)).expect("there is room"));
        epochs.push(slab.advance());
    }
    (slab, keys, epochs)
}

fn run_on<S: Subject, K: Check>(input: &mut Input<'_>, config: Config) {
    let (other, other_keys, others) = other_slab::<S>(config);
    let mut slab = S::build(config);
    let mut state = State::<S> {
        model: Model::new(&slab, S::plans(config), config),
        epochs: vec![slab.current(), slab.permanent()],
        others,
        keys: Vec::new(),
        alive_elsewhere: S::alive().map_or(0, |_| other_keys.len()),
        other_keys,
        last_number: 0,
        subject: std::marker::PhantomData,
    };
    let end = (WRAPS * config.ring) as u64;
    loop {
        let mut world = World::new(input, &slab, &mut state);
        let is_over = world.run::<K>(end);
        world.end();
        if is_over {
            break;
        }
        scopes::run(&mut slab, input, &mut state);
        state.compare(&slab);
        K::check(&slab);
    }
    state.compare_all(&slab);
    K::check(&slab);
    drop(slab);
    if let Some(alive) = S::alive() {
        assert_eq!(alive, state.alive_elsewhere, "dropped with the slab");
    }
    drop(other);
    assert!(S::alive().is_none_or(|alive| alive == 0));
    assert_eq!(BYTES.get(), 0, "memory is lost");
}

/// Runs a program: the first bytes say which slab, the others are steps.
pub(crate) fn run<K: Check>(program: &[u8]) {
    let mut input = Input::new(program);
    let kind = input.number();
    let mut config = Config {
        // A long ring takes long to go round.
        ring: [1, 2, 3, 1, 2, 3, 1, 16][input.below(8)],
        chunk: input.below(4),
        cached: [0, 1, 2, 32][input.below(4)],
        limit: Some(input.below(40) + 16).filter(|_| kind % 4 == 3),
    };
    // One in three gives all unused memory back at once.
    if input.below(3) == 2 {
        config.cached = 0;
    }
    match kind % 6 {
        0 => run_on::<Values<u64>, K>(&mut input, config),
        1 => run_on::<Values<Text>, K>(&mut input, config),
        2 => run_on::<Values<Unit>, K>(&mut input, config),
        3 => run_on::<Values<Aligned>, K>(&mut input, config),
        _ => run_on::<Bytes, K>(&mut input, config),
    }
}
