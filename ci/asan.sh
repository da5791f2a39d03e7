#!/usr/bin/env bash
# AddressSanitizer over every test but the exploration, and every example: no
# access outside of what is allocated, none after it is freed, and nothing leaks,
# but where a test or an example leaks on purpose. The exploration would take many
# minutes for what the others reach too. For a weekly job.
. "$(dirname "$0")/common.sh"
needs_build_std

skip=(--skip exploration)
leak_free=("${skip[@]}")
for name in "${leaking_tests[@]}"; do
    leak_free+=(--skip "$name")
done

# A test asks for more memory than there is: an allocator refuses that, and does not abort.
refused=allocator_may_return_null=1
tests=("${build_std[@]}" --package flatslab --no-fail-fast --lib --test '*')
ASAN_OPTIONS=$refused:detect_leaks=1 \
    sanitized address test "${tests[@]}" -- "${leak_free[@]}"
# With snapshots, and ranges of the system.
ASAN_OPTIONS=$refused:detect_leaks=1 \
    sanitized address test "${build_std[@]}" --package flatslab --features serde,os-memory \
    --test key_slab -- "${leak_free[@]}"
ASAN_OPTIONS=$refused:detect_leaks=1 \
    sanitized address test "${build_std[@]}" --package order_flow --package engine_trial \
        --package order_book --package engine_record --package feed --package exchange --package public_benchmark
ASAN_OPTIONS=$refused:detect_leaks=0 \
    sanitized address test "${tests[@]}" -- "${leaking_tests[@]}" "${skip[@]}"

for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    leaks=1
    ! leaks_on_purpose "$name" || leaks=0
    ASAN_OPTIONS=$refused:detect_leaks=$leaks \
        sanitized address run "${build_std[@]}" --package flatslab --all-features \
            --example "$name"
done
sanitized address run "${build_std[@]}" --package feed -- --messages 20000 --rounds 1
sanitized address run "${build_std[@]}" --package order_book -- \
    --check --symbols 20 --commands 20000
