#!/bin/sh
# Prints the part of tests/rotation.txt that this commit runs, from 0, and how many there are: `scripts/rotation.sh NAME`. All at
# once are part 0 of 1.
set -eu
cd "$(dirname "$0")/.."
parts=$(sed -n "s/^$1 \([0-9]*\)\$/\1/p" tests/rotation.txt)
[ -n "$parts" ] || { echo "rotation: tests/rotation.txt has no $1" >&2; exit 1; }
case ${INTRAY_ROTATION:-} in
all) echo 0 1 ;;
# An archive of the source has no commits.
'') echo $(($(git rev-list --count HEAD 2>/dev/null || echo 0) % parts)) "$parts" ;;
*) echo $((INTRAY_ROTATION % parts)) "$parts" ;;
esac
