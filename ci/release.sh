#!/usr/bin/env bash
# The tests once more, with all features and as users run the crate: optimised, where the
# tracking of a short borrow folds away. And those that take too long otherwise. Then the
# short examples; each asserts what it shows.
. "$(dirname "$0")/common.sh"
cargo test --release --package flatslab --all-features
# Built with the tests.
for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "== $name"
    cargo run --quiet --release --package flatslab --all-features --example "$name"
done
