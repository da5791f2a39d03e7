//! Values that are given back undropped, for threads on which no destructor may run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use flatslab::sync::SendSlot;
use flatslab::{AccessError, AllocError, BoundedSlab, Key, Memory, Slab, TrackedSlab};

use crate::common::{Audit, panics};
use crate::counted::{Alive, Value, without_leak};

/// Retires on another thread.
fn retire_there<T: Send>(sent: SendSlot<T>) {
    thread::scope(|scope| {
        scope.spawn(move || assert!(SendSlot::retire(sent).is_ok()));
    });
}

fn drop_there<T: Send>(sent: SendSlot<T>) {
    thread::scope(|scope| {
        scope.spawn(move || drop(sent));
    });
}

/// Notes the thread on which it is dropped.
struct Tells(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

#[test]
fn a_retired_value_is_dropped_by_reclaim_on_the_slabs_thread() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let slab = BoundedSlab::with_capacity(1);
    for _ in 0..3 {
        retire_there(slab.insert(Tells(told.clone())).unwrap().into_send());
        assert_eq!((slab.retired_values(), told.lock().unwrap().len()), (1, 0));
        assert_eq!((slab.reclaim(), slab.retired_values()), (1, 0));
        assert_eq!(*told.lock().unwrap(), [thread::current().id()]);
        told.lock().unwrap().clear();
        assert_eq!((slab.len(), slab.free_slots(), slab.reclaim()), (0, 1, 0));
        slab.audit();
    }
}

#[test]
fn no_insertion_and_no_access_drops_it() {
    let alive = Alive::default();
    let slab = BoundedSlab::with_capacity(2);
    let local = slab.insert(alive.value(1)).unwrap();
    let sent = slab.insert(alive.value(2)).unwrap().into_send();
    let key = SendSlot::key(&sent);
    assert_eq!(
        slab.try_vacant_slot().unwrap_err(),
        AllocError::Full { capacity: 2 }
    );
    retire_there(sent);
    assert!(slab.is_full() && slab.try_insert(alive.value(3)).is_err());
    let error = slab.try_vacant_slot().unwrap_err();
    assert_eq!(
        error,
        AllocError::FullWithRetired {
            capacity: 2,
            retired: 1
        }
    );
    assert_eq!(
        error.to_string(),
        "slab is full (capacity 2, retired values 1): `reclaim` drops retired values"
    );
    assert!(slab.try_insert_with(|_| unreachable!()).is_err());
    assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Borrowed);
    assert_eq!(slab.try_slot(key).unwrap_err(), AccessError::Owned);
    assert_eq!(
        (slab.len(), slab.free_slots(), slab.iter().size_hint().1),
        (2, 0, Some(2))
    );
    assert_eq!(slab.try_retain(|_, _| true), 1);
    slab.prepare(2).unwrap();
    assert_eq!(alive.count(), 2);
    assert_eq!(slab.reclaim(), 1);
    assert_eq!((alive.count(), slab.len()), (1, 1));
    drop(local);
    slab.audit();
}

/// Which of the two it is does not depend on when the slab frees what came back.
#[test]
fn a_value_that_another_thread_dropped_is_missing_at_once() {
    let accesses: [fn(&BoundedSlab<u64>, Key) -> bool; 14] = [
        |slab, key| slab.get(key).is_none(),
        |slab, key| slab.get_mut(key).is_none(),
        |slab, key| slab.get_copied(key).is_none(),
        |slab, key| slab.slot(key).is_none(),
        |slab, key| matches!(slab.try_get(key), Err(AccessError::Missing)),
        |slab, key| matches!(slab.try_get_mut(key), Err(AccessError::Missing)),
        |slab, key| matches!(slab.try_slot(key), Err(AccessError::Missing)),
        |slab, key| slab.try_remove_by_key(key) == Err(AccessError::Missing),
        |slab, _| slab.try_clear().is_ok(),
        |slab, _| slab.try_retain(|_, _| true) == 0,
        |slab, _| slab.iter().count() == 1,
        |slab, _| slab.keys().count() == 1,
        |slab, _| slab.drain().count() == 1,
        |slab, _| slab.try_drain().count() == 1,
    ];
    for access in accesses {
        let slab = BoundedSlab::with_capacity(2);
        slab.insert_key(1).unwrap();
        let sent = slab.insert(2).unwrap().into_send();
        let key = SendSlot::key(&sent);
        drop_there(sent);
        assert!(access(&slab, key));
        slab.audit();
    }
    let slab = BoundedSlab::with_capacity(1);
    let sent = slab.insert(2).unwrap().into_send();
    let key = SendSlot::key(&sent);
    drop_there(sent);
    assert!(message(|| slab.remove_by_key(key)).ends_with("there is no value"));
}

/// What a panic says.
fn message<R>(f: impl FnOnce() -> R) -> String {
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    let said = panicked.err().expect("it panics");
    *said.downcast::<String>().expect("a message")
}

#[test]
fn an_iteration_skips_what_another_thread_has_dropped() {
    fn sent(slab: &Slab<u64>) -> (SendSlot<u64>, Key) {
        slab.insert_key(1);
        let sent = slab.insert(2).into_send();
        let key = SendSlot::key(&sent);
        slab.insert_key(3);
        (sent, key)
    }
    let slab = Slab::builder().chunk_capacity(1).build();
    let (out, key) = sent(&slab);
    let mut iter = slab.try_iter();
    assert_eq!(*iter.next().unwrap().1.unwrap(), 1);
    assert_eq!(iter.clone().next().unwrap().0, key);
    assert_eq!(slab.keys().nth(1), Some(key));
    drop_there(out);
    assert_eq!(*iter.next().unwrap().1.unwrap(), 3);
    assert!(iter.next().is_none());

    let slab = Slab::new();
    let (out, _) = sent(&slab);
    let mut iter = slab.iter_mut();
    assert_eq!(*iter.next().unwrap().1, 1);
    drop_there(out);
    assert_eq!(*iter.next().unwrap().1, 3);

    let slab = Slab::new();
    let (out, _) = sent(&slab);
    let mut drain = slab.try_drain();
    assert_eq!(drain.next().unwrap().1, 1);
    drop_there(out);
    assert_eq!((drain.next().unwrap().1, drain.left()), (3, 0));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn what_is_out_or_retired_says_so_and_keeps_its_key() {
    fn run<M: Memory>(slab: &TrackedSlab<u64, M>) {
        let keys: Vec<Key> = (0..5).map(|it| slab.try_insert_key(it).unwrap()).collect();
        let mut sent: Vec<_> = keys
            .iter()
            .map(|&key| Some(slab.slot(key).unwrap().into_send()))
            .collect();
        for number in [0, 3, 1] {
            retire_there(sent[number].take().unwrap());
            // Their links stand where their keys do.
            assert!(slab.keys().eq(keys.iter().copied()));
            assert!(slab.try_iter().map(|it| it.0).eq(keys.iter().copied()));
            assert!(slab.try_iter_mut().map(|it| it.0).eq(keys.iter().copied()));
        }
        for (number, &key) in keys.iter().enumerate() {
            let said = "it was sent to another thread, or retired there and not reclaimed";
            let expected = format!("{key:?}: {said}");
            assert!(message(|| slab.get(key)).ends_with(&expected));
            assert!(message(|| slab.get_mut(key)).ends_with(&expected));
            assert!(message(|| slab.get_copied(key)).ends_with(&expected));
            assert!(message(|| slab.remove_by_key(key)).ends_with(&expected));
            let at = message(|| slab.iter().nth(number));
            assert!(at.ends_with(&format!("{:?}: {said}", keys[0])), "{at}");
            assert_eq!(slab.try_remove_by_key(key), Err(AccessError::Borrowed));
        }
        assert_eq!(slab.reclaim(), 3);
        // Those that retired have gone, and the first of the others is refused.
        let said = message(|| slab.clear());
        assert!(said.contains(&format!("{:?}", keys[2])), "{said}");
        assert!(slab.keys().eq([keys[2], keys[4]]));
        thread::scope(|scope| {
            scope.spawn(|| drop(sent));
        });
        // All slots are used again, each under its key.
        assert_eq!(slab.reclaim(), 2);
        let mut again: Vec<Key> = (0..5).map(|it| slab.try_insert_key(it).unwrap()).collect();
        again.sort_unstable();
        assert_eq!(again, keys);
        slab.audit();
    }
    run(&BoundedSlab::with_capacity(5));
    run(&Slab::builder().chunk_capacity(2).build());
}

/// The first cell of a chunk has a link in place of its key: the end of the list, as a chunk that
/// was given back has.
#[test]
fn a_chunk_whose_first_value_is_retired_is_not_given_back() {
    let alive = Alive::default();
    // Chunks of small values have more than one.
    let slab = Slab::builder().chunk_capacity(1).build();
    let sent: Vec<_> = (0..3)
        .map(|it| slab.insert((alive.value(it), [it; 512])).into_send())
        .collect();
    sent.into_iter().for_each(retire_there);
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), alive.count()), (3, 3));
    assert_eq!(slab.reclaim_some(1), 1);
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), alive.count()), (2, 2));
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), alive.count()), (0, 0));
}

#[test]
fn what_removes_all_values_drops_the_retired_ones() {
    let ways: [fn(&BoundedSlab<Value>); 4] = [
        |slab| slab.clear(),
        |slab| slab.try_clear().unwrap(),
        |slab| assert_eq!(slab.retain(|_, value| value.number == 7), 0),
        |slab| assert_eq!(slab.drain().count(), 0),
    ];
    for way in ways {
        let alive = Alive::default();
        let slab = BoundedSlab::with_capacity(2);
        retire_there(slab.insert(alive.value(1)).unwrap().into_send());
        way(&slab);
        assert_eq!((alive.count(), slab.free_slots()), (0, 2));
    }
}

#[test]
fn what_refuses_has_dropped_nothing_and_what_clears_drops_the_rest() {
    let alive = Alive::default();
    let slab = BoundedSlab::with_capacity(3);
    retire_there(slab.insert(alive.value(1)).unwrap().into_send());
    let boxed = slab.insert(alive.value(2)).unwrap().into_box();
    assert_eq!(slab.try_clear(), Err(AccessError::Borrowed));
    assert!(panics(|| slab.clear()) && panics(|| slab.retain(|_, _| true)));
    assert!(panics(|| slab.drain()));
    assert_eq!(
        (slab.len(), slab.retired_values(), alive.count()),
        (2, 1, 2)
    );
    drop(boxed);
    slab.clear();
    assert_eq!((slab.len(), alive.count()), (0, 0));

    let dropped = Arc::new(AtomicUsize::new(0));
    let value = |panics| Panics {
        panics,
        dropped: dropped.clone(),
    };
    let slab = BoundedSlab::with_capacity(4);
    let sent: Vec<_> = [false, true, false]
        .map(|panics| slab.insert(value(panics)).unwrap().into_send())
        .into_iter()
        .collect();
    sent.into_iter().for_each(retire_there);
    slab.insert_key(value(false)).unwrap();
    assert!(panics(|| slab.clear()));
    assert_eq!((dropped.load(SeqCst), slab.len()), (4, 0));
    slab.audit();
}

#[test]
fn room_is_made_without_a_destructor() {
    let alive = Alive::default();
    let slab = Slab::builder().chunk_capacity(4).build();
    let ways: [fn(&Slab<Value>); 3] = [
        |slab| slab.reserve(slab.free_slots() + 5),
        |slab| slab.try_reserve(slab.free_slots() + 5).unwrap(),
        |slab| slab.prepare(slab.free_slots() + 5).unwrap(),
    ];
    for way in ways {
        retire_there(slab.insert(alive.value(1)).into_send());
        way(&slab);
        assert_eq!((slab.retired_values(), alive.count()), (1, 1));
        assert_eq!(slab.reclaim(), 1);
    }
}

/// A list, each retired by the one before.
struct Chained(Option<SendSlot<Chained>>);

impl Drop for Chained {
    fn drop(&mut self) {
        self.0.take().map(SendSlot::retire);
    }
}

/// A value whose handle another value holds is out, whatever becomes of that one.
#[test]
fn a_chain_of_values_is_dropped_one_by_one() {
    let slab = BoundedSlab::with_capacity(8);
    let chain = || {
        let mut first = None;
        for _ in 0..4 {
            first = Some(slab.insert(Chained(first.take())).unwrap().into_send());
        }
        assert!(SendSlot::retire(first.unwrap()).is_ok());
    };
    chain();
    assert_eq!(slab.try_clear(), Err(AccessError::Borrowed));
    for left in (0..4).rev() {
        assert_eq!((slab.reclaim(), slab.len()), (1, left));
    }
    slab.audit();
}

/// Panics when it is dropped, if it is told to.
struct Panics {
    panics: bool,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, SeqCst);
        assert!(!self.panics, "on purpose");
    }
}

#[test]
fn a_destructor_that_panics_loses_none_of_the_others() {
    fn retired<M: Memory>(slab: &TrackedSlab<Panics, M>) -> Arc<AtomicUsize> {
        let dropped = Arc::new(AtomicUsize::new(0));
        for number in 0..5 {
            let value = Panics {
                panics: number == 2,
                dropped: dropped.clone(),
            };
            retire_there(slab.try_insert(value).unwrap().into_send());
        }
        dropped
    }
    without_leak(|pages| {
        let builder = BoundedSlab::builder().capacity(5).pages(pages.clone());
        let slab = builder.try_build().unwrap();
        let dropped = retired(&slab);
        assert!(panics(|| slab.reclaim()));
        assert_eq!(
            (dropped.load(SeqCst), slab.retired_values(), slab.len()),
            (3, 2, 2)
        );
        slab.audit();
        assert_eq!(
            (slab.reclaim(), dropped.load(SeqCst), slab.len()),
            (2, 5, 0)
        );
        slab.audit();

        // As the slab goes, the others are dropped while the panic unwinds.
        let dropped = retired(&slab);
        assert!(panics(|| drop(slab)));
        assert_eq!(dropped.load(SeqCst), 5);

        let slab = Slab::builder().chunk_capacity(2).pages(pages).try_build();
        let slab = slab.unwrap();
        let dropped = retired(&slab);
        assert_eq!(slab.reclaim_some(2), 2);
        assert!(panics(|| drop(slab)));
        assert_eq!(dropped.load(SeqCst), 5);
    });
}

#[test]
fn a_slab_that_is_gone_refuses_and_one_that_goes_drops_what_it_has() {
    without_leak(|pages| {
        let alive = Alive::default();
        let builder = BoundedSlab::builder().capacity(3).pages(pages.clone());
        let slab = builder.try_build().unwrap();
        let insert = |number| slab.insert(alive.value(number)).unwrap().into_send();
        let [one, two, three] = [1, 2, 3].map(insert);
        let key = SendSlot::key(&two);
        retire_there(one);
        drop(slab);
        assert_eq!(alive.count(), 2);
        let refused = thread::spawn(move || SendSlot::retire(two).unwrap_err());
        let two = refused.join().unwrap();
        two.expect(2);
        assert_eq!(SendSlot::key(&two), key);
        let two = SendSlot::retire(two).unwrap_err();
        drop_there(two);
        SendSlot::into_inner(SendSlot::retire(three).unwrap_err()).expect(3);
        assert_eq!(alive.count(), 0);
    });
}

thread_local! {
    static SLAB: RefCell<Option<Rc<Slab<Uses>>>> = const { RefCell::new(None) };
    static ENDED: Cell<usize> = const { Cell::new(0) };
}

/// Uses its slab when it is dropped.
struct Uses(fn(&Slab<Uses>));

impl Drop for Uses {
    fn drop(&mut self) {
        ENDED.set(ENDED.get() + 1);
        if let Some(slab) = SLAB.with_borrow(Clone::clone) {
            (self.0)(&slab);
        }
    }
}

#[test]
fn a_destructor_may_use_the_slab_that_reclaims() {
    let ways: [fn(&Slab<Uses>); 6] = [
        |slab| _ = slab.reclaim(),
        |slab| _ = slab.reclaim_some(1),
        |slab| _ = slab.try_clear(),
        |slab| assert!(slab.keys().count() <= 3),
        |slab| {
            // For the next call: this one does not go on for ever.
            if ENDED.get() < 100 {
                let next = slab.insert(Uses(|_| {})).into_send();
                assert!(SendSlot::retire(next).is_ok());
            }
        },
        |slab| slab.shrink_to_fit(),
    ];
    for way in ways {
        ENDED.set(0);
        let slab = Rc::new(Slab::builder().chunk_capacity(1).build());
        SLAB.set(Some(slab.clone()));
        for _ in 0..3 {
            let sent = slab.insert(Uses(way)).into_send();
            assert!(SendSlot::retire(sent).is_ok());
        }
        assert!(slab.reclaim() <= 3);
        slab.reclaim();
        assert_eq!((slab.retired_values(), slab.len()), (0, 0));
        assert!(ENDED.get() >= 3);
        slab.audit();
        SLAB.set(None);
    }
}

/// A destructor of the slab's end sends and retires another value, after the slab has found that
/// nothing was out.
#[test]
fn a_value_that_is_retired_while_its_slab_goes_is_dropped_or_refused() {
    thread_local! {
        static LAST: RefCell<Option<flatslab::Slot<Sends>>> = const { RefCell::new(None) };
    }

    struct Sends(Option<Value>);

    impl Drop for Sends {
        fn drop(&mut self) {
            if let Some(slot) = LAST.take() {
                if let Ok(sent) = slot.try_into_send() {
                    if let Err(sent) = SendSlot::retire(sent) {
                        drop(sent);
                    }
                }
            }
            drop(self.0.take());
        }
    }

    without_leak(|pages| {
        for first in [true, false] {
            let alive = Alive::default();
            let slab = Slab::builder().chunk_capacity(1).pages(pages.clone());
            let slab = slab.try_build().unwrap();
            let value = |number| Sends(Some(alive.value(number)));
            // Before or after the one whose destructor sends it.
            let [one, two] = [slab.insert(value(1)), slab.insert(value(2))];
            let (last, other) = if first { (one, two) } else { (two, one) };
            other.leak();
            LAST.set(Some(last));
            drop(slab);
            LAST.set(None);
            assert_eq!(alive.count(), 0);
        }
    });
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn values_of_every_size_and_alignment_are_retired() {
    #[repr(align(64))]
    struct Line(#[expect(dead_code, reason = "for its size")] u8);
    #[repr(align(64))]
    struct Nothing;

    fn run<T: Send>(value: impl Fn() -> T) {
        let slab = Slab::builder().chunk_capacity(2).build();
        for _ in 0..2 {
            let sent: Vec<_> = (0..5).map(|_| slab.insert(value()).into_send()).collect();
            sent.into_iter().for_each(retire_there);
            assert_eq!(
                (slab.retired_values(), slab.reclaim(), slab.len()),
                (5, 5, 0)
            );
            slab.audit();
        }
    }
    run(|| ());
    run(|| 7_u8);
    run(|| [7_u8; 3]);
    run(|| [7_u8; 17]);
    run(|| [7_u64; 9]);
    run(|| Line(7));
    run(|| Nothing);
    run(|| String::from("seven"));
}
