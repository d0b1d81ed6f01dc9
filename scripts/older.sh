#!/bin/sh
# Builds the binary of an older commit, and prints its path. It stays in the target folder for the next time.
set -eu
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify --short "$1^{commit}")
target=${CARGO_TARGET_DIR:-$PWD/target}/older
binary=$target/intray-$commit
if [ ! -x "$binary" ]; then
    source=$target/source
    rm -rf "$source"
    mkdir -p "$source"
    git archive "$commit" | tar -x -C "$source"
    (cd "$source" && cargo build --release --locked --target-dir "$target/build") >&2
    mv "$target/build/release/intray" "$binary"
    rm -rf "$source"
fi
echo "$binary"
