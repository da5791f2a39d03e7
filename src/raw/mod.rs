//! The raw layer: memory, chunks, free lists, threads. It knows no family and no
//! type of a user's; all imports point downwards.
//!
//! | file | offers | to |
//! |---|---|---|
//! | `memory.rs` | [`Block`](memory::Block): memory of our own, with its layout and source | every family |
//! | `source.rs` | [`Source`](source::Source): the global allocator, the system's pages or a user's memory; the one door to them | every family |
//! | `pages.rs` | what can be asked of pages, and what may be missing | `memory/`, `system.rs` |
//! | `system.rs`, `mapping.rs`, `regions.rs`, `sizes.rs`, `policy.rs` | pages of Linux: mapped, cut into blocks, reported on | `source.rs` |
//! | `stack.rs` | [`FreeStack`](stack::FreeStack): LIFO of pointers to free cells; pop, push, refill, replace the array | slabs; pools; byte arenas |
//! | `copy.rs` | copies of few bytes, in line | arenas |
//! | `row.rs` | [`Row`](row::Row): a growable array of plain records | byte arenas; epochs |
//! | `links.rs` | [`Links`](links::Links): a LIFO through the free cells, without memory of its own | pools |
//! | `segment.rs` | [`Geometry`](segment::Geometry): cells in aligned segments, whose address leads to a header | pools |
//! | `touch.rs` | writing to every page | `memory.rs`; slabs; pools; arenas |
//! | `report.rs` | [`Report`](report::Report): what memory was obtained | every family |
//! | `prefetch.rs` | a hint to the processor | slabs; pools |
//! | `chunk.rs` | chunks of equal cells by [`Layout`](core::alloc::Layout), touched; [`LooseChunks`](chunk::LooseChunks): chunks without an owner | slabs, those of `sync/` and `epoch/` among them |
//! | `ahead.rs` | [`Ahead`](ahead::Ahead): a helper thread that keeps blocks of one layout built, what they contain is the owner's function, and the next of each growing array | the tracked slab that grows |
//! | `returns.rs` | [`Returns`](returns::Returns): a stack that any thread pushes to and its owner takes whole, and the count of what is out when the owner goes | slabs; byte arenas of threads |
//! | `mailbox.rs` | the hand-over between an owner and its helper, with the loom models | `ahead.rs` |
//! | `free_map/` | [`FreeMap`](free_map::FreeMap): the free cells of a container that threads share | `sync/` |
//! | `atomic.rs` | atomics and threads, or loom's | whatever shares memory between threads |
//! | `counted.rs` | atomics that count their changes | tests |
//!
//! # Invariants
//!
//! Each file names its own: M in `memory.rs`, O in `source.rs`, Y in `system.rs`, Z in
//! `mapping.rs`, G in
//! `regions.rs`, F in `stack.rs`, T in `row.rs`, K in `links.rs`, N in `segment.rs`, Q in
//! `returns.rs`, R in `mailbox.rs` and `ahead.rs`, B in `free_map/`.

#[cfg(feature = "std")]
pub(crate) mod ahead;
pub(crate) mod atomic;
#[cfg(feature = "alloc")]
pub(crate) mod chunk;
#[cfg(feature = "alloc")]
pub(crate) mod copy;
#[cfg(all(test, not(loom), feature = "alloc", target_has_atomic = "64"))]
pub(crate) mod counted;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub(crate) mod free_map;
pub(crate) mod links;
#[cfg(feature = "std")]
mod mailbox;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
mod mapping;
#[cfg(feature = "alloc")]
pub(crate) mod memory;
#[cfg_attr(
    not(feature = "alloc"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "errors name what only builders ask for"
    )
)]
pub(crate) mod pages;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
mod policy;
pub(crate) mod prefetch;
#[cfg(any(
    all(test, feature = "alloc"),
    all(feature = "os-memory", target_os = "linux")
))]
mod regions;
#[cfg(feature = "alloc")]
pub(crate) mod report;
#[cfg(feature = "alloc")]
pub(crate) mod returns;
#[cfg(feature = "alloc")]
pub(crate) mod row;
#[cfg_attr(
    not(feature = "alloc"),
    allow(dead_code, reason = "cells in a storage have no headers")
)]
pub(crate) mod segment;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
mod sizes;
#[cfg(feature = "alloc")]
pub(crate) mod source;
#[cfg(feature = "alloc")]
pub(crate) mod stack;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
pub(crate) mod system;
pub(crate) mod touch;
#[cfg(all(test, loom))]
pub(crate) mod witness;
