//! Random programs on every kind of slab, against a model that knows what there is. The
//! library's own tests run them too, and walk the invariants after each step.

use flatslab::epoch::{Contents, Epochs};
use proptest::prelude::*;

use crate::common::amount;
use crate::program::{Check, run};

struct Unchecked;

impl Check for Unchecked {
    fn check<C: Contents>(_: &Epochs<C>) {}
}

/// Random programs that begin with that kind of slab.
fn programs_on(kind: u8) {
    let length = 4..amount(600, 40);
    let config = ProptestConfig {
        cases: amount(60, 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<u8>(), length);
    proptest!(config, |(program in programs, limited in 0..2_u8)| {
        let mut program = program;
        // Under an interpreter the rings are short.
        let ring = amount(program[1], program[1] % 3);
        (program[0], program[1]) = (kind + 6 * limited, ring);
        run::<Unchecked>(&program);
    });
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn numbers_do_as_the_model() {
    programs_on(0);
}

#[test]
fn text_does_as_the_model() {
    programs_on(1);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn values_without_a_size_do_as_the_model() {
    programs_on(2);
}

#[test]
fn aligned_values_do_as_the_model() {
    programs_on(3);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_do_as_the_model() {
    programs_on(4);
    programs_on(5);
}
