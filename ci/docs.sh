#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
export RUSTDOCFLAGS="-D warnings"
cargo doc --workspace --exclude flatslab-benches --exclude engine_record --exclude public_benchmark \
    --no-deps --all-features
# In the profile in which ci/clippy.sh has checked what they depend on: the peers' build scripts take
# longer than all else.
cargo doc --release --package flatslab-benches --package engine_record --no-deps \
    --features engine_record/allocators,flatslab-benches/full
# Its stores are features of which at most one may be chosen.
cargo doc --package public_benchmark --no-deps --features ring
cargo doc --package flatslab --no-deps --all-features --document-private-items
