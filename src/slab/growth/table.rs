//! The table of chunks of a growable slab, by number.
//!
//! The table has the *origin* of each chunk: the address that the cell with key 0 would have if the
//! chunk extended down to it. The cell of a key is at the origin plus the key times the size of a
//! cell, without a mask.
//!
//! The entry of a key is found by a shift by a constant: a shift by the size of a chunk would be
//! another load in every access by key. So a chunk has as many entries, all equal, as it has
//! [grains](grain); a grain is the smallest chunk.
//!
//! When a chunk is freed, its number becomes a *hole*, unless it was the last; the next growth
//! fills the hole. One of the freed chunks is kept as the *stand-in* for all holes, so that access
//! by key needs no check for holes: its cells are free forever, and have no key.
//!
//! The chunk that fills a hole is below the bound, so its cells must be stamped before their keys
//! find them. It replaces the stand-in one grain at a time, when an insertion reaches the first
//! cell of the grain: stamping a chunk of 2^20 `u64` at once took one insertion 6 ms. The lowest
//! hole is found by a bit for each number, stored after the entries: at most 4,096 words in a slab
//! with chunks of the default size.
//!
//! # Invariants
//!
//! * `table-entries`: the entries from `i << repeat` to `(i + 1) << repeat` are equal. They are the
//!   origin of chunk `i`, with `1 << shift` cells and the keys from `i << shift` on; or, in a hole,
//!   of the stand-in, whose cells are in state `V O` and have [`Key::NONE`]. All cells are stamped
//!   except the last `unstamped` cells of the last chunk, which are not in use. In the chunk that
//!   contains the key `filled_to`, which starts a grain but not the chunk, the entries from that
//!   key on are those of the stand-in. (While its first grain is filled, it starts the chunk, whose
//!   first entry is its own already.)
//! * `table-block`: `origins` is laid out by `origins_layout`: entries, of which those of all numbers
//!   are written, and after them words of bits, all of which are written.
//! * `hole-bits`: `holes` numbers are holes, those whose bit is set, none of them below
//!   `next_hole`. There is a stand-in if there is a hole, or a chunk that is being filled.
//! * `last-is-chunk`: the last number is not a hole.
//! * `grain-shift`: `shift` is the binary logarithm of a grain plus `repeat`.

use core::alloc::Layout;
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::NonNull;
use core::slice;

use crate::error::AllocError;
use crate::key::{Key, MAX_SLOTS};
use crate::raw::chunk;
use crate::raw::memory::Block;
use crate::raw::packed::Packing;
use crate::raw::source::Source;
use crate::raw::touch::{PAGE, touch};
use crate::slab::cell::CellPtr;
use crate::slab::shape::Shape;

/// The part of the table that a slab keeps in itself, to find the cell of a key without the header.
#[derive(Clone, Copy)]
pub(crate) struct Chunks {
    /// The origin of each chunk, `table-entries`.
    origins: NonNull<*mut u8>,
    /// Keys from here on have no cell, or one that is not stamped yet.
    pub(crate) bound: usize,
    /// Cells that follow the bound.
    pub(crate) unstamped: usize,
}

impl Chunks {
    pub(crate) const NONE: Chunks = Chunks {
        origins: NonNull::dangling(),
        bound: 0,
        unstamped: 0,
    };

    /// The cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound, the chunks are of cells of `T`, and the table
    /// has not changed since these were asked for.
    #[inline]
    pub(crate) unsafe fn cell<T>(self, key: Key) -> CellPtr<T> {
        // SAFETY: of cells of `T` (precondition).
        CellPtr::new(unsafe { self.start(key, const { grain::<T>() }, CellPtr::<T>::SIZE) })
    }

    /// The start of the cell of a key.
    ///
    /// # Safety
    ///
    /// Those of [`cell`](Self::cell), for the [`grain`] and the size of its cells.
    #[inline]
    pub(crate) unsafe fn start(self, key: Key, grain: u32, size: usize) -> NonNull<u8> {
        // SAFETY: by `table-entries` and `grain-shift` the table has an entry
        // for the key's grain, and its chunk a cell at that distance from its
        // origin.
        unsafe {
            let origin = self.origins.add(key.index() >> grain).read();
            NonNull::new_unchecked(origin.wrapping_add(key.index().wrapping_mul(size)))
        }
    }
}

/// The bytes of memory for each entry of the table, and so the size of the smallest chunk. With 1
/// KiB the table of two million values of 64 bytes had 2 MB, and copying it was the longest
/// insertion: 1.5 million ticks, twenty times as long as the interruptions of the machine itself.
///
/// Under Miri it is a few cells, so that a test's chunks are as small as it asks for: an
/// interpreter takes seconds to build a chunk of 16 KiB.
const GRAIN: usize = if cfg!(miri) { 64 } else { 16 << 10 };

/// The same for cells of more than [`LARGE`] bytes. A chunk of 16 KiB has few of these cells, but a
/// program with few values may want to grow by less.
const GRAIN_OF_LARGE: usize = if cfg!(miri) { 64 } else { 1 << 10 };
const LARGE: usize = 256;

/// The binary logarithm of the cells of `T` for which the table has an entry.
///
/// One cell in the crate's own tests and under fuzzing, which need the smallest possible chunks.
pub(crate) const fn grain<T>() -> u32 {
    let cell = CellPtr::<T>::SIZE;
    let fitting = if cell > LARGE {
        GRAIN_OF_LARGE / cell
    } else {
        GRAIN / cell
    };
    if fitting < 2 || cfg!(any(test, fuzzing)) {
        0
    } else {
        fitting.ilog2()
    }
}

/// The cells of a table, without the type of their values.
#[derive(Clone, Copy)]
pub(crate) struct ChunkShape {
    pub(super) shape: Shape,
    /// See [`grain`].
    grain: u32,
    /// How numbers of cells share words on the return stack.
    pub(super) packing: Packing,
}

impl ChunkShape {
    pub(crate) const fn of<T>() -> Self {
        ChunkShape {
            shape: Shape::of::<T>(),
            grain: grain::<T>(),
            packing: CellPtr::<T>::packing(Packing::UNBOUNDED),
        }
    }

    /// The layout of a chunk of `1 << shift` cells.
    ///
    /// # Errors
    ///
    /// When it passes the limits.
    pub(crate) fn chunk(self, shift: u32) -> Result<Layout, AllocError> {
        chunk::layout(self.shape.layout, 1 << shift)
    }
}

/// The value of `filled_to` if no chunk is being filled.
const FILLED: usize = usize::MAX;

/// Numbers in a word of bits, which takes as much room as an entry.
const BITS: usize = usize::BITS as usize;
const _: () = assert!(size_of::<usize>() == size_of::<*mut u8>());

/// The chunks, owned.
pub(super) struct ChunkTable {
    /// The entries, and then the bits of the holes, for as many numbers as there is room for
    /// entries.
    origins: Block,
    /// Chunks and holes.
    numbers: usize,
    holes: usize,
    next_hole: usize,
    stand_in: Option<Block>,
    unstamped: usize,
    /// The first key of a chunk being filled that has no cell of its own; [`FILLED`] if there is
    /// no such chunk.
    filled_to: usize,
    shift: u32,
    /// The binary logarithm of the entries of a chunk.
    repeat: u32,
    /// The layout of every chunk.
    layout: Layout,
    cells: ChunkShape,
    source: Source,
}

impl ChunkTable {
    /// Entries that the first table has room for.
    const FIRST_ROOM: usize = 8;

    /// A table of no chunks, for chunks of `1 << shift` of these cells, which is at least a
    /// grain.
    ///
    /// # Errors
    ///
    /// When such a chunk passes the limits.
    pub(super) fn try_new(
        cells: ChunkShape,
        shift: u32,
        source: &Source,
    ) -> Result<Self, AllocError> {
        Ok(ChunkTable {
            origins: Block::dangling(Layout::new::<[*mut u8; 0]>()),
            source: source.clone(),
            numbers: 0,
            holes: 0,
            next_hole: 0,
            stand_in: None,
            unstamped: 0,
            filled_to: FILLED,
            shift,
            repeat: shift - cells.grain,
            layout: cells.chunk(shift)?,
            cells,
        })
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes the chunks of a table without chunks a quarter as large, but not smaller than a grain.
    /// Returns the binary logarithm of their slots, or `None` if nothing has changed.
    pub(super) fn make_chunks_smaller(&mut self) -> Option<u32> {
        let grain = self.cells.grain;
        if self.numbers > 0 || self.shift == grain {
            return None;
        }
        let shift = self.shift.saturating_sub(2).max(grain);
        self.layout = self.cells.chunk(shift).ok()?;
        self.shift = shift;
        self.repeat = shift - grain;
        Some(shift)
    }

    /// The number of the next chunk, unless it fills a hole.
    #[cfg(feature = "std")]
    pub(super) fn next_number(&self) -> usize {
        self.numbers
    }

    /// Bytes of the table, the chunks and the stand-in.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.numbers - self.holes + usize::from(self.stand_in.is_some());
        self.origins.layout().size() + chunks * self.layout.size()
    }

    /// Returns the layout of every chunk.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn chunks(&self) -> Chunks {
        Chunks {
            origins: self.origins.start().cast(),
            bound: (self.numbers << self.shift) - self.unstamped,
            unstamped: self.unstamped,
        }
    }

    /// Number of chunks that can be added before the keys run out.
    pub(super) fn chunks_left(&self) -> usize {
        (MAX_SLOTS >> self.shift) - self.numbers + self.holes
    }

    /// Number of entries after that many more chunks.
    pub(super) fn entries_with(&self, chunks: usize) -> usize {
        (self.numbers + chunks.saturating_sub(self.holes)) << self.repeat
    }

    /// Number of chunks that can be added to a table with that room.
    pub(super) fn chunks_within(&self, room: usize) -> usize {
        (room >> self.repeat) - self.numbers + self.holes
    }

    /// Number of entries there is room for.
    pub(super) fn room(&self) -> usize {
        Self::room_of(&self.origins)
    }

    pub(super) fn room_of(origins: &Block) -> usize {
        let words = origins.layout().size() / size_of::<*mut u8>();
        words - words.div_ceil(BITS + 1)
    }

    /// The room of the table that takes the place of this one when it is too
    /// small for so many entries.
    pub(super) fn larger_room(&self, entries: usize) -> usize {
        entries.max(2 * self.room()).max(Self::FIRST_ROOM)
    }

    /// Number of entries when this table is outgrown by one chunk.
    #[cfg(feature = "std")]
    pub(super) fn entries_beyond_room(&self) -> usize {
        ((self.room() >> self.repeat) + 1) << self.repeat
    }

    /// The layout of a block for that many entries.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`.
    pub(super) fn origins_layout(room: usize) -> Result<Layout, AllocError> {
        let words = room.saturating_add(room.div_ceil(BITS));
        Layout::array::<*mut u8>(words).map_err(|_| AllocError::TooManyBytes {
            slots: room,
            slot_bytes: size_of::<*mut u8>(),
        })
    }

    /// Moves the entries into a larger block; the old one comes back.
    pub(super) fn move_to(&mut self, block: Block) -> Block {
        let old = core::mem::replace(&mut self.origins, block);
        let (room, old_room) = (self.room(), Self::room_of(&old));
        assert!(room >= old_room, "a larger table");
        // SAFETY: the new block is larger than the old one, and distinct; both have room for the
        // entries of all numbers, and after those for their bits (`table-block`).
        unsafe {
            let (entries, old) = (self.origins.start().cast(), old.start().cast::<*mut u8>());
            entries.copy_from_nonoverlapping(old, self.numbers << self.repeat);
            let bits = entries.add(room);
            bits.write_bytes(0, room.div_ceil(BITS));
            bits.copy_from_nonoverlapping(old.add(old_room), self.numbers.div_ceil(BITS));
        }
        old
    }

    /// Room for entries, of which those of numbers are written.
    fn entries(&self) -> &[Cell<MaybeUninit<*mut u8>>] {
        let entries = self.origins.start().cast();
        // SAFETY: by `table-block` there is room for so many entries, which only change as cells.
        unsafe { slice::from_raw_parts(entries.as_ptr(), self.room()) }
    }

    /// The words with the bits of the holes.
    fn bits(&self) -> &[Cell<usize>] {
        let (entries, room) = (self.origins.start().cast::<Cell<usize>>(), self.room());
        // SAFETY: by `table-block` words of bits, all written, follow the entries; they only change
        // as cells.
        unsafe { slice::from_raw_parts(entries.add(room).as_ptr(), room.div_ceil(BITS)) }
    }

    fn is_hole(&self, number: usize) -> bool {
        debug_assert!(number < self.numbers);
        self.bits()[number / BITS].get() & 1 << (number % BITS) != 0
    }

    fn mark_hole(&mut self, number: usize, is_hole: bool) {
        debug_assert!(number < self.numbers);
        let word = &self.bits()[number / BITS];
        let others = word.get() & !(1 << (number % BITS));
        word.set(others | usize::from(is_hole) << (number % BITS));
    }

    /// The lowest hole, of which there is one (`hole-bits`), and how many words of bits were read.
    fn lowest_hole(&self) -> (usize, usize) {
        let first = self.next_hole / BITS;
        let mut at = first;
        loop {
            debug_assert!(at * BITS < self.numbers, "a hole that was counted");
            let word = self.bits()[at].get();
            if word != 0 {
                let hole = at * BITS + word.trailing_zeros() as usize;
                return (hole, at - first + 1);
            }
            at += 1;
        }
    }

    /// Adds a chunk, `spare` or one of `chunks`, and returns its number: the lowest hole, or the
    /// next number. There is room in the table. A stand-in that is no longer needed is added to
    /// `chunks`.
    ///
    /// O(1), and O(words of bits) to find a hole. The cells of the chunk are [stamped
    /// later](Self::stamp_next); in a hole, the cells of the first grain are stamped now. The cells
    /// of `spare` are stamped already, and are kept if they have the keys of this number.
    pub(super) fn add_next(&mut self, chunks: &mut LooseChunks, spare: Option<Block>) -> usize {
        debug_assert!(self.unstamped == 0 && self.filled_to == FILLED);
        let appended = self.holes == 0;
        let number = if appended {
            self.numbers += 1;
            self.numbers - 1
        } else {
            let (hole, _) = self.lowest_hole();
            self.mark_hole(hole, false);
            self.holes -= 1;
            self.next_hole = hole + 1;
            hole
        };
        let first = number << self.shift;
        let expected = Key::from_raw(first as u32);
        let stamped = spare.as_ref().is_some_and(|spare| {
            // SAFETY: a spare has at least one stamped cell.
            unsafe { self.cells.shape.stamp_of(spare.start()) }.key() == expected
        });
        let block = spare
            .or_else(|| chunks.pop())
            .expect("supplies for a chunk");
        let mut entries = self.entries_of(number);
        if stamped || appended {
            self.unstamped = if stamped { 0 } else { 1 << self.shift };
        } else {
            self.filled_to = first;
            entries.end = entries.start + 1;
        }
        // SAFETY: of a chunk with that number. If it is being filled from now on, its first entry.
        unsafe { self.point(entries, number, block.leak_start()) };
        if self.filled_to != FILLED {
            self.fill_grain();
        }
        // A chunk that is being filled needs the stand-in until the next chunk is added.
        if self.holes == 0 && self.filled_to == FILLED {
            if let Some(stand_in) = self.stand_in.take() {
                chunks.add(stand_in);
            }
        }
        number
    }

    /// Returns the first key of a chunk being filled that has no cell of its own, or [`FILLED`].
    #[inline]
    pub(super) fn filled_to(&self) -> usize {
        self.filled_to
    }

    /// Stamps the cells of the next grain of the chunk that is being filled, and replaces the
    /// stand-in's cells by them. O(slots of a grain).
    #[cold]
    #[inline(never)]
    fn fill_grain(&mut self) {
        let first = self.filled_to;
        assert!(first != FILLED, "a chunk is being filled");
        let number = first >> self.shift;
        let local = first - (number << self.shift);
        let key = |local| Key::from_raw(first as u32 + local);
        let ChunkShape { shape, grain, .. } = self.cells;
        let entry = first >> grain;
        let start = self.start(number);
        // SAFETY: by `table-entries` the chunk that is being filled, to which its first entry leads,
        // has those cells, and no key has led to them yet.
        unsafe {
            let cell = start.add(local * shape.layout.size());
            shape.stamp_all(cell, 1 << grain, key);
            self.point(entry..entry + 1, number, start);
        }
        let filled_to = first + (1 << grain);
        let end = (number + 1) << self.shift;
        self.filled_to = if filled_to < end { filled_to } else { FILLED };
    }

    /// Makes the next stretch of the fresh cells, which have the keys `fresh`, ready to be used,
    /// and returns the key at its end. In a chunk that is being filled the cells are stamped; in
    /// any other chunk their memory is touched.
    ///
    /// A stretch has `touch_ahead` slots, but not more than there are before it, so that a small
    /// slab touches at most twice the memory it needs. It is at least one page, which the
    /// insertions touch themselves. It ends at the latest at the end of the chunk.
    pub(super) fn make_ready(&mut self, fresh: Range<usize>, touch_ahead: usize) -> usize {
        let ahead = touch_ahead.min(fresh.start);
        if self.filled_to != FILLED {
            let end = fresh.end.min(fresh.start + ahead.max(1));
            while self.filled_to < end {
                self.fill_grain();
            }
            return self.filled_to.min(fresh.end);
        }
        // A chunk that was built ahead is stamped, so its pages are touched.
        if touch_ahead == 0 || self.unstamped == 0 || self.source.populates() {
            return fresh.end;
        }
        let page = PAGE.div_ceil(self.cells.shape.layout.size());
        let end = fresh.end.min(fresh.start + ahead.max(page));
        if ahead > page {
            self.touch_unstamped(end - fresh.start);
        }
        end
    }

    /// See [`grain`].
    pub(super) fn grain(&self) -> u32 {
        self.cells.grain
    }

    /// Returns the cell with this key, which is free, and whether this call stamped it: it does if
    /// the cell is the next one without a stamp.
    ///
    /// # Safety
    ///
    /// The chunks have cells of this shape.
    // It takes the shape: where the compiler knows that, the size is a constant.
    #[inline]
    pub(super) unsafe fn stamp_next(&mut self, key: usize, shape: Shape) -> (NonNull<u8>, bool) {
        debug_assert!(shape.layout == self.cells.shape.layout);
        let cell = self.place_at(key, shape.layout.size());
        let stamped = self.unstamped > 0;
        if stamped {
            debug_assert!(key == self.chunks().bound);
            // SAFETY: by `table-entries` that cell of the last chunk is not in use.
            unsafe { shape.stamp_all(cell, 1, |_| Key::from_raw(key as u32)) };
            self.unstamped -= 1;
        }
        (cell, stamped)
    }

    /// Stamps all cells that are not stamped yet, as free.
    pub(super) fn stamp_rest(&mut self) {
        if self.unstamped > 0 {
            let first = self.chunks().bound;
            let key = |local| Key::from_raw(first as u32 + local);
            // SAFETY: by `table-entries` those cells of the last chunk are not in use.
            unsafe { (self.cells.shape).stamp_all(self.place(first), self.unstamped, key) };
            self.unstamped = 0;
        }
        while self.filled_to != FILLED {
            self.fill_grain();
        }
    }

    /// Touches the memory of the first cells that are not stamped, at most `most`.
    pub(super) fn touch_unstamped(&self, most: usize) {
        let bytes = self.unstamped.min(most) * self.cells.shape.layout.size();
        if bytes > 0 && !self.source.populates() {
            let start = self.place(self.chunks().bound);
            // SAFETY: by `table-entries` those cells of the last chunk are not in use.
            unsafe { touch(start, 0, bytes) };
        }
    }

    /// The cells with these keys, which are in one chunk.
    pub(super) fn cells_of(
        &self,
        keys: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = NonNull<u8>> + use<> {
        let size = self.cells.shape.layout.size();
        // Without keys there may be no chunk.
        let start = match keys.is_empty() {
            true => NonNull::dangling(),
            false => self.place(keys.start),
        };
        // SAFETY: by `table-entries` the chunk has those cells, in one block.
        unsafe { chunk::cells(start, size, keys.len()) }
    }

    /// The place of the cell with this key, in a chunk or past the end of the
    /// last one.
    fn place(&self, key: usize) -> NonNull<u8> {
        self.place_at(key, self.cells.shape.layout.size())
    }

    /// The same, for cells of this size.
    #[inline]
    fn place_at(&self, key: usize, size: usize) -> NonNull<u8> {
        let number = key >> self.shift;
        let local = key - (number << self.shift);
        // SAFETY: a chunk of that number has 2^`shift` cells (`table-entries`), and `local` is at
        // most that.
        unsafe { self.start(number).add(local * size) }
    }

    /// Returns whether a cell of this table has a key: those of chunks that were
    /// [stripped](Self::strip_free_chunks) have none.
    ///
    /// # Safety
    ///
    /// A stamped cell of this table starts at `cell`.
    pub(super) unsafe fn has_key(&self, cell: NonNull<u8>) -> bool {
        // SAFETY: a stamped cell starts there (precondition), and `shape` is that of all cells.
        unsafe { self.cells.shape.stamp_of(cell) }.key().is_some()
    }

    /// Removes the keys from all chunks whose cells are all free, and returns the number of these
    /// chunks. O(slots). The caller [releases](Self::release) them at once.
    pub(super) fn strip_free_chunks(&mut self) -> usize {
        assert!(self.unstamped == 0 && self.filled_to == FILLED);
        let (shape, mut stripped) = (self.cells.shape, 0);
        for number in 0..self.numbers {
            if self.is_hole(number) {
                continue;
            }
            let start = self.start(number);
            // SAFETY: by `table-entries` the chunk has that many cells, all stamped.
            let is_free = unsafe {
                chunk::cells(start, shape.layout.size(), 1 << self.shift)
                    .all(|cell| shape.stamp_of(cell).is_free())
            };
            if is_free {
                // SAFETY: the cells of a chunk, all free; no other code looks at them now.
                unsafe { shape.stamp_all(start, 1 << self.shift, |_| Key::NONE) };
                self.mark_hole(number, true);
                stripped += 1;
            }
        }
        stripped
    }

    /// Returns the chunks without keys. Numbers at the end are removed (`last-is-chunk`); others
    /// become holes.
    pub(super) fn release(&mut self) -> LooseChunks {
        let mut released = LooseChunks::new(self.layout, self.source.clone());
        while self.numbers > 0 && self.is_hole(self.numbers - 1) {
            self.mark_hole(self.numbers - 1, false);
            match self.pop() {
                Some(block) => released.add(block),
                None => self.holes -= 1,
            }
        }
        self.next_hole = self.numbers;
        for number in 0..self.numbers {
            if !self.is_hole(number) {
                continue;
            }
            self.next_hole = self.next_hole.min(number);
            let start = self.start(number);
            if self.is_stand_in(start) {
                continue;
            }
            self.holes += 1;
            // SAFETY: a block of this layout, given up in `add_next`; its number
            // is a hole from now on.
            let block = unsafe { Block::from_start(start, self.layout, &self.source) };
            match &self.stand_in {
                Some(stand_in) => {
                    let start = stand_in.start();
                    // SAFETY: a block as large as a chunk, whose cells are those of no key, as it
                    // is with a hole.
                    unsafe { self.point(self.entries_of(number), number, start) };
                    released.add(block);
                }
                None => self.stand_in = Some(block),
            }
        }
        if self.holes == 0 {
            if let Some(stand_in) = self.stand_in.take() {
                released.add(stand_in);
            }
        }
        released
    }

    #[cfg(test)]
    pub(super) fn pretend_to_have(&mut self, chunks: usize) {
        self.numbers = chunks;
    }

    fn is_stand_in(&self, start: NonNull<u8>) -> bool {
        self.stand_in
            .as_ref()
            .is_some_and(|stand_in| stand_in.start() == start)
    }

    /// Bytes from the origin of a chunk to its start, modulo the address
    /// space: all arithmetic with origins wraps.
    fn distance(&self, number: usize) -> usize {
        number.wrapping_mul(self.layout.size())
    }

    /// Returns the start of the chunk with this number, or of the stand-in.
    fn start(&self, number: usize) -> NonNull<u8> {
        debug_assert!(number < self.numbers);
        // SAFETY: there is such a number, and by `table-entries` its entries lead to a block.
        unsafe {
            let origin = self.entries().get_unchecked(number << self.repeat).get();
            NonNull::new_unchecked(origin.assume_init().wrapping_add(self.distance(number)))
        }
    }

    /// Removes the last number, and returns its chunk, unless it led to the stand-in.
    fn pop(&mut self) -> Option<Block> {
        let start = self.start(self.numbers - 1);
        self.numbers -= 1;
        // SAFETY: a block of this layout that was given up in `add_next`, and is in no table now.
        (!self.is_stand_in(start))
            .then(|| unsafe { Block::from_start(start, self.layout, &self.source) })
    }

    fn entries_of(&self, number: usize) -> Range<usize> {
        number << self.repeat..(number + 1) << self.repeat
    }

    /// Some entries of a number lead to a block that starts there.
    ///
    /// # Safety
    ///
    /// The block has the cells to which they lead from now on (`table-entries`).
    unsafe fn point(&mut self, entries: Range<usize>, number: usize, start: NonNull<u8>) {
        let origin = start.as_ptr().wrapping_sub(self.distance(number));
        for entry in &self.entries()[entries] {
            entry.set(MaybeUninit::new(origin));
        }
    }
}

impl Drop for ChunkTable {
    fn drop(&mut self) {
        while self.numbers > 0 {
            drop(self.pop());
        }
    }
}

/// Chunks without an owner, linked through their own memory, the one that was added first in front:
/// an allocator often returns addresses that rise, and a walk in the order of the keys is fast if
/// they do, for the processor looks ahead.
///
/// They are either allocated for a growth, or given back by a shrink to be
/// freed once nothing refers to them.
#[must_use = "dropping it frees memory that may still be referred to"]
pub(crate) struct LooseChunks {
    /// The first and the last, if there is one.
    ends: Option<(NonNull<u8>, NonNull<u8>)>,
    count: usize,
    layout: Layout,
    source: Source,
}

impl LooseChunks {
    /// No chunks. Those to come are from this source and of this layout, which
    /// has room for a pointer.
    pub(crate) fn new(layout: Layout, source: Source) -> Self {
        debug_assert!(layout.size() >= size_of::<NonNull<u8>>());
        LooseChunks {
            ends: None,
            count: 0,
            layout,
            source,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn add(&mut self, chunk: Block) {
        debug_assert!(chunk.layout() == self.layout);
        let start = chunk.leak_start();
        let first = match self.ends {
            None => start,
            Some((first, last)) => {
                // SAFETY: an unused chunk with room for a pointer.
                unsafe { last.cast().write_unaligned(start) };
                first
            }
        };
        self.ends = Some((first, start));
        self.count += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Block> {
        let (start, last) = self.ends?;
        self.count -= 1;
        self.ends = (start != last).then(|| {
            // SAFETY: when the next one was added its address was written there.
            (unsafe { start.cast().read_unaligned() }, last)
        });
        // SAFETY: `add` gave up a block of this layout and source.
        Some(unsafe { Block::from_start(start, self.layout, &self.source) })
    }
}

impl Drop for LooseChunks {
    fn drop(&mut self) {
        while let Some(chunk) = self.pop() {
            drop(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::slab::cell::Place;
    use crate::slab::header;
    use crate::slab::state::State;

    const SHIFT: u32 = 1;

    fn grow(table: &mut ChunkTable) -> usize {
        if table.entries_with(1) > table.room() {
            let room = table.entries_with(1).max(2 * table.room() + 1);
            let layout = ChunkTable::origins_layout(room).unwrap();
            drop(table.move_to(Block::allocate(layout, &Source::GLOBAL).unwrap()));
        }
        let mut chunks = LooseChunks::new(table.layout(), Source::GLOBAL);
        chunks.add(Block::allocate(table.layout(), &Source::GLOBAL).unwrap());
        let stood_in = table.stand_in.is_some();
        let number = table.add_next(&mut chunks, None);
        table.stamp_rest();
        // What stood in for the last hole comes back with the chunk after it.
        assert_eq!(
            chunks.len(),
            usize::from(stood_in && table.stand_in.is_none())
        );
        number
    }

    fn cell(table: &ChunkTable, key: u32) -> CellPtr<u8> {
        assert!((key as usize) < table.chunks().bound);
        // SAFETY: the key is below the bound (asserted).
        unsafe { table.chunks().cell(Key::from_raw(key)) }
    }

    fn set_state(table: &ChunkTable, key: u32, state: State) {
        let place = Place::new(cell(table, key), header::unallocated());
        // SAFETY: in the table; a `u8` has no destructor to miss.
        unsafe { place.live() }.force_state(state);
    }

    fn key_at(table: &ChunkTable, key: u32) -> Key {
        // SAFETY: every cell of the table is stamped.
        unsafe { cell(table, key).shared_key() }
    }

    /// What a number is: a chunk with its keys, or a hole.
    fn shape(table: &ChunkTable) -> Vec<bool> {
        (0..table.numbers)
            .map(|number| {
                let keys = (number << SHIFT) as u32..((number + 1) << SHIFT) as u32;
                let is_chunk = keys.clone().all(|key| key_at(table, key).into_raw() == key);
                let is_hole = keys.clone().all(|key| key_at(table, key).is_none());
                assert!(is_chunk != is_hole);
                is_chunk
            })
            .collect()
    }

    /// A table of `numbers` chunks, of which those in `used` have a value.
    fn table(numbers: usize, used: &[usize]) -> ChunkTable {
        let mut table =
            ChunkTable::try_new(ChunkShape::of::<u8>(), SHIFT, &Source::GLOBAL).unwrap();
        for number in 0..numbers {
            assert_eq!(grow(&mut table), number);
        }
        for &number in used {
            set_state(&table, (number << SHIFT) as u32 + 1, State::OWNED);
        }
        table
    }

    #[test]
    fn numbers_at_the_end_go_and_others_become_holes() {
        let mut table = table(12, &[0, 4, 9]);
        assert_eq!(table.strip_free_chunks(), 9);
        // 10 and 11 at the end; of the seven in between one is kept.
        assert_eq!(table.release().len(), 2 + 7 - 1);
        let expected: Vec<bool> = (0..10).map(|number| [0, 4, 9].contains(&number)).collect();
        assert_eq!(shape(&table), expected);
        assert_eq!(table.holes, 7);

        // Nothing more to give back.
        assert_eq!(table.strip_free_chunks(), 0);
        assert_eq!(table.release().len(), 0);

        // The lowest first.
        let numbers: Vec<_> = (0..8).map(|_| grow(&mut table)).collect();
        assert_eq!(numbers, [1, 2, 3, 5, 6, 7, 8, 10]);
        assert!(table.stand_in.is_none());
        assert_eq!(shape(&table), [true; 11]);
    }

    #[test]
    fn what_can_be_added_counts_the_holes() {
        let mut table = table(6, &[0, 3, 5]);
        assert_eq!(table.repeat, SHIFT, "a grain is one slot here");
        assert_eq!(table.chunks_within(6 << SHIFT), 0);
        assert_eq!(table.chunks_within(10 << SHIFT | 1), 4);
        table.strip_free_chunks();
        drop(table.release());
        assert_eq!((table.holes, table.chunks_within(10 << SHIFT)), (3, 7));
        assert_eq!(
            [1, 3, 4].map(|chunks| table.entries_with(chunks)),
            [6, 6, 7].map(|chunks| chunks << SHIFT)
        );
    }

    #[test]
    fn a_single_hole_keeps_its_own_chunk_to_stand_in() {
        let mut table = table(3, &[0, 2]);
        assert_eq!(table.strip_free_chunks(), 1);
        assert_eq!(table.release().len(), 0);
        assert_eq!(shape(&table), [true, false, true]);
        assert_eq!(table.chunks_left(), (MAX_SLOTS >> SHIFT) - 2);
        assert_eq!(grow(&mut table), 1);
        assert_eq!(shape(&table), [true; 3]);
    }

    #[test]
    fn a_hole_is_filled_one_grain_at_a_time() {
        let mut table = table(4, &[0, 3]);
        table.strip_free_chunks();
        drop(table.release());
        let mut chunks = LooseChunks::new(table.layout(), Source::GLOBAL);
        chunks.add(Block::allocate(table.layout(), &Source::GLOBAL).unwrap());
        assert_eq!(table.add_next(&mut chunks, None), 1);
        // A grain is one slot here: the other one's key leads to the stand-in still.
        assert_eq!((table.filled_to(), table.chunks().bound), (3, 8));
        assert_eq!(
            [2, 3].map(|key| key_at(&table, key).is_none()),
            [false, true]
        );
        // SAFETY: made of cells of `u8`.
        let (first, stamped) = unsafe { table.stamp_next(2, Shape::of::<u8>()) };
        assert!(!stamped && first == cell(&table, 2).start());
        assert_eq!(table.filled_to(), 3);
        assert_eq!(table.make_ready(3..4, 0), 4);
        // SAFETY: made of cells of `u8`.
        let (second, stamped) = unsafe { table.stamp_next(3, Shape::of::<u8>()) };
        assert!(!stamped && second == cell(&table, 3).start());
        assert_eq!(key_at(&table, 3).into_raw(), 3);
        assert_eq!(table.filled_to(), FILLED);
        assert_eq!(shape(&table), [true, true, false, true]);
        // The stand-in is needed for the other hole.
        assert!(table.stand_in.is_some() && chunks.len() == 0);
    }

    /// One hole among so many chunks: one bit is looked at for each, and none twice.
    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn the_lowest_hole_is_found_by_words_of_bits() {
        let chunks = if cfg!(miri) { 300 } else { 20_000 };
        let all: Vec<usize> = (0..chunks).filter(|number| *number != chunks - 2).collect();
        let mut table = table(chunks, &all);
        table.strip_free_chunks();
        drop(table.release());
        assert_eq!(table.next_hole, chunks - 2);
        assert_eq!(table.lowest_hole(), (chunks - 2, 1));
        // As if nothing were known of where it is.
        table.next_hole = 0;
        assert_eq!(table.lowest_hole(), (chunks - 2, (chunks - 2) / BITS + 1));
        assert_eq!(grow(&mut table), chunks - 2);
        assert_eq!(grow(&mut table), chunks);
    }

    #[test]
    fn a_block_of_any_size_has_room_for_a_bit_for_each_entry() {
        for room in (0..500).chain([4095, 4096, 1 << 20]) {
            let layout = ChunkTable::origins_layout(room).unwrap();
            let block = match room {
                0 => Block::dangling(layout),
                _ => Block::allocate(layout, &Source::GLOBAL).unwrap(),
            };
            assert_eq!(ChunkTable::room_of(&block), room);
        }
        assert!(ChunkTable::origins_layout(usize::MAX).is_err());
    }

    #[test]
    fn holes_that_come_to_the_end_go_with_their_stand_in() {
        let mut table = table(4, &[0, 3]);
        table.strip_free_chunks();
        assert_eq!(table.release().len(), 1);
        assert_eq!(shape(&table), [true, false, false, true]);
        set_state(&table, 3 << SHIFT | 1, State::FREE);
        assert_eq!(table.strip_free_chunks(), 1);
        assert_eq!(table.release().len(), 2);
        assert_eq!(shape(&table), [true]);
        assert!(table.stand_in.is_none() && table.holes == 0);
    }

    #[test]
    fn a_table_of_free_chunks_is_given_back_whole() {
        let mut table = table(20, &[]);
        assert_eq!(table.strip_free_chunks(), 20);
        assert_eq!(table.release().len(), 20);
        assert_eq!(table.chunks().bound, 0);
        assert_eq!(grow(&mut table), 0);
    }

    #[test]
    fn loose_chunks_come_back_or_are_freed() {
        let layout = chunk::layout(Layout::new::<u64>(), 3).unwrap();
        let mut chunks = LooseChunks::new(layout, Source::GLOBAL);
        let starts = [0, 1, 2].map(|_| {
            let chunk = chunk::allocate(layout, &Source::GLOBAL).unwrap();
            let start = chunk.start();
            chunks.add(chunk);
            start
        });
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks.pop().unwrap().start(), starts[0]);
        assert_eq!(chunks.pop().unwrap().start(), starts[1]);
        chunks.add(chunk::allocate(layout, &Source::GLOBAL).unwrap());
        assert_eq!(chunks.pop().unwrap().start(), starts[2]);
        assert_eq!(chunks.len(), 1);
    }
}
