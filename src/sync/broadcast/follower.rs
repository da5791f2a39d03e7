//! A reader for which the producer does not wait. The invariants are in `block.rs`.

use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

use super::block::{ABSENT, End, State, sequence, word};
use crate::raw::atomic::{AtomicU64, Ordering};

/// A reader of a [`BroadcastRing`](super::BroadcastRing) for which the producer does not wait, from
/// [`BroadcastReaders::follow`](super::BroadcastReaders::follow). If it is too slow, it misses entries,
/// and is told which.
///
/// When the entry that it reads next is about to be overwritten, the producer moves it on, by an eighth
/// of the ring more than necessary, so that not every push has to. If it is stopped in the middle of an
/// entry for as long as the producer takes to write all others, it goes on at the newest. A claim that is
/// dropped may have moved it too.
///
/// A follower that is stopped at any instruction does not hold up the producer. It is `Send` and `Sync` if the values
/// are `Send`.
///
/// # Examples
///
/// ```
/// use flatslab::sync::BroadcastRing;
///
/// let ring = BroadcastRing::builder().entries(2).followers(1).build();
/// let (mut producer, readers) = ring.split();
/// let mut follower = readers.follow().unwrap();
/// for value in 1..=5 {
///     producer.push(value).unwrap();
/// }
/// let missed = follower.pop().unwrap_err();
/// assert_eq!((missed.first, missed.count), (0, 3));
/// assert_eq!((follower.pop(), follower.pop()), (Ok(Some(4)), Ok(Some(5))));
/// assert_eq!(follower.pop(), Ok(None));
/// ```
pub struct Follower<T> {
    pub(super) end: End,
    /// The number of its word.
    number: usize,
    /// The sequence of the entry that it reads next, if it was not moved on since.
    head: u64,
    /// The number of published entries, as far as is known.
    published: u64,
    /// Whether it was lapped while it read the entry before that, so that its word is not its own yet.
    is_lapped: bool,
    missed: u64,
    /// Covariant: values are taken out, and not put in.
    values: PhantomData<fn() -> T>,
}

// SAFETY: what is shared is atomic, or entries that no one writes to (`readers-in-front`). Values come
// from the producer's thread, and are `Send`.
unsafe impl<T: Send> Send for Follower<T> {}
// SAFETY: by reference only its numbers are read.
unsafe impl<T: Send> Sync for Follower<T> {}

/// The error of a [`Follower`]: entries that it does not get, because it was too slow.
///
/// The next call continues after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedError {
    /// The sequence of the first entry that it missed.
    pub first: u64,
    /// The number of entries that it missed.
    pub count: u64,
}

impl fmt::Display for MissedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissedError { first, count } = self;
        write!(f, "{count} entries from {first} on were missed")
    }
}

impl core::error::Error for MissedError {}

impl<T: Copy> Follower<T> {
    /// Reads the next entry. Returns `Ok(None)` if there is none yet. O(1); wait-free.
    ///
    /// # Errors
    ///
    /// Returns an error, once, if it was too slow for some entries. The next call continues after them.
    #[inline]
    #[doc(alias("recv", "read", "next"))]
    pub fn pop(&mut self) -> Result<Option<T>, MissedError> {
        let Some(cell) = self.start()? else {
            return Ok(None);
        };
        // SAFETY: it has started to read this cell, of a ring of values of `T`.
        let value = unsafe { self.end.read::<T>(cell) };
        self.finish();
        Ok(Some(value))
    }

    /// Reads the next entry; waits until there is one, in the way that the ring was
    /// [built](crate::Builder::wait) for. Returns `Ok(None)` once the producer is dropped and there
    /// are no more entries.
    ///
    /// # Errors
    ///
    /// Returns an error where [`pop`](Self::pop) does. A loop goes on after it:
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// # let ring = BroadcastRing::builder().entries(2).followers(1).build();
    /// # let (mut producer, readers) = ring.split();
    /// # let mut feed = readers.follow().unwrap();
    /// # (0..5).for_each(|value| producer.push(value).unwrap());
    /// # drop(producer);
    /// let (mut read, mut missed) = (0, 0);
    /// loop {
    ///     match feed.pop_wait() {
    ///         Ok(Some(_value)) => read += 1,
    ///         Ok(None) => break,
    ///         Err(gap) => missed += gap.count,
    ///     }
    /// }
    /// assert_eq!((read, missed), (2, 3));
    /// ```
    #[inline]
    pub fn pop_wait(&mut self) -> Result<Option<T>, MissedError> {
        #[cfg(feature = "std")]
        return self.wait_until(None);
        #[cfg(not(feature = "std"))]
        loop {
            let is_closed = self.is_closed();
            let value = self.pop()?;
            if value.is_some() || is_closed {
                return Ok(value);
            }
            self.end.wait(self.head);
        }
    }

    /// Reads the next entry; waits until there is one, for at most `limit`. Returns `Ok(None)` if none
    /// was pushed in that time, or once the producer is dropped and there are no more entries. To tell the
    /// two apart, ask [`is_closed`](Self::is_closed) *before* the call.
    ///
    /// # Errors
    ///
    /// Returns an error where [`pop`](Self::pop) does.
    #[cfg(feature = "std")]
    pub fn pop_wait_for(&mut self, limit: Duration) -> Result<Option<T>, MissedError> {
        // A limit beyond the clock's range is no limit.
        self.wait_until(Instant::now().checked_add(limit))
    }

    #[cfg(feature = "std")]
    #[inline]
    fn wait_until(&mut self, end: Option<Instant>) -> Result<Option<T>, MissedError> {
        loop {
            // First: entries that were pushed before the end are found.
            let is_closed = self.is_closed();
            let value = self.pop()?;
            if value.is_some() || is_closed || !self.end.wait(self.head, end) {
                return Ok(value);
            }
        }
    }
}

impl<T> Follower<T> {
    /// Joins a ring, whose entries are of this type.
    pub(super) fn join(end: &End) -> Option<Self> {
        let (number, head) = end.join(State::Idle)?;
        Some(Self::joined(end, number, head))
    }

    /// The reader that has this word, and begins at this sequence.
    pub(super) fn joined(end: &End, number: usize, head: u64) -> Self {
        Follower {
            end: end.share(),
            number,
            head,
            published: head,
            is_lapped: false,
            missed: 0,
            values: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn word(&self) -> &AtomicU64 {
        // SAFETY: the number of the word that this reader took (`own-words`).
        unsafe { &self.end.word(self.number).at }
    }

    /// Starts to read the next entry, if there is one. Returns the number of its cell, to which no one
    /// writes before [`finish`](Self::finish).
    #[inline(always)]
    pub(super) fn start(&mut self) -> Result<Option<usize>, MissedError> {
        if self.is_lapped {
            self.begin_again()?;
        }
        if self.head >= self.published {
            self.published = self.end.published();
            if self.head >= self.published {
                return Ok(None);
            }
        }
        // Before the word is written: a producer that laps this reader changes it afterwards.
        let cell = self.end.cell_of(self.end.place(self.head));
        let (idle, reading) = (
            word(self.head, State::Idle),
            word(self.head, State::Reading),
        );
        // Release: pairs with the acquire of the producer that laps this reader: the number of the cell
        // was read. Relaxed if it fails: what is read next was published.
        let begun =
            (self.word()).compare_exchange(idle, reading, Ordering::Release, Ordering::Relaxed);
        // From here on no one writes to the cell of that published entry (`published-entries`) before
        // the word is further (`readers-in-front`), or, if the reader is lapped, has changed
        // (`lapped-cells`).
        begun.map_or_else(
            |moved| Err(self.continue_at(sequence(moved))),
            |_| Ok(Some(cell)),
        )
    }

    /// Has read the entry that it started to read.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        let (reading, next) = (
            word(self.head, State::Reading),
            word(self.head + 1, State::Idle),
        );
        self.head += 1;
        // Release: pairs with the acquire in `BroadcastProducer::move_on`: the cell was read. Relaxed if it
        // fails: then the word is written again in `begin_again`.
        let ended =
            (self.word()).compare_exchange(reading, next, Ordering::Release, Ordering::Relaxed);
        self.is_lapped = ended.is_err();
    }

    /// Goes on after it was lapped.
    ///
    /// # Errors
    ///
    /// Returns which entries it has missed, if any.
    #[cold]
    #[inline(never)]
    fn begin_again(&mut self) -> Result<(), MissedError> {
        self.is_lapped = false;
        let written = word(self.end.published(), State::Idle);
        // Release: pairs with the acquire in `BroadcastProducer::choose` and `move_on`: the cell was read. No one
        // else writes a word that is lapped (`own-words`).
        self.word().store(written, Ordering::Release);
        let at = self.end.begin(self.number, written);
        if at == self.head {
            return Ok(());
        }
        Err(self.continue_at(at))
    }

    #[cold]
    fn continue_at(&mut self, at: u64) -> MissedError {
        let first = self.head;
        let count = at - first;
        self.head = at;
        self.missed += count;
        MissedError { first, count }
    }

    /// Returns the number of entries that it has missed since it joined, as far as it was told. O(1).
    #[inline]
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns the sequence of the entry that it reads next, if it does not miss it: the number of
    /// entries before it. O(1).
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.head
    }

    /// Returns whether the producer was dropped. O(1).
    ///
    /// The last entries can still be read: if this returns `true`, and a pop after that finds no entry,
    /// there are no more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.end.is_closed()
    }
}

impl<T> Drop for Follower<T> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `BroadcastProducer::choose` and `move_on`: what it read, it has read.
        self.word().store(ABSENT, Ordering::Release);
    }
}

/// Prints the sequence and the like.
impl<T> fmt::Debug for Follower<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("sequence", &self.head)
            .field("missed", &self.missed)
            .field("closed", &self.is_closed())
            .finish()
    }
}
