//! One slab for each thread: a whole one may go to another.

use std::rc::Rc;
use std::thread;

use flatslab::epoch::{CloseReport, Epoch, EpochBytes, EpochKey, EpochSlab, EpochStats, Stats};

use crate::common::amount;

fn send<T: Send>() {}
fn both<T: Send + Sync>() {}

#[test]
fn what_may_be_sent_is_send() {
    send::<EpochSlab<u64>>();
    send::<EpochSlab<std::cell::Cell<u64>>>();
    send::<EpochBytes>();
    both::<EpochKey>();
    both::<Epoch>();
    both::<CloseReport>();
    both::<EpochStats>();
    both::<Stats>();
    // Names are numbers, whatever the values are.
    let slab = EpochSlab::new();
    let key = slab.insert(Rc::new(7));
    let key = thread::spawn(move || key).join().unwrap();
    assert_eq!(slab.take(key).as_deref(), Some(&7));
}

#[test]
fn a_slab_goes_to_another_thread_and_comes_back() {
    let slab = EpochSlab::builder().chunk_capacity(4).build();
    let keys: Vec<_> = (0..20)
        .map(|number| slab.insert(number.to_string()))
        .collect();
    let first = slab.current();
    slab.advance_and_close();
    let slab = thread::spawn(move || {
        assert_eq!(slab.get(keys[7]).as_deref().map(String::as_str), Some("7"));
        slab.get_mut(keys[8]).unwrap().push('!');
        drop(slab.take(keys[9]));
        slab.insert("here".to_string());
        slab
    });
    let slab = slab.join().unwrap();
    assert_eq!(slab.clear_epoch(first), 19);
    assert_eq!(slab.stats().live, 1);
    thread::spawn(move || drop(slab)).join().unwrap();
}

#[test]
fn slabs_of_many_threads_have_different_keys() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                let slabs: Vec<_> = (0..amount(100, 2)).map(|_| EpochBytes::new()).collect();
                let keys: Vec<_> = slabs.iter().map(|slab| slab.alloc(10).key()).collect();
                (slabs, keys)
            })
        })
        .collect();
    let mut all = Vec::new();
    for (slabs, keys) in threads.into_iter().map(|it| it.join().unwrap()) {
        for (slab, key) in slabs.iter().zip(&keys) {
            let found = keys.iter().filter(|key| slab.contains_key(**key)).count();
            assert!(found == 1 && slab.contains_key(*key));
        }
        all.extend(keys);
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}
