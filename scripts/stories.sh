#!/bin/sh
# Runs `cargo test` with these arguments, to the end. A story of the service that failed while the machine stood still says so
# (tests/service/world/engine/stalls.rs): it runs once more, alone, and that counts. Every other failure stands.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log".*' EXIT
{ cargo test --no-fail-fast "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"
status=$(cat "$log.status")
[ "$status" != 0 ] || exit 0

# Nothing but stories of the service, each with its line.
targets=$(sed -n 's/^ *`\(.*\)`$/\1/p' "$log" | sort -u)
[ "$targets" = "-p intray --test service" ] || exit "$status"
sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$log" | sort -u >"$log.failed"
awk '/^---- .* stdout ----$/ { story = $2 } /^the machine stood still for / { print story }' "$log" | sort -u >"$log.stalled"
[ -s "$log.failed" ] && ! comm -23 "$log.failed" "$log.stalled" | grep -q . || exit "$status"

echo "the machine stood still; once more:" $(cat "$log.failed")
exec cargo test --locked -p intray --test service -- --exact --test-threads 1 $(cat "$log.failed")
