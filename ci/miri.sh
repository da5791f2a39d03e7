#!/usr/bin/env bash
# The tests under Miri, with strict provenance, symbolic alignment and leak checking: on
# this machine's target with both models of borrowing, where pointers have 32 bits (i686),
# and where the most significant byte comes first (s390x). No layout, key or state word may
# rely on this machine's.
#
# Each run has of each family the tests that an interpreter is for: what lends and takes
# back references, drops, frees and re-enters, and random programs in small numbers. What
# is left to the weekly run (FLATSLAB_WEEKLY) says so where it stands: `cfg(not(each_run))`
# on a module, `cfg_attr(each_run, ignore)` on a test, `tests/common/amount.rs` for numbers.
# What no interpreter can run is marked `cfg_attr(miri, ignore)`. A test without a mark runs.
# Parts of test names may be given: ci/miri.sh panics handles
. "$(dirname "$0")/common.sh"
needs_miri
for_each_run

host=x86_64-unknown-linux-gnu
# One model of borrowing is enough on the other two: it is the same on every target.
configurations=("$host stacked" "$host tree" "i686-unknown-linux-gnu tree"
    "s390x-unknown-linux-gnu stacked")

# miri_test TARGET MODEL …: the tests of the library, with those arguments.
miri_test() {
    local flags=$miri_flags
    [ "$2" = stacked ] || flags+=" -Zmiri-tree-borrows"
    MIRIFLAGS="$flags" cargo "+$nightly" miri test --target "$1" --package flatslab \
        --lib --test '*' "${@:3}"
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# First what all share, one after the other: cargo locks what it builds in.
for target in "$host" i686-unknown-linux-gnu s390x-unknown-linux-gnu; do
    cargo "+$nightly" miri setup --target "$target"
    miri_test "$target" stacked --no-run
done

# Side by side, one for each processor: an interpreter is a single thread.
failed=0
running=0
for configuration in "${configurations[@]}"; do
    if [ "$running" -ge "$(nproc)" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    read -r target model <<<"$configuration"
    miri_test "$target" "$model" -- "$@" >"$logs/$target.$model" 2>&1 &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
for log in "$logs"/*; do
    echo "== ${log##*/}"
    cat "$log"
done
[ $failed -eq 0 ]

# Two threads that meet, in many orders: each seed has another one.
if [ $# -eq 0 ]; then
    seeds=16
    [ -z "${FLATSLAB_WEEKLY:-}" ] || seeds=64
    echo "== $seeds orders of what threads do"
    MIRIFLAGS="$miri_flags -Zmiri-many-seeds=0..$seeds" \
        cargo "+$nightly" miri test --target "$host" --package flatslab --test races | tail -n 20
fi
