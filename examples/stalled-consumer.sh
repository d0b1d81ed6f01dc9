#!/bin/sh
# A consumer that stalls: "Redis reliable queues with Lua scripting", antirez's circular list, in which no item is ever lost:
# it leaves the list when it is processed, and is handed out again when its worker takes too long.
set -eu
. "$(dirname "$0")/intray.sh"
queue=example-circular
empty_queue "$queue"
processed=$(mktemp -d)
trap 'rm -rf "$processed"' EXIT

# The producer only pushes IDs; what they mean is between producer and consumer.
push() {
    call POST /jobs "{\"queue\":\"$queue\",\"payload\":\"$1\"}"
}
take() {
    call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"worker\":\"$1\",\"lease_ms\":$2}"
}
finish() {
    reservation=$(printf '%s' "$1" | text reservation)
    call POST /jobs/complete "{\"reservation\":\"$reservation\",\"result\":\"$2\"}"
}
for id in 123 45; do push "$id" >/dev/null; done
holds 'an ID that is there already is not put twice' "$(push 45)" '"duplicate":true'

# 123 is taken by a consumer that processes it and stalls before it can say so.
stalled=$(take stalled 3000)
expect 'the first in is the first out' "$(printf '%s' "$stalled" | text payload)" 123
: >"$processed/123"

# Younger than its timeout, it is not given to anybody else: there is nothing to discard and no list to rotate.
other=$(take other 3000)
expect 'the other consumer has the other item' "$(printf '%s' "$other" | text payload)" 45
nothing=$(take third 1000)
holds 'and a third one has none' "$nothing" '"jobs":[]'
[ "$(printf '%s' "$nothing" | number retry_after_ms)" -le 5000 ]

# Nobody else has taken 45 when its consumer comes back late: its work counts.
sleep 4
holds 'late, and nobody minds' "$(finish "$other" 'by the other')" '"late":true'

# 123 timed out: it comes round again, marked as such, and the next consumer checks in its own way whether it was processed.
again=$(take other 300000)
expect 'it comes round again' "$(printf '%s' "$again" | text payload)" 123
expect 'and says so' "$(printf '%s' "$again" | number attempt)" 2
[ -e "$processed/123" ]
holds 'it was processed, so it only leaves the list' "$(finish "$again" 'found processed')" '"state":"completed"'

# The stalled consumer wakes up: it removes nobody's item, and its work is kept aside.
holds 'too late' "$(finish "$stalled" 'by the stalled one')" '"reason":"expired"'
job=$(call GET "/jobs/$(printf '%s' "$again" | text id)")
holds 'the result that counts' "$job" '"result":"found processed"'
holds 'the result that came too late' "$job" '"result":"by the stalled one"'
holds 'the list is empty' "$(take other 1000)" '"reason":"empty"'
