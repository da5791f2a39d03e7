//! What the benches share: a pinned core, a fenced clock, subjects that take
//! turns, and tables.
//!
//! A *subject* is one container in one role (`BoundedSlab` by its slots, the
//! `slab` crate, ...): one block of the macro `subject!`, which gives it the
//! operations of [`Subject`]. To compare another container, write its block in
//! `subject/peers.rs` and its name into the lists of [`plan`].
//!
//! An *operation* is a generic function that takes a subject through one turn,
//! checks its answers, and returns its [`Turn`]. Subjects take turns within one
//! run (A B C A B C ...), so that a machine that drifts hits all alike; what is
//! quoted is the median over turns of the mean of a turn, and its ratio to the
//! `slab` crate's.

pub mod clock;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod flush;
pub mod goals;
pub mod growth;
pub mod machine;
pub mod malloc;
pub mod model;
#[cfg(target_arch = "x86_64")]
pub mod operation;
pub mod payload;
pub mod pin;
#[cfg(target_arch = "x86_64")]
pub mod plan;
pub mod record;
pub mod subject;
pub mod table;

#[cfg(target_arch = "x86_64")]
pub use operation::Turn;
pub use payload::Payload;
pub use subject::Subject;
