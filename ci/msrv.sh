#!/usr/bin/env bash
# The library, its examples and the order book build with the oldest compiler that
# Cargo.toml promises.
. "$(dirname "$0")/common.sh"
version=$(msrv)
rustup toolchain list | grep "^$version" >/dev/null ||
    missing "Rust $version" "rustup toolchain install $version --profile minimal"
cargo "+$version" check --package flatslab --lib
cargo "+$version" check --package flatslab --lib --no-default-features
cargo "+$version" check --package flatslab --examples
cargo "+$version" check --package order_book
