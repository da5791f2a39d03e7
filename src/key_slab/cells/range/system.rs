//! Ranges of the system: Linux with addresses of 64 bits.

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};

use super::layout::{GRAIN, Range, Sizes};
use crate::error::AllocError;
use crate::raw::pages::kernel_files::gives_middle_pages;
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
    // SAFETY: a new mapping.
    let mapped =
        unsafe { mm::mmap_anonymous(null_mut(), bytes + align, ProtFlags::empty(), flags).ok()? };
    let skipped = mapped.addr().wrapping_neg() % align;
    let start = NonNull::new(mapped.cast::<u8>().wrapping_add(skipped))?;
    // SAFETY: the ends of the mapping, which nothing uses; the indices lie within it.
    unsafe {
        unmap(start.sub(skipped), skipped);
        unmap(start.add(bytes), align - skipped);
        // Where the system gives pages between, they are one touch instead of many. It gives none
        // of 2 MiB to what is opened in steps.
        if is_advised() {
            let _ = mm::madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage);
        }
        let indices = start.add(sizes.indices_at(log));
        Some(Range {
            cells: start,
            indices,
            log,
        })
    }
}

/// # Safety
///
/// As for [`Range::resize`].
pub(super) unsafe fn resize(
    range: &mut Range,
    sizes: Sizes,
    from: usize,
    to: usize,
) -> Result<(), AllocError> {
    let ([cells, indices], [to_cells, to_indices]) = (sizes.opened(from), sizes.opened(to));
    // SAFETY: bytes of the range, those that are closed not in use (precondition).
    unsafe {
        if to >= from {
            open(range.cells, cells, to_cells)?;
            if let Err(error) = open(range.indices, indices, to_indices) {
                close(range.cells, to_cells, cells);
                return Err(error);
            }
        } else {
            close(range.cells, cells, to_cells);
            close(range.indices, indices, to_indices);
        }
    }
    Ok(())
}

/// # Safety
///
/// The bytes are of a range.
unsafe fn open(start: NonNull<u8>, from: usize, to: usize) -> Result<(), AllocError> {
    if from == to {
        return Ok(());
    }
    // SAFETY: within the range (precondition).
    let opened = unsafe {
        let place = start.add(from).as_ptr().cast::<c_void>();
        mm::mprotect(place, to - from, MprotectFlags::READ | MprotectFlags::WRITE)
    };
    opened.map_err(|_| AllocError::OutOfMemory { bytes: to - from })
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
    // SAFETY: within the range, and not in use (precondition). What the system refuses, because it
    // has no record left for another mapping, stays open.
    unsafe {
        let place = start.add(to).as_ptr().cast::<c_void>();
        if mm::madvise(place, from - to, Advice::LinuxDontNeed).is_err() {
            // Locked, perhaps.
            let _ = mm::munlock(place, from - to);
            let _ = mm::madvise(place, from - to, Advice::LinuxDontNeed);
        }
        let _ = mm::mprotect(place, from - to, MprotectFlags::empty());
    }
}

/// Whether the cells of so many slots are one mapping: growing it where it is, which is refused in
/// any case, is refused for that reason.
///
/// # Safety
///
/// So many are open.
pub(super) unsafe fn is_one_mapping(range: &Range, sizes: Sizes, opened: usize) -> bool {
    let [bytes, _] = sizes.opened(opened);
    let start = range.cells.as_ptr().cast();
    // SAFETY: open (precondition). What follows is the range's own, so nothing changes.
    let grown = unsafe { mm::mremap(start, bytes, bytes + GRAIN, MremapFlags::empty()) };
    grown != Err(Errno::FAULT)
}

/// # Safety
///
/// As for [`Range::move_to`].
pub(super) unsafe fn move_to(range: Range, other: &Range, sizes: Sizes, opened: usize) -> bool {
    let [bytes, _] = sizes.opened(opened);
    let (from, to) = (range.cells.as_ptr().cast(), other.cells.as_ptr().cast());
    // SAFETY: so many bytes are open in both, and the other's are not in use (precondition).
    unsafe {
        // Longer by a grain, for which there is room: of several mappings, should they be that by
        // now, the system would move some and then refuse.
        if mm::mremap_fixed(from, bytes, bytes + GRAIN, MremapFlags::MAYMOVE, to).is_err() {
            return false;
        }
        // Not the moved part: its place may be another thread's by now.
        unmap(range.cells.add(bytes), (1 << range.log) - bytes);
    }
    true
}

/// # Safety
///
/// As for [`Range::release`].
pub(super) unsafe fn release(range: Range, _: Sizes, _: usize) {
    // SAFETY: the range, which is not used any more (precondition).
    unsafe { unmap(range.cells, 1 << range.log) };
}

/// # Safety
///
/// Mapped, and not in use.
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's (precondition). A refusal leaves addresses reserved.
        let _ = unsafe { mm::munmap(start.as_ptr().cast(), bytes) };
    }
}

/// # Safety
///
/// As for [`super::populate`].
pub(super) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
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
