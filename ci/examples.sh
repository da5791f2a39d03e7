#!/usr/bin/env bash
# The examples run, and so do their tests; each asserts what it shows. Those that need other
# crates are packages of their own, as is the order book, which has its own check.
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
cargo test --quiet --package threads --package server --package audio --package registered --package gateway
for name in audio registered; do
    echo "== $name"
    cargo run --quiet --package "$name"
done
for example in examples/threads/src/bin/*.rs; do
    name=$(basename "$example" .rs)
    echo "== $name"
    cargo run --quiet --package threads --bin "$name"
done
