#!/usr/bin/env bash
# The tests of the matching engine and of its record, of the exchange around it, of the replay of a
# feed and of what they share: packages of their own. Unoptimised: optimised, they run faster but
# build for longer.
. "$(dirname "$0")/common.sh"
cargo test --package order_flow --package engine_trial --package order_book \
    --package engine_record --package feed --package exchange --features exchange/rivals
# As the tests have built them: `cargo run` would build each again with the features that it alone
# asks for.
programs="${CARGO_TARGET_DIR:-target}/debug"
# The README's command and the record's with few orders: every store's answers are compared.
"$programs/order_book" --symbols 20 --commands 10000 --rounds 1
"$programs/engine_record" --full --symbols 20 --commands 10000 --rounds 1
"$programs/order_book" --restart --symbols 20 --commands 10000
# Four threads, no call of the allocator, a standby that ends alike; and the same on other parts.
"$programs/exchange" --symbols 20 --commands 2000
"$programs/exchange" rivals --symbols 20 --commands 2000 --rounds 1
