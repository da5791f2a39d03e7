//! A matching engine whose keys are the order numbers.
//!
//! The program `order_book` times it on several stores; the package `exchange` puts it between a
//! gateway, market data and a standby.

pub mod engine;
