//! Epoch slabs: values and buffers. Each rule that keeps `src/epoch` sound has a file here.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;

mod model;
mod program;
