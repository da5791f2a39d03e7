//! The steps of a program on a shared slab, and on guards of its values.

use std::collections::BTreeMap;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use flatslab::sync::{SharedKey, SharedRef, SharedSlab};
use flatslab::{AccessError, AllocError, FullError};

use super::values::{Sample, alive};
use super::{Input, pages};

/// A slot that is taken.
struct Entry {
    number: u64,
    /// Those that were forgotten among them.
    guards: usize,
    is_removed: bool,
    /// Its last guard has left its end to `reclaim`.
    is_retired: bool,
}

/// What a program knows, whatever borrows the slab.
struct Model {
    entries: BTreeMap<SharedKey, Entry>,
    /// Keys that lead to nothing.
    gone: Vec<SharedKey>,
    last_number: u64,
    /// Slots that tests let get their last value.
    aged: usize,
}

impl Model {
    /// A new value is there.
    fn add(&mut self, key: SharedKey, number: u64) {
        assert!(!self.gone.contains(&key), "a key twice");
        let entry = Entry {
            number,
            guards: 0,
            is_removed: false,
            is_retired: false,
        };
        assert!(self.entries.insert(key, entry).is_none(), "a slot twice");
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// The value of a key, if it is there.
    fn find(&self, key: SharedKey) -> Option<&Entry> {
        self.entries.get(&key).filter(|it| !it.is_removed)
    }

    /// Removes a value; says whether it was there.
    fn remove(&mut self, key: SharedKey) -> bool {
        let is_there = self.find(key).is_some();
        if let Some(entry) = self.entries.get_mut(&key).filter(|_| is_there) {
            entry.is_removed = true;
            self.end_unused(key);
        }
        is_there
    }

    fn leave(&mut self, key: SharedKey) {
        let entry = self.entries.get_mut(&key).expect("a guard keeps it");
        entry.guards -= 1;
        self.end_unused(key);
    }

    /// As `leave`, by a guard that runs no destructor.
    fn retire(&mut self, key: SharedKey) {
        let entry = self.entries.get_mut(&key).expect("a guard keeps it");
        entry.guards -= 1;
        entry.is_retired = entry.is_removed && entry.guards == 0;
    }

    fn retired(&self) -> usize {
        self.entries.values().filter(|it| it.is_retired).count()
    }

    /// All that are retired are dropped.
    fn reclaim(&mut self) {
        let retired = self.entries.iter().filter(|it| it.1.is_retired);
        let retired: Vec<SharedKey> = retired.map(|it| *it.0).collect();
        retired.into_iter().for_each(|key| self.end_unused(key));
    }

    /// Ends a removed value that has no guard.
    fn end_unused(&mut self, key: SharedKey) {
        let entry = &self.entries[&key];
        if entry.is_removed && entry.guards == 0 {
            self.entries.remove(&key);
            self.gone.push(key);
        }
    }

    fn clear(&mut self) {
        let keys = std::mem::take(&mut self.entries).into_keys();
        self.gone.extend(keys);
    }
}

struct World<'i, 'p, 's, T> {
    input: &'i mut Input<'p>,
    model: &'i mut Model,
    slab: &'s Arc<SharedSlab<T>>,
    guards: Vec<SharedRef<T, &'s SharedSlab<T>>>,
    owned: Vec<SharedRef<T>>,
}

impl<'s, T: Sample> World<'_, '_, 's, T> {
    /// A key: of a value, of one that is gone, or of no slab.
    fn any_key(&mut self) -> Option<SharedKey> {
        let number = self.input.number();
        let live = self.model.entries.len();
        match number % 8 {
            6 => self.input.take(&mut self.model.gone.clone()),
            7 => {
                let known = self
                    .model
                    .entries
                    .keys()
                    .chain(&self.model.gone)
                    .next_back();
                let known = known.map_or(0, |key| key.into_raw());
                let bit = self.input.below(64);
                let mask = self.input.number() as u64;
                SharedKey::from_raw(known ^ 1 << bit ^ mask)
            }
            _ if live == 0 => None,
            _ => {
                let place = self.input.below(live);
                self.model.entries.keys().nth(place).copied()
            }
        }
    }

    fn has_room(&self) -> bool {
        self.model.entries.len() + self.slab.retired_slots() < self.slab.capacity()
    }

    fn insert(&mut self) {
        let (has_room, number) = (self.has_room(), self.model.next_number());
        match self.slab.insert(T::new(number)) {
            Ok(key) => {
                assert!(has_room);
                self.model.add(key, number);
            }
            Err(FullError(value)) => assert!(!has_room && value.is(number)),
        }
    }

    /// A value is made that uses the slab, or is not made in the end.
    fn insert_with(&mut self) {
        let (has_room, number) = (self.has_room(), self.model.next_number());
        let (nests, panics) = (self.input.one_in(3), self.input.one_in(3));
        let (slab, model) = (self.slab, &mut *self.model);
        let mut reserved = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            slab.insert_with(|key| {
                reserved = Some(key);
                assert_eq!(slab.try_get(key).err(), Some(AccessError::Missing));
                assert_eq!(slab.try_take(key).err(), Some(AccessError::Missing));
                assert!(!slab.contains_key(key) && !slab.remove(key));
                assert!(slab.iter().all(|(other, _)| other != key));
                assert_eq!(slab.len(), model.entries.len() + 1);
                if nests {
                    let has_room = slab.len() + slab.retired_slots() < slab.capacity();
                    let number = model.next_number();
                    let inner = slab.insert(T::new(number));
                    assert_eq!(inner.is_ok(), has_room);
                    inner.into_iter().for_each(|key| model.add(key, number));
                }
                if panics {
                    resume_unwind(Box::new(()));
                }
                T::new(number)
            })
        }));
        assert_eq!(reserved.is_some(), has_room);
        match result {
            Ok(Ok(key)) => {
                assert_eq!(reserved, Some(key));
                self.model.add(key, number);
            }
            Ok(Err(error)) => {
                assert!(matches!(error, AllocError::Full { .. }) && !has_room);
            }
            Err(_) => {
                assert!(panics);
                self.model.gone.extend(reserved);
            }
        }
    }

    fn get(&mut self) {
        let Some(key) = self.any_key() else { return };
        let number = self.model.find(key).map(|it| it.number);
        if self.input.one_in(2) {
            let guard = self.slab.get_owned(key);
            assert_eq!(guard.is_some(), number.is_some());
            self.owned.extend(guard);
        } else {
            let guard = self.slab.get(key);
            assert_eq!(guard.is_some(), number.is_some());
            self.guards.extend(guard);
        }
        if number.is_some() {
            self.model.entries.get_mut(&key).unwrap().guards += 1;
        }
    }

    /// One more guard, by another one.
    fn clone(&mut self) {
        let key = if self.input.one_in(2) {
            let Some(place) = self.input.pick(&self.owned) else {
                return;
            };
            let guard = SharedRef::clone(&self.owned[place]);
            assert!(Arc::ptr_eq(SharedRef::slab(&guard), self.slab));
            self.owned.push(guard);
            SharedRef::key(&self.owned[place])
        } else {
            let Some(place) = self.input.pick(&self.guards) else {
                return;
            };
            self.guards.push(SharedRef::clone(&self.guards[place]));
            SharedRef::key(&self.guards[place])
        };
        self.model.entries.get_mut(&key).unwrap().guards += 1;
    }

    fn end_guard(&mut self) {
        let (removes, forgets) = (self.input.one_in(3), self.input.one_in(16));
        if self.input.one_in(2) {
            let Some(guard) = self.input.take(&mut self.owned) else {
                return;
            };
            let key = SharedRef::key(&guard);
            if removes {
                assert_eq!(SharedRef::remove(guard), self.model.remove(key));
            } else if self.input.one_in(3) {
                SharedRef::retire(guard);
                return self.model.retire(key);
            } else {
                drop(guard);
            }
            self.model.leave(key);
            return;
        }
        let Some(guard) = self.input.take(&mut self.guards) else {
            return;
        };
        let key = SharedRef::key(&guard);
        if forgets {
            forget(guard);
            return;
        }
        if removes {
            assert_eq!(SharedRef::remove(guard), self.model.remove(key));
        } else if self.input.one_in(3) {
            SharedRef::retire(guard);
            return self.model.retire(key);
        } else {
            drop(guard);
        }
        self.model.leave(key);
    }

    fn reclaim(&mut self) {
        let retired = self.model.retired();
        let few = self.slab.reclaim_some(self.input.below(2).min(retired));
        assert_eq!(few + self.slab.reclaim(), retired);
        self.model.reclaim();
    }

    fn remove(&mut self) {
        let Some(key) = self.any_key() else { return };
        assert_eq!(self.slab.remove(key), self.model.remove(key));
    }

    fn take(&mut self) {
        let Some(key) = self.any_key() else { return };
        let entry = self.model.find(key);
        match self.slab.try_take(key) {
            Ok(value) => {
                assert!(entry.is_some_and(|it| it.guards == 0 && value.is(it.number)));
                self.model.remove(key);
            }
            Err(AccessError::Borrowed) => assert!(entry.is_some_and(|it| it.guards > 0)),
            Err(error) => {
                assert_eq!(error, AccessError::Missing);
                assert!(entry.is_none());
            }
        }
    }

    /// Looks at all values; some are removed as they are met, of some the guard is kept.
    fn iterate(&mut self) {
        let (removes, keeps) = (self.input.number(), self.input.number());
        let mut expected: Vec<SharedKey> = self.model.entries.keys().copied().collect();
        expected.retain(|key| self.model.find(*key).is_some());
        let mut met = Vec::new();
        for (place, (key, guard)) in self.slab.iter().enumerate() {
            assert_eq!(SharedRef::key(&guard), key);
            assert!(self.model.find(key).is_some_and(|it| guard.is(it.number)));
            met.push(key);
            self.model.entries.get_mut(&key).unwrap().guards += 1;
            if place < 8 && removes >> place & 1 == 1 {
                assert!(self.slab.remove(key) && self.model.remove(key));
            }
            if place < 8 && keeps >> place & 1 == 1 {
                self.guards.push(guard);
            } else {
                drop(guard);
                self.model.leave(key);
            }
        }
        met.sort();
        assert_eq!(met, expected, "each value once");
    }

    fn step(&mut self, step: u8) {
        match step % 16 {
            0..4 => self.insert(),
            4 => self.insert_with(),
            5..8 => self.get(),
            8 => self.clone(),
            9..11 => self.end_guard(),
            11 | 12 => self.remove(),
            13 => self.take(),
            14 => self.reclaim(),
            _ => self.iterate(),
        }
    }

    /// Compares everything there is with the model.
    fn compare(&self) {
        let slab = self.slab;
        let (len, retired) = (self.model.entries.len(), slab.retired_slots());
        assert!(retired <= self.model.aged);
        assert_eq!((slab.len(), slab.is_empty()), (len, len == 0));
        assert_eq!(slab.is_full(), len + retired == slab.capacity());
        for (key, entry) in &self.model.entries {
            assert_eq!(slab.contains_key(*key), !entry.is_removed);
            match slab.try_get(*key) {
                Ok(guard) => assert!(!entry.is_removed && guard.is(entry.number)),
                Err(error) => assert!(entry.is_removed && error == AccessError::Missing),
            }
        }
        let recent = self.model.gone.len().saturating_sub(32);
        for key in &self.model.gone[recent..] {
            assert!(!slab.contains_key(*key) && slab.get(*key).is_none());
        }
        let number = |key| self.model.entries[&key].number;
        for guard in &self.guards {
            assert!(guard.is(number(SharedRef::key(guard))));
        }
        for guard in &self.owned {
            assert!(guard.is(number(SharedRef::key(guard))));
        }
        assert_eq!(alive(), len);
    }
}

/// What an exclusive reference does.
fn exclusive<T: Sample>(slab: &mut SharedSlab<T>, input: &mut Input<'_>, model: &mut Model) {
    match input.below(4) {
        0 => {
            slab.clear();
            model.clear();
            assert!(slab.is_empty() && alive() == 0);
        }
        #[cfg(fuzzing)]
        1 if model.entries.is_empty() && model.aged == 0 && slab.capacity() > 0 => {
            model.aged = 1 + input.below(slab.capacity().min(3));
            (0..model.aged).for_each(|index| slab.age(index));
        }
        _ => {
            let keys: Vec<_> = model.entries.keys().chain(&model.gone).copied().collect();
            let Some(place) = input.pick(&keys) else {
                return;
            };
            let (value, number) = (slab.get_mut(keys[place]), model.next_number());
            assert_eq!(value.is_some(), model.find(keys[place]).is_some());
            if let Some(value) = value {
                let entry = model.entries.get_mut(&keys[place]).unwrap();
                assert!(value.is(entry.number));
                *value = T::new(number);
                entry.number = number;
            }
        }
    }
}

pub(super) fn run<T: Sample>(input: &mut Input<'_>) {
    let capacity = [0, 1, 2, 3, 5, 9, 64, 65, 130][input.below(9)];
    let builder = SharedSlab::<T>::builder().capacity(capacity);
    let mut slab = Arc::new(builder.pages(pages()).build());
    assert_eq!(slab.capacity(), capacity);
    let mut model = Model {
        entries: BTreeMap::new(),
        gone: Vec::new(),
        last_number: 0,
        aged: 0,
    };
    let mut owned = Vec::new();
    loop {
        let mut world = World {
            input: &mut *input,
            model: &mut model,
            slab: &slab,
            guards: Vec::new(),
            owned: std::mem::take(&mut owned),
        };
        let mut is_over = true;
        while let Some(step) = world.input.next() {
            if step > 240 {
                is_over = false;
                break;
            }
            world.step(step);
            world.compare();
        }
        while let Some(guard) = world.guards.pop() {
            let key = SharedRef::key(&guard);
            drop(guard);
            world.model.leave(key);
            world.compare();
        }
        owned = std::mem::take(&mut world.owned);
        drop(world);
        if is_over {
            break;
        }
        let is_alone = owned.is_empty();
        let exclusively = Arc::get_mut(&mut slab);
        assert_eq!(exclusively.is_some(), is_alone);
        exclusively
            .into_iter()
            .for_each(|slab| exclusive(slab, input, &mut model));
    }
    drop(slab);
    while let Some(guard) = owned.pop() {
        assert!(guard.is(model.entries[&SharedRef::key(&guard)].number));
        assert_eq!(alive(), model.entries.len());
        let key = SharedRef::key(&guard);
        drop(guard);
        model.leave(key);
    }
}
