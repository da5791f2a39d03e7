//! Numbers that identify buffers: the number of a header, which is one word, and serials, which no
//! two buffers ever share. A position contains both.
//!
//! The number of a header takes 24 bits. Numbers are allocated in pages, so that a chunk of any
//! number of buffers takes a whole number of entries, and two loads find the header with a number.
//! A serial takes 64 bits, and is used once in a process.
//!
//! # Invariants
//!
//! * `page-headers`: a page that is in use has headers in a row, of `bytes` bytes, which are valid,
//!   and each of them has its number. The others are linked from `free` on, and their `bytes` are
//!   0.
//! * `pages-promised`: there is room for `promised` pages, and no more are in use; at most
//!   [`PAGES`]. `banks` has an entry for each of `pages`.
//! * `bank-bits`: the bank of a page that is in use names its chunk, and has a bit for each of its
//!   headers that is banked. Those of a chunk that have some are linked from the chunk's `top`
//!   on; the bank of a page that is not in use has none.
//! * `word-once`: a serial's high word was taken from the process's counter by one arena, which
//!   gives out each serial with that word once. No word is taken twice, and none is 0 or the last.
//! * `words-taken`: `words` are those that this arena has taken; there is room for the next.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::atomic::{Count, Ordering};
use crate::raw::row::Row;
use crate::raw::source::Source;

/// Bits of a number.
pub(super) const NUMBER_BITS: u32 = 24;

/// The number of a header in the directory.
///
/// Three bytes, so that the fourth is a place of its own: the arena's thread reads the number of
/// a header while another thread, which has the buffer, writes the fourth (`all-initialised`).
#[derive(Clone, Copy)]
pub(super) struct Number([u8; NUMBER_BYTES]);

/// Bytes of a number.
const NUMBER_BYTES: usize = 3;

const _: () = assert!(NUMBER_BITS as usize == 8 * NUMBER_BYTES);

impl Number {
    pub(super) fn new(number: u32) -> Self {
        let [low, middle, high, rest] = number.to_le_bytes();
        debug_assert!(rest == 0);
        Number([low, middle, high])
    }

    #[inline]
    pub(super) fn get(self) -> u32 {
        let Number([low, middle, high]) = self;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

/// Bits of the place within a page. A chunk of one buffer takes a page too, so with more bits the
/// number of such chunks would be smaller; with fewer bits a chunk of many buffers takes more
/// entries.
const PLACE_BITS: u32 = 6;

/// Headers of a page.
pub(super) const PAGE_HEADERS: u32 = 1 << PLACE_BITS;

/// The most pages.
const PAGES: usize = 1 << (NUMBER_BITS - PLACE_BITS);

/// A number that no page has.
pub(super) const NO_PAGE: u32 = PAGES as u32;

/// The part of a page that a look-up needs: two words, so that its place is found by a shift.
struct Page<H> {
    /// For a page that is not in use, the next such page instead of a pointer.
    headers: NonNull<H>,
    /// Bytes of the headers, so that a place can be compared as the offset that it becomes. A whole
    /// word: if it were narrower, the compiler would keep both widths.
    bytes: usize,
}

impl<H> Page<H> {
    /// A page that is not in use, before `next` in their list.
    fn unused(next: u32) -> Self {
        let link = core::ptr::without_provenance_mut(next as usize + 1);
        Page {
            headers: NonNull::new(link).expect("above 0"),
            bytes: 0,
        }
    }

    /// The next page that is not in use, after this one.
    fn next_unused(self) -> u32 {
        debug_assert!(self.bytes == 0);
        self.headers.addr().get() as u32 - 1
    }
}

impl<H> Clone for Page<H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Page<H> {}

/// Which headers of a page are banked: free, and not in the hand of their class. Beside the pages,
/// because a look-up does not need it.
struct Bank<C> {
    /// The chunk of the headers.
    chunk: NonNull<C>,
    free: u64,
    /// The next page of the chunk with such headers.
    next: u32,
}

impl<C> Clone for Bank<C> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Bank<C> {}

const _: () = assert!(PAGE_HEADERS == u64::BITS);

/// Headers of one page that leave the bank.
pub(super) struct Drawn<H> {
    headers: NonNull<H>,
    bits: u64,
}

impl<H> Drawn<H> {
    /// How many.
    pub(super) fn len(&self) -> u32 {
        self.bits.count_ones()
    }
}

/// From the last to the first.
impl<H> Iterator for Drawn<H> {
    type Item = NonNull<H>;

    fn next(&mut self) -> Option<NonNull<H>> {
        let place = self.bits.checked_ilog2()?;
        self.bits ^= 1 << place;
        // SAFETY: a bit of a bank, so the page has that header (`bank-bits`).
        Some(unsafe { self.headers.add(place as usize) })
    }
}

/// Finds the header with a number, and its chunk. It knows the size of a header, and nothing about
/// a chunk.
pub(super) struct Directory<H, C> {
    pages: Row<Page<H>>,
    banks: Row<Bank<C>>,
    free: Cell<u32>,
    promised: Cell<usize>,
}

/// The page of a header, and its bit in the bank of that.
#[inline]
pub(super) fn bit(number: u32) -> (u32, u64) {
    (number >> PLACE_BITS, 1 << (number % PAGE_HEADERS))
}

/// Pages for this many headers.
fn pages(headers: u32) -> usize {
    headers.div_ceil(PAGE_HEADERS) as usize
}

impl<H, C> Directory<H, C> {
    const HEADER_BYTES: usize = size_of::<H>();

    pub(super) fn new(source: Source) -> Self {
        Directory {
            pages: Row::new(source.clone()),
            banks: Row::new(source),
            free: Cell::new(NO_PAGE),
            promised: Cell::new(0),
        }
    }

    /// The header with that number.
    #[inline(always)]
    pub(super) fn find(&self, number: u32) -> Option<NonNull<H>> {
        let page = self.pages.get((number >> PLACE_BITS) as usize)?;
        let offset = (number % PAGE_HEADERS) as usize * Self::HEADER_BYTES;
        // SAFETY: the page has headers in a row, of this many bytes (`page-headers`).
        (offset < page.bytes).then(|| unsafe { page.headers.byte_add(offset) })
    }

    /// All headers that were made.
    pub(super) fn headers(&self) -> impl Iterator<Item = NonNull<H>> + '_ {
        let pages = (0..self.pages.len()).filter_map(|index| self.pages.get(index));
        pages.flat_map(|page| {
            // SAFETY: this many headers are in a row (`page-headers`), and none in a page that is
            // not in use.
            let header = move |offset| unsafe { page.headers.byte_add(offset) };
            (0..page.bytes).step_by(Self::HEADER_BYTES).map(header)
        })
    }

    /// Whether a chunk of this many buffers can be promised numbers without an allocation.
    pub(super) fn has_room(&self, headers: u32) -> bool {
        let room = self.pages.capacity().min(self.banks.capacity());
        self.promised.get() + pages(headers) <= room.min(PAGES)
    }

    /// Checks that there are numbers left for a chunk of this many buffers.
    ///
    /// # Errors
    ///
    /// If too few are left.
    pub(super) fn check_left(&self, headers: u32) -> Result<(), AllocError> {
        Self::check_pages(self.promised.get() + pages(headers))
    }

    /// Checks that `chunks` chunks of this many buffers could have numbers, if no others did except
    /// those of `present` pages.
    ///
    /// # Errors
    ///
    /// If they could not.
    pub(super) fn check_numbers(
        chunks: usize,
        headers: u32,
        present: usize,
    ) -> Result<(), AllocError> {
        let wanted = chunks.saturating_mul(pages(headers));
        Self::check_pages(wanted.saturating_add(present))
    }

    fn check_pages(wanted: usize) -> Result<(), AllocError> {
        if wanted > PAGES {
            return Err(AllocError::TooManySlots {
                requested: wanted.saturating_mul(PAGE_HEADERS as usize),
                limit: PAGES << PLACE_BITS,
            });
        }
        Ok(())
    }

    /// Makes room for a chunk of this many buffers, in a time that their number bounds.
    ///
    /// # Errors
    ///
    /// If too few numbers are left, or the source refuses; nothing has changed then.
    pub(super) fn make_room(&self, headers: u32) -> Result<(), AllocError> {
        self.check_left(headers)?;
        let more = pages(headers);
        self.pages.try_make_room(self.promised.get(), more)?;
        // Read again: the allocator may have used the arena (`read-again`).
        self.banks.try_make_room(self.promised.get(), more)
    }

    /// Frees the tables if no chunk has numbers. Returns whether there were any. A source of the
    /// user's may run.
    pub(super) fn clear_if_unused(&self) -> bool {
        let is_unused = self.promised.get() == 0 && self.bytes() > 0;
        if is_unused {
            self.free.set(NO_PAGE);
            // Both are empty before the source runs, which may use the arena (`read-again`).
            drop((self.pages.clear(), self.banks.clear()));
        }
        is_unused
    }

    /// How many headers of one chunk can have numbers, if a chunk of `freed` headers loses its own.
    pub(super) fn numbers_left(&self, freed: u32) -> usize {
        (PAGES - self.promised.get() + pages(freed)) << PLACE_BITS
    }

    /// Promises numbers to a chunk of this many buffers, for which [there is room](Self::has_room).
    pub(super) fn promise(&self, headers: u32) {
        assert!(self.has_room(headers), "pages-promised");
        self.promised.set(self.promised.get() + pages(headers));
    }

    /// Takes back the promise to a chunk whose numbers were freed.
    pub(super) fn release(&self, headers: u32) {
        self.promised.set(self.promised.get() - pages(headers));
    }

    /// Takes a page that was promised, for the first of a chunk's headers in it. Returns the number
    /// of that header.
    pub(super) fn take(&self, headers: NonNull<H>, chunk: NonNull<C>) -> u32 {
        let page = Page {
            headers,
            bytes: Self::HEADER_BYTES,
        };
        let bank = Bank {
            chunk,
            free: 0,
            next: NO_PAGE,
        };
        let free = self.free.get();
        let index = match self.pages.get(free as usize) {
            Some(unused) => {
                self.free.set(unused.next_unused());
                self.pages.set(free as usize, page);
                self.banks.set(free as usize, bank);
                free
            }
            None => {
                self.pages.push(page);
                self.banks.push(bank);
                self.pages.len() as u32 - 1
            }
        };
        index << PLACE_BITS
    }

    /// Adds one more header to a page, after the one with this number. Returns the number of the
    /// new header.
    pub(super) fn extend(&self, number: u32) -> u32 {
        let index = (number >> PLACE_BITS) as usize;
        let page = self.pages.get(index).expect("page-headers");
        let bytes = page.bytes + Self::HEADER_BYTES;
        self.pages.set(index, Page { bytes, ..page });
        number + 1
    }

    /// The page of a header, the address of the page's first header, and the bytes of its headers.
    pub(super) fn page_of(&self, number: u32) -> (u32, usize, usize) {
        let page = number >> PLACE_BITS;
        let Page { headers, bytes } = self.pages.get(page as usize).expect("page-headers");
        (page, headers.addr().get(), bytes)
    }

    /// The chunk of the headers of a page that is in use.
    #[inline]
    pub(super) fn chunk_of(&self, page: u32) -> NonNull<C> {
        self.banks.get(page as usize).expect("pages-promised").chunk
    }

    /// Banks free headers of a page, by their [bits](bit). The page belongs to the chunk that has
    /// this `top`.
    #[inline]
    pub(super) fn bank(&self, page: u32, bits: u64, top: &Cell<u32>) {
        let mut bank = self.banks.get(page as usize).expect("pages-promised");
        debug_assert!(bank.free & bits == 0);
        if bank.free == 0 {
            bank.next = top.replace(page);
        }
        bank.free |= bits;
        self.banks.set(page as usize, bank);
    }

    /// Takes at most `most` headers of the first page of a chunk off the bank, if it has banked
    /// headers.
    pub(super) fn draw(&self, top: &Cell<u32>, most: usize) -> Option<Drawn<H>> {
        let page = top.get() as usize;
        let mut bank = self.banks.get(page)?;
        let headers = self.pages.get(page)?.headers;
        let mut rest = 0;
        if bank.free.count_ones() as usize > most {
            rest = bank.free;
            for _ in 0..most {
                rest &= rest - 1;
            }
        }
        let bits = bank.free & !rest;
        bank.free = rest;
        self.banks.set(page, bank);
        if rest == 0 {
            top.set(bank.next);
        }
        Some(Drawn { headers, bits })
    }

    /// The headers of a chunk that are banked.
    pub(super) fn banked(&self, top: u32) -> impl Iterator<Item = NonNull<H>> + '_ {
        let page = |page: u32| Some((page, self.banks.get(page as usize)?));
        let pages = core::iter::successors(page(top), move |(_, bank)| page(bank.next));
        pages.flat_map(|(page, bank)| Drawn {
            headers: self
                .pages
                .get(page as usize)
                .expect("pages-promised")
                .headers,
            bits: bank.free,
        })
    }

    /// Frees the pages of a chunk all of whose headers are banked, and so linked from `top` on.
    pub(super) fn give_back(&self, top: &Cell<u32>) {
        let mut index = top.replace(NO_PAGE);
        while let Some(bank) = self.banks.get(index as usize) {
            let page = Page::unused(self.free.replace(index));
            self.pages.set(index as usize, page);
            self.banks.set(index as usize, Bank { free: 0, ..bank });
            index = bank.next;
        }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        self.pages.bytes() + self.banks.bytes()
    }
}

/// The high words that were taken, in this process.
static WORDS: Count = Count::new(0);

/// The source of the serials of an arena.
pub(super) struct Serials {
    /// The serial that was used last. At first its low word is full.
    last: Cell<u64>,
    words: Row<u32>,
}

/// Takes the next high word of the process, or `None` if all were taken.
fn next_word(words: &Count) -> Option<u32> {
    // Relaxed: each word is taken once (`word-once`), and no other memory is published with it.
    let next = |last: usize| Some(last + 1).filter(|&it| it < u32::MAX as usize);
    let before = words.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    before.ok().map(|before| before as u32 + 1)
}

impl Serials {
    /// Creates a source that has allocated nothing.
    pub(super) fn new(source: Source) -> Self {
        Serials {
            last: Cell::new(u32::MAX.into()),
            words: Row::new(source),
        }
    }

    /// Allocates the memory for the first 2^32 serials.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn prepare(&self) -> Result<(), AllocError> {
        self.words.try_reserve(1)
    }

    /// Returns the next serial, or `None` if all were used.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        if self.last.get() as u32 == u32::MAX {
            self.take_word()?;
        }
        let serial = self.last.get() + 1;
        self.last.set(serial);
        Some(serial)
    }

    /// Takes another high word: once in 2^32 serials.
    #[cold]
    fn take_word(&self) -> Option<()> {
        // Again where the allocator has taken a word, and the room (`words-taken`).
        while self.words.len() == self.words.capacity() {
            self.words.try_reserve(self.words.len() + 1).ok()?;
        }
        let word = next_word(&WORDS)?;
        self.words.push(word);
        self.last.set(u64::from(word) << 32);
        Some(())
    }

    /// Whether this arena could have used a serial.
    pub(super) fn knows(&self, serial: u64) -> bool {
        let word = (serial >> 32) as u32;
        let mut words = (0..self.words.len()).rev();
        words.any(|index| self.words.get(index) == Some(word))
    }

    /// Bytes of the table of words.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_serial_is_given_out_twice() {
        let [one, other] = [(); 2].map(|()| Serials::new(Source::GLOBAL));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..10 {
            let (serial, foreign) = (one.next().unwrap(), other.next().unwrap());
            assert!(seen.insert(serial) && seen.insert(foreign));
            assert!(one.knows(serial) && !one.knows(foreign) && !one.knows(0));
        }
    }

    #[test]
    fn a_full_low_word_takes_another_high_word() {
        let serials = Serials::new(Source::GLOBAL);
        let first = serials.next().unwrap();
        serials.last.set(first | u64::from(u32::MAX));
        let second = serials.next().unwrap();
        assert_ne!(first >> 32, second >> 32);
        assert!(serials.knows(first) && serials.knows(second));
    }

    #[test]
    fn high_words_end_and_do_not_begin_again() {
        let words = Count::new(u32::MAX as usize - 3);
        assert_eq!(next_word(&words), Some(u32::MAX - 2));
        assert_eq!(next_word(&words), Some(u32::MAX - 1));
        assert_eq!(next_word(&words), None);
        assert_eq!(next_word(&words), None);
    }
}
