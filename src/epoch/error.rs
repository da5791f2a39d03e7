//! Errors of epoch slabs.

use core::error::Error;
use core::fmt;

use super::EpochKey;
use crate::error::{AllocError, SizeError};
use crate::raw::memory;

/// The reason why a value was not inserted, with the value, or why a buffer was not allocated.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{EpochBytes, EpochSlab, InsertError};
///
/// let slab = EpochSlab::new();
/// let first = slab.current();
/// slab.advance();
/// let error = slab.try_insert_in(first, "late".to_string()).unwrap_err();
/// assert!(matches!(error, InsertError::Closing(_)));
/// assert_eq!(error.into_inner(), "late");
///
/// let bytes = EpochBytes::new();
/// let error = bytes.try_alloc_in(bytes.current(), 1 << 20).unwrap_err();
/// assert!(matches!(error, InsertError::TooLarge((), error) if error.limit == 64 << 10));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError<T = ()> {
    /// The epoch takes no more insertions: the slab has advanced.
    Closing(T),
    /// The epoch is closed.
    Closed(T),
    /// The epoch belongs to another slab.
    Foreign(T),
    /// The bytes exceed the [largest](super::EpochBytes::builder) size class. Only for buffers.
    TooLarge(T, SizeError),
    /// No chunk could be allocated: the allocator refused, or a limit was reached.
    Full(T, AllocError),
}

/// The reason without the value.
pub(super) type Refusal = InsertError<()>;

impl From<AllocError> for Refusal {
    fn from(error: AllocError) -> Self {
        InsertError::Full((), error)
    }
}

impl Refusal {
    pub(super) fn with<T>(self, value: T) -> InsertError<T> {
        match self {
            InsertError::Closing(()) => InsertError::Closing(value),
            InsertError::Closed(()) => InsertError::Closed(value),
            InsertError::Foreign(()) => InsertError::Foreign(value),
            InsertError::TooLarge((), error) => InsertError::TooLarge(value, error),
            InsertError::Full((), error) => InsertError::Full(value, error),
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
            | InsertError::TooLarge(value, _)
            | InsertError::Full(value, _) => value,
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
            InsertError::TooLarge(_, error) => write!(f, "TooLarge(.., {error:?})"),
            InsertError::Full(_, error) => write!(f, "Full(.., {error:?})"),
        }
    }
}

impl<T> fmt::Display for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Closing(_) => "epoch is closing and takes no more insertions",
            InsertError::Closed(_) => "epoch is closed",
            InsertError::Foreign(_) => "epoch belongs to another slab",
            InsertError::TooLarge(_, error) => return error.fmt(f),
            InsertError::Full(..) => "epoch has no vacant slot, and no memory for another chunk",
        })
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

/// Aborts if the allocator has refused, and panics otherwise.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn no_room<T>(operation: &str, error: InsertError<T>) -> ! {
    match error {
        InsertError::Full(_, error) => memory::fail(error),
        error => panic!("{operation} was refused: {error}"),
    }
}

/// The reason why an epoch was not closed or entered, or its values were not dropped.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{EpochError, EpochSlab};
///
/// let slab = EpochSlab::new();
/// let epoch = slab.current();
/// assert_eq!(slab.close(epoch).unwrap_err(), EpochError::Current);
///
/// let key = slab.insert(7);
/// let guard = slab.get(key).unwrap();
/// assert_eq!(slab.try_clear_epoch(epoch), Err(EpochError::Borrowed(key)));
/// drop(guard);
/// assert_eq!(slab.try_clear_epoch(epoch), Ok(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EpochError {
    /// The epoch is the current one; use [`advance_and_close`](super::Epochs::advance_and_close).
    Current,
    /// The epoch is the permanent one, which is never closed.
    Permanent,
    /// The epoch was closed before.
    Closed,
    /// The epoch is in the ring; only others can be [entered](super::Epochs::within).
    InRing,
    /// A call runs [within](super::Epochs::within) the epoch.
    Entered,
    /// The epoch belongs to another slab.
    Foreign,
    /// The value at this key is borrowed; no value was dropped.
    Borrowed(EpochKey),
}

impl fmt::Display for EpochError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EpochError::Current => "epoch is the current one: call `advance` first",
            EpochError::Permanent => "permanent epoch cannot be closed",
            EpochError::Closed => "epoch is already closed",
            EpochError::InRing => "an epoch of the ring cannot be entered",
            EpochError::Entered => "a call within the epoch is still running",
            EpochError::Foreign => "epoch belongs to another slab",
            EpochError::Borrowed(key) => return write!(f, "value at {key:?} is borrowed"),
        })
    }
}

impl Error for EpochError {}
