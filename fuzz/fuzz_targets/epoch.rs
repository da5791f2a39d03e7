//! Bytes as a program on an epoch slab, against the model of the library's tests.
#![no_main]

#[path = "../../tests/epoch/program/mod.rs"]
mod program;

use flatslab::epoch::{Contents, Epochs};
use libfuzzer_sys::fuzz_target;

/// Walks the invariants.
struct Walk;

impl program::Check for Walk {
    fn check<C: Contents>(_slab: &Epochs<C>) {
        #[cfg(fuzzing)]
        _slab.check();
    }
}

fuzz_target!(|bytes: &[u8]| program::run::<Walk>(bytes));
