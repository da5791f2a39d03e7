#!/usr/bin/env bash
# The crate builds with the oldest compiler that Cargo.toml promises: the library, with and
# without `std`, what `cargo test` at the root compiles of it, the members of examples/. Some of the
# benches' peers need a newer one: only `cargo bench` does.
. "$(dirname "$0")/common.sh"
version=$(msrv)
rustup toolchain list | grep "^$version" >/dev/null ||
    missing "Rust $version" "rustup toolchain install $version --profile minimal"
cargo "+$version" check --package flatslab
cargo "+$version" check --package flatslab --lib --no-default-features
cargo "+$version" check --package flatslab --lib --no-default-features --features tracked,arenas,threads
cargo "+$version" check --package flatslab --lib --all-features
# What `cargo test` compiles. That it links, and that what is generic can be compiled for
# each type, is no matter of the compiler's age: for the weekly run, as is the harness of
# the benches, which `cargo check` takes, too.
cargo "+$version" check --package flatslab --tests --examples
if [ -n "${FLATSLAB_WEEKLY:-}" ]; then
    cargo "+$version" check
    cargo "+$version" test --no-run
    # Its allocators are built from C once more.
    cargo "+$version" check --package engine_record --features allocators
fi
cargo "+$version" check --package order_flow --package engine_trial --package order_book \
    --package engine_record --package feed --package exchange --package public_benchmark \
    --package gateway --package threads --package server --package audio --package registered --all-targets
