//! Pages of the operating system, for one container or allocator: Linux.
//!
//! Blocks are cut from [regions](super::regions) of mapped memory, so that a
//! growing container asks the system once for many chunks, and huge pages are
//! filled. A block comes with its pages: they are populated when it is cut, in
//! one call. A block of a region's size or more has a mapping of its own.
//!
//! One lock guards everything. The owner of the memory and its helper thread
//! meet there only when either needs a block; no user code runs under it, for
//! the records of the mappings lie in pages of their own.
//!
//! # Invariants
//!
//! * Y1: a mapping's bytes are mapped from `start` on until it is unmapped, which
//!   happens when none of its blocks is out; up to `ready` they are accessible and
//!   populated.
//! * Y2: a block is out only after its bytes are below `ready`, but a reserved
//!   one, which is its mapping's only one.
//! * Y3: every record is in one of the record pages: that of a mapping on the list
//!   `mappings`, every other one on `spare`.

use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MlockFlags, MprotectFlags, ProtFlags};

use super::pages::{HugePages, Lock, Node, PageOption, Reason, Request, Shortfalls};
use super::policy;
use super::regions::{self, Region};
use super::sizes::PageSizes;
use crate::error::AllocError;

/// The smallest mapping, in bytes: a huge page of most machines. Larger ones
/// come as an [`EIGHTH`] of what is mapped already, so that even a container of
/// terabytes has some two hundred.
const SMALLEST: usize = 2 << 20;
const EIGHTH: usize = 8;

/// Pages of the system, asked for in one way.
pub(crate) struct System {
    request: Request,
    sizes: PageSizes,
    state: Mutex<State>,
}

struct State {
    mappings: *mut Record,
    spare: *mut Record,
    record_pages: *mut RecordPage,
    /// Bytes of all mappings that are not reserved.
    mapped: usize,
    shortfalls: Shortfalls,
}

// SAFETY: the records are reached through this alone.
unsafe impl Send for State {}

/// A mapping, or a spare record.
struct Record {
    mapping: Option<Mapping>,
    next: *mut Record,
}

/// Mapped memory.
#[derive(Debug)]
struct Mapping {
    region: Region,
    start: NonNull<u8>,
    bytes: usize,
    /// Up to where the bytes are accessible and populated, a multiple of `page`.
    ready: usize,
    /// Its huge page or its page, in bytes.
    page: usize,
    /// Whether it lies in huge pages that were set aside.
    explicit: bool,
    /// Whether its bytes become accessible only when they are committed.
    reserved: bool,
}

/// Records in a page of their own: 4 KiB, the smallest there is.
const RECORDS: usize = (4096 - size_of::<*mut RecordPage>()) / size_of::<Record>();

struct RecordPage {
    next: *mut RecordPage,
    records: [Record; RECORDS],
}

const _: () = assert!(size_of::<RecordPage>() <= 4096 && RECORDS > 16);

impl System {
    /// Maps nothing yet.
    pub(crate) fn new(request: Request) -> Self {
        System {
            request,
            sizes: PageSizes::read(),
            state: Mutex::new(State {
                mappings: null_mut(),
                spare: null_mut(),
                record_pages: null_mut(),
                mapped: 0,
                shortfalls: Shortfalls::NONE,
            }),
        }
    }

    /// What could not be obtained so far.
    pub(crate) fn shortfalls(&self) -> Shortfalls {
        self.lock().shortfalls
    }

    /// Calls `f` with the place and bytes of each mapping, as far as it is
    /// accessible, and whether it is of explicit huge pages.
    pub(crate) fn each_mapping(&self, mut f: impl FnMut(usize, usize, bool)) {
        let state = self.lock();
        let mut next = state.mappings;
        // SAFETY: by Y3 records on the list, which the lock guards.
        while let Some(record) = unsafe { next.as_ref() } {
            if let Some(mapping) = &record.mapping {
                f(mapping.start.addr().get(), mapping.bytes, mapping.explicit);
            }
            next = record.next;
        }
    }

    pub(crate) fn sizes(&self) -> PageSizes {
        self.sizes
    }

    pub(super) fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut next = state.mappings;
        // SAFETY: by Y3 records on the list, which the lock guards.
        while let Some(record) = unsafe { next.as_mut() } {
            next = record.next;
            if let Some(mapping) = record.mapping.as_mut().filter(|mapping| !mapping.reserved) {
                if let Some(to) = mapping.region.cut_with(layout) {
                    match self.open(&mut state.shortfalls, mapping, to, true) {
                        Ok(()) => return mapping.region.take(layout).ok_or(out_of_memory(layout)),
                        Err(error) if self.falls_back(&mut state.shortfalls, error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        let bytes = regions::rounded(layout).ok_or(out_of_memory(layout))?;
        let usual = if bytes < SMALLEST {
            (state.mapped / EIGHTH).max(SMALLEST)
        } else {
            bytes
        };
        match self.allocate_mapping(state, usual, layout) {
            // Where an eighth more is too much, what is needed may be there.
            Err(_) if usual > SMALLEST.max(bytes) => {
                self.allocate_mapping(state, SMALLEST.max(bytes), layout)
            }
            allocated => allocated,
        }
    }

    /// Whether other pages than explicit huge ones will do, which were refused; the
    /// report says so. Those of one node may be used up when there are others.
    fn falls_back(&self, shortfalls: &mut Shortfalls, error: AllocError) -> bool {
        match (error, self.request.huge) {
            (
                AllocError::Refused {
                    option: PageOption::HugePages,
                    reason,
                    ..
                },
                HugePages::Try,
            ) => {
                shortfalls.note(PageOption::HugePages, reason);
                true
            }
            _ => false,
        }
    }

    /// A block in a mapping of its own, of so many bytes at least.
    fn allocate_mapping(
        &self,
        state: &mut State,
        bytes: usize,
        layout: Layout,
    ) -> Result<NonNull<u8>, AllocError> {
        let explicit = matches!(self.request.huge, HugePages::Try | HugePages::Require);
        match self.try_allocate_mapping(state, bytes, layout, explicit) {
            Err(error) if self.falls_back(&mut state.shortfalls, error) => {
                self.try_allocate_mapping(state, bytes, layout, false)
            }
            allocated => allocated,
        }
    }

    fn try_allocate_mapping(
        &self,
        state: &mut State,
        bytes: usize,
        layout: Layout,
        explicit: bool,
    ) -> Result<NonNull<u8>, AllocError> {
        let start = self.map(state, bytes, layout, explicit, false)?;
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        let to = mapping.region.cut_with(layout);
        let result = to
            .ok_or(out_of_memory(layout))
            .and_then(|to| self.open(&mut state.shortfalls, mapping, to, true))
            .and_then(|()| mapping.region.take(layout).ok_or(out_of_memory(layout)));
        if result.is_err() {
            // SAFETY: nothing of it is out.
            unsafe { state.unmap(start) };
        }
        result
    }

    pub(super) fn reserve(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = regions::rounded(layout).ok_or(out_of_memory(layout))?;
        let mut state = self.lock();
        match self.request.huge {
            // Those that were set aside are populated at once or refused, so there
            // are none for memory that is only reserved.
            HugePages::Require => {
                return Err(refused(PageOption::HugePages, Reason::Unsupported, bytes));
            }
            HugePages::Try => (state.shortfalls).note(PageOption::HugePages, Reason::Unsupported),
            HugePages::No | HugePages::Transparent => {}
        }
        let start = self.map(&mut state, bytes, layout, false, true)?;
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        // Nothing is skipped, so nothing is written: the mapping is aligned.
        mapping.region.take(layout).ok_or(out_of_memory(layout))
    }

    /// # Safety
    ///
    /// As for [`Source::commit`](super::source::Source).
    pub(super) unsafe fn commit(&self, start: NonNull<u8>, to: usize) -> Result<usize, AllocError> {
        let mut state = self.lock();
        let State {
            mappings,
            shortfalls,
            ..
        } = &mut *state;
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(*mappings, start) };
        if !mapping.reserved {
            return Ok(to);
        }
        self.open(shortfalls, mapping, to, false)?;
        Ok(mapping.ready)
    }

    /// # Safety
    ///
    /// As for [`Source::populate`](super::source::Source).
    pub(super) unsafe fn populate(
        &self,
        start: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> Result<(), AllocError> {
        let state = self.lock();
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        let offset = start.addr().get() - mapping.start.addr().get();
        let (from, to) = (offset + from, offset + to);
        let first = from - from % mapping.page;
        let end = to.next_multiple_of(mapping.page).min(mapping.ready);
        // SAFETY: whole pages of the mapping; populating them does not change what
        // is written there.
        let result = unsafe {
            let place = mapping.start.add(first).as_ptr().cast();
            mm::madvise(place, end - first, Advice::LinuxPopulateWrite)
        };
        match result {
            Ok(()) => Ok(()),
            // Before Linux 5.14.
            // SAFETY: not in use, says the caller.
            Err(Errno::INVAL) => unsafe {
                super::source::touch(mapping.start, from, to);
                Ok(())
            },
            Err(_) => Err(AllocError::OutOfMemory { bytes: to - from }),
        }
    }

    /// # Safety
    ///
    /// As for [`Source::decommit`](super::source::Source).
    pub(super) unsafe fn decommit(&self, start: NonNull<u8>, from: usize, to: usize) -> usize {
        let state = self.lock();
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        let kept = from.next_multiple_of(mapping.page);
        if !mapping.reserved || kept >= mapping.ready {
            return to;
        }
        let bytes = mapping.ready - kept;
        // SAFETY: whole pages of the mapping that are not in use.
        unsafe {
            let place = mapping.start.add(kept).as_ptr().cast::<c_void>();
            // Locked pages cannot be given back.
            if self.request.lock != Lock::No && mm::munlock(place, bytes).is_err() {
                return to;
            }
            if mm::madvise(place, bytes, Advice::LinuxDontNeed).is_err() {
                return to;
            }
            // Where this fails the pages come back zeroed when they are used.
            let _ = mm::mprotect(place, bytes, MprotectFlags::empty());
        }
        mapping.ready = kept;
        kept
    }

    /// # Safety
    ///
    /// As for [`Source::release`](super::source::Source).
    pub(super) unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        let mut state = self.lock();
        // SAFETY: records on the list, which the lock guards; the block came from one
        // of the mappings (Y1), and is not used any more.
        unsafe {
            let mapping = find(state.mappings, start);
            // The pages of a reserved block may not be accessible: nothing is
            // written there.
            if !mapping.reserved {
                mapping.region.give(start, layout);
            }
            if mapping.reserved || mapping.region.is_unused() {
                let place = mapping.start;
                state.unmap(place);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing unwinds under the lock but a failed assertion.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maps at least `bytes` with the alignment of `layout`, puts the record on the
    /// list, and returns where it starts.
    fn map(
        &self,
        state: &mut State,
        bytes: usize,
        layout: Layout,
        explicit: bool,
        reserved: bool,
    ) -> Result<NonNull<u8>, AllocError> {
        let record = state.spare_record().map_err(|_| out_of_memory(layout))?;
        let mapping = if explicit {
            (self.map_explicit(bytes, layout))
                .map_err(|reason| refused(PageOption::HugePages, reason, bytes))?
        } else {
            self.try_map(&mut state.shortfalls, bytes, layout, reserved)?
        };
        let start = mapping.start;
        if !reserved {
            state.mapped += mapping.bytes;
        }
        // SAFETY: by Y3 the first of the spare records.
        unsafe {
            state.spare = (*record).next;
            (*record).mapping = Some(mapping);
            (*record).next = state.mappings;
        }
        state.mappings = record;
        Ok(start)
    }

    fn try_map(
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
        // SAFETY: a mapping is not at 0.
        let start = unsafe { NonNull::new_unchecked(start.cast::<u8>()) };
        // SAFETY: mapped above, and used through this alone.
        let region = unsafe { Region::new(start, bytes) };
        Ok(Mapping {
            region,
            start,
            bytes,
            ready: 0,
            page,
            explicit: false,
            reserved,
        })
    }

    /// Maps huge pages that were set aside.
    fn map_explicit(&self, bytes: usize, layout: Layout) -> Result<Mapping, Reason> {
        let page = self.sizes.explicit.ok_or(Reason::Unsupported)?;
        if layout.align() > page {
            return Err(Reason::Unsupported);
        }
        let bytes = (bytes.checked_next_multiple_of(page)).ok_or_else(|| reason(Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which no one else knows.
        let start = unsafe { mm::mmap_anonymous(null_mut(), bytes, protection, flags) };
        let start = start.map_err(reason)?.cast::<u8>();
        // SAFETY: a mapping is not at 0.
        let start = unsafe { NonNull::new_unchecked(start) };
        // SAFETY: mapped above, and used through this alone.
        let region = unsafe { Region::new(start, bytes) };
        Ok(Mapping {
            region,
            start,
            bytes,
            ready: 0,
            page,
            explicit: true,
            reserved: false,
        })
    }

    /// Makes the bytes of a mapping up to `to` accessible, as it was asked for, and
    /// populates them if `populate`.
    fn open(
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
        // SAFETY: within the mapping.
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
            // Nothing is left of the attempt.
            // SAFETY: as above.
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
            // SAFETY: says the caller.
            unsafe { mm::mprotect(place, bytes, access) }
                .map_err(|_| AllocError::OutOfMemory { bytes })?;
            if mapping.page > self.sizes.usual {
                // SAFETY: says the caller.
                if let Err(error) = unsafe { mm::madvise(place, bytes, Advice::LinuxHugepage) } {
                    shortfalls.note(PageOption::TransparentHugePages, reason(error));
                }
            }
        }
        match self.request.node {
            Node::Any => {}
            Node::Try(node) => {
                // SAFETY: says the caller.
                if let Err(reason) = unsafe { policy::prefer(place, bytes, node) } {
                    shortfalls.note(PageOption::Node, reason);
                }
            }
            // SAFETY: says the caller.
            Node::Require(node) => unsafe { policy::bind(place, bytes, node) }
                .map_err(|reason| refused(PageOption::Node, reason, bytes))?,
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
        // SAFETY: says the caller.
        match unsafe { mm::madvise(place, bytes, Advice::LinuxPopulateWrite) } {
            Ok(()) => Ok(()),
            // To touch one that cannot be had is a signal.
            Err(error) if mapping.explicit => {
                Err(refused(PageOption::HugePages, reason(error), bytes))
            }
            // Before Linux 5.14.
            Err(Errno::INVAL) => {
                // SAFETY: a mapping is not at 0; says the caller.
                unsafe { super::source::touch(NonNull::new_unchecked(place.cast()), 0, bytes) };
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
        // SAFETY: says the caller.
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
}

impl Drop for System {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A mapping that is left has blocks that were leaked: it stays.
        while !state.record_pages.is_null() {
            let page = state.record_pages;
            // SAFETY: by Y3 no record is used again, and pages are mapped once.
            unsafe {
                state.record_pages = (*page).next;
                unmap_part(page.cast(), size_of::<RecordPage>());
            }
        }
    }
}

impl State {
    /// A spare record, which is the first on the list of those.
    fn spare_record(&mut self) -> Result<*mut Record, Errno> {
        if self.spare.is_null() {
            let bytes = size_of::<RecordPage>();
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping, which is zeroed; then records in it.
            unsafe {
                let page = mm::mmap_anonymous(null_mut(), bytes, protection, MapFlags::PRIVATE)?
                    .cast::<RecordPage>();
                (&raw mut (*page).next).write(self.record_pages);
                self.record_pages = page;
                for index in 0..RECORDS {
                    let record = &raw mut (*page).records[index];
                    record.write(Record {
                        mapping: None,
                        next: self.spare,
                    });
                    self.spare = record;
                }
            }
        }
        Ok(self.spare)
    }

    /// Unmaps the mapping that starts there and makes its record a spare one.
    ///
    /// # Safety
    ///
    /// It is on the list, and nothing of it is in use.
    unsafe fn unmap(&mut self, start: NonNull<u8>) {
        let mut link = &raw mut self.mappings;
        // SAFETY: records on the list; that of the mapping is among them.
        unsafe {
            let is_it = |record: *mut Record| {
                let mapping = (*record).mapping.as_ref();
                mapping.is_some_and(|mapping| mapping.start == start)
            };
            while !is_it(*link) {
                link = &raw mut (**link).next;
            }
            let record = *link;
            *link = (*record).next;
            let mapping = (*record).mapping.take();
            (*record).next = self.spare;
            self.spare = record;
            if let Some(mapping) = mapping {
                if !mapping.reserved {
                    self.mapped -= mapping.bytes;
                }
                mapping.unmap();
            }
        }
    }
}

impl Mapping {
    /// # Safety
    ///
    /// Nothing of it is in use.
    unsafe fn unmap(self) {
        let start = self.start.as_ptr().cast::<c_void>();
        // SAFETY: says the caller; the guards are the mapping's own.
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

/// The mapping in which a block lies.
///
/// # Safety
///
/// The records of the list are reached through this alone while it lives.
unsafe fn find<'a>(mut record: *mut Record, block: NonNull<u8>) -> &'a mut Mapping {
    // SAFETY: by Y3 a record, or the end of the list; says the caller.
    while let Some(found) = unsafe { record.as_mut() } {
        match &mut found.mapping {
            Some(mapping) if mapping.region.contains(block) => return mapping,
            _ => record = found.next,
        }
    }
    unreachable!("a block lies in a mapping")
}

/// # Safety
///
/// Whole pages of a mapping of ours, which are not in use.
unsafe fn unmap_part(start: *mut c_void, bytes: usize) {
    if bytes > 0 {
        // It fails only where the system cannot split a mapping: then the address
        // space is lost, and nothing else.
        // SAFETY: says the caller.
        let _ = unsafe { mm::munmap(start, bytes) };
    }
}

fn out_of_memory(layout: Layout) -> AllocError {
    AllocError::OutOfMemory {
        bytes: layout.size(),
    }
}

fn reason(error: Errno) -> Reason {
    Reason::Refused(error.raw_os_error())
}

fn refused(option: PageOption, reason: Reason, bytes: usize) -> AllocError {
    AllocError::Refused {
        option,
        reason,
        bytes,
    }
}
