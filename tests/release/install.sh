#!/bin/bash
# Installs the package into a Debian, starts what its unit says, does one job, removes the package, and looks what stays:
# `install.sh MACHINE ARTIFACTS SUITE`, in namespaces of its own.
set -euo pipefail
machine=$1 artifacts=$2 suite=$3
unit=$machine/usr/lib/systemd/system/intray.service
fail() { echo "release: $suite: $*" >&2; exit 1; }
inside() { chroot "$machine" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
setting() { sed -n "s/^$1=//p" "$unit"; }

ip link set lo up
mount --bind "$machine" "$machine"
mount -t proc proc "$machine/proc"
mount --rbind /dev "$machine/dev"
# As in a fresh machine, and so that no process of it outlives a call.
serve() {
    local environment user state
    read -ra environment <<<"$(setting Environment)"
    user=$(setting User) state=/var/lib/$(setting StateDirectory)
    inside install -d -o "$user" -g "$user" -m "$(setting StateDirectoryMode)" "$state"
    # shellcheck disable=SC2046
    inside setpriv --reuid "$user" --regid "$user" --clear-groups env --chdir="$state" "${environment[@]}" $(setting ExecStart) \
        >>"$machine/service.log" 2>&1 &
    service=$!
    for _ in $(seq 300); do
        curl -fsS "$url/readyz" >/dev/null 2>&1 && return
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    cat "$machine/service.log" >&2
    fail "the service does not serve"
}
stop() {
    kill "$service"
    wait "$service" || true
}
call() { curl -sS --fail-with-body -H 'content-type: application/json' -d "$2" "$url$1"; }
url=http://127.0.0.1:7070

install -m 644 "$artifacts"/intray_*.deb "$machine/intray.deb"
inside dpkg --install /intray.deb >"$machine/dpkg.log" 2>&1 || { cat "$machine/dpkg.log" >&2; fail "it is not installed"; }
[[ $(inside intray --version) == "intray "* ]] || fail "the program does not run"
inside getent passwd intray >/dev/null || fail "there is no user intray"
inside systemctl is-enabled intray.service >/dev/null || fail "the service is not enabled"
faults=$(systemd-analyze verify --man=no --root="$machine" intray.service 2>&1 | grep -i intray || true)
[[ -z $faults ]] || fail "$faults"

serve
call /jobs '{"queue":"trial","payload":{"photo":17}}' | grep -q '"state":"waiting"' || fail "no job is taken"
reserved=$(call /jobs/reserve '{"queues":["trial"],"worker":"ann"}')
reservation=$(grep -o '"reservation":"[^"]*"' <<<"$reserved" | cut -d '"' -f 4)
call /jobs/complete "{\"reservation\":\"$reservation\",\"result\":{\"verdict\":\"fine\"}}" | grep -q '"state":"completed"' ||
    fail "the job is not completed: $reserved"
for package in client.tgz "python/$(basename "$artifacts"/*.whl)"; do
    case $package in *.tgz) file=("$artifacts"/*.tgz) ;; *) file=("$artifacts"/*.whl) ;; esac
    curl -fsS "$url/$package" | cmp - "${file[0]}"
done
stop
echo "release: $suite: the packaged service did a job"

inside dpkg --remove intray >>"$machine/dpkg.log" 2>&1
[[ ! -e $machine/usr/bin/intray && ! -e $unit ]] || fail "the package leaves its program behind"
[[ -n $(find "$machine/var/lib/intray" -type f -size +0) ]] || fail "the removal took the jobs"
inside dpkg --install /intray.deb >>"$machine/dpkg.log" 2>&1
serve
curl -fsS "$url/queues/trial/jobs?state=completed" | grep -q '"verdict":"fine"' || fail "the result is gone after a reinstallation"
stop
inside dpkg --purge intray >>"$machine/dpkg.log" 2>&1
[[ ! -e $machine/etc/intray/environment ]] || fail "a purge leaves the package's settings"
[[ -n $(find "$machine/var/lib/intray" -type f -size +0) ]] || fail "the purge took the jobs"
echo "release: $suite: the jobs outlived a removal, a reinstallation and a purge"
