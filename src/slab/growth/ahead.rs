//! Blocks built ahead: a helper thread builds them and hands them over through
//! a ring of pointers. Taking one is an atomic swap.
//!
//! Building a chunk takes tens of microseconds, most of them page faults: the
//! one spike that growth without copying leaves (BENCHMARKS.md, "Growth").
//! Building it a few cells per insertion instead needs no thread, but moves
//! the faults into every thousandth insertion.
//!
//! Waking a thread is a system call. So when the ring is full the helper naps
//! for some milliseconds, looking every few dozen microseconds, before it
//! sleeps; and it is woken when the ring is half empty, not for each block. An
//! owner that grows without pause then makes no system call.
//!
//! The helper also allocates the arrays that growth needs next, a larger free
//! stack and a larger table of chunks, and frees those that they replace. The
//! owner says which size it will want once the blocks that are ready would not
//! fit into what it has. Inside the insertion, allocating them and touching what
//! is copied took 8 to 75 microseconds, and freeing the stack 40 to 65: system
//! calls in which a process of several threads waits for its other cores.
//!
//! What is built is the owner's business: it gives a function from a block's
//! number to the block. The number is a guess. The owner says which number it
//! expects next; a block already built for another number is still handed
//! over, and the owner tells by its content.
//!
//! # Invariants
//!
//! * R4: a pointer in the ring of the mailbox is a block of `layout`; an array
//!   that is ready or was left begins with its layout. All are from `source`.
//! * R5: the mailbox is freed after the helper has ended, and leaked where
//!   that cannot be known.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::time::Duration;

use crate::error::AllocError;
use crate::raw::atomic::thread;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::slab::growth::array::Array;
use crate::slab::growth::mailbox::Mailbox;

/// How long the helper naps, and how often in a row before it sleeps: some ten
/// milliseconds, with what a system adds to each.
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 100;

const ARRAYS: [Array; 2] = [Array::Stack, Array::Table];

/// Their entries are pointers.
const ARRAY_ALIGN: usize = align_of::<*mut u8>();

/// The owner's end: takes what is ready, and owns the helper.
pub(crate) struct Ahead {
    mailbox: NonNull<Mailbox>,
    /// `None` where it could not be started: then only what is in the ring
    /// comes.
    helper: Option<thread::JoinHandle<()>>,
    /// The process that started the helper: a forked child has none.
    process: u32,
    taken: Cell<usize>,
    layout: Layout,
    source: Source,
}

impl Ahead {
    /// Builds `count` blocks of `layout` with the numbers from `first` on, on
    /// this thread, and starts a helper that keeps as many ready. `build` and what
    /// is [left](Self::leave) take them from `source`, and arrays come from there.
    ///
    /// A system that refuses a thread is no error: when the first blocks are
    /// used up, the owner builds its own.
    ///
    /// # Errors
    ///
    /// When the allocator refuses.
    pub(crate) fn try_new(
        source: &Source,
        layout: Layout,
        count: usize,
        first: usize,
        build: impl Fn(usize) -> Result<Block, AllocError> + Send + 'static,
    ) -> Result<Self, AllocError> {
        let mailbox = Mailbox::try_new(count, source)?;
        let mailbox = Block::leak(mailbox, source).map_err(|(error, _)| error)?;
        let mut ahead = Ahead {
            mailbox,
            helper: None,
            process: std::process::id(),
            taken: Cell::new(0),
            layout,
            source: source.clone(),
        };
        ahead.expect(first);
        for position in 0..count {
            let block = build(first + position)?;
            debug_assert!(block.layout() == layout);
            ahead.mailbox().put(position, block.leak_start());
        }
        let shared = Shared(mailbox);
        let source = source.clone();
        ahead.helper = thread::Builder::new()
            .name("flatslab ahead".into())
            .spawn(move || {
                let shared = shared;
                // SAFETY: by R5 allocated until this thread has ended.
                let mailbox = unsafe { shared.0.as_ref() };
                let build = |number| Some(build(number).ok()?.leak_start());
                let allocate = |array, size| {
                    let layout = Layout::from_size_align(size, ARRAY_ALIGN).ok()?;
                    let block = Block::allocate(layout, &source).ok()?;
                    if array == Array::Table {
                        block.touch();
                    }
                    Some(leak_with_layout(block))
                };
                let pause = |idle| match idle {
                    0..NAPS => thread::sleep(NAP),
                    _ => thread::park(),
                };
                // SAFETY: `serve` passes what it has collected or taken.
                let free = |start| drop(unsafe { with_layout(start, &source) });
                mailbox.serve(count, build, allocate, free, pause);
            })
            .ok();
        Ok(ahead)
    }

    fn mailbox(&self) -> &Mailbox {
        // SAFETY: leaked in `try_new`, reclaimed in `drop` at the earliest.
        unsafe { self.mailbox.as_ref() }
    }

    /// The next block that is ready, if there is one. Allocates nothing.
    pub(crate) fn take(&self) -> Option<Block> {
        let start = self.mailbox().take(self.taken.get());
        if start.is_some() {
            self.taken.set(self.taken.get().wrapping_add(1));
        }
        // Once per half ring, or at once where the ring is empty.
        let half = self.mailbox().capacity().div_ceil(2);
        if start.is_none() || self.taken.get() % half == 0 {
            self.wake();
        }
        // SAFETY: by R1 and R4 a block of this layout, and ours.
        start.map(|start| unsafe { Block::from_start(start, self.layout, &self.source) })
    }

    /// The successor of an array that is ready, if it is of this layout. Allocates
    /// nothing, and leaves one of another layout to the helper.
    pub(crate) fn take_array(&self, array: Array, layout: Layout) -> Option<Block> {
        let start = self.mailbox().array(array).take()?;
        // SAFETY: by R4 and R6 an array that begins with its layout, and ours.
        let block = unsafe { with_layout(start, &self.source) };
        if block.layout() == layout {
            return Some(block);
        }
        self.leave(array, block);
        None
    }

    /// Has the helper keep a successor of this layout ready, or none. It is
    /// aligned for pointers and has room for two. The pages of a table are
    /// touched, of a stack only the first.
    ///
    /// Does not wake the helper: it is awake long enough to see this after each
    /// wake-up for blocks.
    pub(crate) fn want_array(&self, array: Array, layout: Option<Layout>) {
        debug_assert!(layout.is_none_or(|layout| {
            layout.align() == ARRAY_ALIGN && layout.size() >= size_of::<Layout>()
        }));
        let size = layout.map_or(0, |layout| layout.size());
        self.mailbox().array(array).want(size);
    }

    /// Blocks that are kept ready.
    pub(crate) fn count(&self) -> usize {
        self.mailbox().capacity()
    }

    /// Bytes of the blocks and the arrays that are kept ready, and of the ring.
    pub(crate) fn bytes(&self) -> usize {
        let ring = self.count() * (size_of::<*mut u8>() + self.layout.size());
        let arrays = ARRAYS.map(|array| self.mailbox().array(array).wanted());
        size_of::<Mailbox>() + ring + arrays.iter().sum::<usize>()
    }

    /// Has the helper free `block`, an array that was outgrown. Frees it here if
    /// there is no helper, or the previous one is uncollected.
    pub(crate) fn leave(&self, array: Array, block: Block) {
        let layout = block.layout();
        let fits = layout.size() >= size_of::<Layout>() && block.source().is(&self.source);
        // A forked child leaves one to no helper: freed when this is dropped.
        if !fits || self.helper.is_none() || self.mailbox().array(array).has_left() {
            return drop(block);
        }
        self.mailbox().array(array).leave(leak_with_layout(block));
    }

    /// Tells the helper which number the owner gives to the next block.
    pub(crate) fn expect(&self, number: usize) {
        let offset = number.wrapping_sub(self.taken.get());
        self.mailbox().set_offset(offset);
    }

    /// A forked child has the handle of a thread that it does not have.
    fn has_helper(&self) -> bool {
        self.helper.is_some() && std::process::id() == self.process
    }

    /// Wakes the helper, for instance to free what is no longer wanted.
    pub(crate) fn wake(&self) {
        if let Some(helper) = &self.helper {
            helper.thread().unpark();
        }
    }

    /// Waits for the helper, which was told to stop, and says whether it is
    /// known to have ended.
    fn join_helper(&mut self) -> bool {
        let has_helper = self.has_helper();
        let Some(helper) = self.helper.take() else {
            return true;
        };
        if !has_helper {
            // Joining it panics, detaching it fails.
            core::mem::forget(helper);
            return true;
        }
        helper.thread().unpark();
        // The helper runs no user code except the allocator. A panic there is
        // the `Err` of `join` and harms nothing here; `join` itself panics
        // where the system does not know the thread.
        let join = core::panic::AssertUnwindSafe(|| helper.join());
        std::panic::catch_unwind(join).is_ok()
    }

    fn free_what_is_ready(&self) {
        for position in 0..self.mailbox().capacity() {
            if let Some(start) = self.mailbox().take(position) {
                // SAFETY: by R1 and R4 a block of this layout, and ours.
                drop(unsafe { Block::from_start(start, self.layout, &self.source) });
            }
        }
        for array in ARRAYS {
            if let Some(start) = self.mailbox().array(array).take() {
                // SAFETY: by R4 and R6 an array that begins with its layout, and ours.
                drop(unsafe { with_layout(start, &self.source) });
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // First what can be freed whatever becomes of the helper.
        self.mailbox().stop();
        self.free_what_is_ready();
        if !self.join_helper() {
            return;
        }
        self.free_what_is_ready();
        for array in ARRAYS {
            if let Some(start) = self.mailbox().array(array).collect() {
                // SAFETY: as for the helper, which has ended.
                drop(unsafe { with_layout(start, &self.source) });
            }
        }
        // SAFETY: `try_new` leaked it, and the helper has ended (R5).
        drop(unsafe { Block::reclaim(self.mailbox, &self.source) });
    }
}

/// Gives up an unused block, which has room for its layout.
/// [`with_layout`] takes it back.
fn leak_with_layout(block: Block) -> NonNull<u8> {
    let layout = block.layout();
    assert!(layout.size() >= size_of::<Layout>());
    let start = block.leak_start();
    // SAFETY: an unused block with room for a `Layout`.
    unsafe { start.cast().write_unaligned(layout) };
    start
}

/// Takes back an array that was left or ready.
///
/// # Safety
///
/// The caller alone has collected or taken it from the mailbox of an [`Ahead`]
/// of this source.
unsafe fn with_layout(start: NonNull<u8>, source: &Source) -> Block {
    // SAFETY: by R4 it begins with its layout.
    unsafe { Block::from_start(start, start.cast::<Layout>().read_unaligned(), source) }
}

/// The way to the mailbox, for the helper.
struct Shared(NonNull<Mailbox>);

// SAFETY: the mailbox is only used by reference and is `Sync`: atomics, and
// plain numbers that are never written.
unsafe impl Send for Shared {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout::new::<[usize; 8]>();

    /// A block that begins with its number.
    fn build(number: usize) -> Result<Block, AllocError> {
        let block = Block::allocate(LAYOUT, &Source::GLOBAL)?;
        // SAFETY: an unused block of that layout.
        unsafe { block.start().cast::<usize>().write(number) };
        Ok(block)
    }

    fn next(ahead: &Ahead) -> usize {
        loop {
            match ahead.take() {
                // SAFETY: `build` has written a number at the start of the block.
                Some(block) => return unsafe { block.start().cast::<usize>().read() },
                None => thread::yield_now(),
            }
        }
    }

    #[test]
    fn blocks_come_in_the_order_of_their_numbers() {
        let ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 2, 3, build).unwrap();
        for number in 3..20 {
            assert_eq!(next(&ahead), number);
        }
    }

    #[test]
    fn the_helper_follows_the_number_the_owner_expects() {
        let ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 1, 0, build).unwrap();
        ahead.expect(7);
        for position in 0.. {
            // As it was, and sooner or later as it is: nothing hurries the news.
            match next(&ahead) - position {
                0 => assert!(position < 1000, "the helper has not heard of it"),
                7 => break,
                offset => panic!("not an expected number: {position} + {offset}"),
            }
        }
    }

    #[test]
    fn what_is_left_is_freed_by_either_side() {
        let ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 1, 0, build).unwrap();
        for size in [1, size_of::<Layout>(), 100] {
            let layout = Layout::from_size_align(size, 1).unwrap();
            for kind in ARRAYS {
                ahead.leave(kind, Block::allocate(layout, &Source::GLOBAL).unwrap());
            }
        }
        drop(ahead);
    }

    fn array(entries: usize) -> Layout {
        Layout::array::<*mut u8>(entries).unwrap()
    }

    #[test]
    fn an_array_is_ready_after_it_is_wanted_and_no_other_is_taken() {
        let ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 1, 0, build).unwrap();
        for kind in ARRAYS {
            // Too late for the first: the helper frees it, or what is taken is left.
            ahead.want_array(kind, Some(array(5000)));
            ahead.want_array(kind, Some(array(7)));
            let taken = loop {
                assert!(ahead.take_array(kind, array(8)).is_none());
                if let Some(taken) = ahead.take_array(kind, array(7)) {
                    break taken;
                }
                ahead.wake();
                thread::yield_now();
            };
            assert_eq!(taken.layout(), array(7));
            ahead.want_array(kind, None);
            ahead.leave(kind, taken);
        }
    }

    #[test]
    fn an_array_that_is_not_taken_is_freed() {
        for wait in [false, true] {
            let ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 1, 0, build).unwrap();
            for kind in ARRAYS {
                ahead.want_array(kind, Some(array(2)));
            }
            ahead.wake();
            while wait && !ahead.mailbox().array(Array::Table).is_ready() {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn without_a_helper_nothing_is_left_to_it() {
        let mut ahead = Ahead::try_new(&Source::GLOBAL, LAYOUT, 1, 0, build).unwrap();
        ahead.mailbox().stop();
        assert!(ahead.join_helper());
        ahead.leave(Array::Stack, build(7).unwrap());
        assert!(!ahead.mailbox().array(Array::Stack).has_left());
    }
}
