#!/bin/sh
# Runs `cargo test` with these arguments to the end, without the heavy stories that other commits run, and says at the end which tests took longest. No test fails by its time.
set -u
cd "$(dirname "$0")/.." || exit 1
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
# In the order of their names, or in one that a fixed number chooses.
order=$(scripts/rotation.sh story-order)
[ "${order% *}" = 0 ] || export TEST_ORDER=1
others=$(scripts/rotation.sh heavy-stories --others | sed 's/^/--skip /')
runner="target.'cfg(all())'.runner = '$PWD/scripts/timed.sh'"
{ cargo --config "$runner" test --no-fail-fast "$@" -- $others 2>&1; echo $? >"$log.status"; } | tee "$log"

echo "-- the twenty slowest tests, in seconds:"
program='/^ +Running / { of = $NF; gsub(/.*\/|-[0-9a-f]+\)$/, "", of) }'
awk "$program"' /^test .* <[0-9.]+s>$/ { printf "%9.1f  %s: %s\n", substr($NF, 2) + 0, of, $2 }' "$log" | sort -rn | head -n 20
echo "-- each test program, in seconds:"
awk "$program"' /^test result: .* finished in [0-9.]+s$/ { printf "%9.1f  %s\n", $NF + 0, of }' "$log" | sort -rn
exit "$(cat "$log.status")"
