//! One cell and what happens to it: its state, its layout, its header, the steps
//! of those who hold it, and the walk over all cells of a slab.
//!
//! | file | what |
//! |---|---|
//! | `state.rs`, `layout.rs` | the state word: questions and steps, a named function each; where stamp and value are in a cell |
//! | `header.rs` | what a handle points back to: stack, counts, release |
//! | `place.rs`, `owner.rs` | a cell with its header: every event of the state table |
//! | `cells.rs`, `walk.rs`, `sent.rs`, `check.rs` | from a key to its cell; what is done to every cell; cells whose value another thread has; the invariants, for tests |
//!
//! # Invariants of the slabs
//!
//! * L1: a cell that is not free stays allocated, and its header with it: a
//!   handle, a value, a guard, a box or a running destructor is on it. While the
//!   slab lives its header stays, and every key below its bound leads to a stamped
//!   cell.
//! * L2: a closed header's `remaining` is the number of its cells that are not
//!   free; the holder that takes it to zero releases the block, and was the
//!   last. Cells that were sent to other threads are counted by the return stack,
//!   and all others together are one of those.
//! * L3: user code (closures, destructors, and the allocator, which may use the
//!   slab it serves) runs only before or after a whole step, never within one.
//!   What it may have changed is read again after it.
//!
//! Each file adds its own: S in `state.rs`, V in `layout.rs`, H in `header.rs`, P in
//! `place.rs`, W in `walk.rs`, X in `sent.rs`; T, G and R in `growth/`. Those of the free
//! stack are cited, too: F in `raw/stack.rs`. `check.rs` walks those that can be walked, and
//! tests call it after every step.

pub(crate) mod cells;
#[cfg(any(test, fuzzing))]
pub(crate) mod check;
pub(crate) mod header;
pub(crate) mod layout;
mod owner;
pub(crate) mod place;
pub(crate) mod sent;
pub(crate) mod state;
pub(crate) mod walk;
