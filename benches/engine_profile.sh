#!/usr/bin/env bash
# What a command to the matching engine costs, counted by valgrind's callgrind over the pass
# without timers: instructions, and misses of the first level of this machine's caches. Some
# minutes. Prints the table of BENCHMARKS.md, "A matching engine".
set -euo pipefail
cd "$(dirname "$0")/.."
stores=(slab key-slab by-hand slab-number slotmap floor)
cargo build --quiet --release --package engine_record
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
instructions="| instructions" misses="| misses of the first level" head="| " rule="|---"
for store in "${stores[@]}"; do
    # A process for each pass; that without timers is the only one that enters the function.
    valgrind --tool=callgrind --trace-children=yes --cache-sim=yes \
        --toggle-collect='*measure*all*' --callgrind-out-file="$out/calls.%p" \
        --log-file="$out/$store.%p" target/release/engine_record --store "$store" --rounds 1 --json \
        >"$out/said"
    commands=$(sed 's/.*"commands":\[\([0-9]*\),.*/\1/' "$out/said")
    count() {
        cat "$out/$store".* |
            awk -v of="$commands" -v format="$2" '/'"$1"'/ { gsub(",", ""); sum += $4 } END { printf format, sum / of }'
    }
    head+=" | \`$store\`"
    rule+="|---"
    instructions+=" | $(count "I   refs:" %.0f)"
    misses+=" | $(count "D1  misses:" %.1f)"
done
printf '%s |\n%s|\n%s |\n%s |\n' "$head" "$rule" "$instructions" "$misses"
