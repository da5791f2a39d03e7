//! Pages of the operating system, for one container or allocator: Linux.
//!
//! Blocks are cut from [regions](region) of mapped memory, so that a
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
//! * `mapped-while-out`: a mapping on the list is mapped until none of its blocks is out.
//! * `ready-before-out`: a block is out only after its bytes are below `ready`,
//!   but a reserved one, which is its mapping's only one.
//! * `record-pages`: every record is in one of the record pages: that of a mapping on the list
//!   `mappings`, every other one on `spare`.

use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};

use super::kernel_files::PageSizes;
use super::mapping::{Asked, Mapping, out_of_memory, refused, unmap_part};
use super::options::{HugePages, PageOption, Reason, Request, Shortfalls};
use super::region;
use crate::error::AllocError;

/// The smallest mapping, in bytes: a huge page of most machines. Larger ones
/// come as an [`EIGHTH`] of what is mapped already, so that even a container of
/// terabytes has some two hundred.
const SMALLEST: usize = 2 << 20;
const EIGHTH: usize = 8;

/// Pages of the system, asked for in one way.
pub(crate) struct System {
    asked: Asked,
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
            asked: Asked {
                request,
                sizes: PageSizes::read(),
            },
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

    /// Calls `f` with each mapping.
    pub(crate) fn each_mapping(&self, mut f: impl FnMut(&Mapping)) {
        let state = self.lock();
        let mut next = state.mappings;
        // SAFETY: by `record-pages` records on the list, which the lock guards.
        while let Some(record) = unsafe { next.as_ref() } {
            if let Some(mapping) = &record.mapping {
                f(mapping);
            }
            next = record.next;
        }
    }

    pub(crate) fn sizes(&self) -> PageSizes {
        self.asked.sizes
    }

    pub(in crate::raw) fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut next = state.mappings;
        // SAFETY: by `record-pages` records on the list, which the lock guards.
        while let Some(record) = unsafe { next.as_mut() } {
            next = record.next;
            if let Some(mapping) = record.mapping.as_mut().filter(|mapping| !mapping.reserved) {
                if let Some(to) = mapping.region.cut_with(layout) {
                    match self.asked.open(&mut state.shortfalls, mapping, to, true) {
                        Ok(()) => return mapping.region.take(layout).ok_or(out_of_memory(layout)),
                        Err(error) if self.falls_back(&mut state.shortfalls, error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        let bytes = region::rounded(layout).ok_or(out_of_memory(layout))?;
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
        match (error, self.asked.request.huge) {
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

    /// A block in a mapping of its own, of at least that many bytes.
    fn allocate_mapping(
        &self,
        state: &mut State,
        bytes: usize,
        layout: Layout,
    ) -> Result<NonNull<u8>, AllocError> {
        let explicit = matches!(self.asked.request.huge, HugePages::Try | HugePages::Require);
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
            .and_then(|to| self.asked.open(&mut state.shortfalls, mapping, to, true))
            .and_then(|()| mapping.region.take(layout).ok_or(out_of_memory(layout)));
        if result.is_err() {
            // SAFETY: the mapping is new, and `take` was refused, so no block of it is out.
            unsafe { state.unmap(start) };
        }
        result
    }

    pub(in crate::raw) fn reserve(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = region::rounded(layout).ok_or(out_of_memory(layout))?;
        let mut state = self.lock();
        match self.asked.request.huge {
            // Those that were set aside are populated at once or refused, so there
            // are none for memory that is only reserved.
            HugePages::Require => {
                return Err(refused(PageOption::HugePages, Reason::OnlyReserved, bytes));
            }
            HugePages::Try => (state.shortfalls).note(PageOption::HugePages, Reason::OnlyReserved),
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
    /// As for [`Source::commit`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn commit(
        &self,
        start: NonNull<u8>,
        to: usize,
    ) -> Result<usize, AllocError> {
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
        self.asked.open(shortfalls, mapping, to, false)?;
        Ok(mapping.ready)
    }

    /// # Safety
    ///
    /// As for [`Source::populate`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn populate(
        &self,
        start: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> Result<(), AllocError> {
        let state = self.lock();
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        // SAFETY: the block lies in this mapping; its bytes are accessible (`ready-before-out`) and
        // not in use (precondition).
        unsafe { mapping.populate(start, from, to) }
    }

    /// # Safety
    ///
    /// As for [`Source::discard`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> usize {
        let state = self.lock();
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        // SAFETY: the block lies in this mapping, and is not in use (precondition).
        unsafe { mapping.discard(start, bytes) }
    }

    /// # Safety
    ///
    /// As for [`Source::decommit`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn decommit(
        &self,
        start: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> usize {
        let state = self.lock();
        // SAFETY: records on the list, which the lock guards.
        let mapping = unsafe { find(state.mappings, start) };
        // SAFETY: the bytes from `from` on are not in use (precondition).
        unsafe { self.asked.close(mapping, from) }.unwrap_or(to)
    }

    /// # Safety
    ///
    /// As for [`Source::release`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        let mut state = self.lock();
        // SAFETY: records on the list, which the lock guards; the block came from one
        // of the mappings (`mapped-while-out`), and is not used any more.
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
            (self.asked.map_explicit(bytes, layout))
                .map_err(|reason| refused(PageOption::HugePages, reason, bytes))?
        } else {
            self.asked
                .map(&mut state.shortfalls, bytes, layout, reserved)?
        };
        let start = mapping.start;
        if !reserved {
            state.mapped += mapping.bytes;
        }
        // SAFETY: by `record-pages` the first of the spare records.
        unsafe {
            state.spare = (*record).next;
            (*record).mapping = Some(mapping);
            (*record).next = state.mappings;
        }
        state.mappings = record;
        Ok(start)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A mapping that is left has blocks that were leaked: it stays.
        while !state.record_pages.is_null() {
            let page = state.record_pages;
            // SAFETY: by `record-pages` no record is used again, and pages are mapped once.
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

/// The mapping in which a block lies.
///
/// # Safety
///
/// The records of the list are reached through this alone while it lives.
unsafe fn find<'a>(mut record: *mut Record, block: NonNull<u8>) -> &'a mut Mapping {
    // SAFETY: by `record-pages` a record, or the end of the list; it is reached through this alone
    // (precondition).
    while let Some(found) = unsafe { record.as_mut() } {
        match &mut found.mapping {
            Some(mapping) if mapping.region.contains(block) => return mapping,
            _ => record = found.next,
        }
    }
    unreachable!("a block lies in a mapping")
}
