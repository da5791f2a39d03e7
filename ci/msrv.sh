#!/usr/bin/env bash
# The workspace builds with the oldest compiler that Cargo.toml promises: what plain
# `cargo check` and `cargo test` at the root take, the library without `std`, the
# order book. Some of the benches' peers need a newer one: only `cargo bench` does.
. "$(dirname "$0")/common.sh"
version=$(msrv)
rustup toolchain list | grep "^$version" >/dev/null ||
    missing "Rust $version" "rustup toolchain install $version --profile minimal"
cargo "+$version" check
cargo "+$version" check --package flatslab --lib --no-default-features
cargo "+$version" check --package flatslab --lib --no-default-features --features alloc
cargo "+$version" check --package flatslab --lib --all-features
# What `cargo test` compiles. That it links, and that what is generic can be compiled for
# each type, is no matter of the compiler's age: for the weekly run.
cargo "+$version" check --tests --examples
[ -z "${FLATSLAB_WEEKLY:-}" ] || cargo "+$version" test --no-run
cargo "+$version" check --package order_book
