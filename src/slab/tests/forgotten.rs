//! The states that only a forgotten guard leads to. `ci/asan.sh` knows by the
//! name of the module that this leaks.

use std::cell::RefCell;
use std::mem::forget;
use std::rc::Rc;

use flatslab::{BoundedSlab, Slot};

use super::table::D;
use crate::common::{Drops, Hooked, panics};

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_slot_of_a_doomed_value_may_go_during_slab_drop() {
    let ways: [fn(Slot<Hooked>); 4] = [
        drop,
        |slot| {
            slot.leak();
        },
        |slot| assert!(panics(|| slot.into_inner())),
        |slot| assert!(slot.try_into_inner().is_err()),
    ];
    for way in ways {
        for exclusive in [false, true] {
            let slab = BoundedSlab::with_capacity(2);
            let slot = slab.insert(Hooked::plain()).unwrap();
            if exclusive {
                forget(slot.get_mut());
            } else {
                forget(slot.get());
            }
            let shelf = Rc::new(RefCell::new(Some(slot)));
            let drops = Drops::new();
            let (inner, done) = (shelf.clone(), drops.value(0));
            let hooked = Hooked::new(move || {
                let slot = inner.take().unwrap();
                assert_ne!(slot.state_bits() & D, 0, "doomed");
                way(slot);
                drop(done);
            });
            slab.insert(hooked).unwrap().leak();
            drop(slab);
            assert_eq!(drops.count(), 1);
        }
    }
}
