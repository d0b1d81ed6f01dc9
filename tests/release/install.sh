#!/bin/bash
# Runs inside an empty Debian: installs the package, has one job done by what its unit starts, removes the package, and looks what
# stays. Where systemd runs, the package starts the service; elsewhere this starts what the unit says.
set -euo pipefail
cd /trial
unit=/usr/lib/systemd/system/intray.service
url=http://127.0.0.1:7070
export DEBIAN_FRONTEND=noninteractive
[[ -d /run/systemd/system ]] && booted=yes || booted=
fail() { echo "release: $*" >&2 && exit 1; }
setting() { sed -n "s/^$1=//p" "$unit"; }

start() {
    local environment user state
    read -ra environment <<<"$(setting Environment)"
    user=$(setting User) state=/var/lib/$(setting StateDirectory)
    install -d -o "$user" -g "$user" -m "$(setting StateDirectoryMode)" "$state"
    # shellcheck disable=SC2046
    setpriv --reuid "$user" --regid "$user" --clear-groups env -i PATH="$PATH" --chdir="$state" "${environment[@]}" \
        $(setting ExecStart) >>service.log 2>&1 &
    service=$!
}
serves() {
    [[ $booted ]] || start
    for _ in $(seq 300); do
        ! curl -fsS "$url/readyz" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    [[ ! $booted ]] || journalctl --unit intray --no-pager >service.log
    cat service.log >&2
    fail "the service does not serve"
}
ends() {
    [[ $booted ]] || { kill "$service" && wait "$service"; } || fail "the service does not end well"
}

dpkg --install intray_*.deb
[[ $(intray --version) == "intray "* ]] || fail "the program does not run"
systemctl is-enabled intray.service >/dev/null || fail "the service does not start with the machine"
faults=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep -i intray || true)
[[ -z $faults ]] || fail "$faults"
serves
[[ $(stat -c %U /proc/"$(pgrep --oldest --exact intray)") == intray ]] || fail "the service is not run by its user"

./one_job.sh "$url"
curl -fsS "$url/client.tgz" | cmp - intray-client-*.tgz
for wheel in *.whl; do curl -fsS "$url/python/$wheel" | cmp - "$wheel"; done
ends

dpkg --remove intray
[[ ! -e /usr/bin/intray && ! -e $unit ]] || fail "the package leaves its program behind"
! pgrep --exact intray >/dev/null || fail "the removed service still runs"
[[ -n $(find /var/lib/intray -type f -size +0) ]] || fail "the removal took the jobs"
dpkg --install intray_*.deb
serves
curl -fsS "$url/queues/trial/jobs?state=completed" >answer.json
grep -q '"verdict":"fine"' answer.json || fail "the result is gone after another installation: $(cat answer.json)"
ends
dpkg --purge intray
[[ ! -e /etc/intray/environment ]] || fail "a purge leaves the package's settings"
[[ -n $(find /var/lib/intray -type f -size +0) ]] || fail "the purge took the jobs"
echo "release: one job was done, and outlived a removal, another installation and a purge" >outcome
