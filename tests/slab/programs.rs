//! Random programs that look for undefined behaviour from safe code: values
//! whose destructors run further random steps on their slab and on handles in a
//! common pool, and panic at times; handles and guards inside values; the last
//! reference to a slab dropped anywhere.
//!
//! Every value is dropped exactly once, a handle shows its own value and no
//! other, and the audit between the steps finds nothing.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread::{LocalKey, panicking};

use flatslab::{Bounded, Growable, Key, Ref, RefMut, Slot, SlotBox, TrackedSlab, VacantSlot};

use crate::common::random::{one_in, random, seed};
use crate::common::values::{expect_refusals, unexpected_panics};
use crate::common::{Audit, Room, over_both_slabs};

/// What a program holds: in the common pool, or within a value.
enum Thing<M: Programs> {
    Slot(Slot<Node<M>>, u64),
    Boxed(SlotBox<Node<M>>, u64),
    Vacant(VacantSlot<Node<M>>, Key),
    Ref(Ref<'static, Node<M>>, u64),
    RefMut(RefMut<'static, Node<M>>, u64),
    Node(Node<M>),
    Slab(Rc<TrackedSlab<Node<M>, M>>),
}

/// A value that knows whether it is alive, may hold anything, and acts when it
/// dies.
struct Node<M: Programs> {
    id: u64,
    canary: Box<u64>,
    bag: RefCell<Vec<Thing<M>>>,
}

/// The slab that the steps use: shared, or leaked, so that guards of it need no
/// lifetime.
enum Which<M: Programs> {
    Rc(Rc<TrackedSlab<Node<M>, M>>),
    Static(&'static TrackedSlab<Node<M>, M>),
}

impl<M: Programs> Clone for Which<M> {
    fn clone(&self) -> Self {
        match self {
            Which::Rc(slab) => Which::Rc(slab.clone()),
            Which::Static(slab) => Which::Static(*slab),
        }
    }
}

impl<M: Programs> std::ops::Deref for Which<M> {
    type Target = TrackedSlab<Node<M>, M>;

    fn deref(&self) -> &Self::Target {
        match self {
            Which::Rc(slab) => slab,
            Which::Static(slab) => slab,
        }
    }
}

/// What the program on this thread holds.
struct State<M: Programs> {
    pool: RefCell<Vec<Thing<M>>>,
    slab: RefCell<Option<Which<M>>>,
}

/// A kind of slab with a state for each thread.
trait Programs: Room {
    fn state() -> &'static LocalKey<State<Self>>;
}

macro_rules! programs {
    ($($kind:ident),*) => {$(
        impl Programs for $kind {
            fn state() -> &'static LocalKey<State<Self>> {
                thread_local! {
                    static STATE: State<$kind> = const {
                        State { pool: RefCell::new(Vec::new()), slab: RefCell::new(None) }
                    };
                }
                &STATE
            }
        }
    )*};
}

programs!(Bounded, Growable);

thread_local! {
    /// Steps within steps; destructors act up to the fourth.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    /// Whether destructors and closures panic at times.
    static PANICS: Cell<bool> = const { Cell::new(false) };
    /// Whether values may hold what keeps others borrowed, and so for ever.
    static GUARDS_IN_BAGS: Cell<bool> = const { Cell::new(false) };
    static ALIVE: RefCell<HashSet<u64>> = RefCell::default();
}

/// Panics on purpose, one time in `n`. The panic hook is not called.
fn panic_one_in(n: u64) {
    if PANICS.get() && !panicking() && one_in(n) {
        resume_unwind(Box::new("asked to"));
    }
}

impl<M: Programs> Node<M> {
    fn new() -> Self {
        let id = NEXT.get();
        NEXT.set(id + 1);
        ALIVE.with_borrow_mut(|a| a.insert(id));
        Node {
            id,
            canary: Box::new(id ^ 0xabcd),
            bag: RefCell::default(),
        }
    }
    fn ok(&self) {
        assert_eq!(*self.canary, self.id ^ 0xabcd);
        assert!(
            ALIVE.with_borrow(|a| a.contains(&self.id)),
            "a dead value was seen"
        );
    }
}

impl<M: Programs> Drop for Node<M> {
    fn drop(&mut self) {
        self.ok();
        let depth = DEPTH.get();
        if depth < 4 {
            DEPTH.set(depth + 1);
            let result = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..random(3) {
                    step::<M>();
                }
                if one_in(3) {
                    self.bag.take();
                }
            }));
            DEPTH.set(depth);
            if let Err(payload) = result {
                self.ok();
                assert!(ALIVE.with_borrow_mut(|a| a.remove(&self.id)));
                if panicking() {
                    return;
                }
                resume_unwind(payload);
            }
        }
        self.ok();
        assert!(
            ALIVE.with_borrow_mut(|a| a.remove(&self.id)),
            "dropped twice"
        );
        panic_one_in(8);
    }
}

fn slab<M: Programs>() -> Option<Which<M>> {
    M::state().with(|state| state.slab.borrow().clone())
}

fn set_slab<M: Programs>(slab: Option<Which<M>>) -> Option<Which<M>> {
    M::state().with(|state| state.slab.replace(slab))
}

fn put<M: Programs>(thing: Thing<M>) {
    M::state().with(|state| state.pool.borrow_mut().push(thing));
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

/// One more step of the program, from within another.
fn nest<M: Programs>() {
    let depth = DEPTH.get();
    if depth < 4 {
        DEPTH.set(depth + 1);
        let r = catch_unwind(step::<M>);
        DEPTH.set(depth);
        drop(r);
    }
}
/// Puts a thing into a value, or back into the pool.
fn stash<M: Programs>(node: &Node<M>, thing: Thing<M>) {
    if matches!(
        thing,
        Thing::Ref(..) | Thing::RefMut(..) | Thing::Boxed(..) | Thing::Slab(..)
    ) && !GUARDS_IN_BAGS.get()
    {
        return put(thing);
    }
    match node.bag.try_borrow_mut() {
        Ok(mut bag) => bag.push(thing),
        Err(_) => put(thing),
    }
}
/// Takes a thing out of a value.
fn unstash<M: Programs>(node: &Node<M>) {
    let thing = node.bag.try_borrow_mut().ok().and_then(|mut b| b.pop());
    if let Some(thing) = thing {
        put(thing);
    }
}

/// Something by key.
fn by_key<M: Programs>(slab: &Which<M>, key: Key) {
    match random(9) {
        0 | 1 => {
            if let Some(g) = slab.get(key) {
                g.ok();
                assert!(slab.contains_key(key) && slab.get_mut(key).is_none());
                nest::<M>();
                match any() {
                    Some(t) if one_in(2) => stash(&g, t),
                    Some(t) => put(t),
                    None => unstash(&g),
                }
                nest::<M>();
                g.ok();
            }
        }
        2 => {
            if let Some(mut g) = slab.get_mut(key) {
                g.ok();
                assert!(slab.get(key).is_none());
                nest::<M>();
                if one_in(4) {
                    // The old value dies in the assignment, under the guard.
                    *g = Node::new();
                }
                g.ok();
            }
        }
        3 => {
            if let Some(n) = slab.try_remove_by_key(key) {
                n.ok();
                assert!(!slab.contains_key(key));
                put(Thing::Node(n));
            }
        }
        4 | 5 => {
            if let Some(s) = slab.slot(key) {
                assert!(slab.slot(key).is_none());
                // Saturated readers do not happen here.
                let id = s.try_get().unwrap().id;
                assert!(s.is_valid() && s.key() == key);
                put(Thing::Slot(s, id));
            }
        }
        6 | 7 => {
            if let Which::Static(slab) = slab {
                if one_in(2) {
                    if let Some(g) = slab.get(key) {
                        let id = g.id;
                        put(Thing::Ref(g, id));
                    }
                } else if let Some(g) = slab.get_mut(key) {
                    let id = g.id;
                    put(Thing::RefMut(g, id));
                }
            }
        }
        _ => {
            if let Some(g) = slab.get(key) {
                unstash(&g);
            }
        }
    }
}

/// Something with a thing out of the pool.
fn with_thing<M: Programs>(thing: Thing<M>) {
    match thing {
        Thing::Node(n) => {
            n.ok();
            if let (Some(s), true) = (slab::<M>(), one_in(2)) {
                let id = n.id;
                match s.try_insert(n) {
                    Ok(slot) => {
                        assert!(slot.is_valid());
                        put(Thing::Slot(slot, id))
                    }
                    Err(full) => drop(full),
                }
            }
        }
        Thing::Slab(s) => drop(s),
        Thing::Ref(g, id) => {
            g.ok();
            assert_eq!(g.id, id);
            if one_in(2) {
                put(Thing::Ref(g, id))
            }
        }
        Thing::RefMut(mut g, id) => {
            g.ok();
            assert_eq!(g.id, id);
            if one_in(4) {
                g.bag = RefCell::default();
            }
            if one_in(2) {
                put(Thing::RefMut(g, id))
            }
        }
        Thing::Vacant(v, key) => {
            assert_eq!(v.key(), key);
            match random(3) {
                0 => drop(v),
                1 => put(Thing::Vacant(v, key)),
                _ => {
                    let n = Node::new();
                    let id = n.id;
                    let slot = v.insert(n);
                    assert_eq!(slot.key(), key);
                    put(Thing::Slot(slot, id));
                }
            }
        }
        Thing::Boxed(mut b, id) => {
            b.ok();
            match random(6) {
                0 => drop(b),
                1 => put(Thing::Node(SlotBox::into_inner(b))),
                2 => {
                    let id = b.id;
                    put(Thing::Slot(SlotBox::into_slot(b), id))
                }
                3 => {
                    nest::<M>();
                    *b = Node::new();
                    b.ok();
                    let id = b.id;
                    put(Thing::Boxed(b, id))
                }
                4 => drop(SlotBox::into_pin(b)),
                _ => {
                    if let Some(t) = any::<M>() {
                        stash(&b, t)
                    }
                    assert_eq!(b.id, id);
                    put(Thing::Boxed(b, id))
                }
            }
        }
        Thing::Slot(slot, id) => with_slot(slot, id),
    }
}

/// Something with a slot.
fn with_slot<M: Programs>(slot: Slot<Node<M>>, id: u64) {
    let key = slot.key();
    let id = match slot.try_get() {
        Some(g) => {
            g.ok();
            g.id
        }
        None => id,
    };
    match random(11) {
        0 => drop(slot),
        1 => match slot.try_into_inner() {
            Ok(n) => {
                n.ok();
                put(Thing::Node(n))
            }
            Err(slot) => put(Thing::Slot(slot, id)),
        },
        2 => match slot.try_into_box() {
            Ok(b) => {
                assert_eq!(b.id, id);
                put(Thing::Boxed(b, id))
            }
            Err(slot) => put(Thing::Slot(slot, id)),
        },
        3 => match slot.try_take() {
            Ok((n, v)) => {
                assert_eq!((n.id, v.key()), (id, key));
                put(Thing::Vacant(v, key));
                if one_in(2) {
                    put(Thing::Node(n))
                }
            }
            Err(slot) => put(Thing::Slot(slot, id)),
        },
        4 => {
            let n = Node::new();
            let new = n.id;
            match slot.try_replace(n) {
                Ok(old) => {
                    old.ok();
                    assert_eq!(old.id, id);
                    put(Thing::Slot(slot, new));
                }
                Err(_) => put(Thing::Slot(slot, id)),
            }
        }
        5 => drop(slot.leak()),
        6 => {
            if let Some(g) = slot.try_get() {
                nest::<M>();
                g.ok();
                assert_eq!(g.id, id);
                nest::<M>();
            }
            put(Thing::Slot(slot, id))
        }
        7 => {
            if let Some(g) = slot.try_get_mut() {
                nest::<M>();
                g.ok();
                assert_eq!(g.id, id);
            }
            put(Thing::Slot(slot, id))
        }
        8 if matches!(slab::<M>(), Some(Which::Rc(_))) && one_in(4) && GUARDS_IN_BAGS.get() => {
            let slot: &'static Slot<Node<M>> = Box::leak(Box::new(slot));
            if let Some(g) = slot.try_get() {
                put(Thing::Ref(g, id));
            }
            if let Some(g) = slot.try_get_mut() {
                put(Thing::RefMut(g, id));
            }
        }
        9 if !panicking() => match random(3) {
            0 => put(Thing::Node(slot.into_inner())),
            1 => put(Thing::Boxed(slot.into_box(), id)),
            _ => {
                let (n, v) = slot.take();
                put(Thing::Node(n));
                put(Thing::Vacant(v, key));
            }
        },
        _ => {
            // Into its own value, or another's.
            if let Some(s) = slab::<M>() {
                let k = if one_in(2) {
                    key
                } else {
                    Key::from_raw(random(12) as u32)
                };
                if let Some(g) = s.get(k) {
                    stash(&g, Thing::Slot(slot, id));
                    return;
                }
            }
            put(Thing::Slot(slot, id))
        }
    }
}

/// Something with all values there are, one after the other.
fn with_all<M: Programs>(slab: &Which<M>) {
    match random(7) {
        0 => slab.retain(|key, node| {
            node.ok();
            assert!(slab.get(key).is_none() && slab.slot(key).is_none());
            nest::<M>();
            panic_one_in(8);
            node.ok();
            random(3) > 0
        }),
        1 => {
            for (key, node) in slab.drain().take(random(4) as usize) {
                node.ok();
                assert!(!slab.contains_key(key));
                put(Thing::Node(node));
                nest::<M>();
            }
        }
        2 => {
            for (key, node) in slab.iter() {
                assert!(slab.contains_key(key));
                nest::<M>();
                node.ok();
            }
        }
        3 => {
            for (key, mut node) in slab.iter_mut() {
                assert!(slab.get(key).is_none());
                nest::<M>();
                if one_in(8) {
                    *node = Node::new();
                }
                node.ok();
            }
        }
        4 => {
            for key in slab.keys() {
                assert!(slab.contains_key(key));
                nest::<M>();
            }
        }
        5 => M::reserve(slab, random(6) as usize),
        _ => M::shrink(slab),
    }
}

/// One step of a program.
fn step<M: Programs>() {
    match (random(13), slab::<M>()) {
        (12, Some(s)) => with_all(&s),
        (0 | 1, Some(s)) => {
            let n = Node::new();
            let id = n.id;
            if let Ok(slot) = s.try_insert(n) {
                assert_eq!(slot.get().id, id);
                put(Thing::Slot(slot, id))
            }
        }
        (2, Some(s)) => {
            let r = s.try_insert_with(|v| {
                let key = v.key();
                nest::<M>();
                assert!(!s.contains_key(key) && v.key() == key);
                panic_one_in(4);
                Node::new()
            });
            if let Ok(slot) = r {
                let id = slot.get().id;
                put(Thing::Slot(slot, id))
            }
        }
        (3, Some(s)) => {
            if let Ok(v) = s.try_vacant_slot() {
                let key = v.key();
                put(Thing::Vacant(v, key))
            }
        }
        (4, Some(s)) if one_in(3) => drop(s.try_clear()),
        (4..=6, Some(s)) => by_key(&s, Key::from_raw(random(12) as u32)),
        (7, Some(s)) => {
            if let (Which::Rc(rc), 0) = (&s, random(4)) {
                put(Thing::<M>::Slab(rc.clone()));
            }
            if matches!(s, Which::Rc(_)) && one_in(6) {
                let gone = set_slab::<M>(None);
                drop(s);
                drop(gone);
            }
        }
        _ => {
            if let Some(t) = any::<M>() {
                with_thing(t)
            }
        }
    }
}

/// One program, from an empty slab to the last handle.
fn run<M: Programs>(number: u64, steps: u64) {
    seed(number);
    let new = || M::with_room(5);
    let leaked = number % 2 == 0;
    // The audit puts fresh cells on the stack, so half of the programs go
    // without it until the end.
    let audits = number % 4 < 2;
    PANICS.set(number % 3 != 0);
    GUARDS_IN_BAGS.set(number % 5 == 0);
    DEPTH.set(0);
    set_slab(Some(if leaked {
        Which::<M>::Static(Box::leak(Box::new(new())))
    } else {
        Which::Rc(Rc::new(new()))
    }));
    for _ in 0..steps {
        let _ = catch_unwind(step::<M>);
        if let Some(slab) = slab::<M>() {
            if audits {
                slab.audit_but_stale();
            }
            assert!(slab.len() <= slab.capacity());
            // This may be the last reference.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(slab)));
        } else if one_in(8) {
            set_slab(Some(Which::<M>::Rc(Rc::new(new()))));
        }
    }
    // The end: destructors do nothing more.
    DEPTH.set(99);
    PANICS.set(false);
    let last = set_slab::<M>(None);
    if one_in(2) || leaked {
        while let Some(thing) = any::<M>() {
            drop(thing);
        }
    }
    match last {
        Some(Which::Static(slab)) => {
            slab.audit_but_stale();
            if slab.try_clear().is_err() {
                assert!(GUARDS_IN_BAGS.get(), "{number}: still borrowed");
            } else {
                slab.audit();
                assert_eq!(slab.len(), 0, "{number}");
            }
        }
        other => drop(other),
    }
    while let Some(thing) = any::<M>() {
        drop(thing);
    }
    let left = ALIVE.take();
    assert!(
        left.is_empty() || GUARDS_IN_BAGS.get(),
        "{number}: {left:?}"
    );
    // A panic in a destructor may have been swallowed there.
    let panics = unexpected_panics();
    assert!(panics.is_empty(), "{number}: {panics:#?}");
}

fn no_program_drops_a_value_twice_or_reaches_a_dead_one<M: Programs>() {
    expect_refusals();
    if cfg!(miri) {
        // Those that leak neither slabs nor guards.
        for number in [1, 3, 7, 9, 11, 13] {
            run::<M>(number, 120);
        }
    } else {
        for number in 1..=1500 {
            run::<M>(number, 400);
        }
    }
}

over_both_slabs!(no_program_drops_a_value_twice_or_reaches_a_dead_one);
