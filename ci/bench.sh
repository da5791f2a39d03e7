#!/usr/bin/env bash
# The benches run, and every subject's answers are right; the harness's own tests
# pass; and every bench refuses bad arguments before it measures anything. The
# figures of these runs are not to be quoted.
. "$(dirname "$0")/common.sh"
# All in one profile, and of one package: the peers and what they need are built once.
full=(--package flatslab-benches --features full)
# At once, which takes every processor: `cargo bench` builds one after the other.
cargo test --profile bench "${full[@]}" --lib --bench '*' --no-run
cargo test --profile bench "${full[@]}" --lib
cargo bench "${full[@]}" -- --quick
# The engine on other allocators than the system's.
cargo build --profile bench --package engine_record --features allocators
for program in engine_mimalloc engine_jemalloc; do
    "${CARGO_TARGET_DIR:-target}/release/$program" --symbols 20 --commands 10000 --rounds 1 >/dev/null
done
# Built with the benches.
"${CARGO_TARGET_DIR:-target}/release/report" --print >/dev/null

# The programs that cargo has built, called as it calls them: forty times cargo itself
# would take longer than what is asked of them.
programs=$(cargo bench "${full[@]}" --bench '*' --no-run 2>&1 |
    sed -n 's/^ *Executable .* (\(.*\))$/\1/p')
output=$(mktemp)
trap 'rm -f "$output"' EXIT
for bench in benches/*.rs; do
    bench=$(basename "$bench" .rs)
    # `all` hands its arguments to the others.
    [[ " build peers all " != *" $bench "* ]] || continue
    program=$(grep "/$bench-[0-9a-f]*$" <<<"$programs")
    for arguments in "--runs 0" "--live 99999999999" "--bytes 7" "--subject nothing" "nothing"; do
        code=0
        # shellcheck disable=SC2086
        "$program" $arguments --bench >"$output" 2>/dev/null || code=$?
        if [ $code -ne 2 ] || [ -s "$output" ]; then
            echo "$bench $arguments: exit code $code, and it printed $(wc -l <"$output") lines" >&2
            exit 1
        fi
    done
done
