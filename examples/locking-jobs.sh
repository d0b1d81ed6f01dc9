#!/bin/sh
# Workers in parallel, and jobs that must not run together: "A Foray into Redis", whose jobQ takes a lock for each job, skips
# a job whose lock is busy, and dreads the perma-lock of a worker that crashed.
set -eu
. "$(dirname "$0")/intray.sh"
queue=example-jobq
empty_queue "$queue"
busy=$(mktemp -d)
trap 'rm -rf "$busy"' EXIT

# Twelve jobs for three teams: two jobs of one team are in conflict.
jobs=
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    jobs="$jobs{\"queue\":\"$queue\",\"payload\":$n,\"locks\":[\"team $((n % 3))\"]},"
done
call POST /jobs "[${jobs%,}]" >/dev/null

# One of each team can be out, however many are asked for; the others are skipped, not waited for.
crashed=$(call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"limit\":100,\"lease_ms\":3000}")
expect 'jobs out at once' "$(printf '%s' "$crashed" | handed_out | wc -l | tr -d ' ')" 3
holds 'the rest' "$(call POST /jobs/reserve "{\"queues\":[\"$queue\"]}")" '"reason":"blocked"'
locks=$(call GET "/queues/$queue/locks")
holds 'who holds what can be seen' "$locks" '"lock":"team 1"'
holds 'and how many wait for it' "$locks" '"blocked":3'

# That worker is never heard of again. Its locks end with its reservations, three seconds later; they have no clock of their
# own. Meanwhile four others work, each until nothing is left.
work() {
    while :; do
        answer=$(call POST /jobs/reserve "{\"queues\":[\"$queue\"],\"worker\":\"$1\"}")
        case $answer in
        *'"reason":"empty"'*) return 0 ;;
        *'"jobs":[]'*)
            pause
            continue
            ;;
        esac
        lock=$(printf '%s' "$answer" | grep -o '"locks":\["[^"]*"' | cut -d '"' -f 4)
        # Only one can make a folder: a second job of the same team would be found out.
        mkdir "$busy/$lock"
        pause
        rmdir "$busy/$lock"
        reservation=$(printf '%s' "$answer" | text reservation)
        call POST /jobs/complete "{\"reservation\":\"$reservation\",\"result\":\"by $1\"}" >/dev/null
    done
}
workers=
for name in w1 w2 w3 w4; do
    work "$name" &
    workers="$workers $!"
done
for worker in $workers; do
    wait "$worker" || { echo 'two jobs of one team ran together' >&2; exit 1; }
done
finished=$(call GET "/queues/$queue/jobs?state=completed&limit=100")
expect 'done' "$(printf '%s' "$finished" | grep -o '"result":"by w' | wc -l | tr -d ' ')" 12
holds 'no lock is left' "$(call GET "/queues/$queue/locks")" '"locks":[]'
