//! What an arena and its buffers share, from the outside in: the *core*, its size classes, their
//! chunks, and the headers of the buffers.
//!
//! ```text
//! ByteArena ─→ ArenaCore ←→ Class ←→ Chunk ─→ Header ←─ Buf, BufMut
//!                             └──────←──────────┘
//! ```
//! The core is at the start of a block, with its classes after it, and lives as long as the arena
//! or a buffer. A class is the buffers of one size. The last of its buffers that became free are in
//! its *hand*, an array of a few pointers; an allocation takes the last of them, and touches no
//! header. The others are *banked*: a bit each, next to the number of free buffers of their chunk,
//! so that a chunk that has no buffer in use is known as such. Several buffers at a time are moved
//! from the hand to the bank when the hand is full, and back when it is empty (`refill.rs`). One
//! array of all free buffers, as it was before, told nothing about a chunk without a walk over all
//! of them, so an arena at its limit refused requests while most of its memory was free.
//!
//! A chunk is a block of bytes that is cut into buffers, and a block of their headers. Headers are
//! apart from the bytes, so that headers stay when memory is freed, and a buffer contains only the
//! user's bytes. Each takes a cache line.
//!
//! # Invariants
//!
//! * `core-stays`: the core is at the start of a block, with its classes after it. It is valid
//!   until the arena is dropped and no buffer is in use; then the last of these two events frees
//!   it. While it [waits](super::drop), the call for which it does counts as a buffer.
//! * `bytes-limited`: each chunk is on a list of its class's. `bytes` is the sum of theirs, at most
//!   `max_bytes`.
//! * `closed-remaining`: once the arena is dropped, every class is closed, and no position holds a
//!   reference. `remaining` is the number of buffers in use, or, where other threads count, of
//!   classes that have some, and 1 more while the arena's drop runs, or the core waits.
//! * `waits-once`: a core of one thread waits, if its arena is dropped and a call looks at what is
//!   left of its chains, or will before it returns. It is on the list of that call alone, and
//!   `remaining` is 1 more: for the first one the buffer, already free, or the link, with which
//!   the call began.
//! * `links-counted`: of one thread, `links` is the number of its headers that have a link.
//! * `read-again`: the only user code that runs in this family is that of an allocator or a source
//!   of memory. After each call of it, everything that it may have changed is read again.
//! * `owner-alone`: another thread that has a buffer uses its bytes, its header except `filled`,
//!   and, when it returns the buffer, `returns` of its class and then `remaining`; it also reads
//!   memory that no thread writes. Everything else belongs to the thread that has the arena, and
//!   after that to the thread that frees everything.
//! * `free-once`: each header of the class's chunks that was made is free, and then either in the
//!   hand, from `bottom` up to `top`, once, or banked; or not free, and then neither. `made` is
//!   their number, and `banked` that of the banked ones.
//! * `hand-places`: the hand is an array of places up to `limit`: `entries`, a wide one of 1,280
//!   places in a block of the class's own, or, in a core whose chunks are fixed, one that the
//!   core has. `top` comes to `limit` by a push that returns `true`, and is below it before the
//!   next. A null stands below `bottom`.
//! * `chunk-listed`: each chunk of the class is on that one of `lists` which its [state](State)
//!   says. `idle_bytes` is the sum of the bytes of the idle ones.
//! * `back-in-use`: buffers that other threads returned are on `returns`, and, once the arena's
//!   thread took them, linked from `arrived` on. The rest of chains, on one thread, is linked from
//!   `unfinished` on. Such a buffer counts as in use until it is free.
//! * `chunk-blocks`: a chunk's record stands at the start of a block of its own, before room for
//!   `capacity` headers. The bytes of its `buffers` buffers, which are not more, stand in `data`,
//!   a block of `data_bytes` that is aligned to the core's `chunk_alignment`, one after the other.
//! * `headers-made`: the first `made` headers are there. Their numbers follow each other within a
//!   page of the directory, and each page begins at a header whose index is a multiple of its
//!   length.
//! * `chunk-counted`: `in_use` is the number of headers that were made and are not banked. Those
//!   that are can be found from `top` on (`bank-bits`). `state` follows from these, and says on
//!   which list the chunk is.
//! * `header-state`: a header is in one of four states. *Free*: in its class's hand, or banked;
//!   `filled` is [`FREE`]. *Mutable*: a `BufMut` has it, and nothing else; it has no link. *Shared*:
//!   the count is that of its references, which are `Buf`s, links, references that positions hold,
//!   and at most one `BufMut`. *Given back*: without a reference, and stale. Where other threads
//!   count it is on its class's return stack; on one thread it is left of a chain, and on the list of
//!   the core. One of a chain that is being freed is on neither.
//! * `class-of-mutable`: a `BufMut` has the class of its header if that is mutable, and `None` if it
//!   is shared: if the buffer was split, or has a link.
//! * `bytes-filled`: the bytes that a `Buf` refers to are initialised, and end before those of the
//!   header's `BufMut`, which writes only to its own and to those after them; nothing else writes to
//!   the bytes of a shared header. The same holds for the first `filled` bytes if the header has a
//!   serial. Only the arena's thread writes `filled`.
//! * `no-cycle`: links make no cycle. `next` changes only while the header's one reference is
//!   borrowed exclusively, or the header has no reference. Then the only chain that contains it is
//!   the one through which it is borrowed, and the buffer that it is linked to cannot reach it.
//! * `all-initialised`: if `is_initialised`, all bytes of the buffer are initialised, including
//!   those beyond its capacity. Only the header's `BufMut` writes and reads it; it stays as it is
//!   while there is none.

use core::alloc::Layout;
use core::cell::{Cell, UnsafeCell};
use core::ops::Range;
use core::ptr::NonNull;

use super::RequestError;
use super::buf::Buf;
use super::counters::Counters;
use super::drop::OfClass;
use super::numbers::{Directory, NO_PAGE, Number, Serials};
use super::references::{References, Tallies};
use super::refill::Listed;
use super::sizes::{ClassSizes, Sizes};
use crate::error::{AllocError, SizeError};
use crate::raw::atomic::AtomicUsize;
use crate::raw::memory::Block;
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;
use crate::raw::source::Source;

/// The header of an arena that a number stands for.
pub(super) type HeaderDirectory<R> = Directory<Header<R>, Chunk<R>>;

/// What an arena and its buffers share.
#[repr(C)]
pub(super) struct ArenaCore<R: References> {
    sizes: Sizes,
    classes: NonNull<Class<R>>,
    class_count: usize,
    directory: HeaderDirectory<R>,
    pub(super) serials: Serials,
    /// References that positions hold.
    pub(super) held: Cell<u64>,
    /// The rest of chains, on one thread.
    pub(super) unfinished: Cell<Word>,
    /// Once the arena is dropped: buffers on `unfinished`.
    pub(super) left: Cell<usize>,
    /// Links of its buffers, on one thread.
    pub(super) links: Cell<usize>,
    /// If this core waits, the one that waits below it, or this one if none does.
    pub(super) waiting: Cell<Option<NonNull<Self>>>,
    pub(super) chunk_bytes: usize,
    pub(super) chunk_alignment: usize,
    bytes: Cell<usize>,
    max_bytes: usize,
    /// True if no chunk is added or freed any more.
    pub(super) fixed: Cell<bool>,
    /// The hand of the one class, if fixed.
    pub(super) hand: Cell<Option<Block>>,
    pub(super) remaining: AtomicUsize,
    counters: Counters,
    tallies: Tallies,
    source: Source,
}

/// The parameters of a new arena.
pub(super) struct Plan {
    pub(super) classes: ClassSizes,
    pub(super) chunk_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) source: Source,
}

/// The layout of a core and its classes, and the offset of the classes.
fn layout<R: References>(classes: usize) -> (Layout, usize) {
    let array = Layout::array::<Class<R>>(classes).expect("64 classes at most");
    let core = Layout::new::<ArenaCore<R>>();
    core.extend(array).expect("64 classes at most")
}

impl<R: References> ArenaCore<R> {
    /// A core without chunks.
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
        let mut record = ArenaCore {
            sizes: Sizes::new(&chosen),
            classes: NonNull::dangling(),
            class_count: sizes.len(),
            directory: Directory::new(source.clone()),
            serials,
            held: Cell::new(0),
            unfinished: Cell::new(Word::EMPTY),
            left: Cell::new(0),
            links: Cell::new(0),
            waiting: Cell::new(None),
            chunk_bytes,
            chunk_alignment: chosen.chunk_alignment(),
            bytes: Cell::new(0),
            max_bytes,
            fixed: Cell::new(false),
            hand: Cell::new(None),
            remaining: AtomicUsize::new(0),
            counters: Counters::default(),
            tallies: Tallies::default(),
            source,
        };
        let start = Block::allocate(layout, &record.source)?.leak_start();
        let core = start.cast::<Self>();
        // SAFETY: the block has room for the core, and for the classes at that offset
        // (`core-stays`).
        unsafe {
            record.classes = start.add(offset).cast();
            for (index, &size) in sizes.iter().enumerate() {
                Class::write(record.classes.add(index), size, core);
            }
            core.write(record);
        }
        Ok(core)
    }

    #[inline]
    pub(super) fn directory(&self) -> &HeaderDirectory<R> {
        &self.directory
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The counts of the references to buffers.
    #[cfg(feature = "stats")]
    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Like [`tallies`](Self::tallies), for the core of a buffer that is not free.
    #[inline]
    pub(super) fn tallies_of(header: &Header<R>) -> &Tallies {
        // SAFETY: a header that is not free keeps its core; no more than the address of this field
        // is made, which any thread may read.
        unsafe { &(*header.class().core().as_ptr()).tallies }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn classes(&self) -> &[Class<R>] {
        // SAFETY: they are after the core (`core-stays`); only Cells of theirs are written.
        unsafe { core::slice::from_raw_parts(self.classes.as_ptr(), self.class_count) }
    }

    /// The first class in which a request fits.
    #[inline(always)]
    pub(super) fn class_for(&self, size: usize) -> Option<&Class<R>> {
        if size > self.sizes.largest() {
            return None;
        }
        // SAFETY: from the class that the tables name up to one in which the request fits, which
        // exists (`table-first`, `sizes-increase`).
        (self.sizes.first(size)..)
            .map(|index| unsafe { self.classes.add(index).as_ref() })
            .find(|class| size <= class.size())
    }

    /// The class of the largest buffers.
    pub(super) fn last_class(&self) -> &Class<R> {
        self.classes().last().expect("there is at least one")
    }

    /// Takes a buffer of a class, whose header is mutable from now on, or of a larger class if
    /// there is no memory.
    #[inline(always)]
    pub(super) fn take(&self, class: &Class<R>) -> Result<OfClass<R>, RequestError> {
        match class.pop_mutable() {
            Some(header) => Ok(header),
            None => self.take_fresh(class),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn too_large(&self, size: usize) -> RequestError {
        self.counters.too_large_errs.add();
        RequestError::TooLarge(SizeError::new(size, self.sizes.largest()))
    }

    /// The most bytes that all chunks may have.
    pub(super) fn bytes_limit(&self) -> usize {
        match self.fixed.get() {
            true => self.bytes.get(),
            false => self.max_bytes,
        }
    }

    /// Bytes that further chunks may have.
    pub(super) fn bytes_left(&self) -> usize {
        self.max_bytes - self.bytes.get()
    }

    /// Counts a chunk that is added or freed.
    pub(super) fn count_bytes(&self, change: isize) {
        self.bytes.set(self.bytes.get().wrapping_add_signed(change));
    }

    /// Bytes of the chunks with their headers, and of all tables.
    pub(super) fn all_bytes(&self) -> usize {
        let hand = match self.fixed.get() {
            true => self
                .last_class()
                .hand_of_all()
                .map_or(0, |hand| hand.size()),
            false => {
                let wide = self.classes().iter().filter(|class| class.is_widened());
                wide.count() * Class::<R>::WIDE_HAND.size()
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
    /// The arena is dropped, and no buffer is in use. Called once, after everything that other
    /// threads did.
    #[cold]
    pub(super) unsafe fn free_all(core: NonNull<Self>) {
        // SAFETY: no one else uses any of it (`core-stays`). The blocks are freed with their
        // layouts; a class has no block of its own except a wide hand, and nothing to drop.
        unsafe {
            let it = core.as_ref();
            let ((layout, _), source) = (layout::<R>(it.class_count), it.source.clone());
            for class in it.classes() {
                let chunks = State::ALL
                    .iter()
                    .flat_map(|&state| Chunk::list(class, state));
                chunks.for_each(|listed| drop(Chunk::into_blocks(listed.chunk, it)));
                if !it.fixed.get() {
                    drop(class.wide_hand());
                }
            }
            core.drop_in_place();
            drop(Block::from_start(core.cast(), layout, &source));
        }
    }

    /// Panics if an invariant of the family does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        use alloc::collections::BTreeSet;

        let (mut bytes, mut links) = (0, 0);
        for class in self.classes() {
            let mut hand = class.check();
            let (mut chunks, mut banked, mut free) = (0, 0, 0);
            for state in State::ALL {
                let mut idle_bytes = 0;
                for Listed { chunk, .. } in Chunk::list(class, state) {
                    // SAFETY: on a list, so it is valid (`chunk-listed`).
                    let it = unsafe { chunk.as_ref() };
                    let seen: BTreeSet<_> = self.directory.banked(it.top.get()).collect();
                    // SAFETY: those that were made (`headers-made`).
                    for header in unsafe { Chunk::headers(chunk, 0..it.made()) } {
                        // SAFETY: it was made (`headers-made`).
                        let at = unsafe { header.as_ref() };
                        let (is_banked, in_hand) = (seen.contains(&header), hand.remove(&header));
                        assert_eq!(
                            self.directory.find(at.number()),
                            Some(header),
                            "page-headers"
                        );
                        assert!(!(is_banked && in_hand), "free-once: not banked");
                        assert_eq!(at.is_free(), is_banked || in_hand, "free-once");
                        // SAFETY: of one thread, which runs nothing that borrows it, or of a free
                        // header, whose link no one borrows.
                        let has_link =
                            (!R::ATOMIC || at.is_free()) && unsafe { at.next() }.is_some();
                        if at.is_free() {
                            at.counts().check_free();
                            assert!(!has_link, "a free header has no link");
                        }
                        free += usize::from(at.is_free());
                        links += usize::from(has_link);
                        assert!(core::ptr::eq(at.class(), class), "free-once: its class");
                    }
                    assert!(core::ptr::eq(it.class(), class), "chunk-listed: its class");
                    it.check(state, seen.len());
                    (chunks, banked) = (chunks + 1, banked + seen.len());
                    (bytes, idle_bytes) = (bytes + it.bytes(), idle_bytes + it.bytes());
                }
                if state == State::Idle {
                    assert_eq!(
                        idle_bytes,
                        class.idle_bytes().get(),
                        "chunk-listed: the bytes"
                    );
                }
            }
            assert!(hand.is_empty(), "free-once: of the class's chunks");
            assert_eq!(chunks, class.chunks(), "bytes-limited");
            assert_eq!(
                (free, banked + class.depth()),
                (class.free(), class.free()),
                "free-once"
            );
        }
        assert_eq!(links, self.links.get(), "links-counted");
        assert_eq!(bytes, self.bytes.get(), "bytes-limited: the bytes");
        assert!(bytes <= self.max_bytes, "bytes-limited: the limit");
    }
}

/// The state of a chunk. The chunks of a class in one state are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Some buffers are in use, and some are banked; all were made.
    Partial,
    /// No buffer is in use, nor in the hand.
    Idle,
    /// Some buffers are in use, and others are not made yet.
    Fresh,
    /// All buffers are in use, or in the hand.
    Full,
}

impl State {
    /// All states, in the order in which an allocation looks for a chunk: buffers that were made
    /// come before ones that were not, whose memory may not be touched yet.
    pub(super) const ALL: [State; 4] = [State::Partial, State::Idle, State::Fresh, State::Full];
}

/// A place of the hand.
type Entry<R> = Option<NonNull<Header<R>>>;

/// Places of the hand, including the null below it. They fill the class up to a power of two. With
/// 31 places, allocating and freeing fifty buffers at a time took twice as long.
const PLACES: usize = 768 / size_of::<usize>();

/// Places of a wide hand, of 10 KiB: for somewhat more than a thousand buffers. Filling an arena
/// with 1,024 buffers and emptying it at random took 10.8 ns a buffer with a narrow hand, and 5.0
/// ns with one that had one place too few.
const WIDE_PLACES: usize = 1280;

/// The buffers of one size. Its size is a power of two, so that an index is shifted, not
/// multiplied.
#[repr(C)]
pub(super) struct Class<R: References> {
    /// The place after the last entry of the hand. First, so that a pointer to the class is also
    /// one to this field.
    top: Cell<NonNull<Entry<R>>>,
    /// The end of the places, or, once the hand is closed, the place after the first.
    limit: Cell<NonNull<Entry<R>>>,
    /// The place of the first entry.
    bottom: Cell<NonNull<Entry<R>>>,
    allocs: Cell<u64>,
    size: u32,
    closed: Cell<bool>,
    core: NonNull<ArenaCore<R>>,
    made: Cell<usize>,
    banked: Cell<usize>,
    buffers: Cell<usize>,
    chunks: Cell<usize>,
    lists: [Cell<ChunkLink<R>>; State::ALL.len()],
    idle_bytes: Cell<usize>,
    pub(super) arrived: Cell<Word>,
    /// On lines of its own.
    pub(super) returns: Returns,
    entries: [Cell<Entry<R>>; PLACES],
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Class<super::Local>>().is_power_of_two());

impl<R: References> Class<R> {
    /// Writes a class without chunks.
    ///
    /// # Safety
    ///
    /// `place` is valid for writes, and aligned. The class is not moved.
    pub(super) unsafe fn write(place: NonNull<Self>, size: u32, core: NonNull<ArenaCore<R>>) {
        let class = Class {
            top: Cell::new(NonNull::dangling()),
            bottom: Cell::new(NonNull::dangling()),
            limit: Cell::new(NonNull::dangling()),
            allocs: Cell::new(0),
            size,
            closed: Cell::new(false),
            core,
            made: Cell::new(0),
            banked: Cell::new(0),
            buffers: Cell::new(0),
            chunks: Cell::new(0),
            lists: [const { Cell::new(None) }; State::ALL.len()],
            idle_bytes: Cell::new(0),
            arrived: Cell::new(Word::EMPTY),
            returns: Returns::new(Packing::NONE),
            entries: [const { Cell::new(None) }; PLACES],
        };
        // SAFETY: valid for writes (precondition); its own places are all null.
        unsafe {
            place.write(class);
            let it = place.as_ref();
            it.set_places(it.own_places(), PLACES, 0);
        }
    }

    /// The places of the class itself.
    fn own_places(&self) -> NonNull<Entry<R>> {
        NonNull::from(&self.entries).cast()
    }

    /// Moves the hand to these places.
    ///
    /// # Safety
    ///
    /// They stay as long as the class, and begin with a null and `depth` entries; there is at least
    /// one more.
    unsafe fn set_places(&self, below: NonNull<Entry<R>>, places: usize, depth: usize) {
        // SAFETY: within the places, or at their end (precondition).
        unsafe {
            self.bottom.set(below.add(1));
            self.top.set(below.add(1 + depth));
            self.limit.set(below.add(places));
        }
    }

    /// Bytes of a buffer.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    #[inline]
    pub(super) fn core(&self) -> NonNull<ArenaCore<R>> {
        self.core
    }

    /// The core of a class of one thread; other threads use only parts of a core (`owner-alone`).
    #[inline]
    pub(super) fn core_here(&self) -> Option<&ArenaCore<R>> {
        if R::ATOMIC {
            return None;
        }
        // SAFETY: the class stands after its core in one block (`core-stays`).
        Some(unsafe { self.core.as_ref() })
    }

    /// Takes the header of the hand that was pushed last, which the caller makes mutable or shared.
    #[inline(always)]
    fn pop(&self) -> Option<OfClass<R>> {
        // SAFETY: an entry, or the null below them (`hand-places`). It is of this class, and only in
        // the hand, which it leaves below (`free-once`).
        let (place, header) = unsafe {
            let place = self.top.get().sub(1);
            (place, OfClass::new(place.read()?, NonNull::from(self)))
        };
        self.top.set(place);
        self.allocs.set(self.allocs.get().wrapping_add(1));
        Some(header)
    }

    /// Takes the header of the hand that was pushed last, which is mutable from now on.
    #[inline(always)]
    pub(super) fn pop_mutable(&self) -> Option<OfClass<R>> {
        let header = self.pop()?;
        header.header().take();
        Some(header)
    }

    /// Takes the header of the hand that was pushed last, shared from now on, with one reference
    /// and this number of filled bytes.
    ///
    /// # Safety
    ///
    /// A buffer of the class has room for this many bytes, and the caller fills them before
    /// anything else runs.
    #[inline(always)]
    pub(super) unsafe fn pop_shared(&self, filled: u32) -> Option<NonNull<Header<R>>> {
        let header = self.pop()?;
        header.header().take_shared(filled);
        Some(header.pointer())
    }

    /// Pushes a free header on the hand. Returns whether the caller must [take some
    /// off](Self::drop_lowest) before anything else is pushed, or the [hand is
    /// closed](Self::close_hand) and must be [emptied](Self::discard).
    ///
    /// # Safety
    ///
    /// The header is from this class, made, free, and not in the hand.
    #[inline(always)]
    pub(super) unsafe fn push(&self, header: NonNull<Header<R>>) -> bool {
        let place = self.top.get();
        // SAFETY: there is room, because after each push that used the last place some entries were
        // taken off (`hand-places`).
        let top = unsafe {
            place.write(Some(header));
            place.add(1)
        };
        self.top.set(top);
        top == self.limit.get()
    }

    /// Pushes free headers on the hand, the last of which is popped first. The top stays in a
    /// register: through memory each push would wait for the one before.
    ///
    /// # Safety
    ///
    /// Each header is as for [`push`](Self::push), and one place of the hand stays empty.
    #[inline]
    pub(super) unsafe fn push_all(&self, headers: impl Iterator<Item = NonNull<Header<R>>>) {
        let mut top = self.top.get();
        for header in headers {
            // SAFETY: there is room for all of them (precondition).
            unsafe {
                top.write(Some(header));
                top = top.add(1);
            }
        }
        self.top.set(top);
        debug_assert!(top < self.limit.get());
    }

    /// The layout of a wide hand.
    pub(super) const WIDE_HAND: Layout = Layout::new::<[Entry<R>; WIDE_PLACES]>();

    /// Whether the hand is not the array of the class itself.
    pub(super) fn is_widened(&self) -> bool {
        self.bottom.get().as_ptr() != self.own_places().as_ptr().wrapping_add(1)
    }

    /// Whether the hand is narrow, and has no room for this number of buffers.
    pub(super) fn wants_wide_hand(&self, buffers: usize) -> bool {
        buffers >= PLACES && !self.is_widened()
    }

    /// Moves the hand of a class without chunks back to the array of the class itself. Returns the
    /// memory of the wide hand, if it had one.
    pub(super) fn narrow(&self) -> Option<Block> {
        if self.chunks() > 0 {
            return None;
        }
        debug_assert!(self.depth() == 0, "free-once: no header was made");
        // SAFETY: given up just below, for the class's own places, whose first is still null
        // (`hand-places`).
        unsafe {
            let wide = self.wide_hand()?;
            self.set_places(self.own_places(), PLACES, 0);
            Some(wide)
        }
    }

    /// The memory of the wide hand, if there is one, to free it.
    ///
    /// # Safety
    ///
    /// The class gives it up. The core's chunks are not fixed.
    unsafe fn wide_hand(&self) -> Option<Block> {
        // SAFETY: the null is below the first entry, at the start of a block of that layout, which
        // `widen_hand` leaked (`hand-places`), from the source of the core, which stays as long
        // (`core-stays`).
        self.is_widened().then(|| unsafe {
            let start = self.bottom.get().sub(1).cast();
            Block::from_start(start, Self::WIDE_HAND, self.core.as_ref().source())
        })
    }

    /// The bytes of a hand from which nothing is banked, with room for all buffers.
    pub(super) fn hand_of_all(&self) -> Option<Layout> {
        // The null below, and a place that no push reaches.
        Layout::array::<Entry<R>>(self.buffers.get().checked_add(2)?).ok()
    }

    /// Moves the hand to this memory. Returns that of the old hand, if it was a wide one.
    ///
    /// # Safety
    ///
    /// The memory is of this layout, which has at least two places and more than there are entries,
    /// and stays as long as the class. The core's chunks are not fixed.
    pub(super) unsafe fn widen(&self, hand: NonNull<u8>, layout: Layout) -> Option<Block> {
        let (below, depth) = (hand.cast::<Entry<R>>(), self.depth());
        let places = layout.size() / size_of::<Entry<R>>();
        debug_assert!(depth + 1 < places);
        // SAFETY: there is room for the null, and for the entries after it (precondition); the two
        // hands are distinct.
        unsafe {
            below.write(None);
            (below.add(1)).copy_from_nonoverlapping(self.bottom.get(), depth);
            let wide = self.wide_hand();
            self.set_places(below, places, depth);
            wide
        }
    }

    /// The headers of the hand that were pushed first, `most` at most.
    pub(super) fn lowest(&self, most: usize) -> impl Iterator<Item = NonNull<Header<R>>> + use<R> {
        let (bottom, count) = (self.bottom.get(), most.min(self.depth()));
        // SAFETY: below the top, so entries (`hand-places`).
        (0..count).filter_map(move |index| unsafe { bottom.add(index).read() })
    }

    /// Takes the headers off the hand that were pushed first, at most `most`, after the caller has
    /// banked them.
    pub(super) fn drop_lowest(&self, most: usize) {
        let (bottom, depth) = (self.bottom.get(), self.depth());
        let count = most.min(depth);
        // SAFETY: the entries lie within the hand (`hand-places`).
        unsafe {
            bottom.copy_from(bottom.add(count), depth - count);
            self.top.set(bottom.add(depth - count));
        }
    }

    /// Whether the arena was dropped.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Notes that the arena is dropped.
    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    /// Forgets the contents of the hand, for good: from now on each push reports that.
    pub(super) fn close_hand(&self) {
        self.discard();
        // SAFETY: the top is a place of the hand, and so is the next one or the hand's end
        // (`hand-places`).
        self.limit.set(unsafe { self.top.get().add(1) });
    }

    /// Forgets the contents of the hand.
    pub(super) fn discard(&self) {
        self.top.set(self.bottom.get());
    }

    pub(super) fn allocs(&self) -> u64 {
        self.allocs.get()
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks.get()
    }

    /// Buffers of its chunks.
    pub(super) fn buffers(&self) -> usize {
        self.buffers.get()
    }

    /// Buffers that are in use.
    pub(super) fn in_use(&self) -> usize {
        self.made.get() - self.free()
    }

    /// Headers that are free.
    pub(super) fn free(&self) -> usize {
        self.depth() + self.banked.get()
    }

    /// Headers that are in the hand.
    pub(super) fn depth(&self) -> usize {
        // The top is not below the first entry (`hand-places`).
        let bytes = self.top.get().addr().get() - self.bottom.get().addr().get();
        bytes / size_of::<Entry<R>>()
    }

    pub(super) fn count_made(&self, more: usize) {
        self.made.set(self.made.get() + more);
    }

    pub(super) fn count_banked(&self, more: usize) {
        self.banked.set(self.banked.get() + more);
    }

    pub(super) fn count_unbanked(&self, fewer: usize) {
        self.banked.set(self.banked.get() - fewer);
    }

    /// The first chunk in that state.
    pub(super) fn list(&self, state: State) -> &Cell<ChunkLink<R>> {
        &self.lists[state as usize]
    }

    /// Bytes of its idle chunks.
    pub(super) fn idle_bytes(&self) -> &Cell<usize> {
        &self.idle_bytes
    }

    /// Counts a new chunk.
    pub(super) fn add(&self, buffers: u32) {
        self.chunks.set(self.chunks.get() + 1);
        self.buffers.set(self.buffers.get() + buffers as usize);
    }

    /// Subtracts a chunk, of whose buffers `made` were made, all of which are banked.
    pub(super) fn subtract(&self, buffers: u32, made: u32) {
        self.chunks.set(self.chunks.get() - 1);
        self.buffers.set(self.buffers.get() - buffers as usize);
        self.made.set(self.made.get() - made as usize);
        self.count_unbanked(made as usize);
    }

    /// Panics if `hand-places` does not hold. Returns the headers in the hand.
    #[cfg(any(test, fuzzing))]
    fn check(&self) -> alloc::collections::BTreeSet<NonNull<Header<R>>> {
        // SAFETY: the place below the hand (`hand-places`).
        let below = unsafe { self.bottom.get().sub(1).read() };
        assert!(below.is_none(), "hand-places: the null");
        assert!(self.top.get() < self.limit.get(), "hand-places: the limit");
        assert!(self.free() <= self.made.get() && self.made.get() <= self.buffers());
        let hand: alloc::collections::BTreeSet<_> = self.lowest(usize::MAX).collect();
        assert_eq!(hand.len(), self.depth(), "free-once: once");
        hand
    }
}

pub(super) type ChunkLink<R> = Option<NonNull<Chunk<R>>>;

/// The record of a chunk; its headers follow.
#[repr(C, align(64))]
pub(super) struct Chunk<R: References> {
    next: Cell<ChunkLink<R>>,
    previous: Cell<ChunkLink<R>>,
    pub(super) class: NonNull<Class<R>>,
    pub(super) data: NonNull<u8>,
    pub(super) data_bytes: usize,
    pub(super) capacity: u32,
    buffers: u32,
    pub(super) made: Cell<u32>,
    pub(super) in_use: Cell<u32>,
    /// The first page that has banked headers of it.
    pub(super) top: Cell<u32>,
    state: Cell<State>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Chunk<super::Local>>() == 64);

impl<R: References> Chunk<R> {
    /// A chunk on no list, with as many buffers as there is room for, of its bytes and of headers;
    /// none is made.
    pub(super) fn new(
        class: &Class<R>,
        data: NonNull<u8>,
        data_bytes: usize,
        capacity: u32,
    ) -> Self {
        let fitting = u32::try_from(data_bytes / class.size()).unwrap_or(u32::MAX);
        Chunk {
            next: Cell::new(None),
            previous: Cell::new(None),
            class: NonNull::from(class),
            data,
            data_bytes,
            capacity,
            buffers: capacity.min(fitting),
            made: Cell::new(0),
            in_use: Cell::new(0),
            top: Cell::new(NO_PAGE),
            state: Cell::new(State::Idle),
        }
    }

    /// The next chunk on its list.
    pub(super) fn next(&self) -> ChunkLink<R> {
        self.next.get()
    }

    pub(super) fn class(&self) -> &Class<R> {
        // SAFETY: a class is valid as long as its chunks.
        unsafe { self.class.as_ref() }
    }

    pub(super) fn buffers(&self) -> u32 {
        self.buffers
    }

    /// Number of headers that were made.
    pub(super) fn made(&self) -> u32 {
        self.made.get()
    }

    /// Counts headers that are made, or leave the bank.
    pub(super) fn count_in_use(&self, more: u32) {
        self.in_use.set(self.in_use.get() + more);
    }

    /// Counts headers that are banked.
    pub(super) fn count_banked(&self, fewer: u32) {
        self.in_use.set(self.in_use.get() - fewer);
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.capacity as usize * size_of::<Header<R>>();
        self.data_bytes + size_of::<Self>() + headers
    }

    /// The state that follows from the counts.
    fn counted_state(&self) -> State {
        if self.in_use.get() == 0 {
            State::Idle
        } else if self.made.get() < self.buffers {
            State::Fresh
        } else if self.top.get() == NO_PAGE {
            State::Full
        } else {
            State::Partial
        }
    }

    /// The chunks of a class in that state.
    pub(super) fn list(class: &Class<R>, state: State) -> impl Iterator<Item = Listed<R>> + use<R> {
        let mut next = class.list(state).get();
        core::iter::from_fn(move || {
            let chunk = next?;
            // SAFETY: the chunks of a list are valid (`chunk-listed`).
            let it = unsafe { chunk.as_ref() };
            next = it.next();
            Some(Listed {
                chunk,
                bytes: it.bytes(),
                data_bytes: it.data_bytes,
                capacity: it.capacity,
                top: it.top.get(),
            })
        })
    }

    /// Puts the chunk on the list of its class for its state.
    ///
    /// # Safety
    ///
    /// `chunk` is this chunk, and is on no list.
    pub(super) unsafe fn link(&self, chunk: NonNull<Self>) {
        let (class, state) = (self.class(), self.counted_state());
        self.state.set(state);
        let list = class.list(state);
        let next = list.replace(Some(chunk));
        self.next.set(next);
        self.previous.set(None);
        if let Some(next) = next {
            // SAFETY: on the list, so it is valid (`chunk-listed`).
            unsafe { next.as_ref() }.previous.set(Some(chunk));
        }
        if state == State::Idle {
            let bytes = class.idle_bytes();
            bytes.set(bytes.get() + self.bytes());
        }
    }

    /// Takes the chunk off its list.
    pub(super) fn unlink(&self) {
        let (class, next, previous) = (self.class(), self.next.take(), self.previous.take());
        // SAFETY: on the list, so it is valid (`chunk-listed`).
        let [before, after] = [previous, next].map(|link| link.map(|it| unsafe { it.as_ref() }));
        match before {
            Some(before) => before.next.set(next),
            None => class.list(self.state.get()).set(next),
        }
        if let Some(after) = after {
            after.previous.set(previous);
        }
        if self.state.get() == State::Idle {
            let bytes = class.idle_bytes();
            bytes.set(bytes.get() - self.bytes());
        }
    }

    /// Moves the chunk to another list of its class, if its state has changed.
    ///
    /// # Safety
    ///
    /// `chunk` is this chunk.
    #[inline]
    pub(super) unsafe fn relink(&self, chunk: NonNull<Self>) {
        if self.state.get() != self.counted_state() {
            self.unlink();
            // SAFETY: the one, and on no list any more.
            unsafe { self.link(chunk) };
        }
    }

    /// The header at `index`.
    ///
    /// # Safety
    ///
    /// The chunk is valid, and has room for a header at that index.
    pub(super) unsafe fn header(chunk: NonNull<Self>, index: u32) -> NonNull<Header<R>> {
        // SAFETY: the headers follow the record in its block (`chunk-blocks`); a `Header` is as
        // aligned as the record.
        unsafe { chunk.add(1).cast::<Header<R>>().add(index as usize) }
    }

    /// The headers at these indices.
    ///
    /// # Safety
    ///
    /// The chunk is valid while they are iterated over, and has made them.
    pub(super) unsafe fn headers(
        chunk: NonNull<Self>,
        indices: Range<u32>,
    ) -> impl DoubleEndedIterator<Item = NonNull<Header<R>>> {
        // SAFETY: the chunk is valid, and has made them (precondition, `headers-made`).
        indices.map(move |index| unsafe { Self::header(chunk, index) })
    }

    /// Panics if `chunk-counted` does not hold, with this number of banked headers.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, state: State, banked: usize) {
        assert!(self.made() <= self.buffers() && self.buffers() <= self.capacity);
        assert_eq!(
            self.in_use.get() as usize + banked,
            self.made() as usize,
            "chunk-counted"
        );
        assert_eq!(
            (self.state.get(), self.counted_state()),
            (state, state),
            "chunk-counted"
        );
    }
}

/// The record of a buffer.
#[repr(C, align(64))]
pub(super) struct Header<R: References> {
    counts: R,
    filled: Cell<u32>,
    number: Number,
    is_initialised: Cell<bool>,
    /// Start of the buffer's bytes.
    start: NonNull<u8>,
    class: NonNull<Class<R>>,
    next: UnsafeCell<Option<Buf<R>>>,
}

#[cfg(all(target_pointer_width = "64", not(all(test, loom))))]
const _: () = {
    assert!(size_of::<Header<super::Local>>() == 64);
    assert!(size_of::<Header<super::Atomic>>() == 64);
};

/// A reference to a part of a buffer, without the code that counts it.
// In this order a copy moves the first two at once and the header by itself, which is loaded in
// any case, and often again just after: a load of half of what was stored at once takes longer.
// With the header first, clone and drop took 1.3 times as long as those of `Rc<[u8]>`.
#[repr(C)]
pub(super) struct Part<R: References> {
    /// Not a `NonNull`, so that the niche of `Option<Part>` is in `header`.
    pub(super) start: *mut u8,
    pub(super) len: usize,
    pub(super) header: NonNull<Header<R>>,
}

impl<R: References> Clone for Part<R> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: References> Copy for Part<R> {}

/// A number larger than the bytes of any buffer.
const FREE: u32 = u32::MAX;

impl<R: References> Header<R> {
    pub(super) fn new(number: u32, start: NonNull<u8>, class: NonNull<Class<R>>) -> Self {
        Header {
            counts: R::new(),
            filled: Cell::new(FREE),
            number: Number::new(number),
            is_initialised: Cell::new(false),
            start,
            class,
            next: UnsafeCell::new(None),
        }
    }

    #[inline]
    pub(super) fn counts(&self) -> &R {
        &self.counts
    }

    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number.get()
    }

    /// Whether all bytes of the buffer of a `BufMut` are initialised (`all-initialised`).
    #[cfg(feature = "std")]
    pub(super) fn is_initialised(&self) -> bool {
        self.is_initialised.get()
    }

    /// Notes that all bytes of the buffer of a `BufMut` are initialised (`all-initialised`).
    ///
    /// # Safety
    ///
    /// They are.
    #[cfg(feature = "std")]
    pub(super) unsafe fn set_initialised(&self) {
        self.is_initialised.set(true);
    }

    /// Notes that some of them may not be initialised from now on.
    pub(super) fn set_uninitialised(&self) {
        self.is_initialised.set(false);
    }

    #[inline]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    #[inline]
    pub(super) fn class_pointer(&self) -> NonNull<Class<R>> {
        self.class
    }

    #[inline]
    pub(super) fn class(&self) -> &Class<R> {
        // SAFETY: the class is valid as long as the headers of its chunks.
        unsafe { self.class.as_ref() }
    }

    /// How many bytes are initialised, on one thread.
    #[inline]
    pub(super) fn filled(&self) -> usize {
        self.filled.get() as usize
    }

    pub(super) fn is_free(&self) -> bool {
        self.filled.get() == FREE
    }

    /// Makes a free header mutable.
    #[inline(always)]
    pub(super) fn take(&self) {
        debug_assert!(self.is_free());
        self.filled.set(0);
        self.counts.start();
    }

    /// Makes a free header shared, with one reference: [`take`](Self::take) and
    /// [`share`](Self::share) in one store.
    #[inline]
    pub(super) fn take_shared(&self, filled: u32) {
        debug_assert!(self.is_free());
        // If other threads count, it only says that the header is not free.
        self.filled.set(if R::ATOMIC { 0 } else { filled });
        self.counts.start();
    }

    /// Makes the header free; its class puts it in the hand.
    #[inline]
    pub(super) fn set_free(&self) {
        debug_assert!(!self.is_free());
        self.filled.set(FREE);
    }

    /// Makes the header of a `BufMut` shared, with this number of filled bytes: not fewer than
    /// before, if it is shared already.
    #[inline]
    pub(super) fn share(&self, filled: u32) {
        if !R::ATOMIC {
            self.filled.set(filled);
        }
    }

    /// Makes a shared header with one reference mutable.
    #[inline]
    pub(super) fn unshare(&self) {
        debug_assert!(self.counts.is_unique());
        self.counts.make_stale();
    }

    /// The next buffer of the chain.
    ///
    /// # Safety
    ///
    /// While the result is used the link does not change (`no-cycle`).
    #[inline]
    pub(super) unsafe fn next(&self) -> &Option<Buf<R>> {
        // SAFETY: the link does not change while the result is used (precondition, `no-cycle`).
        unsafe { &*self.next.get() }
    }

    /// The next buffer of the chain, which can be changed.
    ///
    /// # Safety
    ///
    /// While the result is used, the caller has the header's one reference borrowed exclusively, or
    /// the header has no reference and belongs to the caller. The header is stale, so that
    /// positions do not resolve to another buffer.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller borrows a handle exclusively"
    )]
    pub(super) unsafe fn next_mut(&self) -> &mut Option<Buf<R>> {
        // SAFETY: no one else has the link (precondition).
        unsafe { &mut *self.next.get() }
    }
}
