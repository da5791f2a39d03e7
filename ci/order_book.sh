#!/usr/bin/env bash
# The tests of the order book, a package of its own. Unoptimised: optimised, they
# run faster but build for longer.
. "$(dirname "$0")/common.sh"
cargo test --package order_book
# The README's command with few orders: every store's answers are compared.
cargo run --package order_book -- --full --symbols 20 --commands 10000 --rounds 1
cargo run --package order_book -- --restart --symbols 20 --commands 10000
