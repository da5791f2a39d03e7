#!/usr/bin/env bash
# What a command to the matching engine costs, counted by valgrind's callgrind over the pass
# without timers: instructions, and misses of the first level of this machine's caches. Some
# minutes. Prints the table of BENCHMARKS.md, "A matching engine".
set -euo pipefail
cd "$(dirname "$0")/.."
stores=(keys slab-number slotmap floor)
cargo build --quiet --release --package order_book
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
instructions="| instructions" misses="| misses of the first level" head="| " rule="|---"
for store in "${stores[@]}"; do
    # Both passes of the process: 1,425,000 commands from empty, and 300,000 to full books.
    valgrind --tool=callgrind --cache-sim=yes --toggle-collect='*measure*all*' \
        --callgrind-out-file="$out/calls" --log-file="$out/log" \
        target/release/order_book --child "$store" --brief --symbols 3000 \
        --sessions 16384 --late 2 --seed 1 --resting 0 --commands 300000 >"$out/said"
    commands=$(sed 's/.*"commands":\[\([0-9]*\),\([0-9]*\)\].*/\1 + \2/' "$out/said")
    count() { awk -v of="$((commands))" -v format="$2" '/'"$1"'/ { gsub(",", ""); printf format, $4 / of }' "$out/log"; }
    head+=" | \`$store\`"
    rule+="|---"
    instructions+=" | $(count "I   refs:" %.0f)"
    misses+=" | $(count "D1  misses:" %.1f)"
done
printf '%s |\n%s|\n%s |\n%s |\n' "$head" "$rule" "$instructions" "$misses"
