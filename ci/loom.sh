#!/usr/bin/env bash
# Every way in which two threads can meet, within the bound: the models of what
# is handed from one to the other.
. "$(dirname "$0")/common.sh"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="--cfg loom" \
    LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}" \
    cargo test --package flatslab --release --lib -- loom_
