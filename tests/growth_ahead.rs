//! Chunks built ahead: by a helper thread, or by the caller in an idle moment.
//! That the slab does the same with and without is `model.rs`'s to show.

#![cfg(feature = "std")]

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use flatslab::{AllocError, Key, Slab, Slot};

const VALUES: u64 = if cfg!(miri) { 300 } else { 50_000 };

fn slab(chunk_capacity: usize, spare_chunks: usize) -> Slab<u64> {
    Slab::builder()
        .chunk_capacity(chunk_capacity)
        .spare_chunks(spare_chunks)
        .build()
}

fn fill(slab: &Slab<u64>, values: u64) -> Vec<Key> {
    (0..values)
        .map(|number| slab.insert(number).leak())
        .collect()
}

fn assert_filled(slab: &Slab<u64>, keys: &[Key]) {
    for (number, &key) in keys.iter().enumerate() {
        assert_eq!(key.index(), number, "keys ascend without a gap");
        assert_eq!(*slab.get(key).unwrap(), number as u64);
    }
    assert_eq!(slab.len(), keys.len());
    slab.check();
}

/// Gives the helper time, until it has done what is asked for.
fn wait_for(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the helper does not come"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn every_chunk_is_whole_whoever_built_it() {
    for (chunk, spares) in [(1, 1), (2, 3), (8, 4), (64, 1)] {
        let slab = slab(chunk, spares);
        let keys = fill(&slab, VALUES);
        assert_filled(&slab, &keys);
        assert!(slab.growth_stalls() <= slab.chunks() - spares);
    }
}

#[test]
fn the_first_spares_are_there_when_the_slab_is() {
    let slab = slab(16, 3);
    assert_eq!(slab.capacity(), 0);
    let keys = fill(&slab, 48);
    assert_eq!(slab.growth_stalls(), 0);
    assert_filled(&slab, &keys);
}

#[test]
fn chunks_added_or_given_back_otherwise_leave_the_spares_of_use() {
    let slab = slab(4, 2);
    let mut keys = fill(&slab, 5);
    // Takes one of the spares' numbers.
    slab.reserve(9);
    keys.extend((5..40).map(|number| slab.insert(number).leak()));
    assert_filled(&slab, &keys);
    // Gives numbers back, one of them a hole.
    for key in keys.drain(8..) {
        slab.remove_by_key(key);
    }
    for key in keys.drain(..4) {
        slab.remove_by_key(key);
    }
    slab.shrink();
    slab.check();
    assert_eq!(slab.chunks(), 1);
    let more: Vec<_> = (0..200).map(|number| slab.insert(number).leak()).collect();
    for (number, &key) in more.iter().enumerate() {
        assert_eq!(*slab.get(key).unwrap(), number as u64);
    }
    assert_eq!(slab.len(), 204);
    slab.check();
}

#[test]
fn handles_outlive_a_slab_with_a_helper() {
    let slab = slab(2, 2);
    let slots: Vec<Slot<u64>> = (0..20).map(|number| slab.insert(number)).collect();
    drop(slab);
    assert!(slots.iter().all(|slot| !slot.is_valid()));
}

#[test]
fn a_slab_may_be_dropped_while_its_helper_builds() {
    for values in 0..if cfg!(miri) { 12 } else { 200 } {
        let slab = slab(4, 3);
        fill(&slab, values);
    }
}

#[test]
fn values_may_borrow_what_a_thread_could_not() {
    let text = String::from("not for ever");
    let slab: Slab<&str> = Slab::builder().chunk_capacity(1).spare_chunks(1).build();
    let slots: Vec<_> = text.split(' ').map(|word| slab.insert(word)).collect();
    assert_eq!(*slots[2].get(), "ever");
}

#[test]
fn a_slab_of_a_thread_ends_with_it() {
    thread_local! {
        static SLAB: Slab<String> =
            Slab::builder().chunk_capacity(1).spare_chunks(3).build();
        static SLOTS: RefCell<Vec<Slot<String>>> = const { RefCell::new(Vec::new()) };
    }
    let fill = || {
        SLAB.with(|slab| {
            let texts = (0..9).map(|number| slab.insert(number.to_string()));
            SLOTS.with_borrow_mut(|slots| slots.extend(texts));
            assert_eq!(slab.len(), 9);
        });
    };
    thread::spawn(fill).join().unwrap();
    // The other way round: the slots go after their slab.
    let slots_first = move || {
        SLOTS.with(|_| ());
        fill();
    };
    thread::spawn(slots_first).join().unwrap();
}

/// Uses its slab when it dies.
struct Restless(Weak<Slab<Option<Restless>>>, u32);

impl Drop for Restless {
    fn drop(&mut self) {
        let Some(slab) = self.0.upgrade() else {
            return;
        };
        if self.1 % 4 == 1 {
            slab.shrink();
            slab.prepare().unwrap();
        } else if self.1 % 4 == 2 {
            slab.reserve(3);
        }
        let heir = (self.1 > 3).then(|| Restless(self.0.clone(), self.1 / 2));
        slab.insert(heir).leak();
    }
}

#[test]
fn destructors_may_use_a_slab_that_builds_ahead() {
    let slab = Rc::new(Slab::builder().chunk_capacity(1).spare_chunks(2).build());
    for round in 0..if cfg!(miri) { 12 } else { 400 } {
        drop(slab.insert(Some(Restless(Rc::downgrade(&slab), round))));
        if round % 7 == 0 {
            slab.retain(|key, _| key.index() % 3 != 0);
            slab.shrink();
        }
        slab.check();
    }
    assert!(!slab.is_empty());
}

#[test]
fn too_many_spares_are_an_error() {
    for spares in [1 << 30, usize::MAX] {
        let builder = Slab::<u64>::builder()
            .chunk_capacity(64)
            .spare_chunks(spares);
        assert!(matches!(
            builder.try_build(),
            Err(AllocError::TooManySlots { .. })
        ));
    }
}

#[test]
fn to_prepare_builds_one_chunk_where_it_is_needed() {
    let slab: Slab<u64> = Slab::builder().chunk_capacity(4).build();
    for _ in 0..3 {
        slab.prepare().unwrap();
        assert_eq!((slab.chunks(), slab.growth_stalls()), (1, 0));
    }
    let keys = fill(&slab, 2);
    slab.prepare().unwrap();
    assert_eq!(slab.chunks(), 2, "two slots are fewer than a chunk has");
    assert_filled(&slab, &keys);
    let mut keys = keys;
    keys.extend((2..8).map(|number| slab.insert(number).leak()));
    assert_eq!(slab.growth_stalls(), 0);
    keys.push(slab.insert(8).leak());
    assert_eq!(slab.growth_stalls(), 1);
    assert_filled(&slab, &keys);
}

#[test]
fn a_helper_that_slept_is_woken() {
    let slab = slab(2, 1);
    for _ in 0..if cfg!(miri) { 3 } else { 30 } {
        // Until a growth finds that a chunk has been built.
        wait_for(|| {
            let (chunks, stalls) = (slab.chunks(), slab.growth_stalls());
            while slab.chunks() == chunks {
                slab.insert(0).leak();
            }
            slab.growth_stalls() == stalls
        });
    }
    slab.check();
}
