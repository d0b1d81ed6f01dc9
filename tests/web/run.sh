#!/bin/sh
# The stories of the browser module, the console and the demo: a real browser, a real service, a real wire between them.
# Brings what is missing but the service itself, which is looked for in target/ unless INTRAY_BIN says where it is.
# Arguments are files of stories; without them, all.
set -eu
cd "$(dirname "$0")"

../../scripts/browser.sh
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM
lock=node_modules/.package-lock.json
if [ ! -e $lock ] || [ package-lock.json -nt $lock ]; then npm ci --no-audit --no-fund --ignore-scripts; fi

node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/tsc -p tsconfig.source.json
exec node stories.js "$@"
