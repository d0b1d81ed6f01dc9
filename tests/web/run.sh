#!/bin/sh
# The stories of the browser module, the console and the demo: a real browser, a real service, a real wire between them.
# Brings what is missing but Node and the service itself, which is looked for in target/ unless INTRAY_BIN says where it is.
# Arguments are files of stories; without them, all.
set -eu
cd "$(dirname "$0")"

command -v node >/dev/null || { echo "node is missing: version 20 or newer" >&2; exit 1; }
command -v npm >/dev/null || { echo "npm is missing" >&2; exit 1; }
lock=node_modules/.package-lock.json
if [ ! -e $lock ] || [ package-lock.json -nt $lock ]; then npm ci --no-audit --no-fund --ignore-scripts; fi

if [ -z "${CHROMIUM:-}" ]; then
    if ! command -v chromium >/dev/null; then
        [ "$(id -u)" = 0 ] || { echo "chromium is missing: install it, or say where it is in CHROMIUM" >&2; exit 1; }
        apt-get update -q
        apt-get install -q -y --no-install-recommends chromium
    fi
    CHROMIUM=$(command -v chromium)
    export CHROMIUM
fi

node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/tsc -p tsconfig.source.json
# One after the other: they tell of seconds.
exec node --test --test-concurrency=1 --test-timeout=120000 --test-reporter=spec "$@"
