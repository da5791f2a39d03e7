//! Boxes of slabs and pools in the collections of the crate `intrusive-collections`.

#![cfg(feature = "intrusive-collections")]

#[path = "../common/mod.rs"]
mod common;
mod homes;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

mod collections;
mod foreign;
mod forgotten;
mod integers;
mod macros;
mod panics;
mod program;
mod strict;
