//! The tests of the stores of this package, and of the first command.

use engine_trial::suite::program::Program;
use order_book::trial::OrderStores;

engine_trial::store_tests!(OrderStores);

engine_trial::program_tests!(Program {
    path: env!("CARGO_BIN_EXE_order_book"),
    directory: env!("CARGO_TARGET_TMPDIR"),
});
