#!/usr/bin/env bash
# The short examples run; each asserts what it shows.
. "$(dirname "$0")/common.sh"
for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "== $name"
    cargo run --quiet --package flatslab --example "$name"
done
