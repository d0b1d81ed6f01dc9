#!/bin/sh
# Sees to it that Python (3.10 or newer) is there and can make a folder of packages of its own. Without asking for a password.
set -eu
has_python() {
    python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
has_python && exit 0
"$(dirname "$0")/install.sh" python3 python3-venv >&2 || true
has_python || { echo "python: python3 of at least 3.10 with venv is missing; install it and try again" >&2; exit 1; }
