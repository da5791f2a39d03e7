//! Bytes as a program on a pool of each kind of memory, or one that recycles, against
//! the model of the library's tests: the first byte picks the kind and the values, each
//! two that follow are a step.
#![no_main]

#[path = "../../tests/pool/program.rs"]
mod program;
#[path = "../../tests/pool/recycled.rs"]
mod recycled;
#[path = "../../tests/pool/samples.rs"]
mod samples;

use libfuzzer_sys::{Corpus, fuzz_target};
use program::{Step, heap, lazy, storage};
use recycled::recycling;
use samples::{Boxed, Byte, Large, Line, Nothing, Number, Sample};

fn of_values<V: Sample>(kind: u8, program: &[Step]) {
    match kind {
        0 => heap::<V>(program),
        1 => lazy::<V>(program),
        2 => storage::<V>(program),
        _ => recycling::<V>(program),
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&first, rest)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let (steps, _) = rest.as_chunks::<2>();
    let program: Vec<Step> = steps.iter().map(|&[step, number]| (step, number)).collect();
    let kind = first % 4;
    match first / 4 % 6 {
        0 => of_values::<Nothing>(kind, &program),
        1 => of_values::<Byte>(kind, &program),
        2 => of_values::<Number>(kind, &program),
        3 => of_values::<Line>(kind, &program),
        4 => of_values::<Boxed>(kind, &program),
        _ => of_values::<Large>(kind, &program),
    }
    Corpus::Keep
});
