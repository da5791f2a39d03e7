//! Random programs against a map, over both kinds of storage and both kinds of
//! keys, with small values and with large ones.

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
    fn growable_ones_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::growable::<0>(&program);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn bounded_ones_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::bounded::<0>(&program);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn growable_ones_and_generations_do_as_the_model(program in any_program()) {
        Generations::growable::<0>(&program);
    }

    #[test]
    fn bounded_ones_and_generations_do_as_the_model(program in any_program()) {
        Generations::bounded::<0>(&program);
    }
}

// Few values of this size are more than a block has.
#[cfg(feature = "os-memory")]
proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn in_ranges_they_do_as_the_model(program in any_program()) {
        Plain::in_range::<LARGE>(&program);
        Generations::in_range::<LARGE>(&program);
    }
}

// Large values are copied a lot.
proptest! {
    #![proptest_config(cases(50))]

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn large_values_and_plain_keys_do_as_the_model(program in any_program()) {
        Plain::growable::<LARGE>(&program);
    }

    #[test]
    fn large_values_and_generations_do_as_the_model(program in any_program()) {
        Generations::growable::<LARGE>(&program);
    }
}
