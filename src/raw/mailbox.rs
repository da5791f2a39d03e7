//! What an owner and its helper share: a ring of blocks that are ready, one
//! place for a block to be freed, and the flag to stop.
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
//! * R3: the block that was left, if there is one, has no owner. Only the
//!   owner's thread leaves one, only where there is none.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use super::memory::Block;
use super::source::Source;
use crate::error::AllocError;

/// What both ends share.
pub(super) struct Mailbox {
    /// Blocks that are ready, each at its position modulo the capacity; null
    /// where there is none (R1).
    ring: Block,
    capacity: usize,
    /// A block's number is its position plus this.
    offset: AtomicUsize,
    /// A block to be freed (R3), or null.
    left: AtomicPtr<u8>,
    stopped: AtomicBool,
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
            left: AtomicPtr::new(core::ptr::null_mut()),
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

    pub(super) fn has_block(&self) -> bool {
        // Relaxed: the block itself is not read.
        !self.left.load(Ordering::Relaxed).is_null()
    }

    /// The owner's side of R3: no block is left there now.
    pub(super) fn leave(&self, start: NonNull<u8>) {
        // Release: pairs with the acquire in `collect`.
        self.left.store(start.as_ptr(), Ordering::Release);
    }

    /// The helper's side of R3.
    pub(super) fn collect(&self) -> Option<NonNull<u8>> {
        if !self.has_block() {
            return None;
        }
        // Acquire: pairs with the release in `leave`; the layout is written, and
        // the block is unused.
        NonNull::new(self.left.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    pub(super) fn stop(&self) {
        // Relaxed: the wake-up or join that follows publishes it.
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The helper's loop, until stopped: free, fill, pause. Places are filled
    /// in order from `position` on.
    ///
    /// Where `build` fails it pauses and tries again. `pause` gets the number
    /// of idle rounds in a row. It may return early, and returns at once where
    /// a wake-up came before it.
    pub(super) fn serve(
        &self,
        mut position: usize,
        mut build: impl FnMut(usize) -> Option<NonNull<u8>>,
        mut free: impl FnMut(NonNull<u8>),
        mut pause: impl FnMut(u32),
    ) {
        let mut idle = 0;
        while !self.is_stopped() {
            if let Some(start) = self.collect() {
                free(start);
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

/// `ci/loom.sh`: every way the two threads can meet.
#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    use super::super::atomic::thread;
    use super::*;

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

    impl Model {
        fn start(capacity: usize) -> (Self, thread::JoinHandle<()>) {
            let model = Model {
                mailbox: Arc::new(Mailbox::try_new(capacity, &Source::GLOBAL).unwrap()),
                built: Arc::new(()),
            };
            let helper = model.clone();
            let handle = thread::spawn(move || {
                let build = |number| Some(helper.build(number));
                let free = |start| assert_eq!(Self::free(start), LEFT);
                helper.mailbox.serve(0, build, free, |_| thread::park());
            });
            (model, handle)
        }

        fn build(&self, number: usize) -> NonNull<u8> {
            let block = std::boxed::Box::new(Built {
                number: UnsafeCell::new(usize::MAX),
                _counted: self.built.clone(),
            });
            // SAFETY: not shared yet; loom checks it.
            block.number.with_mut(|place| unsafe { *place = number });
            NonNull::new(std::boxed::Box::into_raw(block).cast()).unwrap()
        }

        fn free(start: NonNull<u8>) -> usize {
            // SAFETY: from `build`, and freed once.
            let block = unsafe { std::boxed::Box::from_raw(start.cast::<Built>().as_ptr()) };
            // SAFETY: no longer shared; loom checks it.
            block.number.with(|place| unsafe { *place })
        }

        fn take(&self, position: usize) -> Option<usize> {
            self.mailbox.take(position).map(Self::free)
        }

        fn leave(&self) {
            if !self.mailbox.has_block() {
                self.mailbox.leave(self.build(LEFT));
            }
        }

        fn end(self, helper: thread::JoinHandle<()>) {
            self.mailbox.stop();
            helper.thread().unpark();
            helper.join().unwrap();
            for position in 0..self.mailbox.capacity {
                self.take(position);
            }
            self.mailbox.collect().map(Self::free);
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
                helpers.mailbox.serve(0, refuse, |_| {}, |_| thread::park());
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
    fn loom_a_stopped_helper_ends_and_what_it_built_is_found() {
        loom::model(|| {
            let (model, helper) = Model::start(2);
            model.take(0);
            model.end(helper);
        });
    }
}
