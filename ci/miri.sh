#!/usr/bin/env bash
# Every test under Miri, with both models of borrowing, strict provenance,
# symbolic alignment and leak checking. A test that leaks on purpose, or that
# takes an interpreter too long, says so itself: `cfg_attr(miri, ignore = "…")`,
# a smaller number under `cfg(miri)`, or one for each run and a larger one for the
# weekly run, by tests/common/amount.rs. The order book is no test of the library
# and stays out. The weekly run (FLATSLAB_WEEKLY) has the exploration, the long random
# programs and the table of states cell by cell too, which ci/miri_targets.sh has, and
# with Tree Borrows all of what the memory of slabs does: where it comes from is not
# what borrows; nor are the sizes of buffers, and figures. Of pools and arenas each run has
# everything with both.
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
binaries=(slab allocator bytes bump memory)
for source in tests/*/main.rs tests/*.rs; do
    binary=$(basename "${source%/main.rs}" .rs)
    [[ " ${binaries[*]} " == *" $binary "* ]] || binaries+=("$binary")
done

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# miri_test MODEL BINARY: the tests of that binary, or of the library itself.
miri_test() {
    local model=$1 binary=$2 these=("${names[@]}") target=(--test "$2")
    [ "$binary" != lib ] || target=(--lib)
    if [ "$model" = tree ]; then
        MIRIFLAGS+=" -Zmiri-tree-borrows"
        if [ -n "$short" ]; then
            case $binary in
            allocator | memory) these=(pools:: arenas:: bytes::) ;;
            bytes) these+=(--skip sizes:: --skip sources:: --skip memory:: --skip stats::) ;;
            esac
        fi
    fi
    cargo "+$nightly" miri test --package flatslab "${target[@]}" -- "${these[@]}" \
        >"$logs/$model.$binary" 2>&1
}

# Side by side, one for each processor: an interpreter is a single thread.
failed=0
running=0
for binary in "${binaries[@]}" lib; do
    for model in stacked tree; do
        if [ "$running" -ge "$(nproc)" ]; then
            wait -n || failed=1
            running=$((running - 1))
        fi
        miri_test "$model" "$binary" &
        running=$((running + 1))
    done
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
for model in stacked tree; do
    for binary in "${binaries[@]}" lib; do
        echo "== $model borrows: $binary"
        cat "$logs/$model.$binary"
    done
done
[ $failed -eq 0 ]
