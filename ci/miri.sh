#!/usr/bin/env bash
# Every test under Miri, with both models of borrowing, strict provenance,
# symbolic alignment and leak checking. A test that leaks on purpose, or that
# takes an interpreter too long, says so itself: `cfg_attr(miri, ignore = "…")`,
# a smaller number under `cfg(miri)`, or one for each run and a larger one for the
# weekly run, by tests/common/amount.rs. The order book is no test of the library
# and stays out.
#
# Each run has with Stacked Borrows every test but the exploration, the long random
# programs and the table of states cell by cell, which ci/miri_targets.sh has. With Tree
# Borrows it has of each family what lends and takes back references: the list is below.
# Where memory comes from, how much of it there is, sizes and figures are not what borrows.
# The weekly run (FLATSLAB_WEEKLY) has everything with both. The races of threads are run
# in many orders besides.
# Parts of test names may be given: ci/miri.sh panics handles
. "$(dirname "$0")/common.sh"
needs_miri

names=("$@")
short=""
if [ ${#names[@]} -eq 0 ] && [ -z "${FLATSLAB_WEEKLY:-}" ]; then
    names=(--skip exploration --skip programs --skip every_cell_of_the_table)
    short=1
fi

export MIRIFLAGS="$miri_flags"
cargo "+$nightly" miri setup
cargo "+$nightly" miri test --package flatslab --lib --test '*' --no-run

# Those that take longest first.
binaries=(bytes slab allocator memory bump pool)
for source in tests/*/main.rs tests/*.rs; do
    binary=$(basename "${source%/main.rs}" .rs)
    [[ " ${binaries[*]} " == *" $binary "* ]] || binaries+=("$binary")
done
binaries+=(lib)

# lenders BINARY: the parts of it that each run has with Tree Borrows. Fails where all of it
# is about memory; without a line here it has everything with both models.
lenders() {
    case $1 in
    slab) echo handles:: conflicts:: mapped:: forgotten:: iteration:: walks:: panics:: ;;
    key_slab) echo model:: iteration:: slab_promises:: panics:: ;;
    pool) echo model:: recycled:: storage:: trees:: reentrancy:: forgotten:: panics:: ;;
    bump) echo model:: boxes:: vectors:: scopes:: checkpoints:: nested:: panics:: ;;
    bytes) echo buffers:: chains:: cycles:: mutable:: outliving:: positions:: readers:: rings:: ;;
    epoch) echo attacks:: guards:: domains:: model:: reentrancy:: panics:: ;;
    sync) echo races:: arena:: positions:: split_ring:: shared_slab:: a_value_ slab_and_handles every_size ;;
    lib) echo raw:: bytes:: epoch:: model:: holders:: closed:: --skip free_map ;;
    allocator | memory) return 1 ;;
    esac
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# miri_test MODEL BINARY NAME…: those tests of that binary, or of the library itself.
miri_test() {
    local model=$1 binary=$2 target=(--test "$2")
    [ "$binary" != lib ] || target=(--lib)
    [ "$model" = stacked ] || MIRIFLAGS+=" -Zmiri-tree-borrows"
    cargo "+$nightly" miri test --package flatslab "${target[@]}" -- "${@:3}" \
        >"$logs/$model.$binary" 2>&1
}

# Side by side, one for each processor: an interpreter is a single thread.
failed=0
running=0
for model in stacked tree; do
    for binary in "${binaries[@]}"; do
        these=("${names[@]}")
        if [ -n "$short" ] && [ "$model" = tree ]; then
            parts=$(lenders "$binary") || continue
            read -ra lent <<<"$parts"
            these+=("${lent[@]}")
        fi
        if [ "$running" -ge "$(nproc)" ]; then
            wait -n || failed=1
            running=$((running - 1))
        fi
        miri_test "$model" "$binary" "${these[@]}" &
        running=$((running + 1))
    done
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
for model in stacked tree; do
    for binary in "${binaries[@]}"; do
        [ -f "$logs/$model.$binary" ] || continue
        echo "== $model borrows: $binary"
        cat "$logs/$model.$binary"
    done
done
[ $failed -eq 0 ]

# Two threads that meet, in many orders: each seed has another one.
if [ -n "$short" ] || [ -n "${FLATSLAB_WEEKLY:-}" ]; then
    seeds=16
    [ -z "${FLATSLAB_WEEKLY:-}" ] || seeds=64
    echo "== $seeds orders of what threads do"
    MIRIFLAGS+=" -Zmiri-many-seeds=0..$seeds"
    cargo "+$nightly" miri test --package flatslab --test sync -- races:: | tail -n 20
fi
