//! Slabs whose values belong to epochs: objects that are dropped together are stored together, and
//! their memory is freed together.
//!
//! Each insertion names an epoch. An epoch has chunks of its own, and closing it frees them at a
//! moment that the program chooses. This is not epoch-based *reclamation*, which `crossbeam-epoch`
//! implements: nothing here waits for the readers of other threads.
//!
//! ```
//! use flatslab::epoch::{Epoch, EpochKey, EpochSlab};
//!
//! let slab: EpochSlab<String> = EpochSlab::builder().chunk_capacity(64).epochs(16).try_build()?;
//! let request: Epoch = slab.current();
//! let key: EpochKey = slab.try_insert_in(request, "parsed".to_string())?;
//! let config = slab.try_insert_in(slab.permanent(), "config".to_string())?;
//! slab.get_mut(key).unwrap().push('!');
//!
//! slab.advance();                                  // the request's epoch takes no more values
//! assert_eq!(slab.clear_epoch(request), 1);        // its values are dropped in bulk
//! let report = slab.close(request)?;               // its chunks serve the next epochs
//! assert_eq!((report.scanned, report.pinned), (0, 0));
//! assert!(slab.get(key).is_none() && slab.get(config).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it
//!
//! Use it for objects with the same lifetime: those of a request, a session, a frame, a trading
//! day. In a slab of mixed lifetimes one object that stays keeps the memory around it. Here it
//! keeps only a chunk of its own epoch, and the report of each closing contains the fraction of
//! chunks that were [recycled](CloseReport::recycled_fraction). Put objects that outlive their
//! epoch into another one, or into the [permanent](Epochs::permanent) one.
//!
//! If all objects are dropped at once, a [`bump::Arena`](crate::bump::Arena) is faster. If the
//! program does not know when objects are dropped, use a [`Slab`](crate::Slab) or a
//! [`KeySlab`](crate::KeySlab).
//!
//! # How an epoch ends
//!
//! | call | values | chunks |
//! |---|---|---|
//! | [`advance`](Epochs::advance) | stay; the epoch takes no more | stay |
//! | [`close`](Epochs::close) | stay | a chunk without values becomes unused; a chunk with values is *pinned*, and becomes unused when its last value leaves |
//! | [`clear_epoch`](Epochs::clear_epoch) | are dropped | become unused |
//! | end of an [`EpochGuard`] | stay | like `close` |
//! | end of a [`Scope`] | are dropped | become unused |
//!
//! An epoch is *over* once it is closed and has no values. Its name ([`Epoch`]) is stale then:
//! insertions into it are refused.
//!
//! # Which epoch to use
//!
//! | lifetime of the objects | use |
//! |---|---|
//! | a step of the program, one step after the other: requests, frames, batches | the ring: [`current`](Epochs::current), [`advance`](Epochs::advance), [`close`](Epochs::close) |
//! | a block, for all of them | [`scope`](Epochs::scope) |
//! | a block, except for some that outlive it | [`enter`](Epochs::enter), which returns a guard |
//! | neither a block nor a step: a session, a level of a game | [`open`](Epochs::open) and [`close`](Epochs::close), by name; [`within`](Epochs::within) for each piece of its work |
//! | the whole program | [`permanent`](Epochs::permanent) |
//!
//! The ring has a fixed number of places, 16 unless [`epochs`](EpochSlab::builder) sets another. It
//! holds the current epoch and the previous ones that are not closed. An advance onto a place that
//! still has an epoch closes it, so a program that never closes epochs keeps running.
//! Advancing and closing drop no value: memory stays bounded only if values are taken out or epochs
//! cleared. These epochs are not in the ring: those of guards and scopes, those opened by name, the
//! permanent one, and closed ones.
//!
//! Unused chunks keep their memory for the next epoch, up to a
//! [bound](crate::Builder::cached_chunks); the memory of the others is freed. An open epoch keeps
//! its empty chunks, unless another epoch needs one because a [limit](crate::Builder::max_bytes) is
//! reached or the allocator refuses.
//!
//! # The types
//!
//! | type | | `Send` | `Sync` |
//! |---|---|---|---|
//! | [`EpochSlab`]`<T>` | values of one type | if `T` is | no |
//! | [`EpochBytes`] | buffers of any size | yes | no |
//! | [`Epochs`] | the generic type of both, with the methods about epochs | | |
//! | [`Epoch`], [`EpochKey`] | names of 16 bytes, `Copy` | yes | yes |
//! | [`Ref`], [`RefMut`], [`EpochBuf`] | borrows, tracked at run time | no | no |
//! | [`EpochGuard`], [`Scope`] | epochs that end with a block of the program | no | no |
//! | [`CloseReport`], [`EpochStats`], [`Stats`], the errors | numbers | yes | yes |
//!
//! No slab is shared: create one for each thread. Values can be moved out with
//! [`take`](Epochs::take), and a whole slab can be sent to another thread.
//!
//! # Costs
//!
//! A value takes 8 bytes of record in addition to its own. Records are outside of the pages that
//! are returned to the system, and are freed with the slab; with a
//! [`MemorySource`](crate::memory::MemorySource), with the memory of the chunk. Each epoch has
//! chunks of its own, so each usually has at least one chunk that is not full. `insert`, `get` and
//! `take` are O(1). An insertion into an epoch without a vacant slot takes an unused chunk, or
//! allocates one, whose first use may fault; [`reserve`](EpochSlab::builder) allocates and touches
//! chunks in advance. `close` is O(n) for n chunks of the epoch, and `advance` O(1) unless it
//! closes an epoch. `clear_epoch` is O(n) for n slots of the epoch, and the time of the
//! destructors.
//!
//! If a limit is reached, `insert` panics; if the allocator refuses, the program aborts, as with
//! `Vec`. `try_insert` returns the value in both cases. Closing and advancing need no memory.
//! Dropping the slab drops all its values.
//!
//! # If there is no memory
//!
//! At a [limit](crate::Builder::max_bytes), or if the allocator refuses, an insertion takes a chunk
//! that has no value from another epoch that is not closed, or frees such chunks, and unused ones,
//! for a new one. If a [`MemorySource`](crate::memory::MemorySource) refuses a chunk of the usual
//! size, the new one is smaller, down to one slot.
//!
//! An insertion frees at most 64 chunks. If it needs the memory of more, it is refused, and the
//! next one can free 64 more: a slab of n chunks without values serves what a new one could serve
//! from the same memory of a source after at most n / 64 refusals. What stays there are the records
//! of epochs in use, some hundred bytes each, and the table of the records, if more than 64 epochs
//! were pinned at once. A ring that advances as often as it has epochs comes back to the records
//! that it began with.
//!
//! [`shrink_to_fit`](Epochs::shrink_to_fit) frees all unused chunks.
//!
//! # Borrows
//!
//! Access is tracked as in the [slabs](crate#borrows): `get` returns `None` if there is no value,
//! and panics if it is borrowed; `try_get` returns an error that tells the two apart. A borrowed
//! value cannot be taken out, and its epoch cannot be cleared; closing leaves it where it is.
//!
//! # Origin
//!
//! The idea and its words are from `temporal-slab`, in C: epochs, chunks that belong to one epoch,
//! closing, the fraction of chunks that is recycled (there the drain rate). In that slab a pinned
//! epoch blocks the ring, and a stale handle can free the next value in its slot. Here a closed
//! epoch leaves the ring at once, and the generation of a slot is never set back.
//!
//! | there | here |
//! |---|---|
//! | `epoch_current`, `epoch_advance` | [`current`](Epochs::current), [`advance`](Epochs::advance) |
//! | `epoch_close` | [`close`](Epochs::close), whose [report](CloseReport) contains the counts of the telemetry |
//! | `slab_malloc_epoch`, `slab_free` | [`EpochBytes::try_alloc_in`], [`remove`](EpochBytes::remove) |
//! | `alloc_obj_epoch`, `free_obj` | [`EpochSlab::try_insert_in`], [`take`](Epochs::take) |
//! | `epoch_domain_create` with `auto_close` | [`enter`](Epochs::enter), which returns a guard |
//! | `epoch_domain_create` without `auto_close`, `epoch_domain_wrap` | [`open`](Epochs::open) |
//! | `epoch_domain_enter` and `epoch_domain_exit`, any number of times | [`within`](Epochs::within), which also leaves the epoch if the closure panics |
//! | `epoch_domain_current` | [`current`](Epochs::current), in a call within an epoch |
//! | `epoch_domain_force_close` of a domain that is entered | an error: [`EpochError::Entered`] |
//! | `epoch_domain_destroy` | [`close`](Epochs::close) |

// | file | what |
// |---|---|
// | `mod.rs` | `Epochs`, and how its values are dropped in bulk |
// | `key.rs` | `Epoch` and `EpochKey`; the word of a slot, and all its transitions |
// | `record.rs` | the records of epochs and chunks, and the chunks of an epoch |
// | `table.rs` | a table of records, some of which were freed |
// | `store.rs` | all chunks: their memory, and the chunks that no epoch has or needs |
// | `epochs.rs` | all epochs: the ring, insertion, closing |
// | `contents.rs`, `values.rs`, `bytes.rs` | the contents of a slab, and its size classes; `EpochSlab`; `EpochBytes` |
// | `borrow.rs` | `Ref`, `RefMut`: tracked borrows |
// | `enter.rs`, `scope.rs` | `EpochGuard` and epochs that calls run within; `Scope` |
// | `options.rs`, `error.rs`, `stats.rs` | options; errors; statistics, keys, and the values that pin chunks |

mod borrow;
mod bytes;
mod contents;
mod enter;
mod epochs;
mod error;
mod key;
mod options;
mod record;
mod refused;
mod scope;
mod stats;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod values;

use core::fmt;
use core::marker::PhantomData;

pub use borrow::{Ref, RefMut};
pub use bytes::{Bytes, EpochBuf, EpochBytes};
pub use contents::Contents;
pub use enter::EpochGuard;
pub use epochs::CloseReport;
pub use error::{EpochError, InsertError};
pub use key::{Epoch, EpochKey};
pub use record::EpochState;
pub use scope::Scope;
pub use stats::{AllStats, EpochStats, KeysIn, Stats};
#[cfg(feature = "track")]
#[cfg_attr(docsrs, doc(cfg(feature = "track")))]
pub use stats::{Pin, PinnedBy};
pub use values::{EpochSlab, Values};

use crate::error::AllocError;
use crate::raw::memory;
use crate::raw::report::Report;
use epochs::{NoEpoch, RawEpochs};
use record::ChunkPtr;

/// A slab whose contents belong to epochs: an [`EpochSlab`] of values, or [`EpochBytes`].
///
/// Methods that are listed here without a type of contents exist for both.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let request = slab.current();
/// slab.insert("parsed");
/// slab.insert("answer");
/// slab.advance();                                       // insertions now belong to the next request
/// assert_eq!(slab.clear_epoch(request), 2);
/// let report = slab.close(request).unwrap();
/// assert_eq!((report.pinned, report.live), (0, 0));
/// ```
pub struct Epochs<C: Contents> {
    raw: RawEpochs,
    contents: PhantomData<C>,
}

impl<C: Contents> Epochs<C> {
    /// Returns the current epoch, into which insertions go that name no epoch. O(1).
    ///
    /// It is the open epoch of the ring, or, in a call [within](Self::within) an epoch, that epoch.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.epoch_of(key), Some(slab.current()));
    /// ```
    #[must_use]
    pub fn current(&self) -> Epoch {
        self.raw.current()
    }

    /// Returns the epoch of values that live as long as the slab. O(1).
    ///
    /// It is outside of the ring, and is never closed.
    ///
    /// ```
    /// use flatslab::epoch::{EpochError, EpochSlab};
    ///
    /// let slab = EpochSlab::<u64>::new();
    /// assert_eq!(slab.close(slab.permanent()).unwrap_err(), EpochError::Permanent);
    /// ```
    #[must_use]
    pub fn permanent(&self) -> Epoch {
        self.raw.permanent()
    }

    /// Returns the number of places of the ring.
    ///
    /// ```
    /// assert_eq!(flatslab::epoch::EpochSlab::<u64>::new().ring(), 16);
    /// ```
    #[must_use]
    pub fn ring(&self) -> usize {
        self.raw.ring()
    }

    /// Opens the next epoch of the ring, which becomes the current one, and returns it.
    ///
    /// The previous one takes no more insertions. In a call [within](Self::within) an epoch, the
    /// new epoch becomes current when that one is left. It never fails, and allocates nothing.
    ///
    /// # Complexity
    ///
    /// O(1), unless an epoch that was not closed still has that place of the ring: it is
    /// [closed](Self::close) first.
    ///
    /// ```
    /// use flatslab::epoch::{EpochSlab, InsertError};
    ///
    /// let slab = EpochSlab::new();
    /// let first = slab.current();
    /// let second = slab.advance();
    /// assert_eq!(slab.current(), second);
    /// assert!(matches!(slab.try_insert_in(first, 7), Err(InsertError::Closing(7))));
    /// ```
    #[doc(alias = "rotate")]
    pub fn advance(&self) -> Epoch {
        self.raw.advance()
    }

    /// Opens an epoch outside of the ring, which takes insertions until it is
    /// [closed](Self::close). O(1).
    ///
    /// Use it for objects whose lifetime is neither that of a block nor a step of the ring: those
    /// of a session, or of a level of a game. It allocates a record if no unused one is left.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let session = slab.open();
    /// for _request in 0..100 {
    ///     slab.advance();                                   // leaves the session alone
    /// }
    /// let key = slab.try_insert_in(session, "state")?;
    /// slab.take(key);
    /// assert_eq!(slab.close(session).unwrap().recycled, 1);
    /// # Ok::<(), flatslab::epoch::InsertError<&str>>(())
    /// ```
    #[track_caller]
    #[must_use = "an epoch without a name stays open"]
    pub fn open(&self) -> Epoch {
        match self.try_open() {
            Ok(epoch) => epoch,
            Err(error) => memory::fail(error),
        }
    }

    /// Opens an epoch outside of the ring, or returns an error; see [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// If the allocator refuses.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let session = slab.try_open()?;
    /// assert!(slab.close(session).is_ok());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_open(&self) -> Result<Epoch, AllocError> {
        self.raw.open()
    }

    /// Closes an epoch: it takes no more insertions, and leaves the ring.
    ///
    /// It drops no value. Chunks without values become unused now, and the others are *pinned*
    /// until their last value leaves. An epoch of the ring can be closed after an
    /// [`advance`](Self::advance), or with [`advance_and_close`](Self::advance_and_close); one
    /// outside of the ring at any time.
    ///
    /// # Complexity
    ///
    /// O(n) for n chunks of the epoch; does not allocate.
    ///
    /// # Errors
    ///
    /// If the epoch is the open one of the ring or the permanent one, was closed before, or belongs
    /// to another slab, or if a call runs [within](Self::within) it.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let epoch = slab.current();
    /// let (stays, goes) = (slab.insert(1), slab.insert(2));
    /// slab.advance();
    /// slab.take(goes);
    /// let report = slab.close(epoch).unwrap();
    /// assert_eq!((report.pinned, report.live), (1, 1));
    /// slab.take(stays);                                // now its chunk is unused
    /// assert_eq!(slab.stats().pinned_chunks, 0);
    /// ```
    pub fn close(&self, epoch: Epoch) -> Result<CloseReport, EpochError> {
        self.raw.close(epoch)
    }

    /// Opens the next epoch of the ring, and closes the one that was current.
    ///
    /// Returns the new epoch, and the report of the closing.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let before = slab.current();
    /// let (now, report) = slab.advance_and_close();
    /// assert_eq!((slab.current(), report.epoch), (now, before));
    /// ```
    pub fn advance_and_close(&self) -> (Epoch, CloseReport) {
        self.raw.advance_and_close()
    }

    /// Drops all values of an epoch, and returns their number.
    ///
    /// The epoch stays open, closing or closed; a closed epoch without values is over. An epoch
    /// that is over has no values.
    ///
    /// Before the first destructor runs, all keys of the values become stale; destructors may use
    /// the slab. If a destructor panics, the other values are dropped before the panic continues.
    /// If a second one panics, the program aborts.
    ///
    /// # Complexity
    ///
    /// O(n) for n slots of the epoch.
    ///
    /// # Panics
    ///
    /// If one of its values is borrowed, or the epoch belongs to another slab; no value is dropped
    /// then. [`try_clear_epoch`](Self::try_clear_epoch) returns the error.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert("dropped".to_string());
    /// assert_eq!(slab.clear_epoch(slab.current()), 1);
    /// assert!(slab.get(key).is_none());
    /// ```
    #[track_caller]
    pub fn clear_epoch(&self, epoch: Epoch) -> usize {
        match self.try_clear_epoch(epoch) {
            Ok(dropped) => dropped,
            Err(error) => panic!("clear_epoch was refused for {epoch:?}: {error}"),
        }
    }

    /// Drops all values of an epoch and returns their number, or returns an error.
    ///
    /// It is like [`clear_epoch`](Self::clear_epoch) otherwise.
    ///
    /// # Errors
    ///
    /// If one of its values is borrowed, or the epoch belongs to another slab.
    ///
    /// ```
    /// use flatslab::epoch::{EpochError, EpochSlab};
    ///
    /// let slab = EpochSlab::new();
    /// let key = slab.insert(7);
    /// let guard = slab.get(key).unwrap();
    /// assert_eq!(slab.try_clear_epoch(slab.current()), Err(EpochError::Borrowed(key)));
    /// assert_eq!(*guard, 7);
    /// ```
    pub fn try_clear_epoch(&self, epoch: Epoch) -> Result<usize, EpochError> {
        let record = match self.raw.records.find(epoch) {
            Ok(record) => record,
            Err(NoEpoch::Over) => return Ok(0),
            Err(NoEpoch::Foreign) => return Err(EpochError::Foreign),
        };
        for chunk in self.raw.chunks_of(record) {
            if let Some(key) = chunk.first_borrowed() {
                return Err(EpochError::Borrowed(key));
            }
        }
        let mut doomed = None;
        let live = self.raw.doom(record, &mut doomed);
        drop_values::<C>(&self.raw, doomed);
        Ok(live)
    }

    /// Drops the values of an epoch, whether or not they are borrowed, and closes it.
    ///
    /// # Safety
    ///
    /// No guard or reference of its values is used from now on.
    unsafe fn end(&self, epoch: Epoch) {
        if let Ok(record) = self.raw.records.find(epoch) {
            record.set_closing();
            let mut doomed = None;
            self.raw.doom(record, &mut doomed);
            // No chunks are left: this frees the record.
            self.raw.close_closing(record);
            drop_values::<C>(&self.raw, doomed);
        }
    }

    /// Sets how many unused chunks of a size class keep their memory, and frees the memory of the
    /// chunks above that number.
    ///
    /// Returns the number of freed bytes. The option is
    /// [`cached_chunks`](crate::Builder::cached_chunks).
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert(7_u64);
    /// slab.clear_epoch(slab.current());
    /// assert_eq!(slab.set_cached_chunks(0), 64 * 8);
    /// slab.insert(8);
    /// slab.clear_epoch(slab.current());
    /// assert_eq!(slab.stats().committed_bytes, 0);          // freed at once
    /// ```
    pub fn set_cached_chunks(&self, chunks: usize) -> usize {
        self.raw.store.set_bound(chunks);
        self.raw.store.trim()
    }

    /// Frees the memory of all unused chunks, and returns the number of bytes.
    ///
    /// Pages from the system are returned to it, other memory to its source. Locked pages stay, and
    /// so do explicit huge pages that a chunk shares with others. The next chunks get memory again.
    ///
    /// The records of chunks and epochs stay ([`record_bytes`](Stats::record_bytes)), because keys
    /// are never valid again: as many as there were chunks and epochs at the same time. In a
    /// [`MemorySource`](crate::memory::MemorySource) the record of a chunk is freed with the chunk.
    ///
    /// # Complexity
    ///
    /// O(n) for n unused chunks.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert([0_u8; 128]);
    /// slab.clear_epoch(slab.current());
    /// assert_eq!(slab.stats().cached_chunks, 1);
    /// assert_eq!(slab.shrink_to_fit(), 64 * 128);
    /// assert_eq!(slab.stats().committed_bytes, 0);
    /// ```
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&self) -> usize {
        self.raw.store.give_back_all()
    }

    /// Sets the tag of an epoch, a number for your own use.
    ///
    /// Its [statistics](EpochStats::tag) report it: the number of a request, or an index into a
    /// table of names. Returns `false` if the epoch is over, or belongs to another slab.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let request = slab.current();
    /// assert!(slab.set_tag(request, 4711));
    /// slab.advance();
    /// assert_eq!(slab.epoch_stats(request).unwrap().tag, 4711);
    /// ```
    pub fn set_tag(&self, epoch: Epoch, tag: u64) -> bool {
        let record = self.raw.records.find(epoch);
        record.map(|record| record.tag.set(tag)).is_ok()
    }

    /// Returns whether there is a value at the key, borrowed or not. O(1).
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// slab.take(key);
    /// assert!(!slab.contains_key(key));
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias("contains", "is_valid"))]
    pub fn contains_key(&self, key: EpochKey) -> bool {
        self.raw.slot(key).is_some()
    }

    /// Returns the epoch of the value at the key, borrowed or not, or `None` if there is no value.
    /// O(1).
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let epoch = slab.current();
    /// let key = slab.insert(7);
    /// slab.advance_and_close();
    /// assert_eq!(slab.epoch_of(key), Some(epoch));
    /// ```
    #[must_use]
    pub fn epoch_of(&self, key: EpochKey) -> Option<Epoch> {
        let (chunk, _) = self.raw.slot(key)?;
        chunk.epoch.get()?.epoch()
    }

    /// Returns an iterator over the keys of an epoch's values, borrowed or not.
    ///
    /// The slab may be used during the iteration; values inserted during it may or may not be
    /// visited.
    ///
    /// # Complexity
    ///
    /// O(n) for a whole iteration, for n slots of the slab.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// slab.advance();
    /// slab.insert(8);
    /// let first = slab.epoch_of(key).unwrap();
    /// assert!(slab.keys_in(first).eq([key]));
    /// ```
    pub fn keys_in(&self, epoch: Epoch) -> KeysIn<'_> {
        KeysIn::new(&self.raw, epoch)
    }

    /// Returns the statistics of the slab. O(n) for n chunks, or for n slots of buffers.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert(7);
    /// assert_eq!(slab.stats().live, 1);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.raw.stats()
    }

    /// Returns the statistics of an epoch, or `None` if it is over or belongs to another slab.
    ///
    /// O(n) for n chunks of the epoch, or for n slots of buffers.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert(7);
    /// assert_eq!(slab.epoch_stats(slab.current()).unwrap().live, 1);
    /// ```
    #[must_use]
    pub fn epoch_stats(&self, epoch: Epoch) -> Option<EpochStats> {
        self.raw.stats_of(self.raw.records.find(epoch).ok()?)
    }

    /// Returns an iterator over the statistics of all epochs that are not over: open, closing and
    /// pinned ones.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// slab.advance();
    /// let epochs = slab.epochs().map(|stats| stats.epoch);
    /// assert_eq!(epochs.filter(|&epoch| epoch == slab.current()).count(), 1);
    /// assert_eq!(slab.epochs().count(), 3);             // the permanent one, and two of the ring
    /// ```
    pub fn epochs(&self) -> AllStats<'_> {
        AllStats::new(&self.raw)
    }

    /// Returns an iterator over the values that pin chunks of closed epochs, with the source
    /// locations where they were inserted.
    ///
    /// Such values belong into another epoch, or were forgotten. The slab may be used during the
    /// iteration. This needs the feature `track`, which stores the location of every insertion, 8
    /// bytes a slot.
    ///
    /// # Complexity
    ///
    /// O(n) for a whole iteration, for n slots of the slab.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert("a session");
    /// slab.advance_and_close();
    /// assert_eq!(slab.pinned_by().count(), 1);
    /// ```
    #[cfg(feature = "track")]
    pub fn pinned_by(&self) -> PinnedBy<'_> {
        PinnedBy::new(&self.raw)
    }

    /// Returns a report on the slab's memory: its size, including records and tables, and which of
    /// the requested page options were obtained.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// slab.insert(7);
    /// let stats = slab.stats();
    /// assert_eq!(slab.memory().bytes(), stats.committed_bytes + stats.record_bytes);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let raw = &self.raw;
        Report::new(
            raw.store.committed() + raw.record_bytes(),
            &raw.store.source,
        )
    }

    /// Panics if an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check(&self) {
        self.raw.check();
    }
}

/// Drops the values of all epochs, whether or not they are marked as borrowed: only a forgotten
/// guard leaves such a mark, because guards borrow the slab.
impl<C: Contents> Drop for Epochs<C> {
    fn drop(&mut self) {
        let mut doomed = None;
        let mut index = 0;
        while let Some(record) = self.raw.records.get(index) {
            if record.generation.get() != 0 {
                self.raw.doom(record, &mut doomed);
            }
            index += 1;
        }
        drop_values::<C>(&self.raw, doomed);
    }
}

impl<C: Contents> fmt::Debug for Epochs<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epochs")
            .field("current", &self.current())
            .field("ring", &self.ring())
            .field("committed_bytes", &self.raw.store.committed())
            .finish_non_exhaustive()
    }
}

/// Chunks of no epoch, whose values no key refers to, and which are being dropped.
///
/// If a destructor panics, the rest is dropped before the panic continues.
struct Doomed<'h, C: Contents> {
    raw: &'h RawEpochs,
    first: Option<ChunkPtr>,
    /// The next slot of the first chunk.
    slot: u32,
    contents: PhantomData<C>,
}

impl<C: Contents> Doomed<'_, C> {
    fn drop_all(&mut self) {
        while let Some(chunk) = self.first {
            if C::NEEDS_DROP {
                let bytes = chunk.cell_bytes;
                while self.slot < chunk.slots {
                    let slot = self.slot;
                    self.slot += 1;
                    if chunk.word(slot).get().is_doomed() {
                        // SAFETY: initialised (`word-says-value`), and each slot is visited once;
                        // no other code has the chunk until it is put away below.
                        unsafe { C::drop_in_place(chunk.cell(slot, bytes)) };
                    }
                }
            }
            self.slot = 0;
            self.first = chunk.next.take();
            chunk.reset();
            self.raw.store.put(chunk);
        }
    }
}

impl<C: Contents> Drop for Doomed<'_, C> {
    fn drop(&mut self) {
        self.drop_all();
        self.raw.store.trim();
    }
}

fn drop_values<C: Contents>(raw: &RawEpochs, first: Option<ChunkPtr>) {
    let mut doomed = Doomed::<C> {
        raw,
        first,
        slot: 0,
        contents: PhantomData,
    };
    doomed.drop_all();
}
