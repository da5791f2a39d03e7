//! Across threads.

pub mod bytes;
mod send_slot;

pub use send_slot::SendSlot;
