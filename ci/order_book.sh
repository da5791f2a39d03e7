#!/usr/bin/env bash
# The tests of the order book, a package of its own. Unoptimised: optimised, they
# run faster but build for longer.
. "$(dirname "$0")/common.sh"
features=(--package order_book --features rivals)
cargo test "${features[@]}"
# The README's command with few orders: every store's answers are compared.
cargo run "${features[@]}" -- --full --symbols 20 --commands 10000 --rounds 1
cargo run "${features[@]}" -- --restart --symbols 20 --commands 10000
# Four threads, no call of the allocator, a standby that ends alike; and the same on other parts.
cargo run "${features[@]}" -- exchange --symbols 20 --commands 2000
cargo run "${features[@]}" -- rivals --symbols 20 --commands 2000 --rounds 1
