//! Destructors that use the slab whose values they end.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use flatslab::AccessError;
use flatslab::epoch::{Epoch, EpochError, EpochKey, EpochSlab, InsertError};

use crate::common::Hooked;

type Shared = Rc<EpochSlab<Hooked>>;

fn small() -> Shared {
    Rc::new(EpochSlab::builder().chunk_capacity(2).epochs(2).build())
}

/// A value whose destructor uses the slab, if that is still there.
fn using(slab: &Shared, uses: impl FnOnce(&EpochSlab<Hooked>) + 'static) -> Hooked {
    let slab: Weak<_> = Rc::downgrade(slab);
    Hooked::new(move || {
        if let Some(slab) = slab.upgrade() {
            uses(&slab);
        }
    })
}

/// Fills the current epoch with values that do that, and clears it; in every state.
fn each_state(uses: fn(&EpochSlab<Hooked>, Epoch, &[EpochKey])) {
    for state in ["current", "closing", "pinned"] {
        let slab = small();
        let epoch = slab.current();
        let keys: Rc<RefCell<Vec<EpochKey>>> = Rc::default();
        let runs = Rc::new(Cell::new(0));
        for _ in 0..5 {
            let (keys_then, runs) = (keys.clone(), runs.clone());
            let value = using(&slab, move |slab| {
                runs.set(runs.get() + 1);
                uses(slab, epoch, &keys_then.borrow());
            });
            let key = slab.insert(value);
            keys.borrow_mut().push(key);
        }
        match state {
            "closing" => {
                slab.advance();
            }
            "pinned" => {
                slab.advance_and_close();
            }
            _ => {}
        }
        assert_eq!(slab.clear_epoch(epoch), 5);
        assert_eq!(runs.get(), 5, "{state}");
        assert!(keys.borrow().iter().all(|key| !slab.contains_key(*key)));
        // All that is left are values without a hook.
        let live = slab.stats().live;
        let left: Vec<_> = slab.epochs().map(|stats| stats.epoch).collect();
        let dropped: usize = left.iter().map(|epoch| slab.clear_epoch(*epoch)).sum();
        assert_eq!(dropped, live);
        let stats = slab.stats();
        assert_eq!((stats.live, stats.chunks), (0, 0));
        assert_eq!(
            stats.committed_bytes,
            stats.cached_chunks * 2 * size_of::<Hooked>()
        );
    }
}

#[test]
fn a_destructor_may_insert_into_the_epoch_that_is_cleared() {
    each_state(|slab, epoch, keys| {
        match slab.try_insert_in(epoch, Hooked::plain()) {
            Ok(key) => {
                assert_eq!(slab.epoch_of(key), Some(epoch));
                assert!(!keys.contains(&key));
            }
            Err(error) => {
                let is_expected = match error {
                    InsertError::Closing(_) => slab.epoch_stats(epoch).is_some(),
                    InsertError::Closed(_) => slab.epoch_stats(epoch).is_none(),
                    _ => false,
                };
                assert!(is_expected);
            }
        }
        slab.insert(Hooked::plain());
    });
}

#[test]
fn a_destructor_finds_none_of_the_values_that_are_dropped() {
    each_state(|slab, epoch, keys| {
        for key in keys {
            assert!(slab.get(*key).is_none() && slab.get_mut(*key).is_none());
            assert!(matches!(slab.try_take(*key), Err(AccessError::Missing)));
            assert_eq!(slab.epoch_of(*key), None);
        }
        assert_eq!(slab.keys_in(epoch).count(), 0);
        assert_eq!(slab.stats().live, 0);
    });
}

#[test]
fn a_destructor_may_clear_the_epoch_again() {
    each_state(|slab, epoch, _| {
        assert_eq!(slab.clear_epoch(epoch), 0);
        if slab.try_insert_in(epoch, Hooked::plain()).is_ok() {
            assert_eq!(slab.clear_epoch(epoch), 1);
        }
    });
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_destructor_may_advance_and_close() {
    each_state(|slab, epoch, _| {
        slab.advance();
        slab.insert(Hooked::plain());
        match slab.close(epoch) {
            Ok(report) => assert_eq!((report.scanned, report.live), (0, 0)),
            Err(error) => assert_eq!(error, EpochError::Closed),
        }
        slab.advance_and_close();
    });
}

#[test]
fn a_destructor_may_give_memory_back_and_take_it() {
    each_state(|slab, _, _| {
        slab.set_cached_chunks(0);
        let keys = [(); 5].map(|()| slab.insert(Hooked::plain()));
        for key in keys {
            drop(slab.take(key));
        }
        slab.advance_and_close();
        slab.set_cached_chunks(32);
        slab.shrink_to_fit();
    });
}

#[test]
fn a_destructor_may_enter_an_epoch() {
    each_state(|slab, epoch, _| {
        let guard = slab.enter();
        assert_ne!(guard.epoch(), epoch);
        let key = guard.insert(Hooked::plain());
        drop(guard);
        assert!(slab.take(key).is_some_and(|value| !value.is_armed()));
    });
}

#[test]
fn a_destructor_may_remove_a_value_whose_destructor_does_so() {
    let slab = small();
    let mut last = None;
    let depth = Rc::new(Cell::new(0));
    for number in 0..20 {
        let (before, depth) = (last, depth.clone());
        last = Some(slab.insert(using(&slab, move |slab| {
            depth.set(depth.get() + 1);
            if let Some(before) = before {
                drop(slab.take(before));
            }
        })));
        if number % 3 == 0 {
            slab.advance_and_close();
        }
    }
    drop(slab.take(last.unwrap()));
    assert_eq!((depth.get(), slab.stats().live), (20, 0));
    assert_eq!(slab.stats().pinned_epochs, 0);
}

#[test]
fn a_value_may_have_the_slab() {
    struct Node(RefCell<Option<Rc<EpochSlab<Node>>>>, Rc<Cell<u32>>);

    impl Drop for Node {
        fn drop(&mut self) {
            self.1.set(self.1.get() + 1);
        }
    }

    let drops = Rc::new(Cell::new(0));
    let slab = Rc::new(EpochSlab::builder().chunk_capacity(2).build());
    let node = || Node(RefCell::new(Some(Rc::clone(&slab))), drops.clone());
    let keys = [(); 5].map(|()| slab.insert(node()));
    assert_eq!(Rc::strong_count(&slab), 6);
    drop(slab.take(keys[0]));
    slab.clear_epoch(slab.current());
    assert_eq!((Rc::strong_count(&slab), drops.get()), (1, 5));
    // A value that has the last reference is moved out before it ends.
    let key = slab.insert(node());
    let last = slab.take(key).unwrap();
    drop(slab);
    let slab = last.0.take().unwrap();
    assert_eq!(Rc::strong_count(&slab), 1);
    drop((last, slab));
    assert_eq!(drops.get(), 6);
}

#[test]
fn a_destructor_sees_no_slab_that_ends() {
    let slab = small();
    let runs = Rc::new(Cell::new(0));
    for _ in 0..5 {
        let runs = runs.clone();
        let value = using(&slab, move |_| runs.set(runs.get() + 1));
        slab.insert(value);
    }
    drop(slab);
    assert_eq!(runs.get(), 0);
}
