//! Why a request of a buffer is refused.

use core::fmt;

use crate::error::{AllocError, SizeError};

/// Why a request got no buffer.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{ByteArena, RequestError};
///
/// let error = ByteArena::new().try_alloc(usize::MAX).unwrap_err();
/// assert!(matches!(error, RequestError::TooLarge(error) if error.limit == 1 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// More bytes were asked for than the largest buffer has.
    TooLarge(SizeError),
    /// No buffer of the class is free, nor a larger one, and there is no memory for more.
    Memory(AllocError),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::TooLarge(error) => error.fmt(f),
            RequestError::Memory(_) => {
                f.write_str("no buffer is free, and there is no memory for more")
            }
        }
    }
}

impl core::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // It is what `Display` writes.
            RequestError::TooLarge(_) => None,
            RequestError::Memory(error) => Some(error),
        }
    }
}
