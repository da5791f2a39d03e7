//! Random programs on one thread, against a model that knows what there is.

use proptest::prelude::*;

use crate::common::amount;
use crate::program::{KINDS, run};

#[test]
fn what_crosses_threads_does_as_the_model() {
    let length = 4..amount(400, 25);
    let config = ProptestConfig {
        cases: amount(500, 3),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<u8>(), length);
    proptest!(config, |(kind in 0..KINDS, program in programs)| {
        let mut program = program;
        program[0] = kind;
        run(&program);
    });
}
