#!/usr/bin/env bash
# The tests of the order book, a package of its own. Unoptimised: optimised, they
# run faster but build for longer.
. "$(dirname "$0")/common.sh"
cargo test --package order_book
