//! Bytes as a program on byte arenas, against the model of the library's tests.
#![no_main]

#[path = "../../tests/bytes/program/mod.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

#[cfg(fuzzing)]
use flatslab::bytes::ByteArena;

fuzz_target!(|bytes: &[u8]| {
    #[cfg(fuzzing)]
    program::run(bytes, ByteArena::check_positions);
    #[cfg(not(fuzzing))]
    program::run(bytes, |_| ());
});
