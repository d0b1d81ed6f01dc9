#!/bin/sh
# Sees to it that Node (20 or newer), npm and a Chromium are there, for `make test-web`. Without asking for a password.
# A Chromium elsewhere than on PATH is named in CHROMIUM.
set -eu
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
has_node() {
    command -v npm >/dev/null && node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}
has_chromium() {
    command -v "${CHROMIUM:-chromium}" >/dev/null
}

wanted=
has_node || wanted="nodejs npm"
has_chromium || wanted="$wanted chromium"
[ -n "$wanted" ] || exit 0
# Split on purpose: they are several packages.
# shellcheck disable=SC2086
if command -v apt-get >/dev/null; then
    as_root apt-get update -q &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $wanted
elif command -v brew >/dev/null; then
    brew install $(echo "$wanted" | sed 's/nodejs npm/node/')
elif command -v apk >/dev/null; then
    as_root apk add --no-cache $wanted
elif command -v dnf >/dev/null; then
    as_root dnf install -q -y $wanted
fi >&2 || true

has_node || { echo "browser: node 20 or newer and npm are missing: https://nodejs.org" >&2; exit 1; }
has_chromium || { echo "browser: chromium is missing: install it, or say where one is in CHROMIUM" >&2; exit 1; }
