//! Borrows of values: how many there can be, and what they hold up.

use flatslab::AccessError;
use flatslab::epoch::{EpochBytes, EpochError, EpochKey, EpochSlab, Ref, RefMut};

use crate::common::{Drops, panics};

const MOST: usize = 32_765;

#[test]
#[cfg_attr(
    miri,
    ignore = "it remembers all readers; the words are tested on their own"
)]
fn readers_have_a_limit() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let mut readers: Vec<Ref<'_, i32>> = (0..MOST).map(|_| slab.get(key).unwrap()).collect();
    assert_eq!(slab.try_get(key).err(), Some(AccessError::TooManyReaders));
    assert!(panics(|| slab.get(key)));
    assert!(panics(|| Ref::clone(&readers[0])));
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Borrowed));
    assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    assert!(slab.contains_key(key));
    readers.pop();
    readers.push(Ref::clone(&readers[0]));
    assert!(readers.iter().all(|it| **it == 7));
    drop(readers);
    assert_eq!(slab.take(key), Some(7));
}

#[test]
fn readers_and_a_writer_exclude_each_other() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let (one, two) = (slab.get(key), slab.get(key));
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Borrowed));
    drop(one);
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Borrowed));
    drop(two);
    let mut writer = slab.get_mut(key).unwrap();
    *writer += 1;
    assert_eq!(slab.try_get(key).err(), Some(AccessError::Borrowed));
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Borrowed));
    assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    drop(writer);
    assert_eq!(slab.take(key), Some(8));
}

#[test]
fn a_borrow_of_a_part_is_one_of_the_whole() {
    let slab = EpochSlab::new();
    let key = slab.insert(("seven".to_string(), [1, 2, 3]));
    let part = Ref::map(slab.get(key).unwrap(), |it| &it.1[1..]);
    let along = Ref::clone(&part);
    drop(part);
    assert_eq!(
        (&*along, format!("{along:?}")),
        (&[2, 3][..], "[2, 3]".into())
    );
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Borrowed));
    drop(along);
    let mut part = RefMut::map(slab.get_mut(key).unwrap(), |it| &mut it.1[1..]);
    part[1] = 9;
    assert_eq!(slab.try_get(key).err(), Some(AccessError::Borrowed));
    drop(part);
    // A closure that panics ends the borrow.
    assert!(panics(|| Ref::map(slab.get(key).unwrap(), |_| -> &u8 {
        panic!("in a map")
    })));
    assert!(panics(|| {
        RefMut::map(slab.get_mut(key).unwrap(), |_| -> &mut u8 {
            panic!("in a map")
        })
    }));
    assert_eq!(slab.take(key), Some(("seven".to_string(), [1, 2, 9])));
}

#[test]
fn an_epoch_with_a_borrowed_value_is_not_cleared() {
    let slab = EpochSlab::builder().chunk_capacity(2).build();
    let drops = Drops::new();
    let epoch = slab.current();
    let keys: Vec<_> = (0..5)
        .map(|number| slab.insert(drops.value(number)))
        .collect();
    slab.advance();
    for key in &keys {
        let reader = slab.get(*key);
        assert_eq!(slab.try_clear_epoch(epoch), Err(EpochError::Borrowed(*key)));
        drop(reader);
        let writer = slab.get_mut(*key);
        assert_eq!(slab.try_clear_epoch(epoch), Err(EpochError::Borrowed(*key)));
        drop(writer);
    }
    assert_eq!((drops.count(), slab.stats().live), (0, 5));
    assert_eq!(slab.try_clear_epoch(epoch), Ok(5));
    assert_eq!(drops.count(), 5);
}

#[test]
fn values_stay_where_they_are_under_a_guard() {
    let slab = EpochSlab::<[u64; 4]>::builder()
        .chunk_capacity(2)
        .epochs(1)
        .build();
    let key = slab.insert([7; 4]);
    let mut guard = slab.get_mut(key).unwrap();
    let before = std::ptr::from_ref(&*guard);
    for number in 0..10 {
        slab.insert([number; 4]);
        slab.advance_and_close();
        slab.shrink_to_fit();
        assert_eq!((*guard, std::ptr::from_ref(&*guard)), ([7; 4], before));
    }
    guard[0] = 8;
    drop(guard);
    assert_eq!(slab.take(key), Some([8, 7, 7, 7]));
}

#[test]
fn a_forgotten_guard_holds_its_value_until_the_slab_is_gone() {
    let drops = Drops::new();
    let mut slab = EpochSlab::builder().chunk_capacity(2).build();
    let epoch = slab.current();
    let keys: Vec<_> = (0..4)
        .map(|number| slab.insert(drops.value(number)))
        .collect();
    std::mem::forget(slab.get(keys[0]));
    std::mem::forget(slab.get_mut(keys[2]));
    let (_, report) = slab.advance_and_close();
    assert_eq!(report.pinned, 2);
    let error = slab.try_clear_epoch(epoch).unwrap_err();
    let borrowed = [keys[0], keys[2]].map(EpochError::Borrowed);
    assert!(borrowed.contains(&error));
    assert_eq!(slab.get(keys[0]).unwrap().number, 0);
    assert!(slab.try_get(keys[2]).is_err() && slab.try_take(keys[0]).is_err());
    drop((slab.take(keys[1]), slab.take(keys[3])));
    // Those in a scope do not.
    slab.scope(|scope| {
        let key = scope.insert_key(drops.value(5));
        std::mem::forget(scope.get(key));
        let written = scope.insert_key(drops.value(6));
        std::mem::forget(scope.get_mut(written));
    });
    assert_eq!((drops.count(), slab.stats().live), (4, 2));
    drop(slab);
    assert_eq!(drops.count(), 6);
}

#[test]
fn guards_of_values_may_outlive_those_of_epochs() {
    let slab = EpochSlab::new();
    let entered = slab.enter();
    let key = entered.insert("a value".to_string());
    let guard = slab.get(key).unwrap();
    let epoch = entered.epoch();
    drop(entered);
    assert_eq!(*guard, "a value");
    assert_eq!(slab.try_clear_epoch(epoch), Err(EpochError::Borrowed(key)));
    drop(guard);
    assert_eq!(slab.clear_epoch(epoch), 1);
    assert!(slab.epoch_stats(epoch).is_none());
}

/// The guard is an argument, whose reference a model of borrowing protects to the end of the
/// call, while the value goes.
fn end_and_remove(guard: Ref<'_, Box<u64>>, slab: &EpochSlab<Box<u64>>, key: EpochKey) -> u64 {
    let number = **guard;
    drop(guard);
    let removed = slab.take(key).unwrap();
    slab.insert(Box::new(number + 1));
    *removed
}

fn end_and_clear(mut guard: RefMut<'_, Box<u64>>, slab: &EpochSlab<Box<u64>>) -> usize {
    **guard += 1;
    drop(guard);
    let cleared = slab.clear_epoch(slab.current());
    slab.shrink_to_fit();
    cleared
}

#[test]
fn a_value_may_be_removed_in_the_call_that_ends_its_guard() {
    let slab = EpochSlab::builder().chunk_capacity(1).build();
    let key = slab.insert(Box::new(7));
    assert_eq!(end_and_remove(slab.get(key).unwrap(), &slab, key), 7);
    let keys: Vec<_> = slab.keys_in(slab.current()).collect();
    let guard = slab.get_mut(keys[0]).unwrap();
    assert_eq!(end_and_clear(guard, &slab), 1);
    assert_eq!(slab.stats().committed_bytes, 0);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_end_of_a_new_buffer_frees_nothing() {
    let bytes = EpochBytes::new();
    let mut buf = bytes.alloc(100);
    let key = buf.key();
    buf.fill(7);
    assert!(panics(|| bytes.get(key)) && panics(|| bytes.remove(key)));
    assert_eq!(bytes.try_get_mut(key).err(), Some(AccessError::Borrowed));
    assert!(panics(|| bytes.clear_epoch(bytes.current())));
    let text = format!("{buf:?}");
    assert!(text.contains("len: 100"), "{text}");
    drop(buf);
    assert_eq!(*bytes.get(key).unwrap(), [7; 100]);
    std::mem::forget(bytes.alloc(10));
    let error = bytes.try_clear_epoch(bytes.current());
    assert!(matches!(error, Err(EpochError::Borrowed(_))));
    assert!(bytes.remove(key));
}

/// A buffer is an argument, and freed in the call.
fn end_and_free(buf: flatslab::epoch::EpochBuf<'_>, bytes: &EpochBytes) -> usize {
    let (key, len) = (buf.key(), buf.len());
    drop(buf);
    assert!(bytes.remove(key));
    bytes.alloc(len).fill(9);
    len
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_buffer_may_be_freed_in_the_call_that_ends_it() {
    let bytes = EpochBytes::new();
    assert_eq!(end_and_free(bytes.alloc(64), &bytes), 64);
    assert_eq!(bytes.stats().live, 1);
}
