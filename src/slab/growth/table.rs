//! Where the chunks of a growable slab are, by number.
//!
//! The table has each chunk's *origin*: the address that a cell with key 0 would have if the
//! chunk reached down to it. The cell of a key is the origin plus the key times the size of a
//! cell, without a mask.
//!
//! The entry of a key is found by a shift by a constant: a shift by the size of a chunk would be
//! one load more in every access by key. So a chunk has as many entries, all equal, as it has
//! [grains](grain); a grain is the smallest chunk.
//!
//! A chunk that is given back leaves its number unused, unless it was the last: a *hole*, which
//! the next growth fills. One of the chunks given back stands in for all holes, so that access by
//! key needs no test for them: its cells are free for ever, and have no key.
//!
//! # Invariants
//!
//! * T1: the entries from `i << repeat` to `(i + 1) << repeat` are equal, and lead to chunk `i`:
//!   `1 << shift` cells with the keys from `i << shift`, or, in a hole, to the stand-in, whose
//!   cells are in state `V O` and have [`Key::NONE`]. All are stamped but the last `unstamped` of
//!   the last chunk, which are not in use.
//! * T2: `holes` numbers are holes, none of them below `next_hole`; there is a
//!   stand-in exactly if there is one.
//! * T3: the last number is no hole.
//! * T4: `shift` is the binary logarithm of a grain plus `repeat`.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::key::{Key, MAX_SLOTS};
use crate::raw::chunk;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::touch::touch;
use crate::slab::cell::layout::{CellPtr, stamp_all};
use crate::slab::growth::loose_chunks::LooseChunks;

/// What a slab keeps of its table in itself, to find a key's cell without the header.
#[derive(Clone, Copy)]
pub(crate) struct Chunks {
    /// The origin of each chunk, T1.
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
    #[inline(always)]
    pub(crate) unsafe fn cell<T>(self, key: Key) -> CellPtr<T> {
        // SAFETY: by T1 and T4 the table has an entry for the key's grain, and
        // its chunk a cell at that distance from its origin.
        unsafe {
            let origin = self
                .origins
                .add(key.index() >> const { grain::<T>() })
                .read();
            let start = origin.wrapping_add(key.index().wrapping_mul(CellPtr::<T>::SIZE));
            CellPtr::new(NonNull::new_unchecked(start))
        }
    }
}

/// The bytes of memory for which the table has an entry, and with it the
/// smallest chunk. With 1 KiB the table of two million values of 64 bytes is 2 MB,
/// and copying it was the worst insertion: 1.5 million ticks, twenty times what the
/// machine itself cost.
///
/// Under Miri some cells, so that a test's chunks are as small as it asks for: to build
/// one of 16 KiB takes an interpreter seconds.
const GRAIN: usize = if cfg!(miri) { 64 } else { 16 << 10 };

/// The same for cells of more than [`LARGE`] bytes. A chunk of 16 KiB would be few
/// of them, but a program that holds few may want to grow by less.
const GRAIN_OF_LARGE: usize = if cfg!(miri) { 64 } else { 1 << 10 };
const LARGE: usize = 256;

/// The binary logarithm of the cells of `T` for which the table has an entry.
///
/// One cell in the crate's own tests and under fuzzing, which need chunks as
/// small as can be.
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

/// The chunks, owned.
pub(super) struct ChunkTable {
    origins: Block,
    /// Chunks and holes.
    numbers: usize,
    holes: usize,
    next_hole: usize,
    stand_in: Option<Block>,
    unstamped: usize,
    shift: u32,
    /// The binary logarithm of the entries of a chunk.
    repeat: u32,
    /// Of every chunk, as is the next.
    layout: Layout,
    source: Source,
}

impl ChunkTable {
    /// Entries that the first table has room for.
    const FIRST_ROOM: usize = 8;

    /// A table of no chunks, for chunks of `1 << shift` cells of `T`, which is at
    /// least a grain.
    ///
    /// # Errors
    ///
    /// When such a chunk passes the limits.
    pub(super) fn try_new<T>(shift: u32, source: &Source) -> Result<Self, AllocError> {
        Ok(ChunkTable {
            origins: Block::dangling(Layout::new::<[*mut u8; 0]>()),
            source: source.clone(),
            numbers: 0,
            holes: 0,
            next_hole: 0,
            stand_in: None,
            unstamped: 0,
            shift,
            repeat: shift - const { grain::<T>() },
            layout: chunk::layout(CellPtr::<T>::LAYOUT, 1 << shift)?,
        })
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
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

    /// Of every chunk.
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
        origins.layout().size() / size_of::<*mut u8>()
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
        Layout::array::<*mut u8>(room).map_err(|_| AllocError::TooManyBytes {
            slots: room,
            slot_bytes: size_of::<*mut u8>(),
        })
    }

    /// Moves the entries into a larger block; the old one comes back.
    pub(super) fn move_to(&mut self, block: Block) -> Block {
        debug_assert!(block.layout().size() > self.origins.layout().size());
        // SAFETY: the new block is larger than the old one, and distinct.
        unsafe {
            let entries = block.start().cast::<*mut u8>();
            entries
                .copy_from_nonoverlapping(self.origins.start().cast(), self.numbers << self.repeat);
        }
        core::mem::replace(&mut self.origins, block)
    }

    /// Adds a chunk, `spare` or else one of `chunks`, and returns its number:
    /// that of the lowest hole, or the next. There is room. A stand-in that is
    /// no longer needed goes to `chunks`.
    ///
    /// O(1) where there are no holes: the cells of the chunk are left
    /// [to be stamped](Self::stamp_next), unless they are those of `spare`, which
    /// have keys, and those of this number. A hole's cells are all stamped,
    /// O(slots of a chunk), and to find the holes is O(numbers) for all of them
    /// together.
    pub(super) fn add_next<T>(&mut self, chunks: &mut LooseChunks, spare: Option<Block>) -> usize {
        debug_assert!(self.unstamped == 0);
        let appended = self.holes == 0;
        let number = if appended {
            self.numbers += 1;
            self.numbers - 1
        } else {
            let mut holes = self.next_hole..self.numbers;
            let hole = holes.find(|&number| self.is_keyless::<T>(number));
            self.holes -= 1;
            self.next_hole = holes.start;
            hole.expect("a hole that was counted")
        };
        let first = (number << self.shift) as u32;
        // SAFETY: a spare has at least one stamped cell.
        let stamped = spare
            .as_ref()
            .is_some_and(|spare| unsafe { first_key::<T>(spare.start()) } == Key::from_raw(first));
        let block = spare
            .or_else(|| chunks.pop())
            .expect("supplies for a chunk");
        if !stamped && appended {
            self.unstamped = 1 << self.shift;
        } else if !stamped {
            self.stamp_all::<T>(block.start(), |local| Key::from_raw(first + local));
        }
        self.point(number, block.leak_start());
        if self.holes == 0 {
            if let Some(stand_in) = self.stand_in.take() {
                chunks.add(stand_in);
            }
        }
        number
    }

    /// The cell with this key, which is free, and whether it is stamped by this: if it is the
    /// next one that was not.
    #[inline(always)]
    pub(super) fn stamp_next<T>(&mut self, key: usize) -> (NonNull<u8>, bool) {
        let cell = self.place::<T>(key);
        let stamped = self.unstamped > 0;
        if stamped {
            debug_assert!(key == self.chunks().bound);
            // SAFETY: by T1 that cell of the last chunk is not in use.
            unsafe { stamp_all::<T>(cell, 1, |_| Key::from_raw(key as u32)) };
            self.unstamped -= 1;
        }
        (cell, stamped)
    }

    /// Makes all cells that are not stamped free ones.
    pub(super) fn stamp_rest<T>(&mut self) {
        if self.unstamped > 0 {
            let first = self.chunks().bound;
            let key = |local| Key::from_raw(first as u32 + local);
            // SAFETY: by T1 those cells of the last chunk are not in use.
            unsafe { stamp_all::<T>(self.place::<T>(first), self.unstamped, key) };
            self.unstamped = 0;
        }
    }

    /// Touches the memory of the cells that are not stamped.
    pub(super) fn touch_unstamped<T>(&self) {
        let bytes = self.unstamped * CellPtr::<T>::SIZE;
        if bytes > 0 && !self.source.populates() {
            let start = self.place::<T>(self.chunks().bound);
            // SAFETY: by T1 those cells of the last chunk are not in use.
            unsafe { touch(start, 0, bytes) };
        }
    }

    /// The place of the cell with this key, in a chunk or past the end of the
    /// last one.
    fn place<T>(&self, key: usize) -> NonNull<u8> {
        let number = key >> self.shift;
        let local = key - (number << self.shift);
        // SAFETY: a chunk of that number has 2^`shift` cells (T1), and `local` is at most that.
        unsafe { self.start(number).add(local * CellPtr::<T>::SIZE) }
    }

    /// Takes their keys from all chunks whose cells are all free, and says how
    /// many those are; O(slots). [`release`](Self::release) them at once.
    pub(super) fn strip_free_chunks<T>(&mut self) -> usize {
        assert!(self.unstamped == 0);
        let mut stripped = 0;
        for number in 0..self.numbers {
            let start = self.start(number);
            // SAFETY: by T1 the chunk has that many cells, all stamped.
            let is_free = unsafe {
                chunk::cells(start, CellPtr::<T>::SIZE, 1 << self.shift)
                    .all(|cell| CellPtr::<T>::new(cell).is_free())
            };
            if is_free && !self.is_keyless::<T>(number) {
                self.stamp_all::<T>(start, |_| Key::NONE);
                stripped += 1;
            }
        }
        stripped
    }

    /// Gives back the chunks without keys: numbers at the end go, others
    /// become holes.
    pub(super) fn release<T>(&mut self) -> LooseChunks {
        let mut released = LooseChunks::new(self.layout, self.source.clone());
        self.next_hole = 0;
        while self.numbers > 0 && self.is_keyless::<T>(self.numbers - 1) {
            let start = self.start(self.numbers - 1);
            self.numbers -= 1;
            if self.is_stand_in(start) {
                self.holes -= 1;
            } else {
                // SAFETY: a block of this layout that the table has given up.
                released.add(unsafe { Block::from_start(start, self.layout, &self.source) });
            }
        }
        for number in 0..self.numbers {
            let start = self.start(number);
            if !self.is_keyless::<T>(number) || self.is_stand_in(start) {
                continue;
            }
            self.holes += 1;
            // SAFETY: a block of this layout, given up in `add_next`; its number
            // is a hole from now on.
            let block = unsafe { Block::from_start(start, self.layout, &self.source) };
            match &self.stand_in {
                Some(stand_in) => {
                    self.point(number, stand_in.start());
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

    /// Makes all cells of a chunk free ones.
    fn stamp_all<T>(&self, start: NonNull<u8>, key: impl Fn(u32) -> Key) {
        // SAFETY: every block of the table is laid out for that many cells; all
        // are free or not stamped yet, and no other code looks at them now.
        unsafe { stamp_all::<T>(start, 1 << self.shift, key) };
    }

    fn is_keyless<T>(&self, number: usize) -> bool {
        let start = self.start(number);
        // SAFETY: by T1 the first cell is stamped. If it is not free, its key may be in use (X4).
        unsafe { CellPtr::<T>::new(start).is_free() && first_key::<T>(start).is_none() }
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

    /// Where the chunk of a number, or the stand-in, starts.
    fn start(&self, number: usize) -> NonNull<u8> {
        debug_assert!(number < self.numbers);
        // SAFETY: there is such a number, and by T1 its entries lead to a block.
        unsafe {
            let entries = self.origins.start().cast::<*mut u8>();
            let origin = entries.add(number << self.repeat).read();
            NonNull::new_unchecked(origin.wrapping_add(self.distance(number)))
        }
    }

    fn point(&mut self, number: usize, start: NonNull<u8>) {
        let entries = number << self.repeat..(number + 1) << self.repeat;
        debug_assert!(entries.end <= self.room());
        let origin = start.as_ptr().wrapping_sub(self.distance(number));
        for entry in entries {
            // SAFETY: there is room for that many entries.
            unsafe { (self.origins.start().cast::<*mut u8>().add(entry)).write(origin) };
        }
    }
}

/// The key of a chunk's first cell.
///
/// # Safety
///
/// A chunk of stamped cells of `T` starts there; the first is free.
unsafe fn first_key<T>(start: NonNull<u8>) -> Key {
    // SAFETY: the first cell is stamped (precondition).
    unsafe { CellPtr::<T>::new(start).key() }
}

impl Drop for ChunkTable {
    fn drop(&mut self) {
        for number in 0..self.numbers {
            let start = self.start(number);
            if !self.is_stand_in(start) {
                // SAFETY: a block of this layout, given up in `add_next`.
                drop(unsafe { Block::from_start(start, self.layout, &self.source) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::slab::cell::header;
    use crate::slab::cell::place::Place;
    use crate::slab::cell::state::State;

    const SHIFT: u32 = 1;

    fn grow(table: &mut ChunkTable) -> usize {
        if table.entries_with(1) > table.room() {
            let room = table.entries_with(1).max(2 * table.room() + 1);
            let layout = ChunkTable::origins_layout(room).unwrap();
            drop(table.move_to(Block::allocate(layout, &Source::GLOBAL).unwrap()));
        }
        let mut chunks = LooseChunks::new(table.layout(), Source::GLOBAL);
        chunks.add(Block::allocate(table.layout(), &Source::GLOBAL).unwrap());
        let had_holes = table.holes > 0;
        let number = table.add_next::<u8>(&mut chunks, None);
        table.stamp_rest::<u8>();
        // What stood in for the last hole comes back.
        assert_eq!(chunks.len(), usize::from(had_holes && table.holes == 0));
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
        unsafe { cell(table, key).key() }
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
        let mut table = ChunkTable::try_new::<u8>(SHIFT, &Source::GLOBAL).unwrap();
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
        assert_eq!(table.strip_free_chunks::<u8>(), 9);
        // 10 and 11 at the end; of the seven in between one is kept.
        assert_eq!(table.release::<u8>().len(), 2 + 7 - 1);
        let expected: Vec<bool> = (0..10).map(|number| [0, 4, 9].contains(&number)).collect();
        assert_eq!(shape(&table), expected);
        assert_eq!(table.holes, 7);

        // Nothing more to give back.
        assert_eq!(table.strip_free_chunks::<u8>(), 0);
        assert_eq!(table.release::<u8>().len(), 0);

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
        table.strip_free_chunks::<u8>();
        drop(table.release::<u8>());
        assert_eq!((table.holes, table.chunks_within(10 << SHIFT)), (3, 7));
        assert_eq!(
            [1, 3, 4].map(|chunks| table.entries_with(chunks)),
            [6, 6, 7].map(|chunks| chunks << SHIFT)
        );
    }

    #[test]
    fn a_single_hole_keeps_its_own_chunk_to_stand_in() {
        let mut table = table(3, &[0, 2]);
        assert_eq!(table.strip_free_chunks::<u8>(), 1);
        assert_eq!(table.release::<u8>().len(), 0);
        assert_eq!(shape(&table), [true, false, true]);
        assert_eq!(table.chunks_left(), (MAX_SLOTS >> SHIFT) - 2);
        assert_eq!(grow(&mut table), 1);
        assert_eq!(shape(&table), [true; 3]);
    }

    #[test]
    fn holes_that_come_to_the_end_go_with_their_stand_in() {
        let mut table = table(4, &[0, 3]);
        table.strip_free_chunks::<u8>();
        assert_eq!(table.release::<u8>().len(), 1);
        assert_eq!(shape(&table), [true, false, false, true]);
        set_state(&table, 3 << SHIFT | 1, State::FREE);
        assert_eq!(table.strip_free_chunks::<u8>(), 1);
        assert_eq!(table.release::<u8>().len(), 2);
        assert_eq!(shape(&table), [true]);
        assert!(table.stand_in.is_none() && table.holes == 0);
    }

    #[test]
    fn a_table_of_free_chunks_is_given_back_whole() {
        let mut table = table(20, &[]);
        assert_eq!(table.strip_free_chunks::<u8>(), 20);
        assert_eq!(table.release::<u8>().len(), 20);
        assert_eq!(table.chunks().bound, 0);
        assert_eq!(grow(&mut table), 0);
    }
}
