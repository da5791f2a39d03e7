//! Bytes as a program on a `KeySlab` of either storage and either kind of keys,
//! against the model of the library's tests: the first byte picks which, each two
//! that follow are a step.
#![no_main]

#[path = "../../tests/key_slab/program.rs"]
mod program;

use libfuzzer_sys::{Corpus, fuzz_target};
use program::{Generations, LARGE, Plain};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&kind, rest)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let (steps, _) = rest.as_chunks::<2>();
    let program: Vec<(u8, u8)> = steps.iter().map(|&[step, number]| (step, number)).collect();
    match kind % 7 {
        0 => Plain::growable::<LARGE>(&program),
        1 => Plain::bounded::<0>(&program),
        2 => Generations::growable::<LARGE>(&program),
        3 => Generations::bounded::<0>(&program),
        4 => Plain::in_range::<LARGE>(&program),
        5 => Generations::in_range::<LARGE>(&program),
        _ => Generations::growable::<0>(&program),
    }
    Corpus::Keep
});
