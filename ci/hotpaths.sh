#!/usr/bin/env bash
# No operation but the push of a ring calls a function in its hot path, and none takes
# more instructions than benches/record/hotpaths.md records. The counts are those of one
# compiler: after an update, look at
# `cargo bench --features machine-code --bench hotpaths -- --instructions`, and record them with
# `--record`.
. "$(dirname "$0")/common.sh"
# As ci/bench.sh builds it.
cargo bench --package flatslab-benches --features full --bench hotpaths -- --check
