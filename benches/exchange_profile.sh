#!/usr/bin/env bash
# Instructions of the engine's thread for each command of an exchange, on each of what it is made
# of, counted by valgrind's callgrind: waiting and one snapshot are in them. Two minutes. Prints what
# BENCHMARKS.md says under "An exchange".
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release --package exchange --features rivals
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for kind in flatslab recycled boxed boxed-mimalloc; do
    valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file="$out/$kind" \
        --log-file="$out/log" target/release/exchange rivals --child "$kind" \
        --symbols 20 --commands 20000 >"$out/said"
    commands=$(sed 's/.*"warm":\([0-9]*\),.*"commands":\([0-9]*\),.*/\1 + 3 * \2/' "$out/said")
    for thread in "$out/$kind"-*; do
        callgrind_annotate --inclusive=yes "$thread" 2>>"$out/log"
    done | awk -v of="$((commands))" -v kind="$kind" \
        '/Desk::run/ && !n++ { gsub(",", ""); printf "%s: %.0f\n", kind, $1 / of }'
done
