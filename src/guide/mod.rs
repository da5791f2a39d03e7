//! A guide in pages of one topic each: which type to use, how to move a program over, programs
//! built step by step, and how to run them.
//!
//! | you want to | read |
//! |---|---|
//! | find the type for your values | [`choosing`] |
//! | look up a name of another crate | [`names`] |
//! | move a program from the crate `slab` | [`from_slab`] |
//! | move a program from `slotmap` | [`from_slotmap`] |
//! | move a program from `nexus-slab` | [`from_nexus_slab`] |
//! | move a program from `bumpalo` | [`from_bumpalo`] |
//! | replace a `Box` | [`from_box`] |
//! | move a program from `nexus-collections` | [`from_nexus_collections`] |
//! | move a program from `intrusive-collections` | [`from_intrusive_collections`] |
//! | move a program from `lru` | [`from_lru`] |
//! | replace a pool that you wrote: a `Vec`, a stack of free indices and a number | [`from_your_own_pool`] |
//! | build an order book: price levels, and orders that are cancelled by id | [`order_book`] |
//! | keep a cache | [`lru_cache`] |
//! | start and stop timers | [`timers`] |
//! | find values by an id that comes from outside | [`id_table`] |
//! | keep a server's connections | [`connections`] |
//! | allocate nothing in a game's frame or an audio callback | [`frames`] |
//! | use slabs and pools without an allocator | [`firmware`] |
//! | set up a Linux machine for low latency | [`linux`] |
//! | pass values between threads, and wait for them | [`threads`] |
//! | restart from a snapshot, or keep a standby | [`snapshots`] |
//! | roll a simulation back to an earlier state | [`rollback`] |
//! | watch a running program: figures for Prometheus and Grafana | [`metrics`] |
//! | read the tables of the benches | [`tables`] |
//!
//! The code on these pages is compiled and run by the crate's tests. For four of the moves the
//! folder `tests/guide` has a whole program, before and after; a test compares their outputs.

// Each page is a file of its own. The pages exist for rustdoc alone: a build has none of this.

#[doc = include_str!("choosing.md")]
pub mod choosing {}

#[doc = include_str!("connections.md")]
pub mod connections {}

#[doc = include_str!("firmware.md")]
pub mod firmware {}

#[doc = include_str!("frames.md")]
pub mod frames {}

#[doc = include_str!("from_box.md")]
pub mod from_box {}

#[doc = include_str!("from_bumpalo.md")]
pub mod from_bumpalo {}

#[doc = include_str!("from_intrusive_collections.md")]
pub mod from_intrusive_collections {}

#[doc = include_str!("from_lru.md")]
pub mod from_lru {}

#[doc = include_str!("from_nexus_collections.md")]
pub mod from_nexus_collections {}

#[doc = include_str!("from_nexus_slab.md")]
pub mod from_nexus_slab {}

#[doc = include_str!("from_slab.md")]
pub mod from_slab {}

#[doc = include_str!("from_slotmap.md")]
pub mod from_slotmap {}

#[doc = include_str!("from_your_own_pool.md")]
pub mod from_your_own_pool {}

#[doc = include_str!("id_table.md")]
pub mod id_table {}

#[doc = include_str!("linux.md")]
pub mod linux {}

#[doc = include_str!("lru_cache.md")]
pub mod lru_cache {}

#[doc = include_str!("metrics.md")]
pub mod metrics {}

#[doc = include_str!("names.md")]
pub mod names {}

#[doc = include_str!("order_book.md")]
pub mod order_book {}

#[doc = include_str!("rollback.md")]
pub mod rollback {}

#[doc = include_str!("snapshots.md")]
pub mod snapshots {}

#[doc = include_str!("tables.md")]
pub mod tables {}

#[doc = include_str!("threads.md")]
pub mod threads {}

#[doc = include_str!("timers.md")]
pub mod timers {}
