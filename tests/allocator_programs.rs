//! Random programs under the worst allocator there may be: when it is called,
//! it runs further random steps at times on the very slab that allocates or
//! frees, before its duty and behind it, and it refuses one request in six.
//! Destructors and closures act likewise. The `unsafe` here is the allocator's,
//! and that of giving a slab back of which guards without a lifetime were made.
//!
//! Proved at every step: each value is intact while anything shows it, and
//! dropped exactly once; a handle shows its own value, or one that was put in
//! place of that, and never the next in its slot; the slot that was freed last
//! is handed out first, and no memory asked for while there is one; iterators
//! ascend and keep to their `size_hint`; what was reserved is there; the
//! invariants hold, also in the midst of a call of the allocator. And in the
//! end: no slot is lost, a slab of nothing but free slots shrinks to nothing, no
//! byte is leaked. Freed memory is overwritten, so that whoever still looks
//! there sees no value.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::panic::catch_unwind;

use flatslab::{Drain, Iter, IterMut, Key, Keys, Ref, RefMut, Slab, Slot, SlotBox, VacantSlot};

struct Meddling;

/// What freed memory is filled with: neither a stamp, nor a pointer, nor a
/// value that is intact.
const POISON: u8 = 0xa5;

/// Steps within steps.
const DEEPEST: u32 = 4;

/// A slab of so many values gets no more: it is small slabs whose chunks come
/// and go.
const MOST_VALUES: usize = 100;

/// Things in the pool, for which it has room from the start: it must not call
/// the allocator while it is borrowed.
const MOST_THINGS: usize = 200;

/// More than there are values at any time, in the slab, the pool and between.
const IDS: usize = 1024;

thread_local! {
    // The state of the program that runs on this thread.
    static SLAB: Cell<Option<&'static Slab<Value>>> = const { Cell::new(None) };
    static POOL: RefCell<Vec<Thing>> = const { RefCell::new(Vec::new()) };
    static RNG: Cell<u64> = const { Cell::new(1) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether the allocator and the destructors do more than their duty.
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
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static INTERRUPTIONS: Cell<u32> = const { Cell::new(0) };
    static REFUSALS: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's, or null.
unsafe impl GlobalAlloc for Meddling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let is_needed = !INSERTS.get() || SLAB.get().is_some_and(Slab::is_full);
        expect(is_needed, "memory is asked for though a slot is free");
        interrupt();
        if meddles() && one_in(6) {
            REFUSALS.set(REFUSALS.get() + 1);
            return std::ptr::null_mut();
        }
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's word.
        let start = unsafe { System.alloc(layout) };
        interrupt();
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        interrupt();
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's word: a block of that many bytes, which nobody
        // uses any more.
        unsafe {
            start.write_bytes(POISON, layout.size());
            System.dealloc(start, layout);
        }
        interrupt();
    }
}

#[global_allocator]
static ALLOCATOR: Meddling = Meddling;

/// Not while a panic is on its way, which itself allocates.
fn meddles() -> bool {
    MEDDLES.get() && !std::thread::panicking()
}

fn interrupt() {
    if meddles() && one_in(3) {
        INTERRUPTIONS.set(INTERRUPTIONS.get() + 1);
        nest();
    }
    NEXT_FREE.set(SLAB.get().and_then(|slab| slab.free_key(0)));
}

/// A step of the program, mostly from within another. What panics there is
/// noted: nothing that a step calls has a reason to.
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

/// A number below `n`: xorshift, the same program for the same seed.
fn random(n: u64) -> u64 {
    let mut x = RNG.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    RNG.set(x);
    (x >> 11) % n
}

fn one_in(n: u64) -> bool {
    random(n) == 0
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
    Iter(Walk<Iter<'static, Value, flatslab::Growable>>),
    IterMut(Walk<IterMut<'static, Value, flatslab::Growable>>),
    Keys(Walk<Keys<'static, Value, flatslab::Growable>>),
    Drain(Walk<Drain<'static, Value, flatslab::Growable>>),
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
        // Whatever is there may be removed before the walk comes to it.
        expect(lower == 0, "a lower bound promises too much");
        let item = self.iterator.next();
        match &item {
            Some(item) => {
                let key = Some(key(item));
                expect(upper > Some(0), "an item beyond the upper bound");
                expect(!self.is_done, "an item behind the end");
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

/// Also in the midst of growth or shrinking, when the allocator is called.
fn check_invariants(slab: &Slab<Value>) {
    let meddles = MEDDLES.replace(false);
    slab.check();
    MEDDLES.set(meddles);
}

/// Calls `claim`, which takes a slot.
fn inserting<R>(slab: &Slab<Value>, claim: impl FnOnce() -> R) -> R {
    NEXT_FREE.set(slab.free_key(0));
    // The first home is made whole, whatever the slab has got meanwhile.
    INSERTS.set(slab.capacity() > 0);
    let result = claim();
    INSERTS.set(false);
    result
}

/// To be called with a key that was taken, or is the next to be, behind the last
/// call of the allocator.
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
        NEXT_FREE.set(slab.free_key(0));
        if slab.try_reserve(additional).is_ok() {
            let free = slab.capacity() - slab.len();
            expect(free >= additional, "what was reserved is not there");
        }
        if let Some(next) = slab.free_key(0) {
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
fn run(chunk_capacity: usize, seed: u64, steps: u32) {
    RNG.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    POOL.with_borrow_mut(|pool| pool.reserve_exact(MOST_THINGS));
    let before = LIVE_BYTES.get();
    let place = Box::into_raw(Box::new(
        Slab::builder().chunk_capacity(chunk_capacity).build(),
    ));
    // SAFETY: just made; given back below, when no guard, iterator or step can
    // refer to it any more.
    let slab: &'static Slab<Value> = unsafe { &*place };
    SLAB.set(Some(slab));
    for number in 0..steps {
        MEDDLES.set(true);
        nest();
        MEDDLES.set(false);
        assert_eq!(WRONG.get(), None, "seed {seed}, step {number}");
        slab.check();
        assert!(slab.len() <= slab.capacity());
        assert_eq!(slab.chunks() * chunk_capacity, slab.capacity());
    }
    while let Some(thing) = any() {
        drop(thing);
    }
    slab.clear();
    slab.check();
    assert!(slab.is_empty());
    let vacant: Vec<_> = (0..slab.capacity()).map(|_| slab.vacant_slot()).collect();
    assert!(
        slab.is_full(),
        "seed {seed}: each free slot once, with no growth"
    );
    drop(vacant);
    slab.shrink();
    assert_eq!((slab.capacity(), slab.chunks()), (0, 0), "seed {seed}");
    slab.check();
    SLAB.set(None);
    // SAFETY: from `into_raw`; the pool is empty, and the slab is out of sight.
    drop(unsafe { Box::from_raw(place) });
    assert_eq!(WRONG.get(), None, "seed {seed}, in the end");
    let is_alive = |id: &Cell<u32>| id.get() != 0;
    assert!(
        !ALIVE.with(|alive| alive.iter().any(is_alive)),
        "seed {seed}: a value is lost"
    );
    assert_eq!(LIVE_BYTES.get(), before, "seed {seed}: memory is lost");
}

fn many_programs(chunk_capacity: usize) {
    let (programs, steps) = if cfg!(miri) { (2, 60) } else { (300, 600) };
    for seed in 1..=programs {
        run(chunk_capacity, seed, steps);
    }
    assert!(INTERRUPTIONS.get() > 0 && REFUSALS.get() > 0);
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
