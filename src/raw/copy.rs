//! Copies of a length that the compiler does not know: short ones in line.

/// What [`copy_short`] copies at most.
pub(crate) const SHORT: usize = 32;

/// Copies the first `N` bytes and the last, of `N..=2 * N`. As two copies, and not as values
/// read and written, which would go through the stack.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn both_ends<const N: usize>(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: both ends are within the bytes, which do not overlap (precondition).
    unsafe {
        to.copy_from_nonoverlapping(from, N);
        to.add(bytes - N)
            .copy_from_nonoverlapping(from.add(bytes - N), N);
    }
}

/// Copies at most [`SHORT`] bytes, initialised or not, in line, by loads and stores
/// that overlap: a call of `memcpy` takes longer than those.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy_short(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: each part is within the bytes, which do not overlap (precondition).
    unsafe {
        if bytes > 16 {
            both_ends::<16>(from, to, bytes);
        } else if bytes >= 8 {
            both_ends::<8>(from, to, bytes);
        } else if bytes >= 4 {
            both_ends::<4>(from, to, bytes);
        } else if bytes >= 2 {
            both_ends::<2>(from, to, bytes);
        } else if bytes == 1 {
            to.copy_from_nonoverlapping(from, 1);
        }
    }
}

/// Copies more than [`SHORT`] bytes, initialised or not: up to 64 in line.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: each part is within the bytes, which do not overlap (precondition).
    unsafe {
        if bytes <= 48 {
            // Three stores, where the two halves of 32 bytes would take four that overlap.
            to.copy_from_nonoverlapping(from, 32);
            to.add(bytes - 16)
                .copy_from_nonoverlapping(from.add(bytes - 16), 16);
        } else if bytes <= 64 {
            both_ends::<32>(from, to, bytes);
        } else {
            to.copy_from_nonoverlapping(from, bytes);
        }
    }
}

/// Copies any number of bytes, initialised or not: up to 64 in line.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: so many bytes are readable and writable, and do not overlap (precondition).
    unsafe {
        if bytes > SHORT {
            copy_long(from, to, bytes);
        } else {
            copy_short(from, to, bytes);
        }
    }
}
