#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
export RUSTDOCFLAGS="-D warnings"
# With all features, engine_record would build two allocators from C; of public_benchmark's features
# at most one of its stores may be chosen.
cargo doc --workspace --exclude engine_record --exclude public_benchmark --no-deps --all-features
cargo doc --package engine_record --package public_benchmark --no-deps \
    --features public_benchmark/ring
cargo doc --package flatslab --no-deps --all-features --document-private-items
