#!/usr/bin/env bash
# The tests of the order book, a package of its own. Unoptimised: optimised, they
# run faster but build for longer.
. "$(dirname "$0")/common.sh"
cargo test --package order_book
# The README's command with few orders: every store's answers are compared.
cargo run --package order_book -- --full --symbols 20 --commands 10000 --rounds 1
cargo run --package order_book -- --restart --symbols 20 --commands 10000
# Four threads, no call of the allocator, a standby that ends alike; and the same on other queues.
cargo run --package order_book -- exchange --symbols 20 --commands 2000
cargo run --package order_book -- exchange --symbols 20 --commands 2000 --beside 1
