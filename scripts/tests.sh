#!/bin/sh
# Runs `cargo test` with these arguments to the end, and says at the end which tests took longest. No test fails by its time.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
# In the order of their names, or in one that a fixed number chooses.
order=$("$(dirname "$0")/rotation.sh" story-order)
[ "${order% *}" = 0 ] || export TEST_ORDER=1
runner=$(cd "$(dirname "$0")" && pwd)/timed.sh
{ cargo --config "target.'cfg(all())'.runner = '$runner'" test --no-fail-fast "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"

echo "-- the twenty slowest tests, in seconds:"
awk '/^ +Running / { of = $2; if (of == "unittests") of = $3 }
    /^test .* <[0-9.]+s>$/ { seconds = substr($NF, 2) + 0; printf "%9.1f  %s: %s\n", seconds, of, $2 }' "$log" | sort -rn | head -n 20
echo "-- each test program, in seconds:"
awk '/^ +Running / { of = $2; if (of == "unittests") of = $3 }
    /^test result: .* finished in [0-9.]+s$/ { printf "%9.1f  %s\n", substr($NF, 1) + 0, of }' "$log" | sort -rn
exit "$(cat "$log.status")"
