#!/usr/bin/env bash
# Every combination of features builds without a warning, and the crate builds where
# there is no `std` at all: on bare metal with 32-bit pointers. Without the feature
# `alloc` a program links that has no allocator; with it the same program does not.
# Without `std` each run checks every test, and runs those where `std` makes a difference:
# the library's own, and those of slabs, their memory, buffers and the allocator. The weekly run
# (FLATSLAB_WEEKLY) runs all.
. "$(dirname "$0")/common.sh"
needs_bare_metal

# No feature, each, every two of them, and all. Those that come to the same, as a feature
# brings others with it, are checked once: cargo finds them done. (All subsets are 2^8.)
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
    for other in "${features[@]:i}"; do
        check "${features[i]}" "$other"
    done
done
check "${features[@]}"
cargo build --package flatslab --lib --no-default-features --features alloc --target "$bare_metal"

# Linked: an rlib may name an allocator that it does not have.
link() {
    RUSTFLAGS="-D warnings" cargo build --manifest-path ci/bare_metal/Cargo.toml \
        --target "$bare_metal" "$@"
}
link
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if link --features alloc >"$log" 2>&1; then
    echo "$0: a program without an allocator links with the feature alloc" >&2
    exit 1
fi
grep "no global memory allocator found" "$log" ||
    { cat "$log" >&2; exit 1; }

# The tests that need no allocator pass without one.
cargo test --package flatslab --no-default-features --lib --test '*'
# The tests pass without `std` in the library, too. What takes longest has nothing
# to do with features.
without_std=(--package flatslab --no-default-features --features alloc --lib)
tests=(--test '*')
if [ -z "${FLATSLAB_WEEKLY:-}" ]; then
    cargo check "${without_std[@]}" --tests
    tests=(--test slab --test memory --test bytes --test allocator)
fi
cargo test "${without_std[@]}" "${tests[@]}" -- --skip exploration --skip programs
# And what a feature adds.
cargo test --package flatslab --all-features --test key_slab --test memory --test bytes --test epoch --test sync
cargo test --package flatslab --all-features --lib -- raw memory bytes epoch sync
cargo test --package flatslab --all-features --doc -- key_slab bytes views epoch sync
