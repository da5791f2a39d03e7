#!/usr/bin/env bash
# The engine in a public benchmark, beside the engines whose adapters were built there:
#
#     examples/order_book/public_benchmark.sh PATH [ROUNDS]
#
# PATH is a checkout of flash1-dev/matching-engine-benchmark with `harness` and `generator` built,
# and any *_adapter.so of other engines. Each scenario is played by all engines in turn, ROUNDS
# times (10), the matcher on core 0 and the reader on core 1 (MATCHER_CORE, READER_CORE). Prints a
# table in Markdown: of each engine the median of the rounds in million messages a second, and the
# lowest of the five medians, which is the benchmark's score. A run that is not valid is an error.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
path=$(cd "${1:?the path of the benchmark\'s checkout}" && pwd)
rounds=${2:-10}
matcher=${MATCHER_CORE:-0} reader=${READER_CORE:-1}
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# As the benchmark builds the others: for this machine, and as one unit.
build() {
    local name=$1
    shift
    RUSTFLAGS="-C target-cpu=native" CARGO_PROFILE_RELEASE_LTO=fat \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
        CARGO_TARGET_DIR="$here/target/public_benchmark" \
        cargo build --quiet --release --manifest-path "$here/Cargo.toml" \
        --package public_benchmark "$@"
    cp "$here/target/public_benchmark/release/libflatslab_engine.so" "$built/$name.so"
}
build "order_book" &&
    build "order_book, own ring" --features ring
if [[ -n ${STORES:-} ]]; then
    for store in slab slotmap by-hand boxes; do
        build "order_book on $store" --features "$store"
    done
fi
for rival in "$path"/*_adapter.so; do
    [[ -e $rival ]] || continue
    name=${rival##*/}
    cp "$rival" "$built/${name%_adapter.so}.so"
done

# Whoever comes first finds the caches and the processor as the last scenario left them, so each
# round begins with another engine.
engines=("$built"/*.so)
cd "$path"
for round in $(seq "$rounds"); do
    for scenario in static normal swing-25 swing-40 flash-crash; do
        for turn in "${!engines[@]}"; do
            engine=${engines[(turn + round) % ${#engines[@]}]}
            name=$(basename "$engine" .so)
            told=$(./harness --engine "$engine" --scenario "$scenario" --mode perf \
                --matcher-core "$matcher" --drainer-core "$reader" 2>&1) || true
            if ! grep -q "Verdict: VALID" <<<"$told"; then
                printf '%s, %s: not valid\n%s\n' "$name" "$scenario" "$told" >&2
                exit 1
            fi
            rate=$(sed -n 's/.*Throughput: *\([0-9.]*\).*/\1/p' <<<"$told")
            printf '%s\t%s\t%s\n' "$scenario" "$name" "$rate"
        done
    done
    printf 'round %s of %s\n' "$round" "$rounds" >&2
done | sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n | awk -F '\t' -v rounds="$rounds" '
    { rates[$1, $2, ++count[$1, $2]] = $3; engines[$2] }
    function median(scenario, engine,    n) {
        n = count[scenario, engine]
        return (rates[scenario, engine, int((n + 1) / 2)] + rates[scenario, engine, int(n / 2) + 1]) / 2
    }
    END {
        split("static normal swing-25 swing-40 flash-crash", scenarios, " ")
        head = "| engine |"; line = "|---|"
        for (s = 1; s <= 5; s++) { head = head " " scenarios[s] " |"; line = line "--:|" }
        print head " worst of the five |"; print line "--:|"
        for (engine in engines) {
            row = "| " engine " |"; worst = 1e9
            for (s = 1; s <= 5; s++) {
                rate = median(scenarios[s], engine)
                if (rate < worst) worst = rate
                row = row sprintf(" %.2f |", rate)
            }
            printf "%010.4f\t%s %.2f |\n", worst, row, worst | "sort -rn | cut -f 2"
        }
    }'
