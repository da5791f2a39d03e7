#!/usr/bin/env bash
# The ways in which two threads, in a few models three, can meet with so many
# preemptions: the models of what is handed from one to the other. What takes longer has
# one preemption less in each run than in the weekly one (FLATSLAB_WEEKLY).
. "$(dirname "$0")/common.sh"
export RUSTFLAGS="--cfg loom"
for_each_run
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}" \
    cargo test --package flatslab --release --lib -- loom_
