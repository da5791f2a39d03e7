#!/usr/bin/env bash
# The short examples run, and so do their tests; each asserts what it shows.
. "$(dirname "$0")/common.sh"
cargo test --quiet --package flatslab --all-features --examples
for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "== $name"
    cargo run --quiet --package flatslab --all-features --example "$name"
done
