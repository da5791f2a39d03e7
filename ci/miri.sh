#!/usr/bin/env bash
# The tests under Miri, with strict provenance, symbolic alignment and leak checking: with
# one model of borrowing on this machine's target, with the other where pointers have 32 bits
# (i686), and where the most significant byte comes first (s390x). No layout, key or state
# word may rely on this machine's. The weekly run (FLATSLAB_WEEKLY) has both models and all tests
# here; the other two targets have those of each run, for what they add is layouts. In each run these
# two have only the tests whose subjects depend on them: the library's own, with its words of bits,
# and those of keys and snapshots; with the other order of bytes, those of them that see it.
#
# Each run has of each family the tests that an interpreter is for: what lends and takes
# back references, drops, frees and re-enters, and random programs in small numbers. What
# is left to the weekly run says so where it stands: `cfg(not(each_run))` on a module,
# `cfg_attr(each_run, ignore)` on a test. What no interpreter can run is marked
# `cfg_attr(miri, ignore)`. A test without a mark runs.
# Parts of test names may be given: ci/miri.sh panics handles
. "$(dirname "$0")/common.sh"
needs_miri

host=x86_64-unknown-linux-gnu
# Each binary with tests. Those with the longest sources, which take longest, come first, so that
# no processor waits long for the other at the end.
every=--lib
while read -r _ binary; do
    every+=" --test=$binary"
done < <(
    for binary in tests/*/main.rs tests/*.rs; do
        # Those without a test for an interpreter.
        ! grep -E '^#!\[cfg\(.*not\((any\()?miri' "$binary" >/dev/null || continue
        sources=("$binary")
        [ "$binary" = "${binary%/main.rs}" ] || sources=("${binary%/main.rs}"/*.rs)
        echo "$(cat "${sources[@]}" | wc -c) $(basename "${binary%/main.rs}" .rs)"
    done | sort -rn
)

# A target, a model of borrowing, which tests, and of which binaries.
s390x="s390x-unknown-linux-gnu stacked each_run"
i686="i686-unknown-linux-gnu tree each_run"
if [ -z "${FLATSLAB_WEEKLY:-}" ]; then
    words="--lib --test=key_slab"
    configurations=("$s390x $words" "$i686 $words"
        "$host stacked each_run $every")
    seeds=8
else
    configurations=("$s390x $every" "$i686 $every"
        "$host tree weekly $every" "$host stacked weekly $every")
    seeds=64
fi

names=("$@")

# some_names TARGET BINARY: the parts of names of those that are interpreted; nothing for all.
some_names() {
    if [ ${#names[@]} -gt 0 ] || [ -n "${FLATSLAB_WEEKLY:-}" ] || [ "$1" = "$host" ]; then
        echo "${names[@]}"
    elif [ "$1 $2" = "s390x-unknown-linux-gnu --lib" ]; then
        # What reads a part of a word, or a word from bytes. All else has no order of bytes.
        echo key:: cell state packed numbers
    elif [ "$1 $2" = "s390x-unknown-linux-gnu --test=key_slab" ]; then
        echo formats:: snapshots:: golden::
    elif [ "$2" = --test=key_slab ]; then
        echo formats:: snapshots:: golden:: generations:: wrapping::
    fi
}

# Of snapshots, of lists of another crate, and of ranges, which the interpreter has in a form of its
# own. All else of `os-memory` is the system's. The same for all tests: the library is checked once
# for each target.
features=(--features serde,os-memory,intrusive-collections)

# miri_test TARGET MODEL TESTS ARGUMENT…: cargo's test command, with those arguments.
miri_test() {
    local flags=$miri_flags rustflags=${RUSTFLAGS:-}
    [ "$2" = stacked ] || flags+=" -Zmiri-tree-borrows"
    # On these targets `memchr`, by which `serde_json` finds the place of an error, reads words from
    # bytes that it has aligned itself.
    if [ "$1" != "$host" ] && [[ " $* " == *" --test=key_slab "* ]]; then
        flags=${flags/-Zmiri-symbolic-alignment-check/}
    fi
    [ "$3" = weekly ] || rustflags+=" --cfg each_run -A dead_code"
    MIRIFLAGS="$flags" RUSTFLAGS="$rustflags" \
        cargo "+$nightly" miri test --target "$1" --package flatslab "${features[@]}" "${@:4}"
}

# Interpreted, the generator that is the default takes as long as the programs it makes.
export PROPTEST_RNG_ALGORITHM=xs

logs=$(mktemp -d)
# Where something does not build, others are still interpreted.
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

# interpret NAME COMMAND…: once a processor has nothing to do. An interpreter is a single thread.
failed=0
running=0
interpret() {
    if [ "$running" -ge "$(nproc)" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    (
        begun=$SECONDS
        "${@:2}"
        echo "$((SECONDS - begun)) s"
    ) >"$logs/$1" 2>&1 &
    running=$((running + 1))
}

# First what the binaries of a target share: cargo locks what it builds in. Then each binary by itself.
# Interpreted on a thread for each test, a program takes a tenth longer.
for configuration in "${configurations[@]}"; do
    read -r target model tests binaries <<<"$configuration"
    cargo "+$nightly" miri setup --target "$target"
    # shellcheck disable=SC2086
    miri_test "$target" "$model" "$tests" $binaries --no-run
    for binary in $binaries; do
        # In many orders, below.
        [ "$binary $configuration ${#names[@]}" != "--test=races ${configurations[-1]} 0" ] || continue
        # shellcheck disable=SC2046
        interpret "$target $model $binary" \
            miri_test "$target" "$model" "$tests" "$binary" -- --test-threads=1 \
            $(some_names "$target" "$binary")
    done
done

# Links that are integers: only the model of stacked borrows knows pointers that are made of them.
integers() {
    miri_flags=${miri_flags/strict-provenance/permissive-provenance}
    miri_test "$host" stacked each_run --test=intrusive \
        -- --test-threads=1 --include-ignored integers::
}

# Two threads that meet, in many orders: each seed has another one. On every processor, so the last.
orders() {
    local target model tests binaries
    read -r target model tests binaries <<<"${configurations[-1]}"
    miri_flags+=" -Zmiri-many-seeds=0..$seeds"
    miri_test "$target" "$model" "$tests" --test=races | tail -n 20
}
if [ ${#names[@]} -eq 0 ]; then
    interpret "links that are integers" integers
    interpret "$seeds orders of what threads do" orders
fi

while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
for log in "$logs"/*; do
    echo "== ${log##*/}"
    cat "$log"
    # Names that no test has any more leave out what they stood for.
    read -r target _ binary <<<"${log##*/}"
    [ ${#names[@]} -eq 0 ] || continue
    for name in $(some_names "$target" "$binary"); do
        grep "^test .*$name.* ok$" "$log" >/dev/null ||
            { echo "$0: no test has $name in its name" >&2; failed=1; }
    done
done
[ $failed -eq 0 ]

# Where thread-locals are not the platform's own, one may be gone while its thread still ends, and
# another thread have its address.
if [ -n "${FLATSLAB_WEEKLY:-}" ] && [ ${#names[@]} -eq 0 ]; then
    echo "== thread-locals in memory of the allocator"
    target=x86_64-pc-windows-gnu
    reuse=" -Zmiri-address-reuse-rate=1.0 -Zmiri-address-reuse-cross-thread-rate=1.0"
    cargo "+$nightly" miri setup --target "$target"
    (
        miri_flags+=$reuse
        miri_test "$target" stacked each_run --test sync -- --exact \
            send_slot::a_value_ends_elsewhere_while_the_slab_goes_with_its_thread
    )
fi
