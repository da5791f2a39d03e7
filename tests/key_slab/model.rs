//! Random programs against a map, over both kinds of storage and both kinds of
//! keys, with small values and with large ones, eight a chunk.

use proptest::prelude::*;

use crate::amount::amount;
use crate::program::{Generations, LARGE, Plain};

fn any_program() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec(any::<(u8, u8)>(), 1..amount(150, 25))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: amount(cases, 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn chunks_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::chunks::<0>(&program);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn an_array_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::array::<0>(&program);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn chunks_and_generations_do_as_the_model(program in any_program()) {
        Generations::chunks::<0>(&program);
    }

    #[test]
    fn an_array_and_generations_do_as_the_model(program in any_program()) {
        Generations::array::<0>(&program);
    }
}

// Large values are copied a lot.
proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn small_chunks_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::chunks::<LARGE>(&program);
    }

    #[test]
    fn small_chunks_and_generations_do_as_the_model(program in any_program()) {
        Generations::chunks::<LARGE>(&program);
    }
}
