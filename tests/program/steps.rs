//! The steps of a program.

use std::mem::forget;

use flatslab::{Key, MappedRef, Ref, RefMut, Slot, SlotBox, TrackedSlab, VacantSlot};

use super::{
    INSERTS, MOST_VALUES, NEXT_FREE, Programs, RULES, RUNS, Thing, Value, Walk, Which, alive_at,
    any, expect, nest, note_next_free, panic_one_in, put, set_slab, slab,
};
use crate::common::Audit;
use crate::common::random::{one_in, random};

/// One step.
pub(super) fn step<M: Programs>() {
    match (random(28), slab::<M>()) {
        (0..=5, Some(slab)) if slab.len() < MOST_VALUES => insert(&slab),
        (6..=8, Some(slab)) => resize(&slab),
        (9..=12, Some(slab)) => with_all(&slab),
        (13..=17, Some(slab)) => by_key(&slab, any_key()),
        (18, Some(Which::Static(slab))) => put(begin_walk(slab)),
        (18..=19, Some(Which::Shared(slab))) => share(slab),
        (20, Some(slab)) => check(&slab),
        _ => {
            if let Some(thing) = any::<M>() {
                with_thing(thing);
            }
        }
    }
}

fn any_key() -> Key {
    Key::from_raw(random(24) as u32)
}

/// Also during growth and shrinking, when the allocator is called.
fn check<M: Programs>(slab: &TrackedSlab<Value<M>, M>) {
    let runs = RUNS.replace(false);
    slab.audit_but_stale();
    RUNS.set(runs);
}

/// Makes another reference to the slab, or drops that of the program.
fn share<M: Programs>(slab: std::rc::Rc<TrackedSlab<Value<M>, M>>) {
    if one_in(4) {
        put(Thing::Slab(slab.clone()));
    }
    if one_in(6) {
        let gone = set_slab::<M>(None);
        drop(slab);
        drop(gone);
    }
}

/// Calls `claim`, which takes a slot.
fn inserting<M: Programs, R>(slab: &TrackedSlab<Value<M>, M>, claim: impl FnOnce() -> R) -> R {
    note_next_free::<M>();
    // A slab without a header makes the whole of it, even if the allocator makes
    // one too.
    INSERTS.set(M::GROWS && slab.capacity() > 0);
    let result = claim();
    INSERTS.set(false);
    result
}

/// Called with a key that was taken, or is the next to be, after the last call of
/// the allocator.
fn expect_freed_last(key: Key) {
    let is_next = NEXT_FREE.get().is_none_or(|next| next == key);
    expect(is_next, "not the slot that was freed last");
}

fn insert<M: Programs>(slab: &TrackedSlab<Value<M>, M>) {
    match random(6) {
        0 => {
            if let Ok(vacant) = inserting(slab, || slab.try_vacant_slot()) {
                let key = vacant.key();
                expect_freed_last(key);
                expect(!slab.contains_key(key), "a reservation has a value");
                put(Thing::Vacant(vacant, key));
            }
        }
        1 => {
            let build = |vacant: &VacantSlot<Value<M>>| {
                let key = vacant.key();
                expect_freed_last(key);
                nest::<M>();
                expect(vacant.key() == key, "a reservation has moved");
                expect(!slab.contains_key(key), "a reservation has a value");
                panic_one_in(4);
                Value::new()
            };
            if let Ok(slot) = inserting(slab, || slab.try_insert_with(build)) {
                slot.leak();
            }
        }
        _ => insert_value(slab, Value::new()),
    }
}

fn insert_value<M: Programs>(slab: &TrackedSlab<Value<M>, M>, value: Value<M>) {
    let line = value.line;
    if one_in(4) {
        if let Ok(key) = inserting(slab, || slab.try_insert_key(value)) {
            expect_freed_last(key);
            let is_own = slab.try_get(key).map_or(true, |value| value.line == line);
            expect(is_own, "a new key shows another value");
        }
        return;
    }
    if let Ok(slot) = inserting(slab, || slab.try_insert(value)) {
        expect_freed_last(slot.key());
        let is_own = slot.try_get().ok().is_none_or(|value| value.line == line);
        expect(is_own, "a new handle shows another value");
        if one_in(3) {
            slot.leak();
        } else {
            put(Thing::Slot(slot, line));
        }
    }
}

fn resize<M: Programs>(slab: &TrackedSlab<Value<M>, M>) {
    if one_in(3) {
        let additional = random(9) as usize;
        note_next_free::<M>();
        if M::try_reserve(slab, additional).is_ok() && M::GROWS {
            expect(
                slab.free_slots() >= additional,
                "what was reserved is not there",
            );
        }
        let next = RULES.get().audits.then(|| slab.next_key()).flatten();
        next.into_iter().for_each(expect_freed_last);
    } else {
        M::shrink(slab);
    }
}

/// Something with all values there are, one after the other.
fn with_all<M: Programs>(slab: &TrackedSlab<Value<M>, M>) {
    match random(6) {
        0 => retain(slab),
        1 => {
            let mut drain = slab.try_drain();
            for (key, value) in drain.by_ref().take(random(4) as usize) {
                value.expect_intact();
                let next = slab.try_get(key).map(|next| next.id);
                expect(next != Ok(value.id), "drained, and there");
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
            if RULES.get().forgets && one_in(2) {
                forget(drain);
            }
        }
        2 => {
            for (key, value) in slab.try_iter() {
                let Ok(value) = value else {
                    continue;
                };
                let id = value.id;
                nest_while(&value);
                expect(value.id == id, "a value changed under its guard");
                expect(slab.try_get_mut(key).is_err(), "a guard is not respected");
            }
        }
        3 => {
            for (key, value) in slab.try_iter_mut() {
                let Ok(mut value) = value else {
                    continue;
                };
                nest_while(&value);
                expect(slab.try_get(key).is_err(), "a guard is not exclusive");
                if one_in(8) {
                    *value = value.successor();
                }
            }
        }
        4 => {
            expect(slab.keys().count() <= slab.len(), "more keys than values");
            for key in slab.keys() {
                expect(slab.contains_key(key), "a key without a value");
                nest::<M>();
            }
        }
        // Not as often: a program needs values to go on.
        _ if one_in(3) => {
            let _ = slab.try_clear();
        }
        // Panic if they are refused.
        _ if RULES.get().panics && super::runs() => match random(3) {
            0 => drop(slab.drain().next()),
            1 => slab.iter().for_each(|(_, value)| value.expect_intact()),
            _ => slab.iter_mut().for_each(|(_, value)| nest_while(&value)),
        },
        _ => {}
    }
}

/// Takes a step, at times, while `value` is borrowed.
fn nest_while<M: Programs>(value: &Value<M>) {
    value.expect_intact();
    if one_in(3) {
        nest::<M>();
    }
    value.expect_intact();
}

fn retain<M: Programs>(slab: &TrackedSlab<Value<M>, M>) {
    let mut last = None;
    let mut judge = |key: Key, value: &mut Value<M>| {
        let id = value.id;
        expect(last < Some(key), "keys do not ascend");
        last = Some(key);
        let is_exclusive = slab.try_get(key).is_err() && slab.try_get_mut(key).is_err();
        expect(is_exclusive, "a value that is judged can be borrowed");
        expect(
            slab.try_slot(key).is_err(),
            "a borrowed value gets a handle",
        );
        nest_while(value);
        expect(value.id == id, "a value changed while it was judged");
        panic_one_in(8);
        one_in(2)
    };
    // Called through a pointer that the compiler does not see through. Where it was inlined, rustc
    // 1.95 began the landing pad of the end of a borrow with a copy of `last` to `eax`, before it
    // had read the exception from `rax`: optimised tests crashed in `_Unwind_Resume`.
    let judge: &mut dyn FnMut(Key, &mut Value<M>) -> bool = std::hint::black_box(&mut judge);
    // Panics if it is refused.
    if RULES.get().panics && super::runs() && one_in(4) {
        slab.retain(judge);
    } else {
        slab.try_retain(judge);
    }
}

/// Something by key.
fn by_key<M: Programs>(slab: &Which<M>, key: Key) {
    match random(6) {
        0 => {
            if let Ok(value) = slab.try_remove_by_key(key) {
                value.expect_intact();
                expect(!slab.contains_key(key), "removed, and there");
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
        }
        1 => {
            if let Ok(value) = slab.try_get(key) {
                expect(slab.contains_key(key), "a value without its key");
                expect(slab.try_get_mut(key).is_err(), "a guard is not respected");
                nest_while(&value);
                match any() {
                    Some(thing) if one_in(2) => stash(&value, thing),
                    Some(thing) => put(thing),
                    None => unstash(&value),
                }
                nest_while(&value);
            }
        }
        2 => {
            if let Ok(mut value) = slab.try_get_mut(key) {
                expect(slab.try_get(key).is_err(), "a guard is not exclusive");
                nest_while(&value);
                if one_in(4) {
                    // The old value dies in the assignment, under the guard.
                    *value = value.successor();
                }
                nest_while(&value);
            }
        }
        3 => {
            if let Ok(slot) = slab.try_slot(key) {
                expect(slab.try_slot(key).is_err(), "two handles own a value");
                expect(slot.is_valid() && slot.key() == key, "not that handle");
                // Readers are too few to be refused.
                let line = slot.try_get().ok().map(|value| value.line);
                expect(line.is_some(), "a new handle shows no value");
                put(Thing::Slot(slot, line.unwrap_or(0)));
            }
        }
        // Panics if it is refused.
        4 if RULES.get().panics && super::runs() => match random(4) {
            0 => drop(slab.get(key).map(|value| nest_while(&value))),
            1 => drop(slab.get_mut(key).map(|value| nest_while(&value))),
            2 => drop(slab.slot(key).map(Slot::leak)),
            _ => put(Thing::Value(slab.remove_by_key(key))),
        },
        _ => {
            if let Which::Static(slab) = *slab {
                hold(slab, key);
            }
        }
    }
}

/// Puts a guard into the pool.
fn hold<M: Programs>(slab: &'static TrackedSlab<Value<M>, M>, key: Key) {
    if one_in(2) {
        if let Ok(value) = slab.try_get(key) {
            let id = value.id;
            if one_in(3) {
                put(Thing::Ref(Ref::clone(&value), id));
            }
            match random(3) {
                0 => put::<M>(Thing::Mapped(Ref::map(value, |value| &value.id), id)),
                _ => put(Thing::Ref(value, id)),
            }
        }
    } else if let Ok(value) = slab.try_get_mut(key) {
        let id = value.id;
        match random(3) {
            0 => put::<M>(Thing::MappedMut(
                RefMut::map(value, |value| &mut value.id),
                id,
            )),
            _ => put(Thing::RefMut(value, id)),
        }
    }
}

/// Puts a thing into a value, if the rules allow it, or back into the pool.
fn stash<M: Programs>(value: &Value<M>, thing: Thing<M>) {
    let rules = RULES.get();
    let is_plain = matches!(
        thing,
        Thing::Slot(..) | Thing::Vacant(..) | Thing::Value(..) | Thing::Keys(..)
    );
    match value.bag.try_borrow_mut() {
        Ok(mut bag) if rules.bags && (is_plain || rules.cycles) => bag.push(thing),
        _ => put(thing),
    }
}

/// Takes a thing out of a value.
fn unstash<M: Programs>(value: &Value<M>) {
    let thing = value
        .bag
        .try_borrow_mut()
        .ok()
        .and_then(|mut bag| bag.pop());
    if let Some(thing) = thing {
        put(thing);
    }
}

fn begin_walk<M: Programs>(slab: &'static TrackedSlab<Value<M>, M>) -> Thing<M> {
    match random(4) {
        0 => Thing::Iter(Walk::new(slab.try_iter())),
        1 => Thing::IterMut(Walk::new(slab.try_iter_mut())),
        2 => Thing::Keys(Walk::new(slab.keys())),
        _ => Thing::Drain(Walk::new(slab.try_drain())),
    }
}

/// Something with a thing out of the pool.
fn with_thing<M: Programs>(thing: Thing<M>) {
    match thing {
        Thing::Slab(slab) => drop(slab),
        Thing::Slot(slot, line) => with_slot(slot, line),
        Thing::Boxed(boxed, id) => with_box(boxed, id),
        Thing::Value(value) => {
            value.expect_intact();
            if let (Some(slab), true) = (slab::<M>(), one_in(2)) {
                insert_value(&slab, value);
            }
        }
        Thing::Ref(value, id) => {
            value.expect_intact();
            expect(value.id == id, "a guard shows another value");
            if one_in(2) {
                put(Thing::Ref(value, id));
            }
        }
        Thing::RefMut(mut value, id) => {
            value.expect_intact();
            expect(value.id == id, "a guard shows another value");
            match random(8) {
                0 | 1 => {
                    let successor = value.successor();
                    let id = successor.id;
                    // The old value dies in the assignment, under the guard.
                    *value = successor;
                    put(Thing::RefMut(value, id));
                }
                2 => {
                    value.bag.take();
                    put(Thing::RefMut(value, id));
                }
                3 | 4 => put(Thing::RefMut(value, id)),
                _ => drop(value),
            }
        }
        Thing::Mapped(value, id) => {
            expect(
                *value == id && alive_at(id) == id,
                "a part of another value",
            );
            match random(3) {
                0 => drop(value),
                1 => put::<M>(Thing::Mapped(MappedRef::map(value, |id| id), id)),
                _ => put::<M>(Thing::Mapped(value, id)),
            }
        }
        Thing::MappedMut(value, id) => {
            expect(
                *value == id && alive_at(id) == id,
                "a part of another value",
            );
            if one_in(2) {
                put::<M>(Thing::MappedMut(value, id));
            }
        }
        Thing::Vacant(vacant, key) => {
            expect(vacant.key() == key, "a reservation has moved");
            match random(3) {
                0 => drop(vacant),
                1 => put(Thing::Vacant(vacant, key)),
                _ => {
                    let value = Value::new();
                    let id = value.id;
                    let slot = vacant.insert(value);
                    expect(slot.key() == key, "a reservation has moved");
                    put(Thing::Slot(slot, id));
                }
            }
        }
        Thing::Iter(mut walk) => {
            let before = walk.clone();
            if let Some((_, Ok(value))) = walk.next(|item| item.0) {
                let id = value.id;
                value.expect_intact();
                if one_in(2) {
                    put(Thing::Ref(value, id));
                }
            }
            put(Thing::Iter(if one_in(4) { before } else { walk }));
        }
        Thing::IterMut(mut walk) => {
            if let Some((_, Ok(value))) = walk.next(|item| item.0) {
                let id = value.id;
                value.expect_intact();
                if one_in(2) {
                    put(Thing::RefMut(value, id));
                }
            }
            put(Thing::IterMut(walk));
        }
        Thing::Keys(mut walk) => {
            walk.next(|key| *key);
            put(Thing::Keys(walk));
        }
        Thing::Drain(mut walk) => {
            if let Some((_, value)) = walk.next(|item| item.0) {
                value.expect_intact();
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
            match random(6) {
                0 => drop(walk),
                1 if RULES.get().forgets => forget(walk),
                _ => put(Thing::Drain(walk)),
            }
        }
    }
}

fn with_box<M: Programs>(mut boxed: SlotBox<Value<M>>, id: u32) {
    boxed.expect_intact();
    expect(boxed.id == id, "a box shows another value");
    match random(7) {
        0 => drop(boxed),
        1 => put(Thing::Value(SlotBox::into_inner(boxed))),
        2 => {
            let line = boxed.line;
            put(Thing::Slot(SlotBox::into_slot(boxed), line));
        }
        3 => {
            nest::<M>();
            let successor = boxed.successor();
            let id = successor.id;
            *boxed = successor;
            boxed.expect_intact();
            put(Thing::Boxed(boxed, id));
        }
        4 => drop(SlotBox::into_pin(boxed)),
        5 => {
            if let Some(thing) = any() {
                stash(&boxed, thing);
            }
            put(Thing::Boxed(boxed, id));
        }
        _ => put(Thing::Boxed(boxed, id)),
    }
}

fn with_slot<M: Programs>(slot: Slot<Value<M>>, line: u32) {
    let key = slot.key();
    if let Ok(value) = slot.try_get() {
        value.expect_intact();
        expect(value.line == line, "a handle reaches another value");
    }
    match random(12) {
        0 => drop(slot),
        1 => drop(slot.leak()),
        2 => match slot.try_into_inner() {
            Ok(value) => {
                value.expect_intact();
                expect(value.line == line, "a handle gives another value");
                put(Thing::Value(value));
            }
            Err(slot) => put(Thing::Slot(slot, line)),
        },
        3 => match slot.try_into_box() {
            Ok(boxed) => {
                let id = boxed.id;
                expect(boxed.line == line, "a handle boxes another value");
                put(Thing::Boxed(boxed, id));
            }
            Err(slot) => put(Thing::Slot(slot, line)),
        },
        4 => match slot.try_take() {
            Ok((value, vacant)) => {
                value.expect_intact();
                expect(value.line == line, "a handle gives another value");
                expect(vacant.key() == key, "a handle gives another slot");
                put(Thing::Vacant(vacant, key));
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
            Err(slot) => put(Thing::Slot(slot, line)),
        },
        5 => {
            let value = Value::new();
            let id = value.id;
            match slot.try_replace(value) {
                Ok(old) => {
                    old.expect_intact();
                    expect(old.line == line, "a handle gives another value");
                    put(Thing::Slot(slot, id));
                }
                Err(_) => put(Thing::Slot(slot, line)),
            }
        }
        6 => {
            if let Ok(value) = slot.try_get() {
                nest::<M>();
                value.expect_intact();
                expect(value.line == line, "a value changed under its guard");
                nest::<M>();
            }
            put(Thing::Slot(slot, line));
        }
        7 => {
            if let Ok(value) = slot.try_get_mut() {
                nest::<M>();
                value.expect_intact();
                expect(value.line == line, "a value changed under its guard");
            }
            put(Thing::Slot(slot, line));
        }
        8 if RULES.get().cycles && matches!(slab::<M>(), Some(Which::Shared(_))) && one_in(4) => {
            let slot: &'static Slot<Value<M>> = Box::leak(Box::new(slot));
            if let Ok(value) = slot.try_get() {
                let id = value.id;
                put(Thing::Ref(value, id));
            }
            if let Ok(value) = slot.try_get_mut() {
                let id = value.id;
                put(Thing::RefMut(value, id));
            }
        }
        // Panics if it is refused.
        9 if RULES.get().panics && super::runs() => match random(3) {
            0 => put(Thing::Value(slot.into_inner())),
            1 => {
                let boxed = slot.into_box();
                let id = boxed.id;
                put(Thing::Boxed(boxed, id));
            }
            _ => {
                let (value, vacant) = slot.take();
                put(Thing::Value(value));
                put(Thing::Vacant(vacant, key));
            }
        },
        10 => {
            // Into its own value, or another's.
            let at = if one_in(2) { key } else { any_key() };
            let slab = slab::<M>();
            match slab.as_ref().and_then(|slab| slab.try_get(at).ok()) {
                Some(value) => stash(&value, Thing::Slot(slot, line)),
                None => put(Thing::Slot(slot, line)),
            }
        }
        _ => put(Thing::Slot(slot, line)),
    }
}
