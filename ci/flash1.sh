#!/usr/bin/env bash
# The engine as a shared library for a public benchmark: its tests, with the benchmark's queue and
# with flatslab's ring. Where ../shared/data/flash1 is there, the reports of its five workloads have
# the hashes that 160 other engines agree on, from every store; else it says that they were left
# out.
. "$(dirname "$0")/common.sh"
data=../shared/data/flash1
cargo test --release --package public_benchmark --features ring
if [ ! -d "$data" ]; then
    echo "$data is not there: the workloads are left out"
    cargo test --release --package public_benchmark
    exit 0
fi
xz --version >/dev/null 2>&1 || missing xz "apt-get install xz-utils"
workloads=$(mktemp -d)
trap 'rm -rf "$workloads"' EXIT
for packed in "$data"/*.xz; do
    xz -dc "$packed" >"$workloads/$(basename "$packed" .xz)"
done
FLATSLAB_FLASH1="$workloads" cargo test --release --package public_benchmark
