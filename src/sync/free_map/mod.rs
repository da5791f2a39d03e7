//! `FreeMap`: the free cells of a container that threads share, as a bitmap.
//!
//! One bit a cell, in *words* of 64. Above the words there is a tree of *summaries*, with a bit for
//! each word (or summary) below, up to one at the top. A word whose bit is set there is *listed*.
//! Each thread has a *home* ([`home`]), which keeps it away from the others: a *spare*, which has
//! room for one cell, a *hint* to the word in which it found or gave a cell last, and the word from
//! which on it searches. There is no head of a list whose value could recur with another content.
//!
//! # A cell
//!
//! ```text
//!               give: put                   take: claim
//!   IN A SPARE <─────────── OF A THREAD <──────────────── IN ITS WORD
//!              ───────────>             ────────────────>
//!               take: take              give: give_to_word
//! ```
//!
//! Each arrow is one read-modify-write, of the spare or of the word. The giver's releases and the
//! taker's acquires, so what a thread did with a cell happens before what the next one does. The
//! taker's releases too: who sees that a cell was taken sees what that thread gave before.
//!
//! # A word, and the bit above that lists it
//!
//! ```text
//!                   no cell      give_to_word        a cell
//!   not listed       EMPTY  ───────────────────────> HIDDEN
//!                    │  ^   <──── claim (the last)    │  ^
//!               list │  │ unlist                 list │  │ unlist
//!                    v  │                             v  │
//!   listed           VAIN   ───────────────────────> FOUND
//!                           <──── claim (the last)
//! ```
//!
//! Any thread may take any arrow at any time. Who makes a word hidden, or listed in vain, goes on:
//!
//! * `give_to_word` looks at the bit above *after* its change of the word, and lists the word.
//! * `claim` of the last cell *closes* the word: it unlists it, and then looks at the word *again*,
//!   by a read-modify-write; if there is a cell, it lists the word. A search that meets a word that
//!   is listed in vain closes it too, so it does not wait for the thread that owes that.
//! * `list` looks at the word again: if its cell is gone, it closes the word.
//!
//! Of the giver's change and the closer's second look, one is first. If it is the giver's, the look
//! finds the cell. If it is the look, the giver acquires what the look released, the cleared bit,
//! and lists the word. (A look *before* unlisting is no help: another giver may have been first, and
//! be stopped before it lists the word.) The same holds for a summary, whose bits are its cells, and
//! the one above: who sets its first bit lists it, who clears its last one closes it.
//!
//! A closer may be stopped between its two steps. So it *notes* the word ([`note`]) before the
//! first one, and strikes it out after the second: what it hides is on the path from there to the
//! top. If all notes are in use, the word stays listed in vain.
//!
//! # That no cell is free
//!
//! A search reads the notes and the spares, looks from the top for a word, then along the paths
//! that are noted, then into the spares, and begins anew if a note or a spare changed. A spare
//! counts the cells taken from it and a note the passes of closings, so none that is unchanged had
//! a cell that moved behind the search's back, or cleared a bit of which it does not know.
//!
//! * Without a closing, no cell was free when it read the top: only a giver that has not returned
//!   can have a hidden word.
//! * With one, none was free when it looked at that closing's word: a cell in another one is listed
//!   on the path from there to the top by a bit that this closing does not clear.
//! * Of several, one may hide the word to which a cell moves from the other's word. A pass clears
//!   one bit on each of L levels, so C closings whose notes do not change clear at most C L bits.
//!   The search looks C L + 1 times: during one of the looks no bit was cleared. It looks along
//!   paths as closers do, by changes that change nothing: a giver that comes later sees each bit as
//!   cleared that was seen so.
//! * With words that could not be noted, it reads all words: then each cell was taken at some
//!   moment of the call, not all at one.
//!
//! # Invariants
//!
//! * `one-place-each`: `capacity` bits stand for the cells, the first ones of `words`. Each cell is
//!   at one place: its bit is set, or it is in one spare, or a thread has it. The thread that
//!   clears the bit or empties the spare has the cell until it gives it back.
//! * `listed-or-noted`: if a bit of a word was set by a thread that has completed giving, the word
//!   is listed, and so is each summary above it. The exception: a closing is noted whose word is
//!   below the same unlisted word or summary, or is that word; that closing will list it.
//! * `map-block`: homes, summaries and words are in `block` from `homes`, `summaries` and `words`
//!   on. They are atomics, except for fields that are written once, and are only reached through
//!   shared references.

mod home;
#[cfg(all(test, loom))]
mod models;
mod note;
#[cfg(all(test, not(loom)))]
mod tests;

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::atomic::Ordering;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::{AtomicU32, AtomicU64};
use crate::raw::memory::Block;
use crate::raw::source::Source;
#[cfg(all(test, not(loom)))]
use crate::sync::counted::{AtomicU32, AtomicU64};
use home::{APART, Home, Spare};
pub(in crate::sync) use home::{MOST_HOMES, thread_number};
use note::{NOTED_WORD, Note};

/// The most levels of summaries: one lists 2^12 cells, two 2^18, three 2^24, four all that there can
/// be.
const MOST_LEVELS: usize = if cfg!(loom) { 24 } else { 4 };

/// The cells of a word, by logarithm.
const BITS: u32 = u64::BITS.ilog2();

const _: () = assert!((MAX_SLOTS >> BITS) as u64 + 1 < NOTED_WORD);

/// The number of words or summaries that a summary lists, by logarithm. It is smaller in models,
/// which so have more levels.
const FAN: u32 = if cfg!(loom) { 1 } else { BITS };

/// The free cells of a container that threads share, or the returned ones of its cells.
pub(crate) struct FreeMap {
    homes: NonNull<Home>,
    summaries: NonNull<AtomicU64>,
    words: NonNull<AtomicU64>,
    capacity: usize,
    home_count: usize,
    levels: u32,
    /// The index of the first summary of each level, from the lowest level on.
    offsets: [u32; MOST_LEVELS],
    block: Block,
}

// SAFETY: what it points to is its own (`map-block`), and `Sync`.
unsafe impl Send for FreeMap {}
// SAFETY: all that changes is atomic (`map-block`).
unsafe impl Sync for FreeMap {}

impl core::panic::UnwindSafe for FreeMap {}
impl core::panic::RefUnwindSafe for FreeMap {}

/// The number of summaries that list `words` words.
const fn listing(words: usize) -> usize {
    words.div_ceil(1 << FAN)
}

impl FreeMap {
    /// A map of `capacity` cells, all of them free; O(capacity / 64). Every page is touched.
    ///
    /// # Errors
    ///
    /// If there are more cells than keys can name, or the source refuses.
    pub(crate) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        Self::try_with(capacity, MOST_HOMES, source, |_| u64::MAX)
    }

    /// A map that contains none of the cells; otherwise like [`try_new`](Self::try_new).
    pub(crate) fn try_new_empty(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        Self::try_with(capacity, MOST_HOMES, source, |_| 0)
    }

    /// A map with at most this number of homes, in which these bits of each word are set.
    fn try_with(
        capacity: usize,
        most_homes: usize,
        source: &Source,
        bits: impl Fn(usize) -> u64,
    ) -> Result<Self, AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError::TooManySlots {
                requested: capacity,
                limit: MAX_SLOTS,
            });
        }
        let words = word_count(capacity);
        let home_count = words.min(most_homes);

        let mut offsets = [0; MOST_LEVELS];
        let (mut levels, mut summary_count, mut listed) = (0, 0, words);
        while levels == 0 || listed > 1 {
            offsets[levels as usize] = summary_count as u32;
            listed = listing(listed);
            summary_count += listed;
            levels += 1;
        }
        // Nothing here wraps: by the limit there are at most 2^24 words.
        let summaries = home_count * size_of::<Home>();
        let words_at = (summaries + summary_count * size_of::<AtomicU64>()).next_multiple_of(APART);
        let bytes = words_at + words * size_of::<AtomicU64>();
        let too_many = AllocError::TooManyBytes {
            slots: words,
            slot_bytes: size_of::<AtomicU64>(),
        };
        let layout = Layout::from_size_align(bytes, APART).map_err(|_| too_many)?;
        let block = Block::allocate(layout, source)?;

        let map = FreeMap {
            homes: block.start().cast(),
            // SAFETY: `summaries` is below the bytes that the block is laid out for.
            summaries: unsafe { block.start().add(summaries).cast() },
            // SAFETY: `words_at` is below the bytes that the block is laid out for.
            words: unsafe { block.start().add(words_at).cast() },
            capacity,
            home_count,
            levels,
            offsets,
            block,
        };
        map.fill(bits);
        Ok(map)
    }

    /// Writes everything for the first time. Words that are not empty are listed.
    fn fill(&self, bits: impl Fn(usize) -> u64) {
        let words = word_count(self.capacity);
        for home in 0..self.home_count {
            // From the start of a line, if there are as many.
            let first = home * words / self.home_count;
            let first = if words < MOST_HOMES * WORDS_OF_LINE {
                first
            } else {
                first & !(WORDS_OF_LINE - 1)
            };
            // SAFETY: within the block, which no one else has yet.
            unsafe {
                self.homes.add(home).write(Home {
                    spare: Spare(AtomicU64::new(0)),
                    hint: AtomicU32::new(first as u32),
                    first: first as u32,
                    note: Note(AtomicU64::new(0)),
                });
            }
        }
        for word in 0..words {
            let cells = (self.capacity - (word << BITS)).min(u64::BITS as usize);
            let bits = bits(word) & first_bits(cells);
            // SAFETY: by `map-block` there are `words` words, which no one else has yet.
            unsafe { self.words.add(word).write(AtomicU64::new(bits)) };
        }
        let mut listed = words;
        for level in 0..self.levels {
            for place in 0..listing(listed) {
                let mut bits = 0;
                for bit in 0..1 << FAN {
                    let below = place << FAN | bit;
                    // Relaxed: written above.
                    if below < listed && self.listed(level, below).load(Ordering::Relaxed) != 0 {
                        bits |= 1 << bit;
                    }
                }
                let place = self.offsets[level as usize] as usize + place;
                // SAFETY: by `map-block` each level has so many summaries, which no one else has
                // yet.
                unsafe { self.summaries.add(place).write(AtomicU64::new(bits)) };
            }
            listed = listing(listed);
        }
    }

    /// The number of cells.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.block.layout().size()
    }

    /// Number of free cells, exact while no thread takes or gives; O(capacity / 64).
    pub(crate) fn count(&self) -> usize {
        // Relaxed: a number, by which no cell is reached.
        let free = |word| self.word(word).load(Ordering::Relaxed).count_ones() as usize;
        let spares = self.homes().filter(|home| !home.spare.is_empty()).count();
        // Cells may have moved between the two counts.
        let bits: usize = (0..word_count(self.capacity)).map(free).sum();
        self.capacity.min(spares + bits)
    }

    /// Takes a free cell; one locked operation if there is a spare, or the hint is right; otherwise
    /// L loads more, on L levels, and if it was the last cell of a word at most 2 L + 1 changes.
    /// Everything that the [giver](Self::give) of the cell did before happens before.
    ///
    /// `None` means that all cells were taken at one moment of the call; if more threads
    /// closed words than there are homes, and there are several words, that each cell was at some
    /// moment. That takes a load of the top and 4 of each home; for C closings under way, L + 1
    /// changes for each of them, C L + 1 times if there are several. An operation takes longer only
    /// if another thread completed one.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<usize> {
        self.take_from(self.home())
    }

    #[inline(always)]
    fn take_from(&self, home: &Home) -> Option<usize> {
        if let Ok(index) = home.spare.take() {
            return Some(index);
        }
        // Relaxed: a guess.
        let word = home.hint.load(Ordering::Relaxed) as usize;
        // Relaxed: a guess, checked by the exchange.
        let bits = self.word(word).load(Ordering::Relaxed);
        if bits != 0 && self.claim(word, bits) {
            return Some(word << BITS | bits.trailing_zeros() as usize);
        }
        self.search(home)
    }

    /// Clears the lowest bit of a word that has these bits, at least one. Closes the word if that
    /// was the last one.
    #[inline(always)]
    fn claim(&self, word: usize, bits: u64) -> bool {
        let left = bits & (bits - 1);
        // Acquire: pairs with the release of the thread that gave the cell; all changes of a word
        // are read-modify-writes, so later ones of other cells do not intervene. Release: a search
        // that sees the cell taken sees what this thread gave before. Relaxed where it fails:
        // nothing was learnt.
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let claimed = (self.word(word))
            .compare_exchange(bits, left, order.0, order.1)
            .is_ok();
        if claimed && left == 0 {
            self.close(word);
        }
        claimed
    }

    /// Gives a cell back, and makes it likely that the caller's next one is the same; one locked
    /// operation if the spare is empty, or the word is listed; otherwise at most L changes more.
    ///
    /// # Safety
    ///
    /// The cell is not in the map, and the caller gives it up.
    #[inline(always)]
    pub(crate) unsafe fn give(&self, index: usize) {
        // SAFETY: the caller took the cell, and no longer has it (precondition).
        unsafe { self.give_at(self.home(), index) };
    }

    /// # Safety
    ///
    /// The conditions of [`give`](Self::give).
    #[inline(always)]
    unsafe fn give_at(&self, home: &Home, index: usize) {
        debug_assert!(index < self.capacity);
        if !home.spare.put(index) {
            // SAFETY: the caller's cell, which was not put anywhere.
            unsafe { self.give_to_word(home, index) };
        }
    }

    /// # Safety
    ///
    /// The conditions of [`give`](Self::give).
    #[inline(always)]
    unsafe fn give_to_word(&self, home: &Home, index: usize) {
        let word = index >> BITS;
        // Release: pairs with the acquire of the thread that takes the cell. Acquire: pairs with
        // the second look of the thread that closes this word (`listed-or-noted`).
        let before = (self.word(word)).fetch_or(1 << (index & 63), Ordering::AcqRel);
        debug_assert!(before & 1 << (index & 63) == 0, "given twice");
        self.list(word);
        // Relaxed: a guess.
        home.hint.store(word as u32, Ordering::Relaxed);
    }

    /// Lists a word on every level where it is not listed.
    #[inline(always)]
    fn list(&self, word: usize) {
        // As in `list_from`; usually everything is listed. The levels above are looked at too: the
        // thread that listed the word may be stopped before it lists those.
        let mut below = word;
        for level in 0..self.levels {
            let summary = self.summary(level, below >> FAN);
            // Acquire: as there.
            if summary.load(Ordering::Acquire) & bit_of(below) == 0 {
                return self.list_given(word, level, below);
            }
            below >>= FAN;
        }
    }

    /// Lists a word to which a cell was given, from a level on, where it is not listed.
    #[cold]
    #[inline(never)]
    fn list_given(&self, word: usize, level: u32, below: usize) {
        self.list_from(level, below);
        // The cell may be gone again, and the thread that took it may have closed the word before
        // it was listed. Relaxed: a search closes what is listed in vain.
        if self.word(word).load(Ordering::Relaxed) == 0 {
            self.close(word);
        }
    }

    /// Lists the word or summary at `below`, under this level, on this level and on those above.
    fn list_from(&self, level: u32, mut below: usize) {
        for level in level..self.levels {
            let summary = self.summary(level, below >> FAN);
            // Acquire: pairs with the release of the thread that closed the summary's own bits
            // above before this one was set, by its second look: that it is closed there is seen.
            if summary.load(Ordering::Acquire) & bit_of(below) == 0 {
                // Acquire: pairs with the second look of the thread that closes this summary
                // (`listed-or-noted`). Release: a search that sees the bit sees the cell, and does
                // not close in vain.
                summary.fetch_or(bit_of(below), Ordering::AcqRel);
            }
            below >>= FAN;
        }
    }

    /// Takes a free cell after the spare and the hint had none.
    #[cold]
    #[inline(never)]
    fn search(&self, home: &Home) -> Option<usize> {
        loop {
            // Acquire: pairs with the release of each closing that has ended: what it listed is
            // seen below.
            let notes = self.notes(Ordering::Acquire);
            let spares = self.spares();
            let mut is_moved = false;
            if let Some(word) = self.find(&notes, home.first as usize) {
                if let Some(index) = self.take_in(word) {
                    // Relaxed: a guess.
                    home.hint.store(word as u32, Ordering::Relaxed);
                    return Some(index);
                }
                // Taken in the meantime, or listed in vain.
                if self.close(word) {
                    continue;
                }
                // More closings are under way than can be noted: without the summaries.
                let mut words = 0..word_count(self.capacity);
                if let Some(index) = words.find_map(|word| self.take_in(word)) {
                    return Some(index);
                }
            } else {
                // Relaxed: the summaries were read by acquiring loads, so this comes after
                // them, and each closing whose cleared bit was seen is noted here. So it was
                // noted before: either it had ended, and what it listed was seen, or `find`
                // went along its path.
                is_moved = self.notes(Ordering::Relaxed) != notes;
            }
            for (home, before) in self.homes().zip(spares) {
                match home.spare.take() {
                    Ok(index) => return Some(index),
                    Err(seen) => is_moved |= seen != before,
                }
            }
            if !is_moved {
                return None;
            }
        }
    }

    /// Takes a free cell of this word.
    fn take_in(&self, word: usize) -> Option<usize> {
        loop {
            // Acquire: pairs with the release of the threads that took the cells.
            let bits = self.word(word).load(Ordering::Acquire);
            if bits == 0 {
                return None;
            }
            if self.claim(word, bits) {
                return Some(word << BITS | bits.trailing_zeros() as usize);
            }
        }
    }

    /// A word that is listed, or hidden by one of these closings; if possible one that follows
    /// `first`. It may be empty.
    fn find(&self, notes: &Notes, first: usize) -> Option<usize> {
        let noted = notes.iter().copied().filter_map(Note::word);
        // One more than the bits that these closings can still clear, if there are several: in one
        // of the looks none is cleared. A single one clears bits on one path only, where the looks
        // follow it.
        let looks = match noted.clone().count() {
            0 | 1 => 1,
            closings => closings * self.levels as usize + 1,
        };
        (0..looks).find_map(|_| {
            let top = self.descend(self.levels - 1, 0, first);
            top.or_else(|| noted.clone().find_map(|word| self.find_on_path(word)))
        })
    }

    /// The word at this path if it has a cell, or a word that one of the summaries above it lists.
    #[cold]
    fn find_on_path(&self, word: usize) -> Option<usize> {
        (0..=self.levels).find_map(|level| {
            let below = word >> (FAN * level);
            match level {
                _ if self.is_empty_now(level, below) => None,
                0 => Some(word),
                _ => self.descend(level - 1, below, word),
            }
        })
    }

    /// A word that is listed below this summary; if possible one that follows `first`. If a summary
    /// below it is listed and empty, the first word of that one: closing it closes the summary too.
    fn descend(&self, level: u32, mut place: usize, first: usize) -> Option<usize> {
        for below in (0..=level).rev() {
            // Acquire: pairs with the release of the thread that cleared or set a bit.
            let bits = self.summary(below, place).load(Ordering::Acquire);
            if bits == 0 && below == level {
                return None;
            }
            let first = first >> (FAN * below);
            let start = if first >> FAN == place {
                first as u32 & ((1 << FAN) - 1)
            } else {
                0
            };
            // An existing summary has a first word.
            let bit = match bits {
                0 => 0,
                bits => (bits.rotate_right(start).trailing_zeros() + start) & 63,
            };
            place = place << FAN | bit as usize;
        }
        Some(place)
    }

    /// Clears the bits that list a word if it is empty, and those that list empty summaries.
    /// Returns `false` if that cannot be noted.
    #[cold]
    #[inline(never)]
    fn close(&self, word: usize) -> bool {
        let own = core::iter::once(self.home());
        let Some(home) = own.chain(self.homes()).find(|home| home.note.begin(word)) else {
            return false;
        };
        // It may be filled and emptied again by threads that close it before it is listed here.
        // Relaxed: as in `list_given`.
        while !self.close_noted(word) && self.word(word).load(Ordering::Relaxed) == 0 {
            home.note.begin_again();
        }
        home.note.end();
        true
    }

    /// Closes a word that is noted; returns whether it was empty.
    fn close_noted(&self, word: usize) -> bool {
        let mut below = word;
        for level in 0..self.levels {
            let is_last = self.unlist(level, below);
            if !self.is_empty_now(level, below) {
                self.list_from(level, below);
                return level != 0;
            }
            if !is_last {
                break;
            }
            below >>= FAN;
        }
        true
    }

    /// Clears the bit that lists the word or summary at `below`; returns whether no other one is set
    /// beside it. The word of a closing that is noted is below.
    fn unlist(&self, level: u32, below: usize) -> bool {
        // Release: pairs with the acquire of a giver whose change comes after the closer's second
        // look, and of a search, which sees the note then.
        let bits = self
            .summary(level, below >> FAN)
            .fetch_and(!bit_of(below), Ordering::Release);
        bits & !bit_of(below) == 0
    }

    /// Whether the word or summary at `below` has no bit, by a change that changes nothing, so that it
    /// has a place among the others: a giver whose change comes later sees each bit as cleared that
    /// the caller has cleared, or seen so.
    fn is_empty_now(&self, level: u32, below: usize) -> bool {
        // Release: pairs with the acquire of that giver. Acquire: as in `take_in`.
        self.listed(level, below).fetch_or(0, Ordering::AcqRel) == 0
    }

    #[inline(always)]
    fn word(&self, word: usize) -> &AtomicU64 {
        debug_assert!(word < word_count(self.capacity));
        // SAFETY: hints, indices, notes and summaries lead to existing words (`one-place-each`,
        // `map-block`).
        unsafe { self.words.add(word).as_ref() }
    }

    /// The word at `place` on that level of the summaries.
    #[inline(always)]
    fn summary(&self, level: u32, place: usize) -> &AtomicU64 {
        debug_assert!(level < self.levels);
        // SAFETY: there are that many levels, and each begins at its offset (`map-block`).
        unsafe {
            let offset = *self.offsets.get_unchecked(level as usize) as usize;
            self.summaries.add(offset + place).as_ref()
        }
    }

    /// The summary that lists the word or summary at `below` on this level.
    fn listed(&self, level: u32, below: usize) -> &AtomicU64 {
        match level {
            0 => self.word(below),
            _ => self.summary(level - 1, below),
        }
    }

    fn homes(&self) -> impl Iterator<Item = &Home> {
        // SAFETY: there are that many (`map-block`).
        (0..self.home_count).map(|home| unsafe { self.homes.add(home).as_ref() })
    }

    /// The notes of all homes.
    fn notes(&self, order: Ordering) -> Notes {
        let mut notes = [0; MOST_HOMES];
        for (note, home) in notes.iter_mut().zip(self.homes()) {
            *note = home.note.0.load(order);
        }
        notes
    }

    /// What is in the spares of all homes.
    fn spares(&self) -> [u64; MOST_HOMES] {
        let mut spares = [0; MOST_HOMES];
        for (spare, home) in spares.iter_mut().zip(self.homes()) {
            // Acquire: pairs with the release of the thread that took the cell.
            *spare = home.spare.0.load(Ordering::Acquire);
        }
        spares
    }

    /// The home of this thread.
    #[inline(always)]
    fn home(&self) -> &Home {
        let home = thread_number() * self.home_count / MOST_HOMES;
        // SAFETY: numbers are below `MOST_HOMES`, so this is below the number of homes
        // (`map-block`).
        unsafe { self.homes.add(home).as_ref() }
    }
}

type Notes = [u64; MOST_HOMES];

const WORDS_OF_LINE: usize = 64 / size_of::<u64>();

/// The number of words, which is 1 for a map without cells.
fn word_count(capacity: usize) -> usize {
    capacity.div_ceil(u64::BITS as usize).max(1)
}

/// The bit that lists the word or summary at `below`.
#[inline(always)]
const fn bit_of(below: usize) -> u64 {
    1 << (below & ((1 << FAN) - 1))
}

/// A word with the first `count` bits set, at most 64.
fn first_bits(count: usize) -> u64 {
    match count {
        0 => 0,
        count => u64::MAX >> (64 - count),
    }
}
