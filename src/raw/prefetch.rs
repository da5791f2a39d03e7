//! A hint to the processor that some bytes will be accessed.

use core::ptr::NonNull;

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
