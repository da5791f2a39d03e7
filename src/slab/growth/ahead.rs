//! Blocks built ahead: a helper thread builds them and hands them over through
//! a ring of pointers. Taking one is an atomic swap.
//!
//! Building a chunk takes tens of microseconds, most of them page faults. This is the only spike
//! that remains when growth copies nothing (BENCHMARKS.md, "Growth"). Building a few cells at each
//! insertion instead needs no thread, but moves the faults into every thousandth insertion.
//!
//! Waking a thread is a system call. So when the ring is full, the helper naps for some
//! milliseconds, and looks every few dozen microseconds, before it sleeps; and it is woken when the
//! ring is half empty, not for each block. An owner that grows without pause then makes no system
//! call.
//!
//! The helper also allocates the arrays that growth needs next, a larger free stack and a larger
//! table of chunks, and frees those that they replace. The owner announces the size that it will
//! want as soon as the blocks that are ready no longer fit into the present arrays. Within the
//! insertion, allocating the arrays and touching the copied part took 8 to 75 microseconds, and
//! freeing the stack 40 to 65: these are system calls in which a process with several threads waits
//! for its other cores.
//!
//! The owner decides how blocks are built: it passes a function from a block's number to the block.
//! The number is a guess. The owner says which number it expects next; a block that was already
//! built for another number is still handed over, and the owner recognises it by its content.
//!
//! The two threads share a [`Mailbox`]: a ring of blocks that are ready, two places for each
//! growing array, and the flag to stop. It does not know the types behind its pointers.
//!
//! # Invariants
//!
//! * `swap-owns-block`: a pointer in the ring is a finished block without an
//!   owner; the side that swaps it out owns it.
//! * `ring-order`: only the owner's thread takes pointers out, only the helper
//!   puts them in, both in the order of positions. (The helper starts after the
//!   ring is first filled and ends before it is dropped.)
//! * `left-array`: the array that was left, if there is one, has no owner. Only
//!   the owner's thread leaves one, and only if the place is empty.
//! * `mailbox-layouts`: a pointer in the ring of the mailbox is a block of
//!   `layout`; an array that is ready or was left begins with its layout. All
//!   are from `source`.
//! * `mailbox-stays`: the mailbox is freed after the helper has ended, and
//!   leaked where that cannot be known.
//! * `swap-owns-array`: the array that is ready, if there is one, has no owner;
//!   the side that swaps it out owns it. Only the helper puts one there, and only if the place is
//!   empty. Both sides take it: the owner to use it, the helper to free one that has another size
//!   than is wanted now.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::time::Duration;

use crate::error::AllocError;
use crate::raw::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, thread};
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::slab::growth::growable_header::Array;

/// How long the helper naps, and how often in a row before it sleeps: about ten milliseconds, with
/// the time that a system adds to each nap.
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 100;

const ARRAYS: [Array; 2] = [Array::Stack, Array::Table];

/// The alignment of the arrays, whose entries are pointers.
const ARRAY_ALIGN: usize = align_of::<*mut u8>();

/// The owner's end: takes what is ready, and owns the helper.
pub(crate) struct Ahead {
    mailbox: NonNull<Mailbox>,
    /// `None` if the thread could not be started: then there are only the blocks in the ring.
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
    /// If the system refuses a thread, that is not an error: when the first blocks are used up, the
    /// owner builds its own.
    ///
    /// # Errors
    ///
    /// If the allocator refuses.
    pub(crate) fn try_new(
        source: &Source,
        layout: Layout,
        count: usize,
        first: usize,
        build: impl Fn(usize) -> Result<Block, AllocError> + Send + 'static,
    ) -> Result<Self, AllocError> {
        let mailbox = Mailbox::try_new(count, source)?;
        let mailbox = NonNull::from(Block::leak(mailbox, source).map_err(|(error, _)| error)?);
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
                // SAFETY: by `mailbox-stays` allocated until this thread has ended.
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

    /// Takes the next block that is ready, if there is one. Does not allocate.
    pub(crate) fn take(&self) -> Option<Block> {
        let block = self.take_at(self.taken.get());
        if block.is_some() {
            self.taken.set(self.taken.get().wrapping_add(1));
        }
        // Once for each half of the ring, or at once if the ring is empty.
        let half = self.mailbox().capacity().div_ceil(2);
        if block.is_none() || self.taken.get() % half == 0 {
            self.wake();
        }
        block
    }

    fn take_at(&self, position: usize) -> Option<Block> {
        let start = self.mailbox().take(position)?;
        // SAFETY: by `swap-owns-block` and `mailbox-layouts` a block of this layout, and ours.
        Some(unsafe { Block::from_start(start, self.layout, &self.source) })
    }

    /// Takes the successor of an array, if it is ready and has this layout. Does not allocate. A
    /// successor of another layout is left to the helper.
    pub(crate) fn take_array(&self, array: Array, layout: Layout) -> Option<Block> {
        let block = self.take_ready(array)?;
        if block.layout() == layout {
            return Some(block);
        }
        self.leave(array, block);
        None
    }

    fn take_ready(&self, array: Array) -> Option<Block> {
        let start = self.mailbox().array(array).take()?;
        // SAFETY: by `mailbox-layouts` and `swap-owns-array` an array that begins with its layout,
        // and ours.
        Some(unsafe { with_layout(start, &self.source) })
    }

    /// Tells the helper to keep a successor of this layout ready, or no successor. The layout is
    /// aligned for pointers and has room for two. The helper touches all pages of a table, but only
    /// the first page of a stack.
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

    /// Returns the number of blocks that are kept ready.
    pub(crate) fn count(&self) -> usize {
        self.mailbox().capacity()
    }

    /// Returns the bytes of the blocks and arrays that are kept ready, and of the ring.
    pub(crate) fn bytes(&self) -> usize {
        let ring = self.count() * (size_of::<*mut u8>() + self.layout.size());
        let arrays = ARRAYS.map(|array| self.mailbox().array(array).wanted());
        size_of::<Mailbox>() + ring + arrays.iter().sum::<usize>()
    }

    /// Leaves `block`, an outgrown array, to the helper to be freed. Frees it here if there is no
    /// helper, or if the previous array is uncollected.
    pub(crate) fn leave(&self, array: Array, block: Block) {
        let layout = block.layout();
        let fits = layout.size() >= size_of::<Layout>() && block.source().is(&self.source);
        // In a forked child no helper collects it: it is freed when this is dropped.
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

    /// Returns `true` if there is a helper. A forked child has the handle of a thread that it does
    /// not have.
    fn has_helper(&self) -> bool {
        self.helper.is_some() && std::process::id() == self.process
    }

    /// Wakes the helper, for instance to free blocks that are no longer wanted.
    pub(crate) fn wake(&self) {
        if let Some(helper) = &self.helper {
            helper.thread().unpark();
        }
    }

    /// Waits for the helper, which was told to stop. Returns whether it is known to have ended.
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
            drop(self.take_at(position));
        }
        for array in ARRAYS {
            drop(self.take_ready(array));
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // First the blocks that can be freed whether or not the helper has ended.
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
        // SAFETY: `try_new` leaked it, and the helper has ended (`mailbox-stays`).
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
    // SAFETY: by `mailbox-layouts` it begins with its layout.
    unsafe { Block::from_start(start, start.cast::<Layout>().read_unaligned(), source) }
}

/// The helper's pointer to the mailbox.
struct Shared(NonNull<Mailbox>);

// SAFETY: the mailbox is only used by reference and is `Sync`: atomics, and
// plain numbers that are never written.
unsafe impl Send for Shared {}

/// The state that both ends share.
struct Mailbox {
    /// Blocks that are ready, each at its position modulo the capacity; null at empty positions
    /// (`swap-owns-block`).
    ring: Block,
    capacity: usize,
    /// A block's number is its position plus this.
    offset: AtomicUsize,
    stack: Handover,
    table: Handover,
    stopped: AtomicBool,
}

/// The successor of an array, and the array itself when it is outgrown.
struct Handover {
    /// Bytes of the successor that is wanted; 0 if no successor is wanted.
    wanted: AtomicUsize,
    /// A successor that is ready (`swap-owns-array`), or null.
    ready: AtomicPtr<u8>,
    /// An array to be freed (`left-array`), or null.
    left: AtomicPtr<u8>,
}

impl Mailbox {
    fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
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

    fn capacity(&self) -> usize {
        self.capacity
    }

    /// From now on a block's number is its position plus `offset`.
    fn set_offset(&self, offset: usize) {
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

    /// The owner's side of `ring-order`. An empty place is only read.
    fn take(&self, position: usize) -> Option<NonNull<u8>> {
        if self.is_empty_at(position) {
            return None;
        }
        // Acquire: pairs with the release in `put`; the block is finished.
        NonNull::new(
            self.slot(position)
                .swap(core::ptr::null_mut(), Ordering::Acquire),
        )
    }

    /// The helper's side of `ring-order`; the place is empty.
    fn put(&self, position: usize, start: NonNull<u8>) {
        // Release: pairs with the acquire in `take`.
        self.slot(position).store(start.as_ptr(), Ordering::Release);
    }

    fn is_empty_at(&self, position: usize) -> bool {
        // Relaxed: the block itself is not read.
        self.slot(position).load(Ordering::Relaxed).is_null()
    }

    fn array(&self, array: Array) -> &Handover {
        match array {
            Array::Stack => &self.stack,
            Array::Table => &self.table,
        }
    }

    fn stop(&self) {
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
    fn serve(
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

    /// Asks for an array of `size` bytes to be kept ready, or for no array if `size` is 0.
    fn want(&self, size: usize) {
        // Relaxed: a wish. The owner checks the size of what it takes.
        self.wanted.store(size, Ordering::Relaxed);
    }

    fn wanted(&self) -> usize {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Both sides of `swap-owns-array`. An empty place is only read.
    fn take(&self) -> Option<NonNull<u8>> {
        if !self.is_ready() {
            return None;
        }
        // Acquire: pairs with the release in `put`; the layout is written, and
        // the pages are touched.
        NonNull::new(self.ready.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    /// The helper's side of `swap-owns-array`; the place is empty.
    fn put(&self, start: NonNull<u8>) {
        // Release: pairs with the acquire in `take`.
        self.ready.store(start.as_ptr(), Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        // Relaxed: the array itself is not read.
        !self.ready.load(Ordering::Relaxed).is_null()
    }

    fn has_left(&self) -> bool {
        // Relaxed: the array itself is not read.
        !self.left.load(Ordering::Relaxed).is_null()
    }

    /// The owner's side of `left-array`: no array is left there now.
    fn leave(&self, start: NonNull<u8>) {
        // Release: pairs with the acquire in `collect`.
        self.left.store(start.as_ptr(), Ordering::Release);
    }

    /// The helper's side of `left-array`.
    fn collect(&self) -> Option<NonNull<u8>> {
        if !self.has_left() {
            return None;
        }
        // Acquire: pairs with the release in `leave`; the layout is written, and
        // the array is unused.
        NonNull::new(self.left.swap(core::ptr::null_mut(), Ordering::Acquire))
    }

    /// One round of the helper: frees the array that was left and a ready array that is no longer
    /// wanted, and allocates the wanted array if none is ready. `size` is the size of the array
    /// that was put there last.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout::new::<[usize; 8]>();

    /// A block that begins with its number.
    fn build(number: usize) -> Result<Block, AllocError> {
        let block = Block::allocate(LAYOUT, &Source::GLOBAL)?;
        // SAFETY: the block has room for a `usize`, and nothing else uses it yet.
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
            // The old offset at first, and the new one at some point: the store is relaxed.
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
            // The helper may already have built the first one: it frees it, or the array is left.
            ahead.want_array(kind, Some(array(5000)));
            ahead.want_array(kind, Some(array(7)));
            // Once: an array of another layout is not kept for the next call.
            while !ahead.mailbox().array(kind).is_ready() {
                ahead.wake();
                thread::yield_now();
            }
            assert!(ahead.take_array(kind, array(8)).is_none());
            let taken = loop {
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
            // SAFETY: the block is not shared before its pointer is returned; loom checks it.
            block.number.with_mut(|place| unsafe { *place = number });
            NonNull::new(Box::into_raw(block).cast()).unwrap()
        }

        fn free(start: NonNull<u8>) -> usize {
            // SAFETY: `build` leaked it from a box of this type, and the thread that takes it frees it
            // once.
            let block = unsafe { Box::from_raw(start.cast::<Built>().as_ptr()) };
            // SAFETY: the box is the only owner, so no thread writes to it any more; loom checks
            // it.
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
