#!/bin/sh
# Sees to it that programs are there whose packages would start a server: `programs.sh promtool nginx`. The program alone goes
# into ./.engine. Without asking for a password.
set -eu
cd "$(dirname "$0")/.."
here=$PWD/.engine
PATH=$here:$PATH:/usr/sbin

# The package that has a program, with whom.
package_of() {
    case $1:$2 in
    *:promtool) echo prometheus ;;
    apt:kubectl) echo kubernetes-client ;;
    apt:redis-cli) echo redis-tools ;;
    brew:redis-cli) echo redis ;;
    brew:kubectl) echo kubernetes-cli ;;
    *) echo "$2" ;;
    esac
}

with_apt() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    package=$(package_of apt "$1")
    work=$(mktemp -d)
    (
        cd "$work"
        # Where nobody has asked for lists of packages yet, this does.
        apt-get download -q "$package" ||
            { "$OLDPWD/scripts/install.sh" ca-certificates && apt-get download -q "$package"; }
        dpkg-deb -x "$package"_*.deb .
        mkdir -p "$here"
        cp usr/*bin/"$1" "$here/"
    )
    done=$?
    rm -rf "$work"
    return "$done"
}

with_brew() {
    command -v brew >/dev/null && brew install "$(package_of brew "$1")"
}

for program in "$@"; do
    command -v "$program" >/dev/null && continue
    (with_apt "$program" || with_brew "$program") >&2 || true
    command -v "$program" >/dev/null || { echo "$program is missing: install it and try again" >&2; exit 1; }
done
