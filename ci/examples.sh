#!/usr/bin/env bash
# The short examples run, and so do their tests; each asserts what it shows.
. "$(dirname "$0")/common.sh"
features=(--package flatslab --all-features)
cargo test --quiet "${features[@]}" --examples
# All at once, which takes every processor.
cargo build --quiet "${features[@]}" --examples
for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "== $name"
    cargo run --quiet "${features[@]}" --example "$name"
done
