//! Values of another slab or pool.

use std::process::Command;

use crate::common::{Drops, panics};
use crate::homes::{bounded, growable, in_each_home, item, pool};

macro_rules! refused {
    ($($name:ident in $kind:ident)*) => {
        $(#[test]
        fn $name() {
            use $kind::*;
            let (one, two, drops) = (home(), home(), Drops::new());
            let (mut list, mut single) = (list(&one), single(&one));
            let foreign = || insert(&two, item(7, &drops));
            assert!(panics(|| list.push_back(foreign())));
            assert!(panics(|| single.push_front(foreign())));
            assert!(list.is_empty() && single.is_empty());
            list.push_back(insert(&one, item(1, &drops)));
            assert!(panics(|| list.front_mut().insert_after(foreign())));
            assert!(panics(|| list.front_mut().insert_before(foreign())));
            assert!(panics(|| list.front_mut().replace_with(foreign()).is_ok()));
            // Each of them was dropped, and its slot is free; the values are where they were.
            assert_eq!((drops.count(), two.len(), one.len()), (5, 0, 1));
            assert_eq!(list.iter().count(), 1);
            drop((list, single));
            assert_eq!((drops.count(), one.len()), (6, 0));
        })*
    };
}

refused! {
    a_box_of_another_bounded_slab_is_refused_and_dropped in bounded
    a_box_of_another_growable_slab_is_refused_and_dropped in growable
}

#[test]
fn boxes_of_several_pools_are_in_one_list_and_each_returns_to_its_own() {
    use pool::*;
    let (one, two, drops) = (home(), home(), Drops::new());
    let (mut list_of_both, mut other) = (list(&one), list(&two));
    list_of_both.push_back(insert(&one, item(1, &drops)));
    list_of_both.push_back(insert(&two, item(2, &drops)));
    other.push_back(insert(&two, item(3, &drops)));
    list_of_both.back_mut().splice_after(other);
    assert_eq!((one.len(), two.len()), (1, 2));
    drop(list_of_both.pop_front());
    assert_eq!((one.len(), two.len()), (0, 2));
    drop(list_of_both);
    assert_eq!((one.len(), two.len(), drops.count()), (0, 0, 3));
}

in_each_home! {
    /// A list that was emptied has nothing of a slab.
    fn an_empty_list_may_be_spliced_in_from_anywhere() {
        let (one, two, drops) = (home(), home(), Drops::new());
        let (mut first, mut second) = (list(&one), list(&two));
        first.push_back(insert(&one, item(1, &drops)));
        second.push_back(insert(&two, item(2, &drops)));
        drop(second.pop_back());
        first.front_mut().splice_after(second);
        assert_eq!((one.len(), two.len()), (1, 0));
    }
}

/// Says to the tests below that they are to abort.
const ABORTS: &str = "FLATSLAB_SPLICE_ABORTS";

/// Runs the test of this name in a process of its own, and returns what it printed once it was
/// killed.
fn abort_of(name: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--include-ignored", "--nocapture", name]);
    let output = command.env(ABORTS, "1").output().unwrap();
    assert!(!output.status.success(), "{name} did not abort");
    assert_ne!(output.status.code(), Some(101), "{name} unwound");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_value_of_another_slab_that_was_spliced_in_aborts_when_it_leaves() {
    for name in ["removed", "dropped", "in_a_growable_slab"] {
        let printed = abort_of(&format!("foreign::{name}"));
        assert!(printed.contains("was spliced into"), "{printed}");
        assert!(!printed.contains("not reached"), "{printed}");
    }
}

macro_rules! aborts {
    ($($name:ident in $kind:ident: |$list:ident| $leave:expr)*) => {
        $(#[test]
        #[ignore = "aborts, for the test above"]
        fn $name() {
            use $kind::*;
            if std::env::var_os(ABORTS).is_none() {
                return;
            }
            let (one, two, drops) = (home(), home(), Drops::new());
            let (mut $list, mut foreign) = (list(&one), list(&two));
            // The same key in both slabs.
            $list.push_back(insert(&one, item(1, &drops)));
            foreign.push_back(insert(&two, item(2, &drops)));
            $list.back_mut().splice_after(foreign);
            assert_eq!($list.iter().map(|item| item.number).sum::<u64>(), 3);
            drop($list.pop_front());
            assert_eq!((one.len(), two.len()), (0, 1));
            $leave;
            eprintln!("not reached");
        })*
    };
}

aborts! {
    removed in bounded: |list| drop(list.pop_front())
    dropped in bounded: |list| drop(list)
    in_a_growable_slab in growable: |list| list.clear()
}
