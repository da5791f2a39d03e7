//! What an arena and its buffers share: the classes, their chunks, and the directory.
//!
//! # Invariants
//!
//! * A1: the home stands at the start of a block, with its classes after it. It is there until
//!   the arena is dropped and no buffer is in use; then whatever comes last frees it.
//! * A2: chunks are linked from `chunks` on; each is a class's. `bytes` is the sum of theirs, at
//!   most `max_bytes`.
//! * A3: once the arena is dropped, every class is closed, and no position holds a reference.
//!   `remaining` is the number of buffers in use, or, where other threads count, of classes that
//!   have some, and 1 more while the arena's drop runs.
//! * A4: no user code runs in this family but that of an allocator or a source of memory, and
//!   after each call of those, what it may have changed is read again.
//! * A5: all but the counts of a header, and `remaining`, is the thread's alone that has the
//!   arena, and after that of the one that frees everything.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::RequestError;
use super::chunk::{self, Blocks, Chunk, ChunkLink};
use super::class::Class;
use super::counters::Counters;
use super::counts::Counting;
use super::directory::Directory;
use super::header::Header;
use super::serials::Serials;
use super::sizes::{Classes, Sizes};
use crate::error::{AllocError, SizeError};
use crate::raw::atomic::AtomicUsize;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// How buffers and the arena end, which differs between one thread and many.
pub trait Ends: Counting {
    /// Frees a stale header without a link, or gives it back to the thread that frees it.
    ///
    /// # Safety
    ///
    /// The caller has the header: it is not free, has no reference, and is of that class. It is
    /// not used any more.
    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn give_back(header: NonNull<Header<Self>>, class: NonNull<Class>);

    /// Makes headers of a class free that other threads gave back, `most` at most. Returns how
    /// many.
    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    fn reclaim(home: &Home<Self>, class: &Class, most: usize) -> usize;

    /// The arena is dropped: gives the references back that positions hold, and frees
    /// everything once no buffer is in use.
    ///
    /// # Safety
    ///
    /// Called once; the caller does not use the home any more.
    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn close(home: NonNull<Home<Self>>);
}

/// What an arena and its buffers share.
#[repr(C)]
pub(super) struct Home<R: Counting> {
    sizes: Sizes,
    classes: NonNull<Class>,
    class_count: usize,
    directory: Directory<R>,
    pub(super) serials: Serials,
    /// References that positions hold.
    pub(super) held: Cell<u64>,
    chunks: Cell<ChunkLink<R>>,
    chunk_bytes: usize,
    bytes: Cell<usize>,
    max_bytes: Cell<usize>,
    /// Whether the chunks there are stay, and are all there will be.
    fixed: Cell<bool>,
    pub(super) remaining: AtomicUsize,
    counters: Counters,
    source: Source,
}

/// How an arena is made.
pub(super) struct Plan {
    pub(super) classes: Classes,
    pub(super) chunk_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) source: Source,
}

/// The most buffers of a chunk: numbers for 16 such chunks are there.
const MOST_BUFFERS: usize = 1 << 20;

/// How many headers are made, or reclaimed, at once when no buffer is free: an allocation that
/// finds none pays for at most that many. A page has 64 of them.
const REFILL: usize = 16;

/// The layout of a home and its classes, and where those begin.
fn layout<R: Counting>(classes: usize) -> (Layout, usize) {
    let array = Layout::array::<Class>(classes).expect("64 classes at most");
    let home = Layout::new::<Home<R>>();
    home.extend(array).expect("64 classes at most")
}

impl<R: Ends> Home<R> {
    /// A home without chunks.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn try_new(plan: Plan) -> Result<NonNull<Self>, AllocError> {
        let Plan {
            classes: chosen,
            chunk_bytes,
            max_bytes,
            source,
        } = plan;
        let sizes = chosen.as_slice();
        let (layout, offset) = layout::<R>(sizes.len());
        let serials = Serials::new(source.clone());
        if !R::ATOMIC {
            serials.prepare()?;
        }
        let start = Block::allocate(layout, &source)?.leak_start();
        let home = start.cast::<Self>();
        // SAFETY: the block has room for the home, and for the classes at that offset (A1).
        unsafe {
            let classes = start.add(offset).cast::<Class>();
            for (index, &size) in sizes.iter().enumerate() {
                let class = Class::new(size, start, source.clone());
                classes.add(index).write(class);
            }
            home.write(Home {
                sizes: Sizes::new(&chosen),
                classes,
                class_count: sizes.len(),
                directory: Directory::new(source.clone()),
                serials,
                held: Cell::new(0),
                chunks: Cell::new(None),
                chunk_bytes,
                bytes: Cell::new(0),
                max_bytes: Cell::new(max_bytes),
                fixed: Cell::new(false),
                remaining: AtomicUsize::new(0),
                counters: Counters::default(),
                source,
            });
        }
        Ok(home)
    }

    /// The home of a class's buffers.
    #[inline(always)]
    pub(super) fn of(class: &Class) -> NonNull<Self> {
        class.home().cast()
    }

    #[inline(always)]
    pub(super) fn directory(&self) -> &Directory<R> {
        &self.directory
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn classes(&self) -> &[Class] {
        // SAFETY: they stand after the home (A1); only Cells of theirs are written.
        unsafe { core::slice::from_raw_parts(self.classes.as_ptr(), self.class_count) }
    }

    /// The first class in which a request fits.
    #[inline(always)]
    pub(super) fn class_for(&self, size: usize) -> Option<&Class> {
        if size > self.sizes.largest() {
            return None;
        }
        // SAFETY: by S2 the tables name classes that are there.
        let mut class = unsafe { self.classes.add(self.sizes.first(size)) };
        loop {
            // SAFETY: not past the last, in which the largest request fits (S1).
            let it = unsafe { class.as_ref() };
            if size <= it.size() {
                return Some(it);
            }
            // SAFETY: the request does not fit, so this is not the last.
            class = unsafe { class.add(1) };
        }
    }

    /// The class of the largest buffers.
    #[inline(always)]
    pub(super) fn last_class(&self) -> &Class {
        // SAFETY: there is at least one (A1).
        unsafe { self.classes.add(self.class_count - 1).as_ref() }
    }

    /// A buffer of a class, whose header is mutable from now on, and the class that it is of: a
    /// larger one where there is no memory for this one.
    #[inline(always)]
    pub(super) fn take(
        &self,
        class: &Class,
    ) -> Result<(NonNull<Header<R>>, NonNull<Class>), RequestError> {
        if let Some(header) = Self::pop(class) {
            return Ok((header, NonNull::from(class)));
        }
        let header = self.take_fresh(class)?;
        // SAFETY: a header that is not free keeps its home.
        Ok((header, unsafe { header.as_ref() }.class_pointer()))
    }

    /// The free header that is next, shared with one reference from now on, and of so many bytes.
    /// Only of those on the free stack.
    ///
    /// # Safety
    ///
    /// A buffer of the class has room for so many bytes, and the caller fills them before anything
    /// else runs.
    #[inline(always)]
    pub(super) unsafe fn pop_shared(class: &Class, filled: u32) -> Option<NonNull<Header<R>>> {
        let header = class.pop()?.cast::<Header<R>>();
        // SAFETY: a free header is there (C1).
        unsafe { header.as_ref() }.take_shared(filled);
        Some(header)
    }

    /// The free header that is next, mutable from now on.
    #[inline(always)]
    fn pop(class: &Class) -> Option<NonNull<Header<R>>> {
        let header = class.pop()?.cast::<Header<R>>();
        // SAFETY: a free header is there (C1).
        unsafe { header.as_ref() }.take();
        Some(header)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn too_large(&self, size: usize) -> RequestError {
        self.counters.too_large_errs.add();
        RequestError::TooLarge(SizeError::new(size, self.sizes.largest()))
    }

    /// As [`take`](Self::take), of a class of which none is on the free stack.
    #[cold]
    #[inline(never)]
    pub(super) fn take_fresh(&self, class: &Class) -> Result<NonNull<Header<R>>, RequestError> {
        loop {
            // Several rounds only where the allocator uses the arena.
            if let Some(header) = self.take_made(class) {
                return Ok(header);
            }
            if let Err(error) = self.add_chunk(class) {
                // Of this class only if the allocator has freed one.
                return self.take_larger(class).ok_or_else(|| {
                    self.counters.pop_free_errs.add();
                    RequestError::Memory(error)
                });
            }
        }
    }

    /// A buffer of the chunks that the class has.
    fn take_made(&self, class: &Class) -> Option<NonNull<Header<R>>> {
        Self::pop(class).or_else(|| {
            if R::reclaim(self, class, REFILL) == 0 {
                self.refill(class, REFILL, false);
            }
            Self::pop(class)
        })
    }

    /// A buffer of this class or a larger one, of the first that has any.
    ///
    /// Without it, in a cache with a limit, 19 buffers of 3 KB held 16 chunks of 1 MiB, and
    /// every other request was refused. To look for an unused chunk of another class instead,
    /// a request walked over the headers of all chunks: 10 ms at 32 MiB.
    fn take_larger(&self, class: &Class) -> Option<NonNull<Header<R>>> {
        let classes = self.classes().iter();
        let mut fit = classes.filter(|larger| larger.size() >= class.size());
        fit.find_map(|class| self.take_made(class))
    }

    /// Makes the next headers of a class, and pushes them, if any are left to be made: `most` at
    /// most. Touches their bytes if `touched`.
    fn refill(&self, class: &Class, most: usize, touched: bool) -> bool {
        let Some(chunk) = class.fresh.get() else {
            return false;
        };
        let chunk = chunk.cast::<Chunk<R>>();
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        // SAFETY: the home's chunks are there (C3).
        let it = unsafe { chunk.as_ref() };
        let made = it.made()..it.buffers().min(it.made().saturating_add(most));
        for index in made.clone() {
            // SAFETY: the next one of them, whose bytes no one uses.
            unsafe { it.make(chunk, index, &self.directory, touched) };
        }
        class.count_made(made.len());
        for index in made.rev() {
            // SAFETY: just made, so free, and not on the stack.
            unsafe { class.push(Chunk::header(chunk, index).cast()) };
        }
        if it.made() == it.buffers() {
            class.fresh.set(it.next_fresh().map(NonNull::cast));
        }
        true
    }

    /// Makes sure that `count` buffers of a class are free, and touched.
    ///
    /// # Errors
    ///
    /// If there is no memory for `count` buffers; those that were made stay. If there are not
    /// enough numbers; none is made then.
    pub(super) fn reserve(&self, class: &Class, count: usize) -> Result<(), AllocError> {
        R::reclaim(self, class, usize::MAX);
        let missing = count.saturating_sub(class.buffers() - class.in_use());
        let chunk = self.new_chunk(class)?;
        let chunks = missing.div_ceil(chunk.buffers as usize);
        // Else all memory there is would be taken, and touched, before a request fails.
        Directory::<R>::check_numbers(chunks, chunk.buffers)?;
        let touched = !self.source.populates();
        if touched {
            for header in class.free().take(count) {
                // SAFETY: a free header is there, and no one uses its bytes (C1).
                unsafe {
                    let start = header.cast::<Header<R>>().as_ref().start();
                    crate::raw::touch::touch(start, 0, class.size());
                }
            }
        }
        loop {
            let missing = count.saturating_sub(class.depth());
            if missing == 0 {
                return Ok(());
            }
            if !self.refill(class, missing, touched) {
                self.add_chunk(class)?;
            }
        }
    }

    /// A new chunk of a class, as it would be.
    fn new_chunk(&self, class: &Class) -> Result<chunk::Plan, AllocError> {
        let size = class.size();
        let buffers = (self.chunk_bytes / size).clamp(1, MOST_BUFFERS);
        chunk::Plan::new::<R>(buffers * size, buffers as u32)
    }

    /// Adds a chunk to a class.
    fn add_chunk(&self, class: &Class) -> Result<(), AllocError> {
        let added = self.new_chunk(class).and_then(|plan| {
            self.check_limit(&plan)?;
            self.counters.mallocs.add();
            let blocks = Blocks::allocate(&plan, &self.source);
            let blocks = blocks.inspect_err(|_| self.counters.malloc_errs.add())?;
            self.make_room(class, plan.buffers)?;
            // Again: the allocator may have used the arena.
            self.check_limit(&plan)?;
            self.link(class, blocks, &plan);
            Ok(())
        });
        added.inspect_err(|_| self.counters.add_chunk_errs.add())
    }

    fn check_limit(&self, plan: &chunk::Plan) -> Result<(), AllocError> {
        let bytes = plan.bytes();
        let room = self.max_bytes.get() - self.bytes.get();
        if bytes > room || self.fixed.get() {
            return Err(AllocError::Limit { bytes });
        }
        Ok(())
    }

    /// From now on no chunk is added, and none is given back.
    pub(super) fn fix(&self) {
        self.fixed.set(true);
    }

    /// Has a class and the directory make room for the buffers of a chunk, both at once.
    fn make_room(&self, class: &Class, buffers: u32) -> Result<(), AllocError> {
        loop {
            self.directory.make_room(buffers)?;
            // Allocates, so the arena may be used, and take the room that was made.
            class.make_room(buffers as usize)?;
            if self.directory.has_room(buffers) {
                return Ok(());
            }
        }
    }

    /// Adds a chunk for which [room was made](Self::make_room).
    fn link(&self, class: &Class, blocks: Blocks, plan: &chunk::Plan) {
        self.directory.promise(plan.buffers);
        self.bytes.set(self.bytes.get() + plan.bytes());
        let chunk = blocks.into_chunk::<R>(NonNull::from(class), plan);
        // SAFETY: the chunk was just made, and is linked below.
        let it = unsafe { chunk.as_ref() };
        it.set_next(self.chunks.replace(Some(chunk)));
        class.add(it.buffers());
        it.set_next_fresh(class.fresh.replace(Some(chunk.cast())).map(NonNull::cast));
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = NonNull<Chunk<R>>> {
        // SAFETY: by A2 each is there.
        core::iter::successors(self.chunks.get(), |chunk| unsafe { chunk.as_ref() }.next())
    }

    /// Gives the memory of chunks back of which no buffer is in use.
    pub(super) fn shrink_to_fit(&self) {
        self.reclaim_all();
        if self.fixed.get() {
            return;
        }
        for chunk in self.chunks().filter(|&chunk| Chunk::is_empty(chunk)) {
            // SAFETY: by A2 it is there, and so are its headers (L2).
            unsafe {
                chunk.as_ref().set_leaves();
                Chunk::headers(chunk).for_each(|header| header.as_ref().set_leaving());
            }
        }
        // SAFETY: only empty ones were marked.
        let mut leaving = unsafe { self.unlink_leaving() };
        // Freed last: the allocator may use the arena.
        while let Some(chunk) = leaving {
            self.counters.freed_chunks.add();
            // SAFETY: unlinked, so no one else uses it.
            unsafe {
                leaving = chunk.as_ref().next();
                drop(Chunk::into_blocks(chunk, &self.source));
            }
        }
        for class in self.classes() {
            drop(class.shrink());
        }
    }

    /// Unlinks the chunks that are marked to leave from everything, and returns the first of
    /// them; they are linked to each other.
    ///
    /// # Safety
    ///
    /// None of their buffers is in use.
    unsafe fn unlink_leaving(&self) -> ChunkLink<R> {
        for class in self.classes() {
            // SAFETY: a free header is there (C1).
            class.retain(|header| !unsafe { header.cast::<Header<R>>().as_ref() }.is_leaving());
            let mut kept: ChunkLink<R> = None;
            let mut chunk = class.fresh.take().map(NonNull::cast::<Chunk<R>>);
            while let Some(it) = chunk {
                // SAFETY: the home's chunks are there (C3).
                let fresh = unsafe { it.as_ref() };
                chunk = fresh.next_fresh();
                if !fresh.leaves() {
                    fresh.set_next_fresh(kept);
                    kept = Some(it);
                }
            }
            class.fresh.set(kept.map(NonNull::cast));
        }
        let (mut kept, mut leaving): (ChunkLink<R>, ChunkLink<R>) = (None, None);
        let mut next = self.chunks.take();
        while let Some(chunk) = next {
            // SAFETY: by A2 it is there.
            let it = unsafe { chunk.as_ref() };
            next = it.next();
            let list = if it.leaves() { &mut leaving } else { &mut kept };
            it.set_next(list.replace(chunk));
            if it.leaves() {
                Chunk::give_numbers_back(chunk, &self.directory);
                self.directory.release(it.buffers());
                it.class().subtract(it.buffers(), it.made());
                self.bytes.set(self.bytes.get() - it.bytes());
            }
        }
        self.chunks.set(kept);
        leaving
    }

    /// Makes all buffers free that other threads gave back. Returns how many.
    pub(super) fn reclaim_all(&self) -> usize {
        let classes = self.classes().iter();
        classes
            .map(|class| R::reclaim(self, class, usize::MAX))
            .sum()
    }

    /// Bytes of the chunks with their headers, and of all tables.
    pub(super) fn all_bytes(&self) -> usize {
        let stacks: usize = self.classes().iter().map(Class::stack_bytes).sum();
        let tables = self.directory.bytes() + self.serials.bytes();
        self.bytes.get() + stacks + tables + layout::<R>(self.class_count).0.size()
    }

    /// Bytes of the chunks with their headers.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Frees everything.
    ///
    /// # Safety
    ///
    /// The arena is dropped, and no buffer is in use; called once, and all that other threads
    /// did happens before.
    #[cold]
    pub(super) unsafe fn free_all(home: NonNull<Self>) {
        // SAFETY: no one else uses any of it (A1). The blocks are freed with their layouts;
        // the chunks first, then the classes, which hold blocks of their own.
        unsafe {
            let (layout, _) = layout::<R>(home.as_ref().class_count);
            let mut chunk = home.as_ref().chunks.take();
            while let Some(it) = chunk {
                chunk = it.as_ref().next();
                drop(Chunk::into_blocks(it, &home.as_ref().source));
            }
            for index in 0..home.as_ref().class_count {
                home.as_ref().classes.add(index).drop_in_place();
            }
            let source = home.as_ref().source.clone();
            home.drop_in_place();
            drop(Block::from_start(home.cast(), layout, &source));
        }
    }

    /// Panics where an invariant of the family does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        use super::counts::Counts;

        let mut bytes = 0;
        for class in self.classes() {
            class.check(|header| {
                // SAFETY: a free header is there (C1).
                let it = unsafe { header.cast::<Header<R>>().as_ref() };
                assert!(it.is_free() && !it.is_leaving(), "C1");
                it.counts().check_free();
                // SAFETY: no one borrows a free header's link.
                assert!(unsafe { it.next() }.is_none(), "a free header has no link");
                assert!(core::ptr::eq(it.class(), class), "C1: its class");
            });
            let of_class = |chunk: &NonNull<Chunk<R>>| {
                // SAFETY: by A2 it is there.
                core::ptr::eq(unsafe { chunk.as_ref() }.class(), class)
            };
            assert_eq!(self.chunks().filter(of_class).count(), class.chunks(), "A2");
            let headers = self.chunks().filter(of_class).flat_map(Chunk::headers);
            // SAFETY: these headers are there (L2).
            let free = headers.filter(|header| unsafe { header.as_ref() }.is_free());
            assert_eq!(
                free.count(),
                class.depth(),
                "C1: all free headers are on the stack"
            );
        }
        for chunk in self.chunks() {
            // SAFETY: by A2 it is there.
            let it = unsafe { chunk.as_ref() };
            assert!(!it.leaves() && it.made() <= it.buffers());
            bytes += it.bytes();
            for header in Chunk::headers(chunk) {
                // SAFETY: `headers` gives those that were made (L2).
                let at = unsafe { header.as_ref() };
                assert_eq!(self.directory.find(at.number()), Some(header), "D1");
            }
        }
        assert_eq!(bytes, self.bytes.get(), "A2: the bytes");
        assert!(bytes <= self.max_bytes.get(), "A2: the limit");
    }
}
