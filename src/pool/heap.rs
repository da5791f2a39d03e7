//! The memory of a pool on the heap: cells in segments, whose headers lead to the home.

use core::alloc::Layout;
use core::cell::Cell;
use core::mem::offset_of;
use core::ptr::NonNull;

use super::home::{Home, Places};
use super::memory::{Cells, Memory};
use super::segment::Geometry;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;

/// The start of a segment: a pointer to the body. The first segment has the body itself after
/// it, on the same cache line, so that a free in a small pool touches one line.
#[repr(C)]
struct Header {
    word: NonNull<u8>,
    body: Body,
}

/// The home is first, so that a pointer to it is a pointer to the body.
#[repr(C)]
struct Body {
    home: Home<FreeStack, Geometry>,
    /// The cells, and this.
    cells: Block,
    /// Number of bytes of them that are committed.
    committed: Cell<usize>,
    lazy: bool,
}

/// Bytes that a lazy pool commits at a time: few system calls, and little unused memory.
const COMMIT: usize = 1 << 20;

/// A free list for `capacity` cells, with its memory only reserved if `lazy`.
///
/// # Errors
///
/// If the source refuses.
pub(super) fn free_list(
    capacity: usize,
    lazy: bool,
    source: &Source,
) -> Result<FreeStack, AllocError> {
    if lazy {
        FreeStack::try_reserve(capacity, source)
    } else {
        FreeStack::try_new(capacity, source)
    }
}

/// Commits the memory of a reserved free list for `capacity` cells, and for some more of
/// `most`.
///
/// # Errors
///
/// If the source refuses.
pub(super) fn commit(list: &FreeStack, capacity: usize, most: usize) -> Result<(), AllocError> {
    if capacity > list.capacity() {
        let ahead = capacity.max(list.capacity() + COMMIT / size_of::<Option<NonNull<u8>>>());
        list.try_commit(ahead.min(most), false)?;
    }
    Ok(())
}

impl Body {
    /// Memory for `capacity` cells of that geometry: touched and pushed, or only reserved if
    /// `lazy`.
    ///
    /// # Errors
    ///
    /// Past the limits, or if the source refuses; nothing is leaked then.
    fn try_new(
        geometry: Geometry,
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<NonNull<Self>, AllocError> {
        let layout = geometry.layout(capacity)?;
        let (cells, committed) = if lazy {
            let cells = Block::reserve(layout, source)?;
            let committed = cells.commit(0, size_of::<Header>())?;
            (cells, committed)
        } else {
            let cells = Block::allocate(layout, source)?;
            cells.touch();
            (cells, layout.size())
        };
        let free = free_list(capacity, lazy, source)?;
        let start = cells.start();
        // SAFETY: the block is laid out for `capacity` cells, and is kept with the home.
        let home = unsafe { Home::new(free, capacity, geometry, start) };
        let body = Body {
            home,
            cells,
            committed: Cell::new(committed),
            lazy,
        };
        // SAFETY: there is room for a header before the first cell; it is committed, and aligned
        // like the segment. Only cells and the first words of segments are written otherwise.
        // Unless the pool is lazy, all cells and the whole list were allocated.
        unsafe {
            let place = start.add(offset_of!(Header, body)).cast::<Self>();
            place.write(body);
            if !lazy {
                Self::fill(place);
            }
            Ok(place)
        }
    }

    /// Pushes all fresh cells.
    ///
    /// # Safety
    ///
    /// The body is valid, with the memory of all its cells, and room for them in the free list.
    unsafe fn fill(body: NonNull<Self>) {
        // SAFETY: the body is valid, with memory for all cells and room in the list
        // (preconditions).
        unsafe {
            let home = &body.as_ref().home;
            let fresh = home.fresh();
            home.places()
                .write_headers(home.start(), fresh.start, fresh.end, body.cast());
            home.push_fresh(fresh.end);
        }
    }

    /// Commits the memory of the fresh cells up to `end`.
    ///
    /// # Errors
    ///
    /// If the source refuses; nothing is lost then.
    fn commit(&self, end: usize) -> Result<(), AllocError> {
        let bytes = self.home.places().offset(end - 1) + self.home.places().cell();
        let committed = self.committed.get();
        if bytes > committed {
            let ahead = bytes.max(committed + COMMIT);
            self.committed.set(self.cells.commit(committed, ahead)?);
        }
        commit(&self.home.free, end, self.home.capacity())
    }

    /// Pushes the next fresh cells.
    ///
    /// # Errors
    ///
    /// `None` if there are none; the source's error if it refuses.
    ///
    /// # Safety
    ///
    /// The body is valid.
    unsafe fn refill(body: NonNull<Self>) -> Result<(), Option<AllocError>> {
        // SAFETY: the body is valid (precondition).
        let it = unsafe { body.as_ref() };
        let next = it.home.next_fresh();
        if next.is_empty() {
            return Err(None);
        }
        it.commit(next.end)?;
        // SAFETY: their memory, and room for them in the free list, were just committed.
        unsafe {
            it.home
                .places()
                .write_headers(it.home.start(), next.start, next.end, body.cast());
            it.home.push_fresh(next.end);
        }
        Ok(())
    }

    fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        let fresh = self.home.next_of(cells);
        if fresh.is_empty() {
            return Ok(());
        }
        self.commit(fresh.end)?;
        let geometry = self.home.places();
        let end = geometry.offset(fresh.end - 1) + geometry.cell();
        let bytes = geometry.offset(fresh.start)..end;
        self.cells.populate(bytes.start, bytes.end)?;
        self.cells.touch_range(bytes);
        self.home.free.touch();
        self.home.free.populate(0, self.home.free.capacity())
    }
}

/// The memory of a pool on the heap. Untyped, so that its drop asks nothing of the values'
/// type: they may own boxes of their own pool.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Segments {
    home: NonNull<Body>,
}

impl Segments {
    /// Memory for `capacity` cells, touched, or only reserved if `lazy`.
    ///
    /// # Errors
    ///
    /// Past the limits, or if the source refuses; nothing is leaked then.
    pub(super) fn try_new(
        geometry: Geometry,
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let home = Body::try_new(geometry, capacity, lazy, source)?;
        Ok(Segments { home })
    }

    fn body(&self) -> &Body {
        // SAFETY: written in `try_new`, and valid until the drop.
        unsafe { self.home.as_ref() }
    }

    /// A report on this memory and `more` bytes.
    pub(super) fn report(&self, more: usize) -> Report {
        let it = self.body();
        let source = it.cells.source();
        let cells = if source.reserves() {
            it.committed.get()
        } else {
            it.cells.layout().size()
        };
        Report::new(cells + it.home.free.array_bytes() + more, source)
    }
}

impl<T> Cells<T, Segments> {
    /// Where they lie.
    pub(super) const GEOMETRY: Geometry = Geometry::new(Self::LAYOUT, Layout::new::<Header>());
}

// SAFETY: every cell that is pushed lies in the home's memory, in a segment whose header was
// written before (H3) with the address of the home. The mask leads from the cell to the header.
unsafe impl Memory for Segments {
    type Free = FreeStack;
    type Places = Geometry;
    type Way = ();

    const LEAST_CELL: Layout = Layout::new::<u8>();

    #[inline(always)]
    fn home(&self) -> NonNull<Home<FreeStack, Geometry>> {
        self.home.cast()
    }

    #[inline(always)]
    fn way(&self) {}

    #[inline(always)]
    unsafe fn home_of<T>(cell: NonNull<u8>, (): Self::Way) -> NonNull<Home<FreeStack, Geometry>> {
        // SAFETY: `cell` is a taken cell of such a memory (precondition), so the header of its
        // segment was written (H3). It leads to a body, whose first field is the home.
        unsafe { Cells::<T, Self>::GEOMETRY.header_of(cell).cast() }
    }

    fn refill(&self) -> Result<(), Option<AllocError>> {
        // SAFETY: the body is valid as long as this memory.
        unsafe { Body::refill(self.home) }
    }

    fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        self.body().prepare(cells)
    }

    unsafe fn reset(&mut self) {
        // SAFETY: taken cells are not used any more (precondition). Unless the pool is lazy, the
        // memory of all cells is committed, and there is room for them in the list.
        unsafe {
            self.body().home.forget_all();
            if !self.body().lazy {
                Body::fill(self.home);
            }
        }
    }
}

/// Frees the memory; values that were forgotten in it are not dropped.
impl Drop for Segments {
    fn drop(&mut self) {
        // SAFETY: written in `try_new`, and not used again: boxes borrow the pool, so there is
        // none. The body is moved out, and its drop frees the memory that it lay in.
        drop(unsafe { self.home.read() });
    }
}
