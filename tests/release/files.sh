#!/bin/sh
# The files of a release without installing them: sums, names, owners, paths, and the C library that the program asks for.
set -eu
artifacts=$1
cd "$(dirname "$0")/../.."
version=$(scripts/version.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() { echo "release: $*" >&2; exit 1; }

(cd "$artifacts" && sha256sum --quiet --check SHA256SUMS)
for file in "$artifacts"/intray*; do
    grep -q " ${file##*/}\$" "$artifacts/SHA256SUMS" || fail "SHA256SUMS lacks ${file##*/}"
    case ${file##*/} in *"$version"*) ;; *) fail "${file##*/} is not of version $version" ;; esac
done

tarball=$(ls "$artifacts"/intray-"$version"-linux-*.tar.gz)
owners=$(tar -tvzf "$tarball" | awk '{ print $2 }' | sort -u)
[ "$owners" = 0/0 ] || fail "the tarball has files of $owners"
tar -C "$work" -xzf "$tarball"
folder=$work/$(basename "$tarball" .tar.gz)
[ -n "$(find "$folder" -perm -o+r -name intray.1)" ] || fail "the manual page is not for all to read"
for file in intray intray.1 completions/intray.bash completions/intray.fish completions/_intray systemd/intray.service \
    systemd/intray.sysusers LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt; do
    [ -s "$folder/$file" ] || fail "the tarball has no $file"
done

# Where it was built is no one's business, and would make two builds differ.
paths=$(grep -aoE '/(root|home|work|tmp|build|srv|__w|usr/local)/[A-Za-z0-9._/-]{4,}\.(rs|c|h|S|lua|md)' "$folder/intray" | sort -u || true)
[ -z "$paths" ] || fail "the program has $(printf '%s\n' "$paths" | wc -l) paths of its builder, such as $(printf '%s\n' "$paths" | head -n 1)"

# The pages, the package and the list of tools name the C library that it asks for.
glibc=$(scripts/dist/glibc.sh "$folder/intray")
for page in README.md docs/start.md docs/release.md "$artifacts"/*.buildinfo; do
    named=$(grep -oE 'glibc [0-9]+\.[0-9]+' "$page" | sort -u)
    [ "$named" = "glibc $glibc" ] || fail "$page names ${named:-no glibc}, and the program needs $glibc"
done
deb=$(ls "$artifacts"/intray_"$version"_*.deb)
dpkg-deb --field "$deb" Depends | grep -q "libc6 (>= $glibc)" || fail "the package does not ask for libc6 $glibc"
dpkg-deb --extract "$deb" "$work/deb"
cmp "$folder/intray" "$work/deb/usr/bin/intray"

# One unit for both, but for the place of the program.
unit=$work/deb/usr/lib/systemd/system/intray.service
grep -q '^ExecStart=/usr/bin/intray ' "$unit" || fail "the unit does not start the program of the package"
others=$(diff "$folder/systemd/intray.service" "$unit" | grep '^[<>]' | grep -vE '/usr(/local)?/bin/intray' || true)
[ -z "$others" ] || fail "the units differ: $others"
echo "release: the files are complete, and ask for glibc $glibc"
