#!/usr/bin/env bash
# The tests of the matching engine, of the exchange around it, of the replay of a feed and of the
# messages that they share: packages of their own. Unoptimised: optimised, they run faster but
# build for longer.
. "$(dirname "$0")/common.sh"
cargo test --package order_flow --package order_book --package feed --package exchange \
    --features exchange/rivals
# As the tests have built them: `cargo run` would build each again with the features that it alone
# asks for.
programs="${CARGO_TARGET_DIR:-target}/debug"
# The README's command with few orders: every store's answers are compared.
"$programs/order_book" --full --symbols 20 --commands 10000 --rounds 1
"$programs/order_book" --restart --symbols 20 --commands 10000
# Four threads, no call of the allocator, a standby that ends alike; and the same on other parts.
"$programs/exchange" --symbols 20 --commands 2000
"$programs/exchange" rivals --symbols 20 --commands 2000 --rounds 1
