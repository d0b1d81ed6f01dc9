#!/bin/sh
# Each line of a file is a request, split into sub-requests: "Creating a job Queue in redis" (redis-queue), which has
# priorities, a limit of workers for each request, one notification at its end, and wishes for streamed sub-requests.
set -eu
. "$(dirname "$0")/intray.sh"
queue=example-requests
empty_queue "$queue"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/requests" <<'END'
50 2 the quick brown fox jumps over the lazy dog
10 1 pack my box
90 3 how vexingly quick daft zebras jump
END

items() {
    for word in $1; do printf '{"payload":"%s"},' "$word"; done | sed 's/,$//'
}
# priority, max workers at a time, words
while read -r priority limit words; do
    batch="{\"queue\":\"$queue\",\"priority\":$priority,\"concurrency\":$limit,\"jobs\":[$(items "$words")]}"
    id=$(call POST /batches "$batch" | text id)
    echo "$id $limit $words" >>"$dir/batches"
done <"$dir/requests"
urgent=$(sed -n 2p "$dir/batches" | cut -d ' ' -f 1)
expect 'first in line is the urgent request' "$(call GET "/queues/$queue/jobs?limit=1" | text batch)" "$urgent"

# One more is streamed: worked on while it is still being split.
words='sphinx of black quartz judge my vow'
stream=$(call POST /batches "{\"queue\":\"$queue\",\"concurrency\":2,\"sealed\":false}" | text id)
echo "$stream 2 $words" >>"$dir/batches"

# A worker at a request takes one of its places, numbered from 1; one too many would find none.
place() {
    n=1
    while ! mkdir "$dir/$1.$n" 2>/dev/null; do
        n=$((n + 1))
        [ "$n" -le "$(grep "^$1 " "$dir/batches" | cut -d ' ' -f 2)" ] || return 1
    done
    echo "$dir/$1.$n"
}
work() {
    while [ ! -e "$dir/over" ]; do
        answer=$(call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"worker\":\"$1\"}")
        case $answer in *'"jobs":[]'*) pause; continue ;; esac
        place=$(place "$(printf '%s' "$answer" | text batch)") || { echo 'too many at one request' >&2; return 1; }
        result=$(printf '%s' "$answer" | text payload | tr '[:lower:]' '[:upper:]')
        rmdir "$place"
        reservation=$(printf '%s' "$answer" | text reservation)
        call POST /jobs/complete "{\"reservation\":\"$reservation\",\"result\":\"$result\"}" >/dev/null
    done
}
workers=
for name in w1 w2 w3 w4 w5; do work "$name" & workers="$workers $!"; done

offset=0
for word in $words; do
    call POST "/batches/$stream/jobs" "{\"jobs\":[$(items "$word")],\"offset\":$offset}" >/dev/null
    offset=$((offset + 1))
done
holds 'no more after the seal' "$(call POST "/batches/$stream/seal")" "\"total\":$offset"
holds 'indeed' "$(call POST "/batches/$stream/jobs" '{"jobs":[{"payload":"late"}]}')" '"status":409'

# One completion each, which can be read whenever one likes, and the results in the order of the words.
while read -r id limit words; do
    while [ "$(call GET "/batches/$id" | text state)" = sealed ]; do pause; done
    expect "$id" "$(call GET "/batches/$id" | text state)" completed
    results=$(call GET "/batches/$id/results?limit=1000" | grep -o '"result":"[^"]*"' | cut -d '"' -f 4 | tr '\n' ' ')
    expect 'its results' "${results% }" "$(printf '%s' "$words" | tr '[:lower:]' '[:upper:]')"
done <"$dir/batches"
: >"$dir/over"
for worker in $workers; do wait "$worker"; done
