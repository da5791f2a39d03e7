//! The steps of a program that have the slab for themselves.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use flatslab::epoch::{Epochs, Scope};

use super::subject::{Refused, Subject};
use super::{Input, State};

/// What a closure panics with on purpose.
struct OnPurpose;

/// Runs a scope, which may panic on purpose.
pub(super) fn run<S: Subject>(slab: &mut Epochs<S>, input: &mut Input<'_>, state: &mut State<S>) {
    let mut epoch = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        slab.try_scope(|scope| {
            epoch = Some(scope.epoch());
            within(scope, input, state, 0);
        })
    }));
    match result {
        Ok(Err(error)) => panic!("{error}"),
        Ok(Ok(())) => state.model.end_scope(epoch.unwrap()),
        Err(payload) if payload.is::<OnPurpose>() => state.model.end_scope(epoch.unwrap()),
        Err(payload) => resume_unwind(payload),
    }
}

fn within<S: Subject>(
    scope: &mut Scope<'_, S>,
    input: &mut Input<'_>,
    state: &mut State<S>,
    depth: usize,
) {
    let epoch = scope.epoch();
    state.model.open(epoch);
    state.epochs.push(epoch);
    let before = S::alive();
    let mut values = Vec::new();
    for _ in 0..input.below(8) {
        let (number, size) = (state.number(), S::size(input.number()));
        let class = state.model.class_of(size);
        let result = S::insert_in_scope(scope, number, size);
        match (result, class) {
            (Ok(value), Some(class)) => {
                state.model.insert_in_scope(epoch, class, false);
                values.push((value, number, size));
            }
            (Err(Refused::Full), Some(class)) => {
                state.model.expect_full(epoch, class);
            }
            (result, class) => assert_eq!((result.err(), class), (Some(Refused::TooLarge), None)),
        }
    }
    for (value, number, size) in &mut values {
        assert!(S::is(value, *number, *size));
        *number += 1;
        S::set(value, *number);
    }
    assert!((values.iter()).all(|(value, number, size)| S::is(value, *number, *size)));
    let mut live = values.len();
    let (has_keys, removes) = (input.number() % 2 == 0, input.number() % 2 == 0);
    if has_keys {
        let number = state.number();
        let result = S::use_keys_in_scope(scope, number, removes);
        match result {
            Some(Ok(())) => {
                state.model.insert_in_scope(epoch, 0, removes);
                live += 1;
            }
            Some(Err(error)) => {
                assert_eq!(error, Refused::Full);
                state.model.expect_full(epoch, 0);
            }
            None => {}
        }
    }
    if let Some((before, alive)) = before.zip(S::alive()) {
        assert_eq!(alive, before + live);
    }
    if depth < 3 && input.number() % 2 == 0 {
        let mut inner = None;
        scope.scope(|scope| {
            inner = Some(scope.epoch());
            within(scope, input, state, depth + 1);
        });
        state.model.end_scope(inner.expect("it began"));
    }
    if depth == 0 && input.number() % 4 == 0 {
        resume_unwind(Box::new(OnPurpose));
    }
}
