#!/bin/sh
# Installs packages with what this machine has, or fails: `install.sh PACKAGE…`. Without asking for a password.
set -eu
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
# Several parts of a run may install something at once.
if command -v flock >/dev/null && [ -z "${INTRAY_INSTALLS:-}" ]; then
    INTRAY_INSTALLS=1 exec flock "${TMPDIR:-/tmp}/intray-install.lock" "$0" "$@"
fi
if command -v apt-get >/dev/null; then
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
elif command -v brew >/dev/null; then
    brew install "$@"
elif command -v apk >/dev/null; then
    as_root apk add --no-cache "$@"
elif command -v dnf >/dev/null; then
    as_root dnf install -q -y "$@"
else
    exit 1
fi
