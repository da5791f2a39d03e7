//! What an arena and its buffers share: the classes, their chunks, and the directory.
//!
//! # Invariants
//!
//! * A1: the home stands at the start of a block, with its classes after it. It is there until
//!   the arena is dropped and no buffer is in use; then whatever comes last frees it.
//! * A2: each chunk is on a list of its class's. `bytes` is the sum of theirs, at most `max_bytes`.
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
use super::chunk::Chunk;
use super::class::{Class, State};
use super::counters::{Counters, Tallies};
use super::directory::Directory;
use super::header::Header;
use super::references::References;
use super::serials::Serials;
use super::sizes::{Classes, Sizes};
use crate::error::{AllocError, SizeError};
use crate::raw::atomic::AtomicUsize;
use crate::raw::memory::Block;
use crate::raw::packed::Word;
use crate::raw::source::Source;

/// What an arena and its buffers share.
#[repr(C)]
pub(super) struct Home<R: References> {
    sizes: Sizes,
    classes: NonNull<Class>,
    class_count: usize,
    directory: Directory<R>,
    pub(super) serials: Serials,
    /// References that positions hold.
    pub(super) held: Cell<u64>,
    /// What is left of chains, on one thread.
    pub(super) unfinished: Cell<Word>,
    pub(super) chunk_bytes: usize,
    bytes: Cell<usize>,
    max_bytes: usize,
    /// Whether the chunks there are stay, and are all there will be.
    pub(super) fixed: Cell<bool>,
    /// Of the one class, if fixed.
    pub(super) hand: Cell<Option<Block>>,
    pub(super) remaining: AtomicUsize,
    counters: Counters,
    tallies: Tallies,
    source: Source,
}

/// How an arena is made.
pub(super) struct Plan {
    pub(super) classes: Classes,
    pub(super) chunk_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) source: Source,
}

/// How many headers are made, or reclaimed, at once when no buffer is free: an allocation that
/// finds none pays for at most that many. A page has 64 of them.
pub(super) const REFILL: usize = 16;

/// The layout of a home and its classes, and where those begin.
fn layout<R: References>(classes: usize) -> (Layout, usize) {
    let array = Layout::array::<Class>(classes).expect("64 classes at most");
    let home = Layout::new::<Home<R>>();
    home.extend(array).expect("64 classes at most")
}

impl<R: References> Home<R> {
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
                Class::write(classes.add(index), size, start);
            }
            home.write(Home {
                sizes: Sizes::new(&chosen),
                classes,
                class_count: sizes.len(),
                directory: Directory::new(source.clone()),
                serials,
                held: Cell::new(0),
                unfinished: Cell::new(Word::EMPTY),
                chunk_bytes,
                bytes: Cell::new(0),
                max_bytes,
                fixed: Cell::new(false),
                hand: Cell::new(None),
                remaining: AtomicUsize::new(0),
                counters: Counters::default(),
                tallies: Tallies::default(),
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

    /// What is counted of the references to buffers.
    #[inline(always)]
    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// As [`tallies`](Self::tallies), of the home of a buffer that is not free.
    #[inline(always)]
    pub(super) fn tallies_of(header: &Header<R>) -> &Tallies {
        // SAFETY: a header that is not free keeps its home; no more than the address of this field
        // is made, which any thread may read.
        unsafe { &(*Self::of(header.class()).as_ptr()).tallies }
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
            self.reclaim(class, REFILL);
            if class.depth() == 0 {
                self.refill(class);
            }
            Self::pop(class)
        })
    }

    /// A buffer of this class or a larger one, of the first that has any.
    ///
    /// Without it, in a cache with a limit, 19 buffers of 3 KB held 16 chunks of 1 MiB, and
    /// every other request was refused.
    fn take_larger(&self, class: &Class) -> Option<NonNull<Header<R>>> {
        let classes = self.classes().iter();
        let mut fit = classes.filter(|larger| larger.size() >= class.size());
        fit.find_map(|class| self.take_made(class))
    }

    /// Makes sure that `count` buffers of a class are free, and touched.
    ///
    /// # Errors
    ///
    /// If there is no memory for `count` buffers; those that were made stay. If there are not
    /// enough numbers; none is made then.
    pub(super) fn reserve(&self, class: &Class, count: usize) -> Result<(), AllocError> {
        self.reclaim(class, usize::MAX);
        // Else all memory there is would be taken, and touched, before a request fails.
        self.check_numbers(
            class,
            count.saturating_sub(class.buffers() - class.in_use()),
        )?;
        let touched = !self.source.populates();
        if touched {
            for header in self.free_headers(class).take(count) {
                // SAFETY: a free header is there, and no one uses its bytes (C1).
                unsafe { crate::raw::touch::touch(header.as_ref().start(), 0, class.size()) };
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

    /// Bytes that chunks may have besides those that there are.
    pub(super) fn bytes_left(&self) -> usize {
        self.max_bytes - self.bytes.get()
    }

    /// A chunk is added, or given back.
    pub(super) fn count_bytes(&self, change: isize) {
        self.bytes.set(self.bytes.get().wrapping_add_signed(change));
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn chunks(&self) -> impl Iterator<Item = NonNull<Chunk<R>>> + '_ {
        let lists = |class| {
            State::ALL
                .iter()
                .map(move |&state| Chunk::list(class, state))
        };
        self.classes().iter().flat_map(lists).flatten()
    }

    /// Bytes of the chunks with their headers, and of all tables.
    pub(super) fn all_bytes(&self) -> usize {
        let hand = match self.fixed.get() {
            true => self
                .last_class()
                .hand_of_all()
                .map_or(0, |hand| hand.size()),
            false => {
                let wide = self.classes().iter().filter_map(Class::wide_hand);
                wide.count() * Class::WIDE_HAND.size()
            }
        };
        let tables = self.directory.bytes() + self.serials.bytes() + hand;
        self.bytes.get() + tables + layout::<R>(self.class_count).0.size()
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
        // SAFETY: no one else uses any of it (A1). The blocks are freed with their layouts; a
        // class has none of its own but a wide hand, and nothing to drop.
        unsafe {
            let (layout, _) = layout::<R>(home.as_ref().class_count);
            for class in home.as_ref().classes() {
                if let (false, Some(hand)) = (home.as_ref().fixed.get(), class.wide_hand()) {
                    drop(Block::from_start(
                        hand,
                        Class::WIDE_HAND,
                        &home.as_ref().source,
                    ));
                }
                for list in State::ALL.map(|state| class.list(state)) {
                    let mut chunk = list.take().map(NonNull::cast::<Chunk<R>>);
                    while let Some(it) = chunk {
                        chunk = it.as_ref().next();
                        drop(Chunk::into_blocks(it, &home.as_ref().source));
                    }
                }
            }
            let source = home.as_ref().source.clone();
            home.drop_in_place();
            drop(Block::from_start(home.cast(), layout, &source));
        }
    }

    /// Panics where an invariant of the family does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        use alloc::collections::BTreeSet;

        let mut bytes = 0;
        for class in self.classes() {
            class.check(|header| {
                // SAFETY: a free header is there (C1).
                let it = unsafe { header.cast::<Header<R>>().as_ref() };
                assert!(it.is_free(), "C1");
                it.counts().check_free();
                // SAFETY: no one borrows a free header's link.
                assert!(unsafe { it.next() }.is_none(), "a free header has no link");
                assert!(core::ptr::eq(it.class(), class), "C1: its class");
            });
            let (mut chunks, mut banked, mut free) = (0, 0, 0);
            for state in State::ALL {
                let mut idle_bytes = 0;
                for chunk in Chunk::<R>::list(class, state) {
                    // SAFETY: on a list, so it is there (C3).
                    let it = unsafe { chunk.as_ref() };
                    let seen: BTreeSet<_> = self.directory.banked(it.top().get()).collect();
                    for header in Chunk::headers(chunk) {
                        // SAFETY: `headers` gives those that were made (L2).
                        let at = unsafe { header.as_ref() };
                        assert_eq!(self.directory.find(at.number()), Some(header), "D1");
                        assert!(at.is_free() || !seen.contains(&header), "C1: not banked");
                        free += usize::from(at.is_free());
                    }
                    assert!(core::ptr::eq(it.class(), class), "C3: its class");
                    it.check(state, seen.len());
                    (chunks, banked) = (chunks + 1, banked + seen.len());
                    (bytes, idle_bytes) = (bytes + it.bytes(), idle_bytes + it.bytes());
                }
                if state == State::Idle {
                    assert_eq!(idle_bytes, class.idle_bytes().get(), "C3: the bytes");
                }
            }
            assert_eq!(chunks, class.chunks(), "A2");
            assert_eq!(
                (free, banked + class.depth()),
                (class.free(), class.free()),
                "C1"
            );
        }
        assert_eq!(bytes, self.bytes.get(), "A2: the bytes");
        assert!(bytes <= self.max_bytes, "A2: the limit");
    }
}
