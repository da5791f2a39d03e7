#!/usr/bin/env bash
# Sizes that say how much there is to review. Nothing is checked: the numbers are for people who
# compare two commits.
. "$(dirname "$0")/common.sh"

# Sources of the library without tests, models and witnesses, which stand in files of their own or
# behind `#[cfg(test)]` at the end of a file.
sources=$(git ls-files 'src/*.rs' 'src/**/*.rs' | grep -vE '/(tests|models|witness)(/|\.rs)')
without_tests() {
    awk 'FNR == 1 { out = 0 } /^#\[cfg\((all\()?test/ { out = 1 } !out' "$@"
}
# shellcheck disable=SC2086
code=$(without_tests $sources)
lines() { grep -vcE '^[[:space:]]*(//.*)?$' || true; }

echo "files of src/                        $(wc -w <<<"$sources")"
echo "lines of code in src/                $(lines <<<"$code")"
echo "unsafe blocks in src/                $(grep -E 'unsafe \{' <<<"$code" | grep -vcE '^ *//')"
echo "SAFETY comments of <= 6 words        $(grep -hE '^ *// SAFETY: ' <<<"$code" | grep -v '`' | awk 'NF <= 8 && /\.$/' | wc -l)"
echo "traits                               $(grep -cE '^ *(pub(\([a-z]+\))? )?(unsafe )?trait ' <<<"$code")"
echo "inline(always) in src/               $(grep -c 'inline(always)' <<<"$code")"
echo "lines of Rust in benches/            $(git ls-files 'benches/*.rs' | xargs cat | wc -l)"
engines='examples/order_book/ examples/order_flow/ examples/public_benchmark/ examples/exchange/ examples/engine_trial/ benches/engine/'
# shellcheck disable=SC2086
echo "lines of Rust in the engine packages $(git ls-files $engines | grep '\.rs$' | xargs cat | wc -l)"
