#!/usr/bin/env bash
# Every combination of features builds, and the crate builds where there is no
# `std` at all: on bare metal with 32-bit pointers.
. "$(dirname "$0")/common.sh"
bare_metal=thumbv7em-none-eabihf
rustup target list --installed | grep -x "$bare_metal" >/dev/null ||
    missing "the target $bare_metal" "rustup target add $bare_metal"
cargo hack --version >/dev/null 2>&1 ||
    missing cargo-hack "cargo install cargo-hack --locked"
cargo hack check --feature-powerset --package flatslab --lib
cargo build --package flatslab --lib --no-default-features --target "$bare_metal"
# The tests pass without `std` in the library, too. What takes longest has nothing
# to do with features.
cargo test --package flatslab --no-default-features --lib --test '*' -- \
    --skip exploration --skip programs
# And what a feature adds.
cargo test --package flatslab --all-features --test key_slab --test memory
cargo test --package flatslab --all-features --lib -- raw memory
cargo test --package flatslab --all-features --doc -- key_slab
