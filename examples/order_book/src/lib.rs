//! A matching engine whose keys are the order numbers.
//!
//! Clients name an order by the id that the engine gave them. Where the store's keys have
//! generations, the key is that id, and a cancel that comes after its order was filled finds
//! nothing, instead of the order that has its slot now. The stores that are compared do the
//! same by other means, and answer the same commands with the same trades.
//!
//! The program `order_book` compares the engine on several stores. The package `engine_trial` does the
//! comparison, and `engine_record` keeps the figures. The package `exchange` puts it between a gateway, market data
//! and a standby; `public_benchmark` makes a shared library of it.
//!
//! | file | contents |
//! |---|---|
//! | `order.rs` | an order that rests in the book |
//! | `book.rs` | prices, and the orders at each of them |
//! | `matching.rs` | how an order trades, rests and leaves |
//! | `store.rs`, `store/` | where orders live: a trait and its implementations |
//! | `sessions.rs` | sessions that name orders by their keys |
//! | `numbers.rs` | clients that number their orders themselves |
//! | `restart.rs` | a snapshot, and the engine restored from it |
//! | `trial.rs` | the engine and its stores, as they are checked and timed |

pub mod book;
pub mod matching;
pub mod numbers;
pub mod order;
pub mod restart;
pub mod sessions;
pub mod store;
pub mod trial;
