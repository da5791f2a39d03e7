//! The raw layer: memory, chunks, free lists, threads. It knows no family and no
//! type of a user's; all imports point downwards.
//!
//! | file | offers | to |
//! |---|---|---|
//! | `memory.rs` | [`Block`](memory::Block): memory of our own, with its layout and source | every family |
//! | `source.rs` | [`Source`](source::Source): the global allocator, the system's pages or a user's memory; the one door to them | every family |
//! | `pages/` | what can be asked of the system's pages; those of Linux: mapped, cut into blocks, reported on | `source.rs`, `report.rs`, `memory/` |
//! | `borrow.rs` | [`Guard`](borrow::Guard): a guard of a value or a part, over how its borrow ends | slabs; epochs |
//! | `cell.rs` | [`CellPtr`](cell::CellPtr): a cell of a value and a stamp, and where both are in it | slabs; slabs of several threads |
//! | `stack.rs` | [`FreeStack`](stack::FreeStack): LIFO of pointers to free cells; pop, push, refill, replace the array | slabs; pools; byte arenas |
//! | `copy.rs` | copies of few bytes, in line | arenas |
//! | `filling.rs` | [`Filling`](filling::Filling): bytes of one owner that are being filled | byte arenas; rings of two threads |
//! | `held.rs` | a value on its way to a cold function | arenas; pools; slabs |
//! | `deque.rs` | [`Deque`](deque::Deque): a growable double-ended queue of records | key slabs with checkpoints |
//! | `row.rs` | [`Row`](row::Row): a growable array of plain records | byte arenas; epochs; key slabs with checkpoints |
//! | `to_the_end.rs` | what is done to the end, whatever a destructor does | `deque.rs`; key slabs with checkpoints |
//! | `touch.rs` | writing to every page; hints to the processor | `memory.rs`; slabs; pools; arenas; rings of two threads |
//! | `poison.rs` | in debug builds, a pattern for the bytes of freed values | slabs; key slabs; pools |
//! | `refused.rs` | what is done for a chunk that is refused, in the place of idle ones | byte arenas; epochs |
//! | `report.rs` | [`Report`](report::Report): what memory was obtained | every family |
//! | `chunk.rs` | chunks of equal cells by [`Layout`](core::alloc::Layout), touched | slabs, those of `sync/` and `epoch/` among them |
//! | `returns.rs` | [`Returns`](returns::Returns): a stack that any thread pushes to and its owner takes whole, and the count of what is out when the owner goes | slabs; byte arenas of threads |
//! | `packed.rs` | [`Word`](packed::Word): several numbers in one word | `returns.rs` and those it serves |
//! | `this_thread.rs` | a number for each thread | `returns.rs`; rings of two threads |
//! | `atomic.rs` | atomics and threads, or loom's | whatever shares memory between threads |

#[cfg_attr(
    not(all(feature = "tracked", feature = "arenas", feature = "threads")),
    allow(unused_imports, reason = "each family has its own")
)]
pub(crate) mod atomic;
#[cfg(any(feature = "tracked", feature = "arenas"))]
pub(crate) mod borrow;
#[cfg(any(feature = "tracked", feature = "threads"))]
pub(crate) mod cell;
#[cfg(feature = "alloc")]
pub(crate) mod chunk;
#[cfg(any(feature = "arenas", feature = "threads"))]
pub(crate) mod copy;
#[cfg(feature = "alloc")]
pub(crate) mod deque;
#[cfg(any(feature = "arenas", feature = "threads"))]
pub(crate) mod filling;
pub(crate) mod held;
#[cfg(feature = "alloc")]
pub(crate) mod memory;
#[cfg(any(feature = "tracked", feature = "arenas"))]
pub(crate) mod packed;
pub(crate) mod pages;
pub(crate) mod poison;
#[cfg(feature = "arenas")]
pub(crate) mod refused;
#[cfg(feature = "alloc")]
pub(crate) mod report;
#[cfg(any(feature = "tracked", feature = "arenas"))]
pub(crate) mod returns;
#[cfg(feature = "alloc")]
pub(crate) mod row;
#[cfg(feature = "alloc")]
pub(crate) mod source;
#[cfg(feature = "alloc")]
pub(crate) mod stack;
#[cfg(any(feature = "tracked", feature = "arenas", feature = "threads"))]
pub(crate) mod this_thread;
#[cfg(feature = "alloc")]
pub(crate) mod to_the_end;
pub(crate) mod touch;
#[cfg(all(test, loom))]
pub(crate) mod witness;
