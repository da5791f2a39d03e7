//! The memory of a growable slab: a home, a table of chunks, one stack for all
//! of them.
//!
//! A stack and a list of chunks with space for each chunk, the usual way, were
//! measured several times slower under random churn: chunks flip between full
//! and not full at every operation. One stack also gives strict LIFO and a
//! count in O(1).
//!
//! Growth never copies a value. It happens when the stack is empty, so that a
//! larger stack needs no copying either; the cells of the new chunk stay
//! *fresh* — free, but not on the stack — and are pushed a few at a time. What
//! an insert pays for growth is then the building of one chunk.
//!
//! # Invariants
//!
//! * G1: chunk `i` has `1 << shift` cells with the keys from `i << shift`; there
//!   are `chunks` of them, and entry `i` of the table is the *origin* of chunk
//!   `i`: where a cell with key 0 would stand, were the chunk that long.
//! * G2: the fresh cells are those with the keys from `next_fresh` up to
//!   `chunks << shift`.
//! * G3: the stack has room for every cell of every chunk.

use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

use super::cell::CellPtr;
use super::chunk::{Chunk, MAX_SLOTS};
use super::home::{self, ColdFunctions, Home};
use super::memory::Block;
use super::stack::Stack;
use crate::error::AllocError;
use crate::key::Key;

/// The home stands first, so that a pointer to it is one to the whole.
#[repr(C)]
pub(crate) struct GrowableHome {
    home: Home,
    next_fresh: Cell<usize>,
    stack: RefCell<Stack>,
    table: RefCell<Table>,
}

/// Where the chunks are: what a slab keeps beside itself, to find a key's cell
/// without the home.
///
/// Origins, not starts: the cell of a key is its chunk's origin plus the key
/// times the size of a cell, with no mask in between.
#[derive(Clone, Copy)]
pub(crate) struct Chunks {
    /// The origin of each chunk, G1.
    origins: NonNull<*mut u8>,
    /// How many keys there are: chunks times slots of each.
    pub(crate) bound: usize,
}

impl Chunks {
    pub(crate) const NONE: Chunks = Chunks {
        origins: NonNull::dangling(),
        bound: 0,
    };

    /// The cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound, the chunks are of `1 << shift` cells of `T`
    /// each, and none was added since these were asked for.
    #[inline(always)]
    pub(crate) unsafe fn cell<T>(self, shift: u32, key: Key) -> CellPtr<T> {
        // SAFETY: by G1 the table has an entry for the key's chunk, and the
        // chunk a cell at that distance from its origin.
        unsafe {
            let origin = self.origins.add(key.index() >> shift).read();
            let start = origin.wrapping_add(key.index().wrapping_mul(CellPtr::<T>::SIZE));
            CellPtr::new(NonNull::new_unchecked(start))
        }
    }
}

/// The chunks, owned.
struct Table {
    origins: Block,
    chunks: usize,
    /// Of every chunk.
    layout: Layout,
}

impl Table {
    const FIRST_ROOM: usize = 8;

    fn entries(&self) -> NonNull<*mut u8> {
        self.origins.start().cast()
    }

    fn room(&self) -> usize {
        self.origins.layout().size() / size_of::<*mut u8>()
    }

    /// Bytes from the origin of chunk `index` to its start, modulo the address
    /// space: all arithmetic with origins wraps.
    fn distance(&self, index: usize) -> usize {
        index.wrapping_mul(self.layout.size())
    }

    /// Moves the entries into a larger block; the old one comes back.
    fn move_to(&mut self, block: Block) -> Block {
        debug_assert!(block.layout().size() > self.origins.layout().size());
        // SAFETY: the new block is larger than the old one, and distinct.
        unsafe {
            let entries = block.start().cast::<*mut u8>();
            entries.copy_from_nonoverlapping(self.entries(), self.chunks);
        }
        core::mem::replace(&mut self.origins, block)
    }

    fn push(&mut self, chunk: Block) {
        debug_assert!(self.chunks < self.room() && chunk.layout() == self.layout);
        let start = chunk.leak_start().as_ptr();
        let origin = start.wrapping_sub(self.distance(self.chunks));
        // SAFETY: there is room, and the entry is nobody's yet.
        unsafe { self.entries().add(self.chunks).write(origin) };
        self.chunks += 1;
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for index in 0..self.chunks {
            // SAFETY: by G1 each entry leads to the start of a block of this
            // layout, given up in `push`.
            unsafe {
                let origin = self.entries().add(index).read();
                let start = NonNull::new_unchecked(origin.wrapping_add(self.distance(index)));
                drop(Block::from_start(start, self.layout));
            }
        }
    }
}

/// What a slab has outgrown, to be dropped once nobody looks there any more.
#[derive(Default)]
#[must_use = "dropping it frees what the slab may still refer to"]
pub(crate) struct Outgrown {
    _stack: Option<Stack>,
    _origins: Option<Block>,
}

/// Builds a home with no chunk, for chunks of `1 << shift` cells.
///
/// # Errors
///
/// When such a chunk passes the limits, or the allocator refuses.
pub(crate) fn try_new<T>(shift: u32) -> Result<NonNull<GrowableHome>, AllocError> {
    let layout = Chunk::<T>::layout(1 << shift)?;
    let stack = Stack::try_new(0)?;
    let body = GrowableHome {
        home: Home::new(stack.bottom(), 0, ColdFunctions { release }),
        next_fresh: Cell::new(0),
        stack: RefCell::new(stack),
        table: RefCell::new(Table {
            origins: allocate_origins(0)?,
            chunks: 0,
            layout,
        }),
    };
    Block::leak(body).map_err(|(error, _)| error)
}

/// # Safety
///
/// As for [`ColdFunctions::release`]; `home` came from [`try_new`].
unsafe fn release(home: NonNull<Home>) {
    // SAFETY: `try_new` leaked this block, and by L2 nobody uses it any more.
    drop(unsafe { Block::reclaim(home.cast::<GrowableHome>()) });
}

impl GrowableHome {
    /// Where the chunks are now; good until the next [`grow`](Self::grow).
    pub(crate) fn chunks(&self) -> Chunks {
        let table = self.table.borrow();
        Chunks {
            origins: table.entries(),
            bound: self.home.slots(),
        }
    }

    /// Adds a chunk of `1 << shift` fresh cells, and sees to it that the stack
    /// has room for `room` cells at least; O(slots of a chunk), and O(free
    /// cells) more where the stack moves while it is not empty.
    ///
    /// Everything is allocated before anything is changed: a refusal leaves
    /// the slab as it was. And nothing is freed before the caller has taken
    /// note of the change: an allocator may itself use this slab.
    ///
    /// # Errors
    ///
    /// Past the limit of keys, or when the allocator refuses.
    pub(crate) fn grow<T>(&self, shift: u32, room: usize) -> Result<Outgrown, AllocError> {
        let before = self.home.slots();
        let bound = before + (1 << shift);
        if bound > MAX_SLOTS {
            return Err(AllocError::TooManySlots {
                requested: bound,
                limit: MAX_SLOTS,
            });
        }

        let (chunks, table_room) = {
            let table = self.table.borrow();
            (table.chunks, table.room())
        };
        let origins = if chunks < table_room {
            None
        } else {
            Some(allocate_origins((2 * chunks).max(Table::FIRST_ROOM))?)
        };
        let stack_room = self.stack.borrow().capacity();
        let stack = if bound.max(room) <= stack_room {
            None
        } else {
            Some(Stack::try_new(bound.max(room).max(2 * stack_room))?)
        };
        let chunk = Chunk::<T>::try_new(1 << shift, Key::from_raw(before as u32))?;
        if self.home.slots() != before {
            // The allocator has made this slab grow: what was built is not
            // wanted any more, and may not be large enough.
            return Ok(Outgrown::default());
        }

        let stack = stack.map(|stack| self.move_stack_to(stack));
        let mut table = self.table.borrow_mut();
        let origins = origins.map(|block| table.move_to(block));
        table.push(chunk.into_block());
        self.home.add_fresh(1 << shift);
        Ok(Outgrown {
            _stack: stack,
            _origins: origins,
        })
    }

    /// Copies the entries, none in the usual case, into another array; the old
    /// one comes back.
    fn move_stack_to(&self, stack: Stack) -> Stack {
        let old = self.stack.replace(stack);
        let bottom = self.stack.borrow().bottom();
        // SAFETY: the new array has room for more entries than the old one
        // (G3), and is distinct from it.
        unsafe { bottom.copy_from_nonoverlapping(old.bottom(), self.home.depth()) };
        self.home.replace_stack(bottom);
        old
    }

    /// Pushes up to `count` fresh cells, the first of them last, so that keys
    /// are handed out ascending.
    pub(crate) fn refill<T>(&self, shift: u32, count: usize) {
        let first = self.next_fresh.get();
        let count = count.min(self.home.fresh());
        let chunks = self.chunks();
        for index in (first..first + count).rev() {
            // SAFETY: by G1 and G2 the key names a cell of a chunk, free and
            // not on the stack, which has room for it (G3).
            unsafe {
                let cell = chunks.cell::<T>(shift, Key::from_raw(index as u32));
                home::push(NonNull::from(&self.home), cell.start());
            }
        }
        self.next_fresh.set(first + count);
        self.home.take_fresh(count);
    }
}

fn allocate_origins(room: usize) -> Result<Block, AllocError> {
    let too_many = AllocError::TooManyBytes {
        slots: room,
        slot_bytes: size_of::<*mut u8>(),
    };
    Block::allocate(Layout::array::<*mut u8>(room).map_err(|_| too_many)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_past_the_last_key_is_an_error() {
        let home = try_new::<()>(4).unwrap();
        // SAFETY: just made, and ours alone.
        unsafe {
            let body = home.as_ref();
            // As if there were as many chunks as keys; none is looked at.
            body.home.add_fresh(MAX_SLOTS - 15);
            let bound = MAX_SLOTS - 15 + 16;
            assert_eq!(
                body.grow::<()>(4, 0).err(),
                Some(AllocError::TooManySlots {
                    requested: bound,
                    limit: MAX_SLOTS
                })
            );
            home::close(home.cast(), 0);
        }
    }
}
