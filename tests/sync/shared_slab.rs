//! `SharedSlab` on one thread: a model, panics, re-entrancy, what is forgotten or forged.

use std::cell::Cell;
use std::collections::HashMap;
use std::mem::{forget, size_of};
use std::rc::Rc;
use std::sync::Arc;

use flatslab::sync::{SharedKey, SharedRef, SharedSlab};
use flatslab::{AccessError, AllocError, Builder, FullError};

use crate::common::random::{random, seed};
use crate::common::{Drops, Hooked, amount, panics};

/// Fills the free slots, and checks that they are as many, each once.
fn free_slots<T>(slab: &SharedSlab<T>, value: impl Fn() -> T) -> usize {
    let mut keys = Vec::new();
    while let Ok(key) = slab.insert(value()) {
        keys.push(key);
    }
    assert!(slab.is_full());
    let free = keys.len();
    keys.sort_unstable_by_key(|key| key.into_raw() & 0xff_ffff);
    keys.dedup_by_key(|key| key.into_raw() & 0xff_ffff);
    assert_eq!(keys.len(), free, "a slot twice");
    for key in keys {
        assert!(slab.remove(key));
    }
    free
}

/// A removed value that is kept by guards, or one that is there.
struct Kept<'a> {
    number: u64,
    guard: SharedRef<Noted, &'a SharedSlab<Noted>>,
}

/// A value that counts those of its kind.
struct Noted(u64, Rc<Cell<usize>>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.1.set(self.1.get() - 1);
    }
}

fn run_model(capacity: usize, number: u64, steps: u32) {
    seed(number);
    let alive = Rc::new(Cell::new(0));
    let value = |number| {
        alive.set(alive.get() + 1);
        Noted(number, alive.clone())
    };
    let mut slab = SharedSlab::with_capacity(capacity);
    for part in 0..3 {
        let mut model: HashMap<SharedKey, u64> = HashMap::new();
        let mut guards: Vec<Kept<'_>> = Vec::new();
        let mut stale: Vec<SharedKey> = Vec::new();
        for step in 0..u64::from(steps) {
            let some = |map: &HashMap<SharedKey, u64>| {
                let mut keys: Vec<_> = map.keys().copied().collect();
                keys.sort_unstable();
                (!keys.is_empty()).then(|| keys[random(keys.len() as u64) as usize])
            };
            let in_use = |guards: &Vec<Kept<'_>>, model: &HashMap<SharedKey, u64>| {
                let mut keys: Vec<_> = guards.iter().map(|it| SharedRef::key(&it.guard)).collect();
                keys.extend(model.keys());
                keys.sort_unstable();
                keys.dedup();
                keys.len()
            };
            match random(12) {
                0..4 => match slab.insert(value(step)) {
                    Ok(key) => {
                        assert!(model.insert(key, step).is_none() && !stale.contains(&key));
                    }
                    Err(FullError(back)) => {
                        assert_eq!(back.0, step);
                        assert_eq!(in_use(&guards, &model), capacity);
                    }
                },
                4 => {
                    let result = slab.insert_with(|key| {
                        assert!(slab.get(key).is_none());
                        value(key.into_raw())
                    });
                    if let Ok(key) = result {
                        assert!(model.insert(key, key.into_raw()).is_none());
                    }
                }
                5..7 => {
                    if let Some(key) = some(&model) {
                        assert!(slab.remove(key) && !slab.remove(key));
                        model.remove(&key);
                        stale.push(key);
                    }
                }
                7 => {
                    if let Some(key) = some(&model) {
                        let is_held = guards.iter().any(|it| SharedRef::key(&it.guard) == key);
                        match slab.try_take(key) {
                            Ok(value) => {
                                assert!(!is_held && model.remove(&key) == Some(value.0));
                                stale.push(key);
                            }
                            Err(error) => {
                                assert!(is_held && error == AccessError::Borrowed);
                            }
                        }
                    }
                }
                8..10 => {
                    if let Some(key) = some(&model) {
                        let guard = slab.get(key).unwrap();
                        let number = model[&key];
                        guards.push(Kept { number, guard });
                    }
                }
                10 => {
                    if !guards.is_empty() {
                        let place = random(guards.len() as u64) as usize;
                        let Kept { number, guard } = guards.swap_remove(place);
                        assert_eq!(guard.0, number);
                        if random(3) == 0 {
                            let key = SharedRef::key(&guard);
                            let more = SharedRef::clone(&guard);
                            assert_eq!(SharedRef::remove(guard), model.remove(&key).is_some());
                            assert_eq!(more.0, number);
                            stale.push(key);
                        }
                    }
                }
                _ => {
                    for _ in 0..4.min(stale.len()) {
                        let key = stale[random(stale.len() as u64) as usize];
                        assert!(slab.get(key).is_none() && !slab.contains_key(key));
                        assert!(!slab.remove(key));
                        assert!(matches!(slab.try_take(key), Err(AccessError::Missing)));
                    }
                }
            }
            let used = in_use(&guards, &model);
            assert_eq!((slab.len(), alive.get()), (used, used));
            assert_eq!(
                (slab.is_empty(), slab.is_full()),
                (used == 0, used == capacity)
            );
            if step % 16 == 0 {
                let all: HashMap<_, _> = slab.iter().map(|(key, value)| (key, value.0)).collect();
                assert_eq!(all, model);
                assert!(guards.iter().all(|it| it.guard.0 == it.number));
            }
        }
        if part == 1 {
            // Their slots come back with the next `clear`.
            guards.drain(..).for_each(|kept| forget(kept.guard));
        }
        drop(guards);
        for (&key, &number) in &model {
            assert_eq!(slab.get_mut(key).unwrap().0, number);
        }
        if part < 2 {
            slab.clear();
            assert_eq!((slab.len(), alive.get()), (0, 0));
            assert!(model.keys().all(|&key| slab.get(key).is_none()));
            assert_eq!(free_slots(&slab, || value(0)), capacity);
        }
    }
    drop(slab);
    assert_eq!(alive.get(), 0);
}

#[test]
fn random_programs_do_as_the_model() {
    // Unoptimised, sixty take as long as all other tests of this binary together.
    let programs = if cfg!(debug_assertions) { 16 } else { 60 };
    for number in 1..=amount(programs, 2) {
        run_model([1, 2, 5, 70][number as usize % 4], number, amount(600, 20));
    }
}

#[test]
fn a_full_slab_returns_the_value() {
    let slab = SharedSlab::with_capacity(2);
    let keys = [slab.insert(1).unwrap(), slab.insert(2).unwrap()];
    assert_eq!(slab.insert(3), Err(FullError(3)));
    let refused = slab.insert_with(|_| unreachable!());
    assert_eq!(refused, Err(AllocError::Full { capacity: 2 }));
    assert!(slab.remove(keys[0]));
    assert!(slab.insert(4).is_ok());
    let none = SharedSlab::<u8>::with_capacity(0);
    assert_eq!(none.insert(1), Err(FullError(1)));
    assert!(none.is_full() && none.is_empty() && none.iter().next().is_none());
    assert!(none.get(keys[0]).is_none() && !none.remove(keys[1]));
}

#[test]
fn a_removed_value_is_dropped_by_its_last_guard() {
    let drops = Drops::new();
    let slab = SharedSlab::with_capacity(1);
    let key = slab.insert(drops.value(7)).unwrap_or_else(|_| panic!());
    let one = slab.get(key).unwrap();
    let two = SharedRef::clone(&one);
    assert!(slab.remove(key));
    assert_eq!((one.number, drops.count()), (7, 0));
    drop(one);
    assert_eq!((two.number, drops.count(), slab.len()), (7, 0, 1));
    drop(two);
    assert_eq!((drops.count(), slab.len()), (1, 0));
}

#[test]
fn a_guard_may_leave_the_drop_to_another_thread() {
    let drops = Drops::new();
    let mut slab = SharedSlab::with_capacity(2);
    let key = slab.insert(drops.value(7)).unwrap_or_else(|_| panic!());
    let [one, two, three] = [(); 3].map(|()| slab.get(key).unwrap());
    // Not removed yet: there is nothing to leave.
    SharedRef::retire(one);
    assert_eq!((slab.reclaim(), slab.contains_key(key)), (0, true));
    assert!(slab.remove(key));
    // Not the last guard.
    SharedRef::retire(two);
    assert_eq!((slab.reclaim(), drops.count()), (0, 0));
    SharedRef::retire(three);
    assert!(slab.get(key).is_none() && !slab.remove(key));
    assert_eq!((drops.count(), slab.len(), slab.reclaim_some(0)), (0, 1, 0));
    assert_eq!((slab.reclaim(), drops.count(), slab.len()), (1, 1, 0));

    // What is not reclaimed goes with all values, once.
    for _ in 0..2 {
        let key = slab.insert(drops.value(8)).unwrap_or_else(|_| panic!());
        let guard = slab.get(key).unwrap();
        slab.remove(key);
        SharedRef::retire(guard);
    }
    assert!(slab.is_full());
    slab.clear();
    assert_eq!((drops.count(), slab.reclaim(), slab.len()), (3, 0, 0));
    let key = slab.insert(drops.value(9)).unwrap_or_else(|_| panic!());
    let guard = slab.get(key).unwrap();
    slab.remove(key);
    SharedRef::retire(guard);
    drop(slab);
    assert_eq!(drops.count(), 4);
}

#[test]
fn a_panic_while_retired_values_are_dropped_loses_none_of_the_others() {
    let drops = Drops::new();
    let slab = SharedSlab::with_capacity(3);
    let bomb = Hooked::new(|| panic!("in a destructor"));
    for value in [drops.hooked(), bomb, drops.hooked()] {
        let key = slab.insert(value).unwrap();
        let guard = slab.get(key).unwrap();
        slab.remove(key);
        SharedRef::retire(guard);
    }
    assert!(panics(|| while slab.reclaim_some(1) > 0 {}));
    slab.reclaim();
    assert_eq!((drops.count(), slab.len()), (2, 0));
    assert_eq!(free_slots(&slab, Hooked::plain), 3);
}

#[test]
#[expect(clippy::arc_with_non_send_sync, reason = "owned guards hold an `Arc`")]
fn an_owned_guard_that_is_retired_lets_the_slab_go() {
    let drops = Drops::new();
    let slab = Arc::new(SharedSlab::with_capacity(2));
    let key = slab.insert(drops.value(7)).unwrap_or_else(|_| panic!());
    slab.insert(drops.value(8)).unwrap_or_else(|_| panic!());
    let guard = slab.get_owned(key).unwrap();
    slab.remove(key);
    drop(slab);
    SharedRef::retire(guard);
    assert_eq!(drops.count(), 2);
}

#[test]
#[expect(clippy::arc_with_non_send_sync, reason = "owned guards hold an `Arc`")]
fn an_owned_guard_keeps_the_slab() {
    let drops = Drops::new();
    let slab = Arc::new(SharedSlab::with_capacity(2));
    let key = slab.insert(drops.value(7)).unwrap_or_else(|_| panic!());
    let other = slab.insert(drops.value(8)).unwrap_or_else(|_| panic!());
    let one = slab.get_owned(key).unwrap();
    let two = SharedRef::clone(&one);
    assert!(SharedRef::remove(one) && slab.get_owned(key).is_none());
    assert_eq!((SharedRef::key(&two), two.number), (key, 7));
    assert!(SharedRef::slab(&two).contains_key(other));
    drop(slab);
    assert_eq!(drops.count(), 0);
    drop(two);
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_panic_in_a_destructor_frees_the_slot() {
    let bomb = || Hooked::new(|| panic!("in a destructor"));
    let mut slab = SharedSlab::with_capacity(3);
    let key = slab.insert(bomb()).unwrap();
    assert!(panics(|| slab.remove(key)));
    assert!(slab.is_empty() && slab.get(key).is_none());
    let key = slab.insert(bomb()).unwrap();
    let guard = slab.get(key).unwrap();
    slab.remove(key);
    assert!(panics(|| drop(guard)) && slab.is_empty());
    let drops = Drops::new();
    for value in [drops.hooked(), bomb(), drops.hooked()] {
        slab.insert(value).unwrap();
    }
    assert!(panics(|| slab.clear()));
    assert_eq!((drops.count(), slab.len()), (2, 0));
    assert_eq!(free_slots(&slab, Hooked::plain), 3);
    for value in [bomb(), drops.hooked(), drops.hooked()] {
        slab.insert(value).unwrap();
    }
    assert!(panics(|| drop(slab)) && drops.count() == 4);
}

#[test]
#[expect(clippy::arc_with_non_send_sync, reason = "owned guards hold an `Arc`")]
fn a_panic_in_an_owned_guards_end_frees_the_slab() {
    let drops = Drops::new();
    let slab = Arc::new(SharedSlab::with_capacity(2));
    let key = slab
        .insert(Hooked::new(|| panic!("in a destructor")))
        .unwrap();
    slab.insert(drops.hooked()).unwrap();
    let guard = slab.get_owned(key).unwrap();
    slab.remove(key);
    drop(slab);
    assert!(panics(|| drop(guard)));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_panic_while_a_value_is_made_frees_the_slot_and_its_key_leads_to_nothing() {
    let slab = SharedSlab::with_capacity(1);
    let given = Cell::new(None);
    let make = |key| -> u64 {
        given.set(Some(key));
        assert!(slab.get(key).is_none() && !slab.remove(key) && slab.is_full());
        panic!("in the closure");
    };
    assert!(panics(|| slab.insert_with(make)));
    let key = given.get().unwrap();
    assert!(slab.is_empty());
    let next = slab.insert(7).unwrap();
    assert!(next != key && slab.get(key).is_none() && *slab.get(next).unwrap() == 7);
}

#[test]
fn a_value_that_is_made_or_dropped_may_use_the_slab() {
    thread_local! {
        static SLAB: SharedSlab<Hooked> = SharedSlab::with_capacity(2);
        static KEY: Cell<Option<SharedKey>> = const { Cell::new(None) };
    }
    let key = SLAB.with(|slab| {
        slab.insert_with(|outer| {
            let inner = slab.insert(Hooked::plain()).unwrap();
            assert!(slab.insert(Hooked::plain()).is_err());
            assert!(slab.remove(inner) && slab.get(outer).is_none());
            let hook = move || {
                SLAB.with(|slab| {
                    assert!(slab.get(outer).is_none() && !slab.remove(outer));
                    assert_eq!(slab.len(), 1);
                    let key = slab.insert(Hooked::plain()).unwrap();
                    // The slot of this value is still taken.
                    assert!(slab.insert(Hooked::plain()).is_err());
                    KEY.set(Some(key));
                });
            };
            Hooked::new(hook)
        })
    });
    let key = key.unwrap();
    SLAB.with(|slab| {
        let guard = slab.get(key).unwrap();
        assert!(slab.remove(key) && guard.is_armed());
        drop(guard);
        assert!(slab.contains_key(KEY.get().unwrap()) && slab.len() == 1);
        assert_eq!(slab.iter().filter(|(_, value)| value.is_armed()).count(), 0);
    });
}

#[test]
fn a_forgotten_guard_keeps_its_slot_until_the_slab_is_cleared() {
    let drops = Drops::new();
    let mut slab = SharedSlab::with_capacity(1);
    let key = slab.insert(drops.hooked()).unwrap();
    forget(slab.get(key));
    assert_eq!(slab.try_take(key).err(), Some(AccessError::Borrowed));
    assert!(panics(|| slab.take(key)));
    assert!(slab.get_mut(key).is_some() && slab.remove(key));
    assert!(slab.get_mut(key).is_none() && slab.is_full());
    slab.clear();
    assert_eq!((drops.count(), slab.len()), (1, 0));
    let key = slab.insert(drops.hooked()).unwrap();
    forget(slab.get(key));
    forget(slab.iter().next());
    drop(slab);
    assert_eq!(drops.count(), 2);
}

#[test]
fn forged_keys_lead_to_nothing_or_to_the_value_with_those_bits() {
    let mut slab = SharedSlab::with_capacity(3);
    let keys: Vec<_> = (0..3).map(|number| slab.insert(number).unwrap()).collect();
    slab.remove(keys[1]);
    let live = [keys[0], keys[2]];
    let raw = live[0].into_raw();
    let mut bits = vec![
        1,
        u64::MAX,
        raw | 1 << 23,
        raw | 1 << 22,
        raw + 1,
        raw - 1,
        !raw,
    ];
    bits.extend((0..64).map(|bit| raw ^ 1 << bit));
    bits.extend((0..64).map(|bit| 1 << bit));
    seed(5);
    bits.extend((0..amount(2000, 50)).map(|_| random(u64::MAX >> 12) << random(12)));
    for key in bits.into_iter().filter_map(SharedKey::from_raw) {
        let is_live = live.contains(&key);
        assert_eq!(slab.contains_key(key), is_live, "{key:?}");
        assert_eq!(slab.get(key).is_some(), is_live);
        assert_eq!(slab.get_mut(key).is_some(), is_live);
        if !is_live {
            assert_eq!(slab.try_take(key), Err(AccessError::Missing));
            assert!(!slab.remove(key));
        }
    }
    assert_eq!(slab.len(), 2);
    // Of another slab.
    let other = SharedSlab::with_capacity(1);
    other.insert("other").unwrap();
    assert!(live.iter().filter(|&&key| other.contains_key(key)).count() <= 1);
}

#[test]
fn values_of_every_size_and_alignment_are_kept() {
    #[repr(align(4096))]
    #[derive(Clone, PartialEq, Debug)]
    struct Page(u8);
    #[repr(align(64))]
    #[derive(Clone, PartialEq, Debug)]
    struct Line([u8; 65]);

    fn keeps<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let slab = SharedSlab::with_capacity(3);
        let keys: Vec<_> = (0..3)
            .map(|_| slab.insert(value.clone()).unwrap())
            .collect();
        assert!(slab.remove(keys[1]));
        for key in [keys[0], keys[2]] {
            let guard = slab.get(key).unwrap();
            assert_eq!(*guard, value);
            let address = std::ptr::from_ref(&*guard).addr();
            assert_eq!(address % align_of::<T>(), 0);
        }
        assert_eq!(slab.try_take(keys[0]).unwrap(), value);
        assert_eq!(free_slots(&slab, || value.clone()), 2);
    }
    keeps(());
    keeps(7_u8);
    keeps([7_u8; 17]);
    keeps(7_u128);
    keeps(String::from("text"));
    keeps(Line([7; 65]));
    keeps(Page(7));
    keeps([7_u8; 65536]);
}

#[test]
fn capacities_that_cannot_be_are_refused() {
    for capacity in [1 << 30, usize::MAX] {
        let error = SharedSlab::<u64>::try_with_capacity(capacity).unwrap_err();
        assert!(
            matches!(error, AllocError::TooManySlots { requested, .. } if requested == capacity)
        );
        assert!(panics(|| SharedSlab::<u64>::with_capacity(capacity)));
        let builder = SharedSlab::<u64>::builder().capacity(capacity);
        assert!(builder.clone().try_build().is_err() && panics(|| builder.build()));
    }
    type Huge = [u8; isize::MAX as usize / 4];
    let error = SharedSlab::<Huge>::try_with_capacity(5).unwrap_err();
    assert!(matches!(error, AllocError::TooManyBytes { slots: 5, .. }));
}

#[test]
fn everything_is_printed_in_every_state() {
    let slab = Arc::new(SharedSlab::with_capacity(2));
    assert_eq!(
        format!("{slab:?}"),
        "SharedSlab { len: 0, capacity: 2, .. }"
    );
    let key = slab.insert("value").unwrap();
    let (guard, owned) = (slab.get(key).unwrap(), slab.get_owned(key).unwrap());
    assert_eq!(
        format!("{guard:?} {guard} {owned:?} {owned}"),
        "\"value\" value \"value\" value"
    );
    slab.remove(key);
    assert_eq!(format!("{guard} {owned}"), "value value");
    assert_eq!(
        format!("{slab:?}"),
        "SharedSlab { len: 1, capacity: 2, .. }"
    );
    assert_eq!(format!("{:?}", slab.iter()), "Iter { slots_left: 2, .. }");
    let raw = SharedKey::from_raw(0x0100_0001);
    assert_eq!(format!("{raw:?}"), "Some(SharedKey(0x1000001))");
    let builder: Builder<SharedSlab<u64>> = SharedSlab::builder().capacity(3);
    assert!(format!("{builder:?}").starts_with("Builder { options: Options { capacity: 3"));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn memory_is_reported_and_a_key_is_small() {
    assert_eq!(size_of::<Option<SharedKey>>(), 8);
    let slab = SharedSlab::<u64>::builder().capacity(10_000).build();
    let bytes = slab.memory().bytes();
    assert!((160_000 + 1250..180_000).contains(&bytes), "{bytes}");
}

#[test]
fn shared_types_cross_threads_where_their_values_may() {
    fn crosses<T: Send + Sync>() {}
    crosses::<SharedSlab<String>>();
    crosses::<SharedRef<String, &SharedSlab<String>>>();
    crosses::<SharedRef<String>>();
    crosses::<flatslab::sync::Iter<'_, String>>();
    crosses::<SharedKey>();
    crosses::<Builder<SharedSlab<Rc<u8>>>>();
    fn moves<T: Send>() {}
    moves::<SharedSlab<Cell<u8>>>();
    fn unwinds<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    unwinds::<SharedSlab<String>>();
}
