#!/bin/sh
# Sees to it that valgrind and strace are here, which count what a cycle costs, and Lua's compiler, which shows what a script
# builds. Without asking for a password.
set -eu
has() {
    for program in valgrind vgdb strace luac5.1; do
        command -v "$program" >/dev/null || return 1
    done
}
has || "$(dirname "$0")/install.sh" valgrind strace lua5.1 >&2 || true
has || {
    echo "profilers: valgrind, strace or luac5.1 is missing, and they could not be installed" >&2
    exit 1
}
