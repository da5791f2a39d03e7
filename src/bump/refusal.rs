//! What becomes of a request that is refused.

use core::convert::Infallible;

use crate::error::AllocError;
use crate::raw::memory;

/// What becomes of a request that is refused. A type, so that the call that may refuse
/// returns in a register what its caller needs, and the rest of the function needs no
/// stack.
pub(super) trait Refusal {
    type Error;

    /// The error of a call that was given a value.
    type Refused<T>;

    fn refused<T>(error: Self::Error, value: T) -> Self::Refused<T>;

    /// The error alone; a value is dropped.
    fn error<T>(refused: Self::Refused<T>) -> Self::Error;

    #[track_caller]
    fn refuse(error: AllocError) -> Self::Error;
}

/// The program ends, or panics.
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

/// The caller learns that, and not why; a value comes back.
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

/// The caller learns why; a value is dropped.
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
