//! The errors of several families.

use core::error::Error;
use core::fmt;

use crate::raw::pages::options::{PageOption, Reason, Shortfall};

/// A value was not inserted, because no slot is free. Contains the value.
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
    /// The value that found no slot.
    pub T,
);

impl<T> FullError<T> {
    /// The value that found no slot.
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
        f.write_str(NO_ROOM)
    }
}

const NO_ROOM: &str = "there is no room for the value";

impl<T> Error for FullError<T> {}

/// The error of a bounded slab that has no free slot, as [`AllocError::Full`].
///
/// [`insert_with`](crate::BoundedSlab::insert_with) and
/// [`vacant_slot`](crate::BoundedSlab::vacant_slot) return it, which have no value to give back.
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

/// A container has no room, or memory for it is unavailable.
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
/// assert_eq!(error.to_string(), "no slot is free: all 2 are taken");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// All slots are taken, and there are never more.
    Full {
        /// How many slots there are.
        capacity: usize,
    },
    /// All slots are taken, and there are never more; some of their values were
    /// [retired](crate::sync::SendSlot::retire), and [`reclaim`](crate::TrackedSlab::reclaim)
    /// drops them.
    FullWithRetired {
        /// How many slots there are.
        capacity: usize,
        /// How many of their values are retired, or 16 if there are more: a failed insertion
        /// does not count all of them. [`retired_values`](crate::TrackedSlab::retired_values)
        /// does.
        retired: usize,
    },
    /// There was no room for a value, and it was dropped: what became of a [`FullError`]. It does
    /// not say how many slots there are.
    NotInserted,
    /// More slots were asked for than a key can name.
    TooManySlots {
        /// The slots asked for.
        requested: usize,
        /// The most a slab can have.
        limit: usize,
    },
    /// The slots asked for, times the bytes of one, exceed `isize::MAX`.
    TooManyBytes {
        /// The slots asked for.
        slots: usize,
        /// The bytes one slot takes.
        slot_bytes: usize,
    },
    /// The allocator refused.
    OutOfMemory {
        /// The bytes asked for in the request it refused.
        bytes: usize,
    },
    /// The container may not grow any more: it has reached its `max_bytes`, or is made for so much
    /// memory, as a [bounded](crate::bump::Arena::bounded) arena or a ring.
    Limit {
        /// The bytes of the request it refused; where memory comes by chunks of one size, as
        /// of byte arenas and epochs, those of the chunk.
        bytes: usize,
    },
    /// The system has the memory, but not as [`Pages`](crate::memory::Pages)
    /// require it.
    Refused {
        /// What was required.
        option: PageOption,
        /// Why it is unavailable.
        reason: Reason,
        /// The bytes it was required for.
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
            AllocError::Full { capacity: 0 } => f.write_str("no slot is free: there are none"),
            AllocError::Full { capacity: 1 } => f.write_str("no slot is free: the one is taken"),
            AllocError::Full { capacity } => {
                write!(f, "no slot is free: all {capacity} are taken")
            }
            AllocError::FullWithRetired { capacity, retired } => write!(
                f,
                "no slot is free: all {capacity} are taken, {retired} by retired values, which \
                 `reclaim` drops"
            ),
            AllocError::NotInserted => f.write_str(NO_ROOM),
            AllocError::TooManySlots { requested, limit } => write!(
                f,
                "a slab of {} was asked for, the limit is {limit}",
                Amount::slots(requested)
            ),
            AllocError::TooManyBytes { slots, slot_bytes } => write!(
                f,
                "{} of {} each: more than the limit of {}",
                Amount::slots(slots),
                Amount::bytes(slot_bytes),
                Amount::bytes(isize::MAX as usize)
            ),
            AllocError::OutOfMemory { bytes } => {
                write!(f, "the allocator refused {}", Amount::bytes(bytes))
            }
            AllocError::Limit { bytes } => {
                let bytes = Amount::bytes(bytes);
                write!(
                    f,
                    "the limit on the memory of the container has no room for {bytes}"
                )
            }
            AllocError::Refused {
                option,
                reason,
                bytes,
            } => {
                let shortfall = Shortfall { option, reason };
                let bytes = Amount::bytes(bytes);
                write!(f, "memory of {bytes} was refused: {shortfall}")
            }
        }
    }
}

impl Error for AllocError {}

/// Why a container could not be built with the options of its builder.
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
    /// What was required of its pages is not there on this platform, in this
    /// build of the crate, or with this source of memory.
    Unsupported(PageOption),
    /// The growth factor of size classes is not above 1, or not finite.
    Growth,
    /// It takes more than 64 size classes to come to the largest request.
    TooManyClasses {
        /// The bytes of the largest request.
        largest: usize,
    },
    /// A number is out of its range.
    OutOfRange {
        /// The builder's method that said it.
        option: &'static str,
        /// The number.
        given: usize,
        /// The least it may be.
        min: usize,
        /// The most it may be.
        max: usize,
    },
    /// A process has no more numbers for epoch slabs: 2³⁴ of them were made, or 2³² where
    /// pointers have 32 bits.
    TooManySlabs,
}

impl BuildError {
    /// # Errors
    ///
    /// If the number is out of that range.
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
            BuildError::Growth => f.write_str("growth is no finite factor above 1"),
            BuildError::TooManyClasses { largest } => write!(
                f,
                "it takes more than 64 size classes of this growth to come to {}",
                Amount::bytes(*largest)
            ),
            BuildError::OutOfRange {
                option,
                given,
                min,
                max,
            } => write!(f, "{option} is {given}, and may be {min} to {max}"),
            BuildError::TooManySlabs => f.write_str("too many epoch slabs were made"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Memory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<AllocError> for BuildError {
    fn from(error: AllocError) -> Self {
        BuildError::Memory(error)
    }
}

/// More bytes than there is room for: in a buffer, an entry of a ring, a size class.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let mut buf = ByteArena::new().alloc(3);
/// let error = buf.extend_from_slice(b"hello").unwrap_err();
/// assert_eq!((error.size, error.limit), (5, 3));
/// assert_eq!(error.to_string(), "5 bytes were asked for, the limit is 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeError {
    /// The bytes asked for.
    pub size: usize,
    /// The most bytes there is room for.
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
        let verb = if size == 1 { "was" } else { "were" };
        let size = Amount::bytes(size);
        write!(f, "{size} {verb} asked for, the limit is {limit}")
    }
}

impl Error for SizeError {}

/// Why a value is not accessible by its key.
///
/// [`Missing`](Self::Missing) says that there is no such value; the others are
/// conflicts: there is a value, and its present use excludes the requested one. A
/// method without `try_` panics on a conflict, so that a value that is in use is
/// never taken for one that is gone.
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
    /// There is no value at the key: it was removed, is being dropped, or was
    /// dropped by its owner and lives only as long as its last borrow.
    Missing,
    /// The value is borrowed, by a guard, an iterator's item or a
    /// [`SlotBox`](crate::SlotBox), in a way that excludes this access.
    Borrowed,
    /// The value has as many readers as can be counted: 2^27 - 1, in a shared slab 4,194,303, in
    /// an epoch slab 32,765.
    TooManyReaders,
    /// The value has a handle already, and there are never two.
    Owned,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessError::Missing => "there is no value",
            AccessError::Borrowed => "the value is borrowed",
            AccessError::TooManyReaders => "the value has too many readers",
            AccessError::Owned => "the value has a handle",
        })
    }
}

impl Error for AccessError {}

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
        let size = |size| SizeError { size, limit: 0 }.to_string();
        assert_eq!(size(1), "1 byte was asked for, the limit is 0");
        assert_eq!(size(2), "2 bytes were asked for, the limit is 0");
        let full = |capacity| AllocError::Full { capacity }.to_string();
        assert_eq!(full(0), "no slot is free: there are none");
        assert_eq!(full(1), "no slot is free: the one is taken");
        assert_eq!(full(2), "no slot is free: all 2 are taken");
        let refused = AllocError::OutOfMemory { bytes: 1 };
        assert_eq!(refused.to_string(), "the allocator refused 1 byte");
        let limit = AllocError::Limit { bytes: 1 };
        assert!(limit.to_string().ends_with("no room for 1 byte"));
        let (slots, slot_bytes) = (1, 7);
        let many = AllocError::TooManyBytes { slots, slot_bytes }.to_string();
        assert!(many.starts_with("1 slot of 7 bytes each: more than the limit of "));
        let requested = AllocError::TooManySlots {
            requested: 1,
            limit: 0,
        };
        assert!(requested.to_string().starts_with("a slab of 1 slot was"));
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
            "memory of 4096 bytes was refused: memory node 7: not supported here"
        );
        let unsupported = BuildError::Unsupported(option).to_string();
        assert_eq!(unsupported, "memory node 7: not supported here");
        let range = BuildError::OutOfRange {
            option: "entries",
            given: 0,
            min: 1,
            max: 9,
        };
        assert_eq!(range.to_string(), "entries is 0, and may be 1 to 9");
        assert!(BuildError::Growth.to_string().starts_with("growth "));
    }
}
