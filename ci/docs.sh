#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
export RUSTDOCFLAGS="-D warnings"
cargo doc --workspace --exclude public_benchmark --exclude engine_allocators --no-deps --all-features
# Of its other features at most one may be chosen.
cargo doc --package public_benchmark --no-deps --features ring
# Its allocators are built from C, in this profile by ci/clippy.sh, too.
cargo doc --package engine_allocators --no-deps --release
cargo doc --package flatslab --no-deps --all-features --document-private-items
