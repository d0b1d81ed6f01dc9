#!/bin/sh
# Puts the packages for npm and PyPI, which the build makes, into the folder that is named: `packages.sh FOLDER [OPTION OF CARGO BUILD…]`.
set -eu
to=$1
shift
cd "$(dirname "$0")/.."
# With INTRAY_BIN the tests were built before, and with their features nothing is compiled again.
build=$([ -n "${INTRAY_BIN:-}" ] && echo "test --no-run --workspace" || echo build)
# Cargo says where the build has put what it made; the only package with a build script that comes from a path is this one.
# A build that fails ends this, and leaves the folder as it was.
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
trap 'exit 1' INT TERM
# shellcheck disable=SC2086
cargo $build --locked --message-format=json-render-diagnostics "$@" >"$messages"
made=$(sed -n 's/.*"reason":"build-script-executed","package_id":"path+file:.*"out_dir":"\([^"]*\)".*/\1/p' "$messages")
version=$(scripts/version.sh)
rm -rf "$to"
mkdir -p "$to"
cp "$made/client.tgz" "$to/intray-client-$version.tgz"
cp "$made/client.whl" "$to/intray_client-$version-py3-none-any.whl"
ls -l "$to"
