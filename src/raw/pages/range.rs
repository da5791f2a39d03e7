//! Ranges of addresses, in which two arrays of equal length grow where they are: the cells of a
//! container, and an index for each.
//!
//! A range is reserved, inaccessible at first, and opened from the front as the container grows: no
//! address changes and nothing is copied. Its pages come from the system when they are touched.
//! Where it is used up, its pages move into a larger one, by the tables of the processor.
//!
//! One mapping has both: the cells from its start, the indices after the room for all cells there
//! can be. Bytes are opened by whole [`GRAIN`]s.
//!
//! There are ranges on Linux with addresses of 64 bits, and for interpreters, which have no such
//! memory, two blocks in place of each. Elsewhere none is to be had.
//!
//! # Invariants
//!
//! * `range-open`: a range's bytes are open, readable and writable, for `opened` cells and as many
//!   indices.
//! * `range-owner`: a range is the caller's alone from `reserve` to `release` or `move_to`.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::raw::atomic::Count;

pub(crate) use backend::populate;

/// Whether there may be a range.
pub(crate) const SUPPORTED: bool = cfg!(any(
    all(feature = "os-memory", miri),
    all(
        feature = "os-memory",
        target_os = "linux",
        target_pointer_width = "64"
    )
));

/// Bytes that are opened together: a page of any machine. Under an interpreter an opening has
/// exactly the bytes it needs.
pub(crate) const GRAIN: usize = if cfg!(miri) { 8 } else { 64 << 10 };

/// Bytes of cells that growth opens: less than a huge page of 2 MiB, which would be cleared at
/// one touch. Under an interpreter three cells of 16 bytes.
pub(crate) const STEP: usize = if cfg!(miri) { 48 } else { 1 << 20 };

/// A block of so many bytes becomes a range when it grows. It is copied once, to pages that are
/// touched first: from 1 MiB on that took 300 µs, from 16 KiB what the machine's own interruptions take.
pub(crate) const THRESHOLD: usize = if cfg!(miri) { 256 } else { 16 << 10 };

/// A reserved range.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) cells: NonNull<u8>,
    pub(crate) indices: NonNull<u8>,
    /// The binary logarithm of its bytes.
    pub(crate) log: u8,
}

/// Sizes of a cell and an index.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) cell: usize,
    pub(crate) index: usize,
}

impl Sizes {
    /// How many cells, and as many indices, a range can have.
    pub(crate) fn most_slots(self, log: u8) -> usize {
        ((1 << log) - 2 * GRAIN) / (self.cell + self.index)
    }

    /// Bytes from the first cell to the first index: in one mapping, which blocks are not.
    #[cfg(all(
        feature = "os-memory",
        target_os = "linux",
        target_pointer_width = "64",
        not(miri)
    ))]
    fn indices_at(self, log: u8) -> usize {
        (self.most_slots(log) * self.cell).next_multiple_of(GRAIN)
    }

    /// Bytes that are open for so many cells, and for as many indices.
    pub(crate) fn opened(self, slots: usize) -> [usize; 2] {
        [self.cell, self.index].map(|size| (slots * size).next_multiple_of(GRAIN))
    }
}

/// The most ranges a process has. The system allows 65,530 mappings, of which a range has four, and
/// threads that cannot start where they are used up.
pub(crate) const MOST_RANGES: usize = 1024;

static RANGES: Count = Count::new(0);

/// Ranges that the process has.
pub(crate) fn count() -> usize {
    // Relaxed: a figure for people.
    RANGES.load(Ordering::Relaxed)
}

impl Range {
    /// Reserves a range of 2^`log` bytes; `None` if the system refuses, or there are as many as
    /// there may be.
    pub(crate) fn reserve(log: u8, sizes: Sizes) -> Option<Range> {
        // Relaxed: only the number matters.
        if RANGES.fetch_add(1, Ordering::Relaxed) >= MOST_RANGES {
            RANGES.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let range = backend::reserve(log, sizes);
        if range.is_none() {
            RANGES.fetch_sub(1, Ordering::Relaxed);
        }
        range
    }

    /// One range less: it is released, or its place is another thread's.
    fn uncount(self) {
        RANGES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Finds out what the first range of the process waits for.
pub(crate) fn ask_system() {
    backend::is_advised();
}

#[cfg(all(
    feature = "os-memory",
    target_os = "linux",
    target_pointer_width = "64",
    not(miri)
))]
mod backend {
    //! Ranges of the system: Linux with addresses of 64 bits.

    use core::ptr::NonNull;
    use std::sync::OnceLock;

    use rustix::io::Errno;
    use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
    use rustix::process::{Resource, getrlimit};

    use super::{GRAIN, Range, Sizes};
    use crate::error::AllocError;
    use crate::raw::pages::kernel_files::gives_middle_pages;
    use crate::raw::pages::part::{self, Part};
    use crate::raw::touch::touch;

    /// Ranges begin at tables of the processor, so that these are moved instead of their entries:
    /// 512 MiB are moved in 93 µs, and in 1,397 µs from other places.
    const fn align(log: u8) -> usize {
        if log > 30 { 1 << 30 } else { 2 << 20 }
    }

    /// Whether ranges are advised to have larger pages. The first call reads files, for 100 µs: it comes
    /// when a slab is built, and not in an insertion.
    pub(super) fn is_advised() -> bool {
        static IS_ADVISED: OnceLock<bool> = OnceLock::new();
        *IS_ADVISED.get_or_init(gives_middle_pages)
    }

    pub(super) fn reserve(log: u8, sizes: Sizes) -> Option<Range> {
        // Where addresses are limited, they are not there to be kept.
        if getrlimit(Resource::As).current.is_some() {
            return None;
        }
        let (bytes, align) = (1_usize << log, align(log));
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let mapped = part::map(bytes + align, ProtFlags::empty(), flags).ok()?;
        let skipped = mapped.addr().get().wrapping_neg() % align;
        // SAFETY: three parts of the mapping, which nothing uses; the indices lie within the middle
        // one.
        unsafe {
            Part::new(mapped, 0, skipped).unmap();
            Part::new(mapped, skipped + bytes, bytes + align).unmap();
            // Where the system gives pages between, they are one touch instead of many. It gives none
            // of 2 MiB to what is opened in steps.
            if is_advised() {
                let _ = Part::new(mapped, skipped, skipped + bytes).advise(Advice::LinuxHugepage);
            }
            Some(Range {
                cells: mapped.add(skipped),
                indices: mapped.add(skipped + sizes.indices_at(log)),
                log,
            })
        }
    }

    /// What is done with a range that is there; for interpreters the other backend does the same.
    impl Range {
        /// The bytes from `from` slots up to `to` become usable, or are given back.
        ///
        /// # Errors
        ///
        /// When the system refuses: nothing has changed. It refuses to give none back.
        ///
        /// # Safety
        ///
        /// So many slots are open, and both are at most what the range can have. What is given back
        /// is not used any more.
        pub(crate) unsafe fn resize(
            &mut self,
            sizes: Sizes,
            from: usize,
            to: usize,
        ) -> Result<(), AllocError> {
            debug_assert!(from.max(to) <= sizes.most_slots(self.log));
            let ([cells, indices], [to_cells, to_indices]) = (sizes.opened(from), sizes.opened(to));
            // SAFETY: bytes of the range, those that are closed not in use (precondition).
            unsafe {
                if to >= from {
                    open(self.cells, cells, to_cells)?;
                    open(self.indices, indices, to_indices)
                        .inspect_err(|_| close(self.cells, to_cells, cells))?;
                } else {
                    close(self.cells, cells, to_cells);
                    close(self.indices, indices, to_indices);
                }
            }
            Ok(())
        }

        /// Whether the system can move the pages of the cells of `opened` slots. It moves one
        /// mapping, and what is opened beside moved pages is another: a range moves by its pages
        /// once, and not after a fork.
        ///
        /// Growing it where it is, which is refused in any case, is refused for that reason if the
        /// cells are several mappings.
        ///
        /// # Safety
        ///
        /// So many slots are open.
        pub(crate) unsafe fn is_one_mapping(&self, sizes: Sizes, opened: usize) -> bool {
            let [bytes, _] = sizes.opened(opened);
            let start = self.cells.as_ptr().cast();
            // SAFETY: open (precondition). What follows is the range's own, so nothing changes.
            let grown = unsafe { mm::mremap(start, bytes, bytes + GRAIN, MremapFlags::empty()) };
            grown != Err(Errno::FAULT)
        }

        /// Moves the pages of the cells of `opened` slots to the start of a larger range, in which
        /// as many are open, and releases this one; the indices are gone. If the system refuses,
        /// nothing has changed here, and the other range must not be touched any more: its place may
        /// be another thread's.
        ///
        /// # Safety
        ///
        /// So many slots are open in both, and the other's cells are not in use.
        pub(crate) unsafe fn move_to(self, other: &Range, sizes: Sizes, opened: usize) -> bool {
            let [bytes, _] = sizes.opened(opened);
            let (from, to) = (self.cells.as_ptr().cast(), other.cells.as_ptr().cast());
            // SAFETY: so many bytes are open in both (`range-open`), and the other's are not in use
            // (precondition). `self` is given up (`range-owner`).
            let is_moved = unsafe {
                // Longer by a grain, for which there is room: of several mappings, should they be
                // that by now, the system would move some and then refuse.
                let is_moved =
                    mm::mremap_fixed(from, bytes, bytes + GRAIN, MremapFlags::MAYMOVE, to).is_ok();
                if is_moved {
                    // Not the moved part: its place may be another thread's by now.
                    Part::new(self.cells, bytes, 1 << self.log).unmap();
                }
                is_moved
            };
            // One of both is left, or, if the other is lost, it is not counted for ever.
            self.uncount();
            is_moved
        }

        /// # Safety
        ///
        /// So many slots are open, and the range is not used any more.
        pub(crate) unsafe fn release(self, _: Sizes, _: usize) {
            // SAFETY: `self` is given up (`range-owner`), and not used any more (precondition).
            unsafe { Part::new(self.cells, 0, 1 << self.log).unmap() };
            self.uncount();
        }
    }

    /// # Safety
    ///
    /// The bytes are of a range.
    unsafe fn open(start: NonNull<u8>, from: usize, to: usize) -> Result<(), AllocError> {
        if from == to {
            return Ok(());
        }
        // SAFETY: `from` and `to` are within a range (precondition), whose bytes are ours alone
        // (`range-owner`).
        let part = unsafe { Part::new(start, from, to) };
        part.protect(MprotectFlags::READ | MprotectFlags::WRITE)
            .map_err(|_| AllocError::OutOfMemory { bytes: to - from })
    }

    /// Gives the bytes from `to` up to `from` back.
    ///
    /// # Safety
    ///
    /// They are of a range, and not in use.
    unsafe fn close(start: NonNull<u8>, from: usize, to: usize) {
        if from == to {
            return;
        }
        // SAFETY: within the range, and not in use (precondition).
        let part = unsafe { Part::new(start, to, from) };
        // What the system refuses, because it has no record left for another mapping, stays open.
        let _ = part.give_back();
        let _ = part.protect(MprotectFlags::empty());
    }

    /// Populates the pages of bytes of a range, so that no access faults.
    ///
    /// # Safety
    ///
    /// They are open, and not in use.
    pub(crate) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let page = rustix::param::page_size();
        let skipped = start.addr().get() % page;
        // SAFETY: the pages of open bytes are open, too (precondition).
        unsafe {
            let (from, bytes) = (start.sub(skipped), bytes + skipped);
            let place = from.as_ptr().cast();
            // Before Linux 5.14 it is not there.
            if mm::madvise(place, bytes, Advice::LinuxPopulateWrite).is_err() {
                touch(start, 0, bytes - skipped);
            }
        }
    }
}

#[cfg(not(all(
    feature = "os-memory",
    target_os = "linux",
    target_pointer_width = "64",
    not(miri)
)))]
mod backend {
    //! Where there are no ranges of the system: for interpreters two blocks of exactly the bytes that are
    //! open, which move at each opening.

    use core::alloc::Layout;
    use core::ptr::NonNull;

    use super::{Range, SUPPORTED, Sizes};
    use crate::error::AllocError;
    use crate::raw::source::Source;

    const ALIGN: usize = 4096;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes.max(1), ALIGN).expect("few bytes")
    }

    /// For cells and indices.
    fn allocate([cells, indices]: [usize; 2]) -> Result<[NonNull<u8>; 2], AllocError> {
        let cells_at = Source::GLOBAL.allocate(layout(cells))?;
        match Source::GLOBAL.allocate(layout(indices)) {
            Ok(indices_at) => Ok([cells_at, indices_at]),
            Err(error) => {
                // SAFETY: allocated above, with this layout, and not used yet.
                unsafe { Source::GLOBAL.release(cells_at, layout(cells)) };
                Err(error)
            }
        }
    }

    pub(super) fn is_advised() -> bool {
        false
    }

    pub(super) fn reserve(log: u8, _: Sizes) -> Option<Range> {
        if !SUPPORTED {
            return None;
        }
        let [cells, indices] = allocate([0, 0]).ok()?;
        Some(Range {
            cells,
            indices,
            log,
        })
    }

    impl Range {
        /// Moves the range to blocks with other sizes.
        ///
        /// # Safety
        ///
        /// As for the other backend, like all of these.
        pub(crate) unsafe fn resize(
            &mut self,
            sizes: Sizes,
            from: usize,
            to: usize,
        ) -> Result<(), AllocError> {
            debug_assert!(from.max(to) <= sizes.most_slots(self.log));
            let ([cells, indices], [to_cells, to_indices]) = (sizes.opened(from), sizes.opened(to));
            let moved = allocate([to_cells, to_indices])?;
            // SAFETY: by `range-open` the range has blocks of these sizes, which are other blocks
            // than the new ones. They are not used after their release.
            unsafe {
                moved[0].copy_from_nonoverlapping(self.cells, cells.min(to_cells));
                moved[1].copy_from_nonoverlapping(self.indices, indices.min(to_indices));
                self.release_blocks(sizes, from);
            }
            [self.cells, self.indices] = moved;
            Ok(())
        }

        /// Not of every other range, so that both ways are gone.
        pub(crate) unsafe fn is_one_mapping(&self, _: Sizes, _: usize) -> bool {
            self.log % 2 == 0
        }

        pub(crate) unsafe fn move_to(self, other: &Range, sizes: Sizes, opened: usize) -> bool {
            let [cells, _] = sizes.opened(opened);
            // SAFETY: by `range-open` both have the bytes of so many cells, in blocks of their own.
            unsafe {
                other.cells.copy_from_nonoverlapping(self.cells, cells);
                self.release(sizes, opened);
            }
            true
        }

        pub(crate) unsafe fn release(self, sizes: Sizes, opened: usize) {
            // SAFETY: the range is not used any more (precondition).
            unsafe { self.release_blocks(sizes, opened) };
            self.uncount();
        }

        unsafe fn release_blocks(&self, sizes: Sizes, opened: usize) {
            let [cells, indices] = sizes.opened(opened);
            // SAFETY: by `range-open` blocks of these sizes, which are not used any more
            // (precondition).
            unsafe {
                Source::GLOBAL.release(self.cells, layout(cells));
                Source::GLOBAL.release(self.indices, layout(indices));
            }
        }
    }

    pub(crate) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
        // SAFETY: by `range-open` the bytes are writable; they are not in use (precondition).
        unsafe { start.write_bytes(0, bytes) };
    }
}
