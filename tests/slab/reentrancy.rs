//! Destructors and closures that use the slab they are called by.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flatslab::{Ref, Slab, Slot, SlotBox, TrackedSlab, VacantSlot};

use crate::common::{Audit, Detached, Hooked, Room, amount, over_both_slabs, panics, wide};

/// What a destructor does to the slab of its value.
type Action<M> = (&'static str, fn(&Scene<M>));

/// A slab, and handles that a destructor may reach.
struct Scene<M: Room> {
    slab: Rc<TrackedSlab<Hooked, M>>,
    slot: RefCell<Option<Slot<Hooked>>>,
    own: RefCell<Option<Slot<Hooked>>>,
    vacant: RefCell<Option<VacantSlot<Hooked>>>,
    boxed: RefCell<Option<SlotBox<Hooked>>>,
}

fn actions<M: Room>() -> Vec<Action<M>> {
    vec![
        ("insert", |scene| {
            drop(scene.slab.try_insert(Hooked::plain()))
        }),
        ("insert and leak", |scene| {
            if let Ok(slot) = scene.slab.try_insert(Hooked::plain()) {
                slot.leak();
            }
        }),
        ("grow", |scene| {
            let many: Vec<_> = (0..9)
                .map(|_| scene.slab.try_insert(Hooked::plain()))
                .collect();
            drop(many);
        }),
        ("drop another slot", |scene| drop(scene.slot.take())),
        ("drop its own slot", |scene| drop(scene.own.take())),
        ("leak its own slot", |scene| {
            if let Some(slot) = scene.own.take() {
                slot.leak();
            }
        }),
        ("remove another by key", |scene| {
            let key = scene.slot.borrow().as_ref().map(Slot::key);
            drop(key.and_then(|key| scene.slab.try_remove_by_key(key).ok()));
        }),
        ("take another and refill it", |scene| {
            let taken = scene.slot.take().map(Slot::try_take);
            match taken {
                Some(Ok((_, vacant))) => {
                    *scene.slot.borrow_mut() = Some(vacant.insert(Hooked::plain()))
                }
                Some(Err(slot)) => *scene.slot.borrow_mut() = Some(slot),
                None => {}
            }
        }),
        ("fill a reservation", |scene| {
            if let Some(vacant) = scene.vacant.take() {
                *scene.slot.borrow_mut() = Some(vacant.insert(Hooked::plain()));
            }
        }),
        ("fill a reservation and leak it", |scene| {
            if let Some(vacant) = scene.vacant.take() {
                vacant.insert(Hooked::plain()).leak();
            }
        }),
        ("drop a reservation", |scene| drop(scene.vacant.take())),
        ("unbox a box", |scene| {
            let slot = scene.boxed.take().map(SlotBox::into_slot);
            *scene.slot.borrow_mut() = slot;
        }),
        ("drop a box", |scene| drop(scene.boxed.take())),
        ("move a box's value out", |scene| {
            drop(scene.boxed.take().map(SlotBox::into_inner));
        }),
        ("clear", |scene| {
            drop(scene.boxed.take());
            let _ = scene.slab.try_clear();
        }),
        ("retain every other", |scene| {
            let mut keeps = false;
            scene.slab.try_retain(|_, _| {
                keeps = !keeps;
                keeps
            });
        }),
        ("drain one, then all", |scene| {
            let mut drain = scene.slab.try_drain();
            drop(drain.next());
            scene.slab.audit_but_stale();
            let _ = scene.slab.try_insert(Hooked::plain()).map(Slot::leak);
        }),
        ("visit all", |scene| {
            let read = scene.slab.try_iter().filter(|(_, value)| value.is_ok());
            let read = read.count();
            let written = scene.slab.try_iter_mut().filter(|(_, value)| value.is_ok());
            assert_eq!(written.count(), read);
            assert_eq!(
                scene.slab.keys().count(),
                read + scene.boxed.borrow().iter().count()
            );
        }),
        ("shrink", |scene| M::shrink(&scene.slab)),
        ("reserve, drain and shrink", |scene| {
            M::try_reserve(&scene.slab, 5).unwrap();
            drop(scene.slab.try_drain());
            M::shrink(&scene.slab);
        }),
        ("ask for everything", |scene| {
            for raw in 0..12 {
                let key = flatslab::Key::from_raw(raw);
                drop(scene.slab.try_get(key));
                drop(scene.slab.try_get_mut(key));
                let _ = scene.slab.contains_key(key);
                if let Ok(slot) = scene.slab.try_slot(key) {
                    slot.leak();
                }
            }
            scene.slab.audit_but_stale();
        }),
    ]
}

/// How the value with that destructor is dropped.
type Death<M> = (
    &'static str,
    fn(&Rc<TrackedSlab<Hooked, M>>, Slot<Hooked>, &Scene<M>),
);

fn deaths<M: Room>() -> Vec<Death<M>> {
    vec![
        ("its slot is dropped", |_, slot, _| drop(slot)),
        ("its box is dropped", |_, slot, _| drop(slot.into_box())),
        ("its last reader goes", |slab, slot, _| {
            let guard = slab.get(slot.key());
            drop(slot);
            drop(guard);
        }),
        ("its writer goes", |slab, slot, _| {
            let guard = slab.get_mut(slot.key());
            drop(slot);
            drop(guard);
        }),
        ("the slab is cleared, leaked", |slab, slot, scene| {
            slot.leak();
            drop(scene.boxed.take());
            slab.clear();
        }),
        ("it is not retained, leaked", |slab, slot, _| {
            let key = slot.leak();
            slab.try_retain(|at, _| at != key);
        }),
        ("it is not retained, its slot stale", |slab, slot, scene| {
            let key = slot.key();
            *scene.own.borrow_mut() = Some(slot);
            slab.try_retain(|at, _| at != key);
        }),
        (
            "it is doomed while it is asked about",
            |slab, slot, scene| {
                let key = slot.key();
                *scene.own.borrow_mut() = Some(slot);
                slab.try_retain(|at, _| {
                    if at == key {
                        drop(scene.own.take());
                    }
                    true
                });
            },
        ),
        ("it is doomed and not retained", |slab, slot, scene| {
            let key = slot.key();
            *scene.own.borrow_mut() = Some(slot);
            slab.try_retain(|at, _| {
                if at == key {
                    drop(scene.own.take());
                }
                at != key
            });
        }),
        ("a drain is dropped", |slab, slot, _| {
            slot.leak();
            drop(slab.try_drain());
        }),
        ("it is drained", |slab, slot, scene| {
            let key = slot.key();
            *scene.own.borrow_mut() = Some(slot);
            assert!(slab.try_drain().any(|(at, _)| at == key));
        }),
        (
            "the slab is cleared, its slot stale",
            |slab, slot, scene| {
                *scene.own.borrow_mut() = Some(slot);
                drop(scene.boxed.take());
                slab.clear();
            },
        ),
    ]
}

fn every_action_in_every_death<M: Room>() {
    // Under Miri each action with one or two of the deaths, for the time it takes; on
    // each run each death with another one of the actions.
    let step = amount(1, 20);
    let (mut combinations, mut driven) = (0, 0);
    for (death_name, death) in deaths::<M>() {
        for (action_name, action) in actions::<M>() {
            combinations += 1;
            if combinations % step != 0 {
                continue;
            }
            let slab = Rc::new(M::with_room::<Hooked>(6));
            let scene = Rc::new(Scene {
                slot: RefCell::new(Some(slab.try_insert(Hooked::plain()).unwrap())),
                own: RefCell::default(),
                vacant: RefCell::new(Some(slab.try_vacant_slot().unwrap())),
                boxed: RefCell::new(Some(slab.try_insert(Hooked::plain()).unwrap().into_box())),
                slab: slab.clone(),
            });
            let acted = Rc::new(Cell::new(false));
            let (inner, done) = (scene.clone(), acted.clone());
            let slot = slab
                .try_insert(Hooked::new(move || {
                    action(&inner);
                    inner.slab.audit_but_stale();
                    done.set(true);
                }))
                .unwrap();
            slab.try_insert(Hooked::plain()).unwrap().leak();
            death(&slab, slot, &scene);
            assert!(acted.get(), "{action_name} when {death_name}");
            slab.audit_but_stale();

            let scene = Rc::into_inner(scene).expect("the destructor gave its share back");
            drop((scene.slot, scene.own, scene.vacant, scene.boxed));
            slab.clear();
            slab.audit();
            assert_eq!(slab.len(), 0, "{action_name} when {death_name}");
            driven += 1;
        }
    }
    assert_eq!(combinations, 12 * 21);
    assert_eq!(driven, 12 * 21 / step);
}

/// While the slab is dropped, only handles can be reached.
fn every_action_in_slab_drop<M: Room>() {
    type Shelf = Rc<Handles>;
    #[derive(Default)]
    struct Handles {
        own: RefCell<Option<Slot<Hooked>>>,
        before: RefCell<Option<Slot<Hooked>>>,
        after: RefCell<Option<Slot<Hooked>>>,
        vacant: RefCell<Option<VacantSlot<Hooked>>>,
        boxed: RefCell<Option<SlotBox<Hooked>>>,
    }
    type HandleAction = (&'static str, fn(&Handles));
    let actions: [HandleAction; 10] = [
        ("drop its own slot", |h| drop(h.own.take())),
        ("leak its own slot", |h| {
            h.own.take().map(Slot::leak);
        }),
        ("drop a slot before it", |h| drop(h.before.take())),
        ("drop a slot after it", |h| drop(h.after.take())),
        ("take one after it and refill it", |h| {
            let (value, vacant) = h.after.take().unwrap().take();
            drop(value);
            *h.after.borrow_mut() = Some(vacant.insert(Hooked::plain()));
        }),
        ("fill a reservation before it", |h| {
            let vacant = h.vacant.take().unwrap();
            *h.before.borrow_mut() = Some(vacant.insert(Hooked::plain()));
        }),
        ("fill and leak a reservation before it", |h| {
            h.vacant.take().unwrap().insert(Hooked::plain()).leak();
        }),
        ("unbox a box before it", |h| {
            *h.before.borrow_mut() = h.boxed.take().map(SlotBox::into_slot);
        }),
        ("drop a box", |h| drop(h.boxed.take())),
        ("move a box's value out", |h| {
            drop(h.boxed.take().map(SlotBox::into_inner));
        }),
    ];
    for (name, action) in actions {
        let slab = M::with_room::<Hooked>(6);
        let handles = Shelf::default();
        let dropped = Rc::new(Cell::new(0));
        let counted = || {
            let count = dropped.clone();
            Hooked::new(move || count.set(count.get() + 1))
        };
        *handles.vacant.borrow_mut() = Some(slab.try_vacant_slot().unwrap());
        *handles.boxed.borrow_mut() = Some(slab.try_insert(counted()).unwrap().into_box());
        *handles.before.borrow_mut() = Some(slab.try_insert(counted()).unwrap());
        let inner = handles.clone();
        let own = slab
            .try_insert(Hooked::new(move || action(&inner)))
            .unwrap();
        *handles.own.borrow_mut() = Some(own);
        *handles.after.borrow_mut() = Some(slab.try_insert(counted()).unwrap());
        drop(slab);
        assert!(dropped.get() >= 2, "{name}");
        for slot in [&handles.own, &handles.before, &handles.after] {
            assert!(
                slot.borrow().as_ref().is_none_or(|slot| !slot.is_valid()),
                "{name}"
            );
        }
        drop(handles);
        assert_eq!(dropped.get(), 3, "{name}");
    }
}

/// A value that owns its own slot: dropping it drops a handle in the cell that
/// is being emptied.
struct Narcissus {
    me: Option<Slot<Narcissus>>,
    _hook: Hooked,
}

impl Drop for Narcissus {
    fn drop(&mut self) {
        drop(self.me.take());
    }
}

fn a_value_that_owns_its_own_slot_is_cleared<M: Room>() {
    let slab = Rc::new(M::with_room::<Narcissus>(2));
    let inner = slab.clone();
    let own = slab.try_vacant_slot().unwrap();
    let key = own.key();
    let hook = Hooked::new(move || {
        // Its slot is gone by now, and the dying cell is still not free.
        let other = inner.try_insert(Narcissus {
            me: None,
            _hook: Hooked::plain(),
        });
        assert!(other.is_ok_and(|slot| slot.key() != key));
        inner.audit();
    });
    let slot = own.insert(Narcissus {
        me: None,
        _hook: hook,
    });
    slab.get_mut(key).unwrap().me = Some(slot);
    slab.clear();
    slab.audit();
    assert!(slab.is_empty());
    assert_eq!(
        slab.try_insert(Narcissus {
            me: None,
            _hook: Hooked::plain()
        })
        .unwrap()
        .key(),
        key
    );
}

fn a_value_that_owns_its_own_slot_goes_with_the_slab<M: Room>() {
    let slab = M::with_room::<Narcissus>(2);
    let dropped = Rc::new(Cell::new(false));
    let done = dropped.clone();
    let hook = Hooked::new(move || done.set(true));
    let slot = slab
        .try_insert(Narcissus {
            me: None,
            _hook: hook,
        })
        .unwrap();
    let key = slot.key();
    slab.get_mut(key).unwrap().me = Some(slot);
    drop(slab);
    assert!(dropped.get());
}

/// A value that holds a guard of another one. Its drop ends a borrow.
struct Keeper(#[expect(dead_code, reason = "held, not read")] Option<Ref<'static, Keeper>>);

fn a_destructor_may_end_a_guard_during_clear_and_slab_drop<M: Room>() {
    // The guarded value stands before its keeper, so the walk has passed it.
    // SAFETY: no guard by key is made.
    let slab = unsafe { Detached::new(M::with_room::<Keeper>(2)) };
    let shared = slab.get().unwrap();
    // SAFETY: the slot is used by its guard alone, which the slab drops.
    let guarded = unsafe { Detached::new(shared.try_insert(Keeper(None)).unwrap()) };
    let guard = guarded.get().unwrap().get();
    shared.try_insert(Keeper(Some(guard))).unwrap().leak();
    assert!(shared.try_clear().is_err());
    shared.audit();
    slab.end();
    let slot = guarded.get().unwrap();
    assert!(!slot.is_valid() && slot.try_get().is_err());
    guarded.end();
}

/// The walk has passed the reservation when a destructor fills and leaks it.
fn a_value_that_slab_drop_has_passed_is_dropped_too<M: Room>() {
    for bomb in [false, true] {
        let slab = M::with_room::<Hooked>(2);
        let dropped = Rc::new(Cell::new(0));
        let vacant = slab.try_vacant_slot().unwrap();
        let count = dropped.clone();
        let late = Hooked::new(move || count.set(count.get() + 1));
        let hook = Hooked::new(move || {
            vacant.insert(late).leak();
            assert!(!bomb, "and then it panics");
        });
        slab.try_insert(hook).unwrap().leak();
        assert_eq!(panics(|| drop(slab)), bomb);
        assert_eq!(dropped.get(), 1);
    }
}

/// Puts a value into the slab whose destructor puts two more of its kind there.
fn breed(slab: &Rc<Slab<Hooked>>, ran: &Rc<Cell<usize>>) {
    let (inner, count) = (slab.clone(), ran.clone());
    let hook = Hooked::new(move || {
        count.set(count.get() + 1);
        // An end, so that this test fails and does not hang.
        if count.get() < 100 {
            breed(&inner, &count);
            breed(&inner, &count);
        }
    });
    slab.insert(hook).leak();
}

#[test]
fn clear_ends_though_destructors_grow_the_slab() {
    let slab = Rc::new(Slab::builder().chunk_capacity(2).build());
    let ran = Rc::new(Cell::new(0));
    breed(&slab, &ran);
    breed(&slab, &ran);
    let slots = slab.capacity();
    slab.clear();
    assert!(ran.get() <= slots, "{} of {slots}", ran.get());
    slab.audit();
    // The values inserted by destructors hold the slab.
    ran.set(100);
    slab.clear();
    assert!(slab.is_empty() && Rc::strong_count(&slab) == 1);
}

fn a_value_that_a_destructor_borrows_during_clear_stays<M: Room>() {
    // SAFETY: the one guard is dropped before.
    let slab = unsafe { Detached::new(M::with_room::<Hooked>(2)) };
    let shared = slab.get().unwrap();
    let guard: Rc<RefCell<Option<Ref<'static, Hooked>>>> = Rc::default();
    let shelf = guard.clone();
    let hook = Hooked::new(move || *shelf.borrow_mut() = shared.get(flatslab::Key::from_raw(1)));
    shared.try_insert(hook).unwrap().leak();
    let dropped = Rc::new(Cell::new(false));
    let done = dropped.clone();
    let key = shared
        .try_insert(Hooked::new(move || done.set(true)))
        .unwrap()
        .leak();
    assert_eq!(shared.try_clear(), Ok(()));
    assert!(
        guard
            .borrow()
            .as_ref()
            .is_some_and(|guard| guard.is_armed())
    );
    assert!(!dropped.get() && shared.contains_key(key));
    drop(guard.take());
    assert!(!dropped.get() && shared.len() == 1);
    slab.end();
    assert!(dropped.get());
}

fn take_under_the_last_cell_of_a_full_chunk_twice<M: Room>() {
    let slab = M::with_room::<u64>(2);
    let first = slab.try_insert(1).unwrap();
    let (value, vacant) = slab.try_insert(2).unwrap().take();
    let (again, vacant) = vacant.insert(value + 1).take();
    assert_eq!(again, 3);
    slab.audit();
    drop(first);
    drop(vacant);
    slab.audit();
    assert_eq!(
        slab.try_insert(4).unwrap().key().index(),
        1,
        "last freed, first reused"
    );
    assert!(slab.is_empty());
}

fn a_closure_may_use_the_slab_it_fills<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let outer = slab
        .try_insert_with(|vacant| {
            let inner: Vec<_> = (0..3).map(|n| slab.try_insert(n).unwrap()).collect();
            assert!(inner.iter().all(|slot| slot.key() != vacant.key()));
            slab.clear();
            assert_eq!(slab.audit_but_stale(), 3);
            assert_eq!(slab.len(), 1, "the reservation");
            drop(inner);
            slab.remove_by_key(slab.try_insert(7).unwrap().leak())
        })
        .unwrap();
    slab.audit();
    assert_eq!(*outer.get(), 7);
}

fn and_modify_sees_its_value_borrowed<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slot = slab.try_insert(7).unwrap();
    slot.and_modify(|value| {
        assert!(slot.try_get().is_err() && slab.try_get(slot.key()).is_err());
        assert!(slab.try_clear().is_err() && slab.try_remove_by_key(slot.key()).is_err());
        *value += 1;
    });
    assert_eq!(slot.into_inner(), 8);
}

/// What `keep` can do to the value it is asked about.
fn retain_asks_about_a_borrowed_value<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let leaked = slab.try_insert(1).unwrap().leak();
    let slot = RefCell::new(Some(slab.try_insert(2).unwrap()));
    let read = slab.try_insert(3).unwrap();
    let guard = read.get();
    let mut asked = Vec::new();
    let left = slab.try_retain(|key, value| {
        asked.push(*value);
        assert!(slab.try_get(key).is_err() && slab.try_get_mut(key).is_err());
        assert!(slab.contains_key(key) && panics(|| slab.get_copied(key)));
        assert!(slab.try_remove_by_key(key).is_err() && slab.try_slot(key).is_err());
        assert!(slab.try_clear().is_err());
        if key != leaked {
            // Given to its key while it is asked about.
            slot.take().unwrap().leak();
        }
        *value += 10;
        true
    });
    assert_eq!(asked, [1, 2], "not about what is borrowed already");
    assert_eq!(left, 1);
    drop(guard);
    let values: Vec<_> = slab.iter().map(|(_, value)| *value).collect();
    assert_eq!(values, [11, 12, 3]);
    slab.retain(|_, value| *value > 5);
    assert_eq!(slab.len(), 2);
    assert_eq!(slab.audit_but_stale(), 1);
}

fn a_walk_within_a_walk_finds_what_is_left<M: Room>() {
    let slab = M::with_room::<u64>(4);
    for number in 0..4 {
        slab.try_insert(number).unwrap().leak();
    }
    let mut within = Vec::new();
    slab.retain(|key, _| {
        assert!(panics(|| slab.drain()), "one is asked about");
        within.push(slab.try_drain().map(|(_, value)| value).collect::<Vec<_>>());
        key.index() == 0
    });
    assert_eq!(within, [vec![1, 2, 3]], "the one that is asked about stays");
    assert_eq!(slab.len(), 1);
    let mut outer = slab.drain();
    assert_eq!(slab.drain().count(), 1);
    assert!(outer.next().is_none());
    slab.audit();
}

/// An iterator looks at the slab again at each step.
fn the_slab_may_change_under_an_iterator<M: Room>() {
    let slab = M::with_room::<u64>(6);
    let mut slots: Vec<_> = (0..6)
        .map(|number| slab.try_insert(number).unwrap())
        .collect();
    let mut iter = slab.iter();
    let mut keys = slab.keys();
    assert!(iter.next().is_some_and(|(_, value)| *value == 0));
    assert!(keys.next().is_some());
    // All but the first and the last go; their chunks stay as long as the iterators.
    slots.drain(1..5);
    M::shrink(&slab);
    slab.audit();
    let rest = iter.clone();
    assert!(rest.map(|(key, value)| (key.index(), *value)).eq([(5, 5)]));
    // Two come back, in front of the iterators.
    let more = [slab.try_insert(10).unwrap(), slab.try_insert(11).unwrap()];
    let seen: Vec<_> = keys.collect();
    assert_eq!(seen.len(), 3);
    assert!(more.iter().all(|slot| seen.contains(&slot.key())));
    assert_eq!(iter.by_ref().count(), 3);
    assert_eq!(iter.size_hint(), (0, Some(0)));
    assert!(iter.next().is_none());
    M::shrink(&slab);
    slab.audit();
    drop(iter);
    M::shrink(&slab);
    slab.audit();
}

#[test]
fn a_loop_that_inserts_ends() {
    let slab = Slab::builder().chunk_capacity(1).build();
    slab.insert(wide(0)).leak();
    let mut seen = 0;
    for (_, mut value) in slab.iter_mut() {
        value.0 += 1;
        seen += 1;
        slab.insert(wide(0)).leak();
        assert!(seen < 10, "new chunks are not visited");
    }
    for _ in slab.keys() {
        slab.insert(wide(0)).leak();
    }
    let before = slab.len();
    for (_, value) in slab.drain() {
        slab.reserve(1);
        slab.insert(value).leak();
    }
    assert!(seen == 1 && slab.len() <= before);
    slab.audit();
}

fn a_forgotten_drain_leaves_the_rest<M: Room>() {
    let slab = M::with_room::<u64>(4);
    for number in 0..4 {
        slab.try_insert(number).unwrap().leak();
    }
    let mut drain = slab.drain();
    assert!(drain.next().is_some_and(|(_, value)| value == 0));
    std::mem::forget(drain);
    slab.audit();
    assert_eq!(slab.len(), 3);
}

/// A chunk stays while a destructor runs in it, and nothing else is in it.
#[test]
fn a_destructor_may_shrink_its_own_slab() {
    let slab = Rc::new(Slab::builder().chunk_capacity(1).build());
    let seen = Rc::new(Cell::new(0));
    let (inner, count) = (slab.clone(), seen.clone());
    let hook = Hooked::new(move || {
        inner.shrink_to_fit();
        count.set(inner.chunks());
        inner.audit();
    });
    let others: Vec<_> = (0..3).map(|_| slab.insert(Hooked::plain())).collect();
    let slot = slab.insert(hook);
    drop(others);
    drop(slot);
    assert_eq!((seen.get(), slab.chunks()), (1, 1));
    slab.shrink_to_fit();
    assert_eq!(slab.chunks(), 0);
    assert_eq!(slab.insert(Hooked::plain()).key().index(), 0);
}

over_both_slabs!(
    every_action_in_every_death,
    every_action_in_slab_drop,
    a_value_that_owns_its_own_slot_is_cleared,
    a_value_that_owns_its_own_slot_goes_with_the_slab,
    a_destructor_may_end_a_guard_during_clear_and_slab_drop,
    a_value_that_slab_drop_has_passed_is_dropped_too,
    a_value_that_a_destructor_borrows_during_clear_stays,
    take_under_the_last_cell_of_a_full_chunk_twice,
    a_closure_may_use_the_slab_it_fills,
    and_modify_sees_its_value_borrowed,
    retain_asks_about_a_borrowed_value,
    a_walk_within_a_walk_finds_what_is_left,
    the_slab_may_change_under_an_iterator,
    a_forgotten_drain_leaves_the_rest,
);
