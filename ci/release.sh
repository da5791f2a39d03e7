#!/usr/bin/env bash
# The tests of behaviour once more, as users run the crate: optimised, where the
# tracking of a short borrow folds away. And those that take too long otherwise.
. "$(dirname "$0")/common.sh"
cargo test --release --package flatslab --test states --test model --test panics \
    --test reentrancy --test handles --test allocator --test random_programs
