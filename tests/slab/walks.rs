//! What user code may do between the steps of an iterator, and within the
//! closures of `fold` and its kin.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use flatslab::{BoundedSlab, Key, Memory, Slab, TrackedSlab};

use crate::common::random::{random, seed};
use crate::common::{Audit, Drops, Room, Wide, amount, over_both_slabs, panics, wide};

/// Chunks of four, all full.
fn chunks(count: u64) -> Slab<Wide> {
    let slab = Slab::builder().chunk_capacity(4).build();
    for number in 0..4 * count {
        slab.insert(wide(number)).leak();
    }
    slab
}

fn remove(slab: &Slab<Wide>, keys: impl IntoIterator<Item = u32>) {
    for key in keys {
        slab.remove_by_key(Key::from_raw(key));
    }
}

/// The two ways to visit all values: a loop that calls `next`, and `fold`.
fn visit<I: Iterator>(iter: I, folds: bool, mut f: impl FnMut(I::Item)) {
    if folds {
        iter.for_each(f);
    } else {
        for item in iter {
            f(item);
        }
    }
}

#[test]
fn chunks_stay_until_the_walk_ends() {
    for folds in [false, true] {
        let slab = chunks(3);
        let mut seen = Vec::new();
        visit(slab.iter(), folds, |(key, value)| {
            seen.push((key.into_raw(), value.0));
            drop(value);
            if key.index() == 5 {
                remove(&slab, 4..8);
                slab.shrink_to_fit();
                assert_eq!(slab.chunks(), 3);
            }
        });
        let visited: Vec<u32> = (0..6).chain(8..12).collect();
        assert!(seen.iter().map(|it| it.0).eq(visited), "{seen:?}");
        slab.shrink_to_fit();
        slab.audit();
        assert_eq!(slab.chunks(), 2);

        // The last chunk: nothing is left to walk over.
        let count = Cell::new(0);
        visit(slab.iter_mut(), folds, |(key, value)| {
            count.set(count.get() + 1);
            drop(value);
            if key.index() == 9 {
                remove(&slab, 8..12);
                slab.shrink_to_fit();
                assert_eq!(slab.chunks(), 2);
            }
        });
        assert_eq!((count.get(), slab.len()), (6, 4));
        slab.shrink_to_fit();
        slab.audit();
        assert_eq!(slab.chunks(), 1);
    }
}

/// Each iterator counts, its clones too, and a loop that unwinds ends it.
#[test]
fn an_iterator_keeps_the_chunks_until_it_is_dropped() {
    let slab = chunks(3);
    remove(&slab, 4..12);
    let unwound = panics(|| {
        for (_, value) in &slab {
            assert_eq!(value.0, 7, "a loop unwinds");
        }
    });
    assert!(unwound);
    let first = slab.keys();
    let mut second = first.clone();
    drop(first);
    slab.shrink_to_fit();
    assert_eq!(slab.chunks(), 3);
    assert_eq!(second.next(), Some(Key::from_raw(0)));
    drop(second);
    slab.shrink_to_fit();
    assert_eq!(slab.chunks(), 1);
    slab.audit();
}

#[test]
fn a_forgotten_iterator_keeps_the_chunks() {
    let slab = chunks(2);
    let mut iter = slab.try_iter();
    assert!(iter.next().is_some());
    std::mem::forget(iter);
    remove(&slab, 0..8);
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), slab.len()), (2, 0));
    assert!(slab.iter().next().is_none());
    slab.audit();
}

/// A value that comes ahead of the iterator is visited, where there was one before too.
#[test]
fn values_that_come_back_during_a_walk_are_visited() {
    for folds in [false, true] {
        let slab = chunks(3);
        let mut seen = Vec::new();
        visit(slab.drain(), folds, |(key, value)| {
            seen.push((key.into_raw(), value.0));
            if key.index() == 1 {
                remove(&slab, 4..12);
                slab.shrink_to_fit();
                slab.reserve(8);
                for number in 100..106 {
                    slab.insert(wide(number)).leak();
                }
            }
        });
        // Slots are reused last in, first out.
        let came = (6..12).zip((100..106).rev());
        let expected: Vec<_> = (0..4).zip(0..4).chain(came).collect();
        assert_eq!(seen, expected);
        assert!(slab.is_empty());
        slab.audit();
    }
}

#[test]
fn a_hole_that_is_filled_during_a_walk_is_visited() {
    for folds in [false, true] {
        let slab = chunks(4);
        remove(&slab, 4..12);
        slab.shrink_to_fit();
        let mut seen = Vec::new();
        visit(slab.iter(), folds, |(key, _value)| {
            seen.push(key.into_raw());
            if key.index() == 0 {
                // Both holes, and the stand-in that the walk would come to.
                for number in 0..8 {
                    slab.insert(wide(number)).leak();
                }
            }
        });
        assert!(seen.iter().copied().eq(0..16), "{seen:?}");
        slab.audit();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_slab_may_grow_at_every_step() {
    for folds in [false, true] {
        let slab = chunks(2);
        let mut seen = 0;
        visit(slab.iter_mut(), folds, |(_, mut value)| {
            value.0 += 1;
            seen += 1;
            // The table moves, and moves again.
            for _ in 0..8 {
                slab.insert(wide(0)).leak();
            }
        });
        assert_eq!(seen, 8, "what was added is not visited");
        assert!(slab.iter().take(8).map(|(_, value)| value.0).eq(1..9));
        slab.audit();
    }
}

/// Of which four are stamped at once.
type Line = [u64; 8];

/// Two values are inserted at each step: one may take the slot that the step has left. All
/// slots that there were when the walk began are visited, and no more.
fn walks_end_at_the_last_slot_there_was<M: Memory>(make: impl Fn() -> TrackedSlab<Line, M>) {
    /// A walk that calls what it is given at each value.
    type Walk<'a, M> = &'a dyn Fn(&TrackedSlab<Line, M>, &dyn Fn());

    let loops: [Walk<'_, M>; 8] = [
        &|slab, step| slab.iter().for_each(|_| step()),
        &|slab, step| slab.iter_mut().for_each(|_| step()),
        &|slab, step| slab.try_iter().for_each(|_| step()),
        &|slab, step| slab.try_iter_mut().for_each(|_| step()),
        &|slab, step| slab.keys().for_each(|_| step()),
        &|slab, step| slab.drain().for_each(|_| step()),
        &|slab, step| {
            slab.retain(|_, _| {
                step();
                true
            });
        },
        &|slab, step| {
            for _ in slab {
                step();
            }
        },
    ];
    for (number, walk) in loops.iter().enumerate() {
        let slab = make();
        slab.try_insert_key([0; 8]).unwrap();
        let (slots, steps) = (slab.capacity(), Cell::new(0));
        assert!(slots >= 8, "more than are stamped at once");
        walk(&slab, &|| {
            steps.set(steps.get() + 1);
            for _ in 0..2 {
                let _ = slab.try_insert_key([1; 8]);
            }
        });
        assert_eq!(steps.get(), slots, "walk {number}");
        slab.audit();
    }
}

/// A value whose destructor inserts two more, while there is the slab.
struct Heirs<M: Memory> {
    slab: Weak<TrackedSlab<Heirs<M>, M>>,
    drops: Rc<Cell<usize>>,
    /// Four of these are stamped at once, too.
    _wide: [u64; 6],
}

impl<M: Memory> Drop for Heirs<M> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        let Some(slab) = self.slab.upgrade() else {
            return;
        };
        for _ in 0..2 {
            if let Ok(vacant) = slab.try_vacant_slot() {
                let heirs = Heirs {
                    slab: self.slab.clone(),
                    drops: self.drops.clone(),
                    _wide: [0; 6],
                };
                vacant.insert(heirs).leak();
            }
        }
    }
}

fn clearing_ends_at_the_last_slot_there_was<M: Memory>(
    make: impl Fn() -> TrackedSlab<Heirs<M>, M>,
) {
    /// A way to remove all values.
    type Clear<M> = fn(&TrackedSlab<Heirs<M>, M>);

    let clear: [Clear<M>; 4] = [
        |slab| slab.clear(),
        |slab| slab.try_clear().unwrap(),
        |slab| drop(slab.drain()),
        |slab| {
            let mut drain = slab.drain();
            drop(drain.next());
        },
    ];
    for (number, clear) in clear.iter().enumerate() {
        let (slab, drops) = (Rc::new(make()), Rc::new(Cell::new(0)));
        let first = Heirs {
            slab: Rc::downgrade(&slab),
            drops: drops.clone(),
            _wide: [0; 6],
        };
        slab.try_insert_key(first).ok().unwrap();
        let slots = slab.capacity();
        clear(&slab);
        assert_eq!(drops.get(), slots, "way {number}");
        slab.audit();
        let left = slab.len();
        drop(slab);
        assert_eq!(drops.get(), slots + left);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn what_is_inserted_ahead_into_slots_never_used_is_visited() {
    walks_end_at_the_last_slot_there_was(|| Slab::builder().chunk_capacity(8).build());
    clearing_ends_at_the_last_slot_there_was(|| Slab::builder().chunk_capacity(8).build());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn what_is_inserted_ahead_in_a_bounded_slab_is_visited() {
    walks_end_at_the_last_slot_there_was(|| BoundedSlab::with_capacity(8));
    walks_end_at_the_last_slot_there_was(|| BoundedSlab::builder().capacity(8).lazy().build());
    clearing_ends_at_the_last_slot_there_was(|| BoundedSlab::with_capacity(8));
    clearing_ends_at_the_last_slot_there_was(|| BoundedSlab::builder().capacity(8).lazy().build());
}

fn a_panic_in_a_fold_loses_nothing<M: Room>() {
    let drops = Drops::new();
    let slab = M::with_room(8);
    for number in 0..8 {
        slab.try_insert(drops.value(number)).unwrap().leak();
    }
    assert!(panics(|| slab.iter_mut().for_each(|(_, mut value)| {
        value.number += 10;
        assert!(value.number < 13, "the fourth");
    })));
    assert!(
        slab.iter()
            .map(|(_, it)| it.number)
            .eq((10..14).chain(4..8))
    );
    assert!(panics(|| slab.iter().fold(0, |sum, (_, it)| {
        assert!(it.number != 4);
        sum + it.number
    })));
    assert_eq!(slab.iter_mut().count(), 8, "every borrow has ended");
    assert_eq!(drops.count(), 0);
    // A dropped drain drops what it has not come to, once.
    assert!(panics(|| slab.drain().for_each(|(_, value)| {
        assert!(value.number != 12, "the third");
    })));
    assert_eq!((drops.count(), slab.len()), (8, 0));
    slab.audit();
}

/// Whatever is done between two steps: keys ascend; what was there all the time
/// is visited, unless it was borrowed; what is visited was there.
fn every_walk_visits_what_is_there<M: Room>() {
    let programs = amount(600, 4);
    for number in 0..programs {
        seed(number);
        let slab: TrackedSlab<Wide, M> = M::with_room(24);
        let model = RefCell::new(BTreeMap::new());
        let mut next = 0;
        let mut act = || {
            let mut model = model.borrow_mut();
            next += 1;
            match random(8) {
                0..=2 => {
                    if let Ok(slot) = slab.try_insert(wide(next)) {
                        model.insert(slot.leak(), next);
                    }
                }
                3..=5 => {
                    let at = random(model.len() as u64 + 1) as usize;
                    if let Some((&key, _)) = model.iter().nth(at) {
                        let removed = slab.try_remove_by_key(key);
                        if removed.is_ok() {
                            assert_eq!(removed.ok(), model.remove(&key).map(wide));
                        }
                    }
                }
                6 => M::shrink(&slab),
                _ => drop(M::try_reserve(&slab, random(9) as usize)),
            }
        };
        for _ in 0..amount(40, 12) {
            act();
        }
        let before = model.borrow().clone();
        let bound = slab.keys().size_hint().1.unwrap();
        let mut seen: Vec<(Key, u64)> = Vec::new();
        let mut step = |key, value: u64| {
            assert_eq!(model.borrow().get(&key), Some(&value), "program {number}");
            seen.push((key, value));
            for _ in 0..random(6) {
                act();
            }
        };
        match number % 4 {
            0 => slab.iter().for_each(|(key, value)| step(key, value.0)),
            1 => slab.iter().for_each(|(key, value)| {
                let number = value.0;
                drop(value);
                step(key, number);
            }),
            2 => slab.iter_mut().for_each(|(key, value)| {
                let number = value.0;
                drop(value);
                step(key, number);
            }),
            _ => {
                for (key, value) in &slab {
                    let number = value.0;
                    drop(value);
                    step(key, number);
                }
            }
        }
        assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "{seen:?}");
        assert!(seen.iter().all(|it| it.0.index() < bound));
        for (key, value) in before {
            let is_there = model.borrow().get(&key) == Some(&value);
            assert!(
                !is_there || seen.contains(&(key, value)),
                "program {number}"
            );
        }
        slab.audit();
    }
}

over_both_slabs!(
    a_panic_in_a_fold_loses_nothing,
    #[cfg_attr(each_run, ignore = "weekly")]
    every_walk_visits_what_is_there,
);
