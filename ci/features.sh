#!/usr/bin/env bash
# Every feature builds without a warning, alone and with all others, and the crate builds
# where there is no `std` at all: on bare metal with 32-bit pointers. Without the feature
# `alloc` a program links that has no allocator; with it the same program does not. Firmware
# that uses pools and slabs in statics links no panic. The
# tests pass with all features, and without an allocator. The weekly run (FLATSLAB_WEEKLY) has every
# two features together, and the tests without `std`, which ci/clippy.sh compiles in each run.
. "$(dirname "$0")/common.sh"
needs_bare_metal

mapfile -t features < <(sed -n '/^\[features\]/,/^\[[^f]/s/^\([a-z][a-z0-9-]*\) = .*/\1/p' Cargo.toml |
    grep -vx default)
[ ${#features[@]} -gt 0 ]
check() {
    echo "== features: $*"
    RUSTFLAGS="-D warnings" cargo check --quiet --package flatslab --lib \
        --no-default-features --features "$*"
}
check
for i in "${!features[@]}"; do
    check "${features[i]}"
    [ -n "${FLATSLAB_WEEKLY:-}" ] || continue
    # Those that come to the same, as a feature brings others with it, are checked once:
    # cargo finds them done. (All subsets are 2^8.)
    for other in "${features[@]:i + 1}"; do
        check "${features[i]}" "$other"
    done
done
check "${features[@]}"
cargo build --package flatslab --lib --no-default-features --features tracked,arenas,threads \
    --target "$bare_metal"

# Each choice of families. Their tests, examples and documentation are checked weekly, as each choice
# compiles all of them, but for that without a family.
for families in alloc std tracked arenas threads tracked,arenas tracked,threads arenas,threads; do
    if [ -z "${FLATSLAB_WEEKLY:-}" ] && [ "$families" != alloc ]; then
        check "$families"
        continue
    fi
    echo "== families: $families, all targets"
    # Not by RUSTFLAGS, with which all that tests depend on would be checked once more.
    cargo clippy --quiet --package flatslab --all-targets --no-default-features --features "$families" \
        -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --package flatslab \
        --no-deps --no-default-features --features "$families"
done

# Linked: an rlib may name an allocator that it does not have.
link() {
    RUSTFLAGS="-D warnings" cargo build --manifest-path ci/bare_metal/Cargo.toml \
        --target "$bare_metal" "$@"
}
link --bin pool
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if link --bin pool --features alloc >"$log" 2>&1; then
    echo "$0: a program without an allocator links with the feature alloc" >&2
    exit 1
fi
grep "no global memory allocator found" "$log" ||
    { cat "$log" >&2; exit 1; }

# Its panic handler cannot be linked: it links if no panic is reachable, and with one it does not.
for level in s 3; do
    echo "== no panic is reachable at opt-level $level"
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=$level
    link --release --bin no_panic
    if link --release --bin no_panic --features reachable >"$log" 2>&1; then
        echo "$0: a program links in which a panic is reachable" >&2
        exit 1
    fi
    grep "undefined symbol: a_panic_is_reachable" "$log" ||
        { cat "$log" >&2; exit 1; }
done
unset CARGO_PROFILE_RELEASE_OPT_LEVEL

# The tests that need no allocator pass without one.
cargo test --package flatslab --no-default-features --lib --test '*'
if [ -n "${FLATSLAB_WEEKLY:-}" ]; then
    for families in alloc tracked arenas threads tracked,arenas,threads; do
        cargo test --package flatslab --no-default-features --features "$families" \
            --lib --test '*' -- --skip exploration --skip programs
    done
fi

# And what features add. What takes longest has nothing to do with them.
cargo test --package flatslab --all-features --lib --test '*' -- --skip exploration --skip programs
# Every example in the documentation. rustdoc compiles them as one program; where one of them does
# not compile beside the others, it compiles each by itself, which takes sixteen times as long and
# is reported nowhere but in the number of summaries.
cargo test --package flatslab --all-features --doc | tee "$log"
if [ "$(grep -c '^test result: ok' "$log")" -ne 2 ]; then
    echo "$0: the examples of the documentation do not compile together; what is wrong prints" >&2
    echo "RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS='-Zunstable-options --merge-doctests=yes'" \
        "cargo test --package flatslab --all-features --doc" >&2
    exit 1
fi
