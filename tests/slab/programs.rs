//! Random programs over both slabs: with panics, with handles and guards inside
//! values, and with the last reference to the slab dropped anywhere.

#![forbid(unsafe_code)]

use crate::common::values::expect_refusals;
use crate::common::{by_speed, over_both_slabs};
use crate::program::Programs;
use crate::program::whole::run;

fn no_program_drops_a_value_twice_or_reaches_a_dead_one<M: Programs>() {
    expect_refusals();
    if cfg!(miri) {
        // Those that leak neither slabs nor guards.
        for number in [1, 3, 7] {
            run::<M>(number, 50);
        }
    } else {
        for number in 1..=by_speed(1500, 500) {
            run::<M>(number, 400);
        }
    }
}

over_both_slabs!(no_program_drops_a_value_twice_or_reaches_a_dead_one);
