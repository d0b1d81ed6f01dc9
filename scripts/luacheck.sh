#!/bin/sh
# Looks through lua/, and the scripts of a move, for globals, for locals that nobody uses and that hide others. Brings luacheck where it is missing.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
command -v luacheck >/dev/null || scripts/install.sh lua-check >&2 || scripts/install.sh luacheck >&2 || true
command -v luacheck >/dev/null || {
    echo "luacheck: it is missing: https://github.com/lunarmodules/luacheck" >&2
    exit 1
}
luacheck --quiet --no-color --std lua51 --read-globals redis KEYS ARGV -- crates/intray-store/src/upkeep/*/*.lua migrations/*.lua
# As the loader does, with any number for `$NAME`: the program knows which.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R lua "$copy/"
find "$copy/lua" -name '*.lua' -exec sed -i.bak 's/\$[A-Z_]*/0/g' {} +
config=$PWD/.luacheckrc
cd "$copy"
luacheck --quiet --no-color --config "$config" lua
