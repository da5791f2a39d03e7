//! What a program can do: each step on the slab and on the model.

use flatslab::{AccessError, Ref, SlotBox, VacantSlot};

use super::{Holder, World};
use crate::common::{Guard, Room};

/// A step. The number picks one of the handles, or a key, by remainder. `None`
/// if there is nothing to take the step with.
type Step<M> = fn(&mut World<M>, u8) -> Option<()>;

fn pick(index: u8, len: usize) -> Option<usize> {
    (len > 0).then(|| index as usize % len)
}

fn take<H>(handles: &mut Vec<H>, index: u8) -> Option<H> {
    pick(index, handles.len()).map(|at| handles.swap_remove(at))
}

impl<M: Room> World<M> {
    /// All steps, each with how often it is taken.
    const STEPS: [(usize, Step<M>); 37] = [
        (6, Self::insert),
        (2, Self::insert_key),
        (2, Self::insert_with),
        (2, Self::reserve_slot),
        (2, Self::fill),
        (1, Self::drop_vacant),
        (1, Self::read),
        (1, Self::write),
        (1, Self::read_by_key),
        (1, Self::write_by_key),
        (4, Self::hold_ref),
        (2, Self::hold_ref_mut),
        (1, Self::map_guard),
        (1, Self::clone_guard),
        (4, Self::drop_guard),
        (1, Self::replace),
        (1, Self::modify),
        (2, Self::move_out),
        (2, Self::take),
        (3, Self::leak),
        (3, Self::drop_slot),
        (3, Self::regain),
        (2, Self::put_in_box),
        (2, Self::take_from_box),
        (1, Self::move_out_of_box),
        (1, Self::box_through_raw),
        (1, Self::write_box),
        (1, Self::drop_box),
        (3, Self::remove_by_key),
        (1, Self::iterate),
        (1, Self::iterate_mut),
        (1, Self::retain),
        (1, Self::drain),
        (2, Self::make_room),
        (2, Self::shrink),
        (1, Self::clear),
        (1, Self::drop_slab),
    ];

    /// Takes a step given by two bytes. They are cheap to draw, under an
    /// interpreter too, and a fuzzer has nothing else.
    pub(super) fn step(&mut self, (kind, index): (u8, u8)) {
        let all: usize = Self::STEPS.iter().map(|(weight, _)| weight).sum();
        let mut place = usize::from(kind) % all;
        for (weight, step) in Self::STEPS {
            if place < weight {
                step(self, index);
                return self.check();
            }
            place -= weight;
        }
        unreachable!("the place is below the sum of the weights")
    }

    fn insert(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let value = self.value();
        let number = value.number;
        match (slab.try_insert(value), self.claim()) {
            (Ok(slot), Some(key)) => {
                assert_eq!(slot.key(), key, "slots are reused last in, first out");
                self.cell(key).value = Some(number);
                self.cell(key).holder = Holder::Slot;
                self.slots.push(slot);
            }
            (Err(full), None) => {
                assert_eq!(full.0.number, number);
                self.due.push(number);
            }
            (result, key) => panic!("{result:?}, but the model says {key:?}"),
        }
        Some(())
    }

    fn insert_key(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let value = self.value();
        let number = value.number;
        match (slab.try_insert_key(value), self.claim()) {
            (Ok(taken), Some(key)) => {
                assert_eq!(taken, key, "slots are reused last in, first out");
                self.cell(key).value = Some(number);
            }
            (Err(full), None) => {
                assert_eq!(full.0.number, number);
                self.due.push(number);
            }
            (result, key) => panic!("{result:?}, but the model says {key:?}"),
        }
        Some(())
    }

    fn insert_with(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.claim();
        let value = self.value();
        let number = value.number;
        let mut value = Some(value);
        let result = slab.try_insert_with(|vacant| {
            assert_eq!(Some(vacant.key()), key);
            assert!(!slab.contains_key(vacant.key()));
            value.take().unwrap()
        });
        assert_eq!(result.is_ok(), key.is_some());
        match (result, key) {
            (Ok(slot), Some(key)) => {
                self.cell(key).value = Some(number);
                self.cell(key).holder = Holder::Slot;
                self.slots.push(slot);
            }
            _ => {
                assert!(value.is_some(), "the closure is not called");
                self.due.push(number);
            }
        }
        Some(())
    }

    fn reserve_slot(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let (result, key) = (slab.try_vacant_slot(), self.claim());
        assert_eq!(result.as_ref().ok().map(VacantSlot::key), key);
        if let (Ok(vacant), Some(key)) = (result, key) {
            self.cell(key).holder = Holder::Vacant;
            self.vacants.push(vacant);
        }
        Some(())
    }

    pub(super) fn fill(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.vacants.len())?;
        let (vacant, value) = (self.vacants.swap_remove(at), self.value());
        let (key, number, address) = (vacant.key(), value.number, vacant.as_ptr());
        let slot = vacant.insert(value);
        assert_eq!((slot.key(), slot.as_mut_ptr()), (key, address));
        assert_eq!(slot.is_valid(), self.slab.get().is_some());
        self.cell(key).value = Some(number);
        self.cell(key).holder = Holder::Slot;
        self.slots.push(slot);
        Some(())
    }

    fn drop_vacant(&mut self, index: u8) -> Option<()> {
        let vacant = take(&mut self.vacants, index)?;
        let key = vacant.key();
        drop(vacant);
        self.cell(key).holder = Holder::None;
        self.free_if_unused(key);
        Some(())
    }

    fn read(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.slots.len())?;
        let slot = &self.slots[at];
        let cell = self.cells[slot.key().index()];
        let admitted = self.slab.get().is_some() && cell.admits_reader();
        assert_eq!(
            slot.try_get().ok().map(|value| value.number),
            cell.value.filter(|_| admitted)
        );
        Some(())
    }

    fn write(&mut self, index: u8) -> Option<()> {
        self.write_through(index, false)
    }

    fn modify(&mut self, index: u8) -> Option<()> {
        self.write_through(index, true)
    }

    fn write_through(&mut self, index: u8, and_modify: bool) -> Option<()> {
        let at = pick(index, self.slots.len())?;
        let number = self.made + 1;
        let slot = &self.slots[at];
        let key = slot.key();
        let cell = self.cells[key.index()];
        let admitted = self.slab.get().is_some() && cell.admits_writer();
        if !and_modify || cell.is_borrowed() {
            let guard = slot.try_get_mut().ok();
            assert_eq!(guard.is_some(), admitted);
            if let Some(mut guard) = guard {
                guard.number = number;
            }
        } else {
            let mut called = false;
            slot.and_modify(|value| {
                value.number = number;
                called = true;
            });
            assert_eq!(called, admitted);
        }
        if admitted {
            self.made = number;
            self.cell(key).value = Some(number);
        }
        Some(())
    }

    fn read_by_key(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let cell = self.model(key);
        let expected = cell.value.filter(|_| cell.admits_reader());
        assert_eq!(
            slab.try_get(key).map(|value| value.number),
            expected.ok_or(cell.refusal())
        );
        if expected.is_some() || !cell.is_there() {
            assert_eq!(slab.get(key).map(|value| value.number), expected);
        }
        assert_eq!(slab.contains_key(key), cell.is_there());
        Some(())
    }

    fn write_by_key(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let cell = self.model(key);
        let guard = slab.try_get_mut(key);
        assert_eq!(guard.is_ok(), cell.admits_writer());
        if let Err(error) = &guard {
            assert_eq!(*error, cell.refusal());
        }
        if let Ok(mut guard) = guard {
            self.made += 1;
            guard.number = self.made;
            self.cell(key).value = Some(self.made);
        }
        Some(())
    }

    fn hold_ref(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let guard = slab.try_get(key);
        assert_eq!(guard.is_ok(), self.model(key).admits_reader());
        if let Ok(guard) = guard {
            self.cell(key).readers += 1;
            self.guards.push((key, Guard::Shared(guard)));
        }
        Some(())
    }

    fn hold_ref_mut(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let guard = slab.try_get_mut(key);
        assert_eq!(guard.is_ok(), self.model(key).admits_writer());
        if let Ok(guard) = guard {
            self.cell(key).writer = true;
            self.guards.push((key, Guard::Exclusive(guard)));
        }
        Some(())
    }

    fn map_guard(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.guards.len())?;
        let (key, guard) = self.guards.swap_remove(at);
        self.guards.push((key, guard.mapped()));
        Some(())
    }

    /// Also of a doomed value.
    fn clone_guard(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.guards.len())?;
        if let (key, Guard::Shared(guard)) = &self.guards[at] {
            let (key, guard) = (*key, Ref::clone(guard));
            self.cell(key).readers += 1;
            self.guards.push((key, Guard::Shared(guard)));
        }
        Some(())
    }

    fn drop_guard(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.guards.len())?;
        self.end_guard(at);
        Some(())
    }

    fn replace(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.slots.len())?;
        let value = self.value();
        let number = value.number;
        let key = self.slots[at].key();
        let admitted = self.slab.get().is_some() && self.cell(key).admits_writer();
        match self.slots[at].try_replace(value) {
            Ok(old) => {
                assert!(admitted);
                self.expect_out(key, &old);
                self.cell(key).value = Some(number);
            }
            Err(value) => {
                assert!(!admitted);
                assert_eq!(value.number, number);
                self.due.push(number);
            }
        }
        Some(())
    }

    fn move_out(&mut self, index: u8) -> Option<()> {
        let slot = take(&mut self.slots, index)?;
        let key = slot.key();
        // A value filled in after the slab was gone comes out too.
        let admitted = self.cell(key).admits_writer();
        match slot.try_into_inner() {
            Ok(value) => {
                assert!(admitted);
                self.expect_out(key, &value);
                self.cell(key).holder = Holder::None;
                self.free_if_unused(key);
            }
            Err(slot) => {
                assert!(!admitted);
                self.slots.push(slot);
            }
        }
        Some(())
    }

    fn take(&mut self, index: u8) -> Option<()> {
        let slot = take(&mut self.slots, index)?;
        let key = slot.key();
        let admitted = self.slab.get().is_some() && self.cell(key).admits_writer();
        match slot.try_take() {
            Ok((value, vacant)) => {
                assert!(admitted);
                self.expect_out(key, &value);
                self.cell(key).holder = Holder::Vacant;
                self.vacants.push(vacant);
            }
            Err(slot) => {
                assert!(!admitted);
                self.slots.push(slot);
            }
        }
        Some(())
    }

    fn leak(&mut self, index: u8) -> Option<()> {
        let slot = take(&mut self.slots, index)?;
        let key = slot.key();
        assert_eq!(slot.leak(), key);
        if self.slab.get().is_none() || self.cell(key).value.is_none() {
            self.slot_gone(key);
        } else {
            self.cell(key).holder = Holder::None;
        }
        Some(())
    }

    pub(super) fn drop_slot(&mut self, index: u8) -> Option<()> {
        let slot = take(&mut self.slots, index)?;
        let key = slot.key();
        drop(slot);
        self.slot_gone(key);
        Some(())
    }

    fn regain(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let cell = self.model(key);
        let admitted =
            cell.value.is_some() && cell.holder == Holder::None && !cell.writer && !cell.doomed;
        let slot = slab.try_slot(key);
        assert_eq!(slot.is_ok(), admitted);
        if let Err(error) = &slot {
            let is_owned = cell.is_there() && cell.holder != Holder::None;
            let refusal = cell.refusal();
            assert_eq!(
                *error,
                if is_owned {
                    AccessError::Owned
                } else {
                    refusal
                }
            );
        }
        if let Ok(slot) = slot {
            self.cell(key).holder = Holder::Slot;
            self.slots.push(slot);
        }
        Some(())
    }

    fn put_in_box(&mut self, index: u8) -> Option<()> {
        let slot = take(&mut self.slots, index)?;
        let key = slot.key();
        let admitted = self.slab.get().is_some() && self.cell(key).admits_writer();
        match slot.try_into_box() {
            Ok(boxed) => {
                assert!(admitted);
                self.cell(key).holder = Holder::Box;
                self.boxes.push(boxed);
            }
            Err(slot) => {
                assert!(!admitted);
                self.slots.push(slot);
            }
        }
        Some(())
    }

    fn take_from_box(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.boxes.len())?;
        let slot = SlotBox::into_slot(self.boxes.swap_remove(at));
        assert_eq!(slot.is_valid(), self.slab.get().is_some());
        self.cell(slot.key()).holder = Holder::Slot;
        self.slots.push(slot);
        Some(())
    }

    fn move_out_of_box(&mut self, index: u8) -> Option<()> {
        let boxed = take(&mut self.boxes, index)?;
        let key = SlotBox::key(&boxed);
        let value = SlotBox::into_inner(boxed);
        self.expect_out(key, &value);
        self.cell(key).holder = Holder::None;
        self.free_if_unused(key);
        Some(())
    }

    fn box_through_raw(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let at = pick(index, self.boxes.len())?;
        let pointer = SlotBox::into_raw(self.boxes.swap_remove(at));
        // SAFETY: straight from `into_raw` of this slab's box.
        self.boxes.push(unsafe { slab.box_from_raw(pointer) });
        Some(())
    }

    fn write_box(&mut self, index: u8) -> Option<()> {
        let at = pick(index, self.boxes.len())?;
        let key = SlotBox::key(&self.boxes[at]);
        assert_eq!(Some(self.boxes[at].number), self.cell(key).value);
        self.made += 1;
        self.boxes[at].number = self.made;
        self.cell(key).value = Some(self.made);
        Some(())
    }

    pub(super) fn drop_box(&mut self, index: u8) -> Option<()> {
        let boxed = take(&mut self.boxes, index)?;
        let key = SlotBox::key(&boxed);
        drop(boxed);
        self.cell(key).holder = Holder::None;
        self.destroy(key);
        Some(())
    }

    fn remove_by_key(&mut self, index: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let key = self.any_key(index);
        let cell = self.model(key);
        let value = slab.try_remove_by_key(key);
        assert_eq!(value.is_ok(), cell.admits_writer());
        if let Err(error) = &value {
            assert_eq!(*error, cell.refusal());
        }
        if let Ok(value) = value {
            self.expect_out(key, &value);
            self.free_if_unused(key);
        }
        Some(())
    }
}
