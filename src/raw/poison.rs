//! Poisoning: debug builds overwrite the bytes of a value when its memory becomes free.
//!
//! A program that reads freed memory, by a pointer that it kept too long, then finds
//! [`PATTERN`] and not a value that looks right. Builds without `debug_assertions` do nothing. Under
//! Miri the bytes become uninitialised, so it reports the read: otherwise it would not, because the
//! memory of a free cell is still allocated.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// Each byte of a poisoned value. No `bool`, no `char`, and on 64-bit targets no address.
pub(crate) const PATTERN: u8 = 0xDE;

/// Whether memory is poisoned.
pub(crate) const ENABLED: bool = cfg!(debug_assertions);

/// Poisons these bytes.
///
/// # Safety
///
/// They are allocated and the caller's alone, and nothing reads them before it writes to them.
#[inline(always)]
pub(crate) unsafe fn poison_bytes(start: NonNull<u8>, bytes: usize) {
    if !ENABLED {
        return;
    }
    // SAFETY: the preconditions are those of the writes.
    unsafe {
        if cfg!(miri) {
            uninitialise(start, bytes);
        } else {
            start.write_bytes(PATTERN, bytes);
        }
    }
}

/// Makes these bytes uninitialised.
///
/// # Safety
///
/// As for [`poison_bytes`].
unsafe fn uninitialise(start: NonNull<u8>, bytes: usize) {
    /// Writes as many parts of `N` bytes as there are after the first `done`, and returns how many
    /// bytes are done then.
    ///
    /// # Safety
    ///
    /// As for [`poison_bytes`]; `done` of the bytes, or fewer.
    unsafe fn write_parts<const N: usize>(
        start: NonNull<u8>,
        mut done: usize,
        bytes: usize,
    ) -> usize {
        while bytes - done >= N {
            let part = start.cast::<MaybeUninit<[u8; N]>>();
            // SAFETY: `done + N <= bytes`, so within bytes that nothing else uses (precondition).
            unsafe { part.byte_add(done).write(MaybeUninit::uninit()) };
            done += N;
        }
        done
    }

    // As few writes as possible: each takes an interpreter long.
    // SAFETY: the bytes are writable, and nothing else uses them (precondition).
    unsafe {
        let mut done = write_parts::<4096>(start, 0, bytes);
        done = write_parts::<64>(start, done, bytes);
        done = write_parts::<8>(start, done, bytes);
        write_parts::<1>(start, done, bytes);
    }
}

/// Poisons the place of a value that was dropped or moved out.
///
/// # Safety
///
/// As for [`poison_bytes`].
#[inline(always)]
pub(crate) unsafe fn poison<T>(place: NonNull<T>) {
    // SAFETY: the place of a value that is gone has so many bytes, which nothing uses
    // (precondition).
    unsafe { poison_bytes(place.cast(), size_of::<T>()) };
}

/// Moves a value out, and poisons its place.
///
/// # Safety
///
/// The place holds a value, which is moved out once; as for [`poison_bytes`].
#[inline(always)]
pub(crate) unsafe fn move_out<T>(place: NonNull<T>) -> T {
    // SAFETY: the preconditions are those of the read; the value is gone then.
    unsafe {
        if ENABLED {
            let value = place.read();
            poison(place);
            return value;
        }
        // The last expression, so that a value is copied once, straight to its destination.
        place.read()
    }
}

/// Whether these bytes were poisoned.
///
/// # Safety
///
/// They are initialised, and nothing writes to them.
#[cfg(all(test, debug_assertions, not(miri)))]
pub(crate) unsafe fn is_poisoned(start: *const u8, bytes: usize) -> bool {
    // SAFETY: the bytes are initialised, and nothing writes to them (precondition).
    let found = unsafe { core::slice::from_raw_parts(start, bytes) };
    found.iter().all(|&byte| byte == PATTERN)
}
