//! Chunks built ahead: a helper thread allocates, touches and stamps them, and
//! hands them over through a ring of pointers. To take one is a swap.
//!
//! Building a chunk takes tens of microseconds, most of them page faults: the
//! one spike that growth without copying has left (BENCHMARKS.md, "Growth").
//! Building it a few cells per insertion instead would need no thread, but
//! moves the faults into every thousandth insertion.
//!
//! Waking a thread is a system call. So the helper, when the ring is full, naps
//! for some milliseconds, looking every few dozen microseconds, before it sleeps
//! for good; and a sleeping one is woken when the ring is half empty, not for
//! each chunk. A slab that grows without pause then makes no system call. It
//! knows nothing of `T` and touches no cell of the slab: what it gives away it
//! never looks at again.
//!
//! What growth gives back, the free stack that has become too small, goes the
//! other way: to free it inside the insertion took 40 to 65 microseconds, a system
//! call in which a process of several threads waits for its other cores.
//!
//! A chunk is stamped for the number the slab is expected to give it. Where the
//! slab has grown or shrunk otherwise meanwhile, the number is another, and the
//! slab stamps it anew; it is told which by the key of the first cell.
//!
//! # Invariants
//!
//! * R4: a pointer in the ring of the mailbox is a chunk of the blueprint; the
//!   block that was left begins with its layout.
//! * R5: the mailbox is freed behind the helper's end.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::time::Duration;

use super::atomic::thread;
use super::chunk::{self, MAX_SLOTS};
use super::mailbox::Mailbox;
use super::memory::Block;
use crate::error::AllocError;
use crate::key::Key;

/// How long the helper naps, and how often in a row before it sleeps: some ten
/// milliseconds, with what a system adds to each.
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 100;

/// How chunks are built, without the type of their values.
#[derive(Clone, Copy)]
pub(crate) struct Blueprint {
    layout: Layout,
    shift: u32,
    stamp: unsafe fn(NonNull<u8>, u32, usize),
}

impl Blueprint {
    /// Of chunks of `1 << shift` cells of `T`.
    ///
    /// # Errors
    ///
    /// When such a chunk passes the limits.
    pub(crate) fn new<T>(shift: u32) -> Result<Self, AllocError> {
        Ok(Blueprint {
            layout: chunk::layout::<T>(1 << shift)?,
            shift,
            stamp: stamp::<T>,
        })
    }

    /// The numbers that chunks can have.
    fn limit(&self) -> usize {
        MAX_SLOTS >> self.shift
    }

    /// A chunk with the keys of this number, or, past the last, of that; every
    /// page touched.
    ///
    /// # Errors
    ///
    /// When the allocator refuses.
    fn build(&self, number: usize) -> Result<Block, AllocError> {
        // The number is a guess: where a slab is full of chunks the next fills
        // a hole.
        let number = number.min(self.limit() - 1);
        let block = chunk::allocate(self.layout)?;
        // SAFETY: a block of this layout, nobody's yet.
        unsafe { (self.stamp)(block.start(), self.shift, number) };
        Ok(block)
    }
}

/// # Safety
///
/// As for [`chunk::stamp_all`], with `1 << shift` slots.
unsafe fn stamp<T>(start: NonNull<u8>, shift: u32, number: usize) {
    let first = (number << shift) as u32;
    // SAFETY: says the caller.
    unsafe { chunk::stamp_all::<T>(start, 1 << shift, |local| Key::from_raw(first + local)) };
}

/// The slab's end: takes what is ready, and owns the helper.
pub(crate) struct Spares {
    mailbox: NonNull<Mailbox>,
    /// `None` where it could not be started: what is in the ring is all then.
    helper: Option<thread::JoinHandle<()>>,
    taken: Cell<usize>,
    blueprint: Blueprint,
}

impl Spares {
    /// Builds `count` chunks with the numbers from `first` on, on this thread,
    /// and starts a helper that keeps them that many.
    ///
    /// That the system refuses a thread is no error: growth falls back to
    /// building, when those are used up.
    ///
    /// # Errors
    ///
    /// When there cannot be so many, or the allocator refuses.
    pub(crate) fn try_new(
        blueprint: Blueprint,
        count: usize,
        first: usize,
    ) -> Result<Self, AllocError> {
        if count > blueprint.limit() {
            return Err(AllocError::TooManySlots {
                requested: count.saturating_mul(1 << blueprint.shift),
                limit: MAX_SLOTS,
            });
        }
        let mailbox = Block::leak(Mailbox::try_new(count)?).map_err(|(error, _)| error)?;
        let mut spares = Spares {
            mailbox,
            helper: None,
            taken: Cell::new(0),
            blueprint,
        };
        spares.expect(first);
        for position in 0..count {
            let block = blueprint.build(first + position)?;
            spares.mailbox().put(position, block.leak_start());
        }
        let shared = Shared(mailbox);
        spares.helper = thread::Builder::new()
            .name("flatslab spares".into())
            .spawn(move || {
                let shared = shared;
                // SAFETY: by R5 alive until this thread has ended.
                let mailbox = unsafe { shared.0.as_ref() };
                let build = |number| Some(blueprint.build(number).ok()?.leak_start());
                let pause = |idle| match idle {
                    0..NAPS => thread::sleep(NAP),
                    _ => thread::park(),
                };
                // SAFETY: collected by the helper, which is this.
                let free = |start| unsafe { free_left(start) };
                mailbox.serve(count, build, free, pause);
            })
            .ok();
        Ok(spares)
    }

    fn mailbox(&self) -> &Mailbox {
        // SAFETY: leaked in `try_new`, reclaimed in `drop`.
        unsafe { self.mailbox.as_ref() }
    }

    /// The next chunk that is ready, if one is; allocates nothing. Its cells
    /// are free ones, with the keys of some number.
    pub(crate) fn take(&self) -> Option<Block> {
        let start = self.mailbox().take(self.taken.get());
        if start.is_some() {
            self.taken.set(self.taken.get().wrapping_add(1));
        }
        // Half a ring at a time, or at once where there is nothing left.
        let half = self.mailbox().capacity().div_ceil(2);
        if start.is_none() || self.taken.get() % half == 0 {
            self.wake();
        }
        // SAFETY: by R1 and R4 a chunk of this layout, and ours.
        start.map(|start| unsafe { Block::from_start(start, self.blueprint.layout) })
    }

    /// Has the helper free a block, or frees it here where that one has not come
    /// for the last.
    pub(crate) fn leave(&self, block: Block) {
        let layout = block.layout();
        if layout.size() < size_of::<Layout>() || self.mailbox().has_block() {
            return drop(block);
        }
        let start = block.leak_start();
        // SAFETY: a block with room for that, nobody's any more.
        unsafe { start.cast().write_unaligned(layout) };
        self.mailbox().leave(start);
    }

    /// Tells the helper which number the slab gives to the next chunk.
    pub(crate) fn expect(&self, number: usize) {
        let offset = number.wrapping_sub(self.taken.get());
        self.mailbox().set_offset(offset);
    }

    fn wake(&self) {
        if let Some(helper) = &self.helper {
            helper.thread().unpark();
        }
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.mailbox().stop();
        self.wake();
        if let Some(helper) = self.helper.take() {
            // It runs no user code but the allocator. If that has panicked
            // there, the thread is gone, and this one none the worse.
            let _ = helper.join();
        }
        let layout = self.blueprint.layout;
        for position in 0..self.mailbox().capacity() {
            if let Some(start) = self.mailbox().take(position) {
                // SAFETY: by R1 and R4 a chunk of this layout, and ours.
                drop(unsafe { Block::from_start(start, layout) });
            }
        }
        if let Some(start) = self.mailbox().collect() {
            // SAFETY: as for the helper, which has ended.
            unsafe { free_left(start) };
        }
        // SAFETY: `try_new` leaked it, and the helper has ended (R5).
        drop(unsafe { Block::reclaim(self.mailbox) });
    }
}

/// Frees a block that was left.
///
/// # Safety
///
/// It was [collected](Mailbox::collect), and nobody else did.
unsafe fn free_left(start: NonNull<u8>) {
    // SAFETY: by R4 it begins with its layout.
    drop(unsafe { Block::from_start(start, start.cast::<Layout>().read_unaligned()) });
}

/// The way to the mailbox, for the helper.
struct Shared(NonNull<Mailbox>);

// SAFETY: the mailbox is used by reference alone and is `Sync`: a ring of
// atomics, three more, and plain numbers that nobody writes.
unsafe impl Send for Shared {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::raw::chunk::cell_at;

    fn first_key(chunk: &Block) -> Key {
        // SAFETY: a chunk of `u64` cells, stamped.
        unsafe { cell_at::<u64>(chunk.start(), 0).key() }
    }

    #[test]
    fn chunks_come_in_the_order_of_their_numbers() {
        let spares = Spares::try_new(Blueprint::new::<u64>(2).unwrap(), 2, 3).unwrap();
        for number in 3..20 {
            let chunk = loop {
                match spares.take() {
                    Some(chunk) => break chunk,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(first_key(&chunk), Key::from_raw(number << 2));
        }
    }

    #[test]
    fn the_helper_follows_the_number_the_slab_expects() {
        let spares = Spares::try_new(Blueprint::new::<u64>(2).unwrap(), 1, 0).unwrap();
        spares.expect(7);
        for position in 0.. {
            let chunk = loop {
                match spares.take() {
                    Some(chunk) => break chunk,
                    None => thread::yield_now(),
                }
            };
            // As it was, and sooner or later as it is: nothing hurries the news.
            match (first_key(&chunk).index() >> 2) - position {
                0 => assert!(position < 1000, "the helper has not heard of it"),
                7 => break,
                offset => panic!("nobody expects {offset}"),
            }
        }
    }

    #[test]
    fn more_spares_than_keys_are_an_error() {
        let blueprint = Blueprint::new::<u64>(10).unwrap();
        for count in [1 << 20, usize::MAX] {
            let error = Spares::try_new(blueprint, count, 0).err();
            assert!(matches!(error, Some(AllocError::TooManySlots { .. })));
        }
        // The guess is past the last: of that one, then.
        let chunk = blueprint.build(usize::MAX).unwrap();
        let last = ((MAX_SLOTS >> 10) - 1) << 10;
        assert_eq!(first_key(&chunk).index(), last);
    }
}
