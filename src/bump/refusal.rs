//! What a method does when a request is refused.

use core::convert::Infallible;

use crate::error::AllocError;
use crate::raw::memory;

/// What a method does when a request is refused. It is a type parameter so that the cold
/// call returns what its caller needs in a register, and the rest of the function needs no
/// stack.
pub(super) trait Refusal {
    type Error;

    /// The error of a function that was given a value.
    type Refused<T>;

    fn refused<T>(error: Self::Error, value: T) -> Self::Refused<T>;

    /// The error without the value, which is dropped.
    fn error<T>(refused: Self::Refused<T>) -> Self::Error;

    #[track_caller]
    fn refuse(error: AllocError) -> Self::Error;
}

/// Panics, or ends the program.
pub(super) struct Fails;

impl Refusal for Fails {
    type Error = Infallible;
    type Refused<T> = Infallible;

    fn refused<T>(error: Infallible, _: T) -> Infallible {
        error
    }

    fn error<T>(refused: Infallible) -> Infallible {
        refused
    }

    #[cold]
    fn refuse(error: AllocError) -> Infallible {
        memory::fail(error)
    }
}

/// Returns the value, without a reason.
pub(super) struct Refuses;

impl Refusal for Refuses {
    type Error = ();
    type Refused<T> = T;

    fn refused<T>((): (), value: T) -> T {
        value
    }

    fn error<T>(refused: T) {
        drop(refused);
    }

    #[cold]
    fn refuse(_: AllocError) {}
}

/// Returns the reason, and drops the value.
pub(super) struct Explains;

impl Refusal for Explains {
    type Error = AllocError;
    type Refused<T> = AllocError;

    fn refused<T>(error: AllocError, _: T) -> AllocError {
        error
    }

    fn error<T>(refused: AllocError) -> AllocError {
        refused
    }

    #[cold]
    fn refuse(error: AllocError) -> AllocError {
        error
    }
}

/// The value of a function that [`Fails`].
#[inline(always)]
pub(super) fn done<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
