#!/bin/sh
# Several clients, several tasks at once, and one that is poison: "Using redis as a task queue", whose RedisQueue serves
# clients fairly, tries a task MAX_ATTEMPTS_COUNT times and then keeps it with the dead letters.
set -eu
. "$(dirname "$0")/intray.sh"
queue=example-worker1
empty_queue "$queue"

# send CLIENT NUMBER…: several tasks with one call.
send() {
    client=$1
    shift
    jobs=
    for number in "$@"; do
        jobs="$jobs{\"queue\":\"$queue\",\"client\":\"$client\",\"payload\":{\"msg\":$number},\"max_attempts\":4},"
    done
    call POST /jobs "[${jobs%,}]" >/dev/null
}
receive() {
    call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"limit\":$1}"
}
send client 1 2
send client2 3 4 0

# One client does not block the other: of two tasks, each has one. Asked for two, nobody gets three.
answer=$(receive 2)
expect 'received' "$(printf '%s' "$answer" | handed_out | wc -l | tr -d ' ')" 2
holds 'one of them for' "$answer" '"client":"client"'
holds 'the other for' "$answer" '"client":"client2"'

# handle: 10 divided by each; what cannot be done fails and is counted.
handle() {
    printf '%s' "$1" | handed_out | while read -r job; do
        reservation=$(printf '%s' "$job" | text reservation)
        number=$(printf '%s' "$job" | number msg)
        if result=$( (printf '%s' "$((10 / number))") 2>/dev/null); then
            call POST /jobs/complete "{\"reservation\":\"$reservation\",\"result\":$result}" >/dev/null
        else
            call POST /jobs/fail "{\"reservation\":\"$reservation\",\"error\":\"10 / $number\"}" >/dev/null
        fi
    done
}
calls=0
while :; do
    case $answer in *'"jobs":[]'*) break ;; esac
    handle "$answer"
    calls=$((calls + 1))
    [ "$calls" -le 10 ]
    answer=$(receive 2)
done

count() {
    call GET "/queues/$queue/jobs?state=$1" | grep -o "\"state\":\"$1\"" | wc -l | tr -d ' '
}
expect 'completed' "$(count completed)" 4
expect 'dead' "$(count dead)" 1
dead=$(call GET "/queues/$queue/jobs?state=dead")
holds 'the dead letter' "$dead" '"payload":{"msg":0}'
holds 'was tried so often and not more' "$dead" '"handed_out":4'
holds 'and says what was wrong' "$dead" '"error":"10 / 0"'

# Requeue it after the handler is fixed, or remove it.
id=$(printf '%s' "$dead" | text id)
holds 'requeued' "$(call POST /jobs/requeue "{\"id\":\"$id\"}")" '"requeued":1'
holds 'cancelled' "$(call DELETE "/jobs/$id")" '"state":"cancelled"'
