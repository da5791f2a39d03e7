//! User code that panics: nothing is lost, nothing dropped twice.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flatslab::key_slab::SlabKey;
use flatslab::{GenKey, Key, KeySlab};

use crate::program::{Count, Counted};

thread_local! {
    static FUSE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Panics when a number that is armed is cloned or dropped, once.
#[derive(Debug)]
struct Touchy(Counted);

fn burn(number: u64) {
    if FUSE.get() == Some(number) {
        FUSE.set(None);
        panic!("value {number}");
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        burn(self.0.number);
        Touchy(self.0.clone())
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        burn(self.0.number);
    }
}

fn five_values<K: SlabKey>(count: &Count) -> KeySlab<Touchy, K> {
    let mut slab = KeySlab::with_key();
    for number in 0..6 {
        slab.insert(Touchy(count.make(number)));
    }
    slab.retain(|_, value| value.0.number != 1);
    slab
}

fn panics(at: u64, what: impl FnOnce()) {
    FUSE.set(Some(at));
    assert!(catch_unwind(AssertUnwindSafe(what)).is_err());
    assert_eq!(FUSE.get(), None);
}

fn a_panic_loses_nothing<K: SlabKey>() {
    for at in [0, 2, 3, 5] {
        let count = Count::default();
        let mut slab = five_values::<K>(&count);

        panics(at, || drop(slab.clone()));
        assert_eq!((count.alive(), slab.len()), (5, 5), "clone");

        FUSE.set(Some(at));
        let result = catch_unwind(AssertUnwindSafe(|| {
            slab.retain(|_, value| {
                burn(value.0.number);
                false
            });
        }));
        assert!(result.is_err());
        let left = [0, 2, 3, 5]
            .iter()
            .position(|n| *n == at)
            .map(|p| 5 - p - usize::from(at == 5));
        assert_eq!(Some(slab.len()), left, "what was not visited stays");
        assert_eq!(count.alive(), slab.len());

        slab = five_values::<K>(&count);
        panics(at, || slab.retain(|_, _| false));
        assert!(slab.values().all(|value| value.0.number > at), "retain");

        slab = five_values::<K>(&count);
        panics(at, || slab.clear());
        assert!(slab.is_empty(), "clear");
        slab.insert(Touchy(count.make(9)));

        slab = five_values::<K>(&count);
        panics(at, || drop(slab.drain()));
        assert!(slab.is_empty(), "drain");

        slab = five_values::<K>(&count);
        panics(at, || drop(slab));
        slab = five_values::<K>(&count);
        panics(at, || drop(slab.into_iter()));
        assert_eq!(count.alive(), 0);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_panic_loses_nothing_with_plain_keys() {
    a_panic_loses_nothing::<Key>();
}

#[test]
fn a_panic_loses_nothing_with_generations() {
    a_panic_loses_nothing::<GenKey>();
}

#[test]
fn an_iterator_that_panics_leaves_what_it_gave() {
    let count = Count::default();
    let mut slab: KeySlab<Counted> = KeySlab::new();
    slab.insert(count.make(0));
    let result = catch_unwind(AssertUnwindSafe(|| {
        slab.extend((0..5).map(|number| {
            assert_ne!(number, 3, "the iterator panics");
            (
                Key::from_raw(10 * number + 1),
                count.make(u64::from(number)),
            )
        }));
    }));
    assert!(result.is_err());
    assert_eq!((slab.len(), count.alive()), (4, 4));
    assert_eq!(slab.vacant_key().index(), 20);
    let slots: Vec<_> = (0..19)
        .map(|n| slab.insert(count.make(n)).index())
        .collect();
    assert!(slots[..18].windows(2).all(|pair| pair[0] > pair[1]));
    assert_eq!(slots[17..], [2, 22]);
}

#[test]
fn a_destructor_of_a_replaced_value_may_panic() {
    let count = Count::default();
    let mut slab = five_values::<Key>(&count);
    let key = Key::from_raw(3);
    panics(3, || {
        slab.extend([(key, Touchy(count.make(30))), (key, Touchy(count.make(31)))])
    });
    assert_eq!((slab[key].0.number, slab.len()), (30, 5));
    assert_eq!(count.alive(), 5);
    assert_eq!(slab.vacant_key().index(), 1);
}
