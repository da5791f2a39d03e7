//! Where free buffers come from if the hand of their class is empty.
//!
//! In this order: buffers that other threads returned, or that are left of chains (`drop.rs`);
//! banked buffers, or new ones of a chunk; another chunk, from the source; if there is no memory,
//! an idle chunk of another class; last, a larger buffer.
//!
//! A chunk belongs to its class while one of its buffers is in use. At the limit of the arena or of
//! numbers, and if the source refuses, a class takes over an idle chunk of another class, which has
//! no buffer in use. The classes know their idle chunks ([`State::Idle`]), so no buffer is looked
//! at. A chunk that is found is used as it is if it has as many buffers as a new chunk would have,
//! and otherwise freed for a new one.

use core::alloc::Layout;
use core::ops::Range;
use core::ptr::NonNull;

use super::RequestError;
use super::arena_core::{ArenaCore, Chunk, Class, Header, HeaderDirectory, State};
use super::numbers::{NO_PAGE, PAGE_HEADERS, bit};
use super::references::References;
use crate::error::AllocError;
use crate::raw::memory::Block;
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

/// The number of returned buffers that a request reclaims before it is refused: as many as a
/// default chunk has of 1 KiB, for a few microseconds. The next requests reclaim more.
pub(super) const LAST_RESORT: usize = 1024;

impl<R: References> ArenaCore<R> {
    /// Like [`take`](Self::take), for a class whose hand is empty.
    #[cold]
    #[inline(never)]
    pub(super) fn take_fresh(&self, class: &Class<R>) -> Result<NonNull<Header<R>>, RequestError> {
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
    fn take_made(&self, class: &Class<R>) -> Option<NonNull<Header<R>>> {
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
    fn take_larger(&self, class: &Class<R>) -> Option<NonNull<Header<R>>> {
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
            for header in self.free_headers(class).take(count) {
                // SAFETY: a free header is valid, and no one uses its bytes (`free-once`).
                unsafe { touch(header.as_ref().start(), 0, class.size()) };
            }
        }
        loop {
            let missing = count.saturating_sub(class.free());
            if missing == 0 {
                if class.depth() == 0 {
                    self.refill(class);
                }
                return Ok(());
            }
            if !self.make_banked(class, missing, touched) {
                self.add_chunk(class)?;
            }
        }
    }

    /// Checks that there could be numbers for so many chunks of a class.
    ///
    /// # Errors
    ///
    /// If there could not.
    fn check_numbers(&self, class: &Class<R>, missing: usize) -> Result<(), AllocError> {
        let chunk = self.new_chunk(class)?;
        let chunks = missing.div_ceil(chunk.buffers as usize);
        HeaderDirectory::<R>::check_numbers(chunks, chunk.buffers)
    }

    /// Fills the hand of a class that has room for free headers, if the class has some, or some can
    /// still be made.
    fn refill(&self, class: &Class<R>) {
        let states = State::ALL.iter().filter(|&&state| state != State::Full);
        let Some(chunk) = { states }.find_map(|&state| Chunk::list(class, state).next()) else {
            return;
        };
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
                let made = self.make(class, chunk, REFILL, false);
                it.count_in_use(made.len() as u32);
                let headers = made.rev().map(|index| Chunk::header(chunk, index));
                // SAFETY: just made, so free, and not in the hand.
                unsafe { class.push_all(headers) };
            }
        }
        // SAFETY: this is the chunk.
        unsafe { it.relink(chunk) };
    }

    /// Makes the next headers of a chunk, at most `most`, if some are not made yet. Touches their
    /// bytes if `touched`. Returns their range.
    fn make(
        &self,
        class: &Class<R>,
        chunk: NonNull<Chunk<R>>,
        most: usize,
        touched: bool,
    ) -> Range<u32> {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        // SAFETY: on a list, so it is valid (`chunk-listed`).
        let it = unsafe { chunk.as_ref() };
        let made = it.made()..it.buffers().min(it.made().saturating_add(most));
        for index in made.clone() {
            // SAFETY: the next one of them, whose bytes no one uses.
            unsafe { it.make(chunk, index, self.directory(), touched) };
        }
        class.count_made(made.len());
        made
    }

    /// Pushes a free header on the hand of its class, from which some are moved to the bank if it
    /// is full.
    ///
    /// # Safety
    ///
    /// The header is from this class, made, free, and neither in the hand nor banked.
    #[inline]
    pub(super) unsafe fn push(&self, class: &Class<R>, header: NonNull<Header<R>>) {
        // SAFETY: the same (precondition).
        if unsafe { class.push(header) } {
            self.bank_some(class);
        }
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
            unsafe { class.widen(hand.leak_start(), Class::<R>::WIDE_HAND) };
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

    /// Makes the next headers of a class, at most `most`, and banks them, if some are not made yet;
    /// O(idle chunks).
    fn make_banked(&self, class: &Class<R>, most: usize, touched: bool) -> bool {
        let lists = [State::Fresh, State::Idle].map(|state| Chunk::list(class, state));
        // SAFETY: on a list, so it is valid (`chunk-listed`).
        let is_unmade =
            |it: &NonNull<Chunk<R>>| unsafe { it.as_ref().made() < it.as_ref().buffers() };
        let Some(chunk) = { lists }.into_iter().flatten().find(is_unmade) else {
            return false;
        };
        let made = self.make(class, chunk, most, touched);
        class.count_banked(made.len());
        // SAFETY: as above; these headers are valid (`headers-made`).
        unsafe {
            let it = chunk.as_ref();
            for index in made.rev() {
                let (page, bit) = bit(Chunk::header(chunk, index).as_ref().number());
                self.directory().bank(page, bit, &it.top);
            }
            it.relink(chunk);
        }
        true
    }

    /// The free headers of a class.
    fn free_headers<'c>(
        &'c self,
        class: &'c Class<R>,
    ) -> impl Iterator<Item = NonNull<Header<R>>> + 'c {
        let lists = State::ALL.iter().map(|&state| Chunk::list(class, state));
        // SAFETY: on a list, so it is valid (`chunk-listed`).
        let tops = lists
            .flatten()
            .map(|chunk| unsafe { chunk.as_ref() }.top.get());
        let hand = class.lowest(usize::MAX);
        hand.chain(tops.flat_map(|top| self.directory().banked(top)))
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
        let wide = class.wide_hand();
        // SAFETY: of that layout, with more places than buffers; it is freed with the core, after
        // the class.
        unsafe { class.widen(hand.start(), layout) };
        self.hand.set(Some(hand));
        self.fixed.set(true);
        self.bank_hand(class, usize::MAX);
        while let Some(chunk) = Chunk::list(class, State::Idle).next() {
            // SAFETY: on a list, so it is valid (`chunk-listed`). All its headers are free, and in
            // the hand from now on.
            unsafe {
                let it = chunk.as_ref();
                while self.directory().draw(&it.top, usize::MAX).is_some() {}
                it.count_in_use(it.made());
                it.relink(chunk);
                class.count_unbanked(it.made() as usize);
                let headers = (0..it.made())
                    .rev()
                    .map(|index| Chunk::header(chunk, index));
                class.push_all(headers);
            }
        }
        if let Some(wide) = wide {
            // SAFETY: given up by `widen_hand`, and not the class's any more.
            drop(unsafe { Block::from_start(wide, Class::<R>::WIDE_HAND, self.source()) });
        }
        Ok(())
    }
}

impl<R: References> ArenaCore<R> {
    /// The plan of a new chunk of a class.
    fn new_chunk(&self, class: &Class<R>) -> Result<ChunkPlan, AllocError> {
        self.chunk_of(class, MOST_BUFFERS)
    }

    /// The plan of a new chunk of a class, with at most `most` buffers, which is at least one.
    fn chunk_of(&self, class: &Class<R>, most: usize) -> Result<ChunkPlan, AllocError> {
        let size = class.size();
        let buffers = (self.chunk_bytes / size).clamp(1, most);
        ChunkPlan::new::<R>(buffers * size, self.chunk_alignment, buffers as u32)
    }

    /// Bytes that one buffer of this size takes, and those that every chunk takes in addition.
    pub(super) const fn bytes_of_one(size: usize) -> (usize, usize) {
        (size + size_of::<Header<R>>(), size_of::<Chunk<R>>())
    }

    /// Adds a chunk to a class.
    ///
    /// # Errors
    ///
    /// At a limit, or if the source refuses, and no other class has an idle chunk.
    #[cold]
    fn add_chunk(&self, class: &Class<R>) -> Result<(), AllocError> {
        let added = self.new_chunk(class).and_then(|plan| {
            let allocated = self.allocate_chunk(class, &plan);
            allocated.or_else(|error| self.take_over(class, &plan, error))
        });
        added.inspect_err(|_| self.counters().add_chunk_errs.add())
    }

    /// Adds a chunk of this plan to a class.
    fn allocate_chunk(&self, class: &Class<R>, plan: &ChunkPlan) -> Result<(), AllocError> {
        self.check_limits(plan)?;
        self.counters().mallocs.add();
        let blocks = Blocks::allocate(plan, self.source());
        let blocks = blocks.inspect_err(|_| self.counters().malloc_errs.add())?;
        self.widen_hand(class, class.buffers() + plan.buffers as usize);
        // Last, because what the allocator adds to the arena takes room.
        self.make_room(plan.buffers)?;
        // Again: the allocator may have used the arena.
        self.check_limits(plan)?;
        self.adopt_new(class, blocks, plan);
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

    /// Makes room in the directory for the buffers of a chunk.
    fn make_room(&self, buffers: u32) -> Result<(), AllocError> {
        // More than one round only if the allocator uses the arena, and takes the room that was
        // made.
        while !self.directory().has_room(buffers) {
            self.directory().make_room(buffers)?;
        }
        Ok(())
    }

    /// Adds a chunk for which [room was made](Self::make_room).
    fn adopt_new(&self, class: &Class<R>, blocks: Blocks, plan: &ChunkPlan) {
        self.directory().promise(plan.buffers);
        self.count_bytes(plan.bytes() as isize);
        let chunk = blocks.into_chunk(NonNull::from(class), plan);
        class.add(plan.buffers);
        // SAFETY: the chunk was just made, and is on no list.
        unsafe { chunk.as_ref().link(chunk) };
    }

    /// Adds a chunk to a class for which this plan was refused: an idle one of another class, or a
    /// new one in the place of idle ones.
    ///
    /// # Errors
    ///
    /// The given error, if no other class has an idle chunk.
    fn take_over(
        &self,
        class: &Class<R>,
        plan: &ChunkPlan,
        error: AllocError,
    ) -> Result<(), AllocError> {
        if self.fixed.get() {
            return Err(error);
        }
        self.gather(class);
        if self.take_idle(class, plan.buffers) {
            return Ok(());
        }
        let allocated = if self.check_limits(plan).is_ok() {
            // The source has refused. It may have the memory once this is returned to it.
            self.retry(class, plan)
        } else {
            self.allocate_smaller(class, plan)
        };
        match allocated {
            Some(Ok(())) => Ok(()),
            // A chunk that has room for fewer buffers than a new one.
            _ if self.take_idle(class, 1) => Ok(()),
            Some(Err(error)) => Err(error),
            None => Err(error),
        }
    }

    /// All classes except one.
    fn others<'c>(&'c self, class: &'c Class<R>) -> impl Iterator<Item = &'c Class<R>> {
        let classes = self.classes().iter();
        classes.filter(move |&other| !core::ptr::eq(other, class))
    }

    /// Banks the free buffers of all other classes, and reclaims some of the returned ones, so that
    /// it is known which of their chunks are idle.
    fn gather(&self, class: &Class<R>) {
        let mut left = LAST_RESORT;
        for other in self.others(class) {
            left -= self.reclaim(other, left);
            self.bank_hand(other, usize::MAX);
        }
    }

    /// Takes over an idle chunk of another class: the one that has room for the most buffers, and
    /// for at least `least`.
    fn take_idle(&self, class: &Class<R>, least: u32) -> bool {
        let idle = |other| Chunk::list(other, State::Idle).next();
        let room = |chunk: &NonNull<Chunk<R>>| {
            // SAFETY: on a list, so it is valid (`chunk-listed`).
            unsafe { chunk.as_ref() }.buffers_of(class.size())
        };
        let chunks = self.others(class).filter_map(idle);
        let Some(chunk) = chunks.max_by_key(room).filter(|it| room(it) >= least) else {
            return false;
        };
        // SAFETY: on a list, so it is valid (`chunk-listed`). It is idle, so no header of it is
        // used; it is put on a list again.
        unsafe {
            let it = chunk.as_ref();
            it.unlink();
            it.move_to(class, self.directory(), chunk);
            it.link(chunk);
        }
        true
    }

    /// Frees the idle chunk of another class that became idle last; returns `false` if no class has
    /// one. A source of the user's may run.
    fn give_back_one(&self, class: &Class<R>) -> bool {
        let mut idle = self.others(class).map(|it| Chunk::list(it, State::Idle));
        let Some(chunk) = idle.find_map(|mut chunks| chunks.next()) else {
            return false;
        };
        // SAFETY: it is idle.
        drop(unsafe { self.remove(chunk) });
        true
    }

    /// Bytes of the idle chunks of all other classes.
    fn idle_bytes(&self, class: &Class<R>) -> usize {
        self.others(class).map(|it| it.idle_bytes().get()).sum()
    }

    /// Asks the source again for a chunk that it has refused, once as many bytes of idle chunks
    /// were freed; `None` if idle chunks have fewer.
    fn retry(&self, class: &Class<R>, plan: &ChunkPlan) -> Option<Result<(), AllocError>> {
        let before = self.chunk_bytes();
        if self.idle_bytes(class) < plan.bytes() {
            return None;
        }
        while self.chunk_bytes() + plan.bytes() > before && self.give_back_one(class) {}
        Some(self.allocate_chunk(class, plan))
    }

    /// Adds a chunk of fewer buffers than this plan, which exceeds a limit: as many as there is
    /// room for if idle chunks are freed. `None` if that is no buffer.
    fn allocate_smaller(
        &self,
        class: &Class<R>,
        plan: &ChunkPlan,
    ) -> Option<Result<(), AllocError>> {
        let (of_one, of_none) = Self::bytes_of_one(class.size());
        let room = self.bytes_left() + self.idle_bytes(class);
        let most = room.checked_sub(of_none)? / of_one;
        if most == 0 {
            return None;
        }
        let plan = self.chunk_of(class, most.min(plan.buffers as usize)).ok()?;
        while self.check_limits(&plan).is_err() && self.give_back_one(class) {}
        Some(self.allocate_chunk(class, &plan))
    }

    /// Removes a chunk from all lists and counts. The caller frees its blocks, during which a
    /// source of the user's may run.
    ///
    /// # Safety
    ///
    /// The chunk is from this core, and idle.
    unsafe fn remove(&self, chunk: NonNull<Chunk<R>>) -> Blocks {
        // SAFETY: on a list, so it is valid (`chunk-listed`); idle, so nothing uses it any more.
        unsafe {
            let it = chunk.as_ref();
            it.unlink();
            Chunk::give_numbers_back(chunk, self.directory());
            self.directory().release(it.capacity);
            it.class().subtract(it.buffers(), it.made());
            self.count_bytes(-(it.bytes() as isize));
            self.counters().freed_chunks.add();
            Chunk::into_blocks(chunk, self)
        }
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
                let Some(chunk) = Chunk::list(class, State::Idle).next() else {
                    break;
                };
                // SAFETY: it is idle.
                drop(unsafe { self.remove(chunk) });
            }
        }
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

    /// Makes the chunk of that plan; none of its headers are made yet.
    fn into_chunk<R: References>(
        self,
        class: NonNull<Class<R>>,
        plan: &ChunkPlan,
    ) -> NonNull<Chunk<R>> {
        let data = self.data.leak_start();
        let record = Chunk::new(class, data, plan.data.size(), plan.buffers);
        let chunk = self.headers.leak_start().cast::<Chunk<R>>();
        // SAFETY: the block begins with room for the record (`chunk-blocks`).
        unsafe { chunk.write(record) };
        chunk
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

    /// How many buffers of this size it would have.
    pub(super) fn buffers_of(&self, size: usize) -> u32 {
        let fit = self.data_bytes / size;
        // At most the capacity, so it fits.
        fit.min(self.capacity as usize) as u32
    }

    /// Moves an idle chunk that is on no list to another class.
    fn move_to(&self, class: &Class<R>, directory: &HeaderDirectory<R>, chunk: NonNull<Self>) {
        debug_assert!(self.in_use.get() == 0);
        Self::give_numbers_back(chunk, directory);
        self.class().subtract(self.buffers(), self.made());
        self.class.set(NonNull::from(class));
        self.buffers.set(self.buffers_of(class.size()));
        self.made.set(0);
        self.top.set(NO_PAGE);
        class.add(self.buffers());
    }

    /// Makes the header at `index`, and touches its bytes if `touched`. The caller counts it in
    /// use, or banks it.
    ///
    /// # Safety
    ///
    /// `chunk` is this chunk, and from this directory; `index` is `made`, and below `buffers`.
    unsafe fn make(
        &self,
        chunk: NonNull<Self>,
        index: u32,
        directory: &HeaderDirectory<R>,
        touched: bool,
    ) {
        let header = Self::header(chunk, index);
        let number = if index % PAGE_HEADERS == 0 {
            directory.take(header, chunk)
        } else {
            // SAFETY: the one before is made (`headers-made`).
            let before = unsafe { Self::header(chunk, index - 1).as_ref() };
            directory.extend(before.number())
        };
        let size = self.class().size();
        // SAFETY: the buffer is within the block, and unused; the header's place is within the
        // other block (`chunk-blocks`).
        unsafe {
            let start = self.data.add(index as usize * size);
            if touched {
                touch(start, 0, size);
            }
            header.write(Header::new(number, start, self.class.get()));
        }
        self.made.set(index + 1);
    }

    /// Frees the numbers of its headers.
    fn give_numbers_back(chunk: NonNull<Self>, directory: &HeaderDirectory<R>) {
        for header in Self::headers(chunk).step_by(PAGE_HEADERS as usize) {
            // SAFETY: `headers` gives those that were made (`headers-made`).
            directory.give_back(unsafe { header.as_ref() }.number());
        }
    }
}
