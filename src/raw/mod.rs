//! The raw layer: memory, chunks, free lists, threads. It knows no family and no
//! type of a user's; all imports point downwards.
//!
//! | file | offers | to |
//! |---|---|---|
//! | `memory.rs` | [`Block`](memory::Block): memory of our own, with its layout; the one door to the allocator | every family |
//! | `stack.rs` | [`FreeStack`](stack::FreeStack): LIFO of pointers to free cells; pop, push, refill, replace the array | slabs; pools |
//! | `chunk.rs` | chunks of equal cells by [`Layout`](core::alloc::Layout), touched; [`LooseChunks`](chunk::LooseChunks): chunks without an owner | slabs; pools, byte arenas and epochs, whose chunks have a header, which is a larger `Layout` |
//! | `ahead.rs` | [`Ahead`](ahead::Ahead): a helper thread that keeps blocks of one layout built; what they contain is the owner's function | whatever grows by chunks |
//! | `mailbox.rs` | the hand-over between an owner and its helper, with the loom models | `ahead.rs` |
//! | `atomic.rs` | atomics and threads, or loom's | whatever shares memory between threads |
//!
//! # Invariants
//!
//! Each file names its own: M in `memory.rs`, F in `stack.rs`, R in `mailbox.rs`
//! and `ahead.rs`.

#[cfg(feature = "std")]
pub(crate) mod ahead;
#[cfg(feature = "std")]
mod atomic;
pub(crate) mod chunk;
#[cfg(feature = "std")]
mod mailbox;
pub(crate) mod memory;
pub(crate) mod stack;
