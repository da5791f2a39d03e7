//! What the benches share: one runner, a fenced clock on a pinned core, subjects
//! that take turns, a record of flat rows, goals, and tables.
//!
//! A *subject* is one container in one role (`BoundedSlab` by its slots, the
//! `slab` crate, ...): one block of the macro [`subject!`], which gives it the
//! operations of [`Subject`]. A *row* is what is done to it: a generic function
//! that takes a subject through one turn, checks its answers, and returns the
//! ticks of what it timed. A bench is a [`Plan`](run::Plan): which rows, on which
//! subjects, at which sizes. [`run::main`] does everything else, and knows no bench.
//!
//! What is said of the figures stands apart from how they are obtained: the short tables of each
//! family ([`short`]), the comparisons ([`summary`], [`claims`]) and the [`goals`]. They know the
//! record; [`plan`] alone knows them. Which goals, tables and comparisons there are is data, in
//! `benches/{goals,tables,comparisons}.json`.
//!
//! To compare another container, write its block in `benches/peers.rs`, by [`keyed!`] if it is
//! found by `[]`, and its name into the lists of the benches.

pub mod arena;
pub mod arguments;
pub mod bytes;
pub mod claims;
pub mod clock;
pub mod epoch;
pub mod first_touch;
pub mod goals;
pub mod growth;
pub mod lives;
pub mod machine;
pub mod model;
pub mod operation;
pub mod payload;
pub mod plan;
pub mod record;
pub mod run;
pub mod short;
pub mod slowest;
pub mod subject;
pub mod summary;
pub mod table;
pub mod threads;

pub use payload::Payload;
pub use subject::Subject;

/// What most benches name.
pub mod prelude {
    pub use std::process::ExitCode;

    pub use crate::arguments::Arguments;
    pub use crate::operation::{BATCH, Setting};
    pub use crate::payload::{Payload, barrier, opaque, whole};
    pub use crate::record::Metric;
    pub use crate::run::{self, Case, Entry, Measured, Plan, Turn};
    pub use crate::table::Column;
    pub use crate::{Subject, clock, entries, entries_of, machine, plan};
}
