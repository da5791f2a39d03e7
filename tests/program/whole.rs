//! A whole program, from the first slab to the last handle: with panics, with
//! handles and guards inside values, and with the last reference to the slab dropped
//! anywhere.

use std::rc::Rc;

use super::{Programs, Rules, Which, begin, empty_pool, end, outer_step, set_slab, slab};
use crate::common::Audit;
use crate::common::random::one_in;
use crate::common::values::unexpected_panics;

/// Whether the program of that number leaves a slab behind, or values that hold each
/// other.
pub fn leaks(number: u64) -> bool {
    number % 2 == 0 || number % 5 == 0
}

/// One program, from an empty slab to the last handle.
pub fn run<M: Programs>(number: u64, steps: u64) {
    let shared = || Which::<M>::Shared(Rc::new(M::with_room(5)));
    let is_static = number % 2 == 0;
    let rules = Rules {
        panics: number % 3 != 0,
        bags: true,
        cycles: number % 5 == 0,
        audits: number % 4 < 2,
        forgets: number % 7 == 0,
    };
    let first = if is_static {
        Which::Static(Box::leak(Box::new(M::with_room(5))))
    } else {
        shared()
    };
    begin(number, rules, first);
    for _ in 0..steps {
        outer_step::<M>(number);
        if slab::<M>().is_none() && one_in(8) {
            set_slab(Some(shared()));
        }
    }
    let last = set_slab::<M>(None);
    if one_in(2) || is_static {
        empty_pool::<M>();
    }
    match last {
        Some(Which::Static(slab)) => {
            slab.audit_but_stale();
            if slab.try_clear().is_ok() {
                if slab.is_empty() {
                    slab.audit();
                } else {
                    // What is doomed lives until the guard that it holds itself, and the stale
                    // handles that it has with it.
                    assert!(rules.cycles, "program {number}");
                    slab.audit_but_stale();
                }
            } else {
                assert!(rules.cycles, "program {number}: still borrowed");
            }
        }
        last => drop(last),
    }
    end::<M>(number);
    // A panic in a destructor may have been swallowed there.
    let panics = unexpected_panics();
    assert!(panics.is_empty(), "program {number}: {panics:#?}");
}
