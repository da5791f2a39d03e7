//! Destructors that panic, and destructors that use the slab.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{Drops, Hooked, panics};
use crate::homes::{hooked, in_each_home, item};

in_each_home! {
    fn a_destructor_that_panics_frees_its_slot_and_the_rest_is_forgotten() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        let mut pointers = Vec::new();
        for number in 0..4 {
            let hook = Hooked::new(move || assert_ne!(number, 1, "on purpose"));
            list.push_back(insert(&home, hooked(number, &drops, hook)));
            pointers.push(list.back().get_ptr().unwrap());
        }
        assert!(panics(|| list.clear()));
        assert!(list.is_empty());
        assert_eq!((drops.count(), home.len()), (2, 2));
        drop(list);
        for pointer in &pointers[2..] {
            // SAFETY: the list has forgotten it, and had the pointer from `into_raw`.
            drop(unsafe { home.box_from_raw(pointer.as_ptr()) });
        }
        assert_eq!((drops.count(), home.len()), (4, 0));
    }

    fn a_destructor_may_use_the_slab_and_other_lists() {
        let (home, drops) = (Rc::new(home()), Drops::new());
        let numbers = Rc::new(RefCell::new(Vec::new()));
        let mut outer = list(&home);
        for number in 0..3 {
            let (weak, drops_of_it) = (Rc::downgrade(&home), drops.clone());
            let seen = numbers.clone();
            let hook = Hooked::new(move || {
                let home = weak.upgrade().unwrap();
                let mut inner = list(&home);
                inner.push_back(insert(&home, item(10 + number, &drops_of_it)));
                seen.borrow_mut().push((number, home.len()));
            });
            outer.push_back(insert(&home, hooked(number, &drops, hook)));
        }
        drop(outer);
        assert_eq!(*numbers.borrow(), [(0, 4), (1, 3), (2, 2)]);
        assert_eq!((drops.count(), home.len()), (6, 0));
    }
}
