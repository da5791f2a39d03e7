#!/usr/bin/env bash
# The ways in which two threads, in a few models three, can meet with so many
# preemptions: the models of what is handed from one to the other. What takes longer has
# one preemption less in each run than in the weekly one (FLATSLAB_WEEKLY).
. "$(dirname "$0")/common.sh"
export RUSTFLAGS="--cfg loom"
for_each_run
# Most of the models' time is the system's, for stacks. Only loom is optimised: the library and what
# its other tests need would take twice as long to build.
fast=(--release --config profile.release.opt-level=0)
for package in loom generator; do
    fast+=(--config "profile.release.package.$package.opt-level=2")
done
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}" \
    cargo test --package flatslab "${fast[@]}" --lib -- loom_
