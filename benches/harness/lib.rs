//! What the benches share: a pinned core, a fenced clock, subjects that take
//! turns, and tables.
//!
//! A *subject* is one container in one role (`BoundedSlab` by its slots, the
//! `slab` crate, ...): an implementation of [`Subject`] of a dozen lines. An
//! *operation* is a generic function that takes a subject through one turn and
//! returns its [`Turn`]. Subjects take turns within one run (A B C A B C ...),
//! so that a machine that drifts hits all alike; what is quoted is the median
//! over turns of the mean of a turn, and its ratio to the `slab` crate's.

pub mod clock;
pub mod operation;
pub mod pin;
pub mod subject;
pub mod table;

pub use operation::Turn;
pub use subject::{Payload, Subject};
