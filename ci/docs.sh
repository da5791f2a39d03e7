#!/usr/bin/env bash
# The documentation builds without a warning, private items included.
. "$(dirname "$0")/common.sh"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
RUSTDOCFLAGS="-D warnings" cargo doc --package flatslab --no-deps --all-features --document-private-items
