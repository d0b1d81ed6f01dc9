#!/bin/sh
# Prints the version, which Cargo.toml says, or fails if another place says another: `version.sh`. `version.sh 0.2.0` writes a new one
# to all of these places.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# Each line that says a version: the file, and what stands before and after it.
places() {
    echo 'packages/python/METADATA|^Version: |$'
    echo 'web/client/package.json|^  "version": "|",$'
    echo 'openapi.yaml|^  version: |$'
    echo 'Dockerfile|^ARG VERSION=|$'
    for file in docs/browser.md docs/clients.md web/client/README.md tests/packages/npm/vendored.test.js; do
        echo "$file|intray-client-|\\.tgz"
    done
    for file in README.md docs/deploy.md docs/release.md; do
        echo "$file|intray_|_amd64"
    done
    for file in README.md docs/deploy.md docs/release.md docs/start.md; do
        echo "$file|intray-|-linux-amd64"
    done
    for file in docs/clients.md openapi.yaml; do
        echo "$file|intray_client-|-py3"
    done
}
number='[0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*'

if [ $# = 1 ]; then
    echo "$1" | grep -qx "$number" || { echo "version: $1 is not of the form 1.2.3" >&2; exit 1; }
    sed -i "s/^version = \"$version\"/version = \"$1\"/" Cargo.toml
    places | while IFS='|' read -r file before after; do
        sed -i "s|\\($before\\)$number\\($after\\)|\\1$1\\2|g" "$file"
    done
    # The lock names the packages of this workspace with their version.
    cargo update --workspace --offline --quiet
    version=$1
fi

places | while IFS='|' read -r file before after; do
    found=$(grep -o "$before$number$after" "$file" || true)
    wrong=$(printf '%s\n' "$found" | grep -o "$number" | grep -vxF "$version" || true)
    [ -n "$found" ] || { echo "version: $file says none" >&2; exit 1; }
    [ -z "$wrong" ] || { echo "version: $file says $wrong, and Cargo.toml $version: scripts/version.sh $version" >&2; exit 1; }
done
echo "$version"
