#!/bin/sh
# Starts the service, fills the queues of the demo and opens the desk; ends with the service.
#   web/demo/run.sh target/quick/intray serve --demo
# If port 7070 is taken it uses another port, unless INTRAY_LISTEN names one: then that one or none.
set -eu
listen=${INTRAY_LISTEN:-127.0.0.1:7070}
log=$(mktemp)
service=
teller=
end() {
  # The service leaves in order; its output must be read to the end.
  [ -z "$service" ] || { kill "$service" 2>/dev/null; wait "$service"; } || true
  [ -z "$teller" ] || kill "$teller" 2>/dev/null || true
  rm -f "$log"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Its output says where it serves. Asking the port would not do: another service may answer there.
start() {
  : >"$log"
  INTRAY_LISTEN=$listen "$@" >"$log" 2>&1 &
  service=$!
  until url=$(sed -n 's/.*intray is ready on \(http:[^ "]*\).*/\1/p' "$log") && [ -n "$url" ]; do
    kill -0 "$service" 2>/dev/null || { service=; return 1; }
    sleep 0.1
  done
}

if ! start "$@"; then
  if [ -n "${INTRAY_LISTEN:-}" ] || ! grep -q 'cannot listen on' "$log"; then
    cat "$log" >&2
    exit 1
  fi
  echo "$listen is taken, so the demo goes to another port"
  listen=127.0.0.1:0
  start "$@" || { cat "$log" >&2; exit 1; }
fi
tail -n +1 -f "$log" &
teller=$!
# The desk of one's own is there only with --demo: a service without one is not ours to fill.
curl -fs -o /dev/null "$url/demo/" || {
  echo "there is nothing at $url/demo/: start the service with --demo" >&2
  exit 1
}
"$(dirname "$0")/seed.sh" "$url"

echo "The desk is $url/desk/?queue=moderation&queue=labels&queue=approvals and what operators see is $url/console/"
echo "A desk of one's own, made for moderation alone, is $url/demo/"
for open in xdg-open open; do
  if command -v "$open" >/dev/null; then
    "$open" "$url/desk/" >/dev/null 2>&1 || true
    break
  fi
done
wait "$service"
