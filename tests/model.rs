//! Any sequence of operations against a plain model, over both slabs, with
//! guards held across operations, and the invariants walked after each. The
//! model is in `common/world.rs`.

mod common;
#[path = "common/world.rs"]
mod world;

use common::{Bounded, Growable, SPARE_CHUNKS};
use proptest::prelude::*;
use world::run;

fn any_bytes() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec(any::<(u8, u8)>(), 1..if cfg!(miri) { 40 } else { 120 })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 48 } else { 5000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_bounded_slab_does_as_the_model(bytes in any_bytes()) {
        run::<Bounded>(bytes, false);
    }

    #[test]
    fn the_growable_slab_does_as_the_model(bytes in any_bytes()) {
        run::<Growable>(bytes, true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        // A thread each.
        cases: if cfg!(miri) { 12 } else { 1000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_slab_that_builds_ahead_does_as_the_model(bytes in any_bytes(), spares in 1..4_usize) {
        SPARE_CHUNKS.set(spares);
        run::<Growable>(bytes, true);
        SPARE_CHUNKS.set(0);
    }
}
