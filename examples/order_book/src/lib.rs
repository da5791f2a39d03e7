//! A matching engine whose keys are the order numbers.
//!
//! The program `order_book` times it on several stores; the package `exchange` puts it between a
//! gateway, market data and a standby.

pub mod cli;
pub mod engine;

/// The name of the system's allocator.
pub const SYSTEM: &str = "system";
