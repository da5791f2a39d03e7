#!/usr/bin/env bash
# Each fuzz target for FLATSLAB_FUZZ_SECONDS (5, or 60 in the weekly run), two side by
# side: bytes as operations, against the model that the tests use. New inputs stay in target/, the
# corpus that is kept is only read. What a target fails on is written to
# fuzz/artifacts/, and `cargo fuzz run TARGET FILE` does it again.
. "$(dirname "$0")/common.sh"
needs_nightly

seconds=5
[ -z "${FLATSLAB_WEEKLY:-}" ] || seconds=60
seconds=${FLATSLAB_FUZZ_SECONDS:-$seconds}

# What cargo-fuzz 0.13 builds with, without it: on a fresh machine its own build takes
# as long as that of all targets.
instrumented=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    -Cllvm-args=-sanitizer-coverage-stack-depth
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0
    --cfg fuzzing -Zsanitizer=address -Ccodegen-units=1
)
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0"
host=x86_64-unknown-linux-gnu
RUSTFLAGS="${instrumented[*]}" cargo "+$nightly" build --manifest-path fuzz/Cargo.toml \
    --release --config 'profile.release.debug="line-tables-only"' --target "$host"
programs="${CARGO_TARGET_DIR:-fuzz/target}/$host/release"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# fuzz TARGET: what it prints goes to the logs.
fuzz() {
    local target=$1 inputs=("fuzz/target/found/$1")
    [ ! -d "fuzz/corpus/$target" ] || inputs+=("fuzz/corpus/$target")
    mkdir -p "${inputs[0]}" "fuzz/artifacts/$target"
    "$programs/$target" -artifact_prefix="fuzz/artifacts/$target/" \
        -max_total_time="$seconds" -max_len=400 -print_final_stats=1 \
        "${inputs[@]}" >"$logs/$target" 2>&1
}

failed=0
sources=(fuzz/fuzz_targets/*.rs)
for ((first = 0; first < ${#sources[@]}; first += 2)); do
    targets=()
    jobs=()
    for source in "${sources[@]:first:2}"; do
        target=$(basename "$source" .rs)
        fuzz "$target" &
        jobs+=($!)
        targets+=("$target")
    done
    for i in "${!targets[@]}"; do
        wait "${jobs[i]}" || failed=1
        echo "== ${targets[i]}"
        grep -v '# Uses:' "$logs/${targets[i]}"
    done
done
[ $failed -eq 0 ]
