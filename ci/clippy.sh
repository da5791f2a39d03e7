#!/usr/bin/env bash
# No warning from the compiler or clippy, in any target of any member.
. "$(dirname "$0")/common.sh"
cargo clippy --version >/dev/null 2>&1 || missing clippy "rustup component add clippy"
needs_bare_metal
cargo clippy --workspace --exclude flatslab-benches --exclude engine_record \
    --exclude public_benchmark --all-targets --all-features -- -D warnings
# Its stores are features of which at most one may be chosen.
for feature in "" ring by-hand boxes slab slotmap; do
    cargo clippy --package public_benchmark --all-targets --features "$feature" -- -D warnings
done
# What the peers' build scripts compile, which takes longer than all else, is built in this
# profile by ci/bench.sh, too.
cargo clippy --package flatslab-benches --package engine_record --all-targets --release \
    --features engine_record/allocators,flatslab-benches/full -- -D warnings
cargo clippy --package flatslab --examples --profile test -- -D warnings
cargo clippy --package flatslab --lib --tests --no-default-features \
    --features tracked,arenas,threads -- -D warnings
cargo clippy --package flatslab --all-targets --no-default-features -- -D warnings
cargo clippy --manifest-path ci/bare_metal/Cargo.toml --target "$bare_metal" -- -D warnings
