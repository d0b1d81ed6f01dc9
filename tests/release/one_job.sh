#!/bin/sh
# One job, from its queue to its result, by the service at this address: `one_job.sh http://127.0.0.1:7070`.
set -eu
url=$1
fail() { echo "release: $*" >&2; exit 1; }
call() { curl -sS --fail-with-body -H 'content-type: application/json' -d "$2" "$url$1"; }

answer=$(call /jobs '{"queue":"trial","payload":{"photo":17}}')
case $answer in *'"state":"waiting"'*) ;; *) fail "no job is taken: $answer" ;; esac
answer=$(call /jobs/reserve '{"queues":["trial"],"worker":"ann"}')
reservation=$(echo "$answer" | grep -o '"reservation":"[^"]*"' | cut -d '"' -f 4) || fail "no job is handed out: $answer"
answer=$(call /jobs/complete "{\"reservation\":\"$reservation\",\"result\":{\"verdict\":\"fine\"}}")
case $answer in *'"state":"completed"'*) ;; *) fail "the job is not completed: $answer" ;; esac
