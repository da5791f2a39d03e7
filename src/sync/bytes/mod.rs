//! Buffers and rings between threads.
//!
//! | type | is | `Send` | `Sync` |
//! |---|---|---|---|
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

#[cfg(all(test, loom))]
mod models;
mod places;
mod ring;
mod split;

pub use ring::{Ring, RingBuilder};
pub use split::{Consumer, Entry, Frame, Producer, PushError};
