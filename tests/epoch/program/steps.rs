//! The steps of a program that share the slab.

use flatslab::AccessError;
use flatslab::epoch::{Epoch, EpochError, EpochGuard, EpochKey, Epochs, Ref, RefMut};

use super::model::{Entry, Report};
use super::subject::{Refused, Subject};
use super::{Check, Input, State};

/// A borrow that is held for a while.
enum Guard<'s, T: ?Sized> {
    Reader(Ref<'s, T>),
    Writer(RefMut<'s, T>),
}

/// What borrows the slab, and the program that does.
pub(super) struct World<'w, 's, S: Subject> {
    input: &'w mut Input<'s>,
    slab: &'w Epochs<S>,
    state: &'w mut State<S>,
    guards: Vec<(EpochKey, Guard<'w, S::Item>)>,
    entered: Vec<EpochGuard<'w, S>>,
}

impl<'w, 's, S: Subject> World<'w, 's, S> {
    pub(super) fn new(
        input: &'w mut Input<'s>,
        slab: &'w Epochs<S>,
        state: &'w mut State<S>,
    ) -> Self {
        World {
            input,
            slab,
            state,
            guards: Vec::new(),
            entered: Vec::new(),
        }
    }

    /// Steps until a scope is to begin; whether the program is over: it has no more steps, and
    /// the slab has advanced so often.
    pub(super) fn run<K: Check>(&mut self, advances: u64) -> bool {
        // An interpreter takes long to compare, and to go round.
        let (every, every_filling, turns) = if cfg!(miri) {
            (8, 64, 1)
        } else if cfg!(fuzzing) {
            (1, 16, 1)
        } else {
            (1, 8, 4)
        };
        let mut steps = 0;
        loop {
            let is_filling = self.input.is_over();
            if is_filling && self.state.model.advances >= advances {
                return true;
            }
            let step = self.input.next();
            if step % 32 == 31 && step > 128 {
                return false;
            }
            self.step(step);
            if is_filling && step % turns == 0 {
                self.advance();
            }
            steps += 1;
            let every = if is_filling { every_filling } else { every };
            if steps % every == 0 {
                self.state.compare(self.slab);
            }
            // Of the steps of the program itself each one.
            if !is_filling || steps % every == 0 {
                K::check(self.slab);
            }
        }
    }

    /// Ends all borrows.
    pub(super) fn end(mut self) {
        while !self.guards.is_empty() {
            self.drop_guard(0, false);
        }
        while !self.entered.is_empty() {
            self.leave(0);
        }
        self.state.compare(self.slab);
    }

    fn step(&mut self, step: u8) {
        // A slab that fills up is emptied.
        let step = if self.state.model.values.len() > 100 && step % 2 == 0 {
            10
        } else {
            step % 32
        };
        match step {
            0..5 => self.insert_current(),
            5..7 => self.insert_in(),
            7 => self.read(),
            8 => self.write(),
            9 => self.hold(),
            10..14 => self.remove(),
            14 | 15 => self.advance(),
            16 | 17 => self.close(),
            18 => self.advance_and_close(),
            19 => self.clear(),
            20 => self.enter(),
            21 | 22 => self.insert_by_guard(),
            23 => {
                if let Some(place) = self.input.pick(&self.entered) {
                    self.leave(place);
                }
            }
            24 => self.give_back(),
            25 => self.set_tag(),
            26 => self.forge(),
            27 => self.list_keys(),
            28 | 29 => self.stale(),
            _ => {
                if let Some(place) = self.input.pick(&self.guards) {
                    let is_forgotten = self.input.number() % 64 == 0;
                    self.drop_guard(place, is_forgotten);
                }
            }
        }
    }

    // Values.

    /// Compares the answer to an insertion with the model's, and accounts for the value.
    fn inserted(
        &mut self,
        (epoch, is_foreign): (Epoch, bool),
        (number, size): (u64, usize),
        result: Result<EpochKey, Refused>,
    ) {
        let model = &mut self.state.model;
        let Some(class) = model.class_of(size) else {
            return assert_eq!(result, Err(Refused::TooLarge));
        };
        if let Some(expected) = model.why_refused(epoch, is_foreign) {
            return assert_eq!(result, Err(expected));
        }
        match result {
            Ok(key) => {
                let entry = Entry {
                    epoch,
                    class,
                    size,
                    number,
                    readers: 0,
                    is_written: false,
                };
                model.insert(key, entry);
                self.state.keys.push(key);
            }
            Err(Refused::Full) => model.expect_full(epoch, class),
            Err(error) => panic!("{error:?}"),
        }
    }

    fn sample(&mut self) -> (u64, usize) {
        (self.state.number(), S::size(self.input.number()))
    }

    fn insert_current(&mut self) {
        for _ in 0..=self.input.below(4) {
            let (number, size) = self.sample();
            let epoch = self.state.model.current;
            let result = S::insert(self.slab, None, number, size);
            self.inserted((epoch, false), (number, size), result);
        }
    }

    fn insert_in(&mut self) {
        let (epoch, is_foreign) = self.state.any_epoch(self.input);
        let (number, size) = self.sample();
        let result = S::insert(self.slab, Some(epoch), number, size);
        self.inserted((epoch, is_foreign), (number, size), result);
    }

    fn read(&mut self) {
        let Some(key) = self.state.any_value(self.input) else {
            return;
        };
        let entry = self.state.model.values[&key];
        let value = S::try_get(self.slab, key);
        assert_eq!(value.is_err(), entry.is_written);
        if let Ok(value) = value {
            let along = Ref::clone(&value);
            drop(value);
            assert!(S::is(&Ref::map(along, |it| it), entry.number, entry.size));
        }
    }

    fn write(&mut self) {
        let Some(key) = self.state.any_value(self.input) else {
            return;
        };
        let number = self.state.number();
        let entry = self.state.model.values.get_mut(&key).unwrap();
        match S::try_get_mut(self.slab, key) {
            Ok(value) => {
                assert!(!entry.is_borrowed() && S::is(&value, entry.number, entry.size));
                S::set(&mut RefMut::map(value, |it| it), number);
                entry.number = number;
            }
            Err(error) => {
                assert_eq!(error, AccessError::Borrowed);
                assert!(entry.is_borrowed());
            }
        }
    }

    fn hold(&mut self) {
        let (writes, may_hold) = (self.input.number() % 3 == 0, self.guards.len() < 6);
        let Some(key) = self.state.any_value(self.input).filter(|_| may_hold) else {
            return;
        };
        let entry = self.state.model.values.get_mut(&key).unwrap();
        let result = if writes {
            S::try_get_mut(self.slab, key).map(Guard::Writer)
        } else {
            S::try_get(self.slab, key).map(Guard::Reader)
        };
        let is_refused = entry.is_written || writes && entry.readers > 0;
        match result {
            Ok(guard) => {
                assert!(!is_refused);
                entry.is_written = writes;
                entry.readers += usize::from(!writes);
                self.guards.push((key, guard));
            }
            Err(error) => {
                assert_eq!(error, AccessError::Borrowed);
                assert!(is_refused);
            }
        }
    }

    fn drop_guard(&mut self, place: usize, is_forgotten: bool) {
        let (key, guard) = self.guards.swap_remove(place);
        let entry = self.state.model.values.get_mut(&key);
        let entry = entry.expect("a borrowed value stays");
        match &guard {
            Guard::Reader(value) => assert!(S::is(value, entry.number, entry.size)),
            Guard::Writer(value) => assert!(S::is(value, entry.number, entry.size)),
        }
        if is_forgotten {
            // The value is borrowed until the slab is gone.
            return std::mem::forget(guard);
        }
        match guard {
            Guard::Reader(_) => entry.readers -= 1,
            Guard::Writer(_) => entry.is_written = false,
        }
    }

    fn remove(&mut self) {
        let Some(key) = self.state.any_value(self.input) else {
            return;
        };
        let entry = self.state.model.values[&key];
        let result = S::remove(self.slab, key, entry.number);
        if entry.is_borrowed() {
            return assert_eq!(result, Err(AccessError::Borrowed));
        }
        assert_eq!(result, Ok(()));
        self.state.model.remove(key);
        self.state.expect_missing(self.slab, key);
    }

    fn stale(&mut self) {
        for _ in 0..4 {
            let Some(place) = self.input.pick(&self.state.keys) else {
                return;
            };
            let key = self.state.keys[place];
            match self.state.model.values.get(&key) {
                Some(entry) => self.state.expect_there(self.slab, key, entry),
                None => self.state.expect_missing(self.slab, key),
            }
        }
        let foreign = self.state.other_keys[self.input.below(self.state.other_keys.len())];
        self.state.expect_missing(self.slab, foreign);
    }

    /// A key with other bits than one that there was.
    fn forge(&mut self) {
        let Some(place) = self.input.pick(&self.state.keys) else {
            return;
        };
        let raw = self.state.keys[place].into_raw();
        for bit in [self.input.below(128), self.input.below(40)] {
            if let Some(key) = EpochKey::from_raw(raw ^ 1 << bit) {
                match self.state.model.values.get(&key) {
                    Some(entry) => self.state.expect_there(self.slab, key, entry),
                    None => self.state.expect_missing(self.slab, key),
                }
            }
        }
    }

    fn list_keys(&mut self) {
        let (epoch, is_foreign) = self.state.any_epoch(self.input);
        let keys: Vec<_> = self.slab.keys_in(epoch).collect();
        assert_eq!(keys, self.state.model.keys_in(epoch));
        assert!(keys.is_empty() || !is_foreign);
    }

    // Epochs.

    fn advance(&mut self) {
        let epoch = self.slab.advance();
        self.state.model.advance(epoch);
        self.state.epochs.push(epoch);
    }

    fn close(&mut self) {
        let (epoch, is_foreign) = self.state.any_epoch(self.input);
        let result = self.slab.close(epoch);
        let found = result.as_ref().map(Report::from).map_err(|error| *error);
        assert_eq!(found, self.state.model.close(epoch, is_foreign));
        assert!(result.is_ok_and(|report| report.epoch == epoch) || found.is_err());
    }

    fn advance_and_close(&mut self) {
        let last = self.state.model.current;
        let (epoch, report) = self.slab.advance_and_close();
        let expected = self.state.model.advance_and_close(epoch);
        assert_eq!((Report::from(&report), report.epoch), (expected, last));
        self.state.epochs.push(epoch);
    }

    fn clear(&mut self) {
        let (epoch, is_foreign) = self.state.any_epoch(self.input);
        let result = self.slab.try_clear_epoch(epoch);
        match (result, self.state.model.clear(epoch, is_foreign)) {
            (Err(EpochError::Borrowed(key)), Err(EpochError::Borrowed(_))) => {
                let entry = self.state.model.values[&key];
                assert!(entry.is_borrowed() && entry.epoch == epoch);
            }
            (result, expected) => assert_eq!(result, expected),
        }
    }

    fn give_back(&mut self) {
        let (model, number) = (&mut self.state.model, self.input.number());
        if number % 2 == 0 {
            assert_eq!(self.slab.shrink_to_fit(), model.shrink_to_fit());
        } else {
            let chunks = [0, 1, 2, 32][number / 2 % 4];
            let bytes = self.slab.set_cached_chunks(chunks);
            assert_eq!(bytes, model.set_cached_chunks(chunks));
        }
    }

    fn set_tag(&mut self) {
        let (epoch, is_foreign) = self.state.any_epoch(self.input);
        let tag = self.input.below(32) as u64;
        let is_set = self.slab.set_tag(epoch, tag);
        let record = (self.state.model.records.get_mut(&epoch)).filter(|_| !is_foreign);
        assert_eq!(is_set, record.is_some());
        if let Some(record) = record {
            record.tag = tag;
        }
    }

    // Epochs outside the ring.

    fn enter(&mut self) {
        let by_name = self.input.number() % 3 == 0;
        let epoch = if by_name {
            if self.state.model.opened() >= 8 {
                return;
            }
            self.slab.try_open().unwrap()
        } else {
            if self.entered.len() == 4 {
                return;
            }
            let guard = self.slab.try_enter().unwrap();
            let epoch = guard.epoch();
            self.entered.push(guard);
            epoch
        };
        self.state.model.open(epoch);
        self.state.epochs.push(epoch);
    }

    fn insert_by_guard(&mut self) {
        let Some(place) = self.input.pick(&self.entered) else {
            return;
        };
        let (number, size) = self.sample();
        let guard = &self.entered[place];
        let epoch = guard.epoch();
        let result = S::insert_by_guard(guard, number, size);
        self.inserted((epoch, false), (number, size), result);
    }

    fn leave(&mut self, place: usize) {
        let guard = self.entered.swap_remove(place);
        let epoch = guard.epoch();
        drop(guard);
        // It may have been closed by name before.
        let _ = self.state.model.close(epoch, false);
    }
}
