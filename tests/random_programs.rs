//! Random programs by someone who wants undefined behaviour from safe code:
//! values whose destructors run further random operations on the slab they
//! stand in and on handles in a common pool, and panic at times; handles and
//! guards that lie in values; the last reference to a slab that goes anywhere.
//!
//! Every value is dropped exactly once, a handle only ever shows its own value,
//! and the invariants hold between the steps.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flatslab::{
    Borrowed, BoundedSlab, CapacityError, Drain, Full, Iter, IterMut, Key, Keys, Ref, RefMut, Slab,
    Slot, SlotBox, VacantSlot,
};

/// A slab of either kind. Not generic: thread-locals cannot be.
enum Either {
    Bounded(BoundedSlab<Node>),
    Growable(Slab<Node>),
}

/// The same on both, the growable one's under the name that cannot panic.
macro_rules! either {
    ($self:ident, $slab:ident => $bounded:expr, $growable:expr) => {
        match $self {
            Either::Bounded($slab) => $bounded,
            Either::Growable($slab) => $growable,
        }
    };
    ($self:ident, $slab:ident => $both:expr) => {
        either!($self, $slab => $both, $both)
    };
}

impl Either {
    fn new(grows: bool) -> Self {
        if grows {
            Either::Growable(Slab::builder().chunk_capacity(2).build())
        } else {
            Either::Bounded(BoundedSlab::with_capacity(5))
        }
    }
    fn insert(&self, node: Node) -> Result<Slot<Node>, Full<Node>> {
        either!(self, slab => slab.insert(node), slab.try_insert(node))
    }
    fn insert_with(
        &self,
        f: impl FnOnce(&VacantSlot<Node>) -> Node,
    ) -> Result<Slot<Node>, CapacityError> {
        either!(self, slab => slab.insert_with(f), slab.try_insert_with(f))
    }
    fn vacant_slot(&self) -> Result<VacantSlot<Node>, CapacityError> {
        either!(self, slab => slab.vacant_slot(), slab.try_vacant_slot())
    }
    fn get(&self, key: Key) -> Option<Ref<'_, Node>> {
        either!(self, slab => slab.get(key))
    }
    fn get_mut(&self, key: Key) -> Option<RefMut<'_, Node>> {
        either!(self, slab => slab.get_mut(key))
    }
    fn contains_key(&self, key: Key) -> bool {
        either!(self, slab => slab.contains_key(key))
    }
    fn try_remove_by_key(&self, key: Key) -> Option<Node> {
        either!(self, slab => slab.try_remove_by_key(key))
    }
    fn slot(&self, key: Key) -> Option<Slot<Node>> {
        either!(self, slab => slab.slot(key))
    }
    fn try_clear(&self) -> Result<(), Borrowed> {
        either!(self, slab => slab.try_clear())
    }
    fn iter(&self) -> Iter<'_, Node> {
        either!(self, slab => slab.iter())
    }
    fn iter_mut(&self) -> IterMut<'_, Node> {
        either!(self, slab => slab.iter_mut())
    }
    fn keys(&self) -> Keys<'_, Node> {
        either!(self, slab => slab.keys())
    }
    fn retain(&self, keep: impl FnMut(Key, &mut Node) -> bool) {
        either!(self, slab => slab.retain(keep));
    }
    fn drain(&self) -> Drain<'_, Node> {
        either!(self, slab => slab.drain())
    }
    fn reserve(&self, additional: usize) {
        either!(self, _slab => {}, _slab.reserve(additional));
    }
    fn shrink(&self) {
        either!(self, _slab => {}, _slab.shrink());
    }
    fn len(&self) -> usize {
        either!(self, slab => slab.len())
    }
    fn capacity(&self) -> usize {
        either!(self, slab => slab.capacity())
    }
    fn is_full(&self) -> bool {
        either!(self, slab => slab.is_full())
    }
    fn check(&self) {
        either!(self, slab => slab.check());
    }
}

/// What a program holds: in the common pool, or within a value.
enum Thing {
    Slot(Slot<Node>, u64),
    Boxed(SlotBox<Node>, u64),
    Vacant(VacantSlot<Node>, Key),
    Ref(Ref<'static, Node>, u64),
    RefMut(RefMut<'static, Node>, u64),
    Node(Node),
    Slab(Rc<Either>),
}

/// A value that knows whether it is alive, may hold anything, and acts when it
/// dies.
struct Node {
    id: u64,
    canary: Box<u64>,
    bag: RefCell<Vec<Thing>>,
}

/// The slab of the moment: shared, or leaked so that guards need no lifetime.
#[derive(Clone)]
enum Which {
    Rc(Rc<Either>),
    Static(&'static Either),
}
impl std::ops::Deref for Which {
    type Target = Either;
    fn deref(&self) -> &Either {
        match self {
            Which::Rc(s) => s,
            Which::Static(s) => s,
        }
    }
}

thread_local! {
    // The state of the program that runs on this thread.
    static RNG: Cell<u64> = const { Cell::new(1) };
    /// Steps within steps; destructors act up to the fourth.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    /// Whether destructors and closures panic at times.
    static PANICS: Cell<bool> = const { Cell::new(false) };
    /// Whether values may hold what keeps others borrowed, and so for ever.
    static GUARDS_IN_BAGS: Cell<bool> = const { Cell::new(false) };
    static ALIVE: RefCell<HashSet<u64>> = RefCell::default();
    static POOL: RefCell<Vec<Thing>> = RefCell::default();
    static SLAB: RefCell<Option<Which>> = RefCell::default();
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

impl Node {
    fn new() -> Node {
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

impl Drop for Node {
    fn drop(&mut self) {
        self.ok();
        let depth = DEPTH.get();
        if depth < 4 {
            DEPTH.set(depth + 1);
            let result = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..random(3) {
                    step();
                }
                if random(3) == 0 {
                    self.bag.take();
                }
            }));
            DEPTH.set(depth);
            if let Err(payload) = result {
                self.ok();
                assert!(ALIVE.with_borrow_mut(|a| a.remove(&self.id)));
                if std::thread::panicking() {
                    return;
                }
                std::panic::resume_unwind(payload);
            }
        }
        self.ok();
        assert!(
            ALIVE.with_borrow_mut(|a| a.remove(&self.id)),
            "dropped twice"
        );
        if PANICS.get() && !std::thread::panicking() && random(8) == 0 {
            std::panic::resume_unwind(Box::new("asked to"));
        }
    }
}

fn slab() -> Option<Which> {
    SLAB.with_borrow(|s| s.clone())
}
fn put(thing: Thing) {
    // A guard's bag may be gone meanwhile; the pool always takes.
    POOL.with_borrow_mut(|p| p.push(thing));
}
/// Takes anything out of the pool.
fn any() -> Option<Thing> {
    POOL.with_borrow_mut(|p| {
        if p.is_empty() {
            return None;
        }
        let i = random(p.len() as u64) as usize;
        Some(p.swap_remove(i))
    })
}
/// One more step of the program, from within another.
fn nest() {
    let depth = DEPTH.get();
    if depth < 4 {
        DEPTH.set(depth + 1);
        let r = catch_unwind(AssertUnwindSafe(step));
        DEPTH.set(depth);
        drop(r);
    }
}
/// Puts a thing into a value, or back into the pool.
fn stash(node: &Node, thing: Thing) {
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
fn unstash(node: &Node) {
    let thing = node.bag.try_borrow_mut().ok().and_then(|mut b| b.pop());
    if let Some(thing) = thing {
        put(thing);
    }
}

/// Something by key.
fn by_key(slab: &Which, key: Key) {
    match random(9) {
        0 | 1 => {
            if let Some(g) = slab.get(key) {
                g.ok();
                assert!(slab.contains_key(key) && slab.get_mut(key).is_none());
                nest();
                match any() {
                    Some(t) if random(2) == 0 => stash(&g, t),
                    Some(t) => put(t),
                    None => unstash(&g),
                }
                nest();
                g.ok();
            }
        }
        2 => {
            if let Some(mut g) = slab.get_mut(key) {
                g.ok();
                assert!(slab.get(key).is_none());
                nest();
                if random(4) == 0 {
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
                if random(2) == 0 {
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
fn with_thing(thing: Thing) {
    match thing {
        Thing::Node(n) => {
            n.ok();
            if let (Some(s), true) = (slab(), random(2) == 0) {
                let id = n.id;
                match s.insert(n) {
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
            if random(2) == 0 {
                put(Thing::Ref(g, id))
            }
        }
        Thing::RefMut(mut g, id) => {
            g.ok();
            assert_eq!(g.id, id);
            if random(4) == 0 {
                g.bag = RefCell::default();
            }
            if random(2) == 0 {
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
                    nest();
                    *b = Node::new();
                    b.ok();
                    let id = b.id;
                    put(Thing::Boxed(b, id))
                }
                4 => drop(SlotBox::into_pin(b)),
                _ => {
                    if let Some(t) = any() {
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
fn with_slot(slot: Slot<Node>, id: u64) {
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
                if random(2) == 0 {
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
                nest();
                g.ok();
                assert_eq!(g.id, id);
                nest();
            }
            put(Thing::Slot(slot, id))
        }
        7 => {
            if let Some(g) = slot.try_get_mut() {
                nest();
                g.ok();
                assert_eq!(g.id, id);
            }
            put(Thing::Slot(slot, id))
        }
        8 if matches!(slab(), Some(Which::Rc(_))) && random(4) == 0 && GUARDS_IN_BAGS.get() => {
            let slot: &'static Slot<Node> = Box::leak(Box::new(slot));
            if let Some(g) = slot.try_get() {
                put(Thing::Ref(g, id));
            }
            if let Some(g) = slot.try_get_mut() {
                put(Thing::RefMut(g, id));
            }
        }
        9 if !std::thread::panicking() => match random(3) {
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
            if let Some(s) = slab() {
                let k = if random(2) == 0 {
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
fn with_all(slab: &Which) {
    match random(7) {
        0 => slab.retain(|key, node| {
            node.ok();
            assert!(slab.get(key).is_none() && slab.slot(key).is_none());
            nest();
            if PANICS.get() && random(8) == 0 && !std::thread::panicking() {
                std::panic::resume_unwind(Box::new("asked to"));
            }
            node.ok();
            random(3) > 0
        }),
        1 => {
            for (key, node) in slab.drain().take(random(4) as usize) {
                node.ok();
                assert!(!slab.contains_key(key));
                put(Thing::Node(node));
                nest();
            }
        }
        2 => {
            for (key, node) in slab.iter() {
                assert!(slab.contains_key(key));
                nest();
                node.ok();
            }
        }
        3 => {
            for (key, mut node) in slab.iter_mut() {
                assert!(slab.get(key).is_none());
                nest();
                if random(8) == 0 {
                    *node = Node::new();
                }
                node.ok();
            }
        }
        4 => {
            for key in slab.keys() {
                assert!(slab.contains_key(key));
                nest();
            }
        }
        5 => slab.reserve(random(6) as usize),
        _ => slab.shrink(),
    }
}

/// One step of a program.
fn step() {
    match (random(13), slab()) {
        (12, Some(s)) => with_all(&s),
        (0 | 1, Some(s)) => {
            let n = Node::new();
            let id = n.id;
            if let Ok(slot) = s.insert(n) {
                assert_eq!(slot.get().id, id);
                put(Thing::Slot(slot, id))
            }
        }
        (2, Some(s)) => {
            let r = s.insert_with(|v| {
                let key = v.key();
                nest();
                assert!(!s.contains_key(key) && v.key() == key);
                if PANICS.get() && random(4) == 0 && !std::thread::panicking() {
                    std::panic::resume_unwind(Box::new("asked to"));
                }
                Node::new()
            });
            if let Ok(slot) = r {
                let id = slot.get().id;
                put(Thing::Slot(slot, id))
            }
        }
        (3, Some(s)) => {
            if let Ok(v) = s.vacant_slot() {
                let key = v.key();
                put(Thing::Vacant(v, key))
            }
        }
        (4, Some(s)) if random(3) == 0 => drop(s.try_clear()),
        (4..=6, Some(s)) => by_key(&s, Key::from_raw(random(12) as u32)),
        (7, Some(s)) => {
            if let (Which::Rc(rc), 0) = (&s, random(4)) {
                put(Thing::Slab(rc.clone()));
            }
            if matches!(s, Which::Rc(_)) && random(6) == 0 {
                let gone = SLAB.with_borrow_mut(|s| s.take());
                drop(s);
                drop(gone);
            }
        }
        _ => {
            if let Some(t) = any() {
                with_thing(t)
            }
        }
    }
}

/// One program a seed, from an empty slab to the last handle.
fn run(grows: bool, seeds: std::ops::Range<u64>, steps: u64) {
    let new = || Either::new(grows);
    for seed in seeds {
        no_unexpected_panics(seed);
        RNG.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let leaked = seed % 2 == 0;
        PANICS.set(seed % 3 != 0);
        GUARDS_IN_BAGS.set(seed % 5 == 0);
        DEPTH.set(0);
        let which = if leaked {
            Which::Static(Box::leak(Box::new(new())))
        } else {
            Which::Rc(Rc::new(new()))
        };
        SLAB.with_borrow_mut(|s| *s = Some(which));
        for _ in 0..steps {
            let _ = catch_unwind(AssertUnwindSafe(step));
            if let Some(s) = slab() {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(s.clone()))); // last ones
                s.check();
                assert!(s.len() <= s.capacity());
            } else if random(8) == 0 {
                let which = Which::Rc(Rc::new(new()));
                SLAB.with_borrow_mut(|s| *s = Some(which));
            }
        }
        // The end: no more acting destructors.
        DEPTH.set(99);
        PANICS.set(false);
        let slab = SLAB.with_borrow_mut(|s| s.take());
        if random(2) == 0 || leaked {
            while let Some(t) = any() {
                drop(t)
            }
        }
        match slab {
            Some(Which::Static(s)) => {
                s.check();
                if s.try_clear().is_err() {
                    assert!(GUARDS_IN_BAGS.get(), "seed {seed}: still borrowed");
                } else {
                    // A bag may have had what kept others.
                    s.check();
                    assert_eq!(s.len(), 0);
                    assert_eq!(
                        s.capacity(),
                        {
                            let v: Vec<_> = std::iter::from_fn(|| {
                                (!s.is_full()).then(|| s.vacant_slot().ok().unwrap())
                            })
                            .collect();
                            v.len()
                        },
                        "seed {seed}: a cell is lost"
                    );
                }
            }
            other => drop(other),
        }
        while let Some(t) = any() {
            drop(t)
        }
        let left = ALIVE.take();
        assert!(
            left.is_empty() || GUARDS_IN_BAGS.get(),
            "seed {seed}: left {left:?}"
        );
    }
}

thread_local! {
    /// What panicked without being asked to.
    static UNEXPECTED: RefCell<Vec<String>> = RefCell::default();
}

/// Panics on purpose go by `resume_unwind`, which calls no hook, and refusals
/// say so; anything else that panicked in a destructor, to be swallowed there,
/// ends the test here.
fn no_unexpected_panics(before: u64) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.to_string();
            if !text.contains("was refused for the value at") {
                UNEXPECTED.with_borrow_mut(|all| all.push(text));
                print(info);
            }
        }));
    });
    let all = UNEXPECTED.take();
    assert!(all.is_empty(), "before seed {before}: {all:#?}");
}

fn many_programs(grows: bool) {
    let (programs, steps) = if cfg!(miri) { (6, 120) } else { (1500, 400) };
    run(grows, 1..1 + programs, steps);
    no_unexpected_panics(1 + programs);
}

#[test]
#[cfg_attr(miri, ignore = "leaks slabs for guards without a lifetime")]
fn random_programs_on_a_bounded_slab() {
    many_programs(false);
}

#[test]
#[cfg_attr(miri, ignore = "leaks slabs for guards without a lifetime")]
fn random_programs_on_a_growable_slab() {
    many_programs(true);
}
