//! Bytes as a program on an arena, against the model of the library's tests.
#![no_main]

#[path = "../../tests/bump/program.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // What panics on purpose unwinds without a call of the hook, which aborts.
    program::run(bytes);
});
