//! Mapped memory: how it is mapped, made accessible and populated as was asked
//! for, and given back.
//!
//! # Invariants
//!
//! * `mapped-bytes`: a mapping's bytes are mapped from `start` on until it is unmapped; up to
//!   `ready` they are accessible, and populated unless the mapping is reserved.

use core::alloc::Layout;
use core::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

use super::kernel_files::PageSizes;
use super::node;
use super::options::{HugePages, Lock, Node, PageOption, Reason, Request, Shortfalls};
use super::part::{self, Part};
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
        let outer =
            part::map(whole, ProtFlags::empty(), flags).map_err(|_| out_of_memory(layout))?;
        let head =
            (outer.addr().get() + usual).next_multiple_of(align) - usual - outer.addr().get();
        let end = head + bytes + 2 * usual;
        // SAFETY: whole pages of the new mapping, which no one else knows, at its ends.
        let start = unsafe {
            Part::new(outer, 0, head).unmap();
            Part::new(outer, end, whole).unmap();
            outer.add(head + usual)
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
        let start = part::map(bytes, protection, flags).map_err(reason)?;
        // SAFETY: mapped above, and used through this alone.
        let mapping = unsafe { Mapping::new(start, bytes, page) };
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
        // SAFETY: whole pages of the mapping (`mapped-bytes`), which are not in use yet.
        let part = unsafe { Part::new(mapping.start, mapping.ready, to) };
        let result = (self.set_up(shortfalls, mapping, &part))
            // SAFETY: `set_up` has made the part accessible.
            .and_then(|()| unsafe { self.fill(mapping, &part, populate) })
            .and_then(|()| self.lock_pages(shortfalls, &part, populate));
        if result.is_ok() {
            mapping.ready = to;
        } else {
            // Undo the attempt.
            let _ = part.give_back();
            if !mapping.explicit {
                let _ = part.protect(MprotectFlags::empty());
            }
        }
        result
    }

    /// Access, kind of pages, and node.
    fn set_up(
        &self,
        shortfalls: &mut Shortfalls,
        mapping: &Mapping,
        part: &Part,
    ) -> Result<(), AllocError> {
        let bytes = part.bytes();
        if !mapping.explicit {
            part.protect(MprotectFlags::READ | MprotectFlags::WRITE)
                .map_err(|_| AllocError::OutOfMemory { bytes })?;
            if mapping.page > self.sizes.usual {
                if let Err(error) = part.advise(Advice::LinuxHugepage) {
                    shortfalls.note(PageOption::TransparentHugePages, reason(error));
                }
            }
        }
        match self.request.node {
            Node::Any => {}
            Node::Try(node) => {
                if let Err(reason) = node::prefer(part, node) {
                    shortfalls.note(PageOption::Node(node), reason);
                }
            }
            Node::Require(node) => node::bind(part, node)
                .map_err(|reason| refused(PageOption::Node(node), reason, bytes))?,
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The part is accessible.
    unsafe fn fill(
        &self,
        mapping: &Mapping,
        part: &Part,
        populate: bool,
    ) -> Result<(), AllocError> {
        if !populate {
            return Ok(());
        }
        let bytes = part.bytes();
        match part.advise(Advice::LinuxPopulateWrite) {
            Ok(()) => Ok(()),
            // Touching an unavailable one is a signal.
            Err(error) if mapping.explicit => {
                Err(refused(PageOption::HugePages, reason(error), bytes))
            }
            // Before Linux 5.14.
            Err(Errno::INVAL) => {
                // SAFETY: accessible (precondition) and not in use (`part-unused`).
                unsafe { write_to_each(part.start(), 0, bytes) };
                Ok(())
            }
            Err(_) => Err(AllocError::OutOfMemory { bytes }),
        }
    }

    fn lock_pages(
        &self,
        shortfalls: &mut Shortfalls,
        part: &Part,
        populated: bool,
    ) -> Result<(), AllocError> {
        if self.request.lock == Lock::No {
            return Ok(());
        }
        match part.lock(populated).map_err(reason) {
            Ok(()) => Ok(()),
            Err(reason) if self.request.lock == Lock::Require => {
                Err(refused(PageOption::Lock, reason, part.bytes()))
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
        // SAFETY: whole pages of the mapping, which are not in use (precondition).
        let part = unsafe { Part::new(mapping.start, kept, mapping.ready) };
        // Pages that the process has locked otherwise stay so: nothing would lock them again.
        match self.request.lock {
            Lock::No => part.advise(Advice::LinuxDontNeed).ok()?,
            Lock::Try | Lock::Require => part.give_back().ok()?,
        }
        // Where this fails the pages come back zeroed when they are used.
        let _ = part.protect(MprotectFlags::empty());
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
    unsafe fn new(start: NonNull<u8>, bytes: usize, page: usize) -> Self {
        Mapping {
            // SAFETY: the bytes are mapped there, and used through this alone (precondition).
            region: unsafe { Region::new(start, bytes) },
            start,
            bytes,
            ready: 0,
            page,
            explicit: false,
            reserved: false,
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
        // SAFETY: whole pages of the mapping, which are not in use (precondition).
        let part = unsafe { Part::new(self.start, first, end) };
        (part.advise(Advice::LinuxDontNeed)).map_or(0, |()| end - first)
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
        let guard = match self.explicit {
            true => 0,
            false => rustix::param::page_size(),
        };
        // SAFETY: nothing of the mapping is in use (precondition), and the guard pages are
        // its own.
        unsafe { Part::new(self.start.sub(guard), 0, self.bytes + 2 * guard).unmap() };
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
