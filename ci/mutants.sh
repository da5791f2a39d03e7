#!/usr/bin/env bash
# Breaks one line after the other in what soundness rests on, and sees whether a
# test notices. All of them take thirty hours: by hand. What is left out, and why, stands in
# .cargo/mutants.toml. All features: what one of them adds is tested with it alone. Arguments go to
# cargo-mutants: ci/mutants.sh --list; ci/mutants.sh --sharding round-robin --shard 0/100
# One module with the tests that are its own takes seconds a mutant, instead of half a minute:
# ci/mutants.sh --re 'FreeMap|Note|Spare' -C=--lib -- shared_slab
. "$(dirname "$0")/common.sh"
cargo mutants --version >/dev/null 2>&1 ||
    missing cargo-mutants "cargo install cargo-mutants --locked"
export CARGO_PROFILE_DEV_DEBUG=0
files=()
for file in src/raw/*.rs src/raw/pages/*.rs src/slab/*.rs src/slab/growth/*.rs \
    src/pool/{links,heap,memory}.rs src/key_slab/{cells,undo_log}.rs src/memory/region.rs \
    src/sync/free_map/*.rs; do
    files+=(--file "$file")
done
cargo mutants --package flatslab --all-features "${files[@]}" --timeout 60 --output target "$@"
