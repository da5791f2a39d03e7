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
//!   `mappings`, every other one on `spare`. These pages are mapped until `System` is dropped, so the
//!   lists refer to records with `'static`. No such reference leaves this file.

use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::kernel_files::PageSizes;
use super::mapping::{Asked, Mapping, out_of_memory, refused};
use super::options::{HugePages, PageOption, Reason, Request, Shortfalls};
use super::part::{self, Part};
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
    mappings: Records,
    spare: Records,
    record_pages: *mut RecordPage,
    /// Bytes of all mappings that are not reserved.
    mapped: usize,
    shortfalls: Shortfalls,
}

// SAFETY: the records are reached through this alone.
unsafe impl Send for State {}

/// A list of records.
type Records = Option<&'static mut Record>;

/// A mapping, or a spare record.
struct Record {
    mapping: Option<Mapping>,
    next: Records,
}

impl Record {
    const SPARE: Record = Record {
        mapping: None,
        next: None,
    };
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
                mappings: None,
                spare: None,
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
        let mut next = &state.mappings;
        while let Some(record) = next {
            record.mapping.iter().for_each(&mut f);
            next = &record.next;
        }
    }

    pub(crate) fn sizes(&self) -> PageSizes {
        self.asked.sizes
    }

    pub(in crate::raw) fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut next = &mut state.mappings;
        while let Some(record) = next {
            next = &mut record.next;
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
        let mapping = find(&mut state.mappings, start);
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
        let mapping = find(&mut state.mappings, start);
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
        let state = &mut *self.lock();
        let mapping = find(&mut state.mappings, start);
        if !mapping.reserved {
            return Ok(to);
        }
        self.asked.open(&mut state.shortfalls, mapping, to, false)?;
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
        let mut state = self.lock();
        let mapping = find(&mut state.mappings, start);
        // SAFETY: the block lies in this mapping; its bytes are accessible (`ready-before-out`) and
        // not in use (precondition).
        unsafe { mapping.populate(start, from, to) }
    }

    /// # Safety
    ///
    /// As for [`Source::discard`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> usize {
        let mut state = self.lock();
        let mapping = find(&mut state.mappings, start);
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
        let mut state = self.lock();
        let mapping = find(&mut state.mappings, start);
        // SAFETY: the bytes from `from` on are not in use (precondition).
        unsafe { self.asked.close(mapping, from) }.unwrap_or(to)
    }

    /// # Safety
    ///
    /// As for [`Source::release`](crate::raw::source::Source).
    pub(in crate::raw) unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        let mut state = self.lock();
        let mapping = find(&mut state.mappings, start);
        // The pages of a reserved block may not be accessible: nothing is
        // written there.
        if !mapping.reserved {
            // SAFETY: the block came from this mapping (`mapped-while-out`), and is not used any
            // more (precondition).
            unsafe { mapping.region.give(start, layout) };
        }
        if mapping.reserved || mapping.region.is_unused() {
            let place = mapping.start;
            // SAFETY: no block of the mapping is out: a reserved one has only this one.
            unsafe { state.unmap(place) };
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
        state
            .add_spare_records()
            .map_err(|_| out_of_memory(layout))?;
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
        let record = state.spare.take().expect("a spare record");
        state.spare = record.next.take();
        record.mapping = Some(mapping);
        record.next = state.mappings.take();
        state.mappings = Some(record);
        Ok(start)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A mapping that is left has blocks that were leaked: it stays.
        (state.mappings, state.spare) = (None, None);
        while let Some(page) = NonNull::new(state.record_pages) {
            // SAFETY: by `record-pages` no record is used again, and pages are mapped once.
            unsafe {
                state.record_pages = page.as_ref().next;
                Part::new(page.cast(), 0, size_of::<RecordPage>()).unmap();
            }
        }
    }
}

impl State {
    /// Maps a page of spare records if there is no spare one.
    fn add_spare_records(&mut self) -> Result<(), Errno> {
        if self.spare.is_none() {
            let bytes = size_of::<RecordPage>();
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let page = part::map(bytes, access, MapFlags::PRIVATE)?.as_ptr().cast();
            let records = [const { Record::SPARE }; RECORDS];
            let next = core::mem::replace(&mut self.record_pages, page);
            // SAFETY: a new mapping, aligned for a page of records, which stays mapped as long as
            // the records are used (`record-pages`). The links of pages are not among the records.
            let records = unsafe {
                page.write(RecordPage { next, records });
                &mut (*page).records
            };
            for record in records {
                record.next = self.spare.take();
                self.spare = Some(record);
            }
        }
        Ok(())
    }

    /// Unmaps the mapping that starts there and makes its record a spare one.
    ///
    /// # Safety
    ///
    /// It is on the list, and nothing of it is in use.
    unsafe fn unmap(&mut self, start: NonNull<u8>) {
        let is_it = |record: &&mut Record| {
            let mapping = record.mapping.as_ref();
            mapping.is_some_and(|mapping| mapping.start == start)
        };
        let mut link = &mut self.mappings;
        while !link.as_ref().is_none_or(is_it) {
            link = &mut link.as_mut().expect("another mapping").next;
        }
        let record = link.take().expect("a mapping on the list");
        *link = record.next.take();
        if let Some(mapping) = record.mapping.take() {
            if !mapping.reserved {
                self.mapped -= mapping.bytes;
            }
            // SAFETY: nothing of it is in use (precondition).
            unsafe { mapping.unmap() };
        }
        record.next = self.spare.take();
        self.spare = Some(record);
    }
}

/// The mapping in which a block lies.
fn find(mut next: &mut Records, block: NonNull<u8>) -> &mut Mapping {
    while let Some(record) = next {
        match &mut record.mapping {
            Some(mapping) if mapping.region.contains(block) => return mapping,
            _ => next = &mut record.next,
        }
    }
    unreachable!("a block lies in a mapping")
}
