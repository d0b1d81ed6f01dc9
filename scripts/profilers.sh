#!/bin/sh
# Sees to it that valgrind and strace are here, which count what a cycle costs. Without asking for a password.
set -eu
has() {
    command -v valgrind >/dev/null && command -v vgdb >/dev/null && command -v strace >/dev/null
}
has || "$(dirname "$0")/install.sh" valgrind strace >&2 || true
has || {
    echo "profilers: there is no valgrind or no strace, and they could not be installed" >&2
    exit 1
}
