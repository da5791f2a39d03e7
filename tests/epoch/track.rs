//! Where pinned values were inserted: feature `track`.

use std::panic::Location;

use flatslab::epoch::{EpochBytes, EpochKey, EpochSlab};

/// The line that calls it.
#[track_caller]
fn here() -> u32 {
    Location::caller().line()
}

/// Panics unless that value is pinned, and was inserted at that line of this file.
#[track_caller]
fn expect_site<C: flatslab::epoch::Contents>(
    slab: &flatslab::epoch::Epochs<C>,
    (key, line): (EpochKey, u32),
) {
    let pin = slab
        .pinned_by()
        .find(|pin| pin.key == key)
        .expect("it is pinned");
    assert_eq!((pin.site.file(), pin.site.line()), (file!(), line));
    assert_eq!(Some(pin.epoch), slab.epoch_of(key));
}

#[test]
fn values_have_the_line_that_inserted_them() {
    let slab = EpochSlab::builder().chunk_capacity(2).build();
    slab.set_tag(slab.current(), 7);
    assert_eq!(slab.pinned_by().count(), 0);
    let inserted = [
        (slab.insert(1), here()),
        (slab.try_insert(2).unwrap(), here()),
        (slab.try_insert_in(slab.current(), 3).unwrap(), here()),
    ];
    assert_eq!(slab.pinned_by().count(), 0, "nothing is closed");
    slab.advance_and_close();
    for it in inserted {
        expect_site(&slab, it);
    }
    assert!(slab.pinned_by().all(|pin| pin.tag == 7));
    let guard = slab.enter();
    let inserted = [
        (guard.insert(4), here()),
        (guard.try_insert(5).unwrap(), here()),
    ];
    drop(guard);
    for it in inserted {
        expect_site(&slab, it);
    }
    assert_eq!(slab.pinned_by().count(), 5);
    // A slot that has another value has its line.
    slab.take(inserted[0].0).unwrap();
    assert_eq!(slab.pinned_by().count(), 4);
    let keys: Vec<_> = slab.pinned_by().map(|pin| pin.key).collect();
    for key in keys {
        slab.take(key).unwrap();
    }
    assert_eq!(slab.pinned_by().count(), 0);
    let again = (slab.insert(6), here());
    slab.advance_and_close();
    expect_site(&slab, again);
}

#[test]
fn values_that_a_scope_leaves_have_its_line() {
    let mut slab = EpochSlab::new();
    let current = slab.current();
    let inserted = slab.scope(|scope| {
        // Its own values go with it.
        scope.insert_key(0);
        (scope.try_insert_in(current, 1).unwrap(), here())
    });
    slab.advance_and_close();
    expect_site(&slab, inserted);
    assert_eq!(slab.pinned_by().count(), 1);
}

#[test]
fn buffers_have_the_line_that_made_them() {
    let bytes = EpochBytes::new();
    let current = bytes.current();
    let inserted = [
        (bytes.alloc(10).key(), here()),
        (bytes.try_alloc_in(current, 9).unwrap().key(), here()),
        (bytes.try_copy_in(bytes.current(), b"copy").unwrap(), here()),
    ];
    bytes.advance_and_close();
    for it in inserted {
        expect_site(&bytes, it);
    }
    let guard = bytes.enter();
    let inserted = (guard.try_alloc(10).unwrap().key(), here());
    drop(guard);
    expect_site(&bytes, inserted);
    assert_eq!(bytes.pinned_by().count(), 4);
}
