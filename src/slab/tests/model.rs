//! Random programs against the model in `world/`, over both slabs, with guards
//! held across steps, and the invariants walked after each step.

use flatslab::{Bounded, BoundedSlab, Growable, Slab};
use proptest::prelude::*;

use super::world::{CHUNK, ROOM, run};
use crate::common::{amount, by_speed};

fn any_program() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec(any::<(u8, u8)>(), 1..if cfg!(miri) { 40 } else { 120 })
}

/// So many programs.
fn cases(native: u32, interpreted: u32) -> ProptestConfig {
    ProptestConfig {
        cases: amount(by_speed(native, native / 3), interpreted),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(5000, if cfg!(each_run) { 1 } else { 2 }))]

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn a_bounded_slab_does_as_the_model(program in any_program()) {
        run::<Bounded>(BoundedSlab::with_capacity(ROOM), program);
    }

    #[test]
    fn a_growable_slab_does_as_the_model(program in any_program()) {
        run::<Growable>(Slab::builder().chunk_capacity(CHUNK).build(), program);
    }
}

#[cfg(feature = "std")]
proptest! {
    // A thread each.
    #![proptest_config(cases(1000, 1))]

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn a_slab_that_builds_ahead_does_as_the_model(program in any_program(), spares in 1..4_usize) {
        let builder = Slab::builder().chunk_capacity(CHUNK).spare_chunks(spares);
        run::<Growable>(builder.build(), program);
    }
}
