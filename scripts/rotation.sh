#!/bin/sh
# Prints the part of tests/rotation.txt that this commit runs, from 0, and how many there are: `scripts/rotation.sh NAME`. All at
# once are part 0 of 1. `scripts/rotation.sh heavy-stories --others` prints the stories that this commit leaves to others.
set -eu
cd "$(dirname "$0")/.."
parts=$(sed -n "s/^$1 \([0-9]*\)\$/\1/p" tests/rotation.txt)
[ -n "$parts" ] || { echo "rotation: tests/rotation.txt has no $1" >&2; exit 1; }
case ${INTRAY_ROTATION:-} in
all) part=0 parts=1 ;;
# An archive of the source has no commits.
'') part=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % parts)) ;;
*) part=$((INTRAY_ROTATION % parts)) ;;
esac
case ${2:-} in
--others) awk -v part="$part" -v parts="$parts" '/::/ && n++ % parts != part' tests/rotation.txt ;;
*) echo "$part" "$parts" ;;
esac
