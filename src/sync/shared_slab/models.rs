//! `ci/loom.sh`: every order in which two threads can act on a slab of one slot.
//!
//! A witness is next to the slot: it is written where a value is created and where it is dropped,
//! and read where the value is read. Loom reports each pair of these accesses that has no order.

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;
use crate::error::AccessError;
use crate::raw::atomic::thread;

/// Counts the values that were made, and those that were dropped.
#[derive(Clone)]
struct Witness(Arc<UnsafeCell<(usize, usize)>>);

// SAFETY: shared on purpose; loom checks each access.
unsafe impl Send for Witness {}
// SAFETY: shared on purpose; loom checks each access.
unsafe impl Sync for Witness {}

struct Value(Witness);

impl Witness {
    fn value(&self) -> Value {
        // SAFETY: the slot is the caller's; loom checks it.
        self.0.with_mut(|it| unsafe { (*it).0 += 1 });
        Value(self.clone())
    }

    /// Values made, and dropped.
    fn counts(&self) -> (usize, usize) {
        // SAFETY: loom reports an access that has no order to this one.
        self.0.with(|it| unsafe { *it })
    }
}

impl Value {
    /// Checks that the value is whole.
    fn read(&self) {
        let (made, dropped) = self.0.counts();
        assert!(made == dropped + 1, "the value is dropped");
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the value is this thread's; loom checks it.
        self.0.0.with_mut(|it| unsafe { (*it).1 += 1 });
    }
}

/// A slab of one slot, and its witness.
fn empty() -> (Arc<SharedSlab<Value>>, Witness) {
    let witness = Witness(Arc::new(UnsafeCell::new((0, 0))));
    (Arc::new(SharedSlab::with_capacity(1)), witness)
}

/// The key of the first value.
fn first_key() -> SharedKey {
    SharedKey::new(1 << LOW_BITS, 0)
}

fn with_value() -> (Arc<SharedSlab<Value>>, Witness, SharedKey) {
    let (slab, witness) = empty();
    let key = slab.insert(witness.value()).ok().unwrap();
    assert_eq!(key, first_key());
    (slab, witness, key)
}

/// Panics unless every value was dropped once, and the slot is free.
fn is_empty(slab: &SharedSlab<Value>, witness: &Witness) {
    let (made, dropped) = witness.counts();
    assert_eq!(made, dropped, "a value is lost");
    assert!(slab.is_empty(), "the slot is lost");
    assert!(slab.insert(witness.value()).is_ok(), "the slot is lost");
}

#[test]
fn loom_making_a_value_happens_before_it_is_read() {
    loom::model(|| {
        let (slab, witness) = empty();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(first_key()) {
                value.read();
            }
        });
        let key = slab.insert_with(|_| witness.value()).unwrap();
        reader.join().unwrap();
        slab.get(key).unwrap().read();
    });
}

#[test]
fn loom_reading_a_value_happens_before_it_is_dropped() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
            }
        });
        assert!(slab.remove(key) && slab.get(key).is_none());
        reader.join().unwrap();
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_reading_a_value_happens_before_it_is_moved_out() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
            }
        });
        match slab.try_take(key) {
            Ok(value) => drop(value),
            Err(error) => {
                assert_eq!(error, AccessError::Borrowed);
                assert!(slab.remove(key));
            }
        }
        reader.join().unwrap();
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_the_reads_of_all_guards_happen_before_the_last_one_drops_the_value() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let guard = slab.get(key).unwrap();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
                SharedRef::remove(value);
            }
        });
        slab.remove(key);
        guard.read();
        drop(guard);
        reader.join().unwrap();
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_one_of_two_threads_removes_a_value() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let other = thread::spawn(move || theirs.remove(key));
        let mine = slab.remove(key);
        assert!(mine != other.join().unwrap());
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_the_end_of_a_value_happens_before_the_next_one_is_made() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let (theirs, value) = (slab.clone(), witness.clone());
        let other = thread::spawn(move || theirs.insert_with(|_| value.value()).ok());
        assert!(slab.remove(key));
        if let Some(next) = other.join().unwrap() {
            assert!(next != key && slab.get(key).is_none());
            slab.get(next).unwrap().read();
            assert!(slab.remove(next));
        }
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_a_stale_key_does_not_lead_to_the_next_value_of_its_slot() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                assert_eq!(value.0.counts(), (1, 0), "a later value");
            }
        });
        slab.remove(key);
        // The slot is the reader's while it reads.
        let next = slab.insert_with(|_| witness.value());
        reader.join().unwrap();
        if let Ok(next) = next {
            assert!(slab.remove(next));
        }
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_a_retired_slot_gets_no_value_while_its_last_key_is_used() {
    loom::model(|| {
        let witness = Witness(Arc::new(UnsafeCell::new((0, 0))));
        let mut slab = SharedSlab::with_capacity(1);
        slab.age(0);
        let slab = Arc::new(slab);
        let key = slab.insert(witness.value()).ok().unwrap();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
            }
        });
        assert!(slab.remove(key));
        assert!(slab.insert_with(|_| witness.value()).is_err());
        reader.join().unwrap();
        assert_eq!(witness.counts(), (1, 1));
        assert_eq!(
            (slab.retired_slots(), slab.len(), slab.is_full()),
            (1, 0, true)
        );
    });
}

#[test]
fn loom_a_slot_that_wraps_gets_its_next_value_after_the_last_reader_of_its_last_key() {
    loom::model(|| {
        let witness = Witness(Arc::new(UnsafeCell::new((0, 0))));
        let mut slab = SharedSlab::builder()
            .capacity(1)
            .wrapping_generations()
            .build();
        slab.age(0);
        let slab = Arc::new(slab);
        let key = slab.insert(witness.value()).ok().unwrap();
        let theirs = slab.clone();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
            }
        });
        assert!(slab.remove(key));
        let next = slab.insert_with(|_| witness.value()).ok();
        assert!(slab.get(key).is_none());
        reader.join().unwrap();
        if let Some(next) = next {
            assert!(slab.remove(next));
        }
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_reading_a_value_happens_before_another_thread_drops_it_for_the_reader() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let theirs = slab.clone();
        let guard = slab.get(key).unwrap();
        let reader = thread::spawn(move || {
            if let Some(value) = theirs.get(key) {
                value.read();
                SharedRef::retire(value);
            }
        });
        slab.remove(key);
        guard.read();
        SharedRef::retire(guard);
        let early = slab.reclaim();
        reader.join().unwrap();
        assert_eq!(early + slab.reclaim(), 1);
        is_empty(&slab, &witness);
    });
}

#[test]
fn loom_one_of_two_threads_drops_a_retired_value() {
    loom::model(|| {
        let (slab, witness, key) = with_value();
        let guard = slab.get(key).unwrap();
        slab.remove(key);
        SharedRef::retire(guard);
        let theirs = slab.clone();
        let other = thread::spawn(move || theirs.reclaim());
        assert_eq!(slab.reclaim() + other.join().unwrap(), 1);
        is_empty(&slab, &witness);
    });
}
