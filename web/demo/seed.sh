#!/bin/sh
# Fills the queue `moderation` with what a small community's members have reported, `labels` with messages to sort, both with a form for
# the answer, and `approvals` with what agents ask. What is there already is not doubled.
#   web/demo/seed.sh [URL]        INTRAY_KEY: an operator's key, where there is access control
set -eu
url=${1:-http://127.0.0.1:7070}
here=$(dirname "$0")

send() {
  curl -fsS -X "$method" -H 'Content-Type: application/json' "$@" "$url$path"
}

call() {
  method=$1 path=$2
  shift 2
  if [ -n "${INTRAY_KEY:-}" ]; then
    # Not an argument: those can be read by everybody on the machine.
    printf 'header = "Authorization: Bearer %s"\n' "$INTRAY_KEY" | send --config - "$@"
  else
    send "$@"
  fi
}

# Moderation has two minutes instead of five, so that one sees what happens to who walks away.
for queue in moderation labels; do call PATCH "/queues/$queue" --data-binary "@$here/$queue.json" >/dev/null; done
fill() {
  answer=$(call POST /jobs --data-binary "@$2")
  new=$(printf '%s' "$answer" | tr ',' '\n' | grep -c '"duplicate":false') || true
  echo "$new $3 are new in the queue $1 of $url"
}
fill moderation "$here/items.json" posts
fill labels "$here/messages.json" messages
fill approvals "$here/approvals.json" requests
