#!/bin/sh
# Starts the service, fills the queue of the demo and opens the desk; ends with the service.
#   web/demo/run.sh target/release/intray serve --demo
set -eu
url=http://${INTRAY_LISTEN:-127.0.0.1:7070}

"$@" &
service=$!
trap 'kill "$service" 2>/dev/null; wait "$service" || true' INT TERM EXIT
until curl -fs "$url/readyz" >/dev/null; do
  kill -0 "$service" 2>/dev/null || exit 1
  sleep 0.2
done
"$(dirname "$0")/seed.sh" "$url"

echo "The desk is $url/demo/ and what operators see is $url/console/"
for open in xdg-open open; do
  if command -v "$open" >/dev/null; then
    "$open" "$url/demo/" >/dev/null 2>&1 || true
    break
  fi
done
wait "$service"
