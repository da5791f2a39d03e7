//! The errors of several families.

use core::error::Error;
use core::fmt;

use crate::raw::pages::options::{PageOption, Reason, Shortfall};

/// The error of an insertion into a container that has no free slot. Contains the value.
///
/// Its short name is [`Full`](crate::Full): `Err(Full(value))` matches it and takes the value
/// back.
///
/// Returned by [`BoundedSlab::insert`](crate::BoundedSlab::insert) when every
/// slot is taken, and by [`Slab::try_insert`](crate::Slab::try_insert) when
/// the slab cannot grow.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, FullError};
///
/// let slab = BoundedSlab::with_capacity(0);
/// let full: FullError<String> = slab.insert("kept".to_string()).unwrap_err();
/// assert_eq!(full.into_inner(), "kept");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FullError<T>(
    /// The value that was not inserted.
    pub T,
);

impl<T> FullError<T> {
    /// Returns the value that was not inserted.
    ///
    /// ```
    /// assert_eq!(flatslab::FullError(7).into_inner(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Prints `FullError(..)` for any `T`, so that `unwrap` works for all of them.
impl<T> fmt::Debug for FullError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FullError(..)")
    }
}

impl<T> fmt::Display for FullError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("container is full: the value was not inserted")
    }
}

impl<T> Error for FullError<T> {}

/// The error of an insertion into a bounded slab that has no free slot; another name of
/// [`AllocError`].
///
/// [`insert_with`](crate::BoundedSlab::insert_with) and
/// [`vacant_slot`](crate::BoundedSlab::vacant_slot) return it, because they have no value to
/// return. A [`FullError`] converts into it.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, CapacityError, Slot};
///
/// fn two(slab: &BoundedSlab<u64>) -> Result<(Slot<u64>, Slot<u64>), CapacityError> {
///     Ok((slab.insert_with(|_| 7)?, slab.insert(8)?))   // `FullError` converts
/// }
///
/// assert_eq!(two(&BoundedSlab::with_capacity(0)).unwrap_err().capacity(), Some(0));
/// assert_eq!(two(&BoundedSlab::with_capacity(1)).unwrap_err(), CapacityError::NotInserted);
/// assert!(two(&BoundedSlab::with_capacity(2)).is_ok());
/// ```
pub type CapacityError = AllocError;

/// The error of a container that has no room, or for which memory is unavailable.
///
/// # Examples
///
/// ```
/// use flatslab::{AllocError, BoundedSlab};
///
/// let error = BoundedSlab::<u64>::try_with_capacity(usize::MAX).unwrap_err();
/// assert!(matches!(error, AllocError::TooManySlots { requested: usize::MAX, .. }));
///
/// let slab = BoundedSlab::<u64>::with_capacity(2);
/// let (_a, _b) = (slab.vacant_slot().unwrap(), slab.vacant_slot().unwrap());
/// let error = slab.vacant_slot().unwrap_err();
/// assert_eq!(error, AllocError::Full { capacity: 2 });
/// assert_eq!(error.to_string(), "slab is full (capacity 2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// All slots of a bounded container are occupied.
    Full {
        /// The number of slots.
        capacity: usize,
    },
    /// All slots of a bounded slab are occupied, some of them by
    /// [retired](crate::sync::SendSlot::retire) values, which
    /// [`reclaim`](crate::TrackedSlab::reclaim) drops.
    FullWithRetired {
        /// The number of slots.
        capacity: usize,
        /// The number of retired values, or 16 if there are more: a failed insertion stops
        /// counting there. [`retired_values`](crate::TrackedSlab::retired_values) counts all of
        /// them.
        retired: usize,
    },
    /// A [`FullError`] was converted into this error, and its value was dropped. The capacity of
    /// the container is not known.
    NotInserted,
    /// The requested capacity exceeds the number of slots that keys can tell apart.
    TooManySlots {
        /// The requested number of slots.
        requested: usize,
        /// The largest possible number of slots.
        limit: usize,
    },
    /// The requested number of slots times the size of a slot exceeds `isize::MAX`.
    TooManyBytes {
        /// The requested number of slots.
        slots: usize,
        /// The bytes of a slot.
        slot_bytes: usize,
    },
    /// The allocator returned an error.
    OutOfMemory {
        /// The bytes of the failed allocation.
        bytes: usize,
    },
    /// The memory that the container needs would exceed its limit: its `max_bytes`, or the memory
    /// allocated at construction if it never grows, as a
    /// [bounded](crate::bump::Arena::bounded) arena or a ring.
    Limit {
        /// The bytes that the request needs. Where memory is allocated in chunks of one size, as in
        /// byte arenas and epoch slabs, the bytes of a chunk.
        bytes: usize,
        /// The most bytes that the container may have, its metadata included.
        limit: usize,
    },
    /// A required option of [`Pages`](crate::memory::Pages) is unavailable for this memory.
    Refused {
        /// The required option.
        option: PageOption,
        /// Why it is unavailable.
        reason: Reason,
        /// The bytes that were to be allocated with it.
        bytes: usize,
    },
}

impl AllocError {
    /// Returns the number of slots, if all of them are taken.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::with_capacity(0);
    /// assert_eq!(slab.vacant_slot().unwrap_err().capacity(), Some(0));
    /// ```
    #[must_use]
    pub const fn capacity(&self) -> Option<usize> {
        match *self {
            AllocError::Full { capacity } | AllocError::FullWithRetired { capacity, .. } => {
                Some(capacity)
            }
            _ => None,
        }
    }
}

/// Drops the value.
impl<T> From<FullError<T>> for AllocError {
    fn from(_: FullError<T>) -> Self {
        AllocError::NotInserted
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AllocError::Full { capacity } => write!(f, "slab is full (capacity {capacity})"),
            AllocError::FullWithRetired { capacity, retired } => write!(
                f,
                "slab is full (capacity {capacity}, retired values {retired}): \
                 `reclaim` drops retired values"
            ),
            AllocError::NotInserted => {
                f.write_str("container is full: the value was not inserted, and was dropped")
            }
            AllocError::TooManySlots { requested, limit } => write!(
                f,
                "capacity must be at most {}, but is {requested}",
                Amount::slots(limit)
            ),
            AllocError::TooManyBytes { slots, slot_bytes } => {
                let verb = if slots == 1 { "exceeds" } else { "exceed" };
                write!(
                    f,
                    "{} of {} {verb} the limit of {}",
                    Amount::slots(slots),
                    Amount::bytes(slot_bytes),
                    Amount::bytes(isize::MAX as usize)
                )
            }
            AllocError::OutOfMemory { bytes } => {
                write!(f, "memory allocation of {} failed", Amount::bytes(bytes))
            }
            AllocError::Limit { bytes, limit } => write!(
                f,
                "memory limit of {} has no room for {} more",
                Amount::bytes(limit),
                Amount::bytes(bytes)
            ),
            AllocError::Refused {
                option,
                reason,
                bytes,
            } => {
                let shortfall = Shortfall { option, reason };
                let bytes = Amount::bytes(bytes);
                write!(f, "cannot allocate {bytes} with {shortfall}")
            }
        }
    }
}

impl Error for AllocError {}

/// The reason why a container could not be built with the options of its builder.
///
/// # Examples
///
/// ```
/// use flatslab::{AllocError, BoundedSlab, BuildError};
///
/// let error = BoundedSlab::<u64>::builder().capacity(usize::MAX).try_build().unwrap_err();
/// assert!(matches!(error, BuildError::Memory(AllocError::TooManySlots { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The memory is unavailable.
    Memory(AllocError),
    /// A required page option does not exist on this platform, in this build of the crate, or
    /// for this memory source.
    Unsupported(PageOption),
    /// The growth factor of size classes is not finite, or not greater than 1.
    Growth,
    /// More than 64 size classes would be needed for the largest request.
    TooManyClasses {
        /// The bytes of the largest request.
        largest: usize,
    },
    /// A number is out of its range.
    OutOfRange {
        /// The name of the builder's method that set the number.
        option: &'static str,
        /// The number.
        given: usize,
        /// The smallest possible number.
        min: usize,
        /// The largest possible number.
        max: usize,
    },
    /// The process has created 2³⁴ epoch slabs, or 2³² where pointers have 32 bits, and cannot
    /// identify another one.
    TooManySlabs,
}

/// The most epoch slabs that a process creates: the number of each is in its keys, beside the 30
/// bits of a chunk's index.
pub(crate) const MAX_EPOCH_SLABS: usize = (u64::MAX >> 30) as usize - 1;

impl BuildError {
    /// # Errors
    ///
    /// If the number is out of its range.
    #[cfg(feature = "alloc")]
    pub(crate) fn in_range(
        option: &'static str,
        given: usize,
        min: usize,
        max: usize,
    ) -> Result<(), Self> {
        if (min..=max).contains(&given) {
            Ok(())
        } else {
            Err(BuildError::OutOfRange {
                option,
                given,
                min,
                max,
            })
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Memory(error) => error.fmt(f),
            BuildError::Unsupported(option) => {
                let reason = Reason::Unsupported;
                let option = *option;
                Shortfall { option, reason }.fmt(f)
            }
            BuildError::Growth => f.write_str("growth must be finite and greater than 1"),
            BuildError::TooManyClasses { largest } => write!(
                f,
                "size classes must be at most 64, but this growth needs more to reach {}",
                Amount::bytes(*largest)
            ),
            BuildError::OutOfRange {
                option,
                given,
                min,
                max,
            } => match (min, max) {
                (_, &usize::MAX) => write!(f, "{option} must be at least {min}, but is {given}"),
                (0, _) => write!(f, "{option} must be at most {max}, but is {given}"),
                _ => write!(
                    f,
                    "{option} must be between {min} and {max}, but is {given}"
                ),
            },
            BuildError::TooManySlabs => write!(
                f,
                "too many epoch slabs were created by this process (limit {MAX_EPOCH_SLABS})"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` writes the error itself, so the next cause is its own.
            BuildError::Memory(error) => error.source(),
            _ => None,
        }
    }
}

impl From<AllocError> for BuildError {
    fn from(error: AllocError) -> Self {
        BuildError::Memory(error)
    }
}

/// The error of a request, a buffer or an entry of a ring that is larger than its limit.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let mut buf = ByteArena::new().alloc(3);
/// let error = buf.extend_from_slice(b"hello").unwrap_err();
/// assert_eq!((error.size, error.limit), (5, 3));
/// assert_eq!(error.to_string(), "size must be at most 3 bytes, but is 5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeError {
    /// The size in bytes.
    pub size: usize,
    /// The largest possible size in bytes.
    pub limit: usize,
}

impl SizeError {
    #[cfg(feature = "alloc")]
    pub(crate) const fn new(size: usize, limit: usize) -> Self {
        SizeError { size, limit }
    }
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SizeError { size, limit } = *self;
        let limit = Amount::bytes(limit);
        write!(f, "size must be at most {limit}, but is {size}")
    }
}

impl Error for SizeError {}

/// The reason why a value is not accessible by its key.
///
/// [`Missing`](Self::Missing) means that there is no such value. The others are conflicts: the
/// value exists, and its present use excludes the requested one. A method without `try_` panics
/// on a conflict, so that a value in use is never mistaken for a missing one.
///
/// # Examples
///
/// ```
/// use flatslab::{AccessError, Slab};
///
/// let slab = Slab::new();
/// let key = slab.insert_key(7);
/// let reader = slab.get(key).unwrap();
/// assert_eq!(slab.try_get_mut(key).unwrap_err(), AccessError::Borrowed);
/// drop(reader);
/// slab.remove_by_key(key);
/// assert_eq!(slab.try_get_mut(key).unwrap_err(), AccessError::Missing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessError {
    /// No value has this key: it was removed, is being dropped, or was dropped by its owner while
    /// it was borrowed and is dropped with its last borrow.
    Missing,
    /// The value is borrowed by a guard, an item of an iterator or a
    /// [`SlotBox`](crate::SlotBox), in a way that excludes this access.
    Borrowed,
    /// The value has as many readers as can be counted: 2^27 - 1; 4,194,303 in a shared slab;
    /// 32,765 in an epoch slab.
    TooManyReaders,
    /// The value already has a handle, and cannot have two.
    Owned,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessError::Missing => "no value has this key",
            AccessError::Borrowed => "value is already borrowed",
            AccessError::TooManyReaders => "value has too many readers",
            AccessError::Owned => "value already has a handle",
        })
    }
}

impl Error for AccessError {}

/// The reason why several values could not be borrowed at once.
///
/// # Examples
///
/// ```
/// use flatslab::{DisjointError, Key, KeySlab};
///
/// let mut slab = KeySlab::new();
/// let key = slab.insert(7);
/// let error = slab.get_disjoint_mut([key, Key::NONE]).unwrap_err();
/// assert_eq!(error, DisjointError::Missing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisjointError {
    /// No value has one of the keys.
    Missing,
    /// Two of the keys refer to the same value.
    Overlapping,
}

impl fmt::Display for DisjointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DisjointError::Missing => "no value has one of the keys",
            DisjointError::Overlapping => "two of the keys refer to the same value",
        })
    }
}

impl Error for DisjointError {}

/// A number of things, in words: `1 byte`, `2 bytes`.
pub(crate) struct Amount(usize, &'static str);

impl Amount {
    pub(crate) fn bytes(number: usize) -> Self {
        Amount(number, "byte")
    }

    pub(crate) fn slots(number: usize) -> Self {
        Amount(number, "slot")
    }

    pub(crate) fn values(number: usize) -> Self {
        Amount(number, "value")
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Amount(number, word) = self;
        let ending = if *number == 1 { "" } else { "s" };
        write!(f, "{number} {word}{ending}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        let bytes = |bytes| AllocError::OutOfMemory { bytes }.to_string();
        assert_eq!(bytes(1), "memory allocation of 1 byte failed");
        assert_eq!(bytes(2), "memory allocation of 2 bytes failed");
        let many = |slots| {
            let slot_bytes = 7;
            AllocError::TooManyBytes { slots, slot_bytes }.to_string()
        };
        assert!(many(1).starts_with("1 slot of 7 bytes exceeds the limit of "));
        assert!(many(2).starts_with("2 slots of 7 bytes exceed the limit of "));
    }

    #[test]
    fn what_is_refused_is_named() {
        let option = PageOption::Node(7);
        let (reason, bytes) = (Reason::Unsupported, 4096);
        let refused = AllocError::Refused {
            option,
            reason,
            bytes,
        };
        assert_eq!(
            refused.to_string(),
            "cannot allocate 4096 bytes with memory node 7: not supported by this platform, build \
             or memory source"
        );
        let unsupported = BuildError::Unsupported(option).to_string();
        assert!(unsupported.starts_with("memory node 7: not supported by "));
        let (option, given) = ("entries", 10);
        let range = |min, max| {
            let range = BuildError::OutOfRange {
                option,
                given,
                min,
                max,
            };
            range.to_string()
        };
        assert_eq!(range(1, 9), "entries must be between 1 and 9, but is 10");
        assert_eq!(range(0, 9), "entries must be at most 9, but is 10");
        assert_eq!(
            range(11, usize::MAX),
            "entries must be at least 11, but is 10"
        );
    }
}
