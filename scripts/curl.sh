#!/bin/sh
# Sees to it that a curl is there that knows --json. Without asking for a password.
set -eu
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
if command -v apt-get >/dev/null; then
    as_root apt-get update -q && as_root apt-get install -q -y --no-install-recommends curl
elif command -v brew >/dev/null; then
    brew install curl
elif command -v apk >/dev/null; then
    as_root apk add --no-cache curl
elif command -v dnf >/dev/null; then
    as_root dnf install -q -y curl
fi >&2 || true
curl --help all 2>/dev/null | grep -q -- --json || {
    echo "curl: the README's tour needs curl 7.82 or newer; install it and try again" >&2
    exit 1
}
