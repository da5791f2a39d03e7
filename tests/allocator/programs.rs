//! Random programs under the worst allocator there may be: when it is called, it
//! may run further random steps on the very slab that it serves, before and
//! after it does its work, and it refuses one request in six. Destructors and
//! closures run steps too.
//!
//! Checked at every step: each value is intact while anything shows it, and
//! dropped exactly once; a handle shows its own value, or one that was put in
//! place of that, and never the next in its slot; the slot that was freed last
//! is handed out first, and no memory is asked for while a slot is free;
//! iterators ascend and keep to their `size_hint`; what was reserved is there;
//! the audit finds nothing, also within a call of the allocator. In the end no
//! slot is lost, a slab of free slots shrinks to nothing, and no byte is leaked.

use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::panic::catch_unwind;
use std::thread::panicking;

use flatslab::{
    Drain, Growable, Iter, IterMut, Key, Keys, Ref, RefMut, Slab, Slot, SlotBox, VacantSlot,
};

use crate::common::random::{one_in, random, seed};
use crate::common::{Audit, Detached};
use crate::{Call, LIVE_BYTES, with_conduct};

/// Steps within steps.
const DEEPEST: u32 = 4;

/// A slab of so many values gets no more: the chunks of small slabs are the ones
/// that come and go.
const MOST_VALUES: usize = 100;

/// The pool has room for so many things from the start, since it must not call
/// the allocator while it is borrowed.
const MOST_THINGS: usize = 200;

/// More than there are values at any time.
const IDS: usize = 1024;

thread_local! {
    // The state of the program that runs on this thread.
    static SLAB: Cell<Option<&'static Slab<Value>>> = const { Cell::new(None) };
    static POOL: RefCell<Vec<Thing>> = const { RefCell::new(Vec::new()) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether the allocator and the destructors run steps.
    static MEDDLES: Cell<bool> = const { Cell::new(false) };
    /// Whether a slot is asked for, of a slab that has a home already.
    static INSERTS: Cell<bool> = const { Cell::new(false) };
    /// The slot to be handed out next, as of the last call of the allocator.
    static NEXT_FREE: Cell<Option<Key>> = const { Cell::new(None) };
    static LAST_ID: Cell<u32> = const { Cell::new(0) };
    /// The ids of the living, each at its remainder; elsewhere zeros.
    static ALIVE: [Cell<u32>; IDS] = const { [const { Cell::new(0) }; IDS] };
    /// The first thing that was wrong: an allocator must not unwind.
    static WRONG: Cell<Option<&'static str>> = const { Cell::new(None) };
    static INTERRUPTIONS: Cell<u32> = const { Cell::new(0) };
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// What the allocator does at each call.
fn meddle(call: Call) -> bool {
    if let Call::Asked = call {
        let is_needed = !INSERTS.get() || SLAB.get().is_some_and(Slab::is_full);
        expect(is_needed, "memory is asked for though a slot is free");
    }
    interrupt();
    if matches!(call, Call::Asked) && meddles() && one_in(6) {
        REFUSED.set(REFUSED.get() + 1);
        return false;
    }
    true
}

/// Not during a panic, which allocates.
fn meddles() -> bool {
    MEDDLES.get() && !panicking()
}

fn interrupt() {
    if meddles() && one_in(3) {
        INTERRUPTIONS.set(INTERRUPTIONS.get() + 1);
        nest();
    }
    NEXT_FREE.set(SLAB.get().and_then(|slab| slab.next_key()));
}

/// A step of the program, mostly within another. A panic is noted: nothing that
/// a step calls may panic.
fn nest() {
    let (depth, inserts) = (DEPTH.get(), INSERTS.get());
    if depth < DEEPEST {
        DEPTH.set(depth + 1);
        INSERTS.set(false);
        let result = catch_unwind(step);
        INSERTS.set(inserts);
        DEPTH.set(depth);
        expect(result.is_ok(), "a step panicked");
    }
}

fn expect(holds: bool, what: &'static str) {
    if !holds && WRONG.get().is_none() {
        WRONG.set(Some(what));
    }
}

/// A value that knows whether it is alive, and acts when it dies.
struct Value {
    id: u32,
    canary: u32,
    /// The id of the first in a line of values, each put in place of the one
    /// before by a guard or a box: what a handle knows its value by.
    line: u32,
}

impl Value {
    fn new() -> Self {
        let id = Self::new_id();
        Value {
            id,
            canary: !id,
            line: id,
        }
    }

    /// What may be put in place of this value.
    fn successor(&self) -> Self {
        let mut successor = Value::new();
        successor.line = self.line;
        successor
    }

    fn new_id() -> u32 {
        loop {
            let id = LAST_ID.get() + 1;
            LAST_ID.set(id);
            if alive_at(id) == 0 {
                set_alive_at(id, id);
                return id;
            }
        }
    }

    fn expect_intact(&self) {
        expect(self.canary == !self.id, "a value is not intact");
        expect(alive_at(self.id) == self.id, "a dead value was seen");
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.expect_intact();
        if meddles() && one_in(3) {
            nest();
        }
        self.expect_intact();
        set_alive_at(self.id, 0);
    }
}

fn alive_at(id: u32) -> u32 {
    ALIVE.with(|alive| alive[id as usize % IDS].get())
}

fn set_alive_at(id: u32, now: u32) {
    ALIVE.with(|alive| alive[id as usize % IDS].set(now));
}

/// What a program holds, with what has to be found there again: the line of the
/// value of a handle, the id of a value that is borrowed or boxed.
enum Thing {
    Slot(Slot<Value>, u32),
    Boxed(SlotBox<Value>, u32),
    Vacant(VacantSlot<Value>, Key),
    Ref(Ref<'static, Value>, u32),
    RefMut(RefMut<'static, Value>, u32),
    Value(Value),
    Iter(Walk<Iter<'static, Value, Growable>>),
    IterMut(Walk<IterMut<'static, Value, Growable>>),
    Keys(Walk<Keys<'static, Value, Growable>>),
    Drain(Walk<Drain<'static, Value, Growable>>),
}

/// An iterator, and what it has shown.
#[derive(Clone)]
struct Walk<I> {
    iterator: I,
    last: Option<Key>,
    is_done: bool,
}

impl<I: Iterator> Walk<I> {
    fn new(iterator: I) -> Self {
        Walk {
            iterator,
            last: None,
            is_done: false,
        }
    }

    fn next(&mut self, key: impl Fn(&I::Item) -> Key) -> Option<I::Item> {
        let (lower, upper) = self.iterator.size_hint();
        // All values may be removed before the walk reaches them.
        expect(lower == 0, "a lower bound promises too much");
        let item = self.iterator.next();
        match &item {
            Some(item) => {
                let key = Some(key(item));
                expect(upper > Some(0), "an item beyond the upper bound");
                expect(!self.is_done, "an item after the end");
                expect(self.last < key, "keys do not ascend");
                self.last = key;
            }
            None => self.is_done = true,
        }
        let rest = self.iterator.size_hint().1;
        expect(rest.is_some() && rest <= upper, "an upper bound has grown");
        item
    }
}

/// Puts a thing into the pool; drops it if that is full.
fn put(thing: Thing) {
    let surplus = POOL.with_borrow_mut(|pool| {
        if pool.len() < MOST_THINGS {
            pool.push(thing);
            return None;
        }
        Some(thing)
    });
    drop(surplus);
}

/// Takes anything out of the pool.
fn any() -> Option<Thing> {
    POOL.with_borrow_mut(|pool| {
        if pool.is_empty() {
            return None;
        }
        let at = random(pool.len() as u64) as usize;
        Some(pool.swap_remove(at))
    })
}

/// One step of a program.
fn step() {
    let Some(slab) = SLAB.get() else {
        return;
    };
    match random(26) {
        0..=5 if slab.len() < MOST_VALUES => insert(slab),
        6..=8 => resize(slab),
        9..=14 => with_all(slab),
        15..=18 => by_key(slab, Key::from_raw(random(24) as u32)),
        19 => put(begin_walk(slab)),
        20 => check_invariants(slab),
        _ => {
            if let Some(thing) = any() {
                with_thing(thing);
            }
        }
    }
}

/// Also during growth and shrinking, when the allocator is called.
fn check_invariants(slab: &Slab<Value>) {
    let meddles = MEDDLES.replace(false);
    slab.audit_but_stale();
    MEDDLES.set(meddles);
}

/// Calls `claim`, which takes a slot.
fn inserting<R>(slab: &Slab<Value>, claim: impl FnOnce() -> R) -> R {
    NEXT_FREE.set(slab.next_key());
    // A slab without a home makes the whole of it, even if the allocator makes
    // one too.
    INSERTS.set(slab.capacity() > 0);
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

fn insert(slab: &'static Slab<Value>) {
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
            let build = |vacant: &VacantSlot<Value>| {
                let key = vacant.key();
                expect_freed_last(key);
                nest();
                expect(vacant.key() == key, "a reservation has moved");
                expect(!slab.contains_key(key), "a reservation has a value");
                Value::new()
            };
            let inserted = inserting(slab, || slab.try_insert_with(build));
            if let Ok(slot) = inserted {
                slot.leak();
            }
        }
        _ => {
            let value = Value::new();
            let id = value.id;
            if let Ok(slot) = inserting(slab, || slab.try_insert(value)) {
                expect_freed_last(slot.key());
                let is_own = slot.try_get().is_none_or(|value| value.line == id);
                expect(is_own, "a new handle shows another value");
                if one_in(3) {
                    slot.leak();
                } else {
                    put(Thing::Slot(slot, id));
                }
            }
        }
    }
}

fn resize(slab: &Slab<Value>) {
    if one_in(3) {
        let additional = random(9) as usize;
        NEXT_FREE.set(slab.next_key());
        if slab.try_reserve(additional).is_ok() {
            let free = slab.capacity() - slab.len();
            expect(free >= additional, "what was reserved is not there");
        }
        if let Some(next) = slab.next_key() {
            expect_freed_last(next);
        }
    } else {
        slab.shrink();
    }
}

/// Something with all values there are, one after the other.
fn with_all(slab: &'static Slab<Value>) {
    match random(6) {
        0 => retain(slab),
        1 => {
            let mut drain = slab.drain();
            for (key, value) in drain.by_ref().take(random(4) as usize) {
                value.expect_intact();
                expect(
                    slab.get(key).is_none_or(|next| next.id != value.id),
                    "drained, and there",
                );
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
            if one_in(2) {
                forget(drain);
            }
        }
        2 => {
            for (key, value) in slab {
                let id = value.id;
                value.expect_intact();
                if one_in(4) {
                    nest();
                }
                value.expect_intact();
                expect(value.id == id, "a value changed under its guard");
                expect(slab.get_mut(key).is_none(), "a guard is not respected");
            }
        }
        3 => {
            for (key, value) in slab.iter_mut() {
                value.expect_intact();
                if one_in(4) {
                    nest();
                }
                value.expect_intact();
                expect(slab.get(key).is_none(), "a guard is not exclusive");
            }
        }
        4 => expect(slab.keys().count() <= slab.len(), "more keys than values"),
        // Not as often: a program needs values to go on.
        _ if one_in(3) => {
            let _ = slab.try_clear();
        }
        _ => {}
    }
}

fn retain(slab: &Slab<Value>) {
    let mut last = None;
    slab.retain(|key, value| {
        let id = value.id;
        value.expect_intact();
        expect(last < Some(key), "keys do not ascend");
        last = Some(key);
        let is_exclusive = slab.get(key).is_none() && slab.get_mut(key).is_none();
        expect(is_exclusive, "a value that is judged can be borrowed");
        if one_in(4) {
            nest();
        }
        value.expect_intact();
        expect(value.id == id, "a value changed while it was judged");
        one_in(2)
    });
}

/// Something by key.
fn by_key(slab: &'static Slab<Value>, key: Key) {
    match random(4) {
        0 => {
            if let Some(value) = slab.try_remove_by_key(key) {
                value.expect_intact();
                if one_in(2) {
                    put(Thing::Value(value));
                }
            }
        }
        1 => {
            if let Some(value) = slab.get(key) {
                let id = value.id;
                value.expect_intact();
                nest();
                value.expect_intact();
                if one_in(2) {
                    put(Thing::Ref(value, id));
                }
            }
        }
        2 => {
            if let Some(value) = slab.get_mut(key) {
                let id = value.id;
                value.expect_intact();
                nest();
                value.expect_intact();
                if one_in(2) {
                    put(Thing::RefMut(value, id));
                }
            }
        }
        _ => {
            if let Some(slot) = slab.slot(key) {
                // Without a look at its value nothing is known about it.
                match slot.try_get().map(|value| value.line) {
                    Some(line) => put(Thing::Slot(slot, line)),
                    None => drop(slot.leak()),
                }
            }
        }
    }
}

fn begin_walk(slab: &'static Slab<Value>) -> Thing {
    match random(4) {
        0 => Thing::Iter(Walk::new(slab.iter())),
        1 => Thing::IterMut(Walk::new(slab.iter_mut())),
        2 => Thing::Keys(Walk::new(slab.keys())),
        _ => Thing::Drain(Walk::new(slab.drain())),
    }
}

/// Something with a thing out of the pool.
fn with_thing(thing: Thing) {
    match thing {
        Thing::Value(value) => value.expect_intact(),
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
                2..=4 => put(Thing::RefMut(value, id)),
                _ => drop(value),
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
                    put(Thing::Slot(vacant.insert(value), id));
                }
            }
        }
        Thing::Boxed(boxed, id) => with_box(boxed, id),
        Thing::Slot(slot, line) => with_slot(slot, line),
        Thing::Iter(mut walk) => {
            let before = walk.clone();
            if let Some((_, value)) = walk.next(|item| item.0) {
                let id = value.id;
                value.expect_intact();
                if one_in(2) {
                    put(Thing::Ref(value, id));
                }
            }
            put(Thing::Iter(if one_in(4) { before } else { walk }));
        }
        Thing::IterMut(mut walk) => {
            if let Some((_, value)) = walk.next(|item| item.0) {
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
                1 => forget(walk),
                _ => put(Thing::Drain(walk)),
            }
        }
    }
}

fn with_box(mut boxed: SlotBox<Value>, id: u32) {
    boxed.expect_intact();
    expect(boxed.id == id, "a box shows another value");
    match random(5) {
        0 => drop(boxed),
        1 => put(Thing::Value(SlotBox::into_inner(boxed))),
        2 => {
            let line = boxed.line;
            put(Thing::Slot(SlotBox::into_slot(boxed), line));
        }
        3 => {
            let successor = boxed.successor();
            let id = successor.id;
            *boxed = successor;
            put(Thing::Boxed(boxed, id));
        }
        _ => put(Thing::Boxed(boxed, id)),
    }
}

fn with_slot(slot: Slot<Value>, line: u32) {
    if let Some(value) = slot.try_get() {
        value.expect_intact();
        expect(value.line == line, "a handle reaches another value");
    }
    match random(7) {
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
                let key = vacant.key();
                value.expect_intact();
                expect(value.line == line, "a handle gives another value");
                put(Thing::Vacant(vacant, key));
            }
            Err(slot) => put(Thing::Slot(slot, line)),
        },
        5 => {
            if let Some(value) = slot.try_get() {
                nest();
                value.expect_intact();
            }
            put(Thing::Slot(slot, line));
        }
        _ => put(Thing::Slot(slot, line)),
    }
}

/// One program, from a slab without memory to one without memory.
fn run(chunk_capacity: usize, number: u64, steps: u32) {
    seed(number);
    POOL.with_borrow_mut(|pool| pool.reserve_exact(MOST_THINGS));
    let before = LIVE_BYTES.get();
    // SAFETY: at the end the pool is empty, and no step can reach the slab.
    let place = unsafe { Detached::new(Slab::builder().chunk_capacity(chunk_capacity).build()) };
    let slab = place.get().unwrap();
    SLAB.set(Some(slab));
    for step in 0..steps {
        with_conduct(meddle, || {
            MEDDLES.set(true);
            nest();
            MEDDLES.set(false);
        });
        assert_eq!(WRONG.get(), None, "program {number}, step {step}");
        assert!(slab.len() <= slab.capacity());
        assert_eq!(slab.chunks() * chunk_capacity, slab.capacity());
        if number % 2 == 0 {
            // It puts fresh cells on the stack, so not in every program.
            slab.audit_but_stale();
        }
    }
    while let Some(thing) = any() {
        drop(thing);
    }
    slab.clear();
    assert!(slab.is_empty());
    slab.audit();
    slab.shrink();
    assert_eq!((slab.capacity(), slab.chunks()), (0, 0), "program {number}");
    slab.audit();
    SLAB.set(None);
    place.end();
    assert_eq!(WRONG.get(), None, "program {number}, in the end");
    let is_alive = |id: &Cell<u32>| id.get() != 0;
    let is_any_alive = ALIVE.with(|alive| alive.iter().any(is_alive));
    assert!(!is_any_alive, "program {number}: a value is lost");
    assert_eq!(LIVE_BYTES.get(), before, "program {number}: memory is lost");
}

fn many_programs(chunk_capacity: usize) {
    let (programs, steps) = if cfg!(miri) { (2, 60) } else { (300, 600) };
    for number in 1..=programs {
        run(chunk_capacity, number, steps);
    }
    assert!(INTERRUPTIONS.get() > 0 && REFUSED.get() > 0);
}

#[test]
fn programs_on_chunks_of_one_slot() {
    many_programs(1);
}

#[test]
fn programs_on_chunks_of_two_slots() {
    many_programs(2);
}

#[test]
fn programs_on_chunks_of_eight_slots() {
    many_programs(8);
}
