//! Epoch slabs under programs that are allowed and unlikely: values that hold guards of
//! epochs and values, iterators over a slab that changes, rings without memory, and limits that one size
//! class fills.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use crate::common::random::{one_in, random, seed};
use crate::common::{self, Drops, Hooked, amount, by_speed};
use crate::source::{Counted, Fault, with_fault, with_hook};
use flatslab::AllocError;
use flatslab::epoch::{
    Epoch, EpochBytes, EpochError, EpochGuard, EpochKey, EpochSlab, EpochState, InsertError, Ref,
    RefMut, Values,
};

// Values that hold what borrows their slab.

/// A value that may hold the guard of an epoch of its slab, or guards of other values.
#[derive(Default)]
#[expect(dead_code, reason = "held, and no more")]
struct Node<'s> {
    entered: Option<EpochGuard<'s, Values<Node<'s>>>>,
    read: RefCell<Option<Ref<'s, Node<'s>>>>,
    write: Option<RefMut<'s, Node<'s>>>,
    _counted: Option<common::Counted>,
}

/// Runs `f` with a slab whose values may borrow it: for ever, as far as the compiler knows.
fn with_leaked(f: impl FnOnce(&'static EpochSlab<Node<'static>>)) {
    let slab = EpochSlab::builder().chunk_capacity(2).epochs(2).build();
    let slab = Box::into_raw(Box::new(slab));
    // SAFETY: from a box, which is taken back when `f` has ended.
    f(unsafe { &*slab });
    // SAFETY: from there; `f` has dropped all values, and with them all that borrows the slab.
    let slab = unsafe { Box::from_raw(slab) };
    assert_eq!(slab.stats().live, 0);
}

#[test]
fn a_value_may_hold_the_guard_of_its_epoch() {
    with_leaked(|slab| {
        let drops = Drops::new();
        let held = || {
            let entered = slab.enter();
            let epoch = entered.epoch();
            let node = Node {
                _counted: Some(drops.value(0)),
                entered: Some(entered),
                ..Node::default()
            };
            (epoch, slab.try_insert_in(epoch, node).ok().unwrap())
        };
        // The epoch is closed while it is being cleared.
        let (epoch, _) = held();
        assert_eq!(slab.clear_epoch(epoch), 1);
        assert!(slab.epoch_stats(epoch).is_none());
        // It was closed by name, and the guard finds that.
        let (epoch, _) = held();
        assert_eq!(slab.close(epoch).unwrap().pinned, 1);
        assert_eq!(slab.clear_epoch(epoch), 1);
        assert!(slab.epoch_stats(epoch).is_none());
        // It is closed when its last value has left.
        let (epoch, key) = held();
        drop(slab.take(key));
        assert!(slab.epoch_stats(epoch).is_none());
        // A row of guards, each held by a value of the one before.
        let outermost = slab.enter();
        let (first, mut last) = (outermost.epoch(), outermost.epoch());
        for _ in 0..10 {
            let entered = slab.enter();
            let next = entered.epoch();
            let node = Node {
                _counted: Some(drops.value(0)),
                entered: Some(entered),
                ..Node::default()
            };
            assert!(slab.try_insert_in(last, node).is_ok());
            last = next;
        }
        drop(outermost);
        // Each of the others is empty, or is pinned by a value whose guard is still held.
        assert_eq!(slab.clear_epoch(first), 1);
        let mut left = 9;
        while left > 0 {
            let pinned = slab.epochs().find(|it| it.state == EpochState::Pinned);
            assert_eq!(slab.clear_epoch(pinned.unwrap().epoch), 1);
            left -= 1;
        }
        assert_eq!((drops.count(), slab.stats().epochs), (13, 2));
    });
}

#[test]
fn a_value_may_hold_guards_of_others() {
    with_leaked(|slab| {
        let drops = Drops::new();
        let node = || Node {
            _counted: Some(drops.value(0)),
            ..Node::default()
        };
        // Of another epoch: the guard ends with the value that holds it.
        let stays = slab.try_insert_in(slab.permanent(), node());
        let stays = stays.ok().unwrap();
        for _ in 0..5 {
            let holder = node();
            *holder.read.borrow_mut() = slab.get(stays);
            slab.insert(holder);
        }
        assert!(slab.try_take(stays).is_err());
        let refused = slab.try_clear_epoch(slab.permanent());
        assert_eq!(refused, Err(EpochError::Borrowed(stays)));
        assert_eq!(slab.clear_epoch(slab.current()), 5);
        assert!(slab.get_mut(stays).is_some());

        // Of the same epoch: it is not cleared before one of them has left.
        let written = slab.insert(node());
        let holder = slab.insert(Node {
            write: slab.get_mut(written),
            _counted: Some(drops.value(0)),
            ..Node::default()
        });
        slab.advance();
        let epoch = slab.epoch_of(holder).unwrap();
        assert_eq!(
            slab.try_clear_epoch(epoch),
            Err(EpochError::Borrowed(written))
        );
        assert_eq!(slab.close(epoch).unwrap().live, 2);
        drop(slab.take(holder));
        assert_eq!(slab.clear_epoch(epoch), 1);

        // Each of the other: no guard is left, so neither goes, until one lets go.
        let [one, two] = [(); 2].map(|()| slab.insert(node()));
        *slab.get(one).unwrap().read.borrow_mut() = slab.get(two);
        *slab.get(two).unwrap().read.borrow_mut() = slab.get(one);
        assert!(slab.try_clear_epoch(slab.current()).is_err());
        let guard = slab.get(one).unwrap().read.take();
        drop(guard);
        drop(slab.take(two));
        assert_eq!(slab.clear_epoch(slab.current()), 1);
        assert_eq!(slab.clear_epoch(slab.permanent()), 1);
        assert_eq!(drops.count(), 10);
    });
}

// What is forgotten.

#[test]
fn a_scope_ends_with_values_whose_guards_were_forgotten() {
    let drops = Drops::new();
    let mut slab = EpochSlab::builder().chunk_capacity(2).build();
    let outer = slab.insert(drops.value(0));
    slab.scope(|scope| {
        for number in 1..=3 {
            let keys = [(); 3].map(|()| scope.insert_key(drops.value(number)));
            std::mem::forget(scope.get(keys[0]));
            std::mem::forget(scope.get_mut(keys[1]));
            let leaked = ManuallyDrop::new(scope.get(keys[2]).unwrap());
            let part = Ref::map(Ref::clone(&leaked), |value| &value.number);
            assert_eq!(*part, number);
            scope.insert(drops.value(*part)).number += 1;
        }
        std::mem::forget(scope.get(outer));
        scope.scope(|inner| {
            std::mem::forget(inner.get_mut(inner.insert_key(drops.value(9))));
        });
        assert_eq!(drops.count(), 1);
    });
    // The outer value is borrowed for ever.
    assert_eq!(drops.count(), 1 + 12);
    assert_eq!(slab.stats().live, 1);
    assert!(slab.try_take(outer).is_err());
    drop(slab);
    assert_eq!(drops.count(), 14);
}

#[test]
fn a_key_made_up_for_the_value_of_a_scope_reaches_it_never() {
    let mut slab = EpochSlab::builder().chunk_capacity(1).build();
    slab.scope(|scope| {
        let key = scope.insert_key(1);
        assert_eq!(scope.take(key), Some(1));
        let value = scope.insert(2);
        // The next generation of the same slot is that value's.
        let guessed = EpochKey::from_raw(key.into_raw() + (1 << 80)).unwrap();
        let refused = Err(flatslab::AccessError::Borrowed);
        assert_eq!(scope.try_take(guessed), refused);
        assert!(scope.try_get(guessed).is_err() && scope.try_get_mut(guessed).is_err());
        *value += 1;
        assert_eq!(*value, 3);
    });
    assert_eq!(slab.stats().live, 0);
}

// A slab that changes under its iterators.

/// What may become of a slab between two steps of an iterator.
fn change(slab: &EpochSlab<String>, kept: &RefCell<Vec<EpochKey>>) {
    let any = |keys: &RefCell<Vec<EpochKey>>| {
        let keys = keys.borrow();
        keys.get(random(keys.len().max(1) as u64) as usize).copied()
    };
    match random(10) {
        0..=3 => {
            let key = slab.insert("more".to_string());
            kept.borrow_mut().push(key);
        }
        4 | 5 => drop(any(kept).and_then(|key| slab.take(key))),
        6 => drop(slab.advance()),
        7 => drop(slab.advance_and_close()),
        8 => {
            let epoch = any(kept).and_then(|key| slab.epoch_of(key));
            epoch.map(|epoch| slab.clear_epoch(epoch));
            slab.set_cached_chunks(random(3) as usize);
        }
        _ => {
            let entered = slab.enter();
            kept.borrow_mut().push(entered.insert("in".to_string()));
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn iterators_end_and_name_only_what_there_is() {
    for round in 0..amount(300, 4) {
        seed(round);
        let slab = EpochSlab::builder()
            .chunk_capacity(3)
            .epochs(2)
            .cached_chunks(1)
            .build();
        let kept = RefCell::default();
        for _ in 0..amount(60, 12) {
            change(&slab, &kept);
        }
        let mut steps = 0;
        // More than the program has inserted there cannot be.
        let mut within_bounds = || {
            steps += 1;
            steps < 10_000
        };
        let epochs: Vec<Epoch> = slab.epochs().map(|it| it.epoch).collect();
        for epoch in epochs {
            for key in slab.keys_in(epoch) {
                assert_eq!(slab.epoch_of(key), Some(epoch));
                change(&slab, &kept);
                assert!(within_bounds());
            }
        }
        for stats in slab.epochs() {
            let again = slab.epoch_stats(stats.epoch);
            assert_eq!(again.map(|it| it.live), Some(stats.live));
            change(&slab, &kept);
            assert!(within_bounds());
        }
        #[cfg(feature = "track")]
        for pin in slab.pinned_by() {
            assert_eq!(slab.epoch_of(pin.key), Some(pin.epoch));
            let stats = slab.epoch_stats(pin.epoch).unwrap();
            assert_eq!(stats.state, EpochState::Pinned);
            change(&slab, &kept);
            assert!(within_bounds());
        }
        let live = slab.epochs().map(|it| it.live).sum::<usize>();
        assert_eq!(slab.stats().live, live);
    }
}

// The ring without memory.

/// Random steps on a slab whose memory fails at times; an advance never asks for any.
fn run_without_memory(ring: usize) {
    let source = Counted::new();
    let drops = Drops::new();
    let slab = EpochSlab::builder()
        .chunk_capacity(2)
        .epochs(ring)
        .cached_chunks(random(3) as usize)
        .pages(source.pages())
        .build();
    let mut keys: BTreeMap<EpochKey, u64> = BTreeMap::new();
    let mut epochs = vec![slab.current()];
    let mut entered = Vec::new();
    for number in 0..amount(120, 15) {
        let any = epochs[random(epochs.len() as u64) as usize];
        let fails_after = random(4) as usize;
        match random(12) {
            0..=3 => {
                let epoch = if one_in(2) { slab.current() } else { any };
                let mut result = None;
                with_fault(fails_after, Fault::Refuse, true, || {
                    result = Some(slab.try_insert_in(epoch, drops.value(number)));
                });
                if let Some(Ok(key)) = result {
                    keys.insert(key, number);
                }
            }
            4 | 5 => {
                let mut next = None;
                let asked = with_fault(0, Fault::Panic, true, || next = Some(slab.advance()));
                assert!(!asked && next == Some(slab.current()));
                epochs.extend(next);
            }
            6 => {
                let mut next = None;
                let asked = with_fault(0, Fault::Panic, true, || {
                    next = Some(slab.advance_and_close().0);
                });
                assert!(!asked);
                epochs.extend(next);
            }
            7 => {
                let asked = with_fault(0, Fault::Panic, true, || {
                    let _ = slab.close(any);
                });
                assert!(!asked);
            }
            8 => {
                let live = slab.epoch_stats(any).map_or(0, |stats| stats.live);
                assert_eq!(slab.clear_epoch(any), live);
                keys.retain(|key, _| slab.contains_key(*key));
            }
            9 => {
                with_fault(fails_after, Fault::Refuse, true, || {
                    if one_in(4) {
                        epochs.extend(slab.try_open());
                    } else if let Ok(guard) = slab.try_enter() {
                        epochs.push(guard.epoch());
                        entered.push(guard);
                    }
                });
            }
            10 => {
                let guard = entered.pop();
                if one_in(8) {
                    std::mem::forget(guard);
                }
            }
            _ => {
                let key = keys.first_key_value().map(|(key, number)| (*key, *number));
                if let Some((key, number)) = key {
                    assert_eq!(slab.take(key).map(|it| it.number), Some(number));
                    keys.remove(&key);
                }
            }
        }
        assert_eq!(slab.stats().live, keys.len());
        #[cfg(fuzzing)]
        slab.check();
    }
    assert!(
        keys.iter()
            .all(|(key, number)| slab.get(*key).unwrap().number == *number)
    );
    drop(entered);
    drop(slab);
    source.expect_all_back();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_advance_needs_no_memory_whatever_came_before() {
    for round in 0..amount(by_speed(10_000, 3_000), 4) {
        seed(round);
        run_without_memory(1 + random(4) as usize);
    }
}

/// The slab of this thread, which its source uses at every call.
type Busy = Rc<EpochSlab<Hooked>>;

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_advance_within_each_call_of_a_source_needs_no_memory() {
    for ring in [1, 2, 3] {
        for calls in (0..).step_by(amount(1, 17)) {
            let source = Counted::new();
            let slab: Busy = Rc::new(
                EpochSlab::builder()
                    .chunk_capacity(1)
                    .epochs(ring)
                    .cached_chunks(0)
                    .pages(source.pages())
                    .build(),
            );
            let busy = slab.clone();
            let hook = move || {
                for _ in 0..3 {
                    let key = busy.insert(Hooked::plain());
                    busy.advance();
                    let (_, report) = busy.advance_and_close();
                    assert_eq!(report.pinned, 0);
                    drop(busy.take(key));
                }
                drop(busy.enter());
            };
            let done = with_hook(calls, Rc::new(hook), || {
                for _ in 0..3 {
                    let keys = [(); 2].map(|()| slab.insert(Hooked::plain()));
                    drop(slab.enter());
                    slab.advance();
                    drop(slab.take(keys[0]));
                    let epoch = slab.epoch_of(keys[1]).unwrap();
                    assert_eq!(slab.clear_epoch(epoch), 1);
                }
            });
            // What is closing has its empty chunks until it is closed.
            for _ in 0..=ring {
                slab.advance_and_close();
            }
            let stats = slab.stats();
            assert_eq!((stats.live, stats.committed_bytes), (0, 0));
            drop(slab);
            source.expect_all_back();
            if done.is_none() {
                assert!(calls > 20, "{calls}");
                break;
            }
        }
    }
}

// Limits.

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn unused_chunks_of_other_classes_make_way_at_the_limit() {
    let bytes = EpochBytes::builder()
        .chunk_bytes(1024)
        .max_bytes(4 * 1024)
        .build();
    // All of it is one class's.
    let small = bytes.try_copy_in(bytes.current(), &[7; 64]).unwrap();
    let first = bytes.current();
    while bytes.try_alloc_in(first, 64).is_ok() {}
    assert_eq!(bytes.stats().committed_bytes, 4 * 1024);
    let large = bytes.try_alloc_in(first, 512);
    let (size, limit) = (1024, 4 * 1024);
    let refused = InsertError::Full((), AllocError::Limit { bytes: size, limit });
    assert_eq!(large.unwrap_err(), refused);
    // It dies, and another class gets it.
    bytes.advance();
    bytes.clear_epoch(first);
    bytes.close(first).unwrap();
    assert!(!bytes.contains_key(small));
    let large = bytes.try_alloc_in(bytes.current(), 512);
    assert_eq!(large.map(|buf| buf.len()), Ok(512));
    assert_eq!(bytes.stats().committed_bytes, 4 * 1024);
    // Nothing makes way where that is in vain.
    let cached = bytes.stats().cached_chunks;
    let larger = bytes.try_alloc_in(bytes.current(), 4 * 1024);
    assert!(matches!(larger.unwrap_err(), InsertError::Full((), _)));
    assert_eq!(bytes.stats().cached_chunks, cached);
}

// What is made for each thread.

#[test]
fn a_builder_may_be_sent_whatever_the_values_are() {
    fn send<T: Send + Sync>(_: &T) {}

    let builder = EpochSlab::<Rc<u64>>::builder().epochs(2);
    send(&builder);
    send(&EpochBytes::builder());
    let threads = [(); 2].map(|()| {
        let builder = builder.clone();
        std::thread::spawn(move || {
            let slab = builder.build();
            let key = slab.insert(Rc::new(7));
            slab.take(key).map(|value| *value)
        })
    });
    assert_eq!(threads.map(|it| it.join().unwrap()), [Some(7); 2]);
}

// Pages.

#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
mod pages {
    use flatslab::memory::{HugePages, Pages};

    use super::*;

    /// Aligned beyond a page of any size there is.
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(16_384))]
    struct Aligned(u64);

    #[test]
    fn values_keep_their_content_beside_pages_that_come_and_go() {
        for huge in [HugePages::No, HugePages::Transparent, HugePages::Try] {
            let slab = EpochSlab::<[u64; 300]>::builder()
                .chunk_capacity(7)
                .epochs(2)
                .pages(Pages::system().huge(huge))
                .build();
            let mut kept = BTreeMap::new();
            for round in 0..200 {
                let keys: Vec<_> = (0..20).map(|_| slab.insert([round; 300])).collect();
                for (place, key) in keys.into_iter().enumerate() {
                    if place == 9 && round % 3 == 0 {
                        kept.insert(key, round);
                    } else {
                        assert_eq!(slab.take(key), Some([round; 300]));
                    }
                }
                slab.advance_and_close();
                slab.set_cached_chunks(if round % 2 == 0 { 0 } else { 32 });
                if kept.len() > 30 {
                    let (key, number) = kept.pop_first().unwrap();
                    assert_eq!(slab.take(key), Some([number; 300]));
                }
            }
            for (key, number) in kept {
                assert_eq!(*slab.get(key).unwrap(), [number; 300]);
            }
        }
    }

    #[test]
    fn values_aligned_beyond_a_page_come_and_go() {
        let slab = EpochSlab::builder()
            .chunk_capacity(3)
            .pages(Pages::system())
            .build();
        for round in 0..5 {
            let keys = [0, 1, 2, 3].map(|number| slab.insert(Aligned(round + number)));
            for (number, key) in keys.iter().enumerate() {
                let guard = slab.get(*key).unwrap();
                assert_eq!(*guard, Aligned(round + number as u64));
                assert_eq!(std::ptr::from_ref(&*guard).addr() % 16_384, 0);
            }
            slab.clear_epoch(slab.current());
            slab.set_cached_chunks(if round % 2 == 0 { 0 } else { 32 });
        }
        assert_eq!(slab.stats().live, 0);
    }
}
