#!/bin/sh
# People in a single-page app, and a cron job that takes back what they left lying: "Building a Work Queue With Redis and
# Lua", whose Ruby class MyQueue has enqueue, reserve, clear and delete.
set -eu
. "$(dirname "$0")/intray.sh"
queue=example-my-queue
empty_queue "$queue"

enqueue() {
    call POST /jobs "{\"queue\":\"$queue\",\"payload\":\"$1\"}"
}
# JOB_EXPIRES_IN is 300 seconds unless the call says otherwise; nobody wants to wait for that here.
reserve() {
    call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"worker\":\"$1\",\"lease_ms\":$2}"
}
state() {
    call GET "/jobs/$1" | text state
}

# enqueue(data): a sorted set holds each value once, and so does this; the second does not move to the back.
first=$(enqueue 'photo 1' | text id)
second=$(enqueue 'photo 2' | text id)
twin=$(enqueue 'photo 1')
expect 'enqueued twice is the same job' "$(printf '%s' "$twin" | text id)" "$first"
holds 'and is said to be' "$twin" '"duplicate":true'

# reserve: the first caller gets the oldest job, and no other caller gets it.
ann=$(reserve ann 3000)
expect 'Ann has the oldest' "$(printf '%s' "$ann" | text id)" "$first"
bob=$(reserve bob 300000)
expect 'Bob has the next' "$(printf '%s' "$bob" | text id)" "$second"
holds 'and for Cy there is nothing' "$(reserve cy 1000)" '"reason":"reserved"'

# Ann goes to lunch. clear: the sweep comes by itself once a second; a cron job may call it too.
sleep 4
call POST "/queues/$queue/sweep" >/dev/null
expect 'what Ann left lying is back' "$(state "$first")" waiting

# It is in its old place, before anything newer.
enqueue 'photo 3' >/dev/null
cy=$(reserve cy 300000)
expect 'Cy has it now' "$(printf '%s' "$cy" | text id)" "$first"
expect 'for the second time' "$(printf '%s' "$cy" | number attempt)" 2

# delete(key): done, and out of the reserved ones. Ann comes back too late, and does not take it from Cy.
done_by() {
    call POST /jobs/complete "{\"reservation\":\"$(printf '%s' "$1" | text reservation)\",\"result\":\"fine\"}"
}
holds 'Ann lost it' "$(done_by "$ann")" '"type":"/problems/reservation-lost"'
holds 'Cy is done' "$(done_by "$cy")" '"state":"completed"'
holds 'Bob is done' "$(done_by "$bob")" '"state":"completed"'

# delete(key, INBOUND_QUEUE): out of the line before anybody had it.
third=$(call GET "/queues/$queue/jobs?state=waiting" | text id)
holds 'withdrawn' "$(call DELETE "/jobs/$third")" '"state":"cancelled"'
holds 'nothing is left' "$(reserve ann 3000)" '"reason":"empty"'
