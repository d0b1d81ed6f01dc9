#!/bin/sh
# Lines of code by room, without tests, comments and blank lines: `scripts/lines.sh`, or `scripts/lines.sh REVISION` for a commit.
# What the service is made of, wherever it stands: src, crates and lua; no benches, no packages.
set -eu
cd "$(dirname "$0")/.."

folder=.
if [ $# -gt 0 ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    git archive "$1" | tar -x -C "$folder"
fi

cd "$folder"
for top in src crates lua; do [ -d "$top" ] && find "$top" -name '*.rs' -o -path "$top/*" -name '*.lua'; done | sort |
    grep -vE '(^|/)tests?(/|\.rs$)' | xargs awk '
    FNR == 1 {
        test = 0
        n = split(FILENAME, part, "/")
        room = part[1] "/" part[2]
        if (part[1] == "src" && n > 3 && part[2] ~ /^(http|store|queue)$/) room = room "/" part[3]
        if (part[2] == "intray-store" && n > 4) room = room "/" part[4]
        sub(/\.rs$/, "", room)
    }
    /^#\[cfg\(test\)\]/ { getline following; if (following ~ /^mod tests \{/) test = 1; else if (following ~ /^mod .*;/) next; else if (!test) lines[room]++ ; next }
    test || /^[ \t]*$/ || /^[ \t]*\/\// || /^[ \t]*--/ { next }
    { lines[room]++; all++ }
    END {
        for (room in lines) printf "%-28s %6d\n", room, lines[room] | "sort"
        close("sort")
        printf "%-28s %6d\n", "all", all
    }'
