//! `CheckpointSlab`: a slab of `Copy` values that returns to earlier states of itself.
//!
//! A copy of the whole slab costs its whole size in each frame, however little changes. Here each
//! method that changes a slot first enters the slot's state in an [undo log](super::undo_log), and
//! [`rewind`](CheckpointSlab::rewind) writes the states back, the last one first.
//!
//! A change is logged *before* it is made, and all memory for it is reserved before that. A slot
//! may be logged and then not change: a rewind writes the same state back. So the log stays correct
//! if the allocator refuses, if the user's key type panics, or if an entry is dropped.

use core::error::Error;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::{Deref, Index, IndexMut};
use core::ptr::NonNull;

use super::cell::{Cell, RETIRED};
use super::iter::Walk;
use super::key::{Inside, SlabKey};
use super::undo_log::{Mark, UndoLog};
use super::{Growable, InKeys, Iter, PlainSlab, Storage, VacantEntry, missing};
use crate::error::{AllocError, DisjointError, FullError};
use crate::key::Key;
use crate::raw::memory;

#[cfg(doc)]
use super::{BoundedKeySlab, GenKey, KeySlab, SecondarySlab};

/// A slab of `Copy` values that can be rewound to earlier states. It logs the slots that change.
///
/// [`checkpoint`](Self::checkpoint) notes the present state, and [`rewind`](Self::rewind) returns
/// to it: values, keys, generations, and the order of free slots are what they were. So the same
/// calls return the same keys again, which lockstep and rollback netcode, a speculative simulation
/// or a search with backtracking require. A checkpoint copies nothing. The first change of a slot
/// after it copies the slot's previous value, so a frame costs what it changes, not what there is.
///
/// Methods that only read are those of a [`KeySlab`], through [`Deref`]: `get`, `iter`, `contains`,
/// `len`, `stats`, `slab[key]`. `clone` returns a copy without checkpoints. Methods that change
/// values are defined here, under the names that they have in a [`KeySlab`].
///
/// The second parameter is the type of the keys, the third the kind of memory.
/// [`from`](Self::from) adds checkpoints to any slab, for example to a [`BoundedKeySlab`], or to a
/// slab whose memory was touched by [`prepare`](PlainSlab::prepare).
///
/// # Cost
///
/// - A slot takes 4 bytes more, for its *stamp*: a number that tells whether the slot was logged
///   since the last checkpoint.
/// - The first change of a slot after a checkpoint takes 8 bytes in the log, and the size of the
///   value if there was one. Further changes until the next checkpoint cost a comparison.
/// - The log keeps what is needed to return to the oldest checkpoint. It grows until
///   [`keep_last`](Self::keep_last) drops old checkpoints: a checkpoint is a number, and dropping or
///   forgetting it frees nothing. Without a checkpoint nothing is logged.
/// - The log grows as a `Vec` does. After
///   [`try_reserve_changes`](Self::try_reserve_changes) the next changes do not allocate for it.
///   Its memory is not touched in advance.
///
/// If more than about a third of the values change between two checkpoints, a copy of the slab
/// ([`clone_from`](Clone::clone_from)) takes less time. The guide's page
/// [`snapshots`](crate::guide::snapshots) compares the two, and has a simulation with a window of
/// frames.
///
/// # Keys of values that were undone
///
/// A rewind removes the values that were inserted after the checkpoint. The next insertions return
/// their keys again, with the same generations, so a replay returns the same keys. A program that
/// has kept such a key elsewhere finds the value of the replay with it. So rewind the program's
/// other data together with the slab. A [`SecondarySlab`] is not rewound.
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
pub struct CheckpointSlab<T: Copy, K: SlabKey = Key, S: Storage = Growable> {
    slab: PlainSlab<T, K, S>,
    log: UndoLog<T>,
}

/// A state of a [`CheckpointSlab`], which [`rewind`](CheckpointSlab::rewind) returns to.
///
/// It is a number: dropping it does not change the slab.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{Checkpoint, CheckpointSlab};
///
/// let mut slab = CheckpointSlab::new();
/// let empty: Checkpoint = slab.checkpoint();
/// slab.insert(7);
/// slab.rewind(empty);
/// assert!(slab.is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of the slab, from 1 on.
    slab: usize,
    /// How many checkpoints the slab had before.
    number: u64,
}

/// The error of [`try_rewind`](CheckpointSlab::try_rewind). The slab has not changed.
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
    /// [`keep_last`](CheckpointSlab::keep_last) dropped it, or the slab was rewound to an earlier
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

impl<T: Copy> CheckpointSlab<T> {
    /// Creates an empty slab, whose keys are [`Key`]s. It allocates at the first insertion.
    ///
    /// For other keys use [`with_key`](CheckpointSlab::with_key), for other memory
    /// [`from`](CheckpointSlab::from).
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
}

impl<T: Copy, K: SlabKey> CheckpointSlab<T, K> {
    /// Creates an empty slab whose keys are of a type of your choice. It allocates at the first
    /// insertion.
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
        CheckpointSlab {
            slab: PlainSlab::with_key(),
            log: UndoLog::new(),
        }
    }

    /// Inserts a value into a free slot, and returns its key.
    ///
    /// # Complexity
    ///
    /// Amortised O(1), as for a [`KeySlab`]; the log may grow too.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::insert`](PlainSlab::insert) does, or if memory for the log
    /// is refused. [`try_insert`](Self::try_insert) returns the value instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let checkpoint = slab.checkpoint();
    /// let key = slab.insert(7);
    /// slab.rewind(checkpoint);
    /// assert!(!slab.contains(key));
    /// assert_eq!(slab.insert(8), key);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("insert_key", "emplace", "push", "alloc"))]
    pub fn insert(&mut self, value: T) -> K {
        self.log_next();
        self.slab.insert(value)
    }

    /// Reserves memory for at least `additional` more values, and for their stamps.
    ///
    /// # Complexity
    ///
    /// O(used slots) if the slab grows, otherwise O(1).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::reserve`](PlainSlab::reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.reserve(10_000);
    /// assert!(slab.free_slots() >= 10_000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for at least `additional` more values, and for their stamps, like
    /// [`reserve`](Self::reserve); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`reserve`](Self::reserve) panics, or if the allocator refuses; no
    /// value has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// assert!(slab.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.slab.try_reserve(additional)?;
        self.log.try_reserve_stamps(self.slab.capacity())
    }
}

/// Checkpoints.
impl<T: Copy, K: SlabKey, S: Storage> CheckpointSlab<T, K, S> {
    /// Notes the present state, so that [`rewind`](Self::rewind) can return to it. Copies no value.
    ///
    /// From now on the first change of each slot is logged. The slab keeps the checkpoint until it
    /// is rewound to an earlier one, or until [`keep_last`](Self::keep_last) drops it.
    ///
    /// # Complexity
    ///
    /// Amortised O(1); may allocate memory for the list of checkpoints.
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
    /// Returns an error if the allocator refuses; nothing has changed then.
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
        let (used, free) = (self.slab.used, self.slab.cells.len());
        let number = self.log.try_mark(used, free, self.slab.retired)?;
        Ok(Checkpoint {
            slab: self.log.slab(),
            number,
        })
    }

    /// Returns to the state at a checkpoint: values, keys, generations and the order of the free
    /// slots are what they were.
    ///
    /// The checkpoint stays, so the slab can be rewound to it again; later checkpoints are dropped.
    /// A replay from here needs no new checkpoint of this state: [`keep_last`](Self::keep_last)
    /// would count both. The capacity is not part of the state, and does not change.
    ///
    /// # Complexity
    ///
    /// O(changes that were logged since the checkpoint + checkpoints since); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the slab does not have this checkpoint. [`try_rewind`](Self::try_rewind) returns
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
    /// Returns an error if the checkpoint is of another slab, was dropped by
    /// [`keep_last`](Self::keep_last), or was taken after a checkpoint to which the slab was rewound
    /// since. Nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::{CheckpointSlab, RewindError};
    ///
    /// let mut slab = CheckpointSlab::<u64>::new();
    /// let first = slab.checkpoint();
    /// let second = slab.checkpoint();
    /// assert_eq!(slab.try_rewind(first), Ok(()));
    /// assert_eq!(slab.try_rewind(second), Err(RewindError::Dropped));
    /// ```
    pub fn try_rewind(&mut self, checkpoint: Checkpoint) -> Result<(), RewindError> {
        if checkpoint.slab != self.log.slab() {
            return Err(RewindError::OtherSlab);
        }
        if !self.log.has_mark(checkpoint.number) {
            return Err(RewindError::Dropped);
        }
        while let Some(mark) = self.log.last_mark() {
            self.undo(mark);
            if mark.number == checkpoint.number {
                break;
            }
            self.log.drop_last_mark();
        }
        self.log.begin_stamp();
        Ok(())
    }

    /// Undoes the changes since the last mark, which this is.
    ///
    /// In the other order: the slots that were free are pushed back as they were popped
    /// (`untouched-free`). No user code runs: values are `Copy`, and no key is made.
    fn undo(&mut self, mark: Mark) {
        let (slab, log) = (&mut self.slab, &mut self.log);
        slab.cells
            .truncate(mark.free as usize - log.popped_since(mark));
        let used = mark.used as usize;
        assert!(used <= slab.capacity(), "kept-capacity");
        // Only after `clear`. Each of them is in the log (`kept-capacity`).
        slab.create_up_to(used);
        slab.used = used;
        slab.retired = mark.retired;
        while let Some((index, version, value)) = log.pop_since(mark) {
            debug_assert!(index < used && (version % 2 == 1) == value.is_some());
            let vacant = version & !1;
            // SAFETY: the slot was used at the mark (`logged-once`), so its cell exists again; it is
            // vacant when it is filled, with an odd version. If it was free, it is not on the stack,
            // and there is room: that has only the free slots that the log does not have
            // (`untouched-free`) and those pushed here, and the log has it once.
            unsafe {
                let cell: NonNull<K::Cell<T>> = slab.place(index);
                if cell.as_ref().is_occupied() {
                    let _: T = K::Cell::vacate(cell, vacant);
                } else {
                    K::Cell::<T>::write_vacant(cell, vacant);
                }
                match value {
                    Some(value) => K::Cell::fill(cell, version, value),
                    None => slab.cells.push(index),
                }
            }
        }
    }

    /// Drops all checkpoints but the last `count`, with their part of the log.
    ///
    /// A simulation that may be rewound by up to `count` frames calls it in each frame. With 0, all
    /// checkpoints are dropped, and changes are not logged until the next one.
    ///
    /// # Complexity
    ///
    /// O(1), however many are dropped. The memory is used again by the next changes.
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
        self.log.keep_last(count);
    }

    /// Returns the number of checkpoints to which the slab can be rewound. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// let first = slab.checkpoint();
    /// slab.checkpoint();
    /// slab.rewind(first);
    /// assert_eq!(slab.checkpoints(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        self.log.marks()
    }

    /// Returns the number of changes in the log: one for each checkpoint and each slot that changed
    /// after it, before the next checkpoint. O(1).
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
        self.log.changes()
    }

    /// Returns the bytes of the log: its changes, the list of checkpoints and the stamps. O(1).
    ///
    /// [`memory`](PlainSlab::memory) and [`stats`](PlainSlab::stats) report the memory of the slab,
    /// which does not include the log.
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
        self.log.bytes()
    }

    /// Reserves memory in the log for at least `changes` more changes, which then do not allocate
    /// for it; never panics or aborts.
    ///
    /// Call it before the first frame, with the number of checkpoints that are kept times the
    /// number of slots that change between two of them. Insertions into new slots also need stamps,
    /// for which `reserve` makes room.
    ///
    /// # Complexity
    ///
    /// O(changes in the log) if the log grows, otherwise O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes would exceed `isize::MAX`, or if the allocator refuses; no
    /// value has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.try_reserve_changes(8 * 1000)?;
    /// assert!(slab.try_reserve_changes(usize::MAX).is_err());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_reserve_changes(&mut self, changes: usize) -> Result<(), AllocError> {
        self.log.try_reserve_changes(changes)
    }

    /// Returns the slab, in its present state, and drops all checkpoints.
    ///
    /// Call methods that this type does not have on that slab, such as
    /// [`compact`](PlainSlab::compact) or [`insert_at`](PlainSlab::insert_at).
    /// [`from`](Self::from) takes it back.
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
    pub fn into_inner(self) -> PlainSlab<T, K, S> {
        self.slab
    }
}

/// Changes.
impl<T: Copy, K: SlabKey, S: Storage> CheckpointSlab<T, K, S> {
    /// Logs the slot that the next insertion fills.
    #[inline(always)]
    #[track_caller]
    fn log_next(&mut self) {
        match self.slab.cells.top() {
            Some(index) if self.log.is_logged(index) => {}
            Some(index) => {
                // SAFETY: by `vacant-stack` a vacant cell.
                let version = unsafe { self.slab.place(index).as_ref().version() };
                self.log.log_first(index, version, None);
            }
            None => self.log.stamp_fresh(self.slab.used),
        }
    }

    /// Logs the slot that the next insertion fills, unless memory for it is refused.
    #[inline(always)]
    fn try_log_next(&mut self) -> Result<(), AllocError> {
        self.log.try_reserve_change(self.slab.used)?;
        self.log_next();
        Ok(())
    }

    /// Inserts a value into a free slot, and returns its key. Never panics or aborts.
    ///
    /// # Complexity
    ///
    /// Amortised O(1), as for a [`KeySlab`]; the log may grow too.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::from(BoundedKeySlab::with_capacity(1));
    /// let key = slab.try_insert(7).unwrap();
    /// assert_eq!(slab.try_insert(8).unwrap_err().into_inner(), 8);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[doc(alias("try_insert_key", "try_alloc"))]
    pub fn try_insert(&mut self, value: T) -> Result<K, FullError<T>> {
        match self.try_log_next() {
            Ok(()) => self.slab.try_insert(value),
            Err(_) => Err(FullError(value)),
        }
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its
    /// own key. Never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::<Key>::new();
    /// let entry = slab.try_vacant_entry()?;
    /// let key = entry.key();
    /// assert_eq!(*entry.insert(key), key);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[inline]
    pub fn try_vacant_entry(&mut self) -> Result<VacantEntry<'_, T, K, S>, AllocError> {
        self.try_log_next()?;
        self.slab.try_vacant_entry()
    }

    /// Removes the value with this key, returns it, and frees its slot.
    ///
    /// # Complexity
    ///
    /// O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key, where [`try_remove`](Self::try_remove) returns
    /// `None`. Aborts if memory for the log is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.remove(key), 7);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("free", "erase", "remove_by_key", "release", "pop"))]
    pub fn remove(&mut self, key: K) -> T {
        match self.try_remove(key) {
            Some(value) => value,
            None => missing(key),
        }
    }

    /// Removes the value with this key, returns it, and frees its slot. Returns `None` if there is
    /// no value with this key. O(1), unless the log grows.
    ///
    /// Aborts if memory for the log is refused.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_remove(key), Some(7));
    /// assert_eq!(slab.try_remove(key), None);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("try_remove_by_key", "take"))]
    pub fn try_remove(&mut self, key: K) -> Option<T> {
        let (index, version) = (key.index(), key.version());
        let cell = self.slab.find(index, version)?;
        // SAFETY: `find` says that the cell is occupied, and has this version.
        unsafe {
            self.log.log_value(index, version, cell.as_ref().value());
            Some(self.slab.vacate(index, version))
        }
    }

    /// Borrows the value with this key mutably, and logs its present state. Returns `None` if there
    /// is no value, like [`get`](PlainSlab::get).
    ///
    /// The value is logged even if it is not changed afterwards. To read it, use
    /// [`get`](PlainSlab::get).
    ///
    /// # Complexity
    ///
    /// O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused. It does not request any after
    /// [`try_reserve_changes`](Self::try_reserve_changes).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// if let Some(value) = slab.get_mut(key) {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let (index, version) = (key.index(), key.version());
        let mut cell = self.slab.find(index, version)?;
        // SAFETY: occupied, and borrowed as long as the slab is.
        unsafe {
            self.log.log_value(index, version, cell.as_ref().value());
            Some(cell.as_mut().value_mut())
        }
    }

    /// Borrows several values mutably at once, and logs the present state of each.
    ///
    /// # Complexity
    ///
    /// O(`N`²), unless the log grows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with one of the keys, or if two keys refer to the same
    /// value. Nothing is logged then.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let (a, b) = (slab.insert(1), slab.insert(2));
    /// let checkpoint = slab.checkpoint();
    /// let [one, two] = slab.get_disjoint_mut([a, b]).unwrap();
    /// core::mem::swap(one, two);
    /// assert_eq!((slab[a], slab[b]), (2, 1));
    /// slab.rewind(checkpoint);
    /// assert_eq!((slab[a], slab[b]), (1, 2));
    /// ```
    #[track_caller]
    #[doc(alias("get2_mut", "get_many_mut"))]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let mut places = [(0, 0); N];
        let mut cells = [NonNull::<K::Cell<T>>::dangling(); N];
        for (at, key) in keys.into_iter().enumerate() {
            let (index, version) = (key.index(), key.version());
            cells[at] = (self.slab.find(index, version)).ok_or(DisjointError::Missing)?;
            if places[..at].iter().any(|&(other, _)| other == index) {
                return Err(DisjointError::Overlapping);
            }
            places[at] = (index, version);
        }
        for (cell, (index, version)) in cells.iter().zip(places) {
            // SAFETY: occupied; no value is borrowed yet.
            let value = unsafe { cell.as_ref().value() };
            self.log.log_value(index, version, value);
        }
        // SAFETY: the cells are occupied, distinct because their indices are, and borrowed
        // as long as the slab is.
        Ok(cells.map(|mut cell| unsafe { cell.as_mut().value_mut() }))
    }

    /// Returns an iterator over mutable references to the values, with their keys, in the order of
    /// the slots. It logs each value that it yields.
    ///
    /// A loop over it that changes few of the values logs all of them: iterate over the slab, and
    /// borrow the few with [`get_mut`](Self::get_mut).
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration, and a copy of each value. The log may
    /// grow.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// slab.insert(7);
    /// slab.insert(8);
    /// slab.checkpoint();
    /// for (_key, value) in slab.iter_mut().take(1) {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab.logged_changes(), 1);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> CheckpointIterMut<'_, T, K> {
        CheckpointIterMut {
            walk: Walk::new(&self.slab),
            log: &mut self.log,
            keys: PhantomData,
        }
    }

    /// Returns an iterator over mutable references to the values, in the order of the slots. It logs
    /// each value that it yields, like [`iter_mut`](Self::iter_mut), and takes as long.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// slab.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> + FusedIterator {
        self.iter_mut().map(|(_key, value)| value)
    }

    /// Removes the values for which `keep` returns `false`, in the order of their slots.
    ///
    /// Unlike in [`retain`](PlainSlab::retain) of a [`KeySlab`], `keep` gets shared references, so
    /// only the removed values are logged. If `keep` panics, the values that were not visited yet
    /// stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value), and a copy of each removed value. The log may grow.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let (one, two) = (slab.insert(1), slab.insert(2));
    /// slab.retain(|_key, value| *value > 1);
    /// assert!(!slab.contains(one) && slab.contains(two));
    /// ```
    #[track_caller]
    pub fn retain<F>(&mut self, mut keep: F)
    where
        F: FnMut(K, &T) -> bool,
    {
        let mut walk = Walk::new(&self.slab);
        while let Some((index, cell)) = walk.next_cell() {
            // SAFETY: an occupied cell of this slab (`walk-left`), and its slot; `keep` cannot
            // reach the slab, and what is removed is what was visited.
            unsafe {
                let version = cell.as_ref().version();
                let key = K::new(index, version | 1, Inside);
                if !keep(key, cell.as_ref().value()) {
                    self.log.log_value(index, version, cell.as_ref().value());
                    self.slab.vacate(index, version);
                }
            }
        }
    }

    /// Removes all values, and keeps all memory. The next keys are those of a
    /// [cleared](PlainSlab::clear) [`KeySlab`].
    ///
    /// # Complexity
    ///
    /// O(used slots): each slot that was not logged since the last checkpoint is logged, with its
    /// value if it has one. The log may grow. Without a checkpoint nothing is logged, and the call
    /// takes as long as [`KeySlab::clear`](PlainSlab::clear).
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// let checkpoint = slab.checkpoint();
    /// slab.clear();
    /// slab.rewind(checkpoint);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[track_caller]
    pub fn clear(&mut self) {
        let (slab, log) = (&self.slab, &mut self.log);
        if log.marks() > 0 {
            // As insertions would pop them.
            for others in 0..slab.cells.len() {
                let Some(index) = slab.cells.top_but(others) else {
                    unreachable!("there are more")
                };
                if !log.is_logged(index) {
                    // SAFETY: by `vacant-stack` a vacant cell.
                    let version = unsafe { slab.place(index).as_ref().version() };
                    log.log_first(index, version, None);
                }
            }
            let mut walk = Walk::new(slab);
            while let Some((index, cell)) = walk.next_cell() {
                // SAFETY: an occupied cell of this slab (`walk-left`).
                let cell = unsafe { cell.as_ref() };
                // SAFETY: as above.
                log.log_value(index, cell.version(), unsafe { cell.value() });
            }
        }
        self.slab.clear();
    }
}

/// An iterator over mutable references to the values of a slab, with their keys, which logs each
/// value that it yields. Created by [`iter_mut`](CheckpointSlab::iter_mut).
///
/// ```
/// let mut slab = flatslab::key_slab::CheckpointSlab::new();
/// let key = slab.insert(3);
/// slab.iter_mut().for_each(|(_key, value)| *value += 1);
/// assert_eq!(slab[key], 4);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct CheckpointIterMut<'a, T: Copy, K: SlabKey = Key> {
    /// Over a slab that is borrowed mutably for `'a`.
    walk: Walk<T, K>,
    log: &'a mut UndoLog<T>,
    keys: PhantomData<&'a InKeys<K>>,
}

// SAFETY: it is the one borrow of the slab and of its log, and hands each value out once.
unsafe impl<T: Copy + Send, K: SlabKey> Send for CheckpointIterMut<'_, T, K> {}
// SAFETY: a shared reference to it gives access to no value.
unsafe impl<T: Copy + Sync, K: SlabKey> Sync for CheckpointIterMut<'_, T, K> {}

impl<'a, T: Copy, K: SlabKey> Iterator for CheckpointIterMut<'a, T, K> {
    type Item = (K, &'a mut T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (index, cell) = self.walk.next_cell()?;
        // SAFETY: occupied (`walk-left`), visited once, and borrowed as long as the slab is.
        unsafe {
            let version = cell.as_ref().version();
            self.log.log_value(index, version, cell.as_ref().value());
            let key = K::new(index, version | 1, Inside);
            Some((key, (&mut *cell.as_ptr()).value_mut()))
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.len(), Some(self.walk.len()))
    }
}

impl<T: Copy, K: SlabKey> ExactSizeIterator for CheckpointIterMut<'_, T, K> {}
impl<T: Copy, K: SlabKey> FusedIterator for CheckpointIterMut<'_, T, K> {}

/// Prints the number of remaining items.
impl<T: Copy, K: SlabKey> fmt::Debug for CheckpointIterMut<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointIterMut")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Adds checkpoints to a slab, which keeps its values, keys and memory. The memory of the log is
/// from the same [pages](crate::memory::Pages).
///
/// If generations [wrap](super::GenKey#how-long-generations-last), slots that were retired before
/// are free afterwards, as after [`clear`](PlainSlab::clear). O(used slots).
///
/// # Panics
///
/// Aborts if memory for the stamps is refused.
impl<T: Copy, K: SlabKey, S: Storage> From<PlainSlab<T, K, S>> for CheckpointSlab<T, K, S> {
    #[track_caller]
    fn from(mut slab: PlainSlab<T, K, S>) -> Self {
        if slab.wraps && slab.retired > 0 {
            slab.free_retired();
        }
        let mut log = UndoLog::new_in(slab.cells.source());
        if let Err(error) = log.try_add_stamps(slab.used) {
            memory::fail(error);
        }
        CheckpointSlab { slab, log }
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Frees the retired slots, whose generations wrap: so no slot changes in `clear` that has no
    /// value and is not on the stack.
    #[cold]
    fn free_retired(&mut self) {
        for index in 0..self.used {
            // SAFETY: by `used-cells` the cell exists. A vacant one of this version is not on the
            // stack (`vacant-stack`), and there is room for it.
            unsafe {
                let cell: NonNull<K::Cell<T>> = self.place(index);
                if cell.as_ref().version() == RETIRED {
                    K::Cell::<T>::write_vacant(cell, 0);
                    self.cells.push(index);
                }
            }
        }
        self.retired = 0;
    }
}

impl<T: Copy, K: SlabKey, S: Storage> Deref for CheckpointSlab<T, K, S> {
    type Target = PlainSlab<T, K, S>;

    #[inline]
    fn deref(&self) -> &PlainSlab<T, K, S> {
        &self.slab
    }
}

/// Borrows the value with this key.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<T: Copy, K: SlabKey, S: Storage> Index<K> for CheckpointSlab<T, K, S> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        &self.slab[key]
    }
}

/// Borrows the value with this key mutably, and logs its present state, like
/// [`get_mut`](CheckpointSlab::get_mut).
///
/// # Panics
///
/// Panics if there is no value with this key. Aborts if memory for the log is refused.
impl<T: Copy, K: SlabKey, S: Storage> IndexMut<K> for CheckpointSlab<T, K, S> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

impl<T: Copy, K: SlabKey> Default for CheckpointSlab<T, K> {
    /// Creates an empty slab, like [`with_key`](Self::with_key).
    fn default() -> Self {
        Self::with_key()
    }
}

/// Prints a map from keys to values.
impl<T: Copy + fmt::Debug, K: SlabKey, S: Storage> fmt::Debug for CheckpointSlab<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slab.fmt(f)
    }
}

impl<'a, T: Copy, K: SlabKey, S: Storage> IntoIterator for &'a CheckpointSlab<T, K, S> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.slab.iter()
    }
}

/// Logs each value that the iterator yields, like [`iter_mut`](CheckpointSlab::iter_mut).
impl<'a, T: Copy, K: SlabKey, S: Storage> IntoIterator for &'a mut CheckpointSlab<T, K, S> {
    type Item = (K, &'a mut T);
    type IntoIter = CheckpointIterMut<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<T: Copy, K: SlabKey, S: Storage> CheckpointSlab<T, K, S> {
    /// Panics if an invariant of the slab or of its log does not hold.
    pub fn check(&self) {
        self.slab.check();
        self.log.check(self.slab.used, self.slab.cells.free());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GenKey;
    use crate::common::amount;
    use crate::common::random::{random, seed};
    use crate::key_slab::KeySlab;

    /// Random programs against clones. The stamp begins again after 100 checkpoints.
    fn run<K: SlabKey>(steps: usize, slab: CheckpointSlab<u64, K>) {
        let mut slab = slab;
        slab.log.begin_stamps_at(u32::MAX - 100);
        let below = |n: usize| random(n as u64) as usize;
        let mut states: Vec<(Checkpoint, KeySlab<u64, K>)> = Vec::new();
        for step in 0..steps as u64 {
            let any = slab.keys().nth(below(slab.len().max(1)));
            match (below(16), any) {
                (0..=1, _) => states.push((slab.checkpoint(), slab.clone())),
                (2, _) if !states.is_empty() => {
                    states.truncate(below(states.len()) + 1);
                    let (checkpoint, state) = states.last().unwrap();
                    slab.rewind(*checkpoint);
                    assert_eq!((&*slab, slab.used), (state, state.used));
                    assert_eq!(slab.cells.free(), state.cells.free());
                    assert_eq!(slab.retired, state.retired);
                }
                (3, _) => {
                    let kept = states.len().min(below(8));
                    states.drain(..states.len() - kept);
                    slab.keep_last(kept);
                }
                (4, _) if below(8) == 0 => slab.clear(),
                (5, _) => slab.retain(|_, value| value % 5 > 0),
                (6..=8, Some(key)) => assert!(slab.try_remove(key).is_some()),
                (9..=11, Some(key)) => slab[key] = step,
                (12, _) => drop(slab.try_vacant_entry().unwrap()),
                (13, _) => slab.values_mut().take(3).for_each(|value| *value = step),
                _ => assert!(slab.try_insert(step).is_ok()),
            }
            slab.check();
            assert_eq!(slab.checkpoints(), states.len());
        }
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
                let mut slab: KeySlab<u64, GenKey> = slab;
                slab.floor = RETIRED - 6;
                run(steps, slab.into());
            }
        }
    }
}
