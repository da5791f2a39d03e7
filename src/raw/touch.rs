//! Touching memory, so that no later access to it faults.

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
    // SAFETY: the precondition is the same.
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
