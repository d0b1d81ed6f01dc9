#!/bin/sh
# Sees to it that Node (20 or newer), npm and a Chromium are there, for `make test-web`. Without asking for a password.
# A Chromium elsewhere than on PATH is named in CHROMIUM.
set -eu
has_node() {
    command -v npm >/dev/null && node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}
has_chromium() {
    command -v "${CHROMIUM:-chromium}" >/dev/null
}

node="nodejs npm"
# Homebrew's package of Node has npm in it.
command -v apt-get >/dev/null || ! command -v brew >/dev/null || node=node

wanted=
has_node || wanted=$node
has_chromium || wanted="$wanted chromium"
# Split on purpose: they are several packages.
# shellcheck disable=SC2086
[ -z "$wanted" ] || "$(dirname "$0")/install.sh" $wanted >&2 || true

has_node || { echo "browser: node 20 or newer and npm are missing: https://nodejs.org" >&2; exit 1; }
has_chromium || { echo "browser: chromium is missing: install it, or say where one is in CHROMIUM" >&2; exit 1; }
