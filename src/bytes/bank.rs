//! Free buffers between the hand of a class and the bank; those that are made.

use core::ops::Range;
use core::ptr::NonNull;

use super::chunk::Chunk;
use super::class::{Class, State};
use super::directory::{NO_PAGE, bit};
use super::header::Header;
use super::home::{Home, REFILL};
use super::references::References;
use crate::error::AllocError;
use crate::raw::memory::Block;

/// How many headers go from the hand to the bank at once, or back. It takes a sixth of the time of
/// making as many, or less.
pub(super) const BATCH: usize = 32;

/// The same from a wide hand, whose other entries are moved down each time.
const WIDE_BATCH: usize = 64;

impl<R: References> Home<R> {
    /// Puts free headers in the hand of a class that has room for them, if the class has some, or
    /// some are to be made.
    pub(super) fn refill(&self, class: &Class) {
        let states = State::ALL.iter().filter(|&&state| state != State::Full);
        let Some(chunk) = { states }.find_map(|&state| Chunk::<R>::list(class, state).next())
        else {
            return;
        };
        // SAFETY: on a list, so it is there (C3).
        let it = unsafe { chunk.as_ref() };
        match self.directory().draw(it.top(), BATCH) {
            Some(drawn) => {
                it.count_in_use(drawn.len());
                class.count_unbanked(drawn.len() as usize);
                // SAFETY: they were banked, so they are free, and not in the hand (C1).
                unsafe { class.push_all(drawn.map(NonNull::cast)) };
            }
            None => {
                let made = self.make(class, chunk, REFILL, false);
                it.count_in_use(made.len() as u32);
                let headers = made.rev().map(|index| Chunk::header(chunk, index));
                // SAFETY: just made, so free, and not in the hand.
                unsafe { class.push_all(headers.map(NonNull::cast)) };
            }
        }
        // SAFETY: this is the chunk.
        unsafe { it.relink(chunk) };
    }

    /// Makes the next headers of a chunk, if any are left to be made: `most` at most. Touches
    /// their bytes if `touched`. Returns which they are.
    fn make(
        &self,
        class: &Class,
        chunk: NonNull<Chunk<R>>,
        most: usize,
        touched: bool,
    ) -> Range<u32> {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        // SAFETY: on a list, so it is there (C3).
        let it = unsafe { chunk.as_ref() };
        let made = it.made()..it.buffers().min(it.made().saturating_add(most));
        for index in made.clone() {
            // SAFETY: the next one of them, whose bytes no one uses.
            unsafe { it.make(chunk, index, self.directory(), touched) };
        }
        class.count_made(made.len());
        made
    }

    /// Pushes a free header on the hand of its class, from which some go to the bank if it is full.
    ///
    /// # Safety
    ///
    /// It is the class's, made, free, and neither in the hand nor banked.
    #[inline]
    pub(super) unsafe fn push(&self, class: &Class, header: NonNull<Header<R>>) {
        // SAFETY: the same (precondition).
        if unsafe { class.push(header.cast()) } {
            self.bank_some(class);
        }
    }

    /// Banks some headers of a hand that is full.
    pub(super) fn bank_some(&self, class: &Class) {
        let is_wide = class.depth() > 2 * WIDE_BATCH;
        self.bank_hand(class, if is_wide { WIDE_BATCH } else { BATCH });
    }

    /// Gives a class that is to have that many buffers a wide hand, if its hand is narrow and the
    /// source has the memory. What it does not have is no error: more goes through the bank.
    pub(super) fn widen_hand(&self, class: &Class, buffers: usize) {
        if !class.wants_wide_hand(buffers) {
            return;
        }
        let Ok(hand) = Block::allocate(Class::WIDE_HAND, self.source()) else {
            return;
        };
        // Again: the source may have used the arena.
        if class.wants_wide_hand(buffers) {
            // SAFETY: of that layout, with more places than a narrow hand has; it is freed with the
            // home, after the class.
            unsafe { class.widen(hand.leak_start(), Class::WIDE_HAND) };
        }
    }

    /// Banks the headers of a class's hand that were pushed first, `most` at most.
    #[cold]
    #[inline(never)]
    pub(super) fn bank_hand(&self, class: &Class, most: usize) {
        let most = most.min(class.depth());
        // Those of one page that follow each other are banked at once, and only the first of them
        // is looked at.
        let (mut page, mut bits, mut first, mut bytes) = (NO_PAGE, 0, 0, 0);
        for header in class.lowest(most) {
            let mut offset = header.addr().get().wrapping_sub(first);
            if offset >= bytes {
                self.bank(page, bits);
                // SAFETY: a header in the hand is there (C1).
                let number = unsafe { header.cast::<Header<R>>().as_ref() }.number();
                (page, first, bytes) = self.directory().page_of(number);
                (bits, offset) = (0, header.addr().get() - first);
            }
            bits |= 1 << (offset / size_of::<Header<R>>());
        }
        self.bank(page, bits);
        class.drop_lowest(most);
        class.count_banked(most);
    }

    /// Banks free headers of a page, if any; the caller counts them.
    #[inline]
    fn bank(&self, page: u32, bits: u64) {
        if bits == 0 {
            return;
        }
        let chunk = self.directory().chunk_of(page).cast::<Chunk<R>>();
        // SAFETY: the chunk of headers that are there (D3).
        unsafe {
            let it = chunk.as_ref();
            self.directory().bank(page, bits, it.top());
            it.count_banked(bits.count_ones());
            it.relink(chunk);
        }
    }

    /// Makes the next headers of a class, and banks them, if any are left to be made: `most` at
    /// most; O(idle chunks).
    pub(super) fn make_banked(&self, class: &Class, most: usize, touched: bool) -> bool {
        let lists = [State::Fresh, State::Idle].map(|state| Chunk::<R>::list(class, state));
        // SAFETY: on a list, so it is there (C3).
        let is_unmade =
            |it: &NonNull<Chunk<R>>| unsafe { it.as_ref().made() < it.as_ref().buffers() };
        let Some(chunk) = { lists }.into_iter().flatten().find(is_unmade) else {
            return false;
        };
        let made = self.make(class, chunk, most, touched);
        class.count_banked(made.len());
        // SAFETY: as above; these headers are there (L2).
        unsafe {
            let it = chunk.as_ref();
            for index in made.rev() {
                let (page, bit) = bit(Chunk::header(chunk, index).as_ref().number());
                self.directory().bank(page, bit, it.top());
            }
            it.relink(chunk);
        }
        true
    }

    /// The free headers of a class.
    pub(super) fn free_headers<'h>(
        &'h self,
        class: &'h Class,
    ) -> impl Iterator<Item = NonNull<Header<R>>> + 'h {
        let lists = State::ALL
            .iter()
            .map(|&state| Chunk::<R>::list(class, state));
        // SAFETY: on a list, so it is there (C3).
        let tops = lists
            .flatten()
            .map(|chunk| unsafe { chunk.as_ref() }.top().get());
        let hand = class.lowest(usize::MAX).map(NonNull::cast);
        hand.chain(tops.flat_map(|top| self.directory().banked(top)))
    }

    /// From now on no chunk is added to the one class, of which no buffer was used, and none is given
    /// back. So nothing is banked any more: with it, filling and emptying a ring of a thousand entries took half as long again.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn fix(&self) -> Result<(), AllocError> {
        let class = self.last_class();
        let too_many = AllocError::TooManyBytes {
            slots: class.buffers(),
            slot_bytes: size_of::<usize>(),
        };
        let layout = class.hand_of_all().ok_or(too_many)?;
        let hand = Block::allocate(layout, self.source())?;
        hand.touch();
        let wide = class.wide_hand();
        // SAFETY: of that layout, with more places than buffers; it is freed with the home, after
        // the class.
        unsafe { class.widen(hand.start(), layout) };
        self.hand.set(Some(hand));
        self.fixed.set(true);
        self.bank_hand(class, usize::MAX);
        while let Some(chunk) = Chunk::<R>::list(class, State::Idle).next() {
            // SAFETY: on a list, so it is there (C3). All its headers are free, and in the hand
            // from now on.
            unsafe {
                let it = chunk.as_ref();
                while self.directory().draw(it.top(), usize::MAX).is_some() {}
                it.count_in_use(it.made());
                it.relink(chunk);
                class.count_unbanked(it.made() as usize);
                let headers = (0..it.made())
                    .rev()
                    .map(|index| Chunk::header(chunk, index));
                class.push_all(headers.map(NonNull::cast));
            }
        }
        if let Some(wide) = wide {
            // SAFETY: given up by `widen_hand`, and not the class's any more.
            drop(unsafe { Block::from_start(wide, Class::WIDE_HAND, self.source()) });
        }
        Ok(())
    }
}
