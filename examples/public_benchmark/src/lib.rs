//! The matching engine as a shared library, for a public benchmark of matching engines.
//!
//! The benchmark, `flash1-dev/matching-engine-benchmark`, loads an engine through a C interface,
//! hands it two million messages of one symbol, and takes its reports from another core.
//!
//! | file | contents |
//! |---|---|
//! | `interface.rs` | the functions that the benchmark calls, and its structures |
//! | `ring.rs` | reports by the engine's own ring: with the feature `ring` |
//!
//! The engine is that of the package `order_book`, on the store that a feature chooses
//! (`BoundedKeySlab` without one).

mod interface;
#[cfg(feature = "ring")]
mod ring;

pub use interface::*;
