#!/bin/sh
# Prints the oldest C library with which a program runs: the newest version of a symbol that it asks for. `glibc.sh PROGRAM`.
set -eu
readelf --wide --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1
