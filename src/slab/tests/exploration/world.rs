//! The slab of an exploration with everything that holds its cells, and the
//! steps that can be taken.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use flatslab::{Key, TrackedSlab};

use super::super::holders::{self, Holders, Value, happen};
use super::super::table::Answer::No;
use super::super::table::Event::*;
use super::super::table::Row::*;
use super::super::table::{C, D, Event, N, O, Row, V, X, expected};
use super::Scope;
use crate::common::{Detached, Guard, Room};

const READERS: u32 = X - N;

// User code.

thread_local! {
    /// What the next piece of user code does, once.
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
    const ASKS_TWICE: bool = false;

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

/// What a guard borrows: the slab or a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Via {
    Key,
    Slot,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An event of the table, at a cell.
    At(usize, Event),
    Hold(usize, Via),
    HoldMut(usize, Via),
    /// Ends the older of two guards. `LastBorrowEnds` ends the younger one.
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
pub(super) type Transition = (Step, Option<Step>);

// The world.

/// A slab and everything that holds its cells. All of it is reached through
/// `&self`, since user code within one step takes another step.
pub(super) struct World<M: Room> {
    scope: Scope,
    slab: Detached<TrackedSlab<Node, M>>,
    /// Running calls that borrow the slab, which cannot be dropped then.
    borrows: Cell<usize>,
    /// Running walks that run user code, which keep all chunks.
    walks: Cell<usize>,
    holders: Vec<Holders<'static, Node>>,
    /// What the guards of each cell borrow.
    vias: Vec<RefCell<Vec<Via>>>,
    forgot: Cell<bool>,
    reached: Rc<Reached>,
}

/// The cells of the table that were reached.
pub(super) type Reached = RefCell<BTreeSet<(Row, Event)>>;

fn key(cell: usize) -> Key {
    Key::from_raw(cell as u32)
}

impl<M: Room> World<M> {
    pub(super) fn new(scope: Scope, reached: &Rc<Reached>) -> Self {
        MADE.set(0);
        DROPPED.set(0);
        World {
            scope,
            // SAFETY: `drop_slab` ends it when no guard and no call borrows it.
            slab: unsafe { Detached::new(M::smallest(scope.cells)) },
            borrows: Cell::new(0),
            walks: Cell::new(0),
            holders: (0..scope.cells).map(|_| Holders::default()).collect(),
            vias: (0..scope.cells).map(|_| RefCell::default()).collect(),
            forgot: Cell::new(false),
            reached: reached.clone(),
        }
    }

    /// Runs what borrows the slab.
    fn borrowing<R>(&self, run: impl FnOnce() -> R) -> R {
        self.borrows.set(self.borrows.get() + 1);
        let result = run();
        self.borrows.set(self.borrows.get() - 1);
        result
    }

    fn state(&self, cell: usize) -> Option<u32> {
        self.holders[cell].state(self.slab.get(), key(cell))
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

    /// Takes a step, and `nested` in the first piece of user code in it. Returns
    /// whether user code ran, or `None` if one of the two could not be taken.
    pub(super) fn transition(self: &Rc<Self>, (step, nested): Transition) -> Option<bool> {
        let nested_taken = Rc::new(Cell::new(nested.is_none()));
        if let Some(nested) = nested {
            let (world, taken) = (self.clone(), nested_taken.clone());
            let hook = move || taken.set(world.take(nested));
            NESTED.set(Some(Box::new(hook)));
        }
        let before = USER_CODE.get();
        let taken = self.take(step);
        // If no user code ran it is still there.
        drop(NESTED.take());
        (taken && nested_taken.get()).then(|| USER_CODE.get() > before)
    }

    /// Takes a step. `false` if there is nothing to take it with.
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
            Step::Insert | Step::InsertWith | Step::Reserve | Step::MakeRoom(_) | Step::Shrink => {}
        }
        let Some(slab) = self.slab.get() else {
            return false;
        };
        let fits = |slots: usize| slab.capacity() + slots <= self.scope.cells;
        match step {
            Step::Insert | Step::InsertWith | Step::Reserve => {
                // The bounded slab says that it is full.
                if slab.is_full() && slab.capacity() < self.scope.cells && !fits(1) {
                    return false;
                }
                if slab.is_full() && slab.capacity() == self.scope.cells && M::GROWS {
                    return false;
                }
                self.claim(slab, step);
            }
            Step::MakeRoom(slots) => {
                let free = slab.capacity() - self.used();
                if !M::GROWS || slots <= free || !fits(slots - free) {
                    return false;
                }
                M::try_reserve(slab, slots).unwrap();
                assert_eq!(slab.capacity() - self.used(), slots);
            }
            Step::Shrink => {
                if !M::GROWS || slab.capacity() == self.used() {
                    return false;
                }
                let before = slab.capacity();
                M::shrink(slab);
                let (kept, reason) = if self.walks.get() > 0 {
                    (before, "all chunks, for a walk goes through them")
                } else {
                    (self.used(), "all chunks but those in use")
                };
                assert_eq!(slab.capacity(), kept, "{reason}");
            }
            _ => unreachable!("the others need no slab"),
        }
        true
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
        let slab = self.slab.get().filter(|_| via_key);
        if via_key && slab.is_none() {
            return false;
        }

        let before = self.state(cell);
        let row = before.map(|state| self.row(cell, state));
        let clear_is_refused = event == Clear && self.has_borrowed_value();
        let within = STEPS_WITHIN.get();
        let walks = usize::from(matches!(
            event,
            RetainKeep | RetainDrop | DrainOut | DrainDropped
        ));
        let (answer, during) = if via_key {
            self.walks.set(self.walks.get() + walks);
            let happened = self.borrowing(|| happen(slab, key(cell), holders, event));
            self.walks.set(self.walks.get() - walks);
            happened
        } else {
            happen::<Node, M>(None, key(cell), holders, event)
        };
        if STEPS_WITHIN.get() > within {
            // The table tells what one step does, and here there were two.
            return true;
        }

        let (Some(before), Some(row)) = (before, row) else {
            // The slab is gone, and the slot is in the hands of an outer step.
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
                .is_some_and(|state| state & (V | D) == 0 && state & (X | READERS) != 0)
        })
    }

    fn hold(&self, cell: usize, via: Via, exclusive: bool) -> bool {
        // The state counts forgotten guards too.
        if self
            .state(cell)
            .is_none_or(|state| state & READERS >= 2 * N)
        {
            return false;
        }
        let mut vias = self.vias[cell].borrow_mut();
        let guard = match via {
            Via::Key => self.slab.get().and_then(|slab| {
                if exclusive {
                    slab.try_get_mut(key(cell)).ok().map(Guard::Exclusive)
                } else {
                    slab.try_get(key(cell)).ok().map(Guard::Shared)
                }
            }),
            Via::Slot => holders::peek(&self.holders[cell].slot, |slot| {
                // SAFETY: the guard has no pointer to the slot, and the slot is
                // not ended while there is a guard via it.
                let slot = unsafe { &*std::ptr::from_ref(slot) };
                if exclusive {
                    slot.try_get_mut().ok().map(Guard::Exclusive)
                } else {
                    slot.try_get().ok().map(Guard::Shared)
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

    fn claim(&self, slab: &'static TrackedSlab<Node, M>, step: Step) {
        let next = slab.free_key(0);
        let as_predicted = |got: Key| assert!(next.is_none_or(|next| next == got));
        match step {
            Step::Insert => match slab.try_insert(Node::plain()) {
                Ok(slot) => {
                    as_predicted(slot.key());
                    self.holders[slot.key().index()].slot.set(Some(slot));
                }
                Err(full) => self.borrowing(|| drop(full)),
            },
            Step::InsertWith => {
                let slot = self.borrowing(|| {
                    slab.try_insert_with(|vacant| {
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
                if let Ok(vacant) = slab.try_vacant_slot() {
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
        self.slab.end()
    }

    /// The abstract state.
    pub(super) fn fingerprint(&self) -> Vec<u32> {
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
        let Some(slab) = self.slab.get() else {
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

    /// Ends everything and checks that nothing is lost.
    pub(super) fn finish(&self) {
        if let Some(slab) = self.slab.get() {
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
