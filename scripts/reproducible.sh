#!/bin/sh
# Runs a build so that its bytes depend on the source and the compilers alone: `reproducible.sh COMMAND…`. No path of this machine, no
# moment and no property of its processor goes into what is built. The crates are here before, so that the names of their folders are known.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
cargo_home=$(realpath "${CARGO_HOME:-$HOME/.cargo}")
host=$(rustc -vV | sed -n 's/^host: //p')
triple=${TARGET:-$host}
if [ "$triple" != "$host" ]; then
    COMPILER=${triple%%-*}-linux-gnu-gcc # Debian's name
    RUNNER=$(scripts/dist/runner.sh "${triple%%-*}")
    linker=CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_LINKER
    export COMPILER RUNNER "$linker=$COMPILER"
fi
cargo fetch --quiet --locked --target "$triple"

# The last one that fits counts. A registry's folder is named after its address, which may be a mirror's.
maps="$root=/intray
$target=/target
$cargo_home=/cargo"
for registry in "$cargo_home"/registry/src/*/; do
    [ ! -d "$registry" ] || maps="$maps
${registry%/}=/crates"
done
# With the component rust-src the compiler names the library's files where they lie here.
hash=$(rustc -vV | sed -n 's/^commit-hash: //p')
library="$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$hash"

separator=$(printf '\037')
flags=
old_ifs=$IFS
set -f
IFS='
'
for map in $maps $library; do
    flags="$flags${flags:+$separator}--remap-path-prefix=$map"
done
c_flags=
for map in $maps; do
    case $map in
    *' '*) echo "reproducible: the compiler of C takes no path with a space: $map" >&2 && exit 1 ;;
    esac
    c_flags="$c_flags -ffile-prefix-map=$map"
done
IFS=$old_ifs
set +f

export CARGO_ENCODED_RUSTFLAGS="$flags"
export CFLAGS="$c_flags"
unset RUSTFLAGS
# The allocator asks the processor how long an address is, and has to know how large a page is: on arm64 up to 64 KiB.
export JEMALLOC_SYS_WITH_LG_VADDR=48
case $triple in aarch64-*) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;; esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC CARGO_INCREMENTAL=0
umask 022
exec "$@"
