//! A chunk: a block of bytes that is cut into buffers, and a block of their headers.
//!
//! # Invariants
//!
//! * L1: a chunk's record stands at the start of a block of its own, before room for `capacity`
//!   headers. The bytes of its `buffers` buffers, which are not more, stand in `data`, a block of
//!   `data_bytes`, one after the other.
//! * L2: the first `made` headers are there. Their numbers follow each other within a page of
//!   the directory, and each page begins at a header whose index is a multiple of its length.
//! * L3: `in_use` is the number of headers that were made and are not banked. Those that are can be
//!   found from `top` on (D3). `state` follows from these, and says on which list the chunk is.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::class::{Class, State};
use super::directory::{Directory, NO_PAGE, PAGE_HEADERS};
use super::header::Header;
use super::references::References;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::touch::touch;

pub(super) type ChunkLink<R> = Option<NonNull<Chunk<R>>>;

/// Buffers begin at a cache line where their size is a multiple of one.
const ALIGN: usize = 64;

/// The record of a chunk; its headers follow.
#[repr(C, align(64))]
pub(super) struct Chunk<R: References> {
    next: Cell<ChunkLink<R>>,
    previous: Cell<ChunkLink<R>>,
    class: Cell<NonNull<Class>>,
    data: NonNull<u8>,
    data_bytes: usize,
    capacity: u32,
    buffers: Cell<u32>,
    made: Cell<u32>,
    in_use: Cell<u32>,
    top: Cell<u32>,
    state: Cell<State>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Chunk<super::Local>>() == 64);

/// The two blocks of a chunk that is not, or no longer, in use.
pub(super) struct Blocks {
    data: Block,
    headers: Block,
}

/// The bytes of a chunk and of its headers, before they are allocated.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    data: Layout,
    headers: Layout,
    pub(super) buffers: u32,
}

impl Plan {
    /// # Errors
    ///
    /// If the bytes exceed `isize::MAX`.
    pub(super) fn new<R: References>(data_bytes: usize, buffers: u32) -> Result<Self, AllocError> {
        let too_many = |slot_bytes| AllocError::TooManyBytes {
            slots: buffers as usize,
            slot_bytes,
        };
        let data = Layout::from_size_align(data_bytes, ALIGN);
        Ok(Plan {
            data: data.map_err(|_| too_many(data_bytes / buffers as usize))?,
            headers: headers_layout::<R>(buffers).ok_or(too_many(size_of::<Header<R>>()))?,
            buffers,
        })
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        self.data.size() + self.headers.size()
    }

    /// Bytes that one buffer of that size takes, and those that every chunk takes besides.
    pub(super) const fn bytes_of_one<R: References>(size: usize) -> (usize, usize) {
        (size + size_of::<Header<R>>(), size_of::<Chunk<R>>())
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
    pub(super) fn allocate(plan: &Plan, source: &Source) -> Result<Self, AllocError> {
        Ok(Blocks {
            data: Block::allocate(plan.data, source)?,
            headers: Block::allocate(plan.headers, source)?,
        })
    }

    /// Makes the chunk of that plan; none of its headers are made yet.
    pub(super) fn into_chunk<R: References>(
        self,
        class: NonNull<Class>,
        plan: &Plan,
    ) -> NonNull<Chunk<R>> {
        let record = Chunk {
            next: Cell::new(None),
            previous: Cell::new(None),
            class: Cell::new(class),
            data: self.data.leak_start(),
            data_bytes: plan.data.size(),
            capacity: plan.buffers,
            buffers: Cell::new(plan.buffers),
            made: Cell::new(0),
            in_use: Cell::new(0),
            top: Cell::new(NO_PAGE),
            state: Cell::new(State::Idle),
        };
        let chunk = self.headers.leak_start().cast::<Chunk<R>>();
        // SAFETY: the block begins with room for the record (L1).
        unsafe { chunk.write(record) };
        chunk
    }
}

impl<R: References> Chunk<R> {
    /// Takes the blocks of a chunk back.
    ///
    /// # Safety
    ///
    /// It is not used any more, nor are its headers.
    pub(super) unsafe fn into_blocks(chunk: NonNull<Self>, source: &Source) -> Blocks {
        // SAFETY: by L1 leaked with these layouts, from that source; no one uses it any more
        // (precondition).
        unsafe {
            let it = chunk.read();
            let layout = headers_layout::<R>(it.capacity).expect("it was laid out so");
            let data = Layout::from_size_align_unchecked(it.data_bytes, ALIGN);
            Blocks {
                data: Block::from_start(it.data, data, source),
                headers: Block::from_start(chunk.cast(), layout, source),
            }
        }
    }

    /// The next one on its list.
    pub(super) fn next(&self) -> ChunkLink<R> {
        self.next.get()
    }

    pub(super) fn class(&self) -> &Class {
        // SAFETY: a class is there as long as its chunks.
        unsafe { self.class.get().as_ref() }
    }

    pub(super) fn buffers(&self) -> u32 {
        self.buffers.get()
    }

    /// Headers that there is room for.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Headers that are there.
    pub(super) fn made(&self) -> u32 {
        self.made.get()
    }

    /// The first page that has banked headers of it.
    pub(super) fn top(&self) -> &Cell<u32> {
        &self.top
    }

    /// Headers are made, or leave the bank.
    pub(super) fn count_in_use(&self, more: u32) {
        self.in_use.set(self.in_use.get() + more);
    }

    /// Headers are banked.
    pub(super) fn count_banked(&self, fewer: u32) {
        self.in_use.set(self.in_use.get() - fewer);
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.capacity as usize * size_of::<Header<R>>();
        self.data_bytes + size_of::<Self>() + headers
    }

    /// Its state, by what it counts.
    fn counted_state(&self) -> State {
        if self.in_use.get() == 0 {
            State::Idle
        } else if self.made.get() < self.buffers.get() {
            State::Fresh
        } else if self.top.get() == NO_PAGE {
            State::Full
        } else {
            State::Partial
        }
    }

    /// The chunks of a class in that state.
    pub(super) fn list(class: &Class, state: State) -> impl Iterator<Item = NonNull<Self>> {
        let first = class.list(state).get().map(NonNull::cast::<Self>);
        // SAFETY: the chunks of a list are there (C3).
        core::iter::successors(first, |chunk| unsafe { chunk.as_ref() }.next())
    }

    /// Puts it on the list of its class that its counts say.
    ///
    /// # Safety
    ///
    /// `chunk` is the one, and on no list.
    pub(super) unsafe fn link(&self, chunk: NonNull<Self>) {
        let (class, state) = (self.class(), self.counted_state());
        self.state.set(state);
        let list = class.list(state);
        let next = list.replace(Some(chunk.cast())).map(NonNull::cast::<Self>);
        self.next.set(next);
        self.previous.set(None);
        if let Some(next) = next {
            // SAFETY: on the list, so it is there (C3).
            unsafe { next.as_ref() }.previous.set(Some(chunk));
        }
        if state == State::Idle {
            let bytes = class.idle_bytes();
            bytes.set(bytes.get() + self.bytes());
        }
    }

    /// Takes it off its list.
    pub(super) fn unlink(&self) {
        let (class, next, previous) = (self.class(), self.next.take(), self.previous.take());
        match previous {
            // SAFETY: on the list, so it is there (C3).
            Some(previous) => unsafe { previous.as_ref() }.next.set(next),
            None => class.list(self.state.get()).set(next.map(NonNull::cast)),
        }
        if let Some(next) = next {
            // SAFETY: on the list, so it is there (C3).
            unsafe { next.as_ref() }.previous.set(previous);
        }
        if self.state.get() == State::Idle {
            let bytes = class.idle_bytes();
            bytes.set(bytes.get() - self.bytes());
        }
    }

    /// Puts it on another list of its class, if its counts say so.
    ///
    /// # Safety
    ///
    /// `chunk` is the one.
    #[inline]
    pub(super) unsafe fn relink(&self, chunk: NonNull<Self>) {
        if self.state.get() != self.counted_state() {
            self.unlink();
            // SAFETY: the one, and on no list any more.
            unsafe { self.link(chunk) };
        }
    }

    /// How many buffers of that size it would have.
    pub(super) fn buffers_of(&self, size: usize) -> u32 {
        let fit = self.data_bytes / size;
        // At most the capacity, so it fits.
        fit.min(self.capacity as usize) as u32
    }

    /// Makes an idle chunk that is on no list one of another class.
    pub(super) fn move_to(&self, class: &Class, directory: &Directory<R>, chunk: NonNull<Self>) {
        debug_assert!(self.in_use.get() == 0);
        Self::give_numbers_back(chunk, directory);
        self.class().subtract(self.buffers(), self.made());
        self.class.set(NonNull::from(class));
        self.buffers.set(self.buffers_of(class.size()));
        self.made.set(0);
        self.top.set(NO_PAGE);
        class.add(self.buffers());
    }

    /// The header at `index`.
    pub(super) fn header(chunk: NonNull<Self>, index: u32) -> NonNull<Header<R>> {
        // SAFETY: the headers follow the record in its block (L1); a `Header` is as aligned as
        // the record.
        unsafe { chunk.add(1).cast::<Header<R>>().add(index as usize) }
    }

    /// The headers that are there.
    pub(super) fn headers(chunk: NonNull<Self>) -> impl Iterator<Item = NonNull<Header<R>>> {
        // SAFETY: the chunk is there, as each caller has it.
        let made = unsafe { chunk.as_ref() }.made();
        (0..made).map(move |index| Self::header(chunk, index))
    }

    /// Makes the header at `index`, and touches its bytes if `touched`. The caller counts it in
    /// use, or banks it.
    ///
    /// # Safety
    ///
    /// `chunk` is the one, and of that directory; `index` is `made`, and below `buffers`.
    pub(super) unsafe fn make(
        &self,
        chunk: NonNull<Self>,
        index: u32,
        directory: &Directory<R>,
        touched: bool,
    ) {
        let header = Self::header(chunk, index);
        let number = if index % PAGE_HEADERS == 0 {
            directory.take(header, chunk.cast())
        } else {
            // SAFETY: the one before is made (L2).
            let before = unsafe { Self::header(chunk, index - 1).as_ref() };
            directory.extend(before.number())
        };
        let size = self.class().size();
        // SAFETY: the buffer is within the block, and no one's; the header's place is within
        // the other (L1).
        unsafe {
            let start = self.data.add(index as usize * size);
            if touched {
                touch(start, 0, size);
            }
            header.write(Header::new(number, start, self.class.get()));
        }
        self.made.set(index + 1);
    }

    /// Panics where L3 does not hold: so many headers are banked.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, state: State, banked: usize) {
        assert!(self.made() <= self.buffers() && self.buffers() <= self.capacity());
        assert_eq!(
            self.in_use.get() as usize + banked,
            self.made() as usize,
            "L3"
        );
        assert_eq!(
            (self.state.get(), self.counted_state()),
            (state, state),
            "L3"
        );
    }

    /// Gives the numbers of its headers back.
    pub(super) fn give_numbers_back(chunk: NonNull<Self>, directory: &Directory<R>) {
        for header in Self::headers(chunk).step_by(PAGE_HEADERS as usize) {
            // SAFETY: `headers` gives those that were made (L2).
            directory.give_back(unsafe { header.as_ref() }.number());
        }
    }
}
