#!/usr/bin/env bash
# Every combination of features builds, and the crate builds where there is no
# `std` at all: on bare metal with 32-bit pointers.
. "$(dirname "$0")/common.sh"
bare_metal=thumbv7em-none-eabihf
rustup target list --installed | grep -x "$bare_metal" >/dev/null ||
    missing "the target $bare_metal" "rustup target add $bare_metal"
for features in "" "--no-default-features" "--all-features"; do
    # shellcheck disable=SC2086 # none, or one word
    cargo check --package flatslab --lib $features
done
cargo build --package flatslab --lib --no-default-features --target "$bare_metal"
# The tests that need no more than `alloc` in the library pass without `std`.
cargo test --package flatslab --no-default-features --test states --test handles
