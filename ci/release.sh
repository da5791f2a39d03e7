#!/usr/bin/env bash
# The tests once more, as users run the crate: optimised, where the tracking of a
# short borrow folds away. And those that take too long otherwise. For a weekly job: in
# each run the benches, which compare every container with a model, are optimised.
. "$(dirname "$0")/common.sh"
cargo test --release --package flatslab --all-features --lib --test '*'
