//! Random programs that look for undefined behaviour from safe code: steps on a
//! slab, on its handles, guards and iterators, and within destructors, closures
//! and, if the allocator takes part, within growth and shrinking.
//!
//! Checked at every step: each value is intact while anything shows it, and
//! dropped exactly once; a handle shows its own value, or one that was put in
//! place of that, and never the next in its slot; the slot that was freed last
//! is handed out first; iterators ascend and keep to their `size_hint`; what was
//! reserved is there; the audit finds nothing, also within a call of the
//! allocator.

#![forbid(unsafe_code)]
#![allow(dead_code, reason = "each user uses a part of this")]
#![allow(unreachable_pub, reason = "each user is a crate of its own")]

mod steps;
pub mod whole;

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread::{LocalKey, panicking};

use flatslab::{
    Bounded, Drain, Growable, Key, Keys, MappedRef, MappedRefMut, Ref, RefMut, Slot, SlotBox,
    TrackedSlab, TryIter, TryIterMut, VacantSlot,
};

use crate::common::random::{one_in, random, seed};
use crate::common::{Audit, Room};
use steps::step;

/// Steps within steps.
const DEEPEST: u32 = 4;

/// A slab of so many values gets no more: the chunks of small slabs are the ones
/// that come and go.
const MOST_VALUES: usize = 100;

/// The pool has room for so many things from the start, since it must not call
/// the allocator while it is borrowed.
const MOST_THINGS: usize = 200;

/// More than there are values at any time.
const IDS: usize = 4096;

/// What a program may do.
#[derive(Clone, Copy, Default)]
pub struct Rules {
    /// Destructors and closures panic at times.
    pub panics: bool,
    /// Values hold slots, reservations and other values.
    pub bags: bool,
    /// They also hold what keeps values borrowed, perhaps each other's, so that
    /// they are never dropped.
    pub cycles: bool,
    /// The slab is audited after every step, and its next slot looked at before
    /// an insertion. Both put fresh cells on the stack.
    pub audits: bool,
    /// Drains are forgotten at times, after which no chunk is given back.
    pub forgets: bool,
}

thread_local! {
    static RULES: Cell<Rules> = Cell::default();
    /// Whether destructors and the allocator take steps.
    static RUNS: Cell<bool> = const { Cell::new(false) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LAST_ID: Cell<u32> = const { Cell::new(0) };
    /// The ids of the living, each at its remainder; elsewhere zeros.
    static ALIVE: [Cell<u32>; IDS] = const { [const { Cell::new(0) }; IDS] };
    /// The first thing that was wrong: a step may run where it must not unwind.
    static WRONG: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// Whether a slot is asked for, of a slab that has a header already.
    static INSERTS: Cell<bool> = const { Cell::new(false) };
    /// The slot to be handed out next, as of the last call of the allocator.
    static NEXT_FREE: Cell<Option<Key>> = const { Cell::new(None) };
}

/// What the program on this thread holds.
pub struct State<M: Programs> {
    pool: RefCell<Vec<Thing<M>>>,
    slab: RefCell<Option<Which<M>>>,
}

/// A kind of memory with a state for each thread.
pub trait Programs: Room {
    fn state() -> &'static LocalKey<State<Self>>;
}

macro_rules! programs {
    ($($memory:ident),*) => {$(
        impl Programs for $memory {
            fn state() -> &'static LocalKey<State<Self>> {
                thread_local! {
                    static STATE: State<$memory> = const {
                        State { pool: RefCell::new(Vec::new()), slab: RefCell::new(None) }
                    };
                }
                &STATE
            }
        }
    )*};
}

programs!(Bounded, Growable);

/// The slab of a program: shared, so that any step may drop the last reference,
/// or static, so that guards and iterators need no lifetime.
pub enum Which<M: Programs> {
    Shared(Rc<TrackedSlab<Value<M>, M>>),
    Static(&'static TrackedSlab<Value<M>, M>),
}

impl<M: Programs> Clone for Which<M> {
    fn clone(&self) -> Self {
        match self {
            Which::Shared(slab) => Which::Shared(slab.clone()),
            Which::Static(slab) => Which::Static(slab),
        }
    }
}

impl<M: Programs> Deref for Which<M> {
    type Target = TrackedSlab<Value<M>, M>;

    fn deref(&self) -> &Self::Target {
        match self {
            Which::Shared(slab) => slab,
            Which::Static(slab) => slab,
        }
    }
}

pub fn slab<M: Programs>() -> Option<Which<M>> {
    M::state().with(|state| state.slab.borrow().clone())
}

pub fn set_slab<M: Programs>(slab: Option<Which<M>>) -> Option<Which<M>> {
    M::state().with(|state| state.slab.replace(slab))
}

/// A value that knows whether it is alive, may hold things, and acts when it
/// dies.
pub struct Value<M: Programs> {
    id: u32,
    canary: u32,
    /// The id of the first in a line of values, each put in place of the one
    /// before by a guard or a box: what a handle knows its value by.
    line: u32,
    bag: RefCell<Vec<Thing<M>>>,
    /// So that chunks can be as small as one slot.
    _width: [u64; 64],
}

impl<M: Programs> Value<M> {
    fn new() -> Self {
        let id = Self::new_id();
        Value {
            id,
            canary: !id,
            line: id,
            bag: RefCell::default(),
            _width: [0; 64],
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

impl<M: Programs> Drop for Value<M> {
    fn drop(&mut self) {
        self.expect_intact();
        let steps = match RULES.get() {
            _ if !runs() => 0,
            Rules { bags: true, .. } => random(3),
            _ => u64::from(one_in(3)),
        };
        let result = deeper(|| {
            for _ in 0..steps {
                step::<M>();
            }
            if one_in(3) {
                self.bag.take();
            }
        });
        self.expect_intact();
        set_alive_at(self.id, 0);
        if let (Err(payload), false) = (result, panicking()) {
            resume_unwind(payload);
        }
        panic_one_in(8);
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
enum Thing<M: Programs> {
    Slot(Slot<Value<M>>, u32),
    Boxed(SlotBox<Value<M>>, u32),
    Vacant(VacantSlot<Value<M>>, Key),
    Ref(Ref<'static, Value<M>>, u32),
    RefMut(RefMut<'static, Value<M>>, u32),
    Value(Value<M>),
    Slab(Rc<TrackedSlab<Value<M>, M>>),
    /// Guards that know the value's id, and not the value.
    Mapped(MappedRef<'static, u32>, u32),
    MappedMut(MappedRefMut<'static, u32>, u32),
    Iter(Walk<TryIter<'static, Value<M>, M>>),
    IterMut(Walk<TryIterMut<'static, Value<M>, M>>),
    Keys(Walk<Keys<'static, Value<M>, M>>),
    Drain(Walk<Drain<'static, Value<M>, M>>),
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
fn put<M: Programs>(thing: Thing<M>) {
    let surplus = M::state().with(|state| {
        let mut pool = state.pool.borrow_mut();
        if pool.len() < MOST_THINGS {
            pool.push(thing);
            return None;
        }
        Some(thing)
    });
    drop(surplus);
}

/// Takes anything out of the pool.
fn any<M: Programs>() -> Option<Thing<M>> {
    M::state().with(|state| {
        let mut pool = state.pool.borrow_mut();
        if pool.is_empty() {
            return None;
        }
        let at = random(pool.len() as u64) as usize;
        Some(pool.swap_remove(at))
    })
}

/// Whether destructors and the allocator take steps. Not during a panic, which
/// allocates.
pub fn runs() -> bool {
    RUNS.get() && !panicking()
}

/// Runs `f` one step deeper, unless that is too deep.
fn deeper(f: impl FnOnce()) -> std::thread::Result<()> {
    let (depth, inserts) = (DEPTH.get(), INSERTS.get());
    if depth >= DEEPEST {
        return Ok(());
    }
    DEPTH.set(depth + 1);
    INSERTS.set(false);
    let result = catch_unwind(AssertUnwindSafe(f));
    INSERTS.set(inserts);
    DEPTH.set(depth);
    expect(result.is_ok() || RULES.get().panics, "a step panicked");
    result
}

/// A step of the program, mostly within another.
pub fn nest<M: Programs>() {
    drop(deeper(step::<M>));
}

/// Panics on purpose, one time in `n`. The panic hook is not called.
fn panic_one_in(n: u64) {
    if RULES.get().panics && runs() && one_in(n) {
        resume_unwind(Box::new("asked to"));
    }
}

fn expect(holds: bool, what: &'static str) {
    if !holds && WRONG.get().is_none() {
        WRONG.set(Some(what));
    }
}

/// To be called by an allocator that takes part, when memory is asked for.
pub fn expect_memory_is_needed<M: Programs>() {
    let is_needed = !INSERTS.get() || slab::<M>().is_some_and(|slab| slab.is_full());
    expect(is_needed, "memory is asked for though a slot is free");
}

/// Notes the next slot: by an allocator that takes part, after each call.
pub fn note_next_free<M: Programs>() {
    let slab = slab::<M>().filter(|_| RULES.get().audits);
    NEXT_FREE.set(slab.and_then(|slab| slab.next_key()));
}

/// Begins a program on this thread.
pub fn begin<M: Programs>(number: u64, rules: Rules, slab: Which<M>) {
    seed(number);
    RULES.set(rules);
    WRONG.set(None);
    M::state().with(|state| state.pool.borrow_mut().reserve_exact(MOST_THINGS));
    set_slab(Some(slab));
}

/// Takes a step; `number` is the program's.
pub fn outer_step<M: Programs>(number: u64) {
    RUNS.set(true);
    nest::<M>();
    RUNS.set(false);
    assert_eq!(WRONG.get(), None, "program {number}");
    if let Some(slab) = slab::<M>() {
        assert!(slab.len() <= slab.capacity());
        if RULES.get().audits {
            slab.audit_but_stale();
        }
    }
}

/// Drops what the program holds, apart from its slab.
pub fn empty_pool<M: Programs>() {
    while let Some(thing) = any::<M>() {
        drop(thing);
    }
}

/// Ends the program, whose slab is gone.
pub fn end<M: Programs>(number: u64) {
    empty_pool::<M>();
    M::state().with(|state| state.pool.take());
    assert_eq!(WRONG.get(), None, "program {number}, in the end");
    let lost = ALIVE.with(|alive| alive.iter().filter(|id| id.take() != 0).count());
    assert!(
        lost == 0 || RULES.get().cycles,
        "program {number}: {lost} values are lost"
    );
}
