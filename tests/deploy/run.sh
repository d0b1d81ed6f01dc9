#!/bin/sh
# The files of deploy/: read by the tools that they are for, and then lived in, each service in a network of its own as a container
# would be. Brings what is missing but the service itself, which is looked for in target/ unless INTRAY_BIN says where it is.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export PATH="$root/.engine:$PATH:/usr/sbin:/sbin"

"$root/scripts/python.sh" .
"$root/scripts/engine.sh" >&2
"$root/scripts/programs.sh" promtool prometheus caddy nginx kubectl
for needed in ip:iproute2 systemd-analyze:systemd openssl:openssl unshare:util-linux; do
    command -v "${needed%:*}" >/dev/null || "$root/scripts/install.sh" "${needed#*:}" >&2
done
# The files call Valkey by its name; where there is only Redis, that is used.
mkdir -p generated/bin
for end in server cli; do
    command -v "valkey-$end" >/dev/null && continue
    "$root/scripts/programs.sh" "redis-$end"
    ln -sf "$(command -v "redis-$end")" "generated/bin/valkey-$end"
done
export PATH="$PWD/generated/bin:$PATH"
INTRAY_BIN=$("$root/scripts/built.sh")
export INTRAY_BIN

# Its own network and mounts: the addresses and paths that the files say, and nobody else's on this machine.
as_root=$([ "$(id -u)" = 0 ] || echo --map-root-user)
# shellcheck disable=SC2086
exec unshare --net --mount --pid --fork --kill-child $as_root generated/python/bin/python main.py "$@"
