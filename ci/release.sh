#!/usr/bin/env bash
# The tests once more, as users run the crate: optimised, where the tracking of a
# short borrow folds away. And those that take too long otherwise.
. "$(dirname "$0")/common.sh"
cargo test --release --package flatslab --lib --test '*'
