//! Where the cells are: in one array, or in chunks.
//!
//! # Invariants
//!
//! * A1: an [`Array`] is a block with room for `capacity` cells.
//! * C1: entry `i` of the table of [`Chunks`], for each `i` below
//!   `capacity >> shift`, is the *origin* of chunk `i`: the address that the cell with index
//!   0 would have if the chunk reached down to it.
//! * C2: an entry from there on is the *floor* of a chunk that was given back:
//!   no cell of it had a higher version. Null is 0.

use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};

use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::chunk;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The kind of memory of a [`KeySlab`](super::KeySlab): [`Array`] or [`Chunks`].
/// Sealed.
pub trait Storage: Cells {}

pub(crate) mod sealed {
    use core::ops::Range;

    use super::{AllocError, NonNull, Source};
    use crate::raw::touch::touch;

    /// # Safety
    ///
    /// `cell` gives distinct places for distinct indices, each of the size and
    /// alignment of a cell, the same until the capacity changes; [`run`](Self::run)
    /// of them lie in a row.
    pub unsafe trait Cells: Sized {
        /// For `Debug`.
        const NAME: &'static str;
        /// Whether the capacity is fixed.
        const BOUNDED: bool;

        /// Memory for `capacity` cells `C`, or none where there may be more
        /// later.
        ///
        /// # Errors
        ///
        /// Past the limits, or when the allocator refuses.
        fn try_new<C>(capacity: usize, source: &Source) -> Result<Self, AllocError>;

        /// Where the memory comes from.
        fn source(&self) -> &Source;

        /// Bytes of all blocks.
        fn bytes(&self) -> usize;

        /// Number of slots allocated.
        fn capacity(&self) -> usize;

        /// The most slots there can be.
        fn limit(&self) -> usize;

        /// Slots that [`try_add`](Self::try_add) adds.
        fn step(&self) -> usize;

        /// Adds a chunk, and returns its floor; its cells do not exist yet.
        ///
        /// # Errors
        ///
        /// `None` if the storage cannot grow. Past the limits, or when the
        /// allocator refuses: nothing has changed.
        fn try_add(&mut self) -> Result<u32, Option<AllocError>>;

        /// The place of a cell.
        ///
        /// # Safety
        ///
        /// The index is below the capacity; the storage was made for cells `C`.
        unsafe fn cell<C>(&self, index: usize) -> NonNull<C>;

        /// Number of cells in a row from `index` on, if that many exist.
        fn run<C>(index: usize) -> usize;

        /// Touches the memory of cells that do not exist, below the capacity.
        fn touch<C>(&mut self, cells: Range<usize>) {
            if self.source().populates() {
                return;
            }
            let mut index = cells.start;
            while index < cells.end {
                let row = Self::run::<C>(index).min(cells.end - index);
                // SAFETY: memory for so many cells lies in a row there, and none of them exists.
                unsafe { touch(self.cell::<C>(index).cast(), 0, row * size_of::<C>()) };
                index += row;
            }
        }

        /// Chunk numbers up to here may have a floor.
        fn floors_end(&self) -> usize;

        /// The highest version that a slot of this chunk had before the chunk
        /// was given back; 0 of a chunk that exists.
        fn floor(&self, number: usize) -> u32;

        /// Notes the floor of a chunk.
        ///
        /// # Errors
        ///
        /// `None` if the chunk exists, or there are none; when the allocator
        /// refuses.
        #[cfg(feature = "serde")]
        fn try_set_floor(&mut self, number: usize, floor: u32) -> Result<(), Option<AllocError>>;

        /// Forgets the floors.
        fn reset_floors(&mut self);
    }
}
use sealed::Cells;

/// Cells begin at a cache line, so that those of 32 or 16 bytes do not cross one:
/// an allocator gives large blocks that begin 16 bytes after a page does, and
/// then every second cell of 32 bytes crosses two.
const LINE: usize = 64;

/// One array, allocated when the slab is made: the cells of a
/// [`BoundedKeySlab`](super::BoundedKeySlab).
#[derive(Debug)]
pub struct Array {
    cells: Block,
    capacity: usize,
}

impl Storage for Array {}

// SAFETY: by A1 the cells lie in a row in one block.
unsafe impl Cells for Array {
    const NAME: &'static str = "BoundedKeySlab";
    const BOUNDED: bool = true;

    fn try_new<C>(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = chunk::layout(Layout::new::<C>(), capacity)?;
        let aligned = layout
            .align_to(LINE)
            .map_err(|_| AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<C>(),
            })?;
        let cells = Block::allocate(aligned, source)?;
        Ok(Array { cells, capacity })
    }

    fn source(&self) -> &Source {
        self.cells.source()
    }

    fn bytes(&self) -> usize {
        self.cells.layout().size()
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn limit(&self) -> usize {
        self.capacity
    }

    fn step(&self) -> usize {
        0
    }

    #[inline(always)]
    fn try_add(&mut self) -> Result<u32, Option<AllocError>> {
        Err(None)
    }

    #[inline(always)]
    unsafe fn cell<C>(&self, index: usize) -> NonNull<C> {
        // SAFETY: `index` is below the capacity (precondition), so within the block (A1).
        unsafe { self.cells.start().cast::<C>().add(index) }
    }

    #[inline(always)]
    fn run<C>(index: usize) -> usize {
        usize::MAX - index
    }

    fn floors_end(&self) -> usize {
        0
    }

    fn floor(&self, _: usize) -> u32 {
        0
    }

    #[cfg(feature = "serde")]
    fn try_set_floor(&mut self, _: usize, _: u32) -> Result<(), Option<AllocError>> {
        Err(None)
    }

    fn reset_floors(&mut self) {}
}

/// Chunks of a fixed number of cells, allocated one at a time: the cells of a
/// growable [`KeySlab`](super::KeySlab).
#[derive(Debug)]
pub struct Chunks {
    table: Block,
    /// Slots of all chunks.
    capacity: usize,
    /// Of a chunk.
    layout: Layout,
    /// As [`shift`] says of the cells this was made for.
    shift: u32,
    /// Of the chunks and the table.
    source: Source,
}

/// The binary logarithm of the cells of a chunk: 4096, or as many as 256 KiB
/// have room for, and one at least. Known at compile time, so that the way from
/// a key to its cell is a shift by a constant.
pub(super) const fn shift<C>() -> u32 {
    let size = if size_of::<C>() == 0 {
        1
    } else {
        size_of::<C>()
    };
    let fitting = (256 << 10) / size;
    if fitting >= 4096 {
        12
    } else if fitting >= 1 {
        fitting.ilog2()
    } else {
        0
    }
}

/// The table's entries are pointers.
type Entry = *mut u8;

/// Entries that the first table has room for.
const FIRST_ROOM: usize = 8;

impl Chunks {
    pub(super) const fn new<C>(source: Source) -> Self {
        let align = if align_of::<C>() > LINE {
            align_of::<C>()
        } else {
            LINE
        };
        let layout = match Layout::from_size_align(size_of::<C>() << shift::<C>(), align) {
            Ok(layout) => layout,
            Err(_) => panic!("a value of this size cannot be laid out"),
        };
        Chunks {
            table: Block::dangling(Layout::new::<[Entry; 0]>()),
            capacity: 0,
            layout,
            shift: shift::<C>(),
            source,
        }
    }

    /// Number of chunks.
    fn count(&self) -> usize {
        self.capacity >> self.shift
    }

    fn room(&self) -> usize {
        self.table.layout().size() / size_of::<Entry>()
    }

    fn entry(&self, number: usize) -> NonNull<Entry> {
        assert!(number < self.room());
        // SAFETY: `number` is below the room of the table (asserted).
        unsafe { self.table.start().cast::<Entry>().add(number) }
    }

    /// The version that the cells of the next chunk begin with.
    pub(super) fn next_floor(&self) -> u32 {
        self.floor(self.count())
    }

    /// Frees the last chunk, whose cells do not exist any more.
    pub(super) fn remove_last(&mut self, floor: u32) {
        let number = self.count() - 1;
        let chunk = self.chunk(number);
        self.capacity = number << self.shift;
        let floor = core::ptr::without_provenance_mut(floor as usize);
        // SAFETY: `entry` is within the table; a floor may stand there, by C2.
        unsafe { self.entry(number).write(floor) };
        drop(chunk);
    }

    /// Gives the table room for exactly the chunks and floors there are, if the
    /// allocator gives that.
    pub(super) fn shrink_table(&mut self) {
        let mut room = self.room();
        while room > self.count() && self.floor(room - 1) == 0 {
            room -= 1;
        }
        if room < self.room() {
            // Where the smaller table is refused, the larger one stays.
            let _ = self.try_set_room(room);
        }
    }

    /// Moves the entries to a table of this room.
    fn try_set_room(&mut self, room: usize) -> Result<(), AllocError> {
        let layout = Layout::array::<Entry>(room).map_err(|_| AllocError::TooManyBytes {
            slots: room,
            slot_bytes: size_of::<Entry>(),
        })?;
        let table = Block::allocate(layout, &self.source)?;
        let entries = table.start().cast::<Entry>();
        let kept = self.room().min(room);
        // SAFETY: both have room for that many, the new one for the rest.
        unsafe {
            entries.copy_from_nonoverlapping(self.table.start().cast(), kept);
            for number in kept..room {
                entries.add(number).write(null_mut());
            }
        }
        self.table = table;
        Ok(())
    }

    /// The floors of another slab's chunks, for its clone.
    pub(super) fn try_copy_floors(&mut self, other: &Self) -> Result<(), AllocError> {
        let (first, last) = (other.count(), other.room());
        if (first..last).all(|number| other.floor(number) == 0) {
            return Ok(());
        }
        if self.room() < last {
            self.try_set_room(last)?;
        }
        for number in first.max(self.count())..last {
            let floor = core::ptr::without_provenance_mut(other.floor(number) as usize);
            // SAFETY: `entry` is within the table; a floor may stand there, by C2.
            unsafe { self.entry(number).write(floor) };
        }
        Ok(())
    }

    /// The memory of a chunk, which the caller frees.
    fn chunk(&self, number: usize) -> Block {
        // SAFETY: by C1 that far from the start of a block of this layout.
        unsafe {
            let start = (self.entry(number).read()).wrapping_add(number * self.layout.size());
            Block::from_start(NonNull::new_unchecked(start), self.layout, &self.source)
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        for number in 0..self.count() {
            drop(self.chunk(number));
        }
    }
}

impl Storage for Chunks {}

// SAFETY: by C1 the cells of a chunk lie in a row, and chunks are distinct.
unsafe impl Cells for Chunks {
    const NAME: &'static str = "KeySlab";
    const BOUNDED: bool = false;

    fn try_new<C>(_: usize, source: &Source) -> Result<Self, AllocError> {
        Ok(Chunks::new::<C>(source.clone()))
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn bytes(&self) -> usize {
        self.count() * self.layout.size() + self.table.layout().size()
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn limit(&self) -> usize {
        MAX_SLOTS >> self.shift << self.shift
    }

    fn step(&self) -> usize {
        1 << self.shift
    }

    fn try_add(&mut self) -> Result<u32, Option<AllocError>> {
        let number = self.count();
        let requested = self.capacity + self.step();
        if requested > self.limit() {
            return Err(Some(AllocError::TooManySlots {
                requested,
                limit: self.limit(),
            }));
        }
        if self.layout.size() > isize::MAX as usize / (number + 1) {
            return Err(Some(AllocError::TooManyBytes {
                slots: requested,
                slot_bytes: self.layout.size() >> self.shift,
            }));
        }
        if number == self.room() {
            self.try_set_room((2 * number).max(FIRST_ROOM))?;
        }
        let chunk = Block::allocate(self.layout, &self.source)?;
        let floor = self.floor(number);
        let distance = number * self.layout.size();
        let origin = chunk.leak_start().as_ptr().wrapping_sub(distance);
        // SAFETY: `entry` is within the table; this is the origin of C1.
        unsafe { self.entry(number).write(origin) };
        self.capacity = requested;
        Ok(floor)
    }

    #[inline(always)]
    unsafe fn cell<C>(&self, index: usize) -> NonNull<C> {
        // SAFETY: `index` is below the capacity (precondition), so by C1 its entry is the
        // origin of its chunk.
        unsafe {
            let origins = self.table.start().cast::<*mut C>();
            let origin = origins.add(index >> shift::<C>()).read();
            NonNull::new_unchecked(origin.wrapping_add(index))
        }
    }

    #[inline(always)]
    fn run<C>(index: usize) -> usize {
        let cells = 1 << shift::<C>();
        cells - index % cells
    }

    fn floors_end(&self) -> usize {
        self.room()
    }

    fn floor(&self, number: usize) -> u32 {
        if number >= self.count() && number < self.room() {
            // SAFETY: `try_set_room` writes every entry of the table.
            unsafe { self.entry(number).read().addr() as u32 }
        } else {
            0
        }
    }

    #[cfg(feature = "serde")]
    fn try_set_floor(&mut self, number: usize, floor: u32) -> Result<(), Option<AllocError>> {
        if number < self.count() || number >= self.limit() >> self.shift {
            return Err(None);
        }
        if number >= self.room() {
            self.try_set_room((number + 1).max(2 * self.room()))?;
        }
        let floor = core::ptr::without_provenance_mut(floor as usize);
        // SAFETY: `entry` is within the table; a floor may stand there, by C2.
        unsafe { self.entry(number).write(floor) };
        Ok(())
    }

    fn reset_floors(&mut self) {
        for number in self.count()..self.room() {
            // SAFETY: `entry` is within the table; null is the floor 0 (C2).
            unsafe { self.entry(number).write(null_mut()) };
        }
    }
}
