//! Parts of mapped memory: what the system does to whole pages that are not in use.

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};

use rustix::io::{Errno, Result};
use rustix::mm::{self, Advice, MapFlags, MlockFlags, MprotectFlags, ProtFlags};

/// Maps so many bytes where nothing is mapped; no one else knows them.
pub(super) fn map(bytes: usize, access: ProtFlags, flags: MapFlags) -> Result<NonNull<u8>> {
    assert!(!flags.contains(MapFlags::FIXED));
    // SAFETY: without `MAP_FIXED` the system maps where nothing is mapped.
    let start = unsafe { mm::mmap_anonymous(null_mut(), bytes, access, flags)? };
    NonNull::new(start.cast()).ok_or(Errno::NOMEM)
}

/// Whole pages of a mapping of ours.
///
/// # Invariants
///
/// * `part-unused`: the pages are mapped, and nothing in them is in use, as long as this is used.
pub(super) struct Part {
    start: NonNull<u8>,
    bytes: usize,
}

impl Part {
    /// The pages with the bytes from `from` up to `to`, counted from `start`.
    ///
    /// # Safety
    ///
    /// They are whole pages of one mapping of ours, and `part-unused` holds. `start` has the
    /// provenance of the mapping.
    pub(super) unsafe fn new(start: NonNull<u8>, from: usize, to: usize) -> Self {
        Part {
            // SAFETY: the bytes up to `to` are those of one mapping (precondition).
            start: unsafe { start.add(from) },
            bytes: to - from,
        }
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn place(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn protect(&self, access: MprotectFlags) -> Result<()> {
        // SAFETY: mapped, and nothing in them is accessed (`part-unused`).
        unsafe { mm::mprotect(self.place(), self.bytes, access) }
    }

    pub(super) fn advise(&self, advice: Advice) -> Result<()> {
        // SAFETY: mapped, and nothing in them is lost that is used (`part-unused`).
        unsafe { mm::madvise(self.place(), self.bytes, advice) }
    }

    /// Locks the pages: now if they are populated, and else when they are.
    pub(super) fn lock(&self, populated: bool) -> Result<()> {
        // SAFETY: mapped (`part-unused`); nothing in them changes.
        unsafe {
            match populated {
                true => mm::mlock(self.place(), self.bytes),
                false => mm::mlock_with(self.place(), self.bytes, MlockFlags::ONFAULT),
            }
        }
    }

    /// Gives the pages back to the system, which zeroes them when they are used again.
    pub(super) fn give_back(&self) -> Result<()> {
        self.advise(Advice::LinuxDontNeed).or_else(|_| {
            // Locked, perhaps.
            // SAFETY: mapped (`part-unused`); nothing in them changes.
            let _ = unsafe { mm::munlock(self.place(), self.bytes) };
            self.advise(Advice::LinuxDontNeed)
        })
    }

    /// Gives up the addresses. It fails only where the system cannot split a mapping: then the
    /// addresses are lost, and nothing else.
    pub(super) fn unmap(self) {
        if self.bytes > 0 {
            // SAFETY: nothing in them is in use (`part-unused`).
            let _ = unsafe { mm::munmap(self.place(), self.bytes) };
        }
    }
}
