//! The block of a broadcast ring: how far the producer and each reader are, and the entries.
//!
//! An entry has a *sequence*: the number of entries before it. Its *place* is the sequence modulo the
//! capacity, a power of two. The producer writes an entry over the one a capacity before it, once no
//! reader needs that. Each reader has a *word*: the sequence that it reads next, and its state.
//!
//! # Readers that gate, and readers that do not
//!
//! The producer waits for a consumer: it reads the consumer's word, and writes no entry that is a
//! capacity or more after it. It does not wait for a follower. If a follower is in its way it moves
//! the follower's word on, by a compare-exchange. A follower marks its word before it reads an entry,
//! by a compare-exchange too, and learns so that it was moved.
//!
//! A follower that is stopped while it reads an entry cannot be moved. The producer marks its word
//! *lapped*, leaves the cell of that entry to it, and writes the next entry of that place to another
//! cell. `table` says which cell a place has. There are two spare cells for each follower:
//!
//! * A spare is in use while a lapped follower reads it, or while a place has it because a lapped
//!   follower read the place's own cell when the place was last written. Say that it is in use *for*
//!   that follower.
//! * A follower reads one cell at a time. Let `e` be the last entry that was written to a spare while the
//!   follower read the place's own cell, and `p` the number of entries that were published then. The
//!   follower continues at `p` or later (`lapped-begins`). So it is lapped again by an entry after `e`
//!   (which was below `p` + capacity), and only once more than `p` entries are published, so that `e` is
//!   published too. After that it continues behind `e`, and the lap after that is by an entry more than a
//!   capacity after `e`: that place was written again before, to its own cell.
//! * So no more than two spares are in use for a follower, and one is free for one that is lapped.
//! * An entry of a claim that was dropped is never published. Its place gives its spare up when a place is
//!   chosen a cell for the next time.
//!
//! # Joining
//!
//! The producer looks at the words only when it reaches the sequence up to which it knows that no
//! reader is in its way, so it may not notice a reader that joins before it has gone on by a capacity.
//! A reader first writes its word, and then reads how many entries are published, with a fence
//! between the two. The producer publishes, and then reads the words, with a fence between the two. So
//! a look that missed the word was after a publication that the reader has seen: the reader begins
//! at that entry or a later one, and the producer knows no more places to be free than up to a
//! capacity after it. A follower that was lapped continues in the same way.
//!
//! # Invariants
//!
//! * `own-words`: each word is of at most one reader, which took it by a compare-exchange from
//!   [`ABSENT`]. Only that reader writes it, except that the producer moves the word of an idle
//!   follower on, and marks the word of a reading one.
//! * `readers-in-front`: a consumer, and a follower that reads or is about to, is at a sequence `s`
//!   such that the producer writes no entry from `s` + capacity on before it has seen the reader
//!   further, or absent, or has moved it. So the entries that are published from `s` on are not
//!   written to.
//! * `published-entries`: entries below `published` are written. An entry's cell is the place's own
//!   one if the ring has no followers, and else the one that `table` says. The producer writes to
//!   `table` before it publishes the entry, and after `readers-in-front` allows to write the entry, or has
//!   allowed it for an entry of a claim that was dropped.
//! * `lapped-cells`: the cell of an entry that a follower reads while its word is lapped is noted by the
//!   producer, which does not write to it before it has seen the word changed.
//! * `lapped-begins`: where a cell was chosen while a follower was lapped, and `p` entries were published
//!   then, who has its word next reads no entry before `p`. It has not written its word before the
//!   producer's fence in that choice, so it reads `p` after its own ("Joining"); and where the producer
//!   moves it on because it was faster, it moves it to `p` or further. That is needed: the sequence that a
//!   word begins with may have been read long before, in `join` of another thread.
//! * `block-of-owners`: the block stays until `owners` is 0. Each end is counted: the producer, the
//!   readers' handle, and each reader.

use core::alloc::Layout;
use core::ptr::NonNull;
#[cfg(feature = "std")]
use std::time::Instant;

use super::Wait;
use crate::error::{AllocError, BuildError};
#[cfg(feature = "std")]
use crate::raw::atomic::thread;
use crate::raw::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::this_thread;
use crate::raw::touch::prefetch_to_write;
#[cfg(feature = "std")]
use crate::sync::sleepers::Sleepers;

/// On a line of its own, together with the line that processors load with it.
#[repr(align(128))]
pub(super) struct Line(pub(super) AtomicU64);

/// The word of a reader, on a line of its own.
#[repr(align(128))]
pub(super) struct Word {
    pub(super) at: AtomicU64,
    /// The number of the thread that reads, or read last; 0 if it is not known.
    pub(super) thread: AtomicUsize,
}

/// The word of no reader.
pub(super) const ABSENT: u64 = u64::MAX;

/// What a reader does that is at a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A consumer: the producer waits for it.
    Gating = 0,
    /// A follower between two entries.
    Idle = 1,
    /// A follower that reads an entry.
    Reading = 2,
    /// A follower that reads an entry for which the producer did not wait.
    Lapped = 3,
}

/// The word of a reader. Sequences have 62 bits: at one entry a nanosecond they last 146 years.
pub(super) const fn word(sequence: u64, state: State) -> u64 {
    sequence << 2 | state as u64
}

/// The sequence of a reader's word.
pub(super) const fn sequence(word: u64) -> u64 {
    word >> 2
}

/// The state of a reader's word.
pub(super) const fn state(word: u64) -> State {
    match word & 3 {
        0 => State::Gating,
        1 => State::Idle,
        2 => State::Reading,
        _ => State::Lapped,
    }
}

/// The state that all ends share, at the start of their block.
pub(super) struct Shared {
    /// The number of entries that readers may read.
    pub(super) published: Line,
    owners: AtomicUsize,
    /// Not 0 once the producer is dropped.
    pub(super) ended: AtomicU32,
    #[cfg(feature = "std")]
    pub(super) sleepers: Sleepers,
    /// One for each cell, which loom does not see.
    #[cfg(all(test, loom))]
    witnesses: Vec<loom::cell::UnsafeCell<()>>,
    block: Block,
}

/// The spare cells for each follower.
pub(super) const SPARES: usize = 2;

/// What the producer notes for a follower, and for its spare cells.
pub(super) struct Noted {
    /// The word with which the follower was lapped, as far as is known; 0 if it is not.
    pub(super) lapped: u64,
    /// The number of entries that were published when a cell was last chosen while it was lapped
    /// (`lapped-begins`).
    pub(super) begins: u64,
    /// The number of the cell that it reads then.
    pub(super) cell: u32,
    /// Which of the spare cells a place has.
    pub(super) taken: [bool; SPARES],
}

/// The sizes of a ring.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// A power of two.
    pub(super) capacity: usize,
    pub(super) consumers: usize,
    pub(super) followers: usize,
}

/// A share in a ring.
pub(super) struct End {
    shared: NonNull<Shared>,
    words: NonNull<Word>,
    table: NonNull<AtomicU32>,
    noted: NonNull<Noted>,
    cells: NonNull<u8>,
    pub(super) sizes: Sizes,
    /// How readers wait.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "there is one way"))]
    pub(super) wait: Wait,
}

impl Word {
    /// Notes which thread reads: a hint for the producer.
    #[inline(always)]
    pub(super) fn note_thread(&self) {
        let thread = this_thread::number();
        // Relaxed, both: a hint. Seldom written: the producer reads the line.
        if self.thread.load(Ordering::Relaxed) != thread {
            self.thread.store(thread, Ordering::Relaxed);
        }
    }
}

impl End {
    /// Makes a ring of values of this type, with one owner.
    ///
    /// # Errors
    ///
    /// If the block would be too large, or the source refuses.
    pub(super) fn make<T>(sizes: Sizes, wait: Wait, source: &Source) -> Result<Self, BuildError> {
        let Sizes {
            capacity,
            consumers,
            followers,
        } = sizes;
        // Both of them are limited by the builder, far below an overflow.
        let readers = consumers + followers;
        let table = if followers == 0 { 0 } else { capacity };
        let too_large = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        };
        let parts = || {
            let layout = Layout::new::<Shared>();
            let (layout, words) = layout.extend(Layout::array::<Word>(readers).ok()?).ok()?;
            let (layout, table) = layout
                .extend(Layout::array::<AtomicU32>(table).ok()?)
                .ok()?;
            let (layout, noted) = layout
                .extend(Layout::array::<Noted>(followers).ok()?)
                .ok()?;
            let (layout, cells) = layout
                .extend(Layout::array::<T>(capacity + SPARES * followers).ok()?)
                .ok()?;
            Some((layout, words, table, noted, cells))
        };
        let (layout, words, numbers, noted, cells) = parts().ok_or(too_large)?;
        let block = Block::allocate(layout, source)?;
        block.touch();
        let start = block.start();
        // SAFETY: the block has room for the state, the words, the table, the notes and the cells, at
        // these offsets, and nothing else uses it.
        let end = unsafe {
            let end = End {
                shared: start.cast(),
                words: start.add(words).cast(),
                table: start.add(numbers).cast(),
                noted: start.add(noted).cast(),
                cells: start.add(cells),
                sizes,
                wait,
            };
            for number in 0..readers {
                end.words.add(number).write(Word {
                    at: AtomicU64::new(ABSENT),
                    thread: AtomicUsize::new(0),
                });
            }
            for number in 0..table {
                end.table.add(number).write(AtomicU32::new(number as u32));
            }
            for number in 0..followers {
                end.noted.add(number).write(Noted {
                    lapped: 0,
                    begins: 0,
                    cell: 0,
                    taken: [false; SPARES],
                });
            }
            end.shared.write(Shared {
                published: Line(AtomicU64::new(0)),
                owners: AtomicUsize::new(1),
                ended: AtomicU32::new(0),
                #[cfg(feature = "std")]
                sleepers: Sleepers::new(),
                #[cfg(all(test, loom))]
                witnesses: (0..capacity + SPARES * followers)
                    .map(|_| Default::default())
                    .collect(),
                block,
            });
            end
        };
        Ok(end)
    }

    /// Another share.
    pub(super) fn share(&self) -> Self {
        // Relaxed: this share stays an owner. Each owner is the producer, the handle, or a reader
        // that has a word or has just given it up, so there are far fewer than would overflow.
        self.shared().owners.fetch_add(1, Ordering::Relaxed);
        End { ..*self }
    }

    #[inline(always)]
    pub(super) fn shared(&self) -> &Shared {
        // SAFETY: valid as long as this is an owner (`block-of-owners`).
        unsafe { self.shared.as_ref() }
    }

    /// The words: first those of consumers, then those of followers.
    #[inline(always)]
    pub(super) fn words(&self) -> &[Word] {
        let readers = self.sizes.consumers + self.sizes.followers;
        // SAFETY: so many were written when the block was made, which stays as long as this
        // (`block-of-owners`).
        unsafe { core::slice::from_raw_parts(self.words.as_ptr(), readers) }
    }

    /// The word of a reader.
    ///
    /// # Safety
    ///
    /// There is a reader of this number.
    #[inline(always)]
    pub(super) unsafe fn word(&self, number: usize) -> &Word {
        // SAFETY: a reader's number is below that of words (precondition), which stay (see `words`).
        unsafe { self.words.add(number).as_ref() }
    }

    /// The number of readers of a kind.
    pub(super) fn count(&self, kind: State) -> usize {
        let (consumers, followers) = self.words().split_at(self.sizes.consumers);
        let words = if kind == State::Gating {
            consumers
        } else {
            followers
        };
        // Relaxed: nothing is read by it.
        let words = words.iter().map(|word| word.at.load(Ordering::Relaxed));
        words.filter(|word| *word != ABSENT).count()
    }

    /// The cells of places, if the ring has followers, and else nothing.
    #[inline(always)]
    pub(super) fn table(&self) -> &[AtomicU32] {
        let len = if self.sizes.followers == 0 {
            0
        } else {
            self.sizes.capacity
        };
        // SAFETY: as in `words`.
        unsafe { core::slice::from_raw_parts(self.table.as_ptr(), len) }
    }

    /// What the producer notes.
    ///
    /// # Safety
    ///
    /// Only the producer calls this, and has no other reference from an earlier call.
    #[expect(clippy::mut_from_ref, reason = "the caller has the only one")]
    pub(super) unsafe fn noted(&self) -> &mut [Noted] {
        // SAFETY: as in `words`; only the producer uses them (precondition).
        unsafe { core::slice::from_raw_parts_mut(self.noted.as_ptr(), self.sizes.followers) }
    }

    /// Takes a word for a new reader. Returns its number, and the sequence that the reader begins at.
    /// Returns `None` if there is no word left.
    pub(super) fn join(&self, state: State) -> Option<(usize, u64)> {
        let Sizes {
            consumers,
            followers,
            ..
        } = self.sizes;
        let numbers = match state {
            State::Gating => 0..consumers,
            _ => consumers..consumers + followers,
        };
        for number in numbers {
            let first = word(self.published(), state);
            // Relaxed: the fence in `begin` makes this read acquire the end of the reader before, and what
            // acquires this exchange, or the one in `begin`, acquires the release that they follow.
            let taken = self.words()[number].at.compare_exchange(
                ABSENT,
                first,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                self.words()[number].note_thread();
                return Some((number, self.begin(number, first)));
            }
        }
        None
    }

    /// Determines the sequence that a reader begins at, after it has written its word. Returns the
    /// sequence, which its word then has.
    pub(super) fn begin(&self, number: usize, written: u64) -> u64 {
        // The other half of "Joining": the word was written before, and what is published is read
        // after.
        fence(Ordering::SeqCst);
        let first = self.published();
        let begins = word(first, state(written));
        // It fails if the producer has moved the follower on, which then begins there. Relaxed: see
        // `join`; entries are read after their publication is acquired.
        let begun = self.words()[number].at.compare_exchange(
            written,
            begins,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        begun.map_or_else(sequence, |_| first)
    }

    /// Waits, in the ring's way, until an entry of this sequence is published or the ring is closed, or
    /// until `end`. Returns whether it is.
    #[cfg(feature = "std")]
    pub(super) fn wait(&self, sequence: u64, end: Option<Instant>) -> bool {
        let is_ready = || self.published() > sequence || self.is_closed();
        if self.wait == Wait::Park {
            let sleepers = &self.shared().sleepers;
            return sleepers.wait(end, || is_ready().then_some(())).is_some();
        }
        while !is_ready() {
            if end.is_some_and(|end| end <= Instant::now()) {
                return false;
            }
            match self.wait {
                Wait::Spin => core::hint::spin_loop(),
                _ => thread::yield_now(),
            }
        }
        true
    }

    /// Waits until an entry of this sequence is published or the ring is closed.
    #[cfg(not(feature = "std"))]
    pub(super) fn wait(&self, sequence: u64) {
        while self.published() <= sequence && !self.is_closed() {
            core::hint::spin_loop();
        }
    }

    /// The place of an entry.
    #[inline(always)]
    pub(super) fn place(&self, sequence: u64) -> usize {
        sequence as usize & (self.sizes.capacity - 1)
    }

    /// The number of the cell that a place has now.
    #[inline(always)]
    pub(super) fn cell_of(&self, place: usize) -> usize {
        match self.table().get(place) {
            // Relaxed: see `published-entries`; a reader acquired the publication of the entry, and its
            // next write to its word, which is a release, allows the producer to change this.
            Some(cell) => cell.load(Ordering::Relaxed) as usize,
            None => place,
        }
    }

    /// Copies the value of a cell.
    ///
    /// # Safety
    ///
    /// The ring is one of values of this type. The number is one of [`cell_of`](Self::cell_of), of an
    /// entry that was published, and no thread writes to the cell.
    #[inline(always)]
    pub(super) unsafe fn read<T: Copy>(&self, cell: usize) -> T {
        #[cfg(all(test, loom))]
        self.shared().witnesses[cell].with(|_| ());
        // SAFETY: there is such a cell, with a value, to which no one writes (preconditions).
        unsafe { self.cells.cast::<T>().add(cell).read() }
    }

    /// Writes a value to a cell.
    ///
    /// # Safety
    ///
    /// The ring is one of values of this type. The number is one of the cells', and no
    /// other thread uses the cell.
    #[inline(always)]
    pub(super) unsafe fn write<T: Copy>(&self, cell: usize, value: T) {
        debug_assert!(cell < self.sizes.capacity + SPARES * self.sizes.followers);
        #[cfg(all(test, loom))]
        self.shared().witnesses[cell].with_mut(|_| ());
        // SAFETY: there is such a cell, which no one else uses (preconditions).
        unsafe { self.cells.cast::<T>().add(cell).write(value) };
    }

    /// Prefetches the line of an entry that is written soon, for writing: a reader has it. Once for all
    /// entries of a line.
    #[inline(always)]
    pub(super) fn prefetch<T>(&self, sequence: u64) {
        let start = self
            .cells
            .cast::<T>()
            .as_ptr()
            .wrapping_add(self.place(sequence));
        // SAFETY: an address in the block is not null.
        let start = unsafe { NonNull::new_unchecked(start) };
        prefetch_to_write(start.cast(), size_of::<T>());
    }

    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the release in the drop of the producer, which published before.
        self.shared().ended.load(Ordering::Acquire) != 0
    }

    /// The number of entries that may be read.
    #[inline(always)]
    pub(super) fn published(&self) -> u64 {
        // Acquire: pairs with the release in `BroadcastProducer::flush`; the entries are written.
        self.shared().published.0.load(Ordering::Acquire)
    }

    pub(super) fn memory(&self) -> Report {
        let block = &self.shared().block;
        Report::new(block.layout().size(), block.source())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Release: what this owner did happens before the block is freed. Acquire: for the last one,
        // which pairs with the others' release.
        if self.shared().owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last owner (`block-of-owners`). The state is moved out of the block,
            // which is dropped with it.
            drop(unsafe { self.shared.read() });
        }
    }
}
