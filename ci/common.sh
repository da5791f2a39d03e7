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

# The checks of each run, unless this is the weekly one: what is marked for the weekly run
# is left out (README.md).
for_each_run() {
    [ -n "${FLATSLAB_WEEKLY:-}" ] || export RUSTFLAGS="${RUSTFLAGS:-} --cfg each_run"
}

# sanitized NAME CARGO-ARGUMENTS…: cargo with that sanitizer, in the standard library too:
# what it was not built into, it does not see into. Linux on x86-64. Tests that count page
# faults are marked `cfg_attr(sanitized, ignore)`: a sanitizer's own memory faults, too.
sanitized() {
    local name=$1
    shift
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/$name" \
        RUSTFLAGS="-Zsanitizer=$name --cfg sanitized ${RUSTFLAGS:-}" cargo "+$nightly" "$@"
}
build_std=(-Zbuild-std --target x86_64-unknown-linux-gnu)

needs_nightly() {
    rustc "+$nightly" --version >/dev/null 2>&1 ||
        missing "the nightly compiler" "rustup toolchain install $nightly --profile minimal"
}

needs_build_std() {
    local sysroot
    needs_nightly
    sysroot=$(rustc "+$nightly" --print sysroot)
    [ -f "$sysroot/lib/rustlib/src/rust/library/Cargo.lock" ] ||
        missing rust-src "rustup component add rust-src --toolchain $nightly"
}

# Pointers of 32 bits, no operating system, no allocator.
bare_metal=thumbv7em-none-eabihf

needs_bare_metal() {
    rustup target list --installed | grep -x "$bare_metal" >/dev/null ||
        missing "the target $bare_metal" "rustup target add $bare_metal"
}

needs_miri() {
    cargo "+$nightly" miri --version >/dev/null 2>&1 ||
        missing Miri "rustup component add miri rust-src --toolchain $nightly"
    # A backtrace a panic costs minutes in an interpreter, and the tests panic a lot.
    export RUST_BACKTRACE=0
}
# It looks for tags that are out of use five times as often as by default: a sixth less time.
miri_flags="-Zmiri-provenance-gc=2000 -Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"

# Parts of the names of the tests that leak on purpose, or leak what they break. One that is
# missing here fails under a sanitizer.
leaking_tests=(forgotten is_leaked what_holds_a_slot programs check::tests saturat)

# leaks_on_purpose NAME: whether that example does.
leaks_on_purpose() {
    [ "$1" = self_reference ] || [ "$1" = intrusive_book ]
}
