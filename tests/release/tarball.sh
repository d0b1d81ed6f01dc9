#!/bin/sh
# The program of a tarball, unpacked anywhere, has one job done: `tarball.sh FILE`. One for another processor is emulated.
set -eu
tarball=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$tarball"
program=$work/$(basename "$tarball" .tar.gz)/intray
case $tarball in *-arm64.tar.gz) processor=aarch64 ;; *) processor=x86_64 ;; esac
run=$("$root/scripts/dist/runner.sh" "$processor")
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$run" "$program" >"$work/intray"
chmod +x "$work/intray"

"$work/intray" --version | grep -q "^intray $("$root/scripts/version.sh")" || { echo "release: the program is of another version" >&2; exit 1; }
export INTRAY_BIN="$work/intray"
. "$root/scripts/served.sh"
trap 'kill "$service" 2>/dev/null; wait "$service" || true; rm -rf "$data" "$work"' INT TERM EXIT
"$root/tests/release/one_job.sh" "$url"
echo "release: the program of ${tarball##*/} has one job done"
