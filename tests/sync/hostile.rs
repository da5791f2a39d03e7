//! What is least expected of a user: handles in the slab that they are of, slabs that are used where a
//! thread, a value or a slab ends.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use flatslab::bytes::{self, RequestError};
use flatslab::sync::SendSlot;
use flatslab::{BoundedSlab, Slot};

#[test]
fn sent_values_end_in_the_slab_that_they_are_of() {
    struct Node {
        _next: Option<SendSlot<Node>>,
        ends: Arc<AtomicUsize>,
    }

    impl Drop for Node {
        fn drop(&mut self) {
            self.ends.fetch_add(1, Ordering::Relaxed);
        }
    }

    let ends = Arc::new(AtomicUsize::new(0));
    let chain = |slab: &BoundedSlab<Node>| {
        (0..3).fold(None, |next, _| {
            let ends = ends.clone();
            let slot = slab.insert(Node { _next: next, ends });
            Some(slot.ok().unwrap().into_send())
        })
    };
    // The first node has no handle: it goes with its slab, and the others while that ends.
    let slab = BoundedSlab::with_capacity(4);
    let next = chain(&slab);
    let ends_of_first = ends.clone();
    let first = slab.insert(Node {
        _next: next,
        ends: ends_of_first,
    });
    let _ = first.ok().unwrap().leak();
    drop(slab);
    assert_eq!(ends.load(Ordering::Relaxed), 4);
    // On another thread, before and after its slab.
    for slab_first in [false, true] {
        let slab = BoundedSlab::with_capacity(4);
        let first = chain(&slab);
        let slab = if slab_first {
            drop(slab);
            None
        } else {
            Some(slab)
        };
        thread::spawn(move || drop(first)).join().unwrap();
        assert!(slab.is_none_or(|slab| slab.reclaim() == 3 && slab.is_empty()));
    }
    assert_eq!(ends.load(Ordering::Relaxed), 10);
}

#[test]
fn a_slot_becomes_sent_while_its_slab_ends() {
    thread_local! {
        static OTHER: RefCell<Option<Slot<Value>>> = const { RefCell::new(None) };
        static SENT: RefCell<Option<SendSlot<Value>>> = const { RefCell::new(None) };
    }

    struct Value(u32);

    impl Drop for Value {
        fn drop(&mut self) {
            // The slab walks over its values: the first one ends.
            if let Some(slot) = OTHER.take() {
                SENT.set(slot.try_into_send().ok());
            }
        }
    }

    for first_is_left in [true, false] {
        let slab = BoundedSlab::with_capacity(2);
        let [one, two] = [1, 2].map(|number| slab.insert(Value(number)).ok().unwrap());
        let (left, other) = if first_is_left {
            (one, two)
        } else {
            (two, one)
        };
        OTHER.set(Some(other));
        let _ = left.leak();
        drop(slab);
        // Of the two the one that the walk came to first, or had passed.
        let sent = SENT.take();
        let number = sent.as_ref().map(|sent| sent.0);
        assert_eq!(number, first_is_left.then_some(2));
        thread::spawn(move || drop(sent)).join().unwrap();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn arenas_of_the_smallest_sizes_answer() {
    for (start, slab, largest) in [(1, 1, 1), (1, 16, 16), (1, 48, 16), (1, 33, 1), (7, 100, 9)] {
        let builder = bytes::ByteArena::builder()
            .atomic()
            .smallest(start)
            .chunk_bytes(slab);
        for builder in [builder.clone(), builder.clone().largest(largest)] {
            let Ok(arena) = builder.try_build() else {
                continue;
            };
            for size in [0, 1, 15, 16, 17, 1000] {
                match arena.try_alloc(size) {
                    Ok(buf) => assert!(buf.capacity() >= size),
                    Err(RequestError::TooLarge(error)) => {
                        assert!(error.size == size && error.limit < size);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(arena.try_alloc(usize::MAX).is_err() && arena.try_copy(b"").is_ok());
        }
    }
}

#[cfg(target_has_atomic = "64")]
mod shared {
    use super::*;
    use flatslab::sync::{SharedKey, SharedRef, SharedSlab};

    #[test]
    fn a_thread_that_ends_uses_a_slab_in_its_destructors() {
        static SLAB: OnceLock<SharedSlab<u32>> = OnceLock::new();

        struct Last(Option<SharedKey>);

        impl Drop for Last {
            fn drop(&mut self) {
                let slab = SLAB.get().unwrap();
                if let Some(key) = self.0 {
                    assert!(slab.remove(key));
                }
                let key = slab.insert(2).unwrap();
                assert_eq!(*slab.get(key).unwrap(), 2);
                assert!(slab.remove(key));
            }
        }

        thread_local! {
            static BEFORE: RefCell<Last> = const { RefCell::new(Last(None)) };
            static AFTER: RefCell<Last> = const { RefCell::new(Last(None)) };
        }

        let slab = SLAB.get_or_init(|| SharedSlab::with_capacity(3));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(|| {
                    // One before the thread has used the slab, and one after that.
                    BEFORE.with_borrow(|_| ());
                    let key = SLAB.get().unwrap().insert(1).ok();
                    AFTER.with_borrow_mut(|it| it.0 = key);
                })
            })
            .collect();
        for thread in threads {
            assert!(thread.join().is_ok());
        }
        assert!(slab.is_empty());
    }

    /// A value that uses its slab where it ends, and has a guard of another one.
    struct Value {
        slab: Weak<SharedSlab<Value>>,
        other: Option<SharedRef<Value>>,
        key: Option<SharedKey>,
        ends: Arc<AtomicUsize>,
    }

    impl Drop for Value {
        fn drop(&mut self) {
            self.ends.fetch_add(1, Ordering::Relaxed);
            let Some(slab) = self.slab.upgrade() else {
                return;
            };
            assert!(
                self.key
                    .is_none_or(|key| !slab.remove(key) && slab.get(key).is_none())
            );
            if let Some(other) = self.other.take() {
                SharedRef::remove(other);
            }
            // The slot of this value is not free before it has ended.
            let more = Value {
                slab: Weak::new(),
                other: None,
                key: None,
                ends: self.ends.clone(),
            };
            if let Ok(key) = slab.insert(more) {
                assert!(self.key != Some(key) && slab.remove(key));
            }
        }
    }

    #[test]
    fn a_chain_of_guards_in_one_slab_ends_from_its_first_value_on() {
        let ends = Arc::new(AtomicUsize::new(0));
        let slab = Arc::new(SharedSlab::with_capacity(5));
        let mut last = None;
        for _ in 0..4 {
            let key = slab.insert_with(|key| Value {
                slab: Arc::downgrade(&slab),
                other: last.and_then(|last| slab.get_owned(last)),
                key: Some(key),
                ends: ends.clone(),
            });
            last = key.ok();
        }
        let first = slab.get_owned(last.unwrap()).unwrap();
        let second = SharedRef::key(&slab.get(last.unwrap()).unwrap());
        assert!(slab.remove(second));
        let weak = Arc::downgrade(&slab);
        drop(slab);
        // The guard is the last outer owner of the slab.
        thread::spawn(move || drop(first)).join().unwrap();
        assert!(weak.upgrade().is_none(), "the slab is lost");
        assert_eq!(ends.load(Ordering::Relaxed), 4 + 4);
    }
}
