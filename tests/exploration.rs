//! The whole reachable state space of slabs of one to three cells, breadth
//! first: from every state every operation, and where an operation runs user
//! code (a destructor, a closure) every operation within it once more. States
//! already seen are cut off: a state is each cell's word, who holds and who
//! borrows it, the order of the free cells and the chunks there are.
//!
//! Every answer and every next state is compared with the table, and every cell
//! of the table must have been reached. `cargo test --test exploration --
//! --nocapture` prints how many states and transitions there were.

mod common;
#[path = "common/holders.rs"]
mod holders;
#[path = "common/table.rs"]
mod table;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::NonNull;
use std::rc::Rc;

use common::{AnySlab, Bounded, Growable, Kind};
use flatslab::Key;
use holders::{Guard, Holders, Value, happen};
use table::Answer::No;
use table::Event::*;
use table::Row::*;
use table::{C, CLOSING_ROWS, D, EVENTS, Event, N, O, ROWS, Row, V, X, expected};

const READERS: u32 = X - N;

// User code.

thread_local! {
    /// What the next piece of user code does.
    static NESTED: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::default();
    /// How many pieces of user code have run, and how many have taken a step.
    static USER_CODE: Cell<usize> = const { Cell::new(0) };
    static STEPS_WITHIN: Cell<usize> = const { Cell::new(0) };
    static MADE: Cell<usize> = const { Cell::new(0) };
    static DROPPED: Cell<usize> = const { Cell::new(0) };
}

fn user_code() {
    USER_CODE.set(USER_CODE.get() + 1);
    let nested = NESTED.take();
    if let Some(nested) = nested {
        STEPS_WITHIN.set(STEPS_WITHIN.get() + 1);
        nested();
    }
}

/// A value whose destructor is user code.
struct Node(());

impl Value for Node {
    fn plain() -> Self {
        MADE.set(MADE.get() + 1);
        Node(())
    }

    fn user_code() {
        user_code();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
        user_code();
    }
}

// Steps.

/// How a guard was come by: what it borrows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Via {
    Key,
    Slot,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// An event of the table, at a cell.
    At(usize, Event),
    Hold(usize, Via),
    HoldMut(usize, Via),
    /// The older of two guards goes; the younger one is a row's event.
    EndFirstBorrow(usize),
    ForgetSlot(usize),
    ForgetVacant(usize),
    ForgetBox(usize),
    ForgetBorrow(usize),
    Insert,
    InsertWith,
    Reserve,
    MakeRoom(usize),
    Shrink,
    DropSlab,
}

/// A step, and what the first piece of user code in it does.
type Transition = (Step, Option<Step>);

/// What is explored.
#[derive(Clone, Copy)]
struct Scope {
    cells: usize,
    /// Operations within user code too.
    nested: bool,
    /// Holders are forgotten too.
    forgets: bool,
    /// No state further from the first one than this is left.
    depth: usize,
}

impl Scope {
    fn steps(self) -> Vec<Step> {
        let mut steps = vec![
            Step::Insert,
            Step::InsertWith,
            Step::Reserve,
            Step::MakeRoom(1),
            Step::MakeRoom(2),
            Step::Shrink,
            Step::DropSlab,
        ];
        for cell in 0..self.cells {
            let events = EVENTS.iter().filter(|&&event| is_explored(event));
            steps.extend(events.map(|&event| Step::At(cell, event)));
            for via in [Via::Key, Via::Slot] {
                steps.extend([Step::Hold(cell, via), Step::HoldMut(cell, via)]);
            }
            steps.push(Step::EndFirstBorrow(cell));
            if self.forgets {
                steps.extend([
                    Step::ForgetSlot(cell),
                    Step::ForgetVacant(cell),
                    Step::ForgetBox(cell),
                    Step::ForgetBorrow(cell),
                ]);
            }
        }
        steps
    }
}

/// Whether an event is looked into: under Miri only those that change something,
/// once, and do not panic where they are refused.
fn is_explored(event: Event) -> bool {
    let changes = matches!(
        event,
        Regain
            | RetainDrop
            | DrainOut
            | SlotDrop
            | SlotTryIntoInner
            | SlotTryTake
            | SlotTryIntoBox
            | SlotTryReplace
            | SlotLeak
            | LastBorrowEnds
            | BoxDrop
            | BoxIntoInner
            | BoxIntoSlot
            | VacantDrop
            | VacantInsert
    );
    changes || !cfg!(miri)
}

// The world.

/// A slab and all that holds its cells. Everything is reached through `&self`,
/// for user code within one step takes another.
struct World<K: Kind> {
    scope: Scope,
    /// Leaked, so that guards may stand beside it; taken back to be dropped.
    slab: Cell<Option<NonNull<K::Slab<Node>>>>,
    /// Calls under way that borrow the slab, so that it cannot be dropped.
    borrows: Cell<usize>,
    holders: Vec<Holders<'static, Node>>,
    /// How the guards of each cell were come by.
    vias: Vec<RefCell<Vec<Via>>>,
    forgot: Cell<bool>,
    reached: Rc<Reached>,
}

/// The cells of the table that were met.
type Reached = RefCell<BTreeSet<(Row, Event)>>;

fn key(cell: usize) -> Key {
    Key::from_raw(cell as u32)
}

impl<K: Kind> World<K> {
    fn new(scope: Scope, reached: &Rc<Reached>) -> Self {
        MADE.set(0);
        DROPPED.set(0);
        let slab = Box::into_raw(Box::new(K::Slab::smallest(scope.cells)));
        World {
            scope,
            slab: Cell::new(NonNull::new(slab)),
            borrows: Cell::new(0),
            holders: (0..scope.cells).map(|_| Holders::default()).collect(),
            vias: (0..scope.cells).map(|_| RefCell::default()).collect(),
            forgot: Cell::new(false),
            reached: reached.clone(),
        }
    }

    /// The slab, while it can be asked.
    fn slab(&self) -> Option<&'static K::Slab<Node>> {
        // SAFETY: made in `new`, and `drop_slab` takes it before it frees it,
        // with no call under way that has this borrow.
        self.slab.get().map(|slab| unsafe { slab.as_ref() })
    }

    /// Does what borrows the slab.
    fn borrowing<R>(&self, run: impl FnOnce() -> R) -> R {
        self.borrows.set(self.borrows.get() + 1);
        let result = run();
        self.borrows.set(self.borrows.get() - 1);
        result
    }

    fn state(&self, cell: usize) -> Option<u32> {
        self.holders[cell].state(self.slab(), key(cell))
    }

    fn row(&self, cell: usize, state: u32) -> Row {
        let holders = &self.holders[cell];
        let is = |bits| state & bits == bits;
        if is(V) {
            return match (is(X), is(O), is(C)) {
                (true, _, true) => ClosedDying,
                (true, true, false) => Dying,
                (true, false, false) => DyingStale,
                (false, true, _) => Free,
                (false, false, true) if holders.has_vacant() => ClosedReserved,
                (false, false, true) => ClosedStale,
                (false, false, false) if holders.has_vacant() => Reserved,
                (false, false, false) => Stale,
            };
        }
        let is_read = state & READERS != 0;
        match (is(C), is(D), is(O), is(X)) {
            (true, .., true) if holders.has_box() => ClosedBoxed,
            (true, .., true) => ClosedWritten,
            (true, ..) if is_read => ClosedRead,
            (true, ..) => ClosedOwned,
            (_, true, true, true) => DoomedWritten,
            (_, true, true, false) => DoomedRead,
            (_, true, false, true) if holders.has_box() => CondemnedBoxed,
            (_, true, false, true) => CondemnedWritten,
            (_, true, false, false) => CondemnedRead,
            (_, _, true, true) => KeyedWritten,
            (_, _, false, true) if holders.has_box() => Boxed,
            (_, _, false, true) => Written,
            (_, _, true, false) if is_read => KeyedRead,
            (_, _, true, false) => Keyed,
            _ if is_read => Read,
            _ => Owned,
        }
    }

    /// Takes a step with `nested` for the first piece of user code in it;
    /// `None` if it, or that, cannot be taken now. Otherwise whether there was
    /// user code.
    fn transition(self: &Rc<Self>, (step, nested): Transition) -> Option<bool> {
        let nested_taken = Rc::new(Cell::new(nested.is_none()));
        if let Some(nested) = nested {
            let (world, taken) = (self.clone(), nested_taken.clone());
            let hook = move || taken.set(world.take(nested));
            NESTED.set(Some(Box::new(hook)));
        }
        let before = USER_CODE.get();
        let taken = self.take(step);
        // User code that was not come to.
        drop(NESTED.take());
        (taken && nested_taken.get()).then(|| USER_CODE.get() > before)
    }

    /// Takes a step; `false` if there is nothing to take it with.
    fn take(&self, step: Step) -> bool {
        match step {
            Step::At(cell, event) => return self.happen(cell, event),
            Step::Hold(cell, via) | Step::HoldMut(cell, via) => {
                return self.hold(cell, via, matches!(step, Step::HoldMut(..)));
            }
            Step::EndFirstBorrow(cell) => {
                if self.vias[cell].borrow().len() < 2 {
                    return false;
                }
                self.vias[cell].borrow_mut().swap(0, 1);
                self.holders[cell].guards.borrow_mut().swap(0, 1);
                return self.happen(cell, LastBorrowEnds);
            }
            Step::ForgetSlot(cell) => {
                if self.vias[cell].borrow().contains(&Via::Slot) {
                    return false;
                }
                return self.forget(self.holders[cell].slot.take());
            }
            Step::ForgetVacant(cell) => return self.forget(self.holders[cell].vacant.take()),
            Step::ForgetBox(cell) => return self.forget(self.holders[cell].boxed.take()),
            Step::ForgetBorrow(cell) => {
                self.vias[cell].borrow_mut().pop();
                let guard = self.holders[cell].guards.borrow_mut().pop();
                return self.forget(guard);
            }
            Step::DropSlab => return self.drop_slab(),
            _ => {}
        }
        let Some(slab) = self.slab() else {
            return false;
        };
        let fits = |slots: usize| slab.capacity() + slots <= self.scope.cells;
        match step {
            Step::Insert | Step::InsertWith | Step::Reserve => {
                // The bounded slab says that it is full.
                if slab.is_full() && slab.capacity() < self.scope.cells && !fits(1) {
                    return false;
                }
                if slab.is_full() && slab.capacity() == self.scope.cells && self.grows() {
                    return false;
                }
                self.claim(slab, step);
            }
            Step::MakeRoom(slots) => {
                let free = slab.capacity() - self.used();
                if !self.grows() || slots <= free || !fits(slots - free) {
                    return false;
                }
                slab.reserve(slots);
                assert_eq!(slab.capacity() - self.used(), slots);
            }
            Step::Shrink => {
                if !self.grows() || slab.capacity() == self.used() {
                    return false;
                }
                slab.shrink();
                assert_eq!(slab.capacity(), self.used(), "all chunks but those in use");
            }
            _ => unreachable!("the others need no slab"),
        }
        true
    }

    fn grows(&self) -> bool {
        size_of::<K::Slab<Node>>() == size_of::<flatslab::Slab<Node>>()
    }

    /// Cells that are not free.
    fn used(&self) -> usize {
        let is_used = |&cell: &usize| self.state(cell).is_some_and(|state| state != V | O);
        (0..self.scope.cells).filter(is_used).count()
    }

    fn happen(&self, cell: usize, event: Event) -> bool {
        let holders = &self.holders[cell];
        let is_lent = || self.vias[cell].borrow().contains(&Via::Slot);
        let via_key = match event {
            SlotGet | SlotGetMut | SlotReplace | SlotTryReplace | SlotAndModify => {
                if !holders.has_slot() {
                    return false;
                }
                false
            }
            SlotDrop | SlotLeak | SlotIntoInner | SlotTryIntoInner | SlotTake | SlotTryTake
            | SlotIntoBox | SlotTryIntoBox => {
                if !holders.has_slot() || is_lent() {
                    return false;
                }
                false
            }
            VacantDrop | VacantInsert => {
                if !holders.has_vacant() {
                    return false;
                }
                false
            }
            BoxDrop | BoxIntoInner | BoxIntoSlot | BoxIntoRaw => {
                if !holders.has_box() {
                    return false;
                }
                event == BoxIntoRaw
            }
            LastBorrowEnds => match self.vias[cell].borrow_mut().pop() {
                None => return false,
                Some(via) => via == Via::Key,
            },
            _ => true,
        };
        let slab = if via_key { self.slab() } else { None };
        if via_key && slab.is_none() {
            return false;
        }

        let before = self.state(cell);
        let row = before.map(|state| self.row(cell, state));
        let clear_is_refused = event == Clear && self.has_borrowed_value();
        let within = STEPS_WITHIN.get();
        let (answer, during) = if via_key {
            self.borrowing(|| happen(slab, key(cell), holders, event))
        } else {
            happen::<Node, K::Slab<Node>>(None, key(cell), holders, event)
        };
        if STEPS_WITHIN.get() > within {
            // The table says what this one step does, not two.
            return true;
        }

        let (Some(before), Some(row)) = (before, row) else {
            // The slab is gone, and the slot lent to a step further up.
            return true;
        };
        let readers = (before & READERS) / N;
        if event == LastBorrowEnds && readers > 1 {
            assert_eq!(self.state(cell), Some(before - N), "{row:?}: a reader less");
            return true;
        }
        self.reached.borrow_mut().insert((row, event));
        let (expected_answer, mut expected_state) =
            expected(row, event).unwrap_or_else(|| panic!("{row:?} cannot meet {event:?}"));
        if expected_state & READERS != 0 {
            expected_state += readers.saturating_sub(1) * N;
        }
        if clear_is_refused {
            assert_eq!((answer, during), (No, Some(before)), "{row:?} {event:?}");
            return true;
        }
        assert_eq!(answer, expected_answer, "{row:?} {event:?}");
        let during = during.or_else(|| self.state(cell));
        if let Some(state) = during {
            assert_eq!(
                format!("{state:#x}"),
                format!("{expected_state:#x}"),
                "{row:?} {event:?}"
            );
        }
        true
    }

    fn has_borrowed_value(&self) -> bool {
        (0..self.scope.cells).any(|cell| {
            self.state(cell)
                .is_some_and(|state| state & V == 0 && state & (X | READERS) != 0)
        })
    }

    fn hold(&self, cell: usize, via: Via, exclusive: bool) -> bool {
        // Forgotten ones count.
        if self
            .state(cell)
            .is_none_or(|state| state & READERS >= 2 * N)
        {
            return false;
        }
        let mut vias = self.vias[cell].borrow_mut();
        let guard = match via {
            Via::Key => self.slab().and_then(|slab| {
                if exclusive {
                    slab.get_mut(key(cell)).map(Guard::Exclusive)
                } else {
                    slab.get(key(cell)).map(Guard::Shared)
                }
            }),
            Via::Slot => holders::peek(&self.holders[cell].slot, |slot| {
                // SAFETY: the guard has no pointer to the slot, and the slot is
                // not ended while there is a guard via it.
                let slot = unsafe { NonNull::from(slot).as_ref() };
                if exclusive {
                    slot.try_get_mut().map(Guard::Exclusive)
                } else {
                    slot.try_get().map(Guard::Shared)
                }
            })
            .flatten(),
        };
        let Some(guard) = guard else {
            return false;
        };
        vias.push(via);
        self.holders[cell].guards.borrow_mut().push(guard);
        true
    }

    fn forget<H>(&self, holder: Option<H>) -> bool {
        let is_some = holder.is_some();
        std::mem::forget(holder);
        self.forgot.set(self.forgot.get() || is_some);
        is_some
    }

    fn claim(&self, slab: &'static K::Slab<Node>, step: Step) {
        let next = slab.free_key(0);
        let as_predicted = |got: Key| assert!(next.is_none_or(|next| next == got));
        match step {
            Step::Insert => match slab.insert(Node::plain()) {
                Ok(slot) => {
                    as_predicted(slot.key());
                    self.holders[slot.key().index()].slot.set(Some(slot));
                }
                Err(full) => self.borrowing(|| drop(full)),
            },
            Step::InsertWith => {
                let slot = self.borrowing(|| {
                    slab.insert_with(|vacant| {
                        as_predicted(vacant.key());
                        assert_eq!(slab.state_bits(vacant.key()), Some(V));
                        user_code();
                        Node::plain()
                    })
                });
                if let Ok(slot) = slot {
                    self.holders[slot.key().index()].slot.set(Some(slot));
                }
            }
            _ => {
                if let Ok(vacant) = slab.vacant_slot() {
                    as_predicted(vacant.key());
                    self.holders[vacant.key().index()].vacant.set(Some(vacant));
                }
            }
        }
    }

    fn drop_slab(&self) -> bool {
        let is_borrowed = self
            .vias
            .iter()
            .any(|vias| vias.borrow().contains(&Via::Key));
        if is_borrowed || self.borrows.get() > 0 {
            return false;
        }
        let Some(slab) = self.slab.take() else {
            return false;
        };
        // SAFETY: made in `new`, and no borrow of it is left.
        drop(unsafe { Box::from_raw(slab.as_ptr()) });
        true
    }

    /// The abstract state.
    fn fingerprint(&self) -> Vec<u32> {
        let mut print = Vec::with_capacity(4 * self.scope.cells + 2);
        for cell in 0..self.scope.cells {
            let holders = &self.holders[cell];
            let slots = self.vias[cell]
                .borrow()
                .iter()
                .filter(|&&via| via == Via::Slot)
                .count();
            let all = holders.guards.borrow().len();
            print.push(self.state(cell).unwrap_or(u32::MAX));
            print.push(
                u32::from(holders.has_slot())
                    | u32::from(holders.has_vacant()) << 1
                    | u32::from(holders.has_box()) << 2
                    | (slots as u32) << 3
                    | (all as u32) << 5,
            );
        }
        let Some(slab) = self.slab() else {
            return print;
        };
        print.push(slab.capacity() as u32);
        print.extend(
            (0..)
                .map_while(|count| slab.free_key(count))
                .map(Key::into_raw),
        );
        print
    }

    /// Ends everything and looks whether anything is lost.
    fn finish(&self) {
        if let Some(slab) = self.slab() {
            slab.check();
        }
        for cell in 0..self.scope.cells {
            self.holders[cell].guards.take();
            self.vias[cell].take();
        }
        self.drop_slab();
        for holders in &self.holders {
            drop((
                holders.slot.take(),
                holders.vacant.take(),
                holders.boxed.take(),
            ));
        }
        if !self.forgot.get() {
            assert_eq!(MADE.get(), DROPPED.get(), "every value is dropped once");
        }
    }
}

// Exploring.

#[derive(Default, Debug)]
struct Count {
    states: usize,
    transitions: usize,
    deepest: usize,
}

fn explore<K: Kind>(scope: Scope, reached: &Rc<Reached>) -> Count {
    let steps = scope.steps();
    let mut count = Count::default();
    let mut seen = BTreeMap::new();
    let mut paths = VecDeque::from([Vec::<Transition>::new()]);
    let start = |path: &[Transition]| {
        let world = Rc::new(World::<K>::new(scope, reached));
        for &transition in path {
            assert!(world.transition(transition).is_some(), "the path is there");
        }
        world
    };
    let first = start(&[]);
    seen.insert(first.fingerprint(), ());
    first.finish();

    while let Some(path) = paths.pop_front() {
        count.states += 1;
        count.deepest = count.deepest.max(path.len());
        if path.len() >= scope.depth {
            continue;
        }
        // A step that cannot be taken leaves the world as it is.
        let mut world = start(&path);
        let mut arrive = |world: &mut Rc<World<K>>, transition| {
            let result = world.transition(transition);
            if result.is_some() {
                count.transitions += 1;
                if seen.insert(world.fingerprint(), ()).is_none() {
                    let mut longer = path.clone();
                    longer.push(transition);
                    paths.push_back(longer);
                }
            }
            if result.is_some() || transition.1.is_some() {
                world.finish();
                *world = start(&path);
            }
            result
        };
        for &step in &steps {
            let had_user_code = arrive(&mut world, (step, None));
            if scope.nested && had_user_code == Some(true) {
                for &nested in &steps {
                    arrive(&mut world, (step, Some(nested)));
                }
            }
        }
        world.finish();
    }
    count
}

/// Refusals are expected by the thousand; anything else is printed.
fn quiet_refusals() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // To look at them takes an interpreter longer than all the rest.
            if !cfg!(miri) && !info.to_string().contains("was refused") {
                print(info);
            }
        }));
    });
}

fn explore_all<K: Kind>(kind: &str, scopes: &[Scope]) -> Rc<Reached> {
    quiet_refusals();
    let reached = Rc::default();
    for &scope in scopes {
        let count = explore::<K>(scope, &reached);
        println!(
            "{kind}, cells: {}{}{}: {} states, {} transitions, at most {} steps deep",
            scope.cells,
            if scope.nested {
                ", operations in user code"
            } else {
                ""
            },
            if scope.forgets {
                ", forgotten holders"
            } else {
                ""
            },
            count.states,
            count.transitions,
            count.deepest,
        );
    }
    reached
}

/// What of the table was not met.
fn missing(reached: &Reached) -> Vec<(Row, Event)> {
    let reached = reached.borrow();
    let all = ROWS.iter().chain(CLOSING_ROWS);
    let all = all.flat_map(|&row| EVENTS.iter().map(move |&event| (row, event)));
    all.filter(|&(row, event)| expected(row, event).is_some() && !reached.contains(&(row, event)))
        .collect()
}

const ALL: usize = usize::MAX;

/// Under Miri, which would not forgive what is forgotten, and takes its time.
const SCOPES: &[Scope] = if cfg!(miri) {
    &[scope(1, false, false, ALL), scope(1, true, false, 2)]
} else {
    &[
        scope(1, true, true, ALL),
        scope(2, true, true, ALL),
        scope(3, false, false, ALL),
    ]
};

const fn scope(cells: usize, nested: bool, forgets: bool, depth: usize) -> Scope {
    Scope {
        cells,
        nested,
        forgets,
        depth,
    }
}

fn the_whole_table_is_reached<K: Kind>(kind: &str) {
    let mut missing = missing(&explore_all::<K>(kind, SCOPES));
    if cfg!(miri) {
        // The others take what is left out there.
        missing.retain(|&(row, event)| {
            is_explored(event) && !CLOSING_ROWS.contains(&row) && !matches!(row, Dying | DyingStale)
        });
    }
    assert_eq!(missing, []);
}

#[test]
fn bounded_slabs() {
    the_whole_table_is_reached::<Bounded>("bounded");
}

#[test]
fn growable_slabs() {
    the_whole_table_is_reached::<Growable>("growable");
}
