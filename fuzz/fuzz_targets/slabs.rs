//! Bytes as a program on either slab, against the model of the library's tests:
//! the first byte picks the slab, each two that follow are a step.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../src/slab/tests/world/mod.rs"]
mod world;

use flatslab::{Bounded, BoundedSlab, Growable, Slab};
use libfuzzer_sys::{Corpus, fuzz_target};
use world::{CHUNK, ROOM};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&kind, rest)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let (steps, _) = rest.as_chunks::<2>();
    let program = steps.iter().map(|&[kind, index]| (kind, index));
    if kind % 2 == 0 {
        world::run::<Bounded>(BoundedSlab::with_capacity(ROOM), program);
    } else {
        world::run::<Growable>(Slab::builder().chunk_capacity(CHUNK).build(), program);
    }
    Corpus::Keep
});
