//! `FreeMap`: the free cells of a container that threads share, as a bitmap.
//!
//! One bit a cell. The compare-exchange that clears a cell's bit is the claim: there is no
//! head that comes back with another content, so no tag that could wrap, and no second
//! operation that makes the claim exact. Taking and giving are one locked operation each; a
//! LIFO of tagged indices needs one for each too, and one more for the claim.
//!
//! The bits are divided into *shards* of neighbouring words, so that threads take their cells
//! from different lines. A thread begins at its own shard and goes through all of them before
//! it says that there is none.
//!
//! Each shard has a *hint*, the word in which a thread that begins there freed or found a cell
//! last: the next one is taken from it, the lowest first, so that cells are used again while
//! they are warm. It is on a line of its own, read and written without any order: a wrong one
//! costs a look at an empty word.
//!
//! # Summaries
//!
//! When the word of the hint is empty, one with a bit has to be found. Above the words of a
//! shard there are levels of summaries with a bit for each word below, up to a level of one
//! word. Bits are set by who gives, and cleared ("closed") by who looks for a free cell and
//! finds an empty word, and by who moves the hint away from one. The word of the hint stays
//! listed while it is empty: so a full container that gives and takes one cell changes its
//! summaries no more than an empty one.
//!
//! Who closes clears the bit and looks at the word *again*, by a read-modify-write, and sets
//! the bit back if the word is not empty. Who gives changes the word by a read-modify-write
//! and looks at the summary's bit *afterwards*. The two changes of the word have an order. If
//! the giver's comes first, the closer finds the bit and sets the summary's back. If it comes
//! second, it acquires what the closer's released, the cleared bit, so the giver sets it. The
//! same goes for each level and the one above. It does not help to look whether the word was
//! empty *before*: another giver may have been first, and be stopped before it lists the word.
//!
//! Between the two steps of a closer a word with a bit may not be listed, however long that
//! thread is stopped. So who finds nothing in a shard says so only if no closing was under way
//! while it looked; otherwise it looks at all its words.
//!
//! # Invariants
//!
//! * B1: `capacity` bits stand for the cells, the first ones of `words`. The bit of a cell is
//!   set exactly while no one has the cell; who clears it has it until it is given back.
//! * B2: a word in which a bit is set, by someone who is done with giving, is listed on each
//!   level of its shard, or someone who closes it or what lists it is under way
//!   (`begun`, `ended`) and will list it.
//! * B3: `words`, and the records of the shards with their summaries, lie in `block`, are
//!   atomics, and are reached through shared references alone.

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use core::alloc::Layout;
#[cfg(all(feature = "std", not(loom)))]
use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::key::MAX_SLOTS;
#[cfg(all(feature = "std", not(loom)))]
use crate::raw::atomic::Count;
use crate::raw::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The most shards. More threads than that share some; more shards make the search of a full
/// map longer.
const MOST_SHARDS: usize = 16;

/// The words of the smallest shard, by logarithm: a cache line full.
const LEAST_SHARD: u32 = 3;

/// The most levels of summaries: 2^30 cells are 2^24 words, or 2^20 a shard.
const MOST_LEVELS: usize = 4;

/// The cells of a word, by logarithm.
const BITS: u32 = u64::BITS.ilog2();

/// Two cache lines: processors load the second one with the first.
const APART: usize = 128;

/// The free cells of a container that threads share.
pub(crate) struct FreeMap {
    words: NonNull<AtomicU64>,
    records: NonNull<u8>,
    /// From one record to the next, in bytes.
    stride: usize,
    capacity: usize,
    shards: usize,
    /// Where the record of the shard is at which each thread begins, by the thread's number.
    homes: [u32; MOST_SHARDS],
    /// The words of a shard, by logarithm.
    shard_shift: u32,
    levels: u32,
    /// Where each level begins among the summaries of a shard, from the lowest on.
    offsets: [u32; MOST_LEVELS],
    block: Block,
}

// SAFETY: by B3 what it points to is its own, and `Sync`.
unsafe impl Send for FreeMap {}
// SAFETY: as above.
unsafe impl Sync for FreeMap {}

impl core::panic::UnwindSafe for FreeMap {}
impl core::panic::RefUnwindSafe for FreeMap {}

/// What a shard has besides its words. Its summaries follow.
#[repr(C, align(128))]
struct Record {
    hint: AtomicU32,
    shard: u32,
    /// How many closings were begun, and how many ended. They may wrap: only whether they are
    /// equal counts.
    begun: AtomicU32,
    ended: AtomicU32,
}

const _: () = assert!(align_of::<Record>() == APART);

/// The number of words that list `words` words.
const fn listing(words: usize) -> usize {
    words.div_ceil(u64::BITS as usize)
}

impl FreeMap {
    /// A map of `capacity` cells, all of them free; O(capacity / 64). Every page is touched.
    ///
    /// # Errors
    ///
    /// With more cells than keys can name; when the source refuses.
    pub(crate) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        Self::try_with_shards(capacity, MOST_SHARDS, source)
    }

    fn try_with_shards(capacity: usize, most: usize, source: &Source) -> Result<Self, AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError::TooManySlots {
                requested: capacity,
                limit: MAX_SLOTS,
            });
        }
        let words = listing(capacity).max(1);
        let shard_words = (words.div_ceil(most).next_power_of_two()).max(1 << LEAST_SHARD);
        let shards = words.div_ceil(shard_words);

        let mut offsets = [0; MOST_LEVELS];
        let (mut levels, mut summaries, mut listed) = (0, 0, shard_words);
        while levels == 0 || listed > 1 {
            offsets[levels as usize] = summaries as u32;
            listed = listing(listed);
            summaries += listed;
            levels += 1;
        }
        // Nothing here wraps: by the limit there are at most 2^24 words.
        let stride =
            (size_of::<Record>() + summaries * size_of::<AtomicU64>()).next_multiple_of(APART);
        let records = stride * shards;
        let bytes = records + words * size_of::<AtomicU64>();
        let too_many = AllocError::TooManyBytes {
            slots: words,
            slot_bytes: size_of::<AtomicU64>(),
        };
        let layout = Layout::from_size_align(bytes, APART).map_err(|_| too_many)?;
        let block = Block::allocate(layout, source)?;

        let map = FreeMap {
            // SAFETY: within the block.
            words: unsafe { block.start().add(records).cast() },
            records: block.start(),
            stride,
            capacity,
            shards,
            homes: core::array::from_fn(|number| (number * shards / MOST_SHARDS * stride) as u32),
            shard_shift: shard_words.ilog2(),
            levels,
            offsets,
            block,
        };
        map.fill(words, summaries);
        Ok(map)
    }

    /// Writes everything for the first time: all cells are free, and all words are listed.
    fn fill(&self, words: usize, summaries: usize) {
        for word in 0..words {
            let cells = (self.capacity - (word << BITS)).min(u64::BITS as usize);
            let bits = first_bits(cells);
            // SAFETY: within the block, which no one else has yet.
            unsafe { self.words.add(word).write(AtomicU64::new(bits)) };
        }
        for shard in 0..self.shards {
            let first = shard << self.shard_shift;
            let mut listed = (words - first).min(1 << self.shard_shift);
            // SAFETY: within the block, as above.
            unsafe {
                let record = self.records.add(shard * self.stride).cast::<Record>();
                record.write(Record {
                    hint: AtomicU32::new(first as u32),
                    shard: shard as u32,
                    begun: AtomicU32::new(0),
                    ended: AtomicU32::new(0),
                });
                let start = record.add(1).cast::<AtomicU64>();
                for place in 0..summaries {
                    start.add(place).write(AtomicU64::new(0));
                }
                for offset in &self.offsets[..self.levels as usize] {
                    for place in 0..listing(listed) {
                        let bits = first_bits((listed - (place << BITS)).min(64));
                        let place = start.add(*offset as usize + place);
                        place.write(AtomicU64::new(bits));
                    }
                    listed = listing(listed);
                }
            }
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

    /// How many cells are free, exact while no thread takes or gives; O(capacity / 64).
    pub(crate) fn count(&self) -> usize {
        let words = listing(self.capacity).max(1);
        // Relaxed: a figure, and the cells are not reached by it.
        let free = |word| self.word(word).load(Ordering::Relaxed).count_ones() as usize;
        (0..words).map(free).sum()
    }

    /// Takes a free cell; one locked operation where the hint is right. What was done by who
    /// [gave](Self::give) it happened before.
    ///
    /// `None` says that each cell was found taken at some moment of the call.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<usize> {
        self.take_from(self.home())
    }

    #[inline(always)]
    fn take_from(&self, home: &Record) -> Option<usize> {
        // Relaxed: a guess.
        let word = home.hint.load(Ordering::Relaxed) as usize;
        // Relaxed: a guess, checked by the exchange.
        let bits = self.word(word).load(Ordering::Relaxed);
        if bits != 0 && self.claim(word, bits) {
            return Some(word << BITS | bits.trailing_zeros() as usize);
        }
        self.search(home)
    }

    /// Clears the lowest bit of a word that has these bits, and not none.
    #[inline(always)]
    fn claim(&self, word: usize, bits: u64) -> bool {
        // Acquire: pairs with the release of who gave the cell; all changes of a word are
        // read-modify-writes, so later ones of other cells do not stand in between.
        // Relaxed where it fails: nothing was learnt.
        let claimed = self.word(word).compare_exchange(
            bits,
            bits & (bits - 1),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        claimed.is_ok()
    }

    /// Gives a cell back, and makes the caller's next one likely to be it; one locked
    /// operation where the word is listed.
    ///
    /// # Safety
    ///
    /// The caller took the cell from this map, and has it no more.
    #[inline(always)]
    pub(crate) unsafe fn give(&self, index: usize) {
        // SAFETY: says the caller.
        unsafe { self.give_at(self.home(), index) };
    }

    /// # Safety
    ///
    /// As for [`give`](Self::give).
    #[inline(always)]
    unsafe fn give_at(&self, home: &Record, index: usize) {
        debug_assert!(index < self.capacity);
        let word = index >> BITS;
        // Release: pairs with the acquire of who takes the cell. Acquire: pairs with the
        // second look of who closes this word (B2).
        let before = (self.word(word)).fetch_or(1 << (index & 63), Ordering::AcqRel);
        debug_assert!(before & 1 << (index & 63) == 0, "given twice");
        self.list(word);
        // Relaxed: a guess, from who cares; what it leads to is checked.
        let left = home.hint.load(Ordering::Relaxed) as usize;
        if left != word {
            home.hint.store(word as u32, Ordering::Relaxed);
            // Relaxed: closing looks again.
            if self.word(left).load(Ordering::Relaxed) == 0 {
                self.close(left);
            }
        }
    }

    /// Lists a word on every level, where it is not.
    #[inline(always)]
    fn list(&self, word: usize) {
        let shard = word >> self.shard_shift;
        let below = word & ((1 << self.shard_shift) - 1);
        // As below, without a loop: most maps have one level.
        let lowest = self.summary(shard, 0, below >> BITS);
        // Acquire: as below.
        if lowest.load(Ordering::Acquire) & 1 << (below & 63) == 0 {
            set(lowest, below as u32 & 63);
        }
        if self.levels > 1 {
            self.list_from(1, shard, below >> BITS);
        }
    }

    /// Lists what is at `below`, under that level of the shard, on it and on those above.
    #[inline(always)]
    fn list_from(&self, level: u32, shard: usize, mut below: usize) {
        for level in level..self.levels {
            let summary = self.summary(shard, level, below >> BITS);
            // Acquire: pairs with the release of who set the bit: what that saw closed above,
            // this sees too.
            if summary.load(Ordering::Acquire) & 1 << (below & 63) == 0 {
                set(summary, below as u32 & 63);
            }
            below >>= BITS;
        }
    }

    /// Whether the lowest level lists a word.
    fn is_listed(&self, word: usize) -> bool {
        let below = word & ((1 << self.shard_shift) - 1);
        let summary = self.summary(word >> self.shard_shift, 0, below >> BITS);
        // Relaxed: whether closing it would be in vain.
        summary.load(Ordering::Relaxed) & 1 << (below & 63) != 0
    }

    /// Takes a free cell where the hint led to none at first: from its word, then from the
    /// home shard, then from the others.
    #[cold]
    #[inline(never)]
    fn search(&self, home: &Record) -> Option<usize> {
        let word = home.hint.load(Ordering::Relaxed) as usize;
        if let Some(index) = self.take_in(word) {
            return Some(index);
        }
        if self.is_listed(word) {
            self.close(word);
        }
        let first = home.shard as usize;
        for shard in (first..self.shards).chain(0..first) {
            if let Some(index) = self.search_shard(shard) {
                home.hint.store((index >> BITS) as u32, Ordering::Relaxed);
                return Some(index);
            }
        }
        None
    }

    /// Takes a free cell of that word.
    fn take_in(&self, word: usize) -> Option<usize> {
        loop {
            let bits = self.word(word).load(Ordering::Relaxed);
            if bits == 0 {
                return None;
            }
            if self.claim(word, bits) {
                return Some(word << BITS | bits.trailing_zeros() as usize);
            }
        }
    }

    /// Takes a free cell of that shard. Each turn of the loop takes one, or closes what is
    /// empty, or another thread was faster.
    fn search_shard(&self, shard: usize) -> Option<usize> {
        let record = self.record(shard);
        loop {
            // Acquire: pairs with the release of each closing that has ended: what it listed
            // is seen below, and that it was begun.
            let ended = record.ended.load(Ordering::Acquire);
            match self.descend(shard) {
                Some(word) => {
                    if let Some(index) = self.take_in(word) {
                        return Some(index);
                    }
                    self.close(word);
                }
                None => {
                    // Relaxed: the summaries were read by acquiring loads, so this comes after
                    // them, and each closing whose cleared bit was seen is counted. If as many
                    // have ended before, it is among those, and has listed what it found.
                    let begun = record.begun.load(Ordering::Relaxed);
                    return if begun == ended {
                        None
                    } else {
                        self.scan(shard)
                    };
                }
            }
        }
    }

    /// A listed word of the shard. Where a summary is listed and empty, the first word below
    /// it: closing that closes the summary too.
    fn descend(&self, shard: usize) -> Option<usize> {
        let mut place = 0;
        for level in (0..self.levels).rev() {
            // Acquire: pairs with the release of who cleared or set a bit.
            let bits = self.summary(shard, level, place).load(Ordering::Acquire);
            if bits == 0 && level + 1 == self.levels {
                return None;
            }
            // What there is has a first word.
            let bit = if bits == 0 { 0 } else { bits.trailing_zeros() };
            place = place << BITS | bit as usize;
        }
        Some(shard << self.shard_shift | place)
    }

    /// Takes a free cell of that shard, without its summaries.
    #[cold]
    fn scan(&self, shard: usize) -> Option<usize> {
        let first = shard << self.shard_shift;
        let end = listing(self.capacity)
            .max(1)
            .min(first + (1 << self.shard_shift));
        (first..end).find_map(|word| self.take_in(word))
    }

    /// Clears the bits that list a word if it is empty, and those that list empty summaries.
    #[cold]
    #[inline(never)]
    fn close(&self, word: usize) {
        let shard = word >> self.shard_shift;
        let record = self.record(shard);
        // Release and acquire: the clearing below stays below, and its own release lets a search
        // that sees the bit cleared see this too.
        record.begun.fetch_add(1, Ordering::AcqRel);
        let mut below = word & ((1 << self.shard_shift) - 1);
        for level in 0..self.levels {
            let summary = self.summary(shard, level, below >> BITS);
            let bit = 1 << (below & 63);
            // Release: pairs with the acquire of a giver whose change comes after the one
            // below. Acquire: pairs with the release of who set the bit.
            let bits = summary.fetch_and(!bit, Ordering::AcqRel);
            let closed = match level {
                0 => self.word(word),
                _ => self.summary(shard, level - 1, below),
            };
            // The second look: a change that changes nothing, so that it has a place among
            // the others. Acquire: pairs with the release of givers. Release: as above.
            if closed.fetch_or(0, Ordering::AcqRel) != 0 {
                self.list_from(level, shard, below);
                break;
            }
            if bits & !bit != 0 {
                break;
            }
            below >>= BITS;
        }
        // Release: pairs with the acquire of a search.
        record.ended.fetch_add(1, Ordering::AcqRel);
    }

    #[inline(always)]
    fn word(&self, word: usize) -> &AtomicU64 {
        debug_assert!(word < listing(self.capacity).max(1));
        // SAFETY: hints, indices and summaries lead to words that there are (B1, B3).
        unsafe { self.words.add(word).as_ref() }
    }

    #[inline(always)]
    fn record(&self, shard: usize) -> &Record {
        debug_assert!(shard < self.shards);
        // SAFETY: there are so many (B3).
        unsafe { self.records.add(shard * self.stride).cast().as_ref() }
    }

    /// The word at `place` on that level of the shard's summaries.
    #[inline(always)]
    fn summary(&self, shard: usize, level: u32, place: usize) -> &AtomicU64 {
        debug_assert!(level < self.levels && shard < self.shards);
        // SAFETY: the summaries follow the record, each level from its offset on (B3).
        unsafe {
            let record = self.records.add(shard * self.stride).cast::<Record>();
            let start = record.add(1).cast::<AtomicU64>();
            let offset = match level {
                0 => 0,
                level => *self.offsets.get_unchecked(level as usize) as usize,
            };
            start.add(offset + place).as_ref()
        }
    }

    /// The shard at which this thread begins.
    #[inline(always)]
    fn home(&self) -> &Record {
        // SAFETY: each entry leads to a record (B3); there is one for each number.
        unsafe {
            let offset = *self.homes.get_unchecked(thread_number());
            self.records.add(offset as usize).cast().as_ref()
        }
    }
}

#[cold]
fn set(summary: &AtomicU64, bit: u32) {
    // Release: pairs with the acquire of who sees the bit. Acquire: pairs with the second look
    // of who closes this summary (B2).
    summary.fetch_or(1 << bit, Ordering::AcqRel);
}

/// So many bits, which are at most 64.
fn first_bits(count: usize) -> u64 {
    match count {
        0 => 0,
        count => u64::MAX >> (64 - count),
    }
}

/// A number below [`MOST_SHARDS`] that this thread keeps. Threads get them in turn, those that
/// follow each other far apart: where there are fewer shards, the first threads get one each.
#[cfg(all(feature = "std", not(loom)))]
#[inline(always)]
fn thread_number() -> usize {
    std::thread_local! {
        static NUMBER: Cell<u8> = const { Cell::new(NO_NUMBER) };
    }
    // It is gone in destructors of other such values, where they are not the platform's own:
    // any number will do.
    let number = NUMBER.try_with(|number| match number.get() {
        NO_NUMBER => next_thread_number(number),
        number => usize::from(number),
    });
    number.unwrap_or(0)
}

#[cfg(all(feature = "std", not(loom)))]
const NO_NUMBER: u8 = u8::MAX;

#[cfg(all(feature = "std", not(loom)))]
#[cold]
#[inline(never)]
fn next_thread_number(place: &Cell<u8>) -> usize {
    static NEXT: Count = Count::new(0);
    // Relaxed: a number of no meaning.
    let next = NEXT.fetch_add(1, Ordering::Relaxed) % MOST_SHARDS;
    let number = (next as u8).reverse_bits() >> (u8::BITS - MOST_SHARDS.ilog2());
    place.set(number);
    usize::from(number)
}

/// A number below [`MOST_SHARDS`] that differs between threads as a rule: their stacks lie
/// apart.
#[cfg(not(any(feature = "std", loom)))]
#[inline(always)]
fn thread_number() -> usize {
    let local = 0_u8;
    let stack = (core::ptr::from_ref(&local).addr() >> 14) as u32;
    // Fibonacci hashing: the upper bits depend on all.
    (stack.wrapping_mul(0x9e37_79b9) >> (u32::BITS - MOST_SHARDS.ilog2())) as usize
}

/// The models say which shard a thread begins at.
#[cfg(loom)]
fn thread_number() -> usize {
    0
}

/// What tests do besides.
#[cfg(test)]
impl FreeMap {
    /// Takes all cells of a word, and leaves it listed.
    fn take_word(&self, word: usize) {
        self.word(word).fetch_and(0, Ordering::AcqRel);
    }

    /// Has the next search of the shard's threads begin at a word.
    fn set_hint(&self, shard: usize, word: usize) {
        let hint = &self.record(shard).hint;
        hint.store(word as u32, Ordering::Relaxed);
    }
}
