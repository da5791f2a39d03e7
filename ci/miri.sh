#!/usr/bin/env bash
# Every test under Miri, with both models of borrowing, strict provenance,
# symbolic alignment and leak checking. A test that leaks on purpose, or that
# takes an interpreter too long, says so itself: `cfg_attr(miri, ignore = "…")`,
# a smaller number under `cfg(miri)`, or one for each run and a larger one for the
# weekly run, by tests/common/amount.rs. The order book is no test of the library
# and stays out. The weekly run (FLATSLAB_WEEKLY) has the exploration, the long random
# programs and the table of states cell by cell too, which ci/miri_targets.sh has.
# Parts of test names may be given: ci/miri.sh panics handles
. "$(dirname "$0")/common.sh"
needs_miri

names=("$@")
if [ ${#names[@]} -eq 0 ] && [ -z "${FLATSLAB_WEEKLY:-}" ]; then
    names=(--skip exploration --skip programs --skip every_cell_of_the_table)
fi

miri_test() {
    cargo "+$nightly" miri test --package flatslab --lib --test '*' "$@"
}

export MIRIFLAGS="$miri_flags"
cargo "+$nightly" miri setup
miri_test --no-run

# Side by side: an interpreter is a single thread.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
MIRIFLAGS="$miri_flags -Zmiri-tree-borrows" miri_test -- "${names[@]}" >"$log" 2>&1 &
tree=$!
echo "== Stacked Borrows"
stacked_failed=0
miri_test -- "${names[@]}" || stacked_failed=1
tree_failed=0
wait "$tree" || tree_failed=1
echo "== Tree Borrows"
cat "$log"
[ $stacked_failed -eq 0 ] && [ $tree_failed -eq 0 ]
