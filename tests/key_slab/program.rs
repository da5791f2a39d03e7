//! A program on a slab, and the same on a map: for random programs and for the
//! fuzz target.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use flatslab::key_slab::{Bounded, Growable, InsertAtError, SlabKey, Storage};
use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab, PlainSlab};

/// A value that is counted from when it is made until it is dropped, with bytes
/// that make a few of them a large block where there are many.
#[derive(Debug)]
pub(crate) struct Counted<const BYTES: usize = 0> {
    pub(crate) number: u64,
    count: Rc<RefCell<usize>>,
    _bytes: [u8; BYTES],
}

/// How many values there are.
#[derive(Clone, Default)]
pub(crate) struct Count(Rc<RefCell<usize>>);

impl Count {
    pub(crate) fn make<const BYTES: usize>(&self, number: u64) -> Counted<BYTES> {
        *self.0.borrow_mut() += 1;
        Counted {
            number,
            count: self.0.clone(),
            _bytes: [0; BYTES],
        }
    }

    pub(crate) fn alive(&self) -> usize {
        *self.0.borrow()
    }
}

impl<const BYTES: usize> Clone for Counted<BYTES> {
    fn clone(&self) -> Self {
        Count(self.count.clone()).make(self.number)
    }
}

impl<const BYTES: usize> Drop for Counted<BYTES> {
    fn drop(&mut self) {
        *self.count.borrow_mut() -= 1;
    }
}

/// Two are a block that begins at a line, sixty one that the allocator maps.
pub(crate) const LARGE: usize = 2 << 10;

/// A key's numbers.
pub(crate) trait Numbers: SlabKey + Ord {
    const GENERATIONS: bool;
    fn slot(self) -> usize;
    fn of(slot: usize, generation: u32) -> Self;

    // What asks for generations; without them there is nothing to do.

    fn detach<T, S: Storage>(_: &mut PlainSlab<T, Self, S>, _: Self) -> Option<T> {
        None
    }
    fn reattach<T, S: Storage>(_: &mut PlainSlab<T, Self, S>, _: Self, value: T) -> Result<(), T> {
        Err(value)
    }
    fn free_detached<T, S: Storage>(_: &mut PlainSlab<T, Self, S>, _: Self) -> bool {
        false
    }
}

impl Numbers for Key {
    const GENERATIONS: bool = false;
    fn slot(self) -> usize {
        self.index()
    }
    fn of(slot: usize, _: u32) -> Self {
        Key::from_raw(slot as u32)
    }
}

impl Numbers for GenKey {
    const GENERATIONS: bool = true;
    fn slot(self) -> usize {
        self.index()
    }
    fn of(slot: usize, generation: u32) -> Self {
        GenKey::from_raw((u64::from(generation) * 2 + 1) << 32 | slot as u64).unwrap()
    }

    fn detach<T, S: Storage>(slab: &mut PlainSlab<T, Self, S>, key: Self) -> Option<T> {
        slab.detach(key)
    }
    fn reattach<T, S: Storage>(
        slab: &mut PlainSlab<T, Self, S>,
        key: Self,
        value: T,
    ) -> Result<(), T> {
        (slab.try_reattach(key, value)).map_err(InsertAtError::into_inner)
    }
    fn free_detached<T, S: Storage>(slab: &mut PlainSlab<T, Self, S>, key: Self) -> bool {
        slab.free_detached(key)
    }
}

macro_rules! kinds {
    ($($name:ident $key:ty;)*) => {$(
        pub(crate) struct $name;
        impl $name {
            pub(crate) fn growable<const BYTES: usize>(program: &[(u8, u8)]) {
                run::<BYTES, $key, Growable>(
                    KeySlab::with_key(),
                    |slab| Some(slab.vacant_key()),
                    |slab, step| match step % 3 {
                        0 => slab.shrink_to_fit(),
                        1 => slab.reserve(step % 20),
                        _ => slab.prepare(step % 20).unwrap(),
                    },
                    program,
                );
            }

            #[cfg(feature = "os-memory")]
            pub(crate) fn in_range<const BYTES: usize>(program: &[(u8, u8)]) {
                run::<BYTES, $key, Growable>(
                    KeySlab::builder_with_key().grow_in_place().build(),
                    |slab| Some(slab.vacant_key()),
                    |slab, step| match step % 3 {
                        0 => slab.shrink_to_fit(),
                        1 => slab.reserve(step % 20),
                        _ => slab.prepare(step % 20).unwrap(),
                    },
                    program,
                );
            }

            pub(crate) fn bounded<const BYTES: usize>(program: &[(u8, u8)]) {
                run::<BYTES, $key, Bounded>(
                    BoundedKeySlab::with_capacity_and_key(18),
                    |slab| slab.vacant_key(),
                    |_, _| {},
                    program,
                );
            }
        }
    )*};
}

kinds! {
    Plain Key;
    Generations GenKey;
}

/// Runs a program: each step an operation and a number.
fn run<const BYTES: usize, K: Numbers, S: Storage>(
    mut slab: PlainSlab<Counted<BYTES>, K, S>,
    vacant_key: impl Fn(&PlainSlab<Counted<BYTES>, K, S>) -> Option<K>,
    resize: impl Fn(&mut PlainSlab<Counted<BYTES>, K, S>, usize),
    program: &[(u8, u8)],
) where
    PlainSlab<Counted<BYTES>, K, S>: Clone,
{
    let count = Count::default();
    let mut model: BTreeMap<usize, (K, u64)> = BTreeMap::new();
    let mut gone: Vec<K> = Vec::new();
    let mut detached: BTreeMap<usize, K> = BTreeMap::new();
    for (step, &(operation, number)) in program.iter().enumerate() {
        let value = step as u64;
        let nth = |model: &BTreeMap<usize, (K, u64)>| {
            let at = usize::from(number) % model.len().max(1);
            model.values().nth(at).copied()
        };
        match operation % 20 {
            0..=3 => {
                let next = vacant_key(&slab);
                match slab.try_insert(count.make(value)) {
                    Ok(key) => {
                        assert!(next == Some(key), "the key that was announced");
                        assert!(model.insert(key.slot(), (key, value)).is_none());
                        gone.retain(|old| K::GENERATIONS || old.slot() != key.slot());
                    }
                    Err(full) => {
                        assert_eq!(full.into_inner().number, value);
                        assert_eq!((next, slab.free_slots()), (None, 0));
                    }
                }
            }
            4..=6 => {
                if let Some((key, value)) = nth(&model) {
                    assert_eq!(slab.remove(key).number, value);
                    assert!(slab.try_remove(key).is_none());
                    let next = vacant_key(&slab).expect("a slot is free");
                    assert_eq!(next.slot(), key.slot(), "last in, first out");
                    model.remove(&key.slot());
                    gone.push(key);
                }
            }
            7 => {
                if let Some((key, _)) = nth(&model) {
                    slab[key].number = value;
                    *slab.get_mut(key).unwrap() = count.make(value + 1);
                    model.insert(key.slot(), (key, value + 1));
                    assert!(slab.key_of(&slab[key]) == key);
                    assert!(slab.key_at(key.slot()) == Some(key));
                }
            }
            8 => {
                if let Ok(entry) = slab.try_vacant_entry() {
                    let key = entry.key();
                    match number % 3 {
                        0 => drop(entry),
                        1 => {
                            let _ = core::mem::ManuallyDrop::new(entry);
                        }
                        _ => {
                            entry.insert(count.make(0)).number = value;
                            model.insert(key.slot(), (key, value));
                            gone.retain(|old| K::GENERATIONS || old.slot() != key.slot());
                        }
                    }
                }
            }
            9 => {
                let slot = usize::from(number) % 20;
                let key = K::of(slot, u32::from(number) % 5);
                match slab.insert_at(key, count.make(value)) {
                    Ok(()) => {
                        assert!(!model.contains_key(&slot));
                        assert!(!gone.contains(&key) || !K::GENERATIONS);
                        model.insert(slot, (key, value));
                        gone.retain(|old| K::GENERATIONS || old.slot() != slot);
                    }
                    Err(error) => {
                        match &error {
                            InsertAtError::Taken(_) => assert!(model.contains_key(&slot)),
                            InsertAtError::Outdated(_) => assert!(K::GENERATIONS),
                            InsertAtError::Detached(_) => assert!(detached.contains_key(&slot)),
                            InsertAtError::OutOfRange { .. } => assert!(slot >= slab.capacity()),
                            other => panic!("{other}"),
                        }
                        assert_eq!(error.into_inner().number, value);
                    }
                }
            }
            10 => {
                let bound = u64::from(number) % (value + 1);
                slab.retain(|key, value| {
                    assert_eq!(model[&key.slot()], (key, value.number));
                    value.number >= bound
                });
                gone.extend(
                    model
                        .values()
                        .filter(|(_, v)| *v < bound)
                        .map(|(key, _)| *key),
                );
                model.retain(|_, (_, value)| *value >= bound);
            }
            11 => {
                let mut drain = slab.drain();
                for from_front in [true, false, true]
                    .into_iter()
                    .take(usize::from(number) % 4)
                {
                    let (expected, got) = if from_front {
                        (model.pop_first(), drain.next())
                    } else {
                        (model.pop_last(), drain.next_back())
                    };
                    assert_eq!(drain.len(), model.len());
                    assert_eq!(
                        got.map(|(key, value)| (key, value.number)),
                        expected.map(|(_, (key, value))| {
                            gone.push(key);
                            (key, value)
                        })
                    );
                }
                if number % 2 == 0 {
                    core::mem::forget(drain);
                } else {
                    drop(drain);
                    gone.extend(model.values().map(|(key, _)| *key));
                    model.clear();
                }
            }
            12 => {
                slab.clear();
                gone.extend(model.values().map(|(key, _)| *key));
                model.clear();
                let lowest = (0..).find(|slot| !detached.contains_key(slot));
                let next = vacant_key(&slab).map(K::slot);
                assert!(next == lowest || slab.is_full());
            }
            13 => {
                let clone = slab.clone();
                #[cfg(fuzzing)]
                clone.check();
                assert!(
                    clone
                        .iter()
                        .map(|(key, value)| (key, value.number))
                        .eq(slab.iter().map(|(key, value)| (key, value.number)))
                );
                assert!(vacant_key(&clone) == vacant_key(&slab));
                let old = core::mem::replace(&mut slab, clone);
                assert_eq!(
                    old.into_iter().take(usize::from(number)).count(),
                    model.len().min(usize::from(number))
                );
            }
            14 => resize(&mut slab, usize::from(number)),
            15 => {
                if let Some((key, value)) = nth(&model).filter(|_| K::GENERATIONS) {
                    assert_eq!(K::detach(&mut slab, key).unwrap().number, value);
                    assert!(!slab.contains(key) && K::detach(&mut slab, key).is_none());
                    model.remove(&key.slot());
                    detached.insert(key.slot(), key);
                }
            }
            16 | 17 => {
                let at = usize::from(number) % detached.len().max(1);
                if let Some(key) = detached.values().nth(at).copied() {
                    detached.remove(&key.slot());
                    if operation % 20 == 16 {
                        assert!(K::reattach(&mut slab, key, count.make(value)).is_ok());
                        model.insert(key.slot(), (key, value));
                    } else {
                        assert!(K::free_detached(&mut slab, key));
                        gone.push(key);
                    }
                }
                for key in [nth(&model).map(|(key, _)| key), gone.last().copied()] {
                    let Some(key) = key else { continue };
                    assert!(K::reattach(&mut slab, key, count.make(0)).is_err());
                    assert!(!K::free_detached(&mut slab, key));
                }
            }
            18 => {
                let mut keys = Vec::new();
                let mut values = (0..u64::from(number % 4)).map(|at| count.make(value + at));
                let full = slab.try_insert_many(&mut values, &mut keys);
                assert!(full.is_ok() || slab.is_full());
                assert!(slab.get_many(&keys).all(|value| value.is_some()));
                for (key, value) in keys.into_iter().zip(value..) {
                    model.insert(key.slot(), (key, value));
                    gone.retain(|old| K::GENERATIONS || old.slot() != key.slot());
                }
            }
            _ => {
                let (mut slots, mut values) = (Vec::new(), Vec::new());
                for at in 0..u64::from(number % 4) {
                    let slot = (usize::from(number) / 4 + 5 * at as usize) % 18;
                    if detached.contains_key(&slot) {
                        continue;
                    }
                    let key = model
                        .get(&slot)
                        .map_or_else(|| K::of(slot, 1000 + step as u32), |(key, _)| *key);
                    slots.push((slot, key, value + at));
                    values.push((key, count.make(value + at)));
                }
                slab.extend(values);
                for (slot, key, value) in slots {
                    model.insert(slot, (key, value));
                    gone.retain(|old| K::GENERATIONS || old.slot() != slot);
                }
            }
        }

        #[cfg(fuzzing)]
        slab.check();
        assert_eq!(slab.len(), model.len());
        assert_eq!(count.alive(), model.len());
        assert_eq!(slab.is_empty(), model.is_empty());
        assert_eq!(slab.detached_slots(), detached.len());
        assert!(
            slab.iter()
                .map(|(key, v)| (key, v.number))
                .eq(model.values().copied())
        );
        assert!(
            slab.values_mut()
                .rev()
                .map(|v| v.number)
                .eq(model.values().rev().map(|m| m.1))
        );
        for (key, value) in model.values() {
            assert!(slab.contains(*key) && slab[*key].number == *value);
        }
        for key in &gone {
            assert!(
                !slab.contains(*key) && slab.get(*key).is_none(),
                "{key:?} is gone"
            );
        }
    }
    drop(slab);
    assert_eq!(count.alive(), 0);
}
