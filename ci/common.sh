# What the scripts here share. Sourced, not run.
#
# FLATSLAB_SKIP names checks to leave out, by script name: FLATSLAB_SKIP="miri msrv".

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"

# In pipes, no `grep -q`: it leaves before its input ends, and with `pipefail`
# the writer then fails the check.

nightly="${FLATSLAB_NIGHTLY:-nightly}"

# missing WHAT HOW: says what a check needs and how to get it, and fails.
missing() {
    echo "$0: needs $1; get it with: $2" >&2
    exit 1
}

# The oldest compiler that Cargo.toml promises.
msrv() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1
}
