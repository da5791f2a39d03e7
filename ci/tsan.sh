#!/usr/bin/env bash
# ThreadSanitizer over every test and example: the helper that builds chunks ahead,
# and that the tests, several of which run at once, share nothing through the
# crate. The exploration has no threads, and would take many minutes. For a weekly
# job.
. "$(dirname "$0")/common.sh"
needs_build_std

# A test asks for more memory than there is: an allocator refuses that, and does not abort.
export TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1
# The system is called by the C library: the sanitizer does not see the instructions by which `rustix`
# calls it otherwise, and takes pages that another thread unmapped and mapped again for the same ones.
export RUSTFLAGS="${RUSTFLAGS:-} --cfg rustix_use_libc"
sanitized thread test "${build_std[@]}" --package flatslab --no-fail-fast --lib --tests -- --skip exploration
# With snapshots, and ranges of the system.
sanitized thread test "${build_std[@]}" --package flatslab --features serde,os-memory --test key_slab
sanitized thread test "${build_std[@]}" --package order_flow --package engine_trial \
    --package order_book --package engine_record --package feed --package exchange \
    --package public_benchmark --lib --bins --tests
for example in examples/*.rs; do
    # The sanitizer's `mlock` locks nothing and returns 0.
    [ "$example" != examples/huge_pages.rs ] || continue
    sanitized thread run "${build_std[@]}" --package flatslab --all-features \
        --example "$(basename "$example" .rs)"
done
sanitized thread run "${build_std[@]}" --package feed -- --messages 20000 --rounds 1
