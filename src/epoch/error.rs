//! Errors of epoch slabs.

use core::error::Error;
use core::fmt;

use crate::error::AllocError;

/// Why a value was not inserted, with the value.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{EpochSlab, InsertError};
///
/// let slab = EpochSlab::new();
/// let first = slab.current();
/// slab.advance();
/// let error = slab.try_insert_in(first, "late".to_string()).unwrap_err();
/// assert!(matches!(error, InsertError::Closing(_)));
/// assert_eq!(error.into_inner(), "late");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError<T> {
    /// The epoch takes no more insertions: the slab has advanced.
    Closing(T),
    /// The epoch is closed.
    Closed(T),
    /// The epoch belongs to another slab.
    Foreign(T),
    /// No chunk could be allocated: the allocator refused, or a limit was reached.
    Full(T, AllocError),
}

/// Why an insertion is refused, without the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refusal {
    Closing,
    Closed,
    Foreign,
    Full(AllocError),
}

impl From<AllocError> for Refusal {
    fn from(error: AllocError) -> Self {
        Refusal::Full(error)
    }
}

impl Refusal {
    pub(super) fn with<T>(self, value: T) -> InsertError<T> {
        match self {
            Refusal::Closing => InsertError::Closing(value),
            Refusal::Closed => InsertError::Closed(value),
            Refusal::Foreign => InsertError::Foreign(value),
            Refusal::Full(error) => InsertError::Full(value, error),
        }
    }
}

impl<T> InsertError<T> {
    /// Returns the value.
    ///
    /// ```
    /// use flatslab::epoch::InsertError;
    ///
    /// assert_eq!(InsertError::Closing(7).into_inner(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        match self {
            InsertError::Closing(value)
            | InsertError::Closed(value)
            | InsertError::Foreign(value)
            | InsertError::Full(value, _) => value,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            InsertError::Closing(_) => "the epoch takes no more insertions",
            InsertError::Closed(_) => "the epoch is closed",
            InsertError::Foreign(_) => "the epoch belongs to another slab",
            InsertError::Full(..) => "there is no room for another chunk",
        }
    }
}

/// Prints the reason and `..` for any `T`, so that `unwrap` works for all of them.
impl<T> fmt::Debug for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Closing(_) => f.write_str("Closing(..)"),
            InsertError::Closed(_) => f.write_str("Closed(..)"),
            InsertError::Foreign(_) => f.write_str("Foreign(..)"),
            InsertError::Full(_, error) => write!(f, "Full(.., {error:?})"),
        }
    }
}

impl<T> fmt::Display for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl<T> Error for InsertError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            InsertError::Full(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Why an epoch was not closed.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{CloseError, EpochSlab};
///
/// let slab = EpochSlab::<u64>::new();
/// let epoch = slab.current();
/// assert_eq!(slab.close(epoch).unwrap_err(), CloseError::Current);
/// slab.advance();
/// assert!(slab.close(epoch).is_ok());
/// assert_eq!(slab.close(epoch).unwrap_err(), CloseError::Closed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseError {
    /// It is the current epoch: use
    /// [`advance_and_close`](super::Epochs::advance_and_close).
    Current,
    /// It is the permanent epoch, which is never closed.
    Permanent,
    /// It was closed before.
    Closed,
    /// It belongs to another slab.
    Foreign,
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CloseError::Current => "the epoch is the current one: advance first",
            CloseError::Permanent => "the permanent epoch is never closed",
            CloseError::Closed => "the epoch was closed before",
            CloseError::Foreign => "the epoch belongs to another slab",
        })
    }
}

impl Error for CloseError {}

/// Why the values of an epoch were not dropped.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{ClearError, EpochSlab};
///
/// let slab = EpochSlab::new();
/// let key = slab.insert(7);
/// let guard = slab.get(key).unwrap();
/// assert_eq!(slab.try_clear_epoch(slab.current()), Err(ClearError::Borrowed(key)));
/// drop(guard);
/// assert_eq!(slab.try_clear_epoch(slab.current()), Ok(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClearError {
    /// The value at this key is borrowed; no value was dropped.
    Borrowed(super::EpochKey),
    /// The epoch belongs to another slab.
    Foreign,
}

impl fmt::Display for ClearError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClearError::Borrowed(key) => write!(f, "the value of {key:?} is borrowed"),
            ClearError::Foreign => f.write_str("the epoch belongs to another slab"),
        }
    }
}

impl Error for ClearError {}
