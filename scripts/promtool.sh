#!/bin/sh
# Sees to it that promtool is there, which reads figures as Prometheus does. The program alone goes into ./.engine: the package
# would start a server. Without asking for a password.
set -eu
cd "$(dirname "$0")/.."
here=$PWD/.engine
PATH=$here:$PATH
command -v promtool >/dev/null && exit 0

with_apt() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    work=$(mktemp -d)
    (
        cd "$work"
        # Where nobody has asked for lists of packages yet, this does.
        apt-get download -q prometheus || { "$OLDPWD/scripts/install.sh" ca-certificates && apt-get download -q prometheus; }
        dpkg-deb -x prometheus_*.deb .
        mkdir -p "$here"
        cp usr/bin/promtool "$here/"
    )
    done=$?
    rm -rf "$work"
    return "$done"
}

with_brew() {
    command -v brew >/dev/null && brew install prometheus
}

(with_apt || with_brew) >&2 || true
command -v promtool >/dev/null || { echo "promtool: install it (it comes with Prometheus) and try again" >&2; exit 1; }
