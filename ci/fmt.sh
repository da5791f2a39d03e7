#!/usr/bin/env bash
# The code is formatted.
. "$(dirname "$0")/common.sh"
cargo fmt --version >/dev/null 2>&1 || missing rustfmt "rustup component add rustfmt"
cargo fmt --all --check
cargo fmt --manifest-path ci/bare_metal/Cargo.toml --check
for manifest in compat/*/Cargo.toml; do
    cargo fmt --manifest-path "$manifest" --check
done
