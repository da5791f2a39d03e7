#!/usr/bin/env bash
# The tests once more, as users run the crate: optimised, where the tracking of a
# short borrow folds away. And the exploration of all states of small slabs, which takes
# too long otherwise: unoptimised, with debug assertions, it is the weekly run's.
. "$(dirname "$0")/common.sh"
cargo test --release --package flatslab --lib --test '*'
