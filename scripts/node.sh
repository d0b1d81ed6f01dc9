#!/bin/sh
# Sees to it that Node (20 or newer) and npm are there. Without asking for a password.
set -eu
has_node() {
    command -v npm >/dev/null && node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}
has_node && exit 0

node="nodejs npm"
# Homebrew's package of Node has npm in it.
command -v apt-get >/dev/null || ! command -v brew >/dev/null || node=node
# Split on purpose: they are several packages.
# shellcheck disable=SC2086
"$(dirname "$0")/install.sh" $node >&2 || true
has_node || { echo "node: node 20 or newer and npm are missing: https://nodejs.org" >&2; exit 1; }
