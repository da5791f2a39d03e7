#!/usr/bin/env bash
# The tests on other platforms, and the library's types on those that cannot be run here:
#
#   32 bits   i686-unknown-linux-gnu, native
#   aarch64   aarch64-unknown-linux-gnu, under qemu-user
#   Windows   x86_64-pc-windows-gnu, under Wine
#   macOS     aarch64-apple-darwin, type-checked
#
# Debian and its relatives on x86-64: it installs the packages that it needs, as root or by sudo.
# A package that cannot be had leaves a platform out, and the last line says so. It fails if a
# test fails, or if no platform was left.
#
# FLATSLAB_PLATFORMS names those to check: FLATSLAB_PLATFORMS="aarch64 macos".
. "$(dirname "$0")/common.sh"
chosen=" ${FLATSLAB_PLATFORMS:-i686 aarch64 windows macos} "
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed="" checked="" missed=""

root=()
[ "$(id -u)" -eq 0 ] || root=(sudo)

# packages NAME…: installs them, or says why not.
packages() {
    command -v apt-get >/dev/null || { echo "there is no apt-get" >"$log"; return 1; }
    [ -n "${updated:-}" ] || { "${root[@]}" apt-get update >"$log" 2>&1 && updated=1; } || return 1
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install --yes --no-install-recommends \
        "$@" >"$log" 2>&1
}

target() {
    rustup target list --installed | grep -x "$1" >/dev/null || rustup target add "$1" >"$log" 2>&1
}

miss() {
    echo "== $1: left out: $2"
    tail -n 3 "$log"
    missed+=" $1"
}

# The tests of one family that its platform can differ in, and those of what is not the
# library's own. Those that take longest have nothing to do with the platform.
run() {
    local target=$1
    shift
    cargo test --quiet --package flatslab --target "$target" "$@" -- "${skipped[@]}"
}
skipped=(--skip exploration --skip programs)
families=(--lib --test slab --test key_slab --test pool --test bump --test bytes --test epoch
    --test sync --test memory --test allocator --test origins --test races --test key_slab_storage
    --test errors --test stats --test intrusive)

# 32 bits. Not `gcc-multilib`: in Debian it excludes compilers for other processors.
i686() {
    local gcc=gcc-$(gcc -dumpversion | cut -d. -f1)-multilib
    packages "$gcc" || { miss i686 "$gcc"; return; }
    target i686-unknown-linux-gnu || { miss i686 "its standard library"; return; }
    echo "== i686, native"
    run i686-unknown-linux-gnu --all-features "${families[@]}"
    passed+=" i686"
}

aarch64_needs=(qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
aarch64() {
    packages "${aarch64_needs[@]}" || { miss aarch64 "${aarch64_needs[*]}"; return; }
    target aarch64-unknown-linux-gnu || { miss aarch64 "its standard library"; return; }
    echo "== aarch64, under qemu-user"
    # An emulator takes tens of times as long: what is marked for the weekly run is left out, and
    # random programs against a model.
    local skipped=("${skipped[@]}" --skip model)
    RUSTFLAGS="${RUSTFLAGS:-} --cfg each_run" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
        run aarch64-unknown-linux-gnu "${families[@]}"
    passed+=" aarch64"
}

# Wine 8 has no `bcryptprimitives.dll`, from which the standard library takes its random numbers.
random_numbers() {
    local system=$WINEPREFIX/drive_c/windows/system32
    "$1" wineboot --init >"$log" 2>&1 || return
    [ ! -e "$system/bcryptprimitives.dll" ] || return 0
    x86_64-w64-mingw32-gcc -shared -o "$system/bcryptprimitives.dll" -x c - -ladvapi32 2>"$log" <<'END'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return RtlGenRandom(bytes, (ULONG)count);
}
END
}

windows() {
    packages gcc-mingw-w64-x86-64 wine64 || { miss windows "gcc-mingw-w64-x86-64, wine64"; return; }
    target x86_64-pc-windows-gnu || { miss windows "its standard library"; return; }
    echo "== windows, under Wine"
    local wine
    wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
    export WINEPREFIX=${CARGO_TARGET_DIR:-target}/wine WINEDEBUG=-all
    mkdir -p "$WINEPREFIX"
    WINEPREFIX=$(realpath "$WINEPREFIX")
    random_numbers "$wine" || { miss windows "random numbers of Wine"; return; }
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine \
        run x86_64-pc-windows-gnu "${families[@]}"
    passed+=" windows"
}

macos() {
    target aarch64-apple-darwin || { miss macos "its standard library"; return; }
    echo "== macos, type-checked"
    cargo check --quiet --package flatslab --target aarch64-apple-darwin --all-features --lib --tests
    checked+=" macos"
}

for platform in i686 aarch64 windows macos; do
    [[ "$chosen" != *" $platform "* ]] || "$platform"
done
if [ -z "$passed" ] && [ "$chosen" != " macos " ]; then
    echo "$0: the tests ran on no platform; left out:$missed" >&2
    exit 1
fi
echo "== tests passed:${passed:- none}; types checked:${checked:- none}; left out:${missed:- none}"
