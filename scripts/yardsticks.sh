#!/bin/sh
# Brings what `make bench` compares the service with: webdis and beanstalkd as packages, BullMQ from npm. What cannot be had is
# named, and left out of the tables. Nothing that is installed is started. Without asking for a password.
set -u
cd "$(dirname "$0")/.."

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Debian starts what it installs; a policy-rc.d that answers 101 forbids it, and is how its images do it too.
quietly() {
    policy=/usr/sbin/policy-rc.d
    if command -v apt-get >/dev/null && [ ! -e "$policy" ] && as_root true 2>/dev/null; then
        trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT INT TERM
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
    scripts/install.sh "$1" >&2
    if command -v systemctl >/dev/null; then as_root systemctl disable "$1" >/dev/null 2>&1; fi
}

for program in webdis beanstalkd; do
    command -v "$program" >/dev/null || (quietly "$program") || true
    command -v "$program" >/dev/null || echo "yardsticks: there is no $program: left out" >&2
done

# Without a lock: it would name optional parts that not every registry has, and then npm refuses all of it.
bullmq=benches/compare/yardsticks/bullmq
if ! scripts/node.sh || ! (
    cd "$bullmq" || exit 1
    [ -d node_modules/bullmq ] && [ ! package.json -nt node_modules ] ||
        npm install --no-package-lock --omit=optional --no-audit --no-fund --ignore-scripts >&2
); then
    echo "yardsticks: there is no BullMQ: left out" >&2
fi
