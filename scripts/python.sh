#!/bin/sh
# Sees to it that Python (3.10 or newer) is there and can make a folder of packages of its own. `python.sh FOLDER` makes one,
# FOLDER/generated/python, of what FOLDER/requirements.txt names. Without asking for a password.
set -eu
has_python() {
    python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
has_python || "$(dirname "$0")/install.sh" python3 python3-venv >&2 || true
has_python || { echo "python: python3 of at least 3.10 with venv is missing; install it and try again" >&2; exit 1; }

[ $# = 1 ] || exit 0
made=$1/generated/python
if [ ! -e "$made/.packages" ] || [ "$1/requirements.txt" -nt "$made/.packages" ]; then
    python3 -m venv --clear "$made"
    "$made/bin/pip" install -q --disable-pip-version-check -r "$1/requirements.txt"
    touch "$made/.packages"
fi
