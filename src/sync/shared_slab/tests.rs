//! What needs more than the public methods.

use std::sync::atomic::Ordering::Relaxed;
use std::vec::Vec;

use super::cell::MOST_READERS;
use super::*;
use crate::common::{amount, panics};
use crate::error::AccessError;
use crate::sync::counted;

#[test]
fn a_slot_that_had_its_last_value_is_retired() {
    let mut slab = SharedSlab::with_capacity(2);
    slab.age(0);
    slab.age(1);
    let one = slab.insert_with(|key| key).unwrap();
    assert_eq!(one.into_raw() >> LOW_BITS, (1 << 40) - 1);
    let two = slab.insert(one).unwrap();
    assert_eq!(*slab.get(one).unwrap(), one);
    assert!(slab.remove(one));
    assert!(slab.get(one).is_none() && !slab.remove(one));
    assert_eq!((slab.len(), slab.retired_slots()), (1, 1));
    assert!(slab.is_full() && slab.insert(two).is_err());
    let guard = slab.get(two).unwrap();
    assert!(slab.remove(two) && slab.len() == 1);
    drop(guard);
    assert_eq!(
        (slab.len(), slab.retired_slots(), slab.capacity()),
        (0, 2, 2)
    );
    slab.clear();
    assert!(slab.is_empty() && slab.is_full() && slab.iter().next().is_none());
    assert_eq!(slab.try_take(two), Err(AccessError::Missing));
}

#[test]
fn a_slot_whose_last_key_was_given_to_a_closure_that_panics_is_retired() {
    let mut slab = SharedSlab::<u64>::with_capacity(1);
    slab.age(0);
    assert!(panics(|| slab.insert_with(|_| panic!("in the closure"))));
    assert_eq!((slab.len(), slab.retired_slots()), (0, 1));
    assert!(slab.insert(7).is_err());
}

/// Whichever way the value goes: the slot is free, and its key leads to nothing.
#[test]
fn where_generations_wrap_a_slot_begins_again() {
    type Slab = SharedSlab<SharedKey>;
    let ends: [fn(&mut Slab, SharedKey); 6] = [
        |slab, key| assert!(slab.remove(key)),
        |slab, key| assert_eq!(slab.take(key), Some(key)),
        |slab, key| {
            let guard = slab.get(key).unwrap();
            assert!(slab.remove(key) && *guard == key);
        },
        |slab, key| {
            let guard = slab.get(key).unwrap();
            slab.remove(key);
            SharedRef::retire(guard);
            assert_eq!(slab.reclaim(), 1);
        },
        |slab, _| slab.clear(),
        |slab, key| {
            assert!(slab.remove(key));
            slab.age(0);
            assert!(panics(|| slab.insert_with(|_| panic!("in the closure"))));
        },
    ];
    for end in ends {
        let mut slab = Slab::builder().capacity(1).wrapping_generations().build();
        slab.age(0);
        assert_eq!(slab.wear(), (1 << 40) - 2);
        let last = slab.insert_with(|key| key).unwrap();
        assert_eq!(last.into_raw() >> LOW_BITS, (1 << 40) - 1);
        assert_eq!(slab.wear(), (1 << 40) - 1);
        end(&mut slab, last);
        assert_eq!((slab.len(), slab.retired_slots(), slab.wear()), (0, 0, 0));
        let first = slab.insert(last).unwrap();
        assert_eq!(first.into_raw() >> LOW_BITS, 1);
        assert!(slab.get(last).is_none() && !slab.remove(last));
        assert_eq!(slab.try_take(last), Err(AccessError::Missing));
        assert!(*slab.get(first).unwrap() == last && slab.wear() == 1);
    }
}

#[test]
fn wear_is_that_of_the_most_worn_slot() {
    let mut slab = SharedSlab::with_capacity(3);
    assert_eq!(slab.wear(), 0);
    let keys = [0, 1].map(|number| slab.insert(number).unwrap());
    assert_eq!(slab.wear(), 1);
    slab.remove(keys[1]);
    assert_eq!(slab.wear(), 1);
    assert_eq!((slab.insert(2).is_ok(), slab.wear()), (true, 2));
    slab.clear();
    assert_eq!(slab.wear(), 2);
    slab.age(1);
    assert_eq!(slab.wear(), (1 << 40) - 2);
    while slab.insert(3).is_ok() {}
    assert_eq!(slab.wear(), (1 << 40) - 1);
    slab.clear();
    assert_eq!((slab.wear(), slab.retired_slots()), ((1 << 40) - 1, 1));
    assert_eq!(SharedSlab::<u8>::with_capacity(0).wear(), 0);
}

#[test]
fn readers_past_the_most_are_refused() {
    let slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    let guard = slab.get(key).unwrap();
    // As if so many guards had been forgotten.
    let word = {
        // SAFETY: the slab has one slot, of index 0.
        let place = unsafe { slab.slot(0).cell().stamp() };
        // SAFETY: a `Word` is one atomic.
        unsafe { place.cast::<crate::raw::atomic::AtomicU64>().as_ref() }
    };
    word.fetch_add(MOST_READERS - 1, Relaxed);
    assert_eq!(slab.try_get(key).unwrap_err(), AccessError::TooManyReaders);
    assert!(panics(|| slab.get(key)));
    assert!(panics(|| SharedRef::clone(&guard)));
    assert!(panics(|| slab.iter().next()));
    assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    assert!(slab.contains_key(key) && *guard == 7);
    assert!(slab.remove(key) && !slab.contains_key(key));
    assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
    word.fetch_sub(MOST_READERS - 1, Relaxed);
    drop(guard);
    assert!(slab.is_empty());
}

#[test]
fn a_large_slab_has_wider_indices() {
    // Of no bytes, so that only the words are there: 2^24 + 1 take 128 MiB.
    if cfg!(miri) || usize::BITS < 64 {
        return;
    }
    let mut slab = SharedSlab::<()>::with_capacity((1 << LOW_BITS) + 1);
    assert_eq!(slab.mask, (1 << LOW_BITS_OF_LARGE) - 1);
    let keys: Vec<_> = (0..1000).map(|_| slab.insert(()).unwrap()).collect();
    slab.age(1 << LOW_BITS);
    assert_eq!(slab.wear(), (1 << 34) - 2);
    let last = SharedKey::new(!slab.mask, 1 << LOW_BITS);
    assert!(slab.get(last).is_none());
    for key in keys {
        assert_eq!(key.into_raw() >> LOW_BITS_OF_LARGE, 1);
        assert!(slab.get(key).is_some() && slab.remove(key) && !slab.contains_key(key));
    }
    assert!(slab.is_empty());
}

/// Pollers reserve it, if the capacity is another one.
#[test]
fn the_highest_number_is_a_key_of_2_24_slots_alone() {
    let last = SharedKey::new(u64::MAX << LOW_BITS, (1 << LOW_BITS) - 1);
    assert_eq!(last.into_raw(), u64::MAX);
    // With wider indices it would be of a slot that no slab has.
    const { assert!(crate::key::MAX_SLOTS < 1 << LOW_BITS_OF_LARGE) };
    let slab = SharedSlab::with_capacity(3);
    slab.insert(7).unwrap();
    assert!(!slab.contains_key(last) && !slab.remove(last));
}

#[test]
fn cells_of_every_size_and_alignment_are_laid_out() {
    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page([u8; 8192]);

    fn sizes<T>() -> (usize, usize, usize) {
        let slab = SharedSlab::<T>::with_capacity(1);
        // SAFETY: the slab has one slot, of index 0.
        unsafe {
            let cell = slab.slot(0).cell();
            let start = cell.start().addr().get();
            let value = cell.value().addr().get() - start;
            let word = cell.stamp().addr().get() - start;
            (value, word, CellPtr::<T>::SIZE)
        }
    }
    assert_eq!(sizes::<()>(), (0, 0, 8));
    assert_eq!(sizes::<u8>(), (0, 8, 16));
    assert_eq!(sizes::<u64>(), (0, 8, 16));
    assert_eq!(sizes::<[u8; 16]>(), (0, 16, 24));
    assert_eq!(sizes::<[u8; 17]>(), (8, 0, 32));
    assert_eq!(sizes::<[u64; 8]>(), (8, 0, 72));
    assert_eq!(sizes::<Line>(), (0, 0, 64));
    assert_eq!(sizes::<Page>(), (4096, 0, 4096 + 8192));
    assert_eq!(sizes::<[u8; 65536]>(), (8, 0, 8 + 65536));
    assert_eq!(Page([0; 8192]).0.len(), 8192);
}

#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
#[cfg_attr(
    not(feature = "std"),
    ignore = "a thread's home depends on how deep its stack is"
)]
fn a_removal_and_an_insertion_at_random_places_are_three_locked_operations() {
    let capacity = amount(5_000, 200);
    let slab = SharedSlab::with_capacity(capacity);
    let mut keys: Vec<_> = (0..capacity).map(|it| slab.insert(it).unwrap()).collect();
    for place in (0..capacity).map(|round| round * 379 % capacity) {
        let changes = counted::changes(|| {
            assert!(slab.remove(keys[place]));
            keys[place] = slab.insert(place).unwrap();
        });
        assert!(changes <= 3, "{changes}");
    }
}
