//! Random programs on two arenas, against a model that knows what is alive. The library's
//! own tests run them too, and walk the invariants after each step.

use proptest::prelude::*;

use crate::common::amount;
use crate::program::run;

#[test]
fn arenas_do_as_the_model() {
    let length = 1..amount(800, 50);
    let config = ProptestConfig {
        cases: amount(1000, 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<u8>(), length);
    proptest!(config, |(program in programs)| run(&program, |_| ()));
}
