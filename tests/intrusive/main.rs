//! Boxes of slabs and pools in the collections of the crate `intrusive-collections`.

#![cfg(feature = "intrusive-collections")]

#[path = "../common/mod.rs"]
mod common;
mod homes;

mod collections;
mod foreign;
mod forgotten;
mod integers;
mod macros;
mod panics;
mod program;
mod strict;
