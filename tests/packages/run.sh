#!/bin/sh
# The packages for npm and PyPI as people get them: from a service, into an empty folder. Brings what is missing but the service
# itself, which is looked for in target/ unless INTRAY_BIN says where it is. PACKAGES names a folder of them that must be the same.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
PATH=$root/.engine:$PATH

"$root/scripts/browser.sh"
"$root/scripts/python.sh"
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM
# The stories of pages are told with the browser and the wire of the module's own.
lock=../web/node_modules/.package-lock.json
if [ ! -e $lock ] || [ ../web/package-lock.json -nt $lock ]; then
    npm --prefix ../web ci --no-audit --no-fund --ignore-scripts
fi
# And deliveries are held against the reference library of their standard.
lock=npm/reference/node_modules/.package-lock.json
if [ ! -e $lock ] || [ npm/reference/package-lock.json -nt $lock ]; then
    npm --prefix npm/reference ci --no-audit --no-fund --ignore-scripts
fi
tools=generated/tools
if [ ! -e $tools/.packages ] || [ python/requirements.txt -nt $tools/.packages ]; then
    python3 -m venv --clear $tools
    $tools/bin/pip install -q --disable-pip-version-check -r python/requirements.txt
    touch $tools/.packages
fi

# The script that docs/ask.md prints reads JSON, and its programs for agents have packages of their own.
command -v jq >/dev/null || "$root/scripts/install.sh" jq
agents=generated/agents
if [ ! -e $agents/.packages ] || [ python/agents.txt -nt $agents/.packages ]; then
    python3 -m venv --clear $agents
    $agents/bin/pip install -q --disable-pip-version-check -r python/agents.txt
    touch $agents/.packages
fi
AGENTS_PYTHON=$PWD/$agents/bin/python
export AGENTS_PYTHON

. "$root/scripts/served.sh"

# From an empty folder, and from nowhere else.
empty=generated/empty
python3 -m venv --clear $empty
$empty/bin/pip install -q --disable-pip-version-check --no-index --find-links "$url/python/" intray-client
$agents/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall --no-index --find-links "$url/python/" intray-client
if [ -n "${PACKAGES:-}" ]; then
    curl -fsS "$url/client.tgz" | cmp - "$PACKAGES"/intray-client-*.tgz
    wheel=$(basename "$PACKAGES"/*.whl)
    curl -fsS "$url/python/$wheel" | cmp - "$PACKAGES/$wheel"
fi

examples=$data/examples
mkdir "$examples"
python3 python/examples.py "$examples"
$tools/bin/mypy --strict --python-version 3.10 "$root/packages/python/intray_client"
$tools/bin/mypy --strict --python-executable $empty/bin/python python "$examples"/*.py "$root"/examples/*.py
$tools/bin/mypy --strict --python-executable $agents/bin/python "$examples/agents"
$empty/bin/python -m unittest discover -s python

node --test --test-concurrency=1 --test-timeout=300000 --test-reporter=spec npm/*.test.js
