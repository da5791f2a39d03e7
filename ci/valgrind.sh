#!/usr/bin/env bash
# Memcheck over every example, the order books with few messages: no read of what
# was never written, none out of bounds, and nothing lost, in optimised code as
# users run it. For a weekly job.
. "$(dirname "$0")/common.sh"
valgrind --version >/dev/null 2>&1 || missing valgrind "apt-get install valgrind"

cargo build --release --package flatslab --all-features --examples
cargo build --release --package order_book --package feed
programs="${CARGO_TARGET_DIR:-target}/release"
memcheck() {
    local kinds=definite
    ! leaks_on_purpose "$(basename "$1")" || kinds=none
    echo "== $*"
    valgrind --quiet --error-exitcode=1 --leak-check=full \
        --errors-for-leak-kinds="$kinds" "$programs/$@"
}
for example in examples/*.rs; do
    memcheck "examples/$(basename "$example" .rs)"
done
memcheck feed --messages 20000 --rounds 1
memcheck order_book --check --symbols 20 --commands 20000
