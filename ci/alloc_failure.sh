#!/usr/bin/env bash
# The n-th allocation fails, for every n.
. "$(dirname "$0")/common.sh"
cargo test --package flatslab --test allocator failing
