#!/usr/bin/env bash
# The core's tests under Miri where pointers have 32 bits (i686) and where the
# most significant byte comes first (s390x): no layout, key or state word relies
# on this machine's. Names of test files may be given, as for ci/miri.sh.
. "$(dirname "$0")/common.sh"
cargo "+$nightly" miri --version >/dev/null 2>&1 ||
    missing Miri "rustup component add miri rust-src --toolchain $nightly"

suite=(--lib)
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    files=(states model handles layouts)
else
    suite=()
fi
for file in "${files[@]}"; do
    suite+=(--test "$file")
done

# A backtrace a panic costs minutes in an interpreter, and the tests panic a lot.
export RUST_BACKTRACE=0
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# One after the other: cargo locks what they build in.
targets=(i686-unknown-linux-gnu s390x-unknown-linux-gnu)
for target in "${targets[@]}"; do
    cargo "+$nightly" miri setup --target "$target"
    cargo "+$nightly" miri test --target "$target" --package flatslab "${suite[@]}" --no-run
done

# Side by side: each is a single thread.
jobs=()
for target in "${targets[@]}"; do
    cargo "+$nightly" miri test --target "$target" --package flatslab "${suite[@]}" \
        >"$logs/$target" 2>&1 &
    jobs+=($!)
done
failed=0
for i in "${!targets[@]}"; do
    wait "${jobs[i]}" || failed=1
    echo "== ${targets[i]}"
    cat "$logs/${targets[i]}"
done
[ $failed -eq 0 ]
