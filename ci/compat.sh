#!/usr/bin/env bash
# The facades in compat/, which stand in for the crates `slab` and `slotmap`. In each run: they
# build without a warning, and random programs get the same from them as from those crates,
# for as much memory. The weekly run (FLATSLAB_WEEKLY) besides: their documentation; the tests
# and the documentation of those crates, and the tests of crates that are built on them, all as
# published, on the facades.
#
# What is left out is named where it is, with the reason. Each crate is of the version that these
# names are from; what it depends on is the newest.
. "$(dirname "$0")/common.sh"
root=$PWD
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/compat
export CARGO_TARGET_DIR="$work/target"

facades=(slab slotmap)
for facade in "${facades[@]}"; do
    manifest=(--manifest-path "compat/$facade/Cargo.toml")
    cargo clippy "${manifest[@]}" --no-default-features -- -D warnings
    cargo clippy "${manifest[@]}" --all-features -- -D warnings
    [ -n "${FLATSLAB_WEEKLY:-}" ] || continue
    RUSTDOCFLAGS="-D warnings" cargo doc "${manifest[@]}" --no-deps --all-features
    cargo test --quiet "${manifest[@]}" --all-features --doc
done
cargo clippy --manifest-path compat/tests/Cargo.toml --all-targets -- -D warnings
cargo test --manifest-path compat/tests/Cargo.toml --tests
[ -n "${FLATSLAB_WEEKLY:-}" ] || exit 0

# What other people's code is warned of is no matter here.
export RUSTFLAGS="${RUSTFLAGS:-} --cap-lints warn" CARGO_PROFILE_DEV_DEBUG=0

slab=0.4.12
slotmap=1.1.1
crates=(
    async-executor=1.14.1
    async-io=2.6.0
    async-std=1.13.2
    compio-runtime=0.9.5
    futures=0.3.34
    futures-util=0.3.34
    h2=0.4.20
    hyper=1.12.0
    quinn-proto=0.11.19
    reactive_graph=0.2.16
    sycamore-reactive=0.9.4
    taffy=0.9.2
    tokio-util=0.7.20
)

# package NAME LINE…: an empty package with these lines in its Cargo.toml.
package() {
    local name=$1
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/src" "$work/$name/tests"
    touch "$work/$name/src/lib.rs"
    printf '%s\n' '[workspace]' '[package]' "name = \"$name\"" 'version = "0.0.0"' \
        'edition = "2018"' 'publish = false' "${@:2}" >"$work/$name/Cargo.toml"
}

# Cargo downloads the sources, and says where they are.
dependencies=()
for crate in "slab=$slab" "slotmap=$slotmap" "${crates[@]}"; do
    dependencies+=("${crate%=*} = \"=${crate#*=}\"")
done
package published '[dependencies]' "${dependencies[@]}"
cargo metadata --format-version 1 --manifest-path "$work/published/Cargo.toml" |
    grep -o '"manifest_path":"[^"]*"' | cut -d '"' -f 4 >"$work/published/manifests"

# published NAME VERSION: the directory of the sources.
published() {
    dirname "$(grep "/$1-$2/Cargo.toml$" "$work/published/manifests")"
}

# tests DIRECTORY ARGUMENT…: cargo's test command there, which has to run a test.
tests() {
    local log
    log="$work/log"
    echo "== compat: $(basename "$1")"
    # A test that waits for input has none to wait for.
    (cd "$1" && cargo test -j 2 --no-fail-fast "${@:2}" </dev/null 2>&1) | tee "$log"
    awk '/^test result: ok/ { passed += $4 } END { print passed " passed"; exit passed == 0 }' "$log"
}

# documentation FILE: its documentation comments alone.
documentation() {
    sed -n 's#^ *//[/!] \{0,1\}##p' "$1"
}

# `slab` itself: all of its tests.
sources=$(published slab "$slab")
package slab-tests '[features]' 'default = ["serde"]' 'serde = []' \
    '[dependencies]' "slab = { path = \"$root/compat/slab\", features = [\"serde\"] }" \
    '[dev-dependencies]' 'serde = { version = "1", features = ["derive"] }' 'serde_test = "1"'
cp "$sources"/tests/*.rs "$work/slab-tests/tests"
documentation "$sources/src/lib.rs" >"$work/slab-tests/src/lib.md"
echo '#![doc = include_str!("lib.md")]' >"$work/slab-tests/src/lib.rs"
tests "$work/slab-tests"

# `slotmap` itself. Its tests stand in the modules that they test. Left out are those of
# `HopSlotMap`, which the facade does not have (hop.rs), the examples, of which one has a wrong
# number and the other asserts nothing, and
skip=(
    iters_cloneable        # of all five maps at once
    check_is_older_version # of a private function
    key_serde              # reads a private field; compat/tests compares keys
)
sources=$(published slotmap "$slotmap")
package slotmap-tests '[features]' 'default = ["serde"]' 'serde = []' \
    '[dependencies]' "slotmap = { path = \"$root/compat/slotmap\", features = [\"serde\"] }" \
    '[dev-dependencies]' 'fxhash = "0.2.1"' 'quickcheck = "1"' 'serde = "1"' \
    'serde_derive = "1"' 'serde_json = "1"'
for module in lib basic dense secondary sparse_secondary; do
    documentation "$sources/src/$module.rs" >"$work/slotmap-tests/src/$module.md"
    echo "#[doc = include_str!(\"$module.md\")] pub mod $module {}" \
        >>"$work/slotmap-tests/src/lib.rs"
    {
        echo '#[macro_use] extern crate slotmap;'
        echo 'use slotmap::*;'
        sed -n '/^#\[cfg(test)\]/,$p' "$sources/src/$module.rs"
    } | awk -v skip="${skip[*]}" '
        BEGIN { split(skip, names, " "); for (i in names) skipped[names[i]] }
        # Attributes wait for the function that they are of.
        /^    #\[/ { attributes = attributes $0 "\n"; next }
        match($0, /^    fn [a-z_0-9]+/) && substr($0, 8, RLENGTH - 7) in skipped {
            attributes = ""
            skipping = 1
        }
        !skipping { printf "%s", attributes; attributes = ""; print }
        /^    }$/ { skipping = 0 }
    ' >"$work/slotmap-tests/tests/$module.rs"
done
tests "$work/slotmap-tests"

# on FACADE NAME ARGUMENT…: cargo's test command for a published crate, on the facade. Tests in
# the documentation are left out of all: what they show is not what a slab does.
on() {
    local facade=$1 name=$2 crate sources
    for crate in "${crates[@]}"; do
        [ "${crate%=*}" != "$name" ] || sources=$(published "$name" "${crate#*=}")
    done
    rm -rf "${work:?}/$name"
    cp -r "$sources" "$work/$name"
    # The versions in it are older than the facades'.
    rm -f "$work/$name/Cargo.lock"
    {
        echo '[workspace]'
        # Its own of the same name has no version that is published.
        [ "$name" != futures ] || printf '%s\n' '[dev-dependencies.futures-test]' 'version = "0.3"'
        echo '[patch.crates-io]'
        printf "%s = { path = \"$root/compat/%s\" }\n" slab slab slotmap slotmap
    } >>"$work/$name/Cargo.toml"
    (cd "$work/$name" && cargo tree --all-features --edges all --invert "$facade" --depth 0) |
        grep -F "($root/compat/$facade)" >/dev/null ||
        { echo "$0: $name is not built on the facade of $facade" >&2; exit 1; }
    tests "$work/$name" "${@:3}"
}

on slab async-executor --lib --tests
on slab async-io --lib --tests
# io_timeout_timedout waits for input that does not come.
on slab async-std --features attributes --lib --tests -- --skip io_timeout_timedout
on slab compio-runtime --features compio-driver/polling,event,time --lib --tests
on slab futures --all-features --tests
on slab futures-util --lib
# The fixtures are not published.
on slab h2 --lib -- --skip hpack::test::fixture::
on slab hyper --features full --lib
on slab quinn-proto --lib
on slab tokio-util --all-features --lib --tests
on slotmap reactive_graph --lib --tests
on slotmap sycamore-reactive --lib --tests
on slotmap taffy --lib
