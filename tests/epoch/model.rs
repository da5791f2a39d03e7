//! Random programs on every kind of slab, against a model that knows what there is. The
//! library's own tests run them too, and walk the invariants after each step.

use flatslab::epoch::{Contents, Epochs};
use proptest::prelude::*;

use crate::common::{amount, by_speed};
use crate::program::{Check, run};

struct Unchecked;

impl Check for Unchecked {
    fn check<C: Contents>(_: &Epochs<C>) {}
}

/// Random programs that begin with that kind of slab.
fn programs_on(kind: u8) {
    let length = 4..amount(600, 40);
    let config = ProptestConfig {
        cases: amount(by_speed(60, 25), 1),
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

/// Steps of a program: a value into the current epoch, or into the permanent one of two.
const INTO_CURRENT: &[u8] = &[0, 0, 0];
const INTO_PERMANENT: &[u8] = &[5, 1, 1, 0, 0];
/// The first value leaves, or the second one.
const REMOVE: [&[u8]; 2] = [&[10, 0], &[10, 1]];
/// The next request for memory is refused.
const REFUSE: &[u8] = &[28, 1];
/// A scope without values, or with one that is inserted by key.
const SCOPE: [&[u8]; 2] = [&[159, 0, 1, 1, 1, 1], &[159, 0, 0, 1, 1, 1]];

/// Runs these steps on numbers in chunks of one slot, with a ring of one and no limit.
fn run_steps(steps: &[&[u8]]) {
    let program = [&[[0, 0, 0, 3, 0, 0].as_slice()], steps].concat();
    run::<Unchecked>(&program.concat());
}

/// The model had all noted chunks idle at any refusal.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn chunks_stay_noted_where_the_record_of_an_epoch_is_refused() {
    run_steps(&[
        INTO_PERMANENT,
        INTO_PERMANENT,
        REMOVE[0],
        REMOVE[0],
        // Both are noted. The current epoch needs a record before its first chunk.
        REFUSE,
        INTO_CURRENT,
        INTO_PERMANENT,
        INTO_PERMANENT,
        // The order in which they were noted is not that in which they lose these.
        REMOVE[1],
        REMOVE[0],
        INTO_CURRENT,
        REFUSE,
        INTO_CURRENT,
    ]);
}

/// The model did not see that a value with a key was refused in a scope.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn chunks_are_noted_no_more_where_a_chunk_of_a_scope_is_refused() {
    run_steps(&[
        INTO_PERMANENT,
        INTO_PERMANENT,
        REMOVE[0],
        REMOVE[0],
        INTO_PERMANENT,
        INTO_PERMANENT,
        // The first scope leaves a spare record for the second one.
        SCOPE[0],
        REFUSE,
        SCOPE[1],
        REMOVE[1],
        REMOVE[0],
        INTO_CURRENT,
        REFUSE,
        INTO_CURRENT,
    ]);
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
#[cfg_attr(each_run, ignore = "weekly")]
fn aligned_values_do_as_the_model() {
    programs_on(3);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_do_as_the_model() {
    programs_on(4);
    programs_on(5);
}
