//! The memory of a bounded slab: a home, one chunk, one stack.

use core::ptr::NonNull;

use super::chunk::{self, cell_at};
use super::home::{self, ColdFunctions, Home};
use super::memory::Block;
use super::stack::Stack;
use crate::error::AllocError;
use crate::key::Key;

/// The home stands first, so that a pointer to it is one to the whole.
#[repr(C)]
struct BoundedHome {
    home: Home,
    cells: Block,
    stack: Stack,
}

/// Builds a home with `capacity` free cells, all memory touched and every cell
/// on the stack, ascending. Returns it with the start of its cells.
///
/// # Errors
///
/// Past the limits, or when the allocator refuses; nothing is leaked then.
pub(crate) fn try_new<T>(capacity: usize) -> Result<(NonNull<Home>, NonNull<u8>), AllocError> {
    let chunk = chunk::allocate(chunk::layout::<T>(capacity)?)?;
    let stack = Stack::try_new(capacity)?;
    let cells = chunk.start();
    // SAFETY: laid out for so many cells, and nobody has seen them.
    unsafe { chunk::stamp_all::<T>(cells, capacity, Key::from_raw) };
    let body = BoundedHome {
        home: Home::new(stack.bottom(), capacity, ColdFunctions { release }),
        cells: chunk,
        stack,
    };
    let home = Block::leak(body)
        .map_err(|(error, _)| error)?
        .cast::<Home>();
    // SAFETY: nobody else has seen the home; every cell is free and fresh, and
    // pushed once, the last first. That touches every page of the stack too.
    unsafe {
        for index in (0..capacity).rev() {
            home::push(home, cell_at::<T>(cells, index).start());
        }
        home.as_ref().take_fresh(capacity);
    }
    Ok((home, cells))
}

/// # Safety
///
/// As for [`ColdFunctions::release`]; `home` came from [`try_new`].
unsafe fn release(home: NonNull<Home>) {
    // SAFETY: `try_new` leaked this block, and by L2 nobody uses it any more.
    drop(unsafe { Block::reclaim(home.cast::<BoundedHome>()) });
}
