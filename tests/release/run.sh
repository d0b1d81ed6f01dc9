#!/bin/sh
# The files of a release as a stranger uses them: `run.sh FOLDER`. The package is installed into an empty Debian of each suite that
# SUITES names, and removed. Needs root, and brings what is missing. With BOOT=required it fails where no machine can be booted.
set -eu
artifacts=$(realpath "$1")
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
[ "$(id -u)" = 0 ] || { echo "release: must be root" >&2; exit 1; }
for needed in curl debootstrap readelf:binutils systemd-analyze:systemd unshare:util-linux ip:iproute2 systemd-nspawn:systemd-container; do
    command -v "${needed%:*}" >/dev/null || "$root/scripts/install.sh" "${needed#*:}" >&2
done
"$root/scripts/python.sh"
mkdir -p generated

./files.sh "$artifacts"
./tarball.sh "$artifacts"/intray-*-linux-*.tar.gz

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

if [ "$(dpkg-deb --field "$artifacts"/intray_*.deb Architecture)" != "$(dpkg --print-architecture)" ]; then
    echo "release: the package is for another processor, and is not installed"
    exit 0
fi

# A machine of this suite with the files of the release, and what to do with them.
machine() {
    empty=generated/$1
    if [ ! -e "$empty/.made" ]; then
        rm -rf --one-file-system "$empty"
        debootstrap --variant=minbase --include=curl,procps,redis-server,systemd "$1" "$empty" >"generated/$1.log" 2>&1 ||
            { tail -n 20 "generated/$1.log" >&2; exit 1; }
        rm -rf "$empty"/var/cache/apt/archives/*.deb
        systemctl --root "$empty" --quiet disable redis-server
        touch "$empty/.made"
    fi
    rm -rf --one-file-system generated/machine
    cp -a "$empty" generated/machine
    install -d generated/machine/trial
    cp install.sh one_job.sh "$artifacts"/*.deb "$artifacts"/*.whl "$artifacts"/*.tgz generated/machine/trial/
}
outcome() {
    [ -e generated/machine/trial/outcome ] || { cat generated/machine/trial/log >&2; exit 1; }
    sed "s/^release:/release: $1:/" generated/machine/trial/outcome
}

for suite in ${SUITES:-bookworm}; do
    machine "$suite"
    # A network, processes and mounts of its own: its port may be in use here.
    unshare --net --mount --pid --fork --kill-child sh -ec 'ip link set lo up
        mount -t proc proc generated/machine/proc
        mount --rbind /dev generated/machine/dev
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot generated/machine /trial/install.sh' \
        >generated/log 2>&1 || { cat generated/log >&2; exit 1; }
    outcome "$suite, started by hand"

    # The same with systemd as the first process, which starts the service in its sandbox. Where a machine cannot be booted, it says so.
    machine "$suite"
    cp trial.service generated/machine/etc/systemd/system/
    systemctl --root generated/machine --quiet enable trial.service
    timeout --kill-after=10 300 systemd-nspawn --quiet --directory generated/machine --boot --private-network --register=no --keep-unit \
        </dev/null >generated/boot.log 2>&1 || true
    if [ ! -e generated/machine/trial/log ]; then
        echo "release: $suite: not tried with systemd: $(tail -n 1 generated/boot.log)"
        [ "${BOOT:-}" != required ] || exit 1
    else
        outcome "$suite, started by systemd"
    fi
done
