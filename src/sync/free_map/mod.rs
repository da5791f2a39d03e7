//! `FreeMap`: the free cells of a container that threads share, as a bitmap.
//!
//! One bit a cell. The compare-exchange that clears a cell's bit is the claim. There is no head of
//! a list whose value could recur with another content, so there is no tag that could wrap, and no
//! second operation that makes the claim exact. Taking and giving are one locked operation each; a
//! LIFO of tagged indices needs one for each too, and one more for the claim.
//!
//! # Homes
//!
//! Each thread has a *home*, which is on a line of its own. It says from which word on the thread
//! searches, so that threads take their cells from different lines. It has a *hint*, the word in
//! which a thread of that home gave or found a cell last. The next cell is taken from that word,
//! the lowest first, so that cells are used again while they are in the cache. A wrong hint costs a
//! look at an empty word.
//!
//! It also has a *spare*: room for one cell whose bit is not set. A cell is given there if the
//! spare is empty, and a thread takes from the spare of its home first. In a map that is nearly
//! full, each bit that is set lists its word and each bit that is cleared unlists it. A thread that
//! gives one cell and takes one changes neither, wherever the cells are. Without spares that took
//! five more locked operations.
//!
//! # Summaries
//!
//! When the spare and the word of the hint are empty, a search looks for a word with a bit. Above
//! the words there is a tree of summaries, with a bit for each word (or summary) below, up to one
//! word at the top. The giver of a cell sets the bits, and the taker of the last cell of a word
//! clears ("closes") them. A word that is listed and empty was left so by a thread in the middle of
//! an operation. A search closes it too, and does not wait for that thread.
//!
//! The closer clears the bit and looks at the word *again*, by a read-modify-write, and sets the
//! bit back if the word is not empty. The giver changes the word by a read-modify-write and looks
//! at the summary's bit *afterwards*. The two changes of the word have an order. If the giver's
//! comes first, the closer finds the cell's bit and sets the summary's back. If it comes second, it
//! acquires what the closer's released, the cleared bit, so the giver sets it. The same holds for
//! each level and the one above. It does not help to look whether the word was empty *before*:
//! another giver may have been first, and be stopped before it lists the word.
//!
//! Between the two steps of a closer a word with a bit may be unlisted for as long as that thread
//! is stopped. So a closer notes its word in the record of a home before the first step, and
//! strikes it out after the second. All that it hides is on the path from that word to the top. A
//! search that finds nothing looks at the paths that are noted.
//!
//! # When no cell is free
//!
//! A search reads the notes and the spares before it begins, and again at the end. It reports that
//! no cell is free only if neither changed. A note counts the closings and a spare the cells that
//! were taken from it, so one that is unchanged and empty was empty all the time. Otherwise a free cell
//! could move from a spare, which the search has not looked at yet, to a word behind its back, and
//! threads that have a cell each could be refused.
//!
//! If no closing was noted, no cell was free when the search read the top. If one was noted, none
//! was free when the search read the word of that closing: a cell in another word is listed by a
//! bit of a summary on the path from there to the top, and that bit is not one that this closing
//! clears.
//!
//! Of several closings one may clear the bits that list the word to which a cell was moved, and the
//! other one's word may be where it came from. A note counts each pass in which its closing clears
//! bits, one on each level. So C closings can clear at most C L bits, on L levels, while the notes
//! do not change. The search looks C L + 1 times: in one of these looks no bit was cleared, and no
//! cell was free at its end. What it looks at it changes (to what it is), like the closer at its
//! second look: a giver whose change comes later sees each bit that is cleared as cleared.
//!
//! The thread that moves a cell gives one first and takes another one afterwards. Each change by
//! which a cell is taken releases, so a search that sees that the one was taken also sees where the
//! other was given.
//!
//! # How long it takes
//!
//! With L levels of summaries (one for up to 2^12 cells, two to 2^18, three to 2^24, four) and
//! H homes (one for 64 cells, up to 16):
//!
//! * to give: the spare; or a word, then L loads and at most L changes of summaries.
//! * to take: the spare, the hint, then L loads. The taker of the last bit of a word closes the
//!   word: at most 2 L + 1 changes.
//! * to find that no cell is free: 1 load of the top, 4 H of the homes. For a closing under way,
//!   L + 1 changes more; for C closings, C L + 1 times as many for each.
//!
//! An operation takes longer only if another thread was faster: it took the cell, gave one to a
//! spare, or closed something. Each of those threads has completed an operation. There are as many
//! notes as homes. If all are in use, a word may stay listed that is empty: a search that meets one
//! reads all words, and between words, if there are several, a cell may move behind its back.
//!
//! # Tried
//!
//! * Tagged LIFOs in shards: four locked operations for an insertion and a removal, and a tag that
//!   wraps. A prototype, without a search of other shards, was level or a sixth faster.
//! * A tree for each of 16 shards: a search during a closing read capacity / 1024 words.
//! * Closing only in searches: one of them then pays for all words of a map that is full.
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

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use core::alloc::Layout;
#[cfg(all(feature = "std", not(all(test, loom))))]
use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::key::MAX_SLOTS;
#[cfg(all(feature = "std", not(all(test, loom))))]
use crate::raw::atomic::Count;
use crate::raw::atomic::Ordering;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::{AtomicU32, AtomicU64};
use crate::raw::memory::Block;
use crate::raw::source::Source;
#[cfg(all(test, not(loom)))]
use crate::sync::counted::{AtomicU32, AtomicU64};

/// The most levels of summaries: 2^30 cells are 2^24 words.
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

    /// Takes a free cell; one locked operation if there is a spare, or the hint is right.
    /// Everything that the [giver](Self::give) of the cell did before happens before.
    ///
    /// `None` means that all cells were taken at one moment of the call; if more threads
    /// closed words than there are homes, and there are several words, that each cell was at some
    /// moment.
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
    /// operation if the spare is empty, or the word is listed.
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
            // A second look, as in `close_noted`: a giver whose change comes later sees each bit as
            // cleared that this search has seen so.
            let bits = self.listed(level, below).fetch_or(0, Ordering::AcqRel);
            match level {
                _ if bits == 0 => None,
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
            let summary = self.summary(level, below >> FAN);
            // Release: pairs with the acquire of a giver whose change comes after the one below,
            // and of a search, which sees the note then.
            let bits = summary.fetch_and(!bit_of(below), Ordering::Release);
            // The second look: a change that changes nothing, so that it has a place among
            // the others. Release: as above. Acquire: as in `take_in`.
            if self.listed(level, below).fetch_or(0, Ordering::AcqRel) != 0 {
                self.list_from(level, below);
                return level != 0;
            }
            if bits & !bit_of(below) != 0 {
                break;
            }
            below >>= FAN;
        }
        true
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

/// The maximum number of homes. More threads than that share some; with more homes it takes longer
/// to find that no cell is free.
pub(super) const MOST_HOMES: usize = 16;

/// Two cache lines: processors load the second one with the first.
const APART: usize = 128;

/// The state of a home.
#[repr(C, align(128))]
struct Home {
    spare: Spare,
    hint: AtomicU32,
    /// The word from which on its threads search.
    first: u32,
    note: Note,
}

const _: () = assert!(align_of::<Home>() == APART);
#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Home>() == APART);

/// Room for one cell: its index plus 1 in the lower half, or 0; in the upper half the number of cells
/// that were taken from here. That number may wrap: it is only compared with an earlier one.
struct Spare(AtomicU64);

// An index plus 1 fits.
const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

impl Spare {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        // Relaxed: only statistics.
        self.0.load(Ordering::Relaxed) as u32 == 0
    }

    /// Puts a cell there, if the spare is empty.
    #[inline(always)]
    fn put(&self, index: usize) -> bool {
        // Relaxed: checked by the exchange.
        let empty = self.0.load(Ordering::Relaxed);
        let full = empty + index as u64 + 1;
        // Release: pairs with the acquire in `take`. Relaxed where it fails: nothing was learnt.
        let order = (Ordering::Release, Ordering::Relaxed);
        empty as u32 == 0
            && (self.0)
                .compare_exchange(empty, full, order.0, order.1)
                .is_ok()
    }

    /// Takes the cell out.
    ///
    /// # Errors
    ///
    /// If there is none, or another thread takes it: what was seen.
    #[inline(always)]
    fn take(&self) -> Result<usize, u64> {
        // Relaxed: checked by the exchange.
        let full = self.0.load(Ordering::Relaxed);
        if full as u32 == 0 {
            return Err(full);
        }
        // No cell, and one more in the upper half.
        let empty = (full | u64::from(u32::MAX)).wrapping_add(1);
        // Acquire: pairs with the release in `put`. Release: a search that sees the spare empty
        // sees what this thread gave before. Relaxed where it fails: nothing was learnt.
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        (self.0).compare_exchange(full, empty, order.0, order.1)?;
        Ok((full as u32 - 1) as usize)
    }
}

/// A closing under way: the word plus 1, or 0; above that, the number of closings that were noted
/// here. That number may wrap: it is only compared with an earlier one, and has 39 bits.
struct Note(AtomicU64);

const NOTED_WORD: u64 = (1 << 25) - 1;

impl Note {
    /// Notes a word, unless one is noted. The caller must strike it out.
    fn begin(&self, word: usize) -> bool {
        // Relaxed: checked by the exchange.
        let free = self.0.load(Ordering::Relaxed);
        if free & NOTED_WORD != 0 {
            return false;
        }
        let noted = (free | NOTED_WORD).wrapping_add(word as u64 + 2);
        // Acquire: pairs with the release in `end`: the thread that acquires the end of this
        // closing sees what those before it did, too. (No model notices: it takes four threads.)
        // The thread that sees the bit that is cleared next sees this: that change releases it.
        let order = (Ordering::Acquire, Ordering::Relaxed);
        (self.0)
            .compare_exchange(free, noted, order.0, order.1)
            .is_ok()
    }

    /// Counts another pass of the closing that the caller has noted.
    fn begin_again(&self) {
        // Relaxed: no one else changes it while there is a word.
        let noted = self.0.load(Ordering::Relaxed);
        // Release: as in `end`, for the closings before. (No model notices this count.)
        self.0
            .store(noted.wrapping_add(NOTED_WORD + 1), Ordering::Release);
    }

    /// Strikes out the word that the caller has noted.
    fn end(&self) {
        // Relaxed: no one else changes it while there is a word.
        let noted = self.0.load(Ordering::Relaxed);
        // Release: pairs with the acquire of a search: what was listed is seen.
        self.0.store(noted & !NOTED_WORD, Ordering::Release);
    }

    /// The word in the bits of a note.
    fn word(bits: u64) -> Option<usize> {
        (bits & NOTED_WORD).checked_sub(1).map(|word| word as usize)
    }
}

/// A number below [`MOST_HOMES`] that this thread keeps. Threads get the numbers in turn, with
/// consecutive threads far apart: if there are fewer homes, the first threads get one each.
#[cfg(all(feature = "std", not(all(test, loom))))]
#[inline(always)]
pub(super) fn thread_number() -> usize {
    std::thread_local! {
        static NUMBER: Cell<u8> = const { Cell::new(NO_NUMBER) };
    }
    // On platforms without native thread-locals it does not exist in destructors of other
    // thread-locals: any number will do.
    let number = NUMBER.try_with(|number| match number.get() {
        NO_NUMBER => next_thread_number(number),
        number => usize::from(number),
    });
    number.unwrap_or(0)
}

#[cfg(all(feature = "std", not(all(test, loom))))]
const NO_NUMBER: u8 = u8::MAX;

#[cfg(all(feature = "std", not(all(test, loom))))]
#[cold]
#[inline(never)]
fn next_thread_number(place: &Cell<u8>) -> usize {
    static NEXT: Count = Count::new(0);
    // Relaxed: a number without a meaning.
    let next = NEXT.fetch_add(1, Ordering::Relaxed) % MOST_HOMES;
    let number = (next as u8).reverse_bits() >> (u8::BITS - MOST_HOMES.ilog2());
    place.set(number);
    usize::from(number)
}

/// A number below [`MOST_HOMES`] that usually differs between threads, because their stacks are
/// apart.
#[cfg(not(any(feature = "std", all(test, loom))))]
#[inline(always)]
pub(super) fn thread_number() -> usize {
    let local = 0_u8;
    let stack = (core::ptr::from_ref(&local).addr() >> 14) as u32;
    // Fibonacci hashing: the upper bits depend on all.
    (stack.wrapping_mul(0x9e37_79b9) >> (u32::BITS - MOST_HOMES.ilog2())) as usize
}

/// The models say which home a thread has.
#[cfg(all(test, loom))]
pub(super) fn thread_number() -> usize {
    0
}
