//! A ring of byte entries for many threads: a ring of one thread, behind a lock.
//!
//! A lock-free ring took ten times the code, its readers could not sleep, and it could lose an
//! entry if a search for the oldest one was overtaken.
//!
//! The data behind the lock was written by the thread that had the lock last, so the first
//! operation after a change of threads waits for several cache lines, one after the other, and the
//! operations that follow for few. So a thread that finds the lock taken pauses before it tries
//! again, and until then does not read the lock's line; the other thread continues with the lines
//! in its cache. With only the lock of `std`, a write and a read took 1.3 to 2 times as long as a
//! lock around a deque of `Vec`s (`benches/ATTEMPTS.md`, "Across threads").

use core::fmt;
use core::hint;
use core::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::builder::{Build, Builder};
use crate::bytes::{Atomic, Buf, Evicted, RequestError, Ring, RingOptions};
use crate::error::{BuildError, SizeError};
use crate::memory::{Pages, Report};
use crate::raw::source::Source;

/// A queue of at most a fixed number of byte entries for any number of writers and readers: first
/// in, first out, and the newest overwrites the oldest.
///
/// Each entry is popped by one reader, and no other reader gets it. To pass each entry to every
/// reader, see [`sync`](crate::sync#each-entry-to-every-reader).
///
/// All memory is allocated at construction. Entries are buffers, which readers may keep; if they
/// keep more than [`in_flight`](Builder::in_flight), these take room from entries. A reader may
/// sleep until there is an entry, and learns when the ring is [closed](Self::close).
///
/// A lock is held while the bytes are copied. A thread that finds it taken tries again after some
/// hundred nanoseconds, and sleeps if it is still taken after a few microseconds. Threads do not
/// get the lock in the order of their attempts. For two threads use a
/// [`SpscRing`](super::SpscRing), which is wait-free; on one thread use a [`Ring`].
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedRing;
///
/// let ring = SharedRing::with_capacity(2, 1500);  // entries, maximum bytes of each
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| ring.push(b"hello").unwrap());
///     }
/// });
/// let (first, second) = (ring.pop().unwrap(), ring.pop().unwrap());
/// assert_eq!((first.sequence, second.sequence), (2, 3));
/// assert_eq!(*first, *b"hello");
/// assert!(ring.pop().is_none());
/// assert_eq!(ring.evicted(), 2);
/// ```
pub struct SharedRing {
    state: Mutex<State>,
    /// Notified if a reader waits, once for each entry, and when the ring is closed.
    pushed: Condvar,
    // Fields that do not change, and are read without the lock.
    capacity: usize,
    max_len: usize,
    bytes: usize,
    source: Source,
}

struct State {
    ring: Ring<Atomic>,
    waiting: usize,
    closed: bool,
}

/// The numbers of processor pauses before each further attempt to take the lock. After the last
/// attempt the thread sleeps.
///
/// A pause took 24 ns in our measurements, so all together take 6 µs, and the longest 1.5 µs, the
/// time of some hundred operations of a thread that is alone. The first are shorter, for threads
/// that seldom meet. On a machine where a line takes 200 ns from core to core, at most 32 pauses
/// gave little or no gain for a write and a read; 128 gave little more than 64, and wait twice as
/// long.
const PAUSES: [u32; 5] = [16, 32, 64, 64, 64];

/// An entry that was popped from a [`SharedRing`].
///
/// It dereferences to its bytes.
///
/// # Examples
///
/// ```
/// let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
/// ring.push(b"hello").unwrap();
/// let frame = ring.pop().unwrap();
/// assert_eq!((frame.sequence, &*frame), (0, &b"hello"[..]));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct SharedFrame {
    /// Sequence number of the entry: the number of entries that were pushed before it. If there is
    /// only one reader, a gap tells it how many entries were overwritten.
    pub sequence: u64,
    /// Bytes of the entry.
    pub buf: Buf<Atomic>,
}

/// The reason why an entry was not pushed to a [`SharedRing`].
///
/// # Examples
///
/// ```
/// use flatslab::sync::{SharedPushError, SharedRing};
///
/// let ring = SharedRing::with_capacity(1, 5);
/// ring.close();
/// assert_eq!(ring.push(b"hello"), Err(SharedPushError::Closed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedPushError {
    /// Readers keep all buffers.
    Full,
    /// There are more bytes than an entry has room for.
    TooLarge(SizeError),
    /// The ring was closed.
    Closed,
}

impl fmt::Display for SharedPushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedPushError::Full => f.write_str("ring is full: readers keep all buffers"),
            SharedPushError::TooLarge(error) => error.fmt(f),
            SharedPushError::Closed => f.write_str("ring is closed"),
        }
    }
}

impl core::error::Error for SharedPushError {}

impl SharedRing {
    /// Creates a ring of `entries` entries of at most `max_len` bytes.
    ///
    /// Readers may keep one more buffer.
    ///
    /// # Complexity
    ///
    /// O(n) for n entries.
    ///
    /// # Panics
    ///
    /// If an argument is out of its range; see [`Builder::build`].
    ///
    /// ```
    /// let ring = flatslab::sync::SharedRing::with_capacity(10, 1500);
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(entries: usize, max_len: usize) -> Self {
        Self::builder().entries(entries).max_len(max_len).build()
    }

    /// Returns a builder, with options for the ring's entries and memory.
    ///
    /// ```
    /// let ring = flatslab::sync::SharedRing::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> Builder<SharedRing> {
        Builder::new(RingOptions::new())
    }

    /// Locks the ring. No user code runs while the lock is held, so a panic leaves nothing half
    /// done. Nothing that calls the system runs either: when a report on the memory was made under
    /// the lock, which reads a file of the system's, one push in a hundred on other threads took 6
    /// ms.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.try_lock().unwrap_or_else(|| self.lock_after_pauses())
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Like [`lock`](Self::lock), if another thread has the lock.
    #[cold]
    #[inline(never)]
    fn lock_after_pauses(&self) -> MutexGuard<'_, State> {
        for pauses in PAUSES {
            // Without reading the lock, which would take its line from the thread that has it.
            for _ in 0..pauses {
                hint::spin_loop();
            }
            if let Some(state) = self.try_lock() {
                return state;
            }
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies bytes into a new entry, and returns which entry it overwrote, if any.
    ///
    /// The oldest entry is overwritten if the ring is full, or readers keep all spare buffers.
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes, plus O(m) for m entries if readers keep all buffers; does not allocate.
    ///
    /// # Errors
    ///
    /// If there are more bytes than [`max_len`](Self::max_len), if readers keep all buffers, or if
    /// the ring is closed. Nothing is overwritten then.
    ///
    /// ```
    /// # use flatslab::sync::{SharedPushError, SharedRing};
    /// let ring = SharedRing::with_capacity(1, 5);
    /// assert!(ring.push(b"hello")?.is_none());
    /// assert!(ring.push(b"too long").is_err());
    /// assert_eq!(ring.push(b"again")?.unwrap().len, 5);
    /// # Ok::<(), SharedPushError>(())
    /// ```
    #[doc(alias("send", "publish"))]
    pub fn push(&self, bytes: &[u8]) -> Result<Option<Evicted>, SharedPushError> {
        let mut state = self.lock();
        if state.closed {
            return Err(SharedPushError::Closed);
        }
        let pushed = state.ring.push(bytes).map_err(|error| match error {
            RequestError::TooLarge(error) => SharedPushError::TooLarge(error),
            RequestError::Memory(_) => SharedPushError::Full,
        })?;
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.pushed.notify_one();
        }
        Ok(pushed)
    }

    /// Removes the oldest entry and returns it, or returns `None` if the ring is empty. O(1).
    ///
    /// ```
    /// # let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
    /// ring.push(b"hello").unwrap();
    /// assert_eq!(*ring.pop().unwrap(), *b"hello");
    /// assert!(ring.pop().is_none());
    /// ```
    #[must_use]
    pub fn pop(&self) -> Option<SharedFrame> {
        self.lock().pop()
    }

    /// Removes the oldest entry and returns it; sleeps until there is one.
    ///
    /// Returns `None` once the ring is [closed](Self::close) and empty.
    ///
    /// ```
    /// # let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
    /// std::thread::scope(|scope| {
    ///     let reader = scope.spawn(|| std::iter::from_fn(|| ring.pop_wait()).count());
    ///     ring.push(b"hello").unwrap();
    ///     ring.close();
    ///     assert_eq!(reader.join().unwrap(), 1);
    /// });
    /// ```
    #[must_use]
    pub fn pop_wait(&self) -> Option<SharedFrame> {
        self.wait_until(None)
    }

    /// Removes the oldest entry and returns it; sleeps until there is one, for at most `limit`.
    ///
    /// Returns `None` if no entry was pushed in that time, or once the ring is
    /// [closed](Self::close) and empty.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
    /// assert!(ring.pop_wait_for(Duration::from_millis(1)).is_none());
    /// ```
    #[must_use]
    pub fn pop_wait_for(&self, limit: Duration) -> Option<SharedFrame> {
        // A limit beyond the clock's range is no limit.
        self.wait_until(Instant::now().checked_add(limit))
    }

    fn wait_until(&self, end: Option<Instant>) -> Option<SharedFrame> {
        loop {
            // The clock is read before the lock is taken.
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let mut state = self.lock();
            let frame = state.pop();
            if frame.is_some() || state.closed {
                return frame;
            }
            if left == Some(Duration::ZERO) {
                return None;
            }
            state.waiting += 1;
            state = match left {
                None => (self.pushed.wait(state)).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let woken = self.pushed.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.waiting -= 1;
            let frame = state.pop();
            if frame.is_some() || state.closed {
                return frame;
            }
        }
    }

    /// Closes the ring: further pushes are refused, and all sleeping readers wake up.
    ///
    /// The present entries can still be popped.
    ///
    /// ```
    /// # use flatslab::sync::{SharedPushError, SharedRing};
    /// # let ring = SharedRing::with_capacity(2, 1500);
    /// ring.push(b"last").unwrap();
    /// ring.close();
    /// assert_eq!(ring.push(b"late"), Err(SharedPushError::Closed));
    /// assert_eq!(*ring.pop_wait().unwrap(), *b"last");
    /// assert!(ring.pop_wait().is_none());
    /// ```
    pub fn close(&self) {
        self.lock().closed = true;
        self.pushed.notify_all();
    }

    /// Returns whether the ring is [closed](Self::close).
    ///
    /// ```
    /// assert!(!flatslab::sync::SharedRing::with_capacity(2, 1500).is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Returns the number of entries, which other threads may have changed since.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedRing::with_capacity(2, 1500).len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().ring.len()
    }

    /// Returns whether the ring has no entries, which other threads may have changed since.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedRing::with_capacity(2, 1500).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of entries.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedRing::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedRing::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.max_len
    }

    /// Returns the number of entries pushed since the ring was created.
    ///
    /// ```
    /// let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
    /// ring.push(b"hello").unwrap();
    /// assert_eq!(ring.pushed(), 1);
    /// ```
    #[must_use]
    pub fn pushed(&self) -> u64 {
        self.lock().ring.pushed()
    }

    /// Returns the number of entries overwritten since the ring was created.
    ///
    /// ```
    /// let ring = flatslab::sync::SharedRing::with_capacity(1, 1500);
    /// ring.push(b"one").unwrap();
    /// ring.push(b"two").unwrap();
    /// assert_eq!(ring.evicted(), 1);
    /// ```
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.lock().ring.evicted()
    }

    /// Returns a report on the ring's memory: its size, and which of the requested page options
    /// were obtained. Takes no lock.
    ///
    /// ```
    /// let ring = flatslab::sync::SharedRing::with_capacity(2, 1500);
    /// assert!(ring.memory().bytes() >= 2 * 1500);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.bytes, &self.source)
    }
}

impl State {
    fn pop(&mut self) -> Option<SharedFrame> {
        let sequence = self.ring.pushed() - self.ring.len() as u64;
        let buf = self.ring.pop()?;
        Some(SharedFrame { sequence, buf })
    }
}

impl Build for SharedRing {
    type Options = RingOptions;

    fn try_build(options: RingOptions, pages: Pages) -> Result<Self, BuildError> {
        let ring = <Ring<Atomic> as Build>::try_build(options, pages)?;
        Ok(SharedRing {
            capacity: ring.capacity(),
            max_len: ring.max_len(),
            bytes: ring.memory().bytes(),
            source: ring.arena().source().clone(),
            state: Mutex::new(State {
                ring,
                waiting: 0,
                closed: false,
            }),
            pushed: Condvar::new(),
        })
    }
}

impl Deref for SharedFrame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buf
    }
}

impl AsRef<[u8]> for SharedFrame {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Prints the number and the bytes.
impl fmt::Debug for SharedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFrame")
            .field("sequence", &self.sequence)
            .field("buf", &self.buf)
            .finish()
    }
}

/// Prints the number of entries, and of those overwritten.
impl fmt::Debug for SharedRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let (len, closed) = (state.ring.len(), state.closed);
        let (pushed, evicted) = (state.ring.pushed(), state.ring.evicted());
        // The formatter's output may use the ring.
        drop(state);
        f.debug_struct("SharedRing")
            .field("len", &len)
            .field("capacity", &self.capacity)
            .field("pushed", &pushed)
            .field("evicted", &evicted)
            .field("closed", &closed)
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reported_while_another_thread_has_the_lock() {
        let ring = SharedRing::with_capacity(2, 1500);
        let expected = ring.lock().ring.memory();
        let state = ring.lock();
        std::thread::scope(|scope| {
            let report = scope.spawn(|| ring.memory()).join().unwrap();
            assert_eq!(report, expected);
            assert_eq!((ring.capacity(), ring.max_len()), (2, 1500));
        });
        drop(state);
    }
}
