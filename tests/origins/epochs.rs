//! A C allocator of epochs (`temporal-slab`): its ring of epochs, and its domains, which are
//! entered, left, entered again, nested, and closed.

use flatslab::epoch::{EpochError, EpochSlab, EpochState};

#[test]
fn an_epoch_that_is_over_gives_its_memory_back() {
    let slab = EpochSlab::builder().build();
    let key = slab.insert([7_u64; 4]);
    let epoch = slab.epoch_of(key).unwrap();
    slab.advance();
    assert!(slab.get(key).is_some());
    assert_eq!(slab.clear_epoch(epoch), 1);
    assert!(slab.get(key).is_none());
    let stats = slab.stats();
    assert_eq!(stats.live, 0);
}

/// `epoch_domain_create`, `enter`, `exit`, `enter` again, `destroy`.
#[test]
fn a_domain_is_entered_and_left_any_number_of_times() {
    let slab = EpochSlab::new();
    let ring = slab.current();
    let request = slab.open();
    let mut keys = Vec::new();
    for round in 0..3 {
        let key = slab.within(request, || {
            assert_eq!(slab.current(), request);
            slab.insert(round)
        });
        keys.push(key.unwrap());
        assert_eq!(slab.current(), ring, "left");
    }
    // What is inserted now belongs to the ring.
    let other = slab.insert(99);
    assert_eq!(slab.epoch_of(other), Some(ring));
    assert!(keys.iter().all(|key| slab.epoch_of(*key) == Some(request)));
    assert_eq!(slab.clear_epoch(request), 3);
    slab.close(request).unwrap();
    assert_eq!(slab.within(request, || ()), Err(EpochError::Closed));
    assert!(slab.get(other).is_some());
}

#[test]
fn domains_nest_and_a_panic_leaves_them() {
    let slab = EpochSlab::new();
    let (outer, inner) = (slab.open(), slab.open());
    let keys = slab.within(outer, || {
        let first = slab.insert("outer");
        let second = slab.within(inner, || {
            // The same again within itself.
            slab.within(inner, || slab.insert("inner")).unwrap()
        });
        let third = slab.insert("outer again");
        [first, second.unwrap(), third]
    });
    let epochs = keys.unwrap().map(|key| slab.epoch_of(key).unwrap());
    assert_eq!(epochs, [outer, inner, outer]);

    let ring = slab.current();
    assert!(crate::panics(
        || slab.within(outer, || panic!("in a request"))
    ));
    assert_eq!(slab.current(), ring);
    // Entered again after that.
    let key = slab.within(outer, || slab.insert("later")).unwrap();
    assert_eq!(slab.epoch_of(key), Some(outer));
}

#[test]
fn one_that_is_closed_while_it_is_entered_is_refused_and_goes_on() {
    let slab = EpochSlab::<u64>::new();
    let request = slab.open();
    slab.within(request, || {
        assert!(slab.close(request).is_err());
        slab.insert(1);
    })
    .unwrap();
    assert_eq!(slab.epoch_stats(request).unwrap().state, EpochState::Open);
    slab.clear_epoch(request);
    assert!(slab.close(request).is_ok());
}
