//! Collections that are forgotten: their values keep their slots, and nothing else happens. The
//! values are taken back by their pointers at the end, so that nothing is leaked.

use std::mem::forget;

use flatslab::collections::{Links, List};
use flatslab::pool::Pool;
use flatslab::{AccessError, BoundedSlab, Key, KeySlab, linked, slab_adapter};
use intrusive_collections::{LinkedList, LinkedListLink};

use crate::common::Drops;
use crate::homes::{in_each_home, item};
use crate::source::Counted;

in_each_home! {
    fn values_of_a_forgotten_list_keep_their_slots() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        let mut pointers = Vec::new();
        for number in 0..3 {
            list.push_back(insert(&home, item(number, &drops)));
            pointers.push(list.back().get_ptr().unwrap());
        }
        forget(list);
        assert_eq!((home.len(), drops.count()), (3, 0));
        let other = insert(&home, item(3, &drops));
        for pointer in pointers {
            // SAFETY: the list gave up the box, and has the pointer from `into_raw`.
            let boxed = unsafe { home.box_from_raw(pointer.as_ptr()) };
            assert!(boxed.number < 3);
        }
        assert_eq!((home.len(), drops.count()), (1, 3));
        drop(other);
    }

    fn values_after_a_fast_clear_keep_their_slots_and_cannot_be_linked_again() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        list.push_back(insert(&home, item(7, &drops)));
        let pointer = list.back().get_ptr().unwrap();
        list.fast_clear();
        assert_eq!((home.len(), drops.count()), (1, 0));
        // SAFETY: the list gave up the box, and had the pointer from `into_raw`.
        let boxed = unsafe { home.box_from_raw(pointer.as_ptr()) };
        assert!(boxed.links.list.is_linked());
        assert!(crate::common::panics(|| list.push_back(boxed)));
        // The list made the box again before it panicked, and dropped it.
        assert_eq!((home.len(), drops.count(), list.is_empty()), (0, 1, true));
    }
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_slab_is_dropped_after_its_list_was_forgotten() {
    use crate::homes::bounded::*;
    let (home, drops) = (home(), Drops::new());
    let mut list = list(&home);
    let boxed = insert(&home, item(7, &drops));
    let key = flatslab::SlotBox::key(&boxed);
    list.push_back(boxed);
    forget(list);
    assert_eq!(home.try_get(key).err(), Some(AccessError::Borrowed));
    assert_eq!(home.capacity(), crate::homes::ROOM);
    drop::<BoundedSlab<_>>(home);
    assert_eq!(drops.count(), 0, "it is never dropped");
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_pool_is_reset_after_its_list_was_forgotten() {
    use crate::homes::pool::*;
    let (mut home, drops): (Pool<'_, _>, _) = (home(), Drops::new());
    let mut forgotten = list(&home);
    forgotten.push_back(insert(&home, item(7, &drops)));
    forget(forgotten);
    assert_eq!(home.len(), 1);
    home.reset();
    assert_eq!((home.len(), drops.count()), (0, 0));
    let mut list = list(&home);
    list.push_back(insert(&home, item(8, &drops)));
    drop(list);
    assert_eq!((home.len(), drops.count()), (0, 1));
}

struct Entry {
    link: LinkedListLink,
    number: u64,
}

slab_adapter!(Entries = &'static BoundedSlab<Entry>: Entry { link => LinkedListLink });

/// A cache that has its slab and its list. The slab is borrowed for `'static`, so it is never freed.
struct Leaking {
    slab: &'static BoundedSlab<Entry>,
    list: LinkedList<Entries>,
}

/// The same by keys.
struct Owning {
    slab: KeySlab<ByKey>,
    list: List,
}

struct ByKey {
    links: Links,
    number: u64,
}

linked!(impl Linked<Key, Key> for ByKey { links });

#[test]
fn a_struct_of_slab_and_list_leaks_the_slab_with_an_adapter_and_frees_it_with_keys() {
    let source = Counted::new();
    let slab = BoundedSlab::builder().capacity(100).pages(source.pages());
    let leaked = Box::into_raw(Box::new(slab.build()));
    // SAFETY: it is freed below, after everything that uses it; a cache would leak it.
    let slab = unsafe { &*leaked };
    let mut cache = Leaking {
        slab,
        list: LinkedList::new(Entries::new(slab)),
    };
    for number in 0..5 {
        let link = LinkedListLink::new();
        let entry = cache.slab.insert(Entry { link, number }).unwrap();
        cache.list.push_back(entry.into_box());
    }
    assert_eq!(cache.list.pop_front().unwrap().number, 0);
    let bytes = source.bytes();
    drop(cache);
    // The values and their slots are free, and the memory is not.
    assert_eq!((slab.len(), source.bytes()), (0, bytes));
    // SAFETY: nothing uses it any more.
    drop(unsafe { Box::from_raw(leaked) });
    source.expect_all_back();

    let source = Counted::new();
    let mut cache = Owning {
        slab: KeySlab::builder().pages(source.pages()).build(),
        list: List::new(Key::from_raw(0)),
    };
    for number in 0..5 {
        let links = Links::new();
        let value = ByKey { links, number };
        cache.list.push_back(&mut cache.slab, value).ok().unwrap();
    }
    assert_eq!(cache.list.pop_front(&mut cache.slab).unwrap().number, 0);
    assert!(cache.slab.len() == 4 && source.bytes() > 0);
    drop(cache);
    source.expect_all_back();
}
