//! Buffers and rings between threads.
//!
//! | type | is | `Send` | `Sync` |
//! |---|---|---|---|
//! | [`ByteArena`] | buffers in size classes, allocated by one thread | yes | no |
//! | [`BufMut`], [`Buf`] | a buffer with one owner; a reference to bytes, counted atomically | yes | yes |
//! | [`Ring`] | entries of bytes, one producer and one consumer; to be split | yes | yes |
//! | [`Producer`], [`Consumer`] | its ends; wait-free | yes | yes |
//! | [`Entry`], [`Frame`] | an entry that is filled in place; one that is read in place | yes | yes |
//! | `SharedRing` | entries of bytes, any number of writers and readers; overwrites the oldest | yes | yes |
//! | `SharedFrame`, `OwnedFrame` | an entry that was popped from it; one that keeps it | yes | yes |
//!
//! # Positions
//!
//! A buffer has [positions](crate::bytes::Loc), as a local one has: 16 bytes, `Copy`, checked
//! whenever they are used. Any thread makes them, with `Buf::loc` and `Buf::into_loc`; the
//! arena's thread uses them, with `ByteArena::resolve` and `ByteArena::release`. They are
//! there where the platform has 64-bit atomics. A thread that resolves one has a reference from
//! then on: at that moment the buffer is not unique, and its drop elsewhere is not the last.
//!
//! # Which ring
//!
//! [`bytes::Ring`](crate::bytes::Ring) is for one thread: its entries are counted buffers, and
//! the newest overwrites the oldest. The [`Ring`] here refuses when it is full: a producer that
//! evicted would be a second consumer. Its entries are places in one block, not buffers with
//! counts, which are plain there and would have to be atomic here. So it is a type of its own,
//! and `split` is not a method of the other one.
//!
//! `SharedRing` is the one that overwrites the oldest; a push and a pop take two atomic
//! exchanges each, and there may be any number of either end. It is there where the platform has
//! 64-bit atomics.

mod arena;
mod arena_builder;
mod buf;
mod buf_mut;
mod consumer;
#[cfg(feature = "bytes")]
mod interop;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, loom))]
mod models_of_positions;
mod places;
#[cfg(target_has_atomic = "64")]
mod positions;
mod producer;
mod record;
mod ring;
#[cfg(target_has_atomic = "64")]
mod serials;
#[cfg(target_has_atomic = "64")]
mod shared_frame;
#[cfg(target_has_atomic = "64")]
mod shared_ring;
#[cfg(target_has_atomic = "64")]
mod shared_ring_builder;
#[cfg(target_has_atomic = "64")]
mod shared_word;
mod split;
#[cfg(all(test, not(loom)))]
mod tests;

pub use arena::ByteArena;
pub use arena_builder::ByteArenaBuilder;
pub use buf::Buf;
pub use buf_mut::BufMut;
pub use consumer::{Consumer, Frame};
pub use producer::{Entry, Producer, PushError};
pub use ring::{Ring, RingBuilder};
#[cfg(target_has_atomic = "64")]
pub use shared_frame::{OwnedFrame, SharedFrame};
#[cfg(target_has_atomic = "64")]
pub use shared_ring::SharedRing;
#[cfg(target_has_atomic = "64")]
pub use shared_ring_builder::SharedRingBuilder;
