//! The end of a broadcast ring that writes. The invariants are in `block.rs`.

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "std")]
use super::Wait;
use super::block::{ABSENT, End, Noted, SPARES, Sizes, State, sequence, state, word};
use crate::error::FullError;
use crate::raw::atomic::{Ordering, fence};
use crate::raw::report::Report;
use crate::raw::this_thread;
use crate::raw::touch::LINE;
use crate::stats::Stats;

/// Lines that are prefetched ahead.
const AHEAD: u64 = 4;

/// The writing end of a [`BroadcastRing`](super::BroadcastRing). It is `Send` and `Sync` if the
/// values are `Send`.
///
/// After it is dropped, consumers can still read all entries, and followers those that are left.
///
/// # Several entries at once
///
/// [`push_deferred`](Self::push_deferred) writes an entry that readers find after the next push that
/// is not deferred, after [`flush`](Self::flush), when a push finds the ring full, and when the
/// producer is dropped. A [`claim`](Self::claim) is for a number of entries that is known before: it
/// has room for all of them, and they are published together, or not at all.
///
/// # Examples
///
/// ```
/// use flatslab::sync::BroadcastRing;
///
/// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
/// let mut consumer = readers.join().unwrap();
/// producer.push_deferred(1).unwrap();
/// producer.push_deferred(2).unwrap();
/// assert_eq!(consumer.pop(), None);
/// producer.flush();
/// assert!(consumer.batch().eq([1, 2]));
/// ```
pub struct BroadcastProducer<T> {
    end: End,
    /// The sequence of the next entry.
    tail: u64,
    /// The sequence after the last entry that readers can find.
    published: u64,
    /// Up to this sequence no reader is in the way, as far as is known (`readers-in-front`).
    limit: u64,
    /// Up to this sequence no consumer is in the way. It only grows.
    gate: u64,
    /// The number of lapped followers, as far as is known, and of spares that places have. If it is 0,
    /// each place has its own cell, which no follower reads.
    exceptions: usize,
    /// The sequence after the last entry for which a cell was chosen.
    chosen: u64,
    /// How often the ring was full.
    refusals: u64,
    /// Whether a reader is on another thread, as far as is known.
    is_apart: bool,
    /// Contravariant: values are put in, and not taken out.
    values: PhantomData<fn(T)>,
}

// SAFETY: what is shared with readers is atomic, or cells that no reader reads. Values go to the
// readers' threads, and are `Send`.
unsafe impl<T: Send> Send for BroadcastProducer<T> {}
// SAFETY: by reference only its numbers are read.
unsafe impl<T: Send> Sync for BroadcastProducer<T> {}

impl<T: Copy> BroadcastProducer<T> {
    /// Pushes an entry to all readers.
    ///
    /// # Complexity
    ///
    /// O(1) and the copy; O(readers) once the places that were known to be free are used up. Takes no
    /// lock, waits for nothing, does not allocate. If readers [park](Wait::Park), a push that finds
    /// sleeping ones wakes them, by a system call.
    ///
    /// # Errors
    ///
    /// Returns an error with the value if a consumer has not read the entry that is in its place.
    ///
    /// ```
    /// # use flatslab::{Full, sync::BroadcastRing};
    /// let (mut producer, readers) = BroadcastRing::with_capacity(1, 2).split();
    /// let (mut journal, mut feed) = (readers.join().unwrap(), readers.join().unwrap());
    /// producer.push("filled")?;
    /// assert_eq!(journal.pop(), Some("filled"));
    /// assert!(matches!(producer.push("cancelled"), Err(Full("cancelled"))));
    /// assert_eq!(feed.pop(), Some("filled"));
    /// producer.push("cancelled")?;
    /// # Ok::<(), Full<&str>>(())
    /// ```
    #[inline]
    #[doc(alias("publish", "send", "write"))]
    pub fn push(&mut self, value: T) -> Result<(), FullError<T>> {
        self.push_deferred(value)?;
        self.flush();
        Ok(())
    }

    /// Writes an entry that readers find [later](Self#several-entries-at-once).
    ///
    /// # Complexity
    ///
    /// As [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// Returns an error with the value if a consumer has not read the entry that is in its place.
    #[inline]
    pub fn push_deferred(&mut self, value: T) -> Result<(), FullError<T>> {
        if self.tail >= self.limit && !self.make_room_or_flush() {
            return Err(FullError(value));
        }
        self.write(self.tail, value);
        self.tail += 1;
        Ok(())
    }

    /// Writes an entry, for which there is room.
    #[inline(always)]
    fn write(&mut self, sequence: u64, value: T) {
        debug_assert!(sequence < self.limit, "readers-in-front");
        let place = self.end.place(sequence);
        let cell = if self.exceptions == 0 {
            place
        } else {
            self.choose(sequence)
        };
        // SAFETY: the own cell of this place, or a spare. No reader reads the entry that was in it
        // (`readers-in-front`, `lapped-cells`), and none finds this one before it is published.
        unsafe { self.end.write(cell, value) };
        self.prefetch(sequence);
    }

    /// Prefetches a place that is written soon: its line is where a reader read it. With both sides at
    /// work, values of 8 and 64 bytes take .55 and .75 of the time that they take without it
    /// (benches/ATTEMPTS.md, "Rings of values"). A place that a consumer may be reading is not prefetched,
    /// and no place is if all readers are on this thread, whose core has the lines.
    #[inline(always)]
    fn prefetch(&self, sequence: u64) {
        let in_line = (LINE / size_of::<T>().max(1)).max(1) as u64;
        let ahead = sequence + AHEAD * in_line;
        if self.is_apart && sequence % in_line == 0 && ahead < self.limit {
            self.end.prefetch::<T>(ahead);
        }
    }

    /// Returns room for this many entries, which are published together. Returns `None` if consumers
    /// have not read all entries in their places.
    ///
    /// Deferred entries are published first, in both cases. A claim may be published with fewer entries;
    /// the other places stay free.
    ///
    /// # Complexity
    ///
    /// As [`push`](Self::push).
    ///
    /// # Panics
    ///
    /// Panics if `count` is more than the [capacity](Self::capacity): a loop that waits for room would
    /// never end.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(4, 1).split();
    /// let mut consumer = readers.join().unwrap();
    /// let mut legs = producer.claim(2).unwrap();
    /// legs.push("buy");
    /// legs.push("sell");
    /// legs.publish();
    /// assert!(consumer.batch().eq(["buy", "sell"]));
    /// ```
    ///
    /// A command is taken only if there is room for all that it can report:
    ///
    /// ```
    /// # use flatslab::sync::{BroadcastRing, SpscRing};
    /// const MOST: usize = 4;
    /// let (mut clients, mut commands) = SpscRing::of_values(8).split();
    /// let (mut reports, readers) = BroadcastRing::with_capacity(16, 1).split();
    /// let mut journal = readers.join().unwrap();
    /// clients.push(3).unwrap();
    ///
    /// if !commands.is_empty() {
    ///     if let Some(mut room) = reports.claim(MOST) {
    ///         let command = commands.pop().unwrap();
    ///         (0..command).for_each(|report| room.push(report));
    ///         room.publish();
    ///     }
    /// }
    /// assert!(journal.batch().eq([0, 1, 2]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn claim(&mut self, count: usize) -> Option<BroadcastClaim<'_, T>> {
        assert!(
            count <= self.capacity(),
            "claim of more entries than the ring has"
        );
        self.flush();
        let end = self.tail + count as u64;
        if end > self.gate {
            self.look();
            if end > self.gate {
                self.refusals += 1;
                return None;
            }
        }
        Some(BroadcastClaim {
            next: self.tail,
            end,
            producer: self,
        })
    }
}

impl<T> BroadcastProducer<T> {
    /// The end of a new ring.
    pub(super) fn new(end: End) -> Self {
        let capacity = end.sizes.capacity as u64;
        BroadcastProducer {
            tail: 0,
            published: 0,
            limit: capacity,
            gate: capacity,
            exceptions: 0,
            chosen: 0,
            refusals: 0,
            is_apart: true,
            values: PhantomData,
            end,
        }
    }

    /// Publishes all deferred entries, so that readers find them. O(1), and wakes readers that sleep.
    #[inline]
    pub fn flush(&mut self) {
        self.published = self.tail;
        // Release: pairs with the acquire in `End::published`; the entries are written.
        (self.end.shared().published.0).store(self.tail, Ordering::Release);
        self.wake();
    }

    #[inline(always)]
    fn wake(&self) {
        #[cfg(feature = "std")]
        if self.end.wait == Wait::Park {
            self.end.shared().sleepers.wake_all();
        }
    }

    /// The sequence that the slowest consumer reads next, or the next one to be published if there is
    /// no consumer. It is not below what was known before, though a consumer that joins may have written a
    /// sequence that is long past, before it begins at a later one ("Joining").
    fn slowest(&self) -> u64 {
        let consumers = &self.end.words()[..self.end.sizes.consumers];
        // Acquire: pairs with the release with which a consumer writes its word; it does not read the
        // entries before any more.
        let words = consumers.iter().map(|word| word.at.load(Ordering::Acquire));
        let sequences = words.filter(|word| *word != ABSENT).map(sequence);
        let known = self.gate - self.end.sizes.capacity as u64;
        sequences.fold(self.published, u64::min).max(known)
    }

    /// Looks at the words of the consumers.
    #[cold]
    #[inline(never)]
    fn look(&mut self) {
        // One half of "Joining": what is published was stored before, and the words are read after.
        fence(Ordering::SeqCst);
        self.gate = self.slowest() + self.end.sizes.capacity as u64;
        let own = this_thread::number_if_any();
        // Relaxed: a hint.
        let mut threads = (self.end.words().iter()).map(|word| word.thread.load(Ordering::Relaxed));
        self.is_apart = threads.any(|thread| thread != 0 && thread != own);
    }

    /// Makes room for the next entry; publishes the deferred ones if there is none. Returns whether there
    /// is room.
    #[cold]
    #[inline(never)]
    fn make_room_or_flush(&mut self) -> bool {
        if self.make_room(self.tail) {
            return true;
        }
        // Consumers free no place of an entry that they do not find. Only now: a batch that has room is
        // found as a whole. And only if there is one: a store would take the line from the readers.
        if self.tail != self.published {
            self.flush();
            if self.make_room(self.tail) {
                return true;
            }
        }
        self.refusals += 1;
        false
    }

    /// Looks at the words of the readers, and moves followers on that are in the way of this entry.
    /// Returns whether there is room for it.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, entry: u64) -> bool {
        self.look();
        if entry >= self.gate {
            return false;
        }
        let capacity = self.end.sizes.capacity as u64;
        let mut lowest = self.gate - capacity;
        for follower in 0..self.end.sizes.followers {
            if let Some(at) = self.move_on(follower, entry) {
                lowest = lowest.min(at);
            }
        }
        self.limit = lowest + capacity;
        true
    }

    /// Moves a follower on if it is in the way of this entry. Returns the sequence from which on it
    /// may read, or `None` if that is none for now.
    fn move_on(&mut self, follower: usize, entry: u64) -> Option<u64> {
        let capacity = self.end.sizes.capacity as u64;
        let number = self.end.sizes.consumers + follower;
        // Acquire, here and below: pairs with the release with which a follower writes its word, as for
        // consumers. Release is not needed: what a follower reads next was published, and where it begins
        // again the fence in `begin` orders what it reads (`lapped-begins`).
        let mut seen = self.end.words()[number].at.load(Ordering::Acquire);
        loop {
            // A lapped one begins again, like one that joins.
            if seen == ABSENT || state(seen) == State::Lapped {
                return None;
            }
            let at = sequence(seen);
            if at + capacity > entry {
                return Some(at);
            }
            let is_reading = state(seen) == State::Reading;
            let moved = if is_reading {
                word(at, State::Lapped)
            } else {
                // An eighth further than necessary, so that not each push has to look.
                let next = entry + 1 - capacity + capacity / 8;
                // Not before what is noted, which was published then (`lapped-begins`).
                let next = next.min(self.published).max(self.noted()[follower].begins);
                word(next, State::Idle)
            };
            let its_word = &self.end.words()[number].at;
            match its_word.compare_exchange(seen, moved, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) if is_reading => {
                    let cell = self.end.cell_of(self.end.place(at)) as u32;
                    let noted = &mut self.noted()[follower];
                    let was_lapped = core::mem::replace(&mut noted.lapped, moved) != 0;
                    noted.cell = cell;
                    // If it was noted as lapped, it has continued since, and read that cell.
                    self.exceptions += usize::from(!was_lapped);
                    return None;
                }
                Ok(_) => seen = moved,
                // The follower was faster, and is nearer to the tail.
                Err(actual) => seen = actual,
            }
        }
    }

    /// Chooses the cell for an entry: its place's own one unless a lapped follower reads it.
    #[cold]
    #[inline(never)]
    fn choose(&mut self, entry: u64) -> usize {
        // Entries from here on were written for a claim that was dropped. (A number that is too small means
        // that cells were not chosen since, and that each place has its own.)
        for dropped in entry..self.chosen {
            self.set_cell(self.end.place(dropped), self.end.place(dropped));
        }
        self.chosen = entry + 1;
        let Sizes {
            capacity,
            consumers,
            followers,
        } = self.end.sizes;
        // One half of "Joining", for `lapped-begins`.
        fence(Ordering::SeqCst);
        for follower in 0..followers {
            let word = &self.end.words()[consumers + follower].at;
            // Acquire: pairs with the release with which the follower continues; it has read the cell.
            let now = word.load(Ordering::Acquire);
            let published = self.published;
            let noted = &mut self.noted()[follower];
            if noted.lapped == now {
                noted.begins = published;
            } else if noted.lapped != 0 {
                noted.lapped = 0;
                self.exceptions -= 1;
            }
        }
        let place = self.end.place(entry);
        let current = self.end.cell_of(place);
        let noted = self.noted();
        let is_read = |cell: usize| {
            let mut lapped = noted.iter().filter(|it| it.lapped != 0);
            lapped.any(|it| it.cell as usize == cell)
        };
        let own_or_current = [place, current].into_iter().find(|cell| !is_read(*cell));
        let cell = own_or_current.unwrap_or_else(|| {
            let taken = noted.iter().flat_map(|it| it.taken);
            let mut spares = (capacity..).zip(taken);
            let free = spares.find(|(cell, is_taken)| !is_taken && !is_read(*cell));
            free.expect("two spares for each follower").0
        });
        self.set_cell(place, cell);
        cell
    }

    /// Sets the cell of a place: the own one, or a spare.
    fn set_cell(&mut self, place: usize, cell: usize) {
        let current = self.end.cell_of(place);
        if cell == current {
            return;
        }
        for (it, is_taken) in [(current, false), (cell, true)] {
            let Some(spare) = it.checked_sub(self.end.sizes.capacity) else {
                continue;
            };
            self.noted()[spare / SPARES].taken[spare % SPARES] = is_taken;
            self.exceptions = if is_taken {
                self.exceptions + 1
            } else {
                self.exceptions - 1
            };
        }
        // Relaxed: see `published-entries`.
        self.end.table()[place].store(cell as u32, Ordering::Relaxed);
    }

    fn noted(&mut self) -> &mut [Noted] {
        // SAFETY: only the producer uses it, which is borrowed.
        unsafe { self.end.noted() }
    }

    /// Returns the number of entries that were pushed, deferred ones included: the sequence of the next
    /// one. O(1).
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.tail
    }

    /// Returns the number of consumers: of readers that the producer waits for. O(consumers).
    ///
    /// A consumer that is dropped is not waited for any more, even if it is dropped because its thread
    /// panics. A program that must not go on without its journal compares this number.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (producer, readers) = BroadcastRing::<u64>::with_capacity(8, 2).split();
    /// let journal = readers.join();
    /// assert_eq!(producer.consumers(), 1);
    /// drop(journal);
    /// assert_eq!(producer.consumers(), 0);
    /// ```
    #[must_use]
    pub fn consumers(&self) -> usize {
        self.end.count(State::Gating)
    }

    /// Returns the number of followers. O(followers).
    #[must_use]
    pub fn followers(&self) -> usize {
        self.end.count(State::Idle)
    }

    /// Returns the number of places that no consumer is in the way of. As many pushes succeed, whatever
    /// the readers do: the producer remembers it, and so is borrowed mutably. O(consumers).
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(4, 1).split();
    /// let consumer = readers.join().unwrap();
    /// producer.push(7).unwrap();
    /// assert_eq!(producer.free(), 3);
    /// drop(consumer);
    /// assert_eq!(producer.free(), 4);
    /// ```
    #[must_use]
    pub fn free(&mut self) -> usize {
        self.look();
        (self.gate - self.tail) as usize
    }

    /// Returns the maximum number of entries. O(1).
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.end.sizes.capacity
    }

    /// Returns the figures of the ring: how many places consumers are in the way of, how many are free,
    /// its bytes, and how often a push or a claim found it full. O(consumers).
    ///
    /// `live` is how far the slowest consumer is behind. Each call that found the ring full counts,
    /// those of a loop that tries again too: such a loop compares [`free`](Self::free), which counts
    /// nothing.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(1, 1).split();
    /// let _consumer = readers.join().unwrap();
    /// producer.push(7).unwrap();
    /// producer.push(8).unwrap_err();
    /// let stats = producer.stats();
    /// assert_eq!((stats.live, stats.free, stats.refusals), (1, 0, Some(1)));
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        let (taken, capacity) = ((self.tail - self.slowest()) as usize, self.capacity());
        let bytes = self.memory().bytes();
        let mut stats = Stats::new(taken, capacity - taken, capacity, bytes);
        stats.refusals = Some(self.refusals);
        stats
    }

    pub(super) fn memory(&self) -> Report {
        self.end.memory()
    }
}

/// Publishes the deferred entries, and wakes readers that sleep.
impl<T> Drop for BroadcastProducer<T> {
    fn drop(&mut self) {
        self.flush();
        // Release: pairs with the acquire in `End::is_closed`.
        self.end.shared().ended.store(1, Ordering::Release);
        self.wake();
    }
}

/// Prints the number of entries and the like.
impl<T> fmt::Debug for BroadcastProducer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastProducer")
            .field("sequence", &self.tail)
            .field("capacity", &self.capacity())
            .field("refusals", &self.refusals)
            .finish()
    }
}

/// Room for entries that are published together, from [`BroadcastProducer::claim`].
///
/// If it is dropped, nothing is published, and the next entries take the places.
#[must_use = "entries of a claim that is dropped are not published"]
pub struct BroadcastClaim<'a, T> {
    producer: &'a mut BroadcastProducer<T>,
    /// The sequence of the next entry of the claim; the first one is the producer's tail.
    next: u64,
    end: u64,
}

impl<T: Copy> BroadcastClaim<'_, T> {
    /// Writes the next entry.
    ///
    /// # Panics
    ///
    /// Panics if as many entries were written as were claimed.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        assert!(self.remaining() != 0, "claim is full");
        if self.next >= self.producer.limit {
            // No consumer is in the way, so there is room.
            self.producer.make_room(self.next);
        }
        self.producer.write(self.next, value);
        self.next += 1;
    }
}

impl<T> BroadcastClaim<'_, T> {
    /// Returns the number of entries that can still be written.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        (self.end - self.next) as usize
    }

    /// Publishes the entries that were written, and returns the sequence of the first one.
    #[inline]
    pub fn publish(self) -> u64 {
        let first = core::mem::replace(&mut self.producer.tail, self.next);
        self.producer.flush();
        first
    }
}

/// Prints how many entries were written.
impl<T> fmt::Debug for BroadcastClaim<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastClaim")
            .field("len", &(self.next - self.producer.tail))
            .field("remaining", &self.remaining())
            .finish()
    }
}
