#!/bin/sh
# Runs a test program so that each test says how long it took. Cargo calls this with the program and its arguments. With TEST_ORDER,
# a number, the tests run in an order that it chooses.
set -eu
# The test library of a stable compiler has these options too, and only this variable lets it take them. Without them, tests run all the same.
order=${TEST_ORDER:+--shuffle-seed=$TEST_ORDER}
if RUSTC_BOOTSTRAP=1 "$1" -Z unstable-options --report-time --list >/dev/null 2>&1; then
    RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --report-time ${order:+"$order"}
fi
exec "$@"
