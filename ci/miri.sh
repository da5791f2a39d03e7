#!/usr/bin/env bash
# The test suite under Miri, with both models of borrowing, strict provenance,
# symbolic alignment and leak checking. Names of test files may be given:
# ci/miri.sh panics handles
. "$(dirname "$0")/common.sh"
cargo "+$nightly" miri --version >/dev/null 2>&1 ||
    missing Miri "rustup component add miri rust-src --toolchain $nightly"

suite=(--lib)
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    files=(states exploration model iteration panics reentrancy handles layouts
        alloc_failure allocator allocator_programs freed_memory growth_ahead)
else
    suite=()
fi
for file in "${files[@]}"; do
    suite+=(--test "$file")
done

# A backtrace a panic costs minutes in an interpreter, and the tests panic a lot.
export RUST_BACKTRACE=0

flags="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"
export MIRIFLAGS="$flags"
cargo "+$nightly" miri setup
cargo "+$nightly" miri test --package flatslab "${suite[@]}" --no-run

# Side by side: an interpreter is a single thread.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
MIRIFLAGS="$flags -Zmiri-tree-borrows" cargo "+$nightly" miri test --package flatslab \
    "${suite[@]}" >"$log" 2>&1 &
tree=$!
echo "== Stacked Borrows"
stacked_failed=0
cargo "+$nightly" miri test --package flatslab "${suite[@]}" || stacked_failed=1
tree_failed=0
wait "$tree" || tree_failed=1
echo "== Tree Borrows"
cat "$log"
[ $stacked_failed -eq 0 ] && [ $tree_failed -eq 0 ]
