//! Each collection on each kind of memory: insertion, cursors, removal, clearing and dropping.

use flatslab::{AccessError, SlotBox};

use crate::common::Drops;
use crate::homes::{bounded, growable, in_each_home, item};

/// A word that a test writes to each value that it sees.
const SEEN: u64 = 99;

in_each_home! {
    fn a_list_returns_boxes_from_its_ends_and_its_middle() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        for number in 0..5 {
            list.push_back(insert(&home, item(number, &drops)));
        }
        for item in list.iter() {
            item.seen.set(SEEN);
        }
        // From the middle, and back in at another place.
        let mut cursor = list.front_mut();
        cursor.move_next();
        cursor.move_next();
        let mut removed = cursor.remove().unwrap();
        assert_eq!((removed.number, removed.seen.get(), home.len()), (2, SEEN, 5));
        assert_eq!(cursor.get().unwrap().number, 3);
        removed.number = 20;
        cursor.insert_before(removed);
        drop(list.pop_front().unwrap());
        drop(list.pop_back().unwrap());
        assert_eq!((drops.count(), home.len()), (2, 3));
        let numbers: Vec<_> = list.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [1, 20, 3]);
        // Another value in a value's place.
        let mut cursor = list.front_mut();
        let new = insert(&home, item(10, &drops));
        assert_eq!(cursor.replace_with(new).ok().unwrap().number, 1);
        assert_eq!((drops.count(), home.len()), (3, 3));
        list.clear();
        assert_eq!((drops.count(), home.len()), (6, 0));
        list.push_front(insert(&home, item(7, &drops)));
        drop(list);
        assert_eq!((drops.count(), home.len()), (7, 0));
    }

    /// As programs do that remember where a value is.
    fn a_value_is_removed_by_the_pointer_that_a_cursor_returned() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        let mut pointers = Vec::new();
        for number in 0..3 {
            list.push_back(insert(&home, item(number, &drops)));
            pointers.push(list.back().get_ptr().unwrap());
        }
        // References at the same time, of this value and others.
        assert_eq!(list.iter().map(|item| item.number).sum::<u64>(), 3);
        // SAFETY: the value is in the list.
        let removed = unsafe { list.cursor_mut_from_ptr(pointers[1].as_ptr()) }.remove();
        list.push_back(removed.unwrap());
        // SAFETY: the value is in the list again.
        let removed = unsafe { list.cursor_mut_from_ptr(pointers[1].as_ptr()) }.remove();
        assert_eq!(removed.unwrap().number, 1);
        assert_eq!((drops.count(), home.len()), (1, 2));
    }

    fn lists_are_taken_split_and_spliced() {
        let (home, drops) = (home(), Drops::new());
        let mut one = list(&home);
        for number in 0..4 {
            one.push_back(insert(&home, item(number, &drops)));
        }
        let mut two = one.front_mut().split_after();
        assert!(!one.is_empty() && !two.is_empty());
        let mut three = list(&home);
        three.push_back(insert(&home, item(4, &drops)));
        three.back_mut().splice_after(two.take());
        three.front_mut().splice_before(one.take());
        assert!(one.is_empty() && two.is_empty());
        drop((one, two));
        let numbers: Vec<_> = three.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [0, 4, 1, 2, 3]);
        let mut left = three.into_iter();
        assert_eq!(left.next_back().unwrap().number, 3);
        assert_eq!((drops.count(), home.len()), (1, 4));
        drop(left);
        assert_eq!((drops.count(), home.len()), (5, 0));
    }

    fn a_singly_linked_list_returns_boxes() {
        let (home, drops) = (home(), Drops::new());
        let mut single = single(&home);
        for number in 0..4 {
            single.push_front(insert(&home, item(number, &drops)));
        }
        let mut cursor = single.front_mut();
        assert_eq!(cursor.remove_next().unwrap().number, 2);
        cursor.insert_after(insert(&home, item(4, &drops)));
        let numbers: Vec<_> = single.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [3, 4, 1, 0]);
        assert_eq!(single.pop_front().unwrap().number, 3);
        let rest = single.front_mut().split_after();
        single.clear();
        assert_eq!((drops.count(), home.len()), (3, 2));
        drop(rest);
        assert_eq!((drops.count(), home.len()), (5, 0));
    }
}

/// The same for slabs of both kinds, which have keys.
macro_rules! keys {
    ($($name:ident in $kind:ident)*) => {
        $(#[test]
        fn $name() {
            use $kind::*;
            let (home, drops) = (home(), Drops::new());
            let mut list = list(&home);
            let boxed = insert(&home, item(7, &drops));
            let key = SlotBox::key(&boxed);
            list.push_back(boxed);
            let lent = list.front().get().unwrap();
            assert_eq!(home.try_get(key).err(), Some(AccessError::Borrowed));
            assert_eq!(home.try_get_mut(key).err(), Some(AccessError::Borrowed));
            assert!(home.try_remove_by_key(key).is_err());
            assert_eq!((lent.number, drops.count()), (7, 0));
            // As a slot its value is found by key again, and the box returns to its list.
            let slot = SlotBox::into_slot(list.pop_front().unwrap());
            assert_eq!((slot.key(), home.get(key).unwrap().number), (key, 7));
            list.push_back(slot.into_box());
            drop(list);
            assert!(!home.contains_key(key) && home.is_empty());
        })*
    };
}

keys! {
    access_by_key_is_refused_in_a_bounded_slab in bounded
    access_by_key_is_refused_in_a_growable_slab in growable
}
