//! `Region`: one block of memory that containers share, for memory that others must know too.
//!
//! The program tells the kernel or a device the start and the length once. Then an offset identifies
//! each address in the block, whichever container uses it.
//!
//! # Invariants
//!
//! * `free-parts`: `parts` are in ascending order, not empty, do not overlap or touch each other, and
//!   lie in the block. What is in none of them was allocated, and not released. There are at most as
//!   many as allocated blocks and one more, and `parts` has room for that many.
//! * `unlocked-calls`: the global allocator is not called under the lock: it may use a container of
//!   this region.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, and the parts are few and not on a hot path"
)]

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{MemorySource, Pages, Report};
use crate::error::{AllocError, BuildError};
use crate::raw::memory::Block;

/// A block of memory of a fixed size from which containers take all of their memory, so that one
/// address and one length describe it to the kernel or to a device.
///
/// Examples are the fixed buffers of io_uring, the frames of AF_XDP, and memory that a device
/// accesses. Register [`start`](Self::start) and [`len`](Self::len) once. An
/// [offset](Self::offset_of) then identifies a buffer in the region. Each container keeps the
/// region until its last handle is dropped.
///
/// The memory is allocated and touched at construction. A container that allocates takes the first
/// free part that is large enough, under a lock, in O(n) for n free parts. Containers allocate
/// chunks, not single values, so this is rare. If no part is large enough, the allocation fails
/// with [`AllocError::OutOfMemory`], as if the allocator had refused. Most memory is aligned to a cache
/// line, that of buffers as [`bytes`](crate::bytes#what-it-costs) says, but the memory of a
/// [`Pool`](crate::pool::Pool) to 2 MiB or more: a region has room for at most one pool in each
/// 2 MiB.
///
/// The program `examples/registered` reads a file through buffers of a byte arena that were
/// registered with io_uring.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use flatslab::bytes::ByteArena;
/// use flatslab::memory::{Pages, Region};
///
/// let region = Arc::new(Region::try_new(1 << 20, Pages::new())?);
/// // Register region.start() and region.len() here.
/// let arena = ByteArena::builder().chunk_bytes(64 << 10).pages(region.pages()).try_build()?;
/// let mut buf = arena.alloc(1500);
/// let offset = region.offset_of(buf.spare_capacity_mut().as_ptr()).unwrap();
/// assert!(offset + 1500 <= region.len());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
pub struct Region {
    block: Block,
    parts: Mutex<Parts>,
}

/// The free parts of the block, in bytes from its start.
struct Parts {
    free: Vec<Range<usize>>,
    /// Number of allocated blocks.
    allocated: usize,
}

// SAFETY: the block is only read for its address and its length; its bytes belong to those who
// allocated them.
unsafe impl Send for Region {}
// SAFETY: as above; the parts are behind a lock.
unsafe impl Sync for Region {}

impl Region {
    /// The alignment of the start: a huge page, or the length rounded up to a power of two if that
    /// is less, but at least a page.
    const fn align(bytes: usize) -> usize {
        const PAGE: usize = 4096;
        const HUGE: usize = 2 << 20;
        if bytes >= HUGE {
            HUGE
        } else if bytes <= PAGE {
            PAGE
        } else {
            bytes.next_power_of_two()
        }
    }

    /// Allocates a region of `bytes` bytes, and touches its memory.
    ///
    /// The start is aligned to 2 MiB, or, if there are fewer bytes, to the next power of two, and at
    /// least to 4 KiB. Kernels that register whole pages need a multiple of 4096 bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many bytes, if the allocator or the system refuses them, or
    /// if an option of `pages` is required and unavailable.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Lock, Pages, Region};
    ///
    /// let pages = Pages::new().huge(HugePages::Try).lock(Lock::Try);
    /// let region = Region::try_new(4 << 20, pages)?;
    /// assert_eq!(region.len(), 4 << 20);
    /// assert_eq!(region.start().addr().get() % (2 << 20), 0);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub fn try_new(bytes: usize, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let layout = Layout::from_size_align(bytes, Self::align(bytes)).map_err(|_| {
            AllocError::TooManyBytes {
                slots: bytes,
                slot_bytes: 1,
            }
        })?;
        let block = Block::allocate(layout, &source)?;
        block.touch();
        let mut free = Vec::new();
        free.try_reserve(1)
            .map_err(|_| AllocError::OutOfMemory { bytes })?;
        if bytes > 0 {
            free.push(0..bytes);
        }
        let parts = Parts { free, allocated: 0 };
        Ok(Region {
            block,
            parts: Mutex::new(parts),
        })
    }

    /// Returns the options for the builder of a container, which then takes its memory from this
    /// region.
    ///
    /// The container keeps the region until its own memory is released.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::memory::{Pages, Region};
    /// use flatslab::pool::Pool;
    ///
    /// let region = Arc::new(Region::try_new(4 << 20, Pages::new())?);
    /// let pool = Pool::<[u8; 2048]>::builder().capacity(100).pages(region.pages()).try_build()?;
    /// let frame = pool.alloc([0; 2048]);
    /// assert!(region.offset_of(&raw const *frame).is_some());
    /// # drop(frame);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub fn pages(self: &Arc<Self>) -> Pages {
        Pages::from_source(self.clone())
    }

    /// Returns the address of the first byte. It does not change.
    ///
    /// Reading and writing through it is only sound for bytes that nothing else accesses at the same
    /// time, for example the bytes of a `BufMut` that the program keeps until the kernel has filled
    /// it. Bytes that no container has allocated may be uninitialised, and another thread may
    /// allocate them at any time.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// let region = Region::try_new(8192, Pages::new())?;
    /// assert_eq!(region.start().addr().get() % 8192, 0);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.block.start()
    }

    /// Returns the number of bytes, free and allocated.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// assert_eq!(Region::try_new(8192, Pages::new())?.len(), 8192);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.block.layout().size()
    }

    /// Returns `true` if [`len`](Self::len) is 0.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// assert!(Region::try_new(0, Pages::new())?.is_empty());
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of an address in bytes, or `None` if it is not in the
    /// region. O(1).
    ///
    /// The pointer may be dangling.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// let region = Region::try_new(8192, Pages::new())?;
    /// assert_eq!(region.offset_of(region.start().as_ptr()), Some(0));
    /// assert_eq!(region.offset_of(&7_u8), None);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn offset_of<T>(&self, address: *const T) -> Option<usize> {
        let offset = address.addr().wrapping_sub(self.start().addr().get());
        (offset < self.len()).then_some(offset)
    }

    /// Returns the number of free bytes. O(n) for n free parts; takes the lock.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// let region = Region::try_new(8192, Pages::new())?;
    /// assert_eq!(region.free_bytes(), 8192);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.parts().free.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns a report on the memory of the region, and which of the requested page options were
    /// obtained.
    ///
    /// ```
    /// use flatslab::memory::{Pages, Region};
    ///
    /// assert_eq!(Region::try_new(8192, Pages::new())?.memory().bytes(), 8192);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.len(), self.block.source())
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        // Nothing panics under the lock.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the free parts, with room for those that there may be after an allocation
    /// (`free-parts`), so that none is lost when one is released.
    fn parts_with_room(&self) -> Result<MutexGuard<'_, Parts>, AllocError> {
        loop {
            let parts = self.parts();
            let room = parts.allocated + 2;
            if room <= parts.free.capacity() {
                return Ok(parts);
            }
            drop(parts);
            let mut larger = Vec::new();
            larger
                .try_reserve(2 * room)
                .map_err(|_| AllocError::OutOfMemory {
                    bytes: 2 * room * size_of::<Range<usize>>(),
                })?;
            // The allocator may have used the region, so its parts are read now.
            let mut parts = self.parts();
            if larger.capacity() > parts.free.capacity() {
                larger.append(&mut parts.free);
                core::mem::swap(&mut parts.free, &mut larger);
            }
            // Before the smaller list is freed (`unlocked-calls`).
            drop(parts);
        }
    }
}

impl Parts {
    /// Takes `layout.size()` bytes out of the first part in which they fit, and returns where they
    /// start. `base` is the address of the block. There is room for one part more (`free-parts`).
    fn take(&mut self, layout: Layout, base: usize) -> Option<usize> {
        // No bytes would be released as an empty part.
        if layout.size() == 0 {
            return None;
        }
        let fit = |part: &Range<usize>| {
            let start = (base + part.start).checked_next_multiple_of(layout.align())? - base;
            let end = start.checked_add(layout.size())?;
            (end <= part.end).then_some(start..end)
        };
        let (index, taken) =
            (self.free.iter().enumerate()).find_map(|(index, part)| Some((index, fit(part)?)))?;
        let part = self.free[index].clone();
        let rest = taken.end..part.end;
        match (part.start < taken.start, rest.is_empty()) {
            (true, true) => self.free[index].end = taken.start,
            (true, false) => {
                self.free[index].end = taken.start;
                self.free.insert(index + 1, rest);
            }
            (false, false) => self.free[index] = rest,
            (false, true) => drop(self.free.remove(index)),
        }
        self.allocated += 1;
        Some(taken.start)
    }

    /// Makes bytes that were taken free, and joins them with the free parts that they touch.
    fn give_back(&mut self, part: Range<usize>) {
        let next = self.free.partition_point(|free| free.start < part.start);
        let joins_last = next > 0 && self.free[next - 1].end == part.start;
        let joins_next = next < self.free.len() && self.free[next].start == part.end;
        match (joins_last, joins_next) {
            (true, true) => self.free[next - 1].end = self.free.remove(next).end,
            (true, false) => self.free[next - 1].end = part.end,
            (false, true) => self.free[next].start = part.start,
            // There is room (`free-parts`).
            (false, false) => self.free.insert(next, part),
        }
        self.allocated -= 1;
    }
}

// SAFETY: by `free-parts` what is taken is in the block, and in no other allocation until it is
// released. Its start is aligned by its address. The block is a block of another source, which does
// not include the last byte of the address space, and lives as long as the region, which stays as
// long as memory of it is in use. `release` calls no user code and does not panic.
unsafe impl MemorySource for Region {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let base = self.start().addr().get();
        let taken = self.parts_with_room()?.take(layout, base);
        let offset = taken.ok_or(AllocError::OutOfMemory {
            bytes: layout.size(),
        })?;
        // SAFETY: within the block (`free-parts`).
        Ok(unsafe { self.start().add(offset) })
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        let offset = start.addr().get() - self.start().addr().get();
        self.parts().give_back(offset..offset + layout.size());
    }
}

/// Prints the number of bytes, and of free bytes.
impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("len", &self.len())
            .field("free_bytes", &self.free_bytes())
            .finish_non_exhaustive()
    }
}
