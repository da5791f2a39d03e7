//! What an owner and its helper share: a ring of blocks that are ready, two
//! places for each growing array, and the flag to stop.
//!
//! It does not know what the pointers lead to; `ahead.rs` does.
//!
//! # Invariants
//!
//! * R1: a pointer in the ring is a finished block without an owner; the side
//!   that swaps it out owns it.
//! * R2: only the owner's thread takes pointers out, only the helper puts them
//!   in, both in the order of positions. (The helper starts after the ring is
//!   first filled and ends before it is dropped.)
//! * R3: the array that was left, if there is one, has no owner. Only the
//!   owner's thread leaves one, only where there is none.
//! * R6: the array that is ready, if there is one, has no owner; the side that
//!   swaps it out owns it. Only the helper puts one there, only where there is
//!   none. Both sides take: the owner to use it, the helper to free one that is
//!   of another size than is wanted now.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::slab::growth::array::Array;

/// The state that both ends share.
pub(super) struct Mailbox {
    /// Blocks that are ready, each at its position modulo the capacity; null
    /// where there is none (R1).
    ring: Block,
    capacity: usize,
    /// A block's number is its position plus this.
    offset: AtomicUsize,
    stack: Handover,
    table: Handover,
    stopped: AtomicBool,
}

/// The successor of an array, and the array itself when it is outgrown.
pub(super) struct Handover {
    /// Bytes of the successor that is wanted; 0 if none is.
    wanted: AtomicUsize,
    /// A successor that is ready (R6), or null.
    ready: AtomicPtr<u8>,
    /// An array to be freed (R3), or null.
    left: AtomicPtr<u8>,
}

impl Mailbox {
    pub(super) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout =
            Layout::array::<AtomicPtr<u8>>(capacity).map_err(|_| AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<AtomicPtr<u8>>(),
            })?;
        let ring = Block::allocate(layout, source)?;
        for index in 0..capacity {
            // SAFETY: within the block, which is still unused.
            unsafe {
                let slot = ring.start().cast::<AtomicPtr<u8>>().add(index);
                slot.write(AtomicPtr::new(core::ptr::null_mut()));
            }
        }
        Ok(Mailbox {
            ring,
            capacity,
            offset: AtomicUsize::new(0),
            stack: Handover::new(),
            table: Handover::new(),
            stopped: AtomicBool::new(false),
        })
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// From now on a block's number is its position plus `offset`.
    pub(super) fn set_offset(&self, offset: usize) {
        // Relaxed: a guess, which the owner checks.
        self.offset.store(offset, Ordering::Relaxed);
    }

    fn slot(&self, position: usize) -> &AtomicPtr<u8> {
        // SAFETY: below the capacity, so within the ring, and written in
        // `try_new`.
        unsafe {
            let slots = self.ring.start().cast::<AtomicPtr<u8>>();
            slots.add(position % self.capacity).as_ref()
        }
    }

    /// The owner's side of R2. An empty place is only read.
    pub(super) fn take(&self, position: usize) -> Option<NonNull<u8>> {
        if self.is_empty_at(position) {
            return None;
        }
        // Acquire: pairs with the release in `put`; the block is finished.
        NonNull::new(
            self.slot(position)
                .swap(core::ptr::null_mut(), Ordering::Acquire),
        )
    }

    /// The helper's side of R2; the place is empty.
    pub(super) fn put(&self, position: usize, start: NonNull<u8>) {
        // Release: pairs with the acquire in `take`.
        self.slot(position).store(start.as_ptr(), Ordering::Release);
    }

    fn is_empty_at(&self, position: usize) -> bool {
        // Relaxed: the block itself is not read.
        self.slot(position).load(Ordering::Relaxed).is_null()
    }

    pub(super) fn array(&self, array: Array) -> &Handover {
        match array {
            Array::Stack => &self.stack,
            Array::Table => &self.table,
        }
    }

    pub(super) fn stop(&self) {
        // Relaxed: the wake-up or join that follows publishes it.
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The helper's loop, until stopped: free, allocate, fill, pause. Places are
    /// filled in order from `position` on.
    ///
    /// `build` gets a block's number, `allocate` an array's size. Where one of
    /// them fails it is tried again in a later round. `pause` gets the number
    /// of idle rounds in a row. It may return early, and returns at once where
    /// a wake-up came before it.
    pub(super) fn serve(
        &self,
        mut position: usize,
        mut build: impl FnMut(usize) -> Option<NonNull<u8>>,
        mut allocate: impl FnMut(Array, usize) -> Option<NonNull<u8>>,
        mut free: impl FnMut(NonNull<u8>),
        mut pause: impl FnMut(u32),
    ) {
        let mut idle = 0;
        let mut sizes = [(Array::Stack, 0), (Array::Table, 0)];
        while !self.is_stopped() {
            for (array, size) in &mut sizes {
                let allocate = |wanted| allocate(*array, wanted);
                self.array(*array).renew(size, allocate, &mut free);
            }
            let built = if self.is_empty_at(position) {
                // Relaxed: a guess, which the owner checks.
                build(position.wrapping_add(self.offset.load(Ordering::Relaxed)))
            } else {
                None
            };
            if let Some(start) = built {
                self.put(position, start);
                position = position.wrapping_add(1);
                idle = 0;
            } else if !self.is_stopped() {
                // Checked again: the allocator may have parked this thread and
                // so have swallowed the wake-up that came with the flag.
                pause(idle);
                idle = idle.saturating_add(1);
            }
        }
    }
}

impl Handover {
    fn new() -> Self {
        Handover {
            wanted: AtomicUsize::new(0),
            ready: AtomicPtr::new(core::ptr::null_mut()),
            left: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// From now on an array of `size` bytes is kept ready, or none if that is 0.
    pub(super) fn want(&self, size: usize) {
        // Relaxed: a wish. The owner checks the size of what it takes.
        self.wanted.store(size, Ordering::Relaxed);
    }

    pub(super) fn wanted(&self) -> usize {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Both sides of R6. An empty place is only read.
    pub(super) fn take(&self) -> Option<NonNull<u8>> {
        if !self.is_ready() {
            return None;
        }
        // Acquire: pairs with the release in `put`; the layout is written, and
        // the pages are touched.
        NonNull::new(self.ready.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    /// The helper's side of R6; the place is empty.
    fn put(&self, start: NonNull<u8>) {
        // Release: pairs with the acquire in `take`.
        self.ready.store(start.as_ptr(), Ordering::Release);
    }

    pub(super) fn is_ready(&self) -> bool {
        // Relaxed: the array itself is not read.
        !self.ready.load(Ordering::Relaxed).is_null()
    }

    pub(super) fn has_left(&self) -> bool {
        // Relaxed: the array itself is not read.
        !self.left.load(Ordering::Relaxed).is_null()
    }

    /// The owner's side of R3: no array is left there now.
    pub(super) fn leave(&self, start: NonNull<u8>) {
        // Release: pairs with the acquire in `collect`.
        self.left.store(start.as_ptr(), Ordering::Release);
    }

    /// The helper's side of R3.
    pub(super) fn collect(&self) -> Option<NonNull<u8>> {
        if !self.has_left() {
            return None;
        }
        // Acquire: pairs with the release in `leave`; the layout is written, and
        // the array is unused.
        NonNull::new(self.left.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    /// The helper's round: frees what was left and what is no longer wanted, and
    /// puts what is wanted where nothing is ready. `size` is that of the array
    /// put there last.
    fn renew(
        &self,
        size: &mut usize,
        allocate: impl FnOnce(usize) -> Option<NonNull<u8>>,
        mut free: impl FnMut(NonNull<u8>),
    ) {
        if let Some(start) = self.collect() {
            free(start);
        }
        let wanted = self.wanted();
        if wanted != *size {
            if let Some(start) = self.take() {
                free(start);
            }
        }
        if wanted != 0 && !self.is_ready() {
            if let Some(start) = allocate(wanted) {
                self.put(start);
                *size = wanted;
            }
        }
    }
}

/// `ci/loom.sh`: every way the two threads can meet.
#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    use super::*;
    use crate::raw::atomic::thread;

    /// A block of the model: what the helper has written, and a count that
    /// shows whether it was freed.
    struct Built {
        number: UnsafeCell<usize>,
        _counted: Arc<()>,
    }

    /// The mailbox, and the number of blocks: each holds a count.
    #[derive(Clone)]
    struct Model {
        mailbox: Arc<Mailbox>,
        built: Arc<()>,
    }

    // SAFETY: as for `Shared` in `ahead.rs`.
    unsafe impl Send for Model {}

    /// The number of a block that is left to be freed.
    const LEFT: usize = 77;
    /// The sizes of arrays, which are their numbers here.
    const ARRAY: usize = 80;
    const LARGER_ARRAY: usize = 90;

    impl Model {
        fn start(capacity: usize) -> (Self, thread::JoinHandle<()>) {
            let model = Model {
                mailbox: Arc::new(Mailbox::try_new(capacity, &Source::GLOBAL).unwrap()),
                built: Arc::new(()),
            };
            let helper = model.clone();
            let handle = thread::spawn(move || {
                let build = |number| Some(helper.build(number));
                let free = |start| assert!(Self::free(start) >= LEFT);
                let allocate = |array, size| match array {
                    Array::Stack => Some(helper.build(size)),
                    Array::Table => None,
                };
                (helper.mailbox).serve(0, build, allocate, free, |_| thread::park());
            });
            (model, handle)
        }

        fn build(&self, number: usize) -> NonNull<u8> {
            let block = Box::new(Built {
                number: UnsafeCell::new(usize::MAX),
                _counted: self.built.clone(),
            });
            // SAFETY: not shared yet; loom checks it.
            block.number.with_mut(|place| unsafe { *place = number });
            NonNull::new(Box::into_raw(block).cast()).unwrap()
        }

        fn free(start: NonNull<u8>) -> usize {
            // SAFETY: from `build`, and freed once.
            let block = unsafe { Box::from_raw(start.cast::<Built>().as_ptr()) };
            // SAFETY: no longer shared; loom checks it.
            block.number.with(|place| unsafe { *place })
        }

        fn take(&self, position: usize) -> Option<usize> {
            self.mailbox.take(position).map(Self::free)
        }

        fn leave(&self) {
            if !self.stack().has_left() {
                self.stack().leave(self.build(LEFT));
            }
        }

        fn stack(&self) -> &Handover {
            self.mailbox.array(Array::Stack)
        }

        fn take_array(&self) -> Option<usize> {
            self.stack().take().map(Self::free)
        }

        fn end(self, helper: thread::JoinHandle<()>) {
            self.mailbox.stop();
            helper.thread().unpark();
            helper.join().unwrap();
            for position in 0..self.mailbox.capacity {
                self.take(position);
            }
            self.take_array();
            self.stack().collect().map(Self::free);
            assert_eq!(Arc::strong_count(&self.built), 1, "a block was lost");
        }
    }

    #[test]
    fn loom_building_a_block_happens_before_it_is_taken() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            let mut taken = 0;
            for _ in 0..2 {
                if let Some(number) = model.take(taken) {
                    assert_eq!(number, taken);
                    taken += 1;
                }
                helper.thread().unpark();
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_a_woken_helper_puts_a_block_where_one_was_taken() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            for taken in 0..2 {
                // Waits for ever if a wake-up is lost: loom reports a deadlock
                // or runs out of branches.
                while model.take(taken).is_none() {
                    helper.thread().unpark();
                    thread::yield_now();
                }
                helper.thread().unpark();
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_a_helper_whose_allocator_waits_and_refuses_is_stopped() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::try_new(1, &Source::GLOBAL).unwrap());
            let helpers = Model {
                mailbox: mailbox.clone(),
                built: Arc::new(()),
            };
            let helper = thread::spawn(move || {
                let refuse = |_| {
                    // The allocator's own wait swallows the wake-up.
                    thread::park();
                    None
                };
                let allocate = |_, _| None;
                (helpers.mailbox).serve(0, refuse, allocate, |_| {}, |_| thread::park());
            });
            mailbox.stop();
            helper.thread().unpark();
            helper.join().unwrap();
        });
    }

    #[test]
    fn loom_using_a_block_happens_before_it_is_freed() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            for _ in 0..2 {
                model.leave();
                // Not woken: it finds the block by itself or not at all.
                thread::yield_now();
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_allocating_an_array_happens_before_it_is_taken() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            model.stack().want(ARRAY);
            helper.thread().unpark();
            thread::yield_now();
            if let Some(size) = model.take_array() {
                assert_eq!(size, ARRAY);
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_an_array_is_taken_by_the_owner_or_freed_by_the_helper() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            model.stack().want(ARRAY);
            helper.thread().unpark();
            thread::yield_now();
            // The helper withdraws the one while the owner takes it.
            model.stack().want(LARGER_ARRAY);
            if let Some(size) = model.take_array() {
                assert!(size == ARRAY || size == LARGER_ARRAY);
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_a_woken_helper_frees_an_array_that_is_no_longer_wanted() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            // Each waits for ever if the helper does not do its part.
            model.stack().want(ARRAY);
            while !model.stack().is_ready() {
                helper.thread().unpark();
                thread::yield_now();
            }
            model.stack().want(0);
            while model.stack().is_ready() {
                helper.thread().unpark();
                thread::yield_now();
            }
            model.end(helper);
        });
    }

    #[test]
    fn loom_a_stopped_helper_ends_and_what_it_built_is_found() {
        loom::model(|| {
            let (model, helper) = Model::start(2);
            model.take(0);
            model.end(helper);
        });
    }
}
