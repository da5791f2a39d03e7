//! Handles that are forgotten, that outlive their slab, that are dropped in
//! every order; keys that are forged, foreign or stale; destructors that give
//! back the chunks around their own value.

use std::any::Any;
use std::cell::Cell;
use std::mem::forget;
use std::rc::{Rc, Weak};

use flatslab::{AccessError, BoundedSlab, Key, Slab, Slot, SlotBox, TrackedSlab};

use crate::common::{Audit, Counted, Drops, Room, amount, over_both_slabs, panics, wide};

fn handles_guards_and_slab_go_in_every_order<M: Room>() {
    // 0: slab, 1: slot read by a guard, 2: box, 3: reservation, 4: stale slot.
    let step = amount(1, 11);
    for order in permutations(5).into_iter().step_by(step) {
        let drops = Drops::new();
        let mut slab = Some(M::with_room::<Counted>(4));
        let make = |number| drops.value(number);
        let shared = slab.as_ref().unwrap();
        let slot = shared.try_insert(make(1)).unwrap();
        let mut boxed = Some(shared.try_insert(make(2)).unwrap().into_box());
        let mut vacant = Some(shared.try_vacant_slot().unwrap());
        let stale = shared.try_insert(make(3)).unwrap();
        drop(shared.remove_by_key(stale.key()));
        let mut stale = Some(stale);
        {
            let mut guard = Some(slot.get());
            for step in order {
                match step {
                    0 => drop(slab.take()),
                    1 => {
                        let guard = guard.take().unwrap();
                        assert_eq!(guard.number, 1);
                    }
                    2 => {
                        assert_eq!(boxed.as_ref().unwrap().number, 2);
                        drop(boxed.take());
                    }
                    3 => drop(vacant.take().unwrap().insert(make(4))),
                    _ => drop(stale.take()),
                }
                if let Some(slab) = &slab {
                    assert_eq!(slab.audit_but_stale(), usize::from(stale.is_some()));
                }
            }
        }
        drop(slot);
        assert_eq!(drops.count(), 4);
    }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            all.push(order);
        }
    }
    all
}

fn a_stale_slot_never_reaches_the_next_value<M: Room>() {
    let slab = M::with_room::<u64>(2);
    let stale = slab.try_insert(1).unwrap();
    let key = stale.key();
    assert_eq!(slab.remove_by_key(key), 1);
    let next = slab.try_insert(2).unwrap();
    assert_ne!(next.key(), key, "quarantined");
    assert!(stale.try_get().is_err() && !slab.contains_key(key));
    assert_eq!(slab.len(), 1);
    drop(stale);
    assert_eq!(slab.try_insert(3).unwrap().key(), key, "and then reused");
}

fn a_cleared_slab_may_be_full_of_stale_slots<M: Room>() {
    let slab = M::with_room(2);
    let slots = [
        slab.try_insert(wide(1)).unwrap(),
        slab.try_insert(wide(2)).unwrap(),
    ];
    slab.clear();
    assert!(slab.is_empty() && slab.is_full());
    assert_eq!(slab.capacity(), 2);
    drop(slots);
    assert!(!slab.is_full());
    slab.audit();
}

fn any_key_is_answered<M: Room>() {
    let slab = M::with_room::<u64>(2);
    let owned = slab.try_insert(7).unwrap();
    let raws = (0..64)
        .chain((0..32).map(|bit| 1 << bit))
        .chain((0..32).map(|bit| !(1 << bit)))
        .chain([u32::MAX, u32::MAX - 1, (1 << 30) - 1, 1 << 30]);
    for key in raws.map(Key::from_raw) {
        let is_there = key == owned.key();
        assert_eq!(slab.get(key).is_some(), is_there);
        assert_eq!(slab.get_mut(key).is_some(), is_there);
        assert_eq!(slab.contains_key(key), is_there);
        assert!(slab.slot(key).is_none());
        if !is_there {
            assert_eq!(slab.try_remove_by_key(key), Err(AccessError::Missing));
            assert!(panics(|| slab.remove_by_key(key)));
        }
    }
    slab.audit();
}

fn a_key_removed_twice_frees_one_slot<M: Room>() {
    let slab = M::with_room::<u64>(2);
    let key = slab.try_insert(7).unwrap().leak();
    assert_eq!(slab.try_remove_by_key(key), Ok(7));
    assert_eq!(slab.try_remove_by_key(key), Err(AccessError::Missing));
    slab.audit();
    let (a, b) = (slab.try_insert(1).unwrap(), slab.try_insert(2).unwrap());
    assert_ne!(a.key(), b.key());
}

fn slots_are_reused_last_in_first_out<M: Room>() {
    let slab = M::with_room::<u64>(6);
    let slots: Vec<_> = (0..6).map(|n| slab.try_insert(n).unwrap()).collect();
    let keys: Vec<_> = slots.iter().map(Slot::key).collect();
    assert!(keys.iter().enumerate().all(|(at, key)| key.index() == at));
    // Across chunks: the growable slab has three of them.
    let order = [4, 0, 5, 2];
    let mut slots: Vec<_> = slots.into_iter().map(Some).collect();
    for at in order {
        drop(slots[at].take());
    }
    for at in order.into_iter().rev() {
        slots[at] = Some(slab.try_insert(9).unwrap());
        assert_eq!(slots[at].as_ref().unwrap().key(), keys[at]);
    }
}

/// A value that sees whether it is dropped in its place.
struct Settled {
    at: Cell<*const Settled>,
    in_place: Rc<Cell<usize>>,
}

impl Drop for Settled {
    fn drop(&mut self) {
        if std::ptr::eq(self.at.get(), self) {
            self.in_place.set(self.in_place.get() + 1);
        }
    }
}

fn values_are_dropped_in_place<M: Room>() {
    type Way<S> = (&'static str, fn(S, Slot<Settled>));
    let ways: [Way<TrackedSlab<Settled, M>>; 9] = [
        ("slot", |_slab, slot| drop(slot)),
        ("box", |_slab, slot| drop(slot.into_box())),
        ("pinned box", |_slab, slot| {
            drop(SlotBox::into_pin(slot.into_box()))
        }),
        ("pinned box, slab gone", |slab, slot| {
            let pinned = SlotBox::into_pin(slot.into_box());
            drop(slab);
            drop(pinned);
        }),
        ("last guard", |slab, slot| {
            let guard = slab.get(slot.key());
            drop(slot);
            drop(guard);
        }),
        ("clear", |slab, _slot| slab.clear()),
        ("retain", |slab, _slot| {
            slab.retain(|_, _| false);
        }),
        ("drain dropped", |slab, _slot| drop(slab.drain())),
        ("slab", |slab, _slot| drop(slab)),
    ];
    for (name, way) in ways {
        let slab = M::with_room::<Settled>(2);
        let in_place = Rc::new(Cell::new(0));
        let slot = slab
            .try_insert(Settled {
                at: Cell::new(std::ptr::null()),
                in_place: in_place.clone(),
            })
            .unwrap();
        slot.get().at.set(slot.as_ptr());
        way(slab, slot);
        assert_eq!(in_place.get(), 1, "{name}");
    }
}

over_both_slabs!(
    values_are_dropped_in_place,
    handles_guards_and_slab_go_in_every_order,
    a_stale_slot_never_reaches_the_next_value,
    a_cleared_slab_may_be_full_of_stale_slots,
    #[cfg_attr(each_run, ignore = "weekly")]
    any_key_is_answered,
    a_key_removed_twice_frees_one_slot,
    slots_are_reused_last_in_first_out,
);

/// The chunk that stands in for the holes is released with the last handle too.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_slab_with_holes_goes_before_its_handles() {
    type Ending = fn(&Slab<Counted>, &Drops);
    // The last thing done to the slab, and how many values it adds and drops.
    let endings: [(Ending, u64, usize); 3] = [
        (|slab, _| forget(slab.try_drain()), 0, 0),
        (
            |slab, _| {
                let mut drain = slab.try_drain();
                drop(drain.next().unwrap());
                forget(drain);
            },
            0,
            1,
        ),
        (
            |slab, drops| {
                slab.reserve(3);
                slab.shrink_to_fit();
                slab.insert(drops.value(13)).leak();
                slab.shrink_to_fit();
            },
            1,
            0,
        ),
    ];
    // Under Miri some of the orders, with all endings.
    let step = amount(1, 59);
    for chunk_capacity in [1, 2] {
        for (number, order) in permutations(5).into_iter().enumerate().step_by(step) {
            let (ending, added, dropped) = endings[number % endings.len()];
            let drops = Drops::new();
            let slab = Slab::builder().chunk_capacity(chunk_capacity).build();
            let slots = (0..12).map(|number| Some(slab.insert(drops.value(number))));
            let mut slots: Vec<_> = slots.collect();
            for at in [2, 3, 4, 5, 8, 9] {
                drop(slots[at].take());
            }
            slab.shrink_to_fit();
            slab.audit();
            assert_eq!((slab.len(), slab.capacity()), (6, 6));

            let [boxed, taken, read, leaked, stale, last] =
                [0, 1, 6, 7, 10, 11].map(|at| slots[at].take().unwrap());
            let boxed = boxed.into_box();
            let (value, vacant) = taken.take();
            drop(value);
            leaked.leak();
            drop(slab.remove_by_key(stale.key()));
            let guard = read.get();
            assert_eq!(drops.count(), 8);
            ending(&slab, &drops);
            slab.audit_but_stale();
            assert_eq!(drops.count(), 8 + dropped);
            drop(slab);
            // All but what is boxed or borrowed.
            assert_eq!(drops.count() as u64, 10 + added);

            assert_eq!((boxed.number, guard.number), (0, 6));
            assert!(!last.is_valid() && !stale.is_valid());
            drop(guard);
            let late = vacant.insert(drops.value(12));
            let handles: [Box<dyn Any>; 5] = [
                Box::new(boxed),
                Box::new(read),
                Box::new(stale),
                Box::new(last),
                Box::new(late),
            ];
            let mut handles = handles.map(Some);
            for at in order {
                drop(handles[at].take());
            }
            assert_eq!(drops.count() as u64, 13 + added);
        }
    }
}

/// A value whose destructor shrinks and grows its slab, and fills it if it
/// `refills`.
struct Resizing {
    slab: Weak<Slab<Resizing>>,
    refills: bool,
    canary: u64,
}

impl Resizing {
    fn new(slab: &Weak<Slab<Resizing>>, refills: bool) -> Self {
        Resizing {
            slab: slab.clone(),
            refills,
            canary: 7,
        }
    }

    fn inert() -> Self {
        Self::new(&Weak::new(), false)
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        let Some(slab) = self.slab.upgrade() else {
            return;
        };
        let len = slab.len();
        let each = amount(true, false);
        slab.shrink_to_fit();
        if each {
            slab.audit_but_stale();
        }
        slab.reserve(5);
        if each {
            slab.audit_but_stale();
        }
        slab.shrink_to_fit();
        slab.audit_but_stale();
        assert_eq!((slab.len(), self.canary), (len, 7));
        if self.refills {
            for _ in 0..4 {
                slab.insert(Self::inert()).leak();
            }
        }
        slab.shrink_to_fit();
    }
}

/// The last value of a chunk that is otherwise empty, by each way a value dies.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_destructor_may_give_back_the_chunks_around_its_value() {
    type Way = fn(&Slab<Resizing>, Slot<Resizing>);
    let ways: [(&str, Way); 11] = [
        ("slot", |_, slot| drop(slot)),
        ("removed", |slab, slot| {
            drop(slab.remove_by_key(slot.leak()))
        }),
        ("cleared", |slab, slot| {
            slot.leak();
            slab.clear();
        }),
        ("cleared, with a slot", |slab, slot| {
            slab.clear();
            drop(slot);
        }),
        ("not retained", |slab, slot| {
            slot.leak();
            slab.retain(|_, value| value.slab.strong_count() == 0);
        }),
        ("drained", |slab, slot| {
            slot.leak();
            drop(slab.drain());
        }),
        ("drained one by one", |slab, slot| {
            slot.leak();
            slab.drain().for_each(drop);
        }),
        ("box", |_, slot| drop::<SlotBox<_>>(slot.into_box())),
        ("replaced", |_, slot| drop(slot.replace(Resizing::inert()))),
        ("doomed", |slab, slot| {
            let guard = slab.get(slot.key()).unwrap();
            drop(slot);
            slab.shrink_to_fit();
            drop(guard);
        }),
        ("doomed while it is judged", |slab, slot| {
            let mut slot = Some(slot);
            slab.retain(|_, _| {
                drop(slot.take());
                slab.shrink_to_fit();
                true
            });
        }),
    ];
    let places = if cfg!(miri) { 1..2 } else { 0..4 };
    let both = amount(true, false);
    for (number, (name, way)) in ways.into_iter().enumerate() {
        for refills in [false, true] {
            if !both && refills != (number % 2 == 0) {
                // In turn, for the time it takes.
                continue;
            }
            for at in places.clone() {
                let slab = Rc::new(Slab::builder().chunk_capacity(1).build());
                let make = || Resizing::new(&Rc::downgrade(&slab), refills);
                let mut slots = [(); 4].map(|()| Some(slab.insert(make())));
                let slot = slots[at].take().unwrap();
                for other in slots.into_iter().flatten() {
                    // The value dies while its handle holds the slot.
                    drop(slab.remove_by_key(other.key()));
                    drop(other);
                }
                way(&slab, slot);
                slab.audit();
                slab.clear();
                slab.shrink_to_fit();
                assert_eq!(slab.capacity(), 0, "{name}, {refills}, {at}");
                assert_eq!(Rc::weak_count(&slab), 0, "{name}, {refills}, {at}");
            }
        }
    }
}

macro_rules! untracked_access_still_sees_vacancy {
    ($($name:ident: $slab:expr, $key:ident => $insert:expr;)*) => {$(
        #[test]
        fn $name() {
            let slab = $slab;
            let $key = slab.insert(7);
            let key = $insert.leak();
            {
                // SAFETY: no other reference is alive, and nothing is removed.
                let mut values = unsafe { slab.untracked() };
                values[key] += 1;
                *values.get_mut(key).unwrap() += 1;
                // SAFETY: there is a value at `key`.
                unsafe { *values.get_unchecked_mut(key) += 1 };
                // SAFETY: there is a value at `key`.
                assert_eq!(unsafe { *values.get_unchecked(key) }, 10);
                assert_eq!((values[key], values.get(Key::NONE)), (10, None));
                assert!(panics(|| values[Key::from_raw(1)]));
                assert!(panics(move || values[Key::from_raw(1 << 20)] = 1));
            }
            assert_eq!(slab.remove_by_key(key), 10);
            // SAFETY: no other reference is alive, and nothing is removed.
            let mut values = unsafe { slab.untracked() };
            assert!(values.get(key).is_none());
            assert!(values.get_mut(key).is_none());
            assert!(panics(|| values[key]), "there is no value any more");
            assert!(panics(move || values[key] = 1), "there is no value any more");
        }
    )*};
}

untracked_access_still_sees_vacancy! {
    untracked_access_to_a_bounded_slab: BoundedSlab::with_capacity(2), slot => slot.unwrap();
    untracked_access_to_a_growable_slab: Slab::builder().chunk_capacity(2).build(), slot => slot;
}
