#!/usr/bin/env bash
# A real hour of order flow: every line of the top of book, from all stores, as a feed and as
# commands to the engine. FLATSLAB_LOBSTER names the message file, with which ci/order_book.sh
# compares the generated flow, too.
. "$(dirname "$0")/common.sh"
if [ -z "${FLATSLAB_LOBSTER:-}" ]; then
    echo "FLATSLAB_LOBSTER names no message file" >&2
    exit 1
fi
tops=$(mktemp -d)
trap 'rm -rf "$tops"' EXIT
cargo build --release --package feed --package order_book
programs="${CARGO_TARGET_DIR:-target}/release"
"$programs/feed" --lobster "$FLATSLAB_LOBSTER" --bbo "$tops/feed" --rounds 1
[ "$(wc -l <"$tops/feed")" -eq 91997 ]
[ "$(tail -n 1 "$tops/feed")" = "5859500,100,5856900,10" ]
# It compares the tops of its stores by itself, before it times anything.
"$programs/order_book" --lobster "$(dirname "$FLATSLAB_LOBSTER")" --bbo "$tops/engine" \
    --symbols 2 --rounds 1
cmp "$tops/feed" "$tops/engine"
