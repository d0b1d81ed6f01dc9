#!/bin/sh
# The files of a release as a stranger uses them: `run.sh FOLDER`. The package is installed into an empty Debian of each suite that
# SUITES names, and removed. Needs root, and brings what is missing.
set -eu
artifacts=$(realpath "$1")
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
[ "$(id -u)" = 0 ] || { echo "release: must be root" >&2; exit 1; }
for needed in curl debootstrap readelf:binutils systemd-analyze:systemd unshare:util-linux ip:iproute2; do
    command -v "${needed%:*}" >/dev/null || "$root/scripts/install.sh" "${needed#*:}" >&2
done
"$root/scripts/python.sh"
mkdir -p generated

./files.sh "$artifacts"

# As source the package for Python makes the same modules again; its build needs one package from PyPI.
python3 -m venv --clear generated/python
for package in intray_client-*-any.whl intray_client-*.tar.gz; do
    rm -rf generated/modules
    # shellcheck disable=SC2086
    generated/python/bin/pip install -q --disable-pip-version-check --no-deps --target generated/modules "$artifacts"/$package
    (cd generated/modules/intray_client && find . -name '*.py' -exec sha256sum {} + | LC_ALL=C sort) >"generated/${package##*.}.sums"
done
cmp generated/whl.sums generated/gz.sums
echo "release: wheel and sdist install the same modules"

for suite in ${SUITES:-bookworm}; do
    empty=generated/$suite
    if [ ! -e "$empty/.made" ]; then
        rm -rf --one-file-system "$empty"
        debootstrap --variant=minbase --include=redis-server,systemd "$suite" "$empty" >"generated/$suite.log" 2>&1 ||
            { tail -n 20 "generated/$suite.log" >&2; exit 1; }
        rm -rf "$empty"/var/cache/apt/archives/*.deb
        touch "$empty/.made"
    fi
    machine=generated/machine
    rm -rf --one-file-system "$machine"
    cp -a "$empty" "$machine"
    # A network, processes and mounts of its own: its port may be in use here.
    unshare --net --mount --pid --fork --kill-child ./install.sh "$machine" "$artifacts" "$suite"
done
