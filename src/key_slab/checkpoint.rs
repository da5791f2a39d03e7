//! `SlabGroup`: slabs that return to earlier states together, and `CheckpointSlab`, a group of one.
//!
//! A copy of the slabs costs their whole size in each frame, however little changes. Here each
//! method that changes a slot first enters the slot's state in an [undo log](super::undo_log), and
//! [`rewind`](SlabGroup::rewind) writes the states back, the last one first.
//!
//! Each slab has a log of its own, of its own type of values. A checkpoint is a mark in each of
//! them, so no slab can be rewound without the others. For the same reason a group lends its slabs
//! as [`Logged`], a type without a size: two such references cannot be swapped, and none can be
//! overwritten with another slab.

use core::error::Error;
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::iter::Iter;
use super::key::{Inside, SlabKey};
use super::logged::{CheckpointIterMut, Logged, LoggedSlab};
use super::part::Part;
use super::undo_log::Checkpoint;
use super::{Growable, PlainSlab, Storage};
use crate::error::AllocError;
use crate::key::Key;
use crate::raw::atomic::{Count, Ordering};
use crate::raw::memory;
use crate::raw::report::Report;

#[cfg(doc)]
use super::{BoundedKeySlab, KeySlab, SecondarySlab};

/// A slab of `Clone` values that can be rewound to earlier states. It logs the slots that change.
///
/// [`checkpoint`](Self::checkpoint) notes the present state, and [`rewind`](Self::rewind) returns
/// to it: values, keys, generations, and the order of free slots are what they were. So the same
/// calls return the same keys again, which lockstep and rollback netcode, a speculative simulation
/// or a search with backtracking require. A checkpoint copies nothing. The first change of a slot
/// after it copies the slot's previous value, so a frame costs what it changes, not what there is.
///
/// Checkpoints are those of a [`SlabGroup`], of which this is one with a single slab. Methods that
/// change values are those of a [`LoggedSlab`], through [`Deref`], under the names that they have
/// in a [`KeySlab`]. Methods that only read are those of the [`KeySlab`]: `get`, `iter`,
/// `contains`, `len`, `stats`, `slab[key]`.
///
/// The second parameter is the type of the keys, the third the kind of memory.
/// [`from`](SlabGroup::from) adds checkpoints to any slab, for example to a [`BoundedKeySlab`], or
/// to a slab whose memory was touched by [`prepare`](PlainSlab::prepare).
///
/// # Cost
///
/// - A slot takes 4 bytes more, for its *stamp*: a number that tells whether the slot was logged
///   since the last checkpoint.
/// - The first change of a slot after a checkpoint takes 8 bytes in the log, and the size of the
///   value if there was one. Further changes until the next checkpoint cost a comparison.
/// - The log keeps what is needed to return to the oldest checkpoint. It grows until
///   [`keep_last`](SlabGroup::keep_last) drops old checkpoints: a checkpoint is a number, and
///   dropping or forgetting it frees nothing. Without a checkpoint nothing is logged.
/// - The log grows as a `Vec` does. After
///   [`try_reserve_changes`](Logged::try_reserve_changes) the next changes do not allocate for it,
///   after [`try_reserve_checkpoints`](SlabGroup::try_reserve_checkpoints) the next checkpoints do
///   not. Its memory is not touched in advance, and stays until
///   [`shrink_to_fit`](SlabGroup::shrink_to_fit).
///
/// If more than about a third of the values change between two checkpoints, a copy of the slab
/// ([`clone_from`](Clone::clone_from)) takes less time. The guide's page
/// [`rollback`](crate::guide::rollback) compares the two, and has a simulation with a window of
/// frames.
///
/// # Keys of values that were undone
///
/// A rewind removes the values that were inserted after the checkpoint. The next insertions return
/// their keys again, with the same generations, so a replay returns the same keys. A program that
/// has kept such a key elsewhere finds the value of the replay with it. So rewind the program's
/// other data together with the slab. A [`SecondarySlab`] that is no part of the group is not
/// rewound: make a [`SlabGroup`] of both.
///
/// # Examples
///
/// ```
/// use flatslab::GenKey;
/// use flatslab::key_slab::CheckpointSlab;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Body { x: f32, speed: f32 }
///
/// let mut bodies: CheckpointSlab<Body, GenKey> = CheckpointSlab::with_key();
/// let key = bodies.insert(Body { x: 0.0, speed: 1.0 });
///
/// let confirmed = bodies.checkpoint();
/// bodies[key].x += bodies[key].speed; // predicted
/// let shot = bodies.insert(Body { x: 1.0, speed: 9.0 });
///
/// bodies.rewind(confirmed); // the input was another one
/// assert_eq!((bodies[key].x, bodies.len()), (0.0, 1));
/// assert_eq!(bodies.insert(Body { x: 0.0, speed: 9.0 }), shot); // the same key
/// ```
pub type CheckpointSlab<T, K = Key, S = Growable> = SlabGroup<PlainSlab<T, K, S>>;

/// Slabs that are changed together, and return to earlier states together: slabs and secondary
/// slabs of `Clone` values under one list of checkpoints.
///
/// [`checkpoint`](Self::checkpoint) notes the present state of all of them, and
/// [`rewind`](Self::rewind) returns to it. So an entity that is restored has the components that it
/// had, and components of an entity that is undone are undone too. A [`SecondarySlab`] that belongs
/// to a [`CheckpointSlab`] is not rewound with it: a restored value may have lost its entry, and a
/// new value may find the entry of another.
///
/// The parameter is a tuple of up to eight parts, each a [`KeySlab`], a [`BoundedKeySlab`], a
/// [`SecondarySlab`] or a tuple of such. [`from`](Self::from) takes the parts, with their values
/// and memory; [`parts`](Self::parts) and [`parts_mut`](Self::parts_mut) lend them. A
/// [`CheckpointSlab`] says what a slab with checkpoints costs; a checkpoint costs as much for each
/// part.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{SecondarySlab, SlabGroup};
/// use flatslab::{GenKey, KeySlab};
///
/// type Places = KeySlab<i32, GenKey>;
/// type Speeds = SecondarySlab<i32, GenKey>;
///
/// let mut world: SlabGroup<(Places, Speeds)> =
///     SlabGroup::from((KeySlab::with_key(), SecondarySlab::new()));
/// let (places, speeds) = world.parts_mut();
/// let ship = places.insert(0);
/// speeds.insert(places, ship, 3);
///
/// let confirmed = world.checkpoint();
/// let (places, speeds) = world.parts_mut();
/// for (_, place, speed) in speeds.join_mut(places) {
///     *place += *speed;
/// }
/// places.remove(ship);
/// speeds.prune(places);
///
/// world.rewind(confirmed);
/// let (places, speeds) = world.parts();
/// assert_eq!((places[ship], speeds[ship]), (0, 3));
/// ```
///
/// A part cannot be replaced, or swapped with that of another group:
///
/// ```compile_fail,E0277
/// # use flatslab::{KeySlab, key_slab::SlabGroup};
/// let mut group = SlabGroup::from((KeySlab::<u64>::new(), KeySlab::<u64>::new()));
/// let (one, two) = group.parts_mut();
/// core::mem::swap(one, two);
/// ```
pub struct SlabGroup<P: Part> {
    /// Each has as many marks, with the same numbers.
    parts: P::Logged,
    /// The number of the group, from 1 on; 0 before its first checkpoint.
    group: usize,
    /// The number of the next checkpoint.
    next: u64,
}

/// The error of [`try_rewind`](SlabGroup::try_rewind). The slab has not changed.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{CheckpointSlab, RewindError};
///
/// let mut slab = CheckpointSlab::<u64>::new();
/// let checkpoint = slab.checkpoint();
/// let error = CheckpointSlab::<u64>::new().try_rewind(checkpoint).unwrap_err();
/// assert_eq!(error, RewindError::OtherSlab);
/// slab.keep_last(0);
/// assert_eq!(slab.try_rewind(checkpoint), Err(RewindError::Dropped));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewindError {
    /// The checkpoint is of another slab.
    OtherSlab,
    /// The slab no longer has the checkpoint:
    /// [`keep_last`](SlabGroup::keep_last) dropped it, or the slab was rewound to an earlier
    /// one.
    Dropped,
}

impl fmt::Display for RewindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RewindError::OtherSlab => "checkpoint is of another slab",
            RewindError::Dropped => {
                "checkpoint was dropped, or the slab was rewound to an earlier one"
            }
        })
    }
}

impl Error for RewindError {}

/// How many groups have had a checkpoint. Where pointers have 32 bits the number can start again,
/// and a checkpoint can be mistaken for one of another group: no memory safety depends on it.
static GROUPS: Count = Count::new(0);

impl<T: Clone> SlabGroup<PlainSlab<T, Key, Growable>> {
    /// Creates an empty [`CheckpointSlab`], whose keys are [`Key`]s. It allocates at the first
    /// insertion.
    ///
    /// For other keys use [`with_key`](Self::with_key), for other memory
    /// [`from`](Self::from).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self::with_key()
    }

    /// Creates an empty [`CheckpointSlab`] with memory for `capacity` values and their stamps.
    ///
    /// The log has no memory: [`try_reserve_changes`](Logged::try_reserve_changes) and
    /// [`try_reserve_checkpoints`](Self::try_reserve_checkpoints) reserve it.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::with_capacity`](PlainSlab::with_capacity) does.
    ///
    /// ```
    /// let slab = flatslab::key_slab::CheckpointSlab::<u64>::with_capacity(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }
}

impl<T: Clone, K: SlabKey> SlabGroup<PlainSlab<T, K, Growable>> {
    /// Creates an empty [`CheckpointSlab`] whose keys are of a type of your choice. It allocates at
    /// the first insertion.
    ///
    /// ```
    /// use flatslab::{GenKey, key_slab::CheckpointSlab};
    ///
    /// let mut slab: CheckpointSlab<u64, GenKey> = CheckpointSlab::with_key();
    /// let key: GenKey = slab.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[must_use]
    pub const fn with_key() -> Self {
        SlabGroup {
            parts: Logged::empty(),
            group: 0,
            next: 0,
        }
    }

    /// Creates an empty [`CheckpointSlab`] like [`with_capacity`](Self::with_capacity), whose keys
    /// are of a type of your choice.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::with_capacity`](PlainSlab::with_capacity) does.
    ///
    /// ```
    /// use flatslab::{GenKey, key_slab::CheckpointSlab};
    ///
    /// let slab = CheckpointSlab::<u64, GenKey>::with_capacity_and_key(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        let mut slab = Self::from(PlainSlab::<T, K, Growable>::with_capacity_and_key(capacity));
        slab.reserve(capacity);
        slab
    }
}

/// Checkpoints.
impl<P: Part> SlabGroup<P> {
    /// # Errors
    ///
    /// If memory for the stamps is refused.
    pub(super) fn try_of(parts: P) -> Result<Self, AllocError> {
        Ok(SlabGroup {
            parts: parts.try_into_logged(Inside)?,
            group: 0,
            next: 0,
        })
    }

    /// The slabs with their logs.
    #[cfg(feature = "serde")]
    pub(super) fn logged(&self) -> &P::Logged {
        &self.parts
    }

    /// Notes the present state, so that [`rewind`](Self::rewind) can return to it. Copies no value.
    ///
    /// From now on the first change of each slot is logged. The checkpoint is kept until the group
    /// is rewound to an earlier one, or until [`keep_last`](Self::keep_last) drops it.
    ///
    /// If nothing was changed since the last checkpoint, in particular after a
    /// [`rewind`](Self::rewind), this returns the last checkpoint again. So a frame that is
    /// repeated may take its checkpoint as it did the first time. What is logged counts as changed:
    /// a value that was borrowed mutably, the slot of a vacant entry, all slots after `clear`.
    ///
    /// # Complexity
    ///
    /// Amortised O(parts); may allocate memory for the list of checkpoints.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses. [`try_checkpoint`](Self::try_checkpoint) returns an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// let checkpoint = slab.checkpoint();
    /// slab[key] = 8;
    /// slab.rewind(checkpoint);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[track_caller]
    #[doc(alias("snapshot", "savepoint", "save"))]
    pub fn checkpoint(&mut self) -> Checkpoint {
        match self.try_checkpoint() {
            Ok(checkpoint) => checkpoint,
            Err(error) => memory::fail(error),
        }
    }

    /// Notes the present state, like [`checkpoint`](Self::checkpoint); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if the allocator refuses; no value and no checkpoint has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// let checkpoint = slab.try_checkpoint()?;
    /// assert_eq!(slab.try_rewind(checkpoint), Ok(()));
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_checkpoint(&mut self) -> Result<Checkpoint, AllocError> {
        if let Some(last) = P::unchanged_since(&self.parts) {
            return Ok(last);
        }
        P::try_reserve_marks(&mut self.parts, 1)?;
        if self.group == 0 {
            // Relaxed: each number is taken once, and no other memory is published with it.
            self.group = GROUPS
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_add(1)
                .max(1);
        }
        let (group, number) = (self.group, self.next);
        self.next += 1;
        let checkpoint = Checkpoint { group, number };
        P::mark(&mut self.parts, checkpoint);
        Ok(checkpoint)
    }

    /// Reserves memory for at least `checkpoints` more checkpoints, which then do not allocate;
    /// never panics or aborts.
    ///
    /// A program that [keeps](Self::keep_last) the last `n` has `n + 1` for a moment. For the
    /// changes between them, reserve in the log of each slab:
    /// [`try_reserve_changes`](Logged::try_reserve_changes).
    ///
    /// # Complexity
    ///
    /// O(checkpoints) if the list grows, otherwise O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes would exceed `isize::MAX`, or if the allocator refuses; no
    /// value and no checkpoint has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.try_reserve_checkpoints(8 + 1)?;
    /// assert!(slab.try_reserve_checkpoints(usize::MAX).is_err());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_reserve_checkpoints(&mut self, checkpoints: usize) -> Result<(), AllocError> {
        P::try_reserve_marks(&mut self.parts, checkpoints)
    }

    /// Returns to the state at a checkpoint: values, keys, generations and the order of the free
    /// slots are what they were.
    ///
    /// The checkpoint stays, so the group can be rewound to it again; later checkpoints are
    /// dropped. The capacity is not part of the state, and does not change.
    ///
    /// Values that end are dropped after their slots are written. All changes are undone, in all parts,
    /// even if a destructor panics; if a second one does, the program aborts.
    ///
    /// # Complexity
    ///
    /// O(changes that were logged since the checkpoint + checkpoints since), and O(values inserted
    /// since) if values have destructors; does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the group does not have this checkpoint. [`try_rewind`](Self::try_rewind) returns
    /// an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// let checkpoint = slab.checkpoint();
    /// slab.remove(key);
    /// slab.rewind(checkpoint);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[track_caller]
    #[doc(alias("rollback", "undo", "restore", "load"))]
    pub fn rewind(&mut self, checkpoint: Checkpoint) {
        if let Err(error) = self.try_rewind(checkpoint) {
            panic!("rewind was refused: {error}");
        }
    }

    /// Returns to the state at a checkpoint, like [`rewind`](Self::rewind); never panics.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint is of another group, was dropped by
    /// [`keep_last`](Self::keep_last), or was taken after a checkpoint to which the group was
    /// rewound since. Nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::{CheckpointSlab, RewindError};
    ///
    /// let mut slab = CheckpointSlab::<u64>::new();
    /// let first = slab.checkpoint();
    /// slab.insert(7);
    /// let second = slab.checkpoint();
    /// assert_eq!(slab.try_rewind(first), Ok(()));
    /// assert_eq!(slab.try_rewind(second), Err(RewindError::Dropped));
    /// ```
    pub fn try_rewind(&mut self, checkpoint: Checkpoint) -> Result<(), RewindError> {
        let newer = self.newer_than(checkpoint)?;
        P::rewind(&mut self.parts, newer);
        Ok(())
    }

    /// Returns how many checkpoints are newer than this one.
    pub(super) fn newer_than(&self, checkpoint: Checkpoint) -> Result<usize, RewindError> {
        P::newer_than(&self.parts, checkpoint).ok_or(match checkpoint.group {
            group if group == self.group => RewindError::Dropped,
            _ => RewindError::OtherSlab,
        })
    }

    /// Returns what changed since a checkpoint: of each part each slot that may have changed, once,
    /// and the order of the free slots.
    ///
    /// A replica whose slabs are as these were at the checkpoint is as these are now after each has
    /// applied the difference of its part: values, keys, generations and the next keys. So a standby
    /// follows by messages whose size is that of the changes. With the feature `serde` a difference is
    /// serialized, and read as a [`Patch`](super::Patch), or as a tuple of such; without it,
    /// [`to_patch`](super::Changes::to_patch) makes one. [`apply`](PlainSlab::apply) is a method of a slab, and
    /// of a [`SecondarySlab`].
    ///
    /// A replica begins as a snapshot, or a clone, that was taken at a checkpoint. If the group is
    /// rewound to before a checkpoint from which a difference was sent, the replica is in a state that
    /// never was: it begins again, or it returns to the same earlier state, of which it has kept a
    /// clone, and gets the difference from there.
    ///
    /// # Complexity
    ///
    /// O(parts) and no allocation for the last checkpoint; for an earlier one O(c log c), and 4 bytes
    /// for each of the c changes since, from the global allocator.
    ///
    /// # Errors
    ///
    /// Returns an error where [`try_rewind`](Self::try_rewind) does.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, which it is not asked for the last checkpoint.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::GenKey;
    /// use flatslab::key_slab::CheckpointSlab;
    ///
    /// let mut orders: CheckpointSlab<u64, GenKey> = CheckpointSlab::with_key();
    /// let keys = [1, 2, 3].map(|order| orders.insert(order));
    /// let mut sent = orders.checkpoint();
    /// let mut standby = orders.parts().clone();
    ///
    /// orders.remove(keys[0]);
    /// orders[keys[1]] = 20;
    /// let changes = orders.changes_since(sent)?;
    /// assert_eq!(changes.iter().collect::<Vec<_>>(), [(0, None), (1, Some((keys[1], &20)))]);
    /// standby.apply(changes.to_patch()).unwrap();
    /// assert_eq!(&standby, orders.parts());
    ///
    /// // The next difference begins here.
    /// sent = orders.checkpoint();
    /// orders.keep_last(1);
    /// assert_eq!(orders.insert(4), standby.insert(4));
    /// # Ok::<(), flatslab::key_slab::RewindError>(())
    /// ```
    #[track_caller]
    pub fn changes_since(&self, checkpoint: Checkpoint) -> Result<P::Changes<'_>, RewindError> {
        let newer = self.newer_than(checkpoint)?;
        Ok(P::changes_of(&self.parts, newer))
    }

    /// Drops all checkpoints but the last `count`, with their part of the log.
    ///
    /// A simulation that may be rewound by up to `count` frames calls it in each frame. With 0, all
    /// checkpoints are dropped, and changes are not logged until the next one.
    ///
    /// # Complexity
    ///
    /// O(parts), however many are dropped, or O(changes that are dropped) if values have destructors.
    /// The memory is used again by the next changes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(0);
    /// for frame in 1..=100 {
    ///     slab.checkpoint();
    ///     slab.keep_last(8);
    ///     slab[key] = frame;
    /// }
    /// assert_eq!((slab.checkpoints(), slab.logged_changes()), (8, 8));
    /// ```
    #[doc(alias("commit", "truncate_front"))]
    pub fn keep_last(&mut self, count: usize) {
        P::keep_last(&mut self.parts, count);
    }

    /// Returns the number of checkpoints to which the group can be rewound. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// let first = slab.checkpoint();
    /// slab.insert(7);
    /// slab.checkpoint();
    /// slab.rewind(first);
    /// assert_eq!(slab.checkpoints(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        P::marks(&self.parts)
    }

    /// Returns the number of changes in the logs: one for each checkpoint and each slot that
    /// changed after it, before the next checkpoint. O(parts).
    ///
    /// An insertion into a slot that was never used before is not logged.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// slab.checkpoint();
    /// slab[key] = 8;
    /// slab[key] = 9;
    /// assert_eq!(slab.logged_changes(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn logged_changes(&self) -> usize {
        P::changes(&self.parts)
    }

    /// Returns the bytes of the logs: their changes, the lists of checkpoints and the stamps.
    /// O(parts).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// assert_eq!(slab.log_bytes(), 0);
    /// slab.try_reserve_changes(1000)?;
    /// assert!(slab.log_bytes() >= 1000 * (8 + 8));
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[must_use]
    pub fn log_bytes(&self) -> usize {
        P::bytes(&self.parts)
    }

    /// Frees the memory of the logs that they do not use. The slabs keep theirs.
    ///
    /// Where the memory of a log comes from a source that refuses a smaller block, it keeps its
    /// block.
    ///
    /// # Complexity
    ///
    /// O(changes that are logged + checkpoints + used slots).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// slab.checkpoint();
    /// slab.insert(7);
    /// slab.clear();
    /// slab.keep_last(0);
    /// slab.shrink_to_fit();
    /// assert_eq!(slab.log_bytes(), 0);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        P::shrink_to_fit(&mut self.parts);
    }

    /// Borrows the parts: a reference to the slab, or a tuple of references.
    ///
    /// ```
    /// use flatslab::{KeySlab, key_slab::SlabGroup};
    ///
    /// let group = SlabGroup::from((KeySlab::<u64>::new(), KeySlab::<f64>::new()));
    /// let (numbers, prices) = group.parts();
    /// assert!(numbers.is_empty() && prices.is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn parts(&self) -> P::Ref<'_> {
        P::parts(&self.parts)
    }

    /// Borrows the parts mutably: a [`LoggedSlab`] or a [`LoggedSecondary`](super::LoggedSecondary)
    /// for each slab. These have the methods that change values, and log what they change.
    ///
    /// ```
    /// use flatslab::{KeySlab, key_slab::SlabGroup};
    ///
    /// let mut group = SlabGroup::from((KeySlab::<u64>::new(), KeySlab::<f64>::new()));
    /// let (numbers, prices) = group.parts_mut();
    /// let key = numbers.insert(7);
    /// assert_eq!((numbers[key], prices.insert(0.5)), (7, key));
    /// ```
    #[inline]
    #[must_use]
    pub fn parts_mut(&mut self) -> P::Mut<'_> {
        P::parts_mut(&mut self.parts)
    }

    /// Returns clones of the parts, without checkpoints and logs: for a search that goes on from the
    /// present state alone. O(used slots); allocates like the `clone` of each slab.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `clone`.
    ///
    /// ```
    /// use flatslab::key_slab::CheckpointSlab;
    ///
    /// let mut slab = CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// slab.checkpoint();
    /// assert_eq!(slab.clone_parts()[key], 7);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn clone_parts(&self) -> P {
        P::clone_of(&self.parts)
    }

    /// Returns the parts, in their present state, and drops all checkpoints.
    ///
    /// Call methods that a [`Logged`] slab does not have on these parts, such as
    /// [`compact`](PlainSlab::compact) or [`detach`](PlainSlab::detach).
    /// [`from`](Self::from) takes them back.
    ///
    /// ```
    /// use flatslab::key_slab::CheckpointSlab;
    ///
    /// let mut slab = CheckpointSlab::new();
    /// slab.insert(7);
    /// let mut slab = slab.into_inner();
    /// slab.shrink_to_fit();
    /// assert_eq!(CheckpointSlab::from(slab).capacity(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> P {
        P::into_inner(self.parts)
    }
}

/// Memory of one slab.
impl<T: Clone, K: SlabKey, S: Storage> SlabGroup<PlainSlab<T, K, S>> {
    /// Returns a report about the memory of the slab and of its log.
    ///
    /// [`stats`](PlainSlab::stats) reports the slab alone.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.try_reserve_changes(1000)?;
    /// assert_eq!(slab.memory().bytes(), slab.log_bytes());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.parts().memory().and_bytes(self.log_bytes())
    }
}

/// Adds checkpoints to slabs, which keep their values, keys and memory. The memory of the log of a
/// slab is from the same [pages](crate::memory::Pages).
///
/// If generations [wrap](super::GenKey#how-long-generations-last), slots that were retired before
/// are free afterwards, as after [`clear`](PlainSlab::clear). O(used slots).
///
/// # Panics
///
/// Aborts if memory for the stamps is refused: 4 bytes for each used slot, and for each slot of a
/// slab with a fixed capacity.
impl<P: Part> From<P> for SlabGroup<P> {
    #[track_caller]
    fn from(parts: P) -> Self {
        Self::try_of(parts).unwrap_or_else(|error| memory::fail(error))
    }
}

impl<T: Clone, K: SlabKey, S: Storage> Deref for SlabGroup<PlainSlab<T, K, S>> {
    type Target = LoggedSlab<T, K, S>;

    #[inline]
    fn deref(&self) -> &LoggedSlab<T, K, S> {
        &self.parts
    }
}

impl<T: Clone, K: SlabKey, S: Storage> DerefMut for SlabGroup<PlainSlab<T, K, S>> {
    #[inline]
    fn deref_mut(&mut self) -> &mut LoggedSlab<T, K, S> {
        &mut self.parts
    }
}

/// Creates a group of empty slabs.
impl<P: Part + Default> Default for SlabGroup<P> {
    fn default() -> Self {
        Self::from(P::default())
    }
}

/// Clones the slabs and their checkpoints: the clone can be rewound to each state to which the group
/// can. Checkpoints that either takes later are its own.
///
/// [`clone_parts`](SlabGroup::clone_parts) clones the slabs alone.
///
/// # Complexity
///
/// O(used slots + changes that are logged + checkpoints); allocates from the same
/// [pages](crate::memory::Pages).
///
/// # Panics
///
/// Aborts if the allocator refuses, like the `clone` of a `Vec`.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::CheckpointSlab;
///
/// let mut world = CheckpointSlab::new();
/// let key = world.insert(1);
/// let checkpoint = world.checkpoint();
/// world[key] = 2;
///
/// let mut other = world.clone();
/// other.rewind(checkpoint);
/// assert_eq!((world[key], other[key]), (2, 1));
/// ```
impl<P: Part> Clone for SlabGroup<P> {
    #[track_caller]
    fn clone(&self) -> Self {
        SlabGroup {
            parts: self.parts.clone(),
            group: 0,
            next: 0,
        }
    }

    /// Drops the values and checkpoints of this group and clones those of `source`, into the present
    /// memory of the slabs if it suffices. If cloning a value panics, this group has no checkpoint,
    /// and its slabs are partly those of `source`, each slot as in one of the two.
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        /// Drops the checkpoints of a group whose parts may have different ones.
        struct Torn<'a, P: Part>(&'a mut SlabGroup<P>);

        impl<P: Part> Drop for Torn<'_, P> {
            fn drop(&mut self) {
                P::keep_last(&mut self.0.parts, 0);
            }
        }

        (self.group, self.next) = (0, 0);
        self.keep_last(0);
        let torn = Torn(self);
        P::clone_from(&mut torn.0.parts, &source.parts);
        core::mem::forget(torn);
    }
}

/// Compares the slabs: two groups are equal if they have equal values under the same keys, whatever
/// their checkpoints.
impl<P: Part<Logged: PartialEq>> PartialEq for SlabGroup<P> {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl<P: Part<Logged: Eq>> Eq for SlabGroup<P> {}

/// Prints what [`parts`](SlabGroup::parts) returns.
impl<P: Part> fmt::Debug for SlabGroup<P>
where
    for<'a> P::Ref<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().fmt(f)
    }
}

impl<'a, T: Clone, K: SlabKey, S: Storage> IntoIterator for &'a SlabGroup<PlainSlab<T, K, S>> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Logs each value that the iterator yields, like [`iter_mut`](LoggedSlab::iter_mut).
impl<'a, T: Clone, K: SlabKey, S: Storage> IntoIterator for &'a mut SlabGroup<PlainSlab<T, K, S>> {
    type Item = (K, &'a mut T);
    type IntoIter = CheckpointIterMut<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<T: Clone, K: SlabKey, S: Storage> SlabGroup<PlainSlab<T, K, S>> {
    /// Panics if an invariant of the slab or of its log does not hold.
    pub fn check(&self) {
        self.parts.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GenKey;
    use crate::common::amount;
    use crate::common::random::{random, seed};
    use crate::key_slab::{KeySlab, cell::RETIRED};
    use alloc::boxed::Box;
    use alloc::rc::Rc;

    /// A value that owns memory, and is counted while it lives.
    #[derive(Debug, PartialEq)]
    struct Counted(Box<u64>, Rc<()>);

    impl Clone for Counted {
        fn clone(&self) -> Self {
            Counted(self.0.clone(), self.1.clone())
        }
    }

    /// Random programs against clones. The stamp begins again after 100 checkpoints.
    fn run<K: SlabKey>(steps: usize, slab: CheckpointSlab<Counted, K>) {
        let mut slab = slab;
        slab.parts.log.begin_stamps_at(u32::MAX - 100);
        let below = |n: usize| random(n as u64) as usize;
        let mut states: Vec<(Checkpoint, KeySlab<Counted, K>)> = Vec::new();
        let living = Rc::new(());
        for step in 0..steps as u64 {
            let new = || Counted(Box::new(step), living.clone());
            let any = slab.keys().nth(below(slab.len().max(1)));
            // A key of a slot that may be free, or new.
            let some = K::new(below(slab.used + 3), below(4) as u32 * 2 + 1, Inside);
            match (below(16), any) {
                (0..=1, _) => {
                    let checkpoint = slab.checkpoint();
                    if states.last().is_none_or(|(last, _)| *last != checkpoint) {
                        states.push((checkpoint, slab.parts().clone()));
                    }
                    if below(4) == 0 {
                        slab = slab.clone();
                    }
                }
                (2, _) if !states.is_empty() => {
                    states.truncate(below(states.len()) + 1);
                    let (checkpoint, state) = states.last().unwrap();
                    slab.rewind(*checkpoint);
                    assert_eq!((&**slab, slab.used), (state, state.used));
                    assert_eq!(slab.cells.free(), state.cells.free());
                    assert_eq!(slab.retired, state.retired);
                }
                (3, _) => {
                    let kept = states.len().min(below(8));
                    states.drain(..states.len() - kept);
                    slab.keep_last(kept);
                }
                (4, _) if below(8) == 0 => slab.clear(),
                (4, _) if below(4) == 0 => slab.shrink_to_fit(),
                (5, _) => slab.retain(|_, value| *value.0 % 5 > 0),
                (6..=8, Some(key)) => assert!(slab.try_remove(key).is_ok()),
                (9..=10, Some(key)) => slab[key] = new(),
                (11, _) => drop(slab.insert_at(some, new())),
                (12, _) if below(4) == 0 => {
                    let _ = slab.try_extend((0..3).map(|_| (some, new())));
                }
                (12, _) => drop(slab.try_vacant_entry().unwrap()),
                (13, _) if below(2) == 0 => {
                    slab.values_mut()
                        .rev()
                        .take(3)
                        .for_each(|value| *value = new());
                }
                (13, _) => slab.values_mut().take(3).for_each(|value| *value = new()),
                _ => assert!(slab.try_insert(new()).is_ok()),
            }
            slab.check();
            assert_eq!(slab.checkpoints(), states.len());
            // A replica of an earlier state follows.
            if let Some((checkpoint, state)) = states.get(below(states.len().max(1) * 4)) {
                let patch = slab.changes_since(*checkpoint).unwrap().to_patch();
                let mut replica = state.clone();
                assert_eq!(replica.apply(patch), Ok(()));
                replica.check();
                assert_eq!((&replica, replica.used), (slab.parts(), slab.used));
                assert_eq!(replica.cells.free(), slab.cells.free());
                let counts = (replica.retired, replica.detached);
                assert_eq!(counts, (slab.retired, slab.detached));
            }
        }
        drop((slab, states));
        assert_eq!(Rc::strong_count(&living), 1);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn a_rewound_slab_is_the_clone_of_its_checkpoint() {
        let steps = amount(2_000, 60);
        for number in 0..amount(20, 2_u64) {
            seed(number);
            run::<Key>(steps, CheckpointSlab::with_key());
            run::<GenKey>(steps, CheckpointSlab::with_key());
            // Slots retire, or wrap, after a few values.
            for slab in [
                KeySlab::with_key(),
                KeySlab::builder_with_key().wrapping_generations().build(),
            ] {
                let mut slab: KeySlab<Counted, GenKey> = slab;
                slab.floor = RETIRED - 6;
                run(steps, slab.into());
            }
        }
    }
}
