//! What a method does when a request is refused.

use core::convert::Infallible;
use core::error::Error;
use core::fmt;

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

/// Why a fallible closure gave no value in an arena: there was no room, or the closure returned
/// an error. The name is `bumpalo`'s.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{AllocOrInitError, Arena};
///
/// let error = Arena::bounded(0).try_alloc_try_with(|| "7".parse::<u8>()).unwrap_err();
/// assert_eq!(error.to_string(), "the limit on the memory of the container has no room for 1 byte");
/// let error = Arena::new().try_alloc_try_with(|| "x".parse::<u8>()).unwrap_err();
/// assert_eq!(error.to_string(), "the value was not made: invalid digit found in string");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocOrInitError<E> {
    /// There is no room.
    Alloc(AllocError),
    /// The error of the closure.
    Init(E),
}

impl<E: fmt::Display> fmt::Display for AllocOrInitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocOrInitError::Alloc(error) => error.fmt(f),
            AllocOrInitError::Init(error) => write!(f, "the value was not made: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for AllocOrInitError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AllocOrInitError::Alloc(error) => Some(error),
            AllocOrInitError::Init(error) => Some(error),
        }
    }
}

impl<E> From<AllocError> for AllocOrInitError<E> {
    fn from(error: AllocError) -> Self {
        AllocOrInitError::Alloc(error)
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
