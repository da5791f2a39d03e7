#!/usr/bin/env bash
# AddressSanitizer over every test but the exploration, and every example: no
# access outside of what is allocated, none after it is freed, and nothing leaks,
# but where a test file or an example leaks on purpose. Minutes: for a weekly job.
. "$(dirname "$0")/common.sh"
needs_build_std

# The library's own tests leak the slabs that they break.
leaking=(--lib)
leak_free=()
for file in tests/*.rs; do
    name=$(basename "$file" .rs)
    # Many minutes of what the others reach too.
    [ "$name" != exploration ] || continue
    if leaks_on_purpose "$name"; then
        leaking+=(--test "$name")
    else
        leak_free+=(--test "$name")
    fi
done

export ASAN_OPTIONS=detect_leaks=1
sanitized address test "${build_std[@]}" --package flatslab "${leak_free[@]}"
sanitized address test "${build_std[@]}" --package order_book
ASAN_OPTIONS=detect_leaks=0 \
    sanitized address test "${build_std[@]}" --package flatslab "${leaking[@]}"

for example in examples/*.rs; do
    name=$(basename "$example" .rs)
    leaks=1
    ! leaks_on_purpose "$name" || leaks=0
    ASAN_OPTIONS=detect_leaks=$leaks \
        sanitized address run "${build_std[@]}" --package flatslab --example "$name"
done
sanitized address run "${build_std[@]}" --package order_book -- \
    --messages 20000 --rounds 1
