#!/usr/bin/env bash
# The n-th allocation fails, for every n.
. "$(dirname "$0")/common.sh"
# At the root, as `cargo test` has built it.
cargo test --test allocator failing
