//! Random programs on an arena, against a model that knows what is alive.

use proptest::prelude::*;

use crate::program::run;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 600 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arenas_do_as_the_model(
        program in proptest::collection::vec(any::<u8>(), 1..if cfg!(miri) { 60 } else { 600 })
    ) {
        run(&program);
    }
}
