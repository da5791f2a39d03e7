#!/usr/bin/env bash
# The benches run, and every subject's answers are right. Measures nothing that
# should be quoted.
. "$(dirname "$0")/common.sh"
cargo bench -- --quick
