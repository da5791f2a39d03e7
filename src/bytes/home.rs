//! What an arena and its buffers share.
//!
//! # Invariants
//!
//! * A1: the home stands at the start of a block, with its classes after it. It is there until
//!   the arena is dropped and no chunk is in use; then whatever comes last frees it.
//! * A2: slabs are linked from `slabs` on; each is a class's. `bytes` is the sum of theirs, at
//!   most `max_bytes`.
//! * A3: once the arena is dropped, every class is closed, no position holds a reference, and
//!   `remaining` chunks are in use.
//! * A4: no user code runs in this family but that of an allocator or a source of memory, and
//!   after each call of those, what it may have changed is read again.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::class::Class;
use super::directory::Directory;
use super::header::Header;
use super::serials::Serials;
use super::sizes::{Classes, Sizes};
use super::slab::{self, Blocks, Slab, SlabLink};
use super::stats::Counters;
use super::{RequestError, Trimmed};
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// What an arena and its buffers share.
#[repr(C)]
pub(super) struct Home {
    sizes: Sizes,
    classes: NonNull<Class>,
    class_count: usize,
    directory: Directory,
    serials: Serials,
    /// References that positions hold.
    held: Cell<u64>,
    slabs: Cell<SlabLink>,
    slab_size: usize,
    bytes: Cell<usize>,
    max_bytes: Cell<usize>,
    remaining: Cell<usize>,
    counters: Counters,
    source: Source,
}

/// How an arena is made.
pub(super) struct Plan {
    pub(super) classes: Classes,
    pub(super) slab_size: usize,
    pub(super) max_bytes: usize,
    pub(super) source: Source,
}

/// The most chunks of a slab: numbers for 16 such slabs are there.
const MOST_CHUNKS: usize = 1 << 20;

/// What became of a slab that was to be moved from one class to another.
enum Moved {
    Yes,
    /// There was none.
    No,
    /// Its memory was given back.
    GivenUp,
}

/// The layout of a home and so many classes, and where those begin.
fn layout(classes: usize) -> (Layout, usize) {
    let array = Layout::array::<Class>(classes).expect("64 classes at most");
    let home = Layout::new::<Home>();
    home.extend(array).expect("64 classes at most")
}

impl Home {
    /// A home without slabs.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn try_new(plan: Plan) -> Result<NonNull<Home>, AllocError> {
        let Plan {
            classes: chosen,
            slab_size,
            max_bytes,
            source,
        } = plan;
        let sizes = chosen.as_slice();
        let (layout, offset) = layout(sizes.len());
        let serials = Serials::try_new(&source)?;
        let start = Block::allocate(layout, &source)?.leak_start();
        let home = start.cast::<Home>();
        // SAFETY: the block has room for the home, and for the classes at that offset (A1).
        unsafe {
            let classes = start.add(offset).cast::<Class>();
            for (index, &size) in sizes.iter().enumerate() {
                let class = Class::new(size, index as u8, home, source.clone());
                classes.add(index).write(class);
            }
            home.write(Home {
                sizes: Sizes::new(&chosen),
                classes,
                class_count: sizes.len(),
                directory: Directory::new(source.clone()),
                serials,
                held: Cell::new(0),
                slabs: Cell::new(None),
                slab_size,
                bytes: Cell::new(0),
                max_bytes: Cell::new(max_bytes),
                remaining: Cell::new(0),
                counters: Counters::default(),
                source,
            });
        }
        Ok(home)
    }

    #[inline(always)]
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(super) fn serials(&self) -> &Serials {
        &self.serials
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
        // SAFETY: a class (S2).
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

    /// The class of the largest chunks.
    #[inline(always)]
    pub(super) fn last_class(&self) -> &Class {
        // SAFETY: there is at least one (A1).
        unsafe { self.classes.add(self.class_count - 1).as_ref() }
    }

    /// A chunk of a class, whose header is mutable from now on.
    #[inline(always)]
    pub(super) fn take(&self, class: &Class) -> Result<NonNull<Header>, RequestError> {
        match class.pop() {
            Some(header) => Ok(header),
            None => self.take_fresh(class),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn too_big(&self, size: usize) -> RequestError {
        self.counters.too_big_errs.add();
        RequestError::TooBig {
            size,
            largest: self.sizes.largest(),
        }
    }

    /// As [`take`](Self::take), of a class of which none is on the free stack.
    #[cold]
    #[inline(never)]
    fn take_fresh(&self, class: &Class) -> Result<NonNull<Header>, RequestError> {
        loop {
            class.refill(None, false);
            // Several rounds only where the allocator uses the arena.
            if let Some(header) = class.pop() {
                return Ok(header);
            }
            if let Err(error) = self.add_slab(class) {
                // Of this class only if the allocator has freed one.
                return self.take_larger(class).ok_or_else(|| {
                    self.counters.pop_free_chunk_errs.add();
                    RequestError::Exhausted(error)
                });
            }
        }
    }

    /// A chunk of this class or a larger one, of the first that has any.
    fn take_larger(&self, class: &Class) -> Option<NonNull<Header>> {
        let classes = self.classes().iter();
        let mut fit = classes.filter(|larger| larger.size() >= class.size());
        fit.find_map(|class| {
            class.pop().or_else(|| {
                class.refill(None, false);
                class.pop()
            })
        })
    }

    /// Makes sure that `count` chunks of a class are free, and touched.
    ///
    /// # Errors
    ///
    /// When there is no memory for so many; those that were made stay. When there are not so
    /// many numbers; none is made then.
    pub(super) fn reserve(&self, class: &Class, count: usize) -> Result<(), AllocError> {
        let missing = count.saturating_sub(class.chunks() - class.in_use());
        let (_, chunks) = self.new_slab_size(class);
        let slabs = missing.div_ceil(chunks as usize);
        // Else all memory there is would be taken, and touched, before a request fails.
        Directory::check_numbers(slabs, chunks)?;
        let touch = !self.source.populates();
        if touch {
            class.touch_free(count);
        }
        loop {
            let missing = count.saturating_sub(class.depth());
            if missing == 0 {
                return Ok(());
            }
            if !class.refill(Some(missing), touch) {
                self.add_slab(class)?;
            }
        }
    }

    /// Adds a slab to a class: of new memory, or, when that is refused, one that another class
    /// does not use.
    fn add_slab(&self, class: &Class) -> Result<(), AllocError> {
        loop {
            let Err(error) = self.add_new_slab(class) else {
                return Ok(());
            };
            match self.move_slab(class) {
                Moved::Yes => return Ok(()),
                // What it had may be enough for a new one. Each round has one slab less.
                Moved::GivenUp => {}
                // No slab is as large as the chunk, but several may be.
                Moved::No if self.makes_way(class) => {}
                Moved::No => {
                    self.counters.add_slab_errs.add();
                    return Err(error);
                }
            }
        }
    }

    /// Bytes and chunks of a new slab of a class.
    fn new_slab_size(&self, class: &Class) -> (usize, u32) {
        let size = class.size();
        let chunks = (self.slab_size / size).clamp(1, MOST_CHUNKS);
        // The whole of a usual slab, so that another class may take it.
        let bytes = if chunks == MOST_CHUNKS {
            chunks * size
        } else {
            self.slab_size.max(size)
        };
        (bytes, chunks as u32)
    }

    fn add_new_slab(&self, class: &Class) -> Result<(), AllocError> {
        let (bytes, chunks) = self.new_slab_size(class);
        let (data, headers) = (slab::data_layout(bytes)?, slab::headers_layout(chunks)?);
        let more = data.size() + headers.size();
        self.check_limit(more)?;
        self.counters.mallocs.add();
        let blocks = Blocks::allocate(data, headers, &self.source);
        let blocks = blocks.inspect_err(|_| self.counters.malloc_errs.add())?;
        self.make_room(class, chunks)?;
        // Again: the allocator may have used the arena.
        self.check_limit(more)?;
        self.link(class, blocks, chunks);
        Ok(())
    }

    fn check_limit(&self, more: usize) -> Result<(), AllocError> {
        let room = self.max_bytes.get() - self.bytes.get();
        if more > room {
            return Err(AllocError::Limit { bytes: more });
        }
        Ok(())
    }

    /// Gives slabs back of which no chunk is in use, if a chunk of the class is larger than
    /// usual slabs, and there is room for it then.
    fn makes_way(&self, class: &Class) -> bool {
        if class.size() <= self.slab_size {
            return false;
        }
        // Not its own: a reserve would go round in them.
        let others = |slab: &Slab| !core::ptr::eq(slab.class(), class);
        let unused: usize = self.unused(others).map(Slab::bytes).sum();
        let (bytes, chunks) = self.new_slab_size(class);
        let Ok(headers) = slab::headers_layout(chunks) else {
            return false;
        };
        let room = self.max_bytes.get() - self.bytes.get() + unused;
        unused > 0 && bytes + headers.size() <= room && self.give_back(others).slabs > 0
    }

    /// Lowers the limit to what there is.
    pub(super) fn forbid_growth(&self) {
        self.max_bytes.set(self.bytes.get());
    }

    /// Has a class and the directory make room for so many chunks, both at once.
    fn make_room(&self, class: &Class, chunks: u32) -> Result<(), AllocError> {
        loop {
            self.directory.make_room(chunks)?;
            // Allocates, so the arena may be used, and take the room that was made.
            class.make_room(chunks as usize)?;
            if self.directory.has_room(chunks) {
                return Ok(());
            }
        }
    }

    /// Adds a slab for which [room was made](Self::make_room).
    fn link(&self, class: &Class, blocks: Blocks, chunks: u32) {
        self.directory.promise(chunks);
        self.bytes.set(self.bytes.get() + blocks.bytes());
        let slab = blocks.into_slab(NonNull::from(class), chunks);
        // SAFETY: just made.
        unsafe { slab.as_ref() }.set_next(self.slabs.replace(Some(slab)));
        class.add(slab);
    }

    pub(super) fn slabs(&self) -> impl Iterator<Item = NonNull<Slab>> {
        // SAFETY: by A2 each is there.
        core::iter::successors(self.slabs.get(), |slab| unsafe { slab.as_ref() }.next())
    }

    /// Moves a slab of which no chunk is in use from another class to this one. It is given
    /// up where it cannot have the headers of so many chunks.
    fn move_slab(&self, class: &Class) -> Moved {
        let fits = |slab: &NonNull<Slab>| {
            // SAFETY: by A2 it is there.
            let it = unsafe { slab.as_ref() };
            !core::ptr::eq(it.class(), class)
                && it.data_bytes() >= class.size()
                && Slab::is_empty(*slab)
        };
        let Some(slab) = self.slabs().find(fits) else {
            return Moved::No;
        };
        // SAFETY: by A2 it is there.
        unsafe { slab.as_ref() }.set_leaves();
        // SAFETY: it is the only one that leaves, and is empty.
        let Some(blocks) = (unsafe { self.unlink_leaving() }) else {
            return Moved::No;
        };
        // SAFETY: unlinked just now, and there is one.
        let blocks = unsafe { Slab::into_blocks(blocks, &self.source) };
        let chunks = (blocks.data_bytes() / class.size()).min(MOST_CHUNKS) as u32;
        let Ok(blocks) = blocks.with_room(chunks, &self.source) else {
            return Moved::GivenUp;
        };
        let room = self.make_room(class, chunks);
        let more = blocks.bytes();
        if room.is_err() || self.check_limit(more).is_err() {
            return Moved::GivenUp;
        }
        self.counters.moved_slabs.add();
        self.link(class, blocks, chunks);
        Moved::Yes
    }

    /// Unlinks the slabs that are marked to leave from everything, and returns the first of
    /// them; they are linked to each other.
    ///
    /// # Safety
    ///
    /// None of their chunks is in use.
    unsafe fn unlink_leaving(&self) -> SlabLink {
        for class in self.classes() {
            class.forget_leaving();
        }
        let (mut kept, mut leaving): (SlabLink, SlabLink) = (None, None);
        let mut next = self.slabs.take();
        while let Some(slab) = next {
            // SAFETY: by A2 it is there.
            let it = unsafe { slab.as_ref() };
            next = it.next();
            let list = if it.leaves() { &mut leaving } else { &mut kept };
            it.set_next(list.replace(slab));
            if it.leaves() {
                Slab::give_numbers_back(slab, self);
                self.directory.release(it.chunks());
                it.class().subtract(it);
                self.bytes.set(self.bytes.get() - it.bytes());
            }
        }
        self.slabs.set(kept);
        leaving
    }

    /// The slabs of which no chunk is in use, of those that are asked for.
    fn unused(&self, of: impl Fn(&Slab) -> bool) -> impl Iterator<Item = &Slab> {
        // SAFETY: by A2 each is there.
        let slabs = self.slabs().map(|slab| (slab, unsafe { slab.as_ref() }));
        let unused = slabs.filter(move |(slab, it)| of(it) && Slab::is_empty(*slab));
        unused.map(|(_, it)| it)
    }

    /// Gives the memory of slabs back of which no chunk is in use.
    pub(super) fn trim(&self) -> Trimmed {
        self.give_back(|_| true)
    }

    /// Gives the memory of slabs back of which no chunk is in use, of those that are asked for.
    fn give_back(&self, of: impl Fn(&Slab) -> bool) -> Trimmed {
        for slab in self.unused(of) {
            slab.set_leaves();
        }
        // SAFETY: only empty ones were marked.
        let mut leaving = unsafe { self.unlink_leaving() };
        let mut trimmed = Trimmed::default();
        // Freed last: the allocator may use the arena.
        while let Some(slab) = leaving {
            // SAFETY: unlinked, so no one else uses it.
            let blocks = unsafe {
                leaving = slab.as_ref().next();
                Slab::into_blocks(slab, &self.source)
            };
            trimmed.slabs += 1;
            trimmed.bytes += blocks.bytes();
            drop(blocks);
        }
        for class in self.classes() {
            if let Some(stack) = class.shrink() {
                trimmed.bytes += stack.array_bytes();
            }
        }
        self.counters.trimmed_slabs.add_many(trimmed.slabs as u64);
        trimmed
    }

    /// Notes that a position holds one reference more.
    pub(super) fn count_held(&self) {
        self.held.set(self.held.get() + 1);
    }

    /// Notes that a position holds one reference less.
    pub(super) fn count_unheld(&self) {
        self.held.set(self.held.get().saturating_sub(1));
    }

    /// References that positions hold.
    pub(super) fn held(&self) -> u64 {
        self.held.get()
    }

    /// Bytes of the slabs with their headers, and of all tables.
    pub(super) fn all_bytes(&self) -> usize {
        let stacks: usize = self.classes().iter().map(Class::stack_bytes).sum();
        let tables = self.directory.bytes() + self.serials.bytes();
        self.bytes.get() + stacks + tables + layout(self.class_count).0.size()
    }

    /// Bytes of the slabs with their headers.
    pub(super) fn slab_bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The arena is dropped: gives the references back that positions hold, and frees
    /// everything once no chunk is in use.
    ///
    /// # Safety
    ///
    /// Called once; the caller does not use the home any more.
    pub(super) unsafe fn close(home: NonNull<Home>) {
        // SAFETY: it is there until it is closed (A1).
        let it = unsafe { home.as_ref() };
        if it.held.get() > 0 {
            for header in it.slabs().flat_map(Slab::headers) {
                // SAFETY: it is there, and no class is closed yet, so the home stays.
                unsafe { Header::drop_held(header) };
            }
        }
        let in_use = it.classes().iter().map(Class::in_use).sum();
        it.remaining.set(in_use);
        for class in it.classes() {
            class.close();
        }
        if in_use == 0 {
            // SAFETY: no buffer is left, and the arena is gone (A1).
            unsafe { Self::free(home) };
        }
    }

    /// Counts out a chunk of a home that is closed.
    ///
    /// # Safety
    ///
    /// It was in use, and is not; the caller does not use the home or the chunk any more.
    #[cold]
    pub(super) unsafe fn ended(home: NonNull<Home>) {
        // SAFETY: it is there while chunks remain (A1).
        let remaining = unsafe { &home.as_ref().remaining };
        remaining.set(remaining.get() - 1);
        if remaining.get() == 0 {
            // SAFETY: it was the last one (A3).
            unsafe { Self::free(home) };
        }
    }

    /// # Safety
    ///
    /// The arena is dropped, and no chunk is in use; called once.
    #[cold]
    pub(super) unsafe fn free(home: NonNull<Home>) {
        // SAFETY: no one else uses any of it (A1). The blocks are freed with their layouts;
        // the slabs first, then the classes, which hold blocks of their own.
        unsafe {
            let (layout, _) = layout(home.as_ref().class_count);
            let mut slab = home.as_ref().slabs.take();
            while let Some(it) = slab {
                slab = it.as_ref().next();
                drop(Slab::into_blocks(it, &home.as_ref().source));
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
        let mut bytes = 0;
        let mut held = 0;
        for class in self.classes() {
            class.check();
            let of_class = |slab: &NonNull<Slab>| {
                // SAFETY: by A2 it is there.
                core::ptr::eq(unsafe { slab.as_ref() }.class(), class)
            };
            assert_eq!(self.slabs().filter(of_class).count(), class.slabs(), "A2");
            let headers = self.slabs().filter(of_class).flat_map(Slab::headers);
            // SAFETY: these headers are there (L2).
            let free = headers.filter(|header| unsafe { header.as_ref() }.is_free());
            assert_eq!(
                free.count(),
                class.depth(),
                "C1: all free headers are on the stack"
            );
        }
        for slab in self.slabs() {
            // SAFETY: by A2 it is there.
            let it = unsafe { slab.as_ref() };
            assert!(!it.leaves() && it.made() <= it.chunks());
            bytes += it.bytes();
            for header in Slab::headers(slab) {
                // SAFETY: it is there (L2).
                let at = unsafe { header.as_ref() };
                held += u64::from(at.held());
                assert_eq!(self.directory.find(at.number()), Some(header), "D1");
                assert!(at.serial() == 0 || !at.is_free(), "H3");
                assert!(
                    at.count().is_none_or(|count| at.held() as usize <= count),
                    "H2"
                );
                assert_eq!(self.directory.slab(at.number()), slab, "D1");
            }
        }
        assert_eq!(bytes, self.bytes.get(), "A2: the bytes");
        assert!(bytes <= self.max_bytes.get(), "A2: the limit");
        assert_eq!(held, self.held.get(), "the references of positions");
    }
}
