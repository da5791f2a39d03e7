//! Everything that can hold a cell, and what happens when an event of the state
//! table meets it.

use std::cell::{Cell, RefCell};

use flatslab::sync::SendSlot;
use flatslab::{AccessError, Key, Slot, SlotBox, TrackedSlab, VacantSlot};

use super::table::Answer::{self, No, Panic, Yes};
use super::table::Event::{self, *};
use super::table::{O, V};
use crate::common::{Guard, Room, panics};

/// A value to be put into slots.
pub trait Value: 'static {
    fn plain() -> Self;

    /// Whether what is refused is asked for once more, by the method that panics
    /// on a conflict: a panic costs more than all the rest of an event.
    const ASKS_TWICE: bool;

    /// Runs where a closure of the user's is called.
    fn user_code() {}
}

/// Everything that holds one cell. A holder is taken out before it is ended, so
/// that a destructor which runs then does not find it.
pub struct Holders<'a, T> {
    pub slot: Cell<Option<Slot<T>>>,
    pub vacant: Cell<Option<VacantSlot<T>>>,
    pub boxed: Cell<Option<SlotBox<T>>>,
    pub sent: Cell<Option<SendSlot<T>>>,
    pub guards: RefCell<Vec<Guard<'a, T>>>,
}

impl<T> Default for Holders<'_, T> {
    fn default() -> Self {
        Holders {
            slot: Cell::default(),
            vacant: Cell::default(),
            boxed: Cell::default(),
            sent: Cell::default(),
            guards: RefCell::default(),
        }
    }
}

/// What `look` returns for a holder that stays where it is.
pub fn peek<H, R>(holder: &Cell<Option<H>>, look: impl FnOnce(&H) -> R) -> Option<R> {
    let taken = holder.take();
    let result = taken.as_ref().map(look);
    if taken.is_some() {
        holder.set(taken);
    }
    result
}

impl<T> Holders<'_, T> {
    pub fn has_slot(&self) -> bool {
        peek(&self.slot, |_| ()).is_some()
    }

    pub fn has_vacant(&self) -> bool {
        peek(&self.vacant, |_| ()).is_some()
    }

    pub fn has_box(&self) -> bool {
        peek(&self.boxed, |_| ()).is_some()
    }

    /// The state of the cell, from its slab or from one of its holders.
    pub fn state<M: Room>(&self, slab: Option<&TrackedSlab<T, M>>, key: Key) -> Option<u32> {
        match slab {
            // A key without a cell answers like that of a free one.
            Some(slab) => Some(slab.state_bits(key).unwrap_or(V | O)),
            None => peek(&self.slot, Slot::state_bits)
                .or_else(|| peek(&self.vacant, VacantSlot::state_bits))
                .or_else(|| peek(&self.boxed, SlotBox::state_bits)),
        }
    }
}

/// Lets `event` happen. Returns the answer and the state that it left.
///
/// An event by key needs the slab, one by a holder needs the holder.
pub fn happen<'a, T: Value, M: Room>(
    slab: Option<&'a TrackedSlab<T, M>>,
    key: Key,
    holders: &Holders<'a, T>,
    event: Event,
) -> (Answer, Option<u32>) {
    let state = || holders.state(slab, key);
    let by_key = || slab.expect("an event by key needs the slab");
    let yes = |yes: bool| if yes { Yes } else { No };
    let answer = match event {
        KeyGet => match by_key().try_get(key) {
            Ok(_guard) => return (Yes, state()),
            Err(error) => {
                expect_refusal::<T>(error, || by_key().get(key).is_none());
                No
            }
        },
        KeyGetMut => match by_key().try_get_mut(key) {
            Ok(_guard) => return (Yes, state()),
            Err(error) => {
                expect_refusal::<T>(error, || by_key().get_mut(key).is_none());
                No
            }
        },
        KeyRemove => match by_key().try_remove_by_key(key) {
            Ok(_value) => Yes,
            Err(_) => {
                assert!(panics(|| by_key().remove_by_key(key)));
                No
            }
        },
        KeyContains => yes(by_key().contains_key(key)),
        Regain => match by_key().try_slot(key) {
            Ok(slot) => {
                assert!(by_key().slot(key).is_none(), "there are never two owners");
                holders.slot.set(Some(slot));
                Yes
            }
            Err(error) => {
                expect_refusal::<T>(error, || by_key().slot(key).is_none());
                No
            }
        },
        Clear => {
            let cleared = by_key().try_clear();
            if cleared.is_err() {
                assert!(panics(|| by_key().clear()));
            }
            yes(cleared.is_ok())
        }
        Iterate => {
            let items: Vec<_> = by_key().try_iter().collect();
            let mut guards = items.iter().filter(|(_, guard)| guard.is_ok());
            return (yes(guards.any(|(at, _)| *at == key)), state());
        }
        IterateMut => {
            let items: Vec<_> = by_key().try_iter_mut().collect();
            let mut guards = items.iter().filter(|(_, guard)| guard.is_ok());
            return (yes(guards.any(|(at, _)| *at == key)), state());
        }
        ListKeys => yes(by_key().keys().any(|at| at == key)),
        RetainKeep | RetainDrop => {
            let mut asked = false;
            by_key().try_retain(|at, _| {
                asked |= at == key;
                T::user_code();
                at != key || event == RetainKeep
            });
            yes(asked)
        }
        DrainOut => yes(by_key().try_drain().any(|(at, _)| at == key)),
        DrainDropped => {
            let before = by_key().contains_key(key);
            drop(by_key().try_drain());
            yes(before && !by_key().contains_key(key))
        }
        LastBorrowEnds => {
            let guard = holders.guards.borrow_mut().pop();
            drop(guard.unwrap());
            Yes
        }
        SlotGet | SlotGetMut | SlotReplace | SlotTryReplace | SlotAndModify => {
            return peek(&holders.slot, |slot| with_slot(slot, event)).unwrap();
        }
        SlotDrop => {
            drop(holders.slot.take().unwrap());
            Yes
        }
        SlotLeak => {
            assert_eq!(holders.slot.take().unwrap().leak(), key);
            Yes
        }
        SlotIntoInner => {
            let slot = holders.slot.take().unwrap();
            if panics(|| slot.into_inner()) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryIntoInner => match holders.slot.take().unwrap().try_into_inner() {
            Ok(_value) => Yes,
            Err(slot) => {
                holders.slot.set(Some(slot));
                No
            }
        },
        SlotTake => {
            let slot = holders.slot.take().unwrap();
            if panics(|| holders.vacant.set(Some(slot.take().1))) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryTake => match holders.slot.take().unwrap().try_take() {
            Ok((_value, vacant)) => {
                holders.vacant.set(Some(vacant));
                Yes
            }
            Err(slot) => {
                holders.slot.set(Some(slot));
                No
            }
        },
        SlotIntoBox => {
            let slot = holders.slot.take().unwrap();
            if panics(|| holders.boxed.set(Some(slot.into_box()))) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryIntoBox => match holders.slot.take().unwrap().try_into_box() {
            Ok(boxed) => {
                holders.boxed.set(Some(boxed));
                Yes
            }
            Err(slot) => {
                holders.slot.set(Some(slot));
                No
            }
        },
        BoxDrop => {
            drop(holders.boxed.take().unwrap());
            Yes
        }
        BoxIntoInner => {
            drop(SlotBox::into_inner(holders.boxed.take().unwrap()));
            Yes
        }
        BoxIntoSlot => {
            let boxed = holders.boxed.take().unwrap();
            holders.slot.set(Some(SlotBox::into_slot(boxed)));
            Yes
        }
        BoxIntoRaw => {
            let pointer = SlotBox::into_raw(holders.boxed.take().unwrap());
            let between = state();
            // SAFETY: straight from `into_raw` of this slab's box.
            let boxed = unsafe { by_key().box_from_raw(pointer) };
            holders.boxed.set(Some(boxed));
            return (Yes, between);
        }
        VacantDrop => {
            drop(holders.vacant.take().unwrap());
            Yes
        }
        VacantInsert => {
            let vacant = holders.vacant.take().unwrap();
            holders.slot.set(Some(vacant.insert(T::plain())));
            Yes
        }
    };
    (answer, state())
}

/// A method answers with absence where its `try_` form says that there is no
/// value, or none to be had, and panics on a conflict.
fn expect_refusal<T: Value>(error: AccessError, is_none: impl FnOnce() -> bool) {
    match error {
        _ if !T::ASKS_TWICE => {}
        AccessError::Missing | AccessError::Owned => assert!(is_none(), "{error:?}"),
        _ => assert!(panics(is_none), "{error:?}"),
    }
}

/// The events that leave the slot where it is.
fn with_slot<T: Value>(slot: &Slot<T>, event: Event) -> (Answer, Option<u32>) {
    let yes = |yes: bool| if yes { Yes } else { No };
    let or_panic = |panicked: bool| if panicked { Panic } else { Yes };
    let answer = match event {
        SlotGet => {
            let guard = slot.try_get();
            let answer = or_panic(guard.is_err() && panics(|| slot.get()));
            return (answer, Some(slot.state_bits()));
        }
        SlotGetMut => {
            let guard = slot.try_get_mut();
            let answer = or_panic(guard.is_err() && panics(|| slot.get_mut()));
            return (answer, Some(slot.state_bits()));
        }
        SlotReplace => or_panic(panics(|| slot.replace(T::plain()))),
        SlotTryReplace => yes(slot.try_replace(T::plain()).is_ok()),
        SlotAndModify => {
            let mut called = false;
            if panics(|| slot.and_modify(|_| called = true).key()) {
                Panic
            } else {
                yes(called)
            }
        }
        _ => unreachable!("the other events end the slot, or are not its own"),
    };
    (answer, Some(slot.state_bits()))
}
