//! Bytes as operations on either slab, against the model that the tests use:
//! the first byte picks the slab, each two that follow are an operation.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/common/world.rs"]
mod world;

use common::{Bounded, Growable};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&kind, rest)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let (operations, _) = rest.as_chunks::<2>();
    let operations = operations.iter().map(|&[kind, index]| (kind, index));
    if kind % 2 == 0 {
        world::run::<Bounded>(operations, false);
    } else {
        world::run::<Growable>(operations, true);
    }
    Corpus::Keep
});
