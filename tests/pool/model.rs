//! Random programs against a model, over each kind of memory, with values of several
//! sizes and alignments.

use proptest::prelude::*;

use crate::common::amount;
use crate::program::{Step, heap, lazy, storage};
use crate::recycled::recycling;
use crate::samples::{self, Boxed, Byte, Large, Line, Nothing, Number};

fn any_program() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(any::<Step>(), 1..amount(200, 10))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

macro_rules! programs {
    ($($test:ident $kind:ident: $($value:ty)*;)*) => {
        proptest! {
            #![proptest_config(cases(150))]

            $(#[test]
            fn $test(program in any_program()) {
                let before = samples::alive();
                $({
                    type Value = $value;
                    $kind::<Value>(&program);
                })*
                prop_assert!(samples::alive() >= before);
            })*
        }
    };
}

programs! {
    a_heap_pool_does_as_the_model heap: Nothing Byte Number Line Boxed Large;
    a_lazy_pool_does_as_the_model lazy: Nothing Number Line Large;
    a_pool_in_a_storage_does_as_the_model storage: Nothing Byte Number Line Boxed Large;
    a_recycling_pool_does_as_the_model recycling: Nothing Number Line Boxed Large;
}
