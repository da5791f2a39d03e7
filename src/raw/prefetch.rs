//! A hint to the processor that an address will be accessed.

/// Has the processor load the line at `place` into its caches, if it likes to. It
/// accesses nothing, and faults at no address. Does nothing where the crate knows
/// no instruction for it, and under Miri.
#[inline(always)]
pub(crate) fn prefetch(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE is in every x86_64 processor; the instruction accepts any address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: the instruction accepts any address, and changes nothing but caches.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{place}]",
            place = in(reg) place,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = place;
}
