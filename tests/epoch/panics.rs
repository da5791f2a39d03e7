//! User code that panics: the rest is dropped all the same, each value once, and the slab can
//! be used.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::epoch::EpochSlab;

use crate::common::{Drops, Hooked, panics};

fn bomb() -> Hooked {
    Hooked::new(|| panic!("a destructor panics"))
}

fn small<T>() -> EpochSlab<T> {
    EpochSlab::builder().chunk_capacity(2).epochs(2).build()
}

/// Fills the epoch with counted values, and one that panics at that place.
fn fill(slab: &EpochSlab<Hooked>, drops: &Drops, place: usize) {
    for number in 0..5 {
        slab.insert(if number == place {
            bomb()
        } else {
            drops.hooked()
        });
    }
}

/// Panics unless the slab has nothing, and can be used.
#[track_caller]
fn expect_whole(slab: &EpochSlab<Hooked>) {
    let stats = slab.stats();
    assert_eq!((stats.live, stats.chunks), (0, 0));
    let drops = Drops::new();
    let keys: Vec<_> = (0..5).map(|_| slab.insert(drops.hooked())).collect();
    assert!(
        keys.iter()
            .all(|key| slab.get(*key).is_some_and(|it| it.is_armed()))
    );
    let epoch = slab.current();
    slab.advance();
    assert_eq!(slab.clear_epoch(epoch), 5);
    assert_eq!(drops.count(), 5);
    let report = slab.close(epoch).unwrap();
    assert_eq!(report.scanned, 0);
    // The three of before served.
    assert_eq!(slab.stats().cached_chunks, 3);
}

#[test]
fn clear_epoch_drops_the_rest() {
    for place in 0..5 {
        let slab = small();
        let drops = Drops::new();
        fill(&slab, &drops, place);
        let epoch = slab.current();
        assert!(panics(|| slab.clear_epoch(epoch)));
        assert_eq!(drops.count(), 4);
        expect_whole(&slab);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn clear_epoch_of_a_pinned_epoch_drops_the_rest() {
    for place in 0..5 {
        let slab = small();
        let drops = Drops::new();
        fill(&slab, &drops, place);
        let epoch = slab.current();
        slab.advance_and_close();
        assert!(panics(|| slab.clear_epoch(epoch)));
        assert_eq!(drops.count(), 4);
        assert!(slab.epoch_stats(epoch).is_none());
        expect_whole(&slab);
    }
}

#[test]
fn the_end_of_a_scope_drops_the_rest() {
    for place in 0..5 {
        let mut slab = small();
        let drops = Drops::new();
        let ends = panics(|| {
            slab.scope(|scope| {
                for number in 0..5 {
                    let value = if number == place {
                        bomb()
                    } else {
                        drops.hooked()
                    };
                    assert!(scope.insert(value).is_armed());
                }
            });
        });
        assert!(ends);
        assert_eq!(drops.count(), 4);
        assert_eq!(slab.stats().epochs, 2);
        expect_whole(&slab);
    }
}

#[test]
fn the_end_of_the_slab_drops_the_rest() {
    for place in 0..5 {
        let drops = Drops::new();
        assert!(panics(|| {
            let slab = small();
            slab.try_insert_in(slab.permanent(), drops.hooked())
                .ok()
                .unwrap();
            fill(&slab, &drops, place);
            slab.advance_and_close();
            slab.insert(drops.hooked());
        }));
        assert_eq!(drops.count(), 6);
    }
}

#[test]
fn a_closure_that_panics_ends_its_scope() {
    let mut slab = small();
    let drops = Drops::new();
    let outer = slab.insert(drops.hooked());
    let mut epochs = Vec::new();
    assert!(panics(|| {
        slab.scope(|scope| {
            scope.insert(drops.hooked());
            epochs.push(scope.epoch());
            scope.scope(|inner| {
                epochs.push(inner.epoch());
                inner.insert(drops.hooked());
                inner.insert_key(drops.hooked());
                panic!("the closure panics");
            })
        })
    }));
    assert_eq!(drops.count(), 3);
    assert!(
        epochs
            .iter()
            .all(|epoch| slab.epoch_stats(*epoch).is_none())
    );
    assert!(slab.take(outer).is_some());
    assert_eq!((slab.stats().live, slab.stats().epochs), (0, 2));
}

#[test]
fn a_scope_within_one_that_panics_may_be_caught() {
    let mut slab = small();
    let drops = Drops::new();
    slab.scope(|scope| {
        scope.insert(drops.hooked());
        assert!(panics(|| {
            scope.scope(|inner| {
                inner.insert(drops.hooked());
                panic!("the closure panics");
            })
        }));
        assert_eq!(drops.count(), 1);
        assert!(scope.insert(drops.hooked()).is_armed());
        assert_eq!(drops.count(), 1);
    });
    assert_eq!(drops.count(), 3);
    assert_eq!(slab.stats().epochs, 2);
}

#[test]
fn the_guard_of_an_epoch_ends_while_a_panic_unwinds() {
    let slab = small();
    let drops = Drops::new();
    let key = Cell::new(None);
    assert!(panics(|| {
        let guard = slab.enter();
        key.set(Some(guard.insert(drops.hooked())));
        let _guard = slab.get(key.get().unwrap());
        panic!("with a guard");
    }));
    // Nothing was dropped: its values stay until they are removed.
    assert_eq!((drops.count(), slab.stats().pinned_chunks), (0, 1));
    assert!(slab.take(key.get().unwrap()).is_some());
    assert_eq!(slab.stats().epochs, 2);
}

#[test]
fn guards_end_while_a_panic_unwinds() {
    let slab = small();
    let key = slab.insert(Rc::new(7));
    assert!(panics(|| {
        let _guard = slab.get_mut(key);
        panic!("under a guard");
    }));
    assert!(panics(|| {
        let _guard = slab.get(key);
        panic!("under a guard");
    }));
    assert_eq!(slab.clear_epoch(slab.current()), 1);
}

#[test]
fn what_is_refused_with_a_panic_changes_nothing() {
    let slab = small();
    let key = slab.insert(Rc::new(7));
    let guard = slab.get(key).unwrap();
    let other = small::<Rc<u64>>();
    assert!(panics(|| slab.get_mut(key)));
    assert!(panics(|| slab.take(key)));
    assert!(panics(|| slab.clear_epoch(slab.current())));
    assert!(panics(|| slab.clear_epoch(other.current())));
    let _second = slab.get(key).unwrap();
    drop(guard);
    assert!(panics(|| slab.take(key)));
    assert_eq!(slab.stats().live, 1);
}

/// A slab may go into `catch_unwind`, as a `RefCell` may; buffers by reference too.
#[test]
fn slabs_are_unwind_safe() {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    fn moved<T: UnwindSafe>() {}
    fn shared<T: RefUnwindSafe>() {}
    moved::<EpochSlab<u64>>();
    moved::<flatslab::epoch::EpochBytes>();
    shared::<flatslab::epoch::EpochBytes>();
}
