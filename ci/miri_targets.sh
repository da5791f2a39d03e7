#!/usr/bin/env bash
# The tests under Miri where pointers have 32 bits (i686) and where the most
# significant byte comes first (s390x): no layout, key or state word relies on
# this machine's. Each run takes those that meet every layout, key and state: the
# library's own (the state tables, the model) without the exploration, those of
# layouts, those of keys and of what is put in under them, and those of the sizes and
# positions of buffers; where the order of bytes is the other one, those of layouts, of
# what is restored and of positions that are forged. The weekly run
# (FLATSLAB_WEEKLY) takes every test, as ci/miri.sh does, and several times as long.
# Parts of test names may be given, as for ci/miri.sh.
. "$(dirname "$0")/common.sh"
needs_miri

names=("$@")
tests=(--test '*')
if [ ${#names[@]} -eq 0 ] && [ -z "${FLATSLAB_WEEKLY:-}" ]; then
    names=(slab:: raw:: layouts:: generations:: restore:: sizes:: forged:: limits:: keys::)
    names+=(--skip exploration)
    big_endian_names=(raw:: layouts:: restore:: forged::)
    # The binaries that these tests are in: each takes some seconds, even if none is run.
    tests=(--test slab --test pool --test bump --test key_slab --test bytes --test epoch)
fi

export MIRIFLAGS="$miri_flags"
miri_test() {
    cargo "+$nightly" miri test --target "$1" --package flatslab --lib "${tests[@]}" "${@:2}"
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# One after the other: cargo locks what they build in.
targets=(i686-unknown-linux-gnu s390x-unknown-linux-gnu)
for target in "${targets[@]}"; do
    cargo "+$nightly" miri setup --target "$target"
    miri_test "$target" --no-run
done

# Side by side: each is a single thread.
jobs=()
for target in "${targets[@]}"; do
    these=("${names[@]}")
    if [ "$target" = s390x-unknown-linux-gnu ] && [ -n "${big_endian_names:-}" ]; then
        these=("${big_endian_names[@]}")
    fi
    miri_test "$target" -- "${these[@]}" >"$logs/$target" 2>&1 &
    jobs+=($!)
done
failed=0
for i in "${!targets[@]}"; do
    wait "${jobs[i]}" || failed=1
    echo "== ${targets[i]}"
    cat "$logs/${targets[i]}"
done
[ $failed -eq 0 ]
