#!/bin/sh
# Prints what a program for this kind of processor is run with: `runner.sh aarch64`. Nothing on such a machine; on others the emulator and
# the libraries, as Debian's qemu-user-static and cross compiler bring them.
set -eu
[ "$1" = "$(uname -m)" ] || echo "qemu-$1-static -L /usr/$1-linux-gnu"
