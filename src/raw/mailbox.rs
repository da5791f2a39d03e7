//! What a slab and its helper share: a ring of chunks that are ready, one place
//! for a block to be freed, and the word to stop.
//!
//! It knows nothing of what the pointers lead to; `spares.rs` does.
//!
//! # Invariants
//!
//! * R1: a pointer in the ring is a chunk, built whole and nobody's; whoever
//!   swaps it out owns it.
//! * R2: only the slab's thread takes pointers out, only the helper puts them
//!   in, both in the order of positions. (When the ring is made it has no
//!   helper yet, and when it goes it has none any more.)
//! * R3: the block that was left, if there is one, is nobody's; only the slab's
//!   thread leaves one, only where there is none.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use super::memory::Block;
use crate::error::AllocError;

/// What both ends share.
pub(super) struct Mailbox {
    /// Chunks that are ready, each at its position modulo the capacity; null
    /// where there is none (R1).
    ring: Block,
    capacity: usize,
    /// The number of the chunk at a position is the position and this.
    offset: AtomicUsize,
    /// A block to be freed (R3), or null.
    left: AtomicPtr<u8>,
    stopped: AtomicBool,
}

impl Mailbox {
    pub(super) fn try_new(capacity: usize) -> Result<Self, AllocError> {
        let layout =
            Layout::array::<AtomicPtr<u8>>(capacity).map_err(|_| AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<AtomicPtr<u8>>(),
            })?;
        let ring = Block::allocate(layout)?;
        for index in 0..capacity {
            // SAFETY: within the block, which is nobody's yet.
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

    /// The number of the chunk at a position is the position and this.
    pub(super) fn set_offset(&self, offset: usize) {
        // Relaxed: a guess, which the slab checks.
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

    /// The slab's side of R2. An empty place is only looked at.
    pub(super) fn take(&self, position: usize) -> Option<NonNull<u8>> {
        if self.is_empty_at(position) {
            return None;
        }
        // Acquire: pairs with the release in `put`; the chunk is whole.
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
        // Relaxed: of a chunk that stands or stood here nothing is looked at.
        self.slot(position).load(Ordering::Relaxed).is_null()
    }

    pub(super) fn has_block(&self) -> bool {
        // Relaxed: of a block that stands or stood here nothing is looked at.
        !self.left.load(Ordering::Relaxed).is_null()
    }

    /// The slab's side of R3; there is none.
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
        // nobody uses the block any more.
        NonNull::new(self.left.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    pub(super) fn stop(&self) {
        // Relaxed: whoever is woken or joined behind this sees it.
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// What the helper does: frees what was left, fills every empty place from
    /// `position` on, pauses, and once more, until it is stopped.
    ///
    /// Where `build` fails it pauses too, and tries again then. `pause` is told
    /// how often in a row there was nothing to do; it may return early, and
    /// returns at once where a wake-up came before.
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
                // Relaxed: a guess, which the slab checks.
                build(position.wrapping_add(self.offset.load(Ordering::Relaxed)))
            } else {
                None
            };
            if let Some(start) = built {
                self.put(position, start);
                position = position.wrapping_add(1);
                idle = 0;
            } else if !self.is_stopped() {
                // Asked again, for the allocator may have waited for something
                // itself and so have swallowed the wake-up that ends this.
                pause(idle);
                idle = idle.saturating_add(1);
            }
        }
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test --release --lib loom`: every way the two
/// threads can meet.
#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    use super::super::atomic::thread;
    use super::*;

    /// A chunk of the model: what the helper has written, and whether it was
    /// freed.
    struct Chunk {
        number: UnsafeCell<usize>,
        _counted: Arc<()>,
    }

    /// What both ends share, and how many chunks there are: each holds a count.
    #[derive(Clone)]
    struct Model {
        mailbox: Arc<Mailbox>,
        chunks: Arc<()>,
    }

    // SAFETY: as for `Shared`.
    unsafe impl Send for Model {}

    /// The number of a chunk that is left to be freed.
    const LEFT: usize = 77;

    impl Model {
        fn start(capacity: usize) -> (Self, thread::JoinHandle<()>) {
            let model = Model {
                mailbox: Arc::new(Mailbox::try_new(capacity).unwrap()),
                chunks: Arc::new(()),
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
            let chunk = std::boxed::Box::new(Chunk {
                number: UnsafeCell::new(usize::MAX),
                _counted: self.chunks.clone(),
            });
            // SAFETY: nobody else has it yet; loom looks.
            chunk.number.with_mut(|place| unsafe { *place = number });
            NonNull::new(std::boxed::Box::into_raw(chunk).cast()).unwrap()
        }

        fn free(start: NonNull<u8>) -> usize {
            // SAFETY: from `build`, and freed once.
            let chunk = unsafe { std::boxed::Box::from_raw(start.cast::<Chunk>().as_ptr()) };
            // SAFETY: nobody writes to it any more; loom looks.
            chunk.number.with(|place| unsafe { *place })
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
            assert_eq!(Arc::strong_count(&self.chunks), 1, "a chunk was lost");
        }
    }

    #[test]
    fn loom_building_a_chunk_happens_before_it_is_taken() {
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
    fn loom_a_woken_helper_puts_a_chunk_where_one_was_taken() {
        loom::model(|| {
            let (model, helper) = Model::start(1);
            for taken in 0..2 {
                // Waits for ever if a wake-up is lost: loom calls it a deadlock
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
            let mailbox = Arc::new(Mailbox::try_new(1).unwrap());
            let helpers = Model {
                mailbox: mailbox.clone(),
                chunks: Arc::new(()),
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
