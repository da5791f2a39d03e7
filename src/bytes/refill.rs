//! Where free buffers come from if the hand of their class is empty.
//!
//! In this order: buffers that other threads returned, or that are left of chains (`drop.rs`);
//! banked buffers, or new ones of a chunk; another chunk, from the source; if there is no memory,
//! an idle chunk of another class; last, a larger buffer.
//!
//! A chunk belongs to its class while one of its buffers is in use. At the limit of the arena or of
//! numbers, and if the source refuses, a class takes over an idle chunk of another class, which has
//! no buffer in use. The classes know their idle chunks ([`State::Idle`]), so no buffer is looked
//! at. If the bytes of a chunk have room for as many buffers as a new chunk would have, it keeps
//! its bytes, and gets other headers if it has too few, or many too many. Otherwise idle chunks are
//! freed for a new one, as many as the [`Budget`] of a request has. One that can serve
//! the request as it is stays until the end, for a source that refuses everything.

use core::alloc::Layout;
use core::ops::Range;
use core::ptr::NonNull;

use super::RequestError;
use super::arena_core::{ArenaCore, Chunk, Class, Header, HeaderDirectory, State};
use super::drop::OfClass;
use super::numbers::{NO_PAGE, PAGE_HEADERS, bit};
use super::references::References;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::refused::{Budget, FRACTION, Refused, in_place_of_all, in_place_of_bytes};
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// The number of headers that are made, or reclaimed, at once if no buffer is free: an allocation
/// that finds none pays for at most this many. A page has 64 of them.
const REFILL: usize = 16;

/// The number of headers that are moved from the hand to the bank at once, or back. It takes at
/// most a sixth of the time of making as many.
const BATCH: usize = 32;

/// The same from a wide hand, whose other entries are moved down each time.
const WIDE_BATCH: usize = 64;

/// The most buffers of a chunk: numbers for 16 such chunks are there.
const MOST_BUFFERS: usize = 1 << 20;

/// The number of returned buffers that a request reclaims at first if there is no memory for a
/// chunk. It reclaims more, in batches that grow by [`FRACTION`], only if it would be refused.
const RECLAIMED: usize = 64;

/// Headers of a chunk that is taken over and needs fewer are replaced if the others take more than
/// this fraction of its bytes.
const TOO_MANY: usize = 8;

impl<R: References> ArenaCore<R> {
    /// Like [`take`](Self::take), for a class whose hand is empty.
    #[cold]
    #[inline(never)]
    pub(super) fn take_fresh(&self, class: &Class<R>) -> Result<OfClass<R>, RequestError> {
        loop {
            // More than one round only if the allocator uses the arena.
            if let Some(header) = self.take_made(class) {
                return Ok(header);
            }
            if let Err(error) = self.add_chunk(class) {
                // From this class only if the allocator has freed a buffer.
                return self.take_larger(class).ok_or_else(|| {
                    self.counters().pop_free_errs.add();
                    RequestError::Memory(error)
                });
            }
        }
    }

    /// Takes a buffer of the chunks that the class has.
    fn take_made(&self, class: &Class<R>) -> Option<OfClass<R>> {
        class.pop_mutable().or_else(|| {
            self.reclaim(class, REFILL);
            if class.depth() == 0 {
                self.refill(class);
            }
            class.pop_mutable()
        })
    }

    /// Takes a buffer of this class or a larger one, of the first that has a free one.
    ///
    /// Without it, in a cache with a limit, 19 buffers of 3 KB held 16 chunks of 1 MiB, and every
    /// other request was refused.
    fn take_larger(&self, class: &Class<R>) -> Option<OfClass<R>> {
        let classes = self.classes().iter();
        let mut fit = classes.filter(|larger| larger.size() >= class.size());
        fit.find_map(|class| self.take_made(class))
    }

    /// Makes sure that `count` buffers of a class are free, and touched.
    ///
    /// # Errors
    ///
    /// If there is no memory for `count` buffers; those that were made stay. If there are not
    /// enough numbers; no buffer is made then.
    pub(super) fn reserve(&self, class: &Class<R>, count: usize) -> Result<(), AllocError> {
        self.reclaim(class, usize::MAX);
        // Otherwise all available memory would be taken, and touched, before a request fails.
        self.check_numbers(
            class,
            count.saturating_sub(class.buffers() - class.in_use()),
        )?;
        let touched = !self.source().populates();
        if touched {
            let count = count.min(class.free());
            for header in self.free_headers(class).take(count) {
                // SAFETY: a free header is valid, and no one uses its bytes (`free-once`).
                unsafe { touch(header.as_ref().start(), 0, class.size()) };
            }
        }
        self.make_banked(class, usize::MAX, count, touched);
        while class.free() < count {
            self.add_chunk(class)?;
            // It is the first on its list, unless the allocator has used it.
            self.make_banked(class, 1, count, touched);
        }
        if class.depth() == 0 {
            self.refill(class);
        }
        Ok(())
    }

    /// Checks that there could be numbers for so many chunks of a class.
    ///
    /// # Errors
    ///
    /// If there could not.
    fn check_numbers(&self, class: &Class<R>, missing: usize) -> Result<(), AllocError> {
        let chunk = self.new_chunk(class)?;
        let chunks = missing.div_ceil(chunk.buffers as usize);
        // Each of the chunks that it has takes a page or more.
        HeaderDirectory::<R>::check_numbers(chunks, chunk.buffers, class.chunks())
    }

    /// Fills the hand of a class that has room for free headers, if the class has some, or some can
    /// still be made.
    fn refill(&self, class: &Class<R>) {
        let states = State::ALL.iter().filter(|&&state| state != State::Full);
        let Some(chunk) = { states }.find_map(|&state| Chunk::list(class, state).next()) else {
            return;
        };
        let chunk = chunk.chunk;
        // SAFETY: on a list, so it is valid (`chunk-listed`).
        let it = unsafe { chunk.as_ref() };
        match self.directory().draw(&it.top, BATCH) {
            Some(drawn) => {
                it.count_in_use(drawn.len());
                class.count_unbanked(drawn.len() as usize);
                // SAFETY: they were banked, so they are free, and not in the hand (`free-once`).
                unsafe { class.push_all(drawn) };
            }
            None => {
                // SAFETY: on a list of the class, so it is valid. The headers are just made, so
                // free, and not in the hand.
                unsafe {
                    let made = self.make(class, chunk, REFILL, false);
                    it.count_in_use(made.len() as u32);
                    class.push_all(Chunk::headers(chunk, made).rev());
                }
            }
        }
        // SAFETY: `it` is the record at `chunk`, which is on a list (`chunk-listed`).
        unsafe { it.relink(chunk) };
    }

    /// Makes the next headers of a chunk, at most `most`, if some are not made yet. Touches their
    /// bytes if `touched`. Returns their range.
    ///
    /// # Safety
    ///
    /// The chunk is on a list of this class, which is of this arena (`chunk-listed`).
    unsafe fn make(
        &self,
        class: &Class<R>,
        chunk: NonNull<Chunk<R>>,
        most: usize,
        touched: bool,
    ) -> Range<u32> {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        // SAFETY: on a list (precondition), so it is valid (`chunk-listed`).
        let it = unsafe { chunk.as_ref() };
        let made = it.made()..it.buffers().min(it.made().saturating_add(most));
        for index in made.clone() {
            // SAFETY: the chunk has room for it (`chunk-blocks`), and the one before is made
            // (`headers-made`).
            let (header, number) = unsafe {
                let header = Chunk::header(chunk, index);
                let number = match index % PAGE_HEADERS {
                    0 => self.directory().take(header, chunk),
                    _ => (self.directory()).extend(header.sub(1).as_ref().number()),
                };
                (header, number)
            };
            // SAFETY: the buffer is within the block, and unused; the header's place is within the
            // other block (`chunk-blocks`).
            unsafe {
                let start = it.data.add(index as usize * class.size());
                if touched {
                    touch(start, 0, class.size());
                }
                header.write(Header::new(number, start, it.class));
            }
            it.made.set(index + 1);
        }
        class.count_made(made.len());
        made
    }

    /// Banks some headers of a hand that is full.
    pub(super) fn bank_some(&self, class: &Class<R>) {
        let is_wide = class.depth() > 2 * WIDE_BATCH;
        self.bank_hand(class, if is_wide { WIDE_BATCH } else { BATCH });
    }

    /// Allocates a wide hand for a class that will have this many buffers, if its hand is narrow
    /// and the source has the memory. A refusal is not an error: more headers are moved through the
    /// bank then.
    fn widen_hand(&self, class: &Class<R>, buffers: usize) {
        if !class.wants_wide_hand(buffers) {
            return;
        }
        let Ok(hand) = Block::allocate(Class::<R>::WIDE_HAND, self.source()) else {
            return;
        };
        // Again: the source may have used the arena.
        if class.wants_wide_hand(buffers) {
            // SAFETY: of that layout, with more places than a narrow hand has; it is freed with the
            // core, after the class.
            let wide = unsafe { class.widen(hand.leak_start(), Class::<R>::WIDE_HAND) };
            debug_assert!(wide.is_none());
        }
    }

    /// Banks the headers of a class's hand that were pushed first, `most` at most.
    #[cold]
    #[inline(never)]
    fn bank_hand(&self, class: &Class<R>, most: usize) {
        let most = most.min(class.depth());
        // Those of one page that follow each other are banked at once, and only the first of them
        // is looked at.
        let (mut page, mut bits, mut first, mut bytes) = (NO_PAGE, 0, 0, 0);
        for header in class.lowest(most) {
            let mut offset = header.addr().get().wrapping_sub(first);
            if offset >= bytes {
                self.bank(page, bits);
                // SAFETY: a header in the hand is valid (`free-once`).
                let number = unsafe { header.as_ref() }.number();
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
        let chunk = self.directory().chunk_of(page);
        // SAFETY: the chunk of valid headers (`bank-bits`).
        unsafe {
            let it = chunk.as_ref();
            self.directory().bank(page, bits, &it.top);
            it.count_banked(bits.count_ones());
            it.relink(chunk);
        }
    }

    /// Makes headers of a class, and banks them, until `count` are free: those of the first
    /// `chunks` chunks of each list that has chunks whose headers are not all made.
    fn make_banked(&self, class: &Class<R>, chunks: usize, count: usize, touched: bool) {
        for state in [State::Fresh, State::Idle] {
            for Listed { chunk, .. } in Chunk::list(class, state).take(chunks) {
                let missing = count.saturating_sub(class.free());
                if missing == 0 {
                    break;
                }
                #[cfg(all(test, not(loom)))]
                super::tests::step();
                // SAFETY: on a list of the class, so it is valid (`chunk-listed`), as are the
                // headers that are made (`headers-made`). The next one is known already.
                unsafe {
                    let made = self.make(class, chunk, missing, touched);
                    class.count_banked(made.len());
                    let it = chunk.as_ref();
                    for header in Chunk::headers(chunk, made).rev() {
                        let (page, bit) = bit(header.as_ref().number());
                        self.directory().bank(page, bit, &it.top);
                    }
                    it.relink(chunk);
                }
            }
        }
    }

    /// The free headers of a class.
    fn free_headers<'c>(
        &'c self,
        class: &'c Class<R>,
    ) -> impl Iterator<Item = NonNull<Header<R>>> + 'c {
        let lists = State::ALL.iter().map(|&state| Chunk::list(class, state));
        let hand = class.lowest(usize::MAX);
        hand.chain((lists.flatten()).flat_map(|listed| self.directory().banked(listed.top)))
    }

    /// Fixes the chunks of the one class, none of whose buffers was used: from now on no chunk is
    /// added, and none is freed. So nothing is banked any more: with a bank, filling and emptying a
    /// ring of a thousand entries took half as long again.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn fix(&self) -> Result<(), AllocError> {
        let class = self.last_class();
        let too_many = AllocError::TooManyBytes {
            slots: class.buffers(),
            slot_bytes: size_of::<usize>(),
        };
        let layout = class.hand_of_all().ok_or(too_many)?;
        let hand = Block::allocate(layout, self.source())?;
        hand.touch();
        // SAFETY: of that layout, with more places than buffers; it is freed with the core, after
        // the class.
        let wide = unsafe { class.widen(hand.start(), layout) };
        self.hand.set(Some(hand));
        self.fixed.set(true);
        self.bank_hand(class, usize::MAX);
        while let Some(Listed { chunk, .. }) = Chunk::list(class, State::Idle).next() {
            // SAFETY: on a list, so it is valid (`chunk-listed`). All its headers are free, and in
            // the hand from now on.
            unsafe {
                let it = chunk.as_ref();
                while self.directory().draw(&it.top, usize::MAX).is_some() {}
                it.count_in_use(it.made());
                it.relink(chunk);
                class.count_unbanked(it.made() as usize);
                class.push_all(Chunk::headers(chunk, 0..it.made()).rev());
            }
        }
        drop(wide);
        Ok(())
    }
}

impl<R: References> ArenaCore<R> {
    /// The plan of a new chunk of a class. Most classes have chunks of the same size, so that the
    /// place of one that was freed has room for one of another class.
    fn new_chunk(&self, class: &Class<R>) -> Result<ChunkPlan, AllocError> {
        let fitting = self.chunk_bytes / class.size();
        if (1..=MOST_BUFFERS).contains(&fitting) {
            self.chunk_of(self.chunk_bytes, fitting)
        } else {
            self.smaller_chunk(class, fitting.clamp(1, MOST_BUFFERS))
        }
    }

    /// The plan of a chunk of a class with so many buffers, and no more bytes than these.
    fn smaller_chunk(&self, class: &Class<R>, buffers: usize) -> Result<ChunkPlan, AllocError> {
        self.chunk_of(buffers * class.size(), buffers)
    }

    fn chunk_of(&self, bytes: usize, buffers: usize) -> Result<ChunkPlan, AllocError> {
        ChunkPlan::new::<R>(bytes, self.chunk_alignment, buffers as u32)
    }

    /// Bytes that one buffer of this size takes, and those that every chunk takes in addition.
    pub(super) const fn bytes_of_one(size: usize) -> (usize, usize) {
        (size + size_of::<Header<R>>(), size_of::<Chunk<R>>())
    }

    /// Adds a chunk to a class, unless a buffer of it is found to be free.
    ///
    /// # Errors
    ///
    /// At a limit, or if the source refuses, and other classes have too few idle chunks.
    #[cold]
    fn add_chunk(&self, class: &Class<R>) -> Result<(), AllocError> {
        let added = self.new_chunk(class).and_then(|plan| {
            let allocated = self.allocate_chunk(class, &plan);
            allocated.or_else(|error| self.find_memory(class, &plan, error))
        });
        added.inspect_err(|_| self.counters().add_chunk_errs.add())
    }

    /// Adds a chunk of this plan to a class.
    fn allocate_chunk(&self, class: &Class<R>, plan: &ChunkPlan) -> Result<(), AllocError> {
        self.check_limits(plan)?;
        self.counters().mallocs.add();
        let blocks = Blocks::allocate(plan, self.source());
        let blocks = blocks.inspect_err(|_| self.counters().malloc_errs.add())?;
        // Last, because what the allocator adds to the arena takes room.
        self.make_room(plan.buffers)?;
        // Again: the allocator may have used the arena.
        self.check_limits(plan)?;
        self.adopt(class, blocks);
        // After the chunk, which is needed more.
        self.widen_hand(class, class.buffers());
        Ok(())
    }

    /// Checks that neither the bytes nor the numbers of a chunk exceed a limit.
    fn check_limits(&self, plan: &ChunkPlan) -> Result<(), AllocError> {
        let bytes = plan.bytes();
        if bytes > self.bytes_left() || self.fixed.get() {
            let limit = self.bytes_limit();
            return Err(AllocError::Limit { bytes, limit });
        }
        self.directory().check_left(plan.buffers)
    }

    /// Makes room in the directory for the buffers of a chunk. Also if there is room, because its
    /// next tables are made a step at a time.
    fn make_room(&self, buffers: u32) -> Result<(), AllocError> {
        loop {
            self.directory().make_room(buffers)?;
            // Otherwise the allocator has used the arena, and the room that was made.
            if self.directory().has_room(buffers) {
                return Ok(());
            }
        }
    }

    /// Adds a chunk that is within the limits, and for whose headers [room was
    /// made](Self::make_room).
    fn adopt(&self, class: &Class<R>, blocks: Blocks) {
        self.count_bytes(blocks.bytes() as isize);
        let (record, place) = blocks.into_record(class);
        self.directory().promise(record.capacity);
        class.add(record.buffers());
        // SAFETY: the block begins with room for the record (`chunk-blocks`), which is on no list.
        unsafe {
            place.write(record);
            place.as_ref().link(place);
        }
    }

    /// Adds a chunk to a class for which this plan was refused, unless a buffer of it is found to
    /// be free. Buffers that were returned are reclaimed before anything is refused.
    ///
    /// # Errors
    ///
    /// The given error, if no memory is idle.
    fn find_memory(
        &self,
        class: &Class<R>,
        plan: &ChunkPlan,
        error: AllocError,
    ) -> Result<(), AllocError> {
        if self.fixed.get() {
            return Err(error);
        }
        let (mut most, free) = (RECLAIMED, class.free());
        let mut budget = Budget::new();
        loop {
            let reclaimed = self.gather(class, most);
            if class.free() > free || self.take_over(class, plan, &mut budget) {
                return Ok(());
            }
            if reclaimed < most {
                return Err(error);
            }
            most = most.saturating_mul(FRACTION as usize);
        }
    }

    /// Reclaims some returned buffers, and banks the free buffers of all other classes, so that it
    /// is known which of their chunks are idle. Returns the number of those that it reclaimed.
    fn gather(&self, class: &Class<R>, most: usize) -> usize {
        let mut left = most;
        for any in self.classes() {
            left -= self.reclaim(any, left);
        }
        for other in self.others(class) {
            self.bank_hand(other, usize::MAX);
        }
        most - left
    }

    /// All classes except one.
    fn others<'c>(&'c self, class: &'c Class<R>) -> impl DoubleEndedIterator<Item = &'c Class<R>> {
        let classes = self.classes().iter();
        classes.filter(move |&other| !core::ptr::eq(other, class))
    }

    /// Adds a chunk to a class for which this plan was refused: an idle one of another class, or a
    /// new one in the place of idle ones. Returns `false` if there is none.
    fn take_over(&self, class: &Class<R>, plan: &ChunkPlan, budget: &mut Budget) -> bool {
        self.take_idle(class, plan.buffers, plan.buffers)
            || self.allocate_in_place(class, plan, budget)
            || self.take_idle(class, 1, 1)
    }

    /// How the first idle chunk of another class serves this class: the one whose bytes have room
    /// for the most buffers, and for at least one.
    fn best_idle<'c>(&'c self, class: &'c Class<R>) -> Option<Reuse<'c, R>> {
        let idle = |other| Some((other, Chunk::list(other, State::Idle).next()?));
        let room = |(_, chunk): &(_, Listed<R>)| chunk.room_for(class.size());
        let chunks = self.others(class).filter_map(idle);
        let best = chunks.max_by_key(room).filter(|it| room(it) > 0)?;
        let (room, (other, chunk)) = (room(&best), best);
        let capacity = chunk.capacity;
        let as_it_is = room.min(capacity);
        let of_headers = self.bytes_left() + capacity as usize * size_of::<Header<R>>();
        let most = (of_headers / size_of::<Header<R>>())
            .min(self.directory().numbers_left(capacity))
            .min(room as usize) as u32;
        let excess = (capacity - as_it_is) as usize * size_of::<Header<R>>();
        let wanted = if most > as_it_is {
            most
        } else if excess > chunk.data_bytes / TOO_MANY {
            as_it_is
        } else {
            capacity
        };
        Some(Reuse {
            other,
            chunk,
            room,
            as_it_is,
            wanted,
        })
    }

    /// Takes over the [best idle chunk](Self::best_idle) if its bytes have room for `room` buffers,
    /// and it has, or gets, headers for `least`.
    fn take_idle(&self, class: &Class<R>, room: u32, least: u32) -> bool {
        let Some(planned) = self.best_idle(class).filter(|it| it.room >= room) else {
            return false;
        };
        let headers = (planned.chunk.capacity != planned.wanted)
            .then(|| self.other_headers(&planned))
            .flatten();
        // Again: the source may have used the arena (`read-again`). From here on it does not run
        // before the chunk is the other class's.
        let Some(reuse) = self.best_idle(class).filter(|it| it.room >= room) else {
            return false;
        };
        let other = headers.as_ref().map(|&(_, count)| count).filter(|&count| {
            let is_enough = count > reuse.as_it_is || reuse.wanted == reuse.as_it_is;
            is_enough && count <= reuse.wanted && self.directory().has_room(count)
        });
        if other.unwrap_or(reuse.as_it_is) < least {
            return false;
        }
        let Some(mut blocks) = self.remove_idle(reuse.other, None) else {
            return false;
        };
        let mut unused = headers.map(|(headers, _)| headers);
        if let (Some(headers), Some(_)) = (&mut unused, other) {
            core::mem::swap(headers, &mut blocks.headers);
        }
        self.adopt(class, blocks);
        drop(unused);
        true
    }

    /// Headers for a chunk that is taken over, and their number: that which is wanted, or a
    /// fraction of it that is more than the chunk has. `None` if there is no memory.
    fn other_headers(&self, reuse: &Reuse<'_, R>) -> Option<(Block, u32)> {
        let mut count = reuse.wanted;
        loop {
            let layout = headers_layout::<R>(count)?;
            if let Ok(block) = Block::allocate(layout, self.source()) {
                // It needs no memory if there are fewer of them than before.
                self.make_room(count).ok()?;
                return Some((block, count));
            }
            count /= FRACTION;
            if count <= reuse.as_it_is {
                return None;
            }
        }
    }

    /// Adds a chunk of this plan, which was refused, or of fewer buffers, in the place of idle
    /// chunks of other classes.
    ///
    /// Returns `false` if that gives no room for a buffer. At a limit nothing is freed then, unless
    /// the next request can have that room.
    fn allocate_in_place(&self, class: &Class<R>, plan: &ChunkPlan, budget: &mut Budget) -> bool {
        let mut way = Way {
            core: self,
            class,
            plan: *plan,
            // It serves the request as it is, if the source refuses everything.
            kept: self.best_idle(class).map(|reuse| reuse.chunk),
        };
        if self.check_limits(plan).is_err() {
            let Some(smaller) = self.plan_within_limit(&way, budget.chunks()) else {
                return false;
            };
            way.plan = smaller;
            while self.check_limits(&smaller).is_err() && budget.free_one(&mut way) {}
            if self.allocate_chunk(class, &smaller).is_ok() {
                return true;
            }
        }
        let (bytes, buffers) = (way.plan.bytes(), way.plan.buffers);
        in_place_of_bytes(&mut way, budget, bytes, buffers)
            || in_place_of_all(&mut way, budget, buffers, 1)
    }

    /// The plan of a chunk of as many buffers, of those of this plan, as there is room for within
    /// the limit once the next `most_freed` idle chunks are freed. `None` if all idle chunks
    /// together have no room for a buffer.
    fn plan_within_limit(&self, way: &Way<'_, R>, most_freed: usize) -> Option<ChunkPlan> {
        let Way { class, plan, .. } = *way;
        let (of_one, of_none) = Self::bytes_of_one(class.size());
        let buffers = |bytes: usize| bytes.saturating_sub(of_none) / of_one;
        let kept = way.kept.map_or(0, |it| it.bytes);
        let idle: usize = self.others(class).map(|it| it.idle_bytes().get()).sum();
        if buffers(self.bytes_left() + idle - kept) == 0 {
            return None;
        }
        let next = way.idle_chunks().take(most_freed);
        let next: usize = next.map(|it| it.bytes).sum();
        let room = self.bytes_left() + next;
        if plan.bytes() <= room {
            return Some(plan);
        }
        let most = buffers(room).clamp(1, plan.buffers as usize);
        self.smaller_chunk(class, most).ok()
    }

    /// Frees the wide hands of classes without chunks, and the directory if there is no chunk.
    /// Returns whether there were some. A source of the user's may run.
    fn free_tables(&self) -> bool {
        let mut is_any = false;
        for class in self.classes() {
            is_any |= class.narrow().is_some();
        }
        is_any | self.directory().clear_if_unused()
    }

    /// Removes the first idle chunk of a class, or the one after `kept`, from all lists and counts.
    /// The caller frees its blocks, or makes another chunk of them.
    fn remove_idle(&self, class: &Class<R>, kept: Option<Listed<R>>) -> Option<Blocks> {
        let kept = kept.map(|it| it.chunk);
        let idle = Chunk::list(class, State::Idle).find(|it| Some(it.chunk) != kept)?;
        // SAFETY: on a list, so it is valid (`chunk-listed`).
        let it = unsafe { idle.chunk.as_ref() };
        it.unlink();
        self.directory().give_back(&it.top);
        self.directory().release(it.capacity);
        class.subtract(it.buffers(), it.made());
        self.count_bytes(-(idle.bytes as isize));
        // SAFETY: from this core; idle and on no list, so nothing uses it any more.
        Some(unsafe { Chunk::into_blocks(idle.chunk, self) })
    }

    /// Frees the first idle chunk of a class, or the one after `kept`. Returns `false` if there is
    /// none. A source of the user's may run.
    fn free_idle(&self, class: &Class<R>, kept: Option<Listed<R>>) -> bool {
        let blocks = self.remove_idle(class, kept);
        if blocks.is_some() {
            self.counters().freed_chunks.add();
        }
        blocks.is_some()
    }

    /// Frees the memory of all chunks that have no buffer in use.
    pub(super) fn shrink_to_fit(&self) {
        self.reclaim_all();
        if self.fixed.get() {
            return;
        }
        for class in self.classes() {
            self.bank_hand(class, usize::MAX);
            // The source may use the arena, which adds idle chunks: only those that are idle now.
            for _ in 0..Chunk::list(class, State::Idle).count() {
                self.free_idle(class, None);
            }
        }
        self.free_tables();
    }
}

/// How an idle chunk serves another class.
struct Reuse<'c, R: References> {
    /// The class that has it.
    other: &'c Class<R>,
    chunk: Listed<R>,
    /// The number of buffers that its bytes have room for.
    room: u32,
    /// The number of those for which it has headers.
    as_it_is: u32,
    /// The number of headers that it is to have.
    wanted: u32,
}

/// A request for a chunk of this plan, and what it may free: idle chunks of other classes.
struct Way<'c, R: References> {
    core: &'c ArenaCore<R>,
    class: &'c Class<R>,
    plan: ChunkPlan,
    /// The chunk that it may not free. It is compared, and not looked at.
    kept: Option<Listed<R>>,
}

impl<'c, R: References> Way<'c, R> {
    /// The chunks, in the order in which they are freed: large ones first.
    fn idle_chunks(&self) -> impl Iterator<Item = Listed<R>> + use<'c, R> {
        let kept = self.kept.map(|it| it.chunk);
        let others = self.core.others(self.class).rev();
        let chunks = others.flat_map(|it| Chunk::list(it, State::Idle));
        let chunks = chunks.inspect(|_| {
            #[cfg(all(test, not(loom)))]
            super::tests::step();
        });
        chunks.filter(move |it| Some(it.chunk) != kept)
    }
}

impl<R: References> Refused for Way<'_, R> {
    fn bytes(&self) -> usize {
        self.core.chunk_bytes()
    }

    fn free_one(&mut self) -> bool {
        let mut others = self.core.others(self.class).rev();
        others.any(|other| self.core.free_idle(other, self.kept))
    }

    fn free_tables(&mut self) -> bool {
        self.core.free_tables()
    }

    fn allocate(&mut self, cells: u32) -> bool {
        let plan = match cells == self.plan.buffers {
            true => Ok(self.plan),
            false => self.core.smaller_chunk(self.class, cells as usize),
        };
        plan.is_ok_and(|plan| self.core.allocate_chunk(self.class, &plan).is_ok())
    }
}

/// The two blocks of a chunk that is not, or no longer, in use.
pub(super) struct Blocks {
    data: Block,
    headers: Block,
}

/// The bytes of a chunk and of its headers, before they are allocated.
#[derive(Clone, Copy)]
struct ChunkPlan {
    data: Layout,
    headers: Layout,
    buffers: u32,
}

impl ChunkPlan {
    /// # Errors
    ///
    /// If the bytes exceed `isize::MAX`.
    fn new<R: References>(
        data_bytes: usize,
        alignment: usize,
        buffers: u32,
    ) -> Result<Self, AllocError> {
        let too_many = |slot_bytes| AllocError::TooManyBytes {
            slots: buffers as usize,
            slot_bytes,
        };
        let data = Layout::from_size_align(data_bytes, alignment);
        Ok(ChunkPlan {
            data: data.map_err(|_| too_many(data_bytes / buffers as usize))?,
            headers: headers_layout::<R>(buffers).ok_or(too_many(size_of::<Header<R>>()))?,
            buffers,
        })
    }

    /// Bytes of both blocks.
    fn bytes(&self) -> usize {
        self.data.size() + self.headers.size()
    }
}

/// The layout of a record and the headers after it.
fn headers_layout<R: References>(buffers: u32) -> Option<Layout> {
    let headers = Layout::array::<Header<R>>(buffers as usize).ok()?;
    let (layout, _) = Layout::new::<Chunk<R>>().extend(headers).ok()?;
    Some(layout)
}

impl Blocks {
    /// # Errors
    ///
    /// When the source refuses.
    fn allocate(plan: &ChunkPlan, source: &Source) -> Result<Self, AllocError> {
        Ok(Blocks {
            data: Block::allocate(plan.data, source)?,
            headers: Block::allocate(plan.headers, source)?,
        })
    }

    /// Bytes of both.
    fn bytes(&self) -> usize {
        self.data.layout().size() + self.headers.layout().size()
    }

    /// The record of a chunk of them, which has room for a buffer, and its place; none of the
    /// headers are made yet.
    fn into_record<R: References>(self, class: &Class<R>) -> (Chunk<R>, NonNull<Chunk<R>>) {
        let bytes = self.data.layout().size();
        let headers = self.headers.layout().size() - size_of::<Chunk<R>>();
        let capacity = (headers / size_of::<Header<R>>()) as u32;
        let data = self.data.leak_start();
        let record = Chunk::new(class, data, bytes, capacity);
        (record, self.headers.leak_start().cast())
    }
}

impl<R: References> Chunk<R> {
    /// Takes the blocks of a chunk back.
    ///
    /// # Safety
    ///
    /// It is from this core, and not used any more, nor are its headers.
    pub(super) unsafe fn into_blocks(chunk: NonNull<Self>, core: &ArenaCore<R>) -> Blocks {
        let (alignment, source) = (core.chunk_alignment, core.source());
        // SAFETY: by `chunk-blocks` leaked with these layouts, from that source; no one uses it any
        // more (precondition).
        unsafe {
            let it = chunk.read();
            let layout = headers_layout::<R>(it.capacity).expect("it was laid out so");
            let data = Layout::from_size_align_unchecked(it.data_bytes, alignment);
            Blocks {
                data: Block::from_start(it.data, data, source),
                headers: Block::from_start(chunk.cast(), layout, source),
            }
        }
    }
}

/// A chunk that was on a list, with a copy of what callers ask for: a reference could outlive the
/// chunk.
pub(super) struct Listed<R: References> {
    pub(super) chunk: NonNull<Chunk<R>>,
    /// Bytes of both blocks.
    pub(super) bytes: usize,
    pub(super) data_bytes: usize,
    pub(super) capacity: u32,
    /// The first page that has banked headers of it.
    pub(super) top: u32,
}

impl<R: References> Clone for Listed<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: References> Copy for Listed<R> {}

impl<R: References> Listed<R> {
    /// How many buffers of this size its bytes have room for.
    pub(super) fn room_for(&self, size: usize) -> u32 {
        (self.data_bytes / size).min(MOST_BUFFERS) as u32
    }
}
