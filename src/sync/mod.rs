//! Across threads.

// The helper threads' modules are added here.
pub mod bytes;
