#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
# Two programs of five lines, for which two allocators would be built from C.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude engine_allocators --no-deps --all-features
RUSTDOCFLAGS="-D warnings" cargo doc --package flatslab --no-deps --all-features --document-private-items
