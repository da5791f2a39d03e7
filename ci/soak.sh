#!/usr/bin/env bash
# Epochs of values and of buffers for 20 minutes, or FLATSLAB_SOAK_SECONDS: committed bytes and
# the resident set must not drift. For a weekly job.
. "$(dirname "$0")/common.sh"
cargo run --release --package flatslab-benches --bin soak -- \
    --seconds "${FLATSLAB_SOAK_SECONDS:-1200}"
