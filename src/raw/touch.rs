//! Memory that is brought in before it is used: pages, which are touched so that no later access
//! faults, and lines of the cache, which are prefetched.

use core::ptr::NonNull;

/// Smallest page of every platform with pages that the crate runs on: touching
/// at this step touches every page, at most more than once.
pub(crate) const PAGE: usize = 4096;

/// From so many bytes on one call of the system provides the pages. A page takes 3,000 ticks by
/// the call and 3,400 by a write of its own, and the call itself some hundred.
#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
const BY_ONE_CALL: usize = 8 * PAGE;

/// Has the system provide every page between `from` and `to`: by one call, where it has one, and
/// else by a write to each. The content of the bytes is lost.
///
/// # Safety
///
/// Those bytes are one block's, and not in use.
pub(crate) unsafe fn touch(start: NonNull<u8>, from: usize, to: usize) {
    #[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
    if to.saturating_sub(from) >= BY_ONE_CALL {
        use rustix::mm::{Advice, madvise};

        let address = start.addr().get();
        let first = (address + from).next_multiple_of(PAGE) - address;
        let end = (address + to) / PAGE * PAGE - address;
        // SAFETY: whole pages within the block; the call changes nothing that is written there.
        // With larger pages, and before Linux 5.14, it is refused.
        let provided = unsafe {
            let place = start.add(first).as_ptr().cast();
            madvise(place, end - first, Advice::LinuxPopulateWrite)
        };
        if provided.is_ok() {
            // SAFETY: what lies before and behind the whole pages is within the block too.
            unsafe {
                write_to_each(start, from, first);
                write_to_each(start, end, to);
            }
            return;
        }
    }
    // SAFETY: the bytes are within a block, and nothing is written there yet (precondition).
    unsafe { write_to_each(start, from, to) };
}

/// Writes to every page between `from` and `to`.
///
/// # Safety
///
/// Those bytes are one block's, and not in use.
pub(crate) unsafe fn write_to_each(start: NonNull<u8>, from: usize, to: usize) {
    let last = to.checked_sub(1).filter(|&last| last >= from);
    for offset in (from..to).step_by(PAGE).chain(last) {
        // SAFETY: within the block. Volatile: the byte is never read, and the
        // write must happen.
        unsafe { start.add(offset).write_volatile(0) };
    }
}

/// Bytes of a cache line of the processors that the hint is for.
pub(crate) const LINE: usize = 64;

/// Prefetches the first bytes of a value of `size` bytes: the line in which they begin,
/// and the next if the value may reach it. A cell of 72 bytes usually lies in two
/// lines, and loading only one of them gains half as much (benches/ATTEMPTS.md, "Pages").
#[inline(always)]
pub(crate) fn prefetch(place: NonNull<u8>, size: usize) {
    let place = place.as_ptr();
    prefetch_line(place);
    // Smaller cells lie in one line as a rule, or their neighbours were loaded.
    if size > LINE / 2 {
        prefetch_line(place.wrapping_add(LINE.min(size - 1)));
    }
}

/// Prefetches so many lines from there on.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn prefetch_lines(start: NonNull<u8>, lines: usize) {
    for line in 0..lines {
        prefetch_line(start.as_ptr().wrapping_add(line * LINE));
    }
}

/// Prefetches the lines of so many bytes from there on, to be written: other cores give them up.
/// A core that stores to a line which another one has waits for it, and the stores after that
/// wait, too.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn prefetch_to_write(start: NonNull<u8>, bytes: usize) {
    for at in (0..bytes).step_by(LINE) {
        prefetch_line_to_write(start.as_ptr().wrapping_add(at));
    }
}

/// A hint for one line: by that instruction of x86_64, or of aarch64.
macro_rules! hint {
    ($(#[$attribute:meta])* $name:ident, $x86_64:literal, $aarch64:literal) => {
        $(#[$attribute])*
        ///
        /// Accesses nothing, and faults at no address. Does nothing where the crate knows no
        /// instruction for it, and under Miri.
        #[inline(always)]
        fn $name(place: *const u8) {
            #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
            // SAFETY: the instruction accepts any address, and changes nothing but caches. A
            // processor that does not have it does nothing.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                core::arch::asm!(
                    concat!($x86_64, " [{place}]"),
                    place = in(reg) place,
                    options(nostack, preserves_flags, readonly)
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::asm!(
                    concat!("prfm ", $aarch64, ", [{place}]"),
                    place = in(reg) place,
                    options(nostack, preserves_flags, readonly)
                );
            }
            #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
            let _ = place;
        }
    };
}

hint! {
    /// The line will be read.
    prefetch_line, "prefetcht0", "pldl1keep"
}
hint! {
    /// The line will be written: other cores give it up.
    #[cfg(feature = "alloc")]
    prefetch_line_to_write, "prefetchw", "pstl1keep"
}
