#!/usr/bin/env bash
# No warning from the compiler or clippy, in any target of any member.
. "$(dirname "$0")/common.sh"
cargo clippy --version >/dev/null 2>&1 || missing clippy "rustup component add clippy"
needs_bare_metal
cargo clippy --package flatslab --package order_flow --package order_book --package feed \
    --package exchange --package threads --package server \
    --all-targets --all-features -- -D warnings
# What the peers' build scripts compile, which takes longer than all else, is built in this
# profile by ci/bench.sh, too.
cargo clippy --package flatslab-benches --package engine_allocators --all-targets --release -- \
    -D warnings
cargo clippy --package flatslab --examples --profile test -- -D warnings
cargo clippy --package flatslab --lib --no-default-features --features alloc -- -D warnings
cargo clippy --package flatslab --all-targets --no-default-features -- -D warnings
cargo clippy --manifest-path ci/bare_metal/Cargo.toml --target "$bare_metal" -- -D warnings
