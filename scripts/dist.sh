#!/bin/sh
# Makes the files of a release in the folder that is named, for this machine's kind of processor or for TARGET:
# `scripts/reproducible.sh scripts/dist.sh FOLDER`, which is emptied first. Needs what Debian's build-essential brings (dpkg-deb, readelf), Python and Rust.
set -eu
to=$1
cd "$(dirname "$0")/.."
unset INTRAY_BIN
for tool in cargo dpkg-deb git python3 readelf; do
    command -v "$tool" >/dev/null || { echo "dist: $tool is missing" >&2; exit 1; }
done
: "${SOURCE_DATE_EPOCH:?is set by scripts/reproducible.sh}"
version=$(scripts/version.sh)
triple=${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
# Another processor's program runs by this.
run=${RUNNER:-}
case $triple in
x86_64-unknown-linux-gnu) arch=amd64 ;;
aarch64-unknown-linux-gnu) arch=arm64 ;;
*) echo "dist: releases are made on Linux with glibc, on x86-64 or arm64, not on $triple" >&2 && exit 1 ;;
esac

scripts/packages.sh "$to" --profile dist --features jemalloc --target "$triple" >&2
binary=${CARGO_TARGET_DIR:-target}/$triple/dist/intray
built=$($run "$binary" --version)
[ "${built#*"$(git rev-parse --short=12 HEAD)"}" != "$built" ] || { echo "dist: $built is not of this commit" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
glibc=$(scripts/dist/glibc.sh "$binary")

python3 scripts/dist/contents.py "$triple" "$version" "$work/THIRD-PARTY.txt" "$to/intray-$version-linux-$arch.cdx.json"
python3 scripts/dist/sdist.py "$to"/intray_client-*.whl "$to/intray_client-$version.tar.gz"

# One moment for everything, no owner, and the modes that are asked for here.
put() {
    mode=$1 from=$2 there=$3
    mkdir -p "$(dirname "$there")"
    cat "$from" >"$there"
    chmod "$mode" "$there"
}
$run "$binary" man >"$work/intray.1"
for shell in bash fish zsh; do $run "$binary" completions "$shell" >"$work/$shell"; done

# The tarball: one folder, to be unpacked anywhere.
name=intray-$version-linux-$arch
folder=$work/$name
put 755 "$binary" "$folder/intray"
put 644 "$work/intray.1" "$folder/intray.1"
put 644 "$work/bash" "$folder/completions/intray.bash"
put 644 "$work/fish" "$folder/completions/intray.fish"
put 644 "$work/zsh" "$folder/completions/_intray"
put 644 deploy/systemd/intray.service "$folder/systemd/intray.service"
put 644 deploy/systemd/intray.sysusers "$folder/systemd/intray.sysusers"
for licence in LICENSE-APACHE LICENSE-MIT "$work/THIRD-PARTY.txt"; do put 644 "$licence" "$folder/$(basename "$licence")"; done
tar -C "$work" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf "$work/tar" "$name"
gzip -9n <"$work/tar" >"$to/$name.tar.gz"

# The package for Debian and its like. Its program is where a package puts it.
tree=$work/deb
put 755 "$binary" "$tree/usr/bin/intray"
gzip -9n <"$work/intray.1" >"$work/intray.1.gz"
put 644 "$work/intray.1.gz" "$tree/usr/share/man/man1/intray.1.gz"
put 644 "$work/bash" "$tree/usr/share/bash-completion/completions/intray"
put 644 "$work/fish" "$tree/usr/share/fish/vendor_completions.d/intray.fish"
put 644 "$work/zsh" "$tree/usr/share/zsh/vendor-completions/_intray"
sed 's,/usr/local/bin/intray,/usr/bin/intray,' deploy/systemd/intray.service >"$work/unit"
put 644 "$work/unit" "$tree/usr/lib/systemd/system/intray.service"
put 640 deploy/debian/environment "$tree/etc/intray/environment"
put 644 deploy/debian/copyright "$tree/usr/share/doc/intray/copyright"
put 644 LICENSE-MIT "$tree/usr/share/doc/intray/LICENSE-MIT"
put 644 "$work/THIRD-PARTY.txt" "$tree/usr/share/doc/intray/THIRD-PARTY.txt"
kib=$(find "$tree" -type f -printf '%s\n' | awk '{ all += int(($1 + 1023) / 1024) } END { print all }')
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@GLIBC@/$glibc/; s/@KIB@/$kib/" deploy/debian/control >"$work/control"
put 644 "$work/control" "$tree/DEBIAN/control"
put 644 deploy/debian/conffiles "$tree/DEBIAN/conffiles"
for script in postinst prerm postrm; do put 755 deploy/debian/$script "$tree/DEBIAN/$script"; done
# dpkg-deb lets nothing be younger than SOURCE_DATE_EPOCH, and this nothing older.
find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$tree" "$to/intray_${version}_$arch.deb" >&2

scripts/dist/notes.sh "$version" >"$to/release-notes.md"
# A build of the same bytes needs these.
{
    echo "$built"
    echo "glibc $glibc or newer"
    sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release
    rustc -vV
    cargo --version
    "${COMPILER:-cc}" --version | head -n 1
    ld --version | head -n 1
    for tool in dpkg-deb tar gzip; do "$tool" --version | head -n 1; done
} >"$to/intray-$version-linux-$arch.buildinfo"
(cd "$to" && sha256sum intray* >SHA256SUMS)
chmod 644 "$to"/*
cat "$to/SHA256SUMS"
[ -z "$(git status --porcelain)" ] || echo "dist: the tree has changes, so others cannot make the same from its commit" >&2
