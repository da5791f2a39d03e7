//! Room for another chunk: from the source, or, where there is none, an idle chunk of another
//! class.
//!
//! A chunk is a class's as long as one of its buffers is in use. At the limit of the arena, at
//! that of numbers, and where the source refuses, a class takes one over of which none is. The
//! classes know theirs ([`State::Idle`]), so no buffer is looked at; what is found is put to use as
//! it is if it has as many buffers as a new chunk would have, else given back for a new one.

use core::ptr::NonNull;

use super::chunk::{self, Blocks, Chunk};
use super::class::{Class, State};
use super::directory::Directory;
use super::home::Home;
use super::references::References;
use crate::error::AllocError;

/// The most buffers of a chunk: numbers for 16 such chunks are there.
const MOST_BUFFERS: usize = 1 << 20;

/// How many buffers that came back a request takes in before it is refused: those of the default
/// chunk of 1 KiB buffers, for a few microseconds. More of them are taken in by the next ones.
pub(super) const LAST_RESORT: usize = 1024;

impl<R: References> Home<R> {
    /// A new chunk of a class, as it would be.
    pub(super) fn new_chunk(&self, class: &Class) -> Result<chunk::Plan, AllocError> {
        self.chunk_of(class, MOST_BUFFERS)
    }

    /// A new chunk of a class, with `most` buffers at most, which is at least one.
    fn chunk_of(&self, class: &Class, most: usize) -> Result<chunk::Plan, AllocError> {
        let size = class.size();
        let buffers = (self.chunk_bytes / size).clamp(1, most);
        chunk::Plan::new::<R>(buffers * size, buffers as u32)
    }

    /// Adds a chunk to a class.
    ///
    /// # Errors
    ///
    /// At a limit, or when the source refuses, and no other class has an idle chunk.
    #[cold]
    pub(super) fn add_chunk(&self, class: &Class) -> Result<(), AllocError> {
        let added = self.new_chunk(class).and_then(|plan| {
            let allocated = self.allocate_chunk(class, &plan);
            allocated.or_else(|error| self.take_over(class, &plan, error))
        });
        added.inspect_err(|_| self.counters().add_chunk_errs.add())
    }

    /// Adds a chunk of that plan to a class.
    fn allocate_chunk(&self, class: &Class, plan: &chunk::Plan) -> Result<(), AllocError> {
        self.check_limits(plan)?;
        self.counters().mallocs.add();
        let blocks = Blocks::allocate(plan, self.source());
        let blocks = blocks.inspect_err(|_| self.counters().malloc_errs.add())?;
        self.make_room(plan.buffers)?;
        self.widen_hand(class, class.buffers() + plan.buffers as usize);
        // Again: the allocator may have used the arena.
        self.check_limits(plan)?;
        self.adopt_new(class, blocks, plan);
        Ok(())
    }

    /// Whether neither the bytes nor the numbers of a chunk are too many.
    fn check_limits(&self, plan: &chunk::Plan) -> Result<(), AllocError> {
        let bytes = plan.bytes();
        if bytes > self.bytes_left() || self.fixed.get() {
            return Err(AllocError::Limit { bytes });
        }
        self.directory().check_left(plan.buffers)
    }

    /// Has the directory make room for the buffers of a chunk.
    fn make_room(&self, buffers: u32) -> Result<(), AllocError> {
        // Several rounds only where the allocator uses the arena, and takes the room that was
        // made.
        while !self.directory().has_room(buffers) {
            self.directory().make_room(buffers)?;
        }
        Ok(())
    }

    /// Adds a chunk for which [room was made](Self::make_room).
    fn adopt_new(&self, class: &Class, blocks: Blocks, plan: &chunk::Plan) {
        self.directory().promise(plan.buffers);
        self.count_bytes(plan.bytes() as isize);
        let chunk = blocks.into_chunk::<R>(NonNull::from(class), plan);
        class.add(plan.buffers);
        // SAFETY: the chunk was just made, and is on no list.
        unsafe { chunk.as_ref().link(chunk) };
    }

    /// Adds a chunk to a class for which that plan was refused: one that another class does not
    /// use, or in the place of such ones.
    ///
    /// # Errors
    ///
    /// The one that is given, if there is none.
    fn take_over(
        &self,
        class: &Class,
        plan: &chunk::Plan,
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
            // The source has refused. It may have what this gives back to it.
            self.retry(class, plan)
        } else {
            self.allocate_smaller(class, plan)
        };
        match allocated {
            Some(Ok(())) => Ok(()),
            // One that has room for fewer buffers than a new one.
            _ if self.take_idle(class, 1) => Ok(()),
            Some(Err(error)) => Err(error),
            None => Err(error),
        }
    }

    /// The classes but for one.
    fn others<'h>(&'h self, class: &'h Class) -> impl Iterator<Item = &'h Class> {
        let classes = self.classes().iter();
        classes.filter(move |&other| !core::ptr::eq(other, class))
    }

    /// Banks the free buffers of all other classes, and takes some of those in that came back, so
    /// that it is known which of their chunks are idle.
    fn gather(&self, class: &Class) {
        let mut left = LAST_RESORT;
        for other in self.others(class) {
            left -= self.reclaim(other, left);
            self.bank_hand(other, usize::MAX);
        }
    }

    /// Has a class take over an idle chunk of another, that one which has room for the most
    /// buffers; at least for so many.
    fn take_idle(&self, class: &Class, least: u32) -> bool {
        let idle = |other| Chunk::<R>::list(other, State::Idle).next();
        let room = |chunk: &NonNull<Chunk<R>>| {
            // SAFETY: on a list, so it is there (C3).
            unsafe { chunk.as_ref() }.buffers_of(class.size())
        };
        let chunks = self.others(class).filter_map(idle);
        let Some(chunk) = chunks.max_by_key(room).filter(|it| room(it) >= least) else {
            return false;
        };
        // SAFETY: on a list, so it is there (C3). It is idle, so no header of it is used; it is put
        // on a list again.
        unsafe {
            let it = chunk.as_ref();
            it.unlink();
            it.move_to(class, self.directory(), chunk);
            it.link(chunk);
        }
        true
    }

    /// Gives back the idle chunk of another class that was idle last; `false` if there is none.
    /// A source of the user's may run.
    fn give_back_one(&self, class: &Class) -> bool {
        let mut idle = self.others(class).map(|it| Chunk::list(it, State::Idle));
        let Some(chunk) = idle.find_map(|mut chunks| chunks.next()) else {
            return false;
        };
        // SAFETY: it is idle.
        drop(unsafe { self.remove(chunk) });
        true
    }

    /// Bytes of the idle chunks of all other classes.
    fn idle_bytes(&self, class: &Class) -> usize {
        self.others(class).map(|it| it.idle_bytes().get()).sum()
    }

    /// Asks the source for a chunk again that it has refused, once it has as many bytes back from
    /// idle chunks; `None` if there are fewer.
    fn retry(&self, class: &Class, plan: &chunk::Plan) -> Option<Result<(), AllocError>> {
        let before = self.chunk_bytes();
        if self.idle_bytes(class) < plan.bytes() {
            return None;
        }
        while self.chunk_bytes() + plan.bytes() > before && self.give_back_one(class) {}
        Some(self.allocate_chunk(class, plan))
    }

    /// Adds a chunk of fewer buffers than that plan, which exceeds a limit: of those that there is
    /// room for if idle chunks are given back. `None` if that is none.
    fn allocate_smaller(
        &self,
        class: &Class,
        plan: &chunk::Plan,
    ) -> Option<Result<(), AllocError>> {
        let (of_one, of_none) = chunk::Plan::bytes_of_one::<R>(class.size());
        let room = self.bytes_left() + self.idle_bytes(class);
        let most = room.checked_sub(of_none)? / of_one;
        if most == 0 {
            return None;
        }
        let plan = self.chunk_of(class, most.min(plan.buffers as usize)).ok()?;
        while self.check_limits(&plan).is_err() && self.give_back_one(class) {}
        Some(self.allocate_chunk(class, &plan))
    }

    /// Takes a chunk out of everything. The caller frees its blocks, at which a source of the
    /// user's may run.
    ///
    /// # Safety
    ///
    /// It is the home's, and idle.
    unsafe fn remove(&self, chunk: NonNull<Chunk<R>>) -> Blocks {
        // SAFETY: on a list, so it is there (C3); idle, so nothing uses it any more.
        unsafe {
            let it = chunk.as_ref();
            it.unlink();
            Chunk::give_numbers_back(chunk, self.directory());
            self.directory().release(it.capacity());
            it.class().subtract(it.buffers(), it.made());
            self.count_bytes(-(it.bytes() as isize));
            self.counters().freed_chunks.add();
            Chunk::into_blocks(chunk, self.source())
        }
    }

    /// Gives the memory of all chunks back of which no buffer is in use.
    pub(super) fn shrink_to_fit(&self) {
        self.reclaim_all();
        if self.fixed.get() {
            return;
        }
        for class in self.classes() {
            self.bank_hand(class, usize::MAX);
            // The source may use the arena, so that there are others: of those that there are now.
            for _ in 0..Chunk::<R>::list(class, State::Idle).count() {
                let Some(chunk) = Chunk::list(class, State::Idle).next() else {
                    break;
                };
                // SAFETY: it is idle.
                drop(unsafe { self.remove(chunk) });
            }
        }
    }
}

impl<R: References> Home<R> {
    /// Whether there could be numbers for so many chunks of a class.
    ///
    /// # Errors
    ///
    /// When there could not.
    pub(super) fn check_numbers(&self, class: &Class, missing: usize) -> Result<(), AllocError> {
        let chunk = self.new_chunk(class)?;
        let chunks = missing.div_ceil(chunk.buffers as usize);
        Directory::<R>::check_numbers(chunks, chunk.buffers)
    }
}
