#!/usr/bin/env bash
# Every way in which two threads can meet, within the bound: the models of what
# is handed from one to the other. Models that take minutes are for the weekly run
# (FLATSLAB_WEEKLY), and marked so.
. "$(dirname "$0")/common.sh"
export RUSTFLAGS="--cfg loom"
for_each_run
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}" \
    cargo test --package flatslab --release --lib -- loom_
