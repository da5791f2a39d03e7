//! Bytes as a program on what crosses threads, on one of them, against the model of the
//! library's tests.
#![no_main]

#[path = "../../tests/sync/program/mod.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| program::run(bytes));
