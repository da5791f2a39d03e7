//! Across threads.

mod send_slot;

pub use send_slot::SendSlot;
