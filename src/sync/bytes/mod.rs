//! Buffers and rings between threads.
//!
//! | type | is | `Send` | `Sync` |
//! |---|---|---|---|
//! | [`ByteArena`] | buffers in size classes, allocated by one thread | yes | no |
//! | [`BufMut`], [`Buf`] | a buffer with one owner; a reference to bytes, counted atomically | yes | yes |
//! | [`Ring`] | entries of bytes, one producer and one consumer; to be split | yes | yes |
//! | [`Producer`], [`Consumer`] | its ends; wait-free | yes | yes |
//! | [`Entry`], [`Frame`] | an entry that is filled in place; one that is read in place | yes | yes |
//!
//! # Which ring
//!
//! [`bytes::Ring`](crate::bytes::Ring) is for one thread: its entries are counted buffers, and
//! the newest overwrites the oldest. The [`Ring`] here refuses when it is full: a producer that
//! evicted would be a second consumer. Its entries are places in one block, not buffers with
//! counts, which are plain there and would have to be atomic here. So it is a type of its own,
//! and `split` is not a method of the other one.

mod arena;
mod arena_builder;
mod buf;
mod buf_mut;
#[cfg(feature = "bytes")]
mod interop;
#[cfg(all(test, loom))]
mod models;
mod places;
mod record;
mod ring;
mod split;
#[cfg(all(test, not(loom)))]
mod tests;

pub use arena::ByteArena;
pub use arena_builder::ByteArenaBuilder;
pub use buf::Buf;
pub use buf_mut::BufMut;
pub use ring::{Ring, RingBuilder};
pub use split::{Consumer, Entry, Frame, Producer, PushError};
