#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
export RUSTDOCFLAGS="-D warnings"
# engine_allocators is two programs of five lines, for which two allocators would be built from C;
# of public_benchmark's features at most one of its stores may be chosen.
cargo doc --workspace --exclude engine_allocators --exclude public_benchmark --no-deps --all-features
cargo doc --package public_benchmark --no-deps --features ring
cargo doc --package flatslab --no-deps --all-features --document-private-items
