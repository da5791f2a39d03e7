#!/usr/bin/env bash
# Licences, sources and known faults of all dependencies, those of benches and examples too
# (deny.toml). The list of known faults is fetched; without a network the rest is checked.
. "$(dirname "$0")/common.sh"
cargo deny --version >/dev/null 2>&1 || missing cargo-deny "cargo install --locked cargo-deny"
cargo deny check licenses bans sources
if cargo deny fetch db; then
    cargo deny check advisories
else
    echo "$0: the list of known faults could not be fetched, and was not checked"
fi
