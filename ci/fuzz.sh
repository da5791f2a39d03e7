#!/usr/bin/env bash
# Each fuzz target for FLATSLAB_FUZZ_SECONDS (60): bytes as operations, against
# the model that the tests use. New inputs stay in target/, the corpus that is
# kept is only read.
. "$(dirname "$0")/common.sh"
cargo "+$nightly" fuzz --version >/dev/null 2>&1 ||
    missing cargo-fuzz "cargo install cargo-fuzz --locked"
for source in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    found="fuzz/target/found/$target"
    mkdir -p "$found"
    cargo "+$nightly" fuzz run "$target" "$found" "fuzz/corpus/$target" -- \
        -max_total_time="${FLATSLAB_FUZZ_SECONDS:-60}" -max_len=400 -print_final_stats=1 \
        2>&1 | grep -v '# Uses:'
done
