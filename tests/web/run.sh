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
stalled=$(mktemp)
trap 'rm -f "$stalled"' EXIT
flags='--test --test-timeout=300000 --test-reporter=spec --test-reporter-destination=stdout'
# Three at a time, also on two processors: they mostly wait for seconds to pass, and each has a service and a browser of its own.
if node $flags --test-reporter=./stalled.js --test-reporter-destination="$stalled" --test-concurrency=3 "$@"; then exit 0; fi
# What failed while the machine stood still is run once more, alone, and that counts. Every other failure stands.
[ -s "$stalled" ] || exit 1
echo "the machine stood still; once more:"
cat "$stalled"
tr '\n' '\0' <"$stalled" | xargs -0 node $flags --test-concurrency=1
