//! `ci/loom.sh`: every order in which a slab's thread and the threads that it has sent values to
//! can act.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::memory::{MemorySource, Pages};
use crate::{AllocError, BoundedSlab};

/// Witnesses next to the slots, so that loom sees each use of a slot: a value writes to the witness
/// of its slot where it is created, where it is read, and where it is dropped.
#[derive(Clone)]
struct Witnesses {
    slots: Arc<Vec<UnsafeCell<u64>>>,
    /// One for each value that exists.
    values: Arc<()>,
}

// SAFETY: loom reports each unordered access to the cells.
unsafe impl Send for Witnesses {}
// SAFETY: loom reports each unordered access to the cells.
unsafe impl Sync for Witnesses {}

// SAFETY: the memory is the global allocator's, and is given back to it with the same layout.
unsafe impl MemorySource for Witnesses {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: a slab asks for memory only for layouts that have bytes.
        Ok(NonNull::new(unsafe { std::alloc::alloc(layout) }).unwrap())
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        for index in 0..self.slots.len() {
            self.write(index, 0);
        }
        // SAFETY: from `allocate`, with this layout (precondition).
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) };
    }
}

struct Value {
    witnesses: Witnesses,
    index: usize,
    number: u64,
}

impl Witnesses {
    fn new(slots: usize) -> Self {
        Witnesses {
            slots: Arc::new((0..slots).map(|_| UnsafeCell::new(0)).collect()),
            values: Arc::new(()),
        }
    }

    fn write(&self, index: usize, number: u64) {
        // SAFETY: loom reports an access that has no order to this one.
        self.slots[index].with_mut(|slot| unsafe { *slot = number });
    }

    fn send(&self, slab: &BoundedSlab<Value>, number: u64) -> Option<SendSlot<Value>> {
        self.insert(slab, number).map(Slot::into_send)
    }

    fn insert(&self, slab: &BoundedSlab<Value>, number: u64) -> Option<Slot<Value>> {
        let slot = slab.try_insert_with(|vacant| {
            self.write(vacant.key().index(), number);
            Value {
                witnesses: self.clone(),
                index: vacant.key().index(),
                number,
            }
        });
        slot.ok()
    }

    /// A slab whose memory, when it goes, is written to at every slot.
    fn slab(&self) -> BoundedSlab<Value> {
        let pages = Pages::from_source(std::sync::Arc::new(self.clone()));
        let slots = self.slots.len();
        let builder = BoundedSlab::builder().capacity(slots).pages(pages);
        builder.try_build().unwrap()
    }

    fn expect_values(&self, values: usize) {
        assert_eq!(Arc::strong_count(&self.values), values + 1);
    }
}

impl Value {
    fn check(&self) {
        // SAFETY: loom reports an access that has no order to this one.
        self.witnesses.slots[self.index].with(|slot| assert_eq!(unsafe { *slot }, self.number));
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check();
        self.witnesses.write(self.index, 0);
    }
}

#[test]
fn loom_a_remote_drop_happens_before_its_slot_is_used_again() {
    loom::model(|| {
        let witnesses = Witnesses::new(1);
        let slab = BoundedSlab::with_capacity(1);
        let sent = witnesses.send(&slab, 1).unwrap();
        let remote = thread::spawn(move || drop(sent));
        let mut number = 2;
        while number < 4 {
            match witnesses.send(&slab, number) {
                Some(sent) => {
                    sent.check();
                    drop(sent);
                    number += 1;
                }
                None => thread::yield_now(),
            }
        }
        remote.join().unwrap();
        assert!(slab.is_empty());
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_two_remote_drops_lose_no_slot() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = BoundedSlab::with_capacity(2);
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let remotes = [one, two].map(|sent| thread::spawn(move || drop(sent)));
        let early = slab.reclaim();
        for remote in remotes {
            remote.join().unwrap();
        }
        assert_eq!(early + slab.reclaim(), 2);
        slab.check();
        assert_eq!(slab.free_slots(), 2);
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_a_remote_drop_happens_before_the_memory_goes_with_the_slab() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = witnesses.slab();
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let remotes = [one, two].map(|sent| thread::spawn(move || drop(sent)));
        drop(slab);
        for remote in remotes {
            remote.join().unwrap();
        }
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_the_end_of_a_local_handle_happens_before_the_memory_goes() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = witnesses.slab();
        let local = witnesses.insert(&slab, 1).unwrap().into_box();
        let sent = witnesses.send(&slab, 2).unwrap();
        let remote = thread::spawn(move || drop(sent));
        drop(slab);
        local.check();
        drop(local);
        remote.join().unwrap();
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_a_handle_that_ends_on_its_slabs_thread_frees_its_slot_beside_one_that_comes_back() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = BoundedSlab::with_capacity(2);
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let remote = thread::spawn(move || drop(two));
        drop(one);
        // Its slot is free whatever the other thread does.
        drop(witnesses.send(&slab, 3).unwrap());
        remote.join().unwrap();
        assert!(slab.is_empty());
        slab.check();
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_a_handle_that_ends_on_the_thread_of_a_slab_that_is_gone_leaves_as_the_others() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = witnesses.slab();
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let remote = thread::spawn(move || drop(two));
        drop(slab);
        drop(one);
        remote.join().unwrap();
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_using_a_value_happens_before_the_slab_drops_it_for_the_other_thread() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = BoundedSlab::with_capacity(2);
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let retires = thread::spawn(move || {
            let mut one = one;
            one.witnesses.write(one.index, 3);
            one.number = 3;
            assert!(SendSlot::retire(one).is_ok());
        });
        let drops = thread::spawn(move || drop(two));
        let early = slab.reclaim();
        retires.join().unwrap();
        drops.join().unwrap();
        assert_eq!(early + slab.reclaim(), 2);
        slab.check();
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_what_is_cleared_while_a_value_is_retired_leaves_none_or_says_so() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = BoundedSlab::with_capacity(2);
        let sent = witnesses.send(&slab, 1).unwrap();
        assert!(witnesses.insert(&slab, 2).map(Slot::leak).is_some());
        let retires = thread::spawn(move || assert!(SendSlot::retire(sent).is_ok()));
        match slab.try_clear() {
            Ok(()) => assert_eq!((slab.len(), slab.retired_values()), (0, 0)),
            // Nothing was dropped.
            Err(_) => assert_eq!(slab.len(), 2),
        }
        retires.join().unwrap();
        slab.clear();
        assert!(slab.is_empty());
        slab.check();
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_a_value_is_retired_or_refused_while_the_slab_goes() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = witnesses.slab();
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let retires = [one, two].map(|sent| {
            // Refused, it is dropped there.
            thread::spawn(move || drop(SendSlot::retire(sent)))
        });
        drop(slab);
        for thread in retires {
            thread.join().unwrap();
        }
        witnesses.expect_values(0);
    });
}

#[test]
fn loom_a_value_that_comes_back_is_used_after_the_other_thread_has() {
    loom::model(|| {
        let witnesses = Witnesses::new(2);
        let slab = BoundedSlab::with_capacity(2);
        let [one, two] = [1, 2].map(|number| witnesses.send(&slab, number).unwrap());
        let dropped = thread::spawn(move || drop(two));
        let changed = thread::spawn(move || {
            one.witnesses.write(one.index, 3);
            let mut one = one;
            one.number = 3;
            one
        });
        let slot = slab.receive(changed.join().unwrap()).ok().unwrap();
        slot.get().check();
        drop(slot);
        dropped.join().unwrap();
        assert!(slab.is_empty());
        slab.check();
    });
}
