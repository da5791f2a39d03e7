#!/usr/bin/env bash
# The order book against a real hour of order flow: every line of the top of
# book, from all stores, as a feed and as commands to the engine. FLATSLAB_LOBSTER
# names the message file, with which ci/order_book.sh compares the generated flow, too.
. "$(dirname "$0")/common.sh"
if [ -z "${FLATSLAB_LOBSTER:-}" ]; then
    echo "FLATSLAB_LOBSTER names no message file" >&2
    exit 1
fi
bbo=$(mktemp)
trap 'rm -f "$bbo"' EXIT
cargo run --release --package feed -- --lobster "$FLATSLAB_LOBSTER" --bbo "$bbo" --rounds 1
[ "$(wc -l <"$bbo")" -eq 91997 ]
[ "$(tail -n 1 "$bbo")" = "5859500,100,5856900,10" ]
# It compares the tops by itself, before it times anything.
cargo run --release --package order_book -- \
    --lobster "$(dirname "$FLATSLAB_LOBSTER")" --symbols 2 --rounds 1
