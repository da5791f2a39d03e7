//! Touching memory, so that no later access to it faults.

use core::ptr::NonNull;

/// Smallest page of every platform with pages that the crate runs on: touching
/// at this step touches every page, at most more than once.
pub(crate) const PAGE: usize = 4096;

/// Writes to every page between `from` and `to`.
///
/// # Safety
///
/// Those bytes are one block's, and not in use.
pub(crate) unsafe fn touch(start: NonNull<u8>, from: usize, to: usize) {
    let last = to.checked_sub(1).filter(|&last| last >= from);
    for offset in (from..to).step_by(PAGE).chain(last) {
        // SAFETY: within the block. Volatile: the byte is never read, and the
        // write must happen.
        unsafe { start.add(offset).write_volatile(0) };
    }
}
