//! Mapped memory: how it is mapped, made accessible and populated as was asked
//! for, and given back.
//!
//! # Invariants
//!
//! * `mapped-bytes`: a mapping's bytes are mapped from `start` on until it is unmapped; up to
//!   `ready` they are accessible, and populated unless the mapping is reserved.

use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MlockFlags, MprotectFlags, ProtFlags};

use super::kernel_files::PageSizes;
use super::node;
use super::options::{HugePages, Lock, Node, PageOption, Reason, Request, Shortfalls};
use super::region::Region;
use crate::error::AllocError;
use crate::raw::touch::write_to_each;

/// What was asked for, and the sizes of the system's pages.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) sizes: PageSizes,
}

/// Mapped memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(super) region: Region,
    pub(in crate::raw) start: NonNull<u8>,
    pub(in crate::raw) bytes: usize,
    /// Up to where the bytes are accessible and populated, a multiple of `page`.
    pub(in crate::raw) ready: usize,
    /// Its huge page or its page, in bytes.
    page: usize,
    /// Whether it lies in huge pages that were set aside.
    pub(in crate::raw) explicit: bool,
    /// Whether its bytes become accessible only when they are committed.
    pub(super) reserved: bool,
}

impl Asked {
    /// Maps pages of the usual size, or such as become transparent huge ones: at
    /// least `bytes`, with the alignment of `layout`.
    pub(super) fn map(
        &self,
        shortfalls: &mut Shortfalls,
        bytes: usize,
        layout: Layout,
        reserved: bool,
    ) -> Result<Mapping, AllocError> {
        let huge = self.request.huge != HugePages::No;
        let page = match self.sizes.transparent {
            Some(size) if huge => size,
            _ => self.sizes.usual,
        };
        if huge {
            match self.sizes.transparent {
                None => shortfalls.note(PageOption::TransparentHugePages, Reason::Unsupported),
                Some(_) if self.sizes.transparent_off => {
                    shortfalls.note(PageOption::TransparentHugePages, Reason::SwitchedOff);
                }
                Some(_) => {}
            }
        }
        let align = page.max(layout.align());
        let usual = self.sizes.usual;
        let bytes = bytes
            .checked_next_multiple_of(page)
            .ok_or(out_of_memory(layout))?;
        // A page that is never accessible on either side keeps the system from
        // joining the mapping to its neighbours, of which it reports and unmaps
        // only all together.
        let whole = (bytes.checked_add(2 * usual + align)).ok_or(out_of_memory(layout))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, which no one else knows; then parts of it that
        // are not used.
        let start = unsafe {
            let outer = mm::mmap_anonymous(null_mut(), whole, ProtFlags::empty(), flags)
                .map_err(|_| out_of_memory(layout))?;
            let address = (outer.addr() + usual).next_multiple_of(align);
            let head = address - usual - outer.addr();
            let tail = whole - head - bytes - 2 * usual;
            unmap_part(outer, head);
            unmap_part(outer.byte_add(whole - tail), tail);
            outer.byte_add(head + usual)
        };
        // SAFETY: mapped above, and used through this alone.
        let mapping = unsafe { Mapping::new(start, bytes, page) };
        Ok(Mapping {
            reserved,
            ..mapping
        })
    }

    /// Maps huge pages that were set aside.
    pub(super) fn map_explicit(&self, bytes: usize, layout: Layout) -> Result<Mapping, Reason> {
        let page = self.sizes.explicit.ok_or(Reason::Unsupported)?;
        if layout.align() > page {
            return Err(Reason::Unsupported);
        }
        let bytes = (bytes.checked_next_multiple_of(page)).ok_or_else(|| reason(Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which no one else knows.
        let start = unsafe { mm::mmap_anonymous(null_mut(), bytes, protection, flags) };
        // SAFETY: mapped above, and used through this alone.
        let mapping = unsafe { Mapping::new(start.map_err(reason)?, bytes, page) };
        Ok(Mapping {
            explicit: true,
            ..mapping
        })
    }

    /// Makes the bytes of a mapping up to `to` accessible, as it was asked for, and
    /// populates them if `populate`.
    pub(super) fn open(
        &self,
        shortfalls: &mut Shortfalls,
        mapping: &mut Mapping,
        to: usize,
        populate: bool,
    ) -> Result<(), AllocError> {
        let to = to.next_multiple_of(mapping.page).min(mapping.bytes);
        if to <= mapping.ready {
            return Ok(());
        }
        let bytes = to - mapping.ready;
        // SAFETY: `ready` is below the bytes of the mapping (tested above), which are mapped
        // (`mapped-bytes`).
        let place = unsafe { mapping.start.add(mapping.ready) }.as_ptr().cast();
        // SAFETY: whole pages of the mapping, which are not in use yet.
        let result = unsafe {
            (self.set_up(shortfalls, mapping, place, bytes))
                .and_then(|()| self.fill(mapping, place, bytes, populate))
                .and_then(|()| self.lock_pages(shortfalls, place, bytes, populate))
        };
        if result.is_ok() {
            mapping.ready = to;
        } else {
            // Undo the attempt.
            // SAFETY: whole pages of the mapping, which are not in use yet.
            unsafe {
                let _ = mm::munlock(place, bytes);
                let _ = mm::madvise(place, bytes, Advice::LinuxDontNeed);
                if !mapping.explicit {
                    let _ = mm::mprotect(place, bytes, MprotectFlags::empty());
                }
            }
        }
        result
    }

    /// Access, kind of pages, and node.
    ///
    /// # Safety
    ///
    /// Whole pages of the mapping, which are not in use.
    unsafe fn set_up(
        &self,
        shortfalls: &mut Shortfalls,
        mapping: &Mapping,
        place: *mut c_void,
        bytes: usize,
    ) -> Result<(), AllocError> {
        if !mapping.explicit {
            let access = MprotectFlags::READ | MprotectFlags::WRITE;
            // SAFETY: whole pages of the mapping, not in use (precondition).
            unsafe { mm::mprotect(place, bytes, access) }
                .map_err(|_| AllocError::OutOfMemory { bytes })?;
            if mapping.page > self.sizes.usual {
                // SAFETY: whole pages of the mapping, not in use (precondition).
                if let Err(error) = unsafe { mm::madvise(place, bytes, Advice::LinuxHugepage) } {
                    shortfalls.note(PageOption::TransparentHugePages, reason(error));
                }
            }
        }
        match self.request.node {
            Node::Any => {}
            Node::Try(node) => {
                // SAFETY: whole pages of the mapping, not in use (precondition).
                if let Err(reason) = unsafe { node::prefer(place, bytes, node) } {
                    shortfalls.note(PageOption::Node(node), reason);
                }
            }
            // SAFETY: whole pages of the mapping, not in use (precondition).
            Node::Require(node) => unsafe { node::bind(place, bytes, node) }
                .map_err(|reason| refused(PageOption::Node(node), reason, bytes))?,
        }
        Ok(())
    }

    /// # Safety
    ///
    /// Whole pages of the mapping, accessible and not in use.
    unsafe fn fill(
        &self,
        mapping: &Mapping,
        place: *mut c_void,
        bytes: usize,
        populate: bool,
    ) -> Result<(), AllocError> {
        if !populate {
            return Ok(());
        }
        // SAFETY: whole pages of the mapping, accessible and not in use (precondition).
        match unsafe { mm::madvise(place, bytes, Advice::LinuxPopulateWrite) } {
            Ok(()) => Ok(()),
            // Touching an unavailable one is a signal.
            Err(error) if mapping.explicit => {
                Err(refused(PageOption::HugePages, reason(error), bytes))
            }
            // Before Linux 5.14.
            Err(Errno::INVAL) => {
                // SAFETY: accessible and not in use (precondition); a mapping is not at 0.
                unsafe { write_to_each(NonNull::new_unchecked(place.cast()), 0, bytes) };
                Ok(())
            }
            Err(_) => Err(AllocError::OutOfMemory { bytes }),
        }
    }

    /// # Safety
    ///
    /// Whole pages of the mapping, accessible.
    unsafe fn lock_pages(
        &self,
        shortfalls: &mut Shortfalls,
        place: *mut c_void,
        bytes: usize,
        populated: bool,
    ) -> Result<(), AllocError> {
        if self.request.lock == Lock::No {
            return Ok(());
        }
        // SAFETY: whole, accessible pages of the mapping (precondition).
        let locked = unsafe {
            if populated {
                mm::mlock(place, bytes)
            } else {
                mm::mlock_with(place, bytes, MlockFlags::ONFAULT)
            }
        };
        match locked.map_err(reason) {
            Ok(()) => Ok(()),
            Err(reason) if self.request.lock == Lock::Require => {
                Err(refused(PageOption::Lock, reason, bytes))
            }
            Err(reason) => {
                shortfalls.note(PageOption::Lock, reason);
                Ok(())
            }
        }
    }

    /// Takes the access from the pages of a reserved mapping after these bytes, which
    /// are not in use, and gives them back; returns up to where it is accessible
    /// then, `None` if the system does not take them.
    ///
    /// # Safety
    ///
    /// They are not in use.
    pub(super) unsafe fn close(&self, mapping: &mut Mapping, bytes: usize) -> Option<usize> {
        let kept = bytes.next_multiple_of(mapping.page);
        if !mapping.reserved || kept >= mapping.ready {
            return None;
        }
        let bytes = mapping.ready - kept;
        // SAFETY: whole pages of the mapping that are not in use.
        unsafe {
            let place = mapping.start.add(kept).as_ptr().cast::<c_void>();
            // Locked pages cannot be given back.
            if self.request.lock != Lock::No {
                mm::munlock(place, bytes).ok()?;
            }
            mm::madvise(place, bytes, Advice::LinuxDontNeed).ok()?;
            // Where this fails the pages come back zeroed when they are used.
            let _ = mm::mprotect(place, bytes, MprotectFlags::empty());
        }
        mapping.ready = kept;
        Some(kept)
    }
}

impl Mapping {
    /// Of usual pages, none of them accessible yet.
    ///
    /// # Safety
    ///
    /// The bytes are mapped there, whole pages of that size, and used through this
    /// alone.
    unsafe fn new(start: *mut c_void, bytes: usize, page: usize) -> Self {
        // SAFETY: the bytes are mapped there, and used through this alone (precondition);
        // a mapping is not at 0.
        unsafe {
            let start = NonNull::new_unchecked(start.cast::<u8>());
            Mapping {
                region: Region::new(start, bytes),
                start,
                bytes,
                ready: 0,
                page,
                explicit: false,
                reserved: false,
            }
        }
    }

    /// Populates the bytes of a block between these two.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    ///
    /// # Safety
    ///
    /// It lies in this mapping; the bytes are accessible and not in use.
    pub(super) unsafe fn populate(
        &self,
        block: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> Result<(), AllocError> {
        let offset = block.addr().get() - self.start.addr().get();
        let (from, to) = (offset + from, offset + to);
        let page = self.smallest_page();
        let first = from - from % page;
        let end = to.next_multiple_of(page).min(self.ready);
        // SAFETY: whole pages of the mapping; populating them does not change what
        // is written there.
        let result = unsafe {
            let place = self.start.add(first).as_ptr().cast();
            mm::madvise(place, end - first, Advice::LinuxPopulateWrite)
        };
        match result {
            Ok(()) => Ok(()),
            // Before Linux 5.14.
            // SAFETY: the bytes are accessible and not in use (precondition).
            Err(Errno::INVAL) => unsafe {
                write_to_each(self.start, from, to);
                Ok(())
            },
            Err(_) => Err(AllocError::OutOfMemory { bytes: to - from }),
        }
    }

    /// Gives the whole pages of a block back to the system; they stay accessible, and are
    /// zeroed when they are used again. Returns how many bytes: 0 if it does not take them, as
    /// pages that are locked.
    ///
    /// # Safety
    ///
    /// It lies in this mapping, and is not in use.
    pub(super) unsafe fn discard(&self, block: NonNull<u8>, bytes: usize) -> usize {
        let offset = block.addr().get() - self.start.addr().get();
        let page = self.smallest_page();
        let first = offset.next_multiple_of(page);
        let end = offset + bytes - (offset + bytes) % page;
        if first >= end {
            return 0;
        }
        // SAFETY: whole pages of the mapping that are not in use.
        let result = unsafe {
            let place = self.start.add(first).as_ptr().cast();
            mm::madvise(place, end - first, Advice::LinuxDontNeed)
        };
        result.map_or(0, |()| end - first)
    }

    /// What it can be populated and given back in: transparent huge pages are split.
    fn smallest_page(&self) -> usize {
        if self.explicit {
            self.page
        } else {
            rustix::param::page_size()
        }
    }

    /// # Safety
    ///
    /// Nothing of it is in use.
    pub(super) unsafe fn unmap(self) {
        let start = self.start.as_ptr().cast::<c_void>();
        // SAFETY: nothing of the mapping is in use (precondition), and the guard pages are
        // its own.
        unsafe {
            if self.explicit {
                unmap_part(start, self.bytes);
            } else {
                let guard = rustix::param::page_size();
                unmap_part(start.byte_sub(guard), self.bytes + 2 * guard);
            }
        }
    }
}

/// # Safety
///
/// Whole pages of a mapping of ours, which are not in use.
pub(super) unsafe fn unmap_part(start: *mut c_void, bytes: usize) {
    if bytes > 0 {
        // It fails only where the system cannot split a mapping: then the address
        // space is lost, and nothing else.
        // SAFETY: whole pages of a mapping of ours, not in use (precondition).
        let _ = unsafe { mm::munmap(start, bytes) };
    }
}

pub(super) fn out_of_memory(layout: Layout) -> AllocError {
    AllocError::OutOfMemory {
        bytes: layout.size(),
    }
}

fn reason(error: Errno) -> Reason {
    Reason::Refused(error.raw_os_error())
}

pub(super) fn refused(option: PageOption, reason: Reason, bytes: usize) -> AllocError {
    AllocError::Refused {
        option,
        reason,
        bytes,
    }
}
