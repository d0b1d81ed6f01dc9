#!/bin/sh
# Prints the path of the built service: INTRAY_BIN, or the newest in target/.
set -eu
cd "$(dirname "$0")/.."
intray=${INTRAY_BIN:-$(ls -t target/*/intray 2>/dev/null | head -n 1)}
[ -x "$intray" ] || { echo "built: there is no intray yet: cargo build" >&2; exit 1; }
realpath "$intray"
