#!/bin/sh
# Prints what CHANGELOG.md says of a version: `notes.sh 0.1.0`. Links to pages lead to those of that version.
set -eu
cd "$(dirname "$0")/../.."
notes=$(awk -v head="## [$1]" 'index($0, "## [") == 1 { inside = index($0, head) == 1; next } /^\[[^]]*\]: / { next } inside' CHANGELOG.md)
[ -n "$notes" ] || { echo "notes: CHANGELOG.md has no \"## [$1]\"" >&2; exit 1; }
pages=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)/blob/v$1
printf '%s\n' "$notes" | sed "/./,\$!d; s,](docs/,]($pages/docs/,g"
