#!/usr/bin/env bash
# Builds the container image for real and lets it serve, on a Debian machine without a container engine and without a
# registry: the two base images are made here, by debootstrap and from this machine's Rust, and buildah builds.
# Needs root, `apt-get install buildah debootstrap`, some 6 GB in $TMPDIR for a while, and Rust with a filled crate cache.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in buildah debootstrap cargo curl; do
    command -v "$tool" >/dev/null || { echo "image: $tool is missing" >&2; exit 1; }
done
[[ $(id -u) = 0 ]] || { echo "image: must be root" >&2; exit 1; }

work=$(mktemp -d)
service=
buildah=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
clean() {
    [[ -z $service ]] || kill "$service" 2>/dev/null || true
    "${buildah[@]}" rm --all >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
say() { echo "image: $*"; }

say "a bookworm"
debootstrap --variant=minbase --include=ca-certificates bookworm "$work/debian" >"$work/debootstrap.log" ||
    { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
cp /etc/resolv.conf "$work/debian/etc/resolv.conf"
rm -rf "$work"/debian/var/cache/apt/archives/*.deb "$work"/debian/var/lib/apt/lists/*

# $1: the folder that becomes the image $2, with the settings in the rest
base() {
    local container folder=$1 name=$2
    shift 2
    container=$("${buildah[@]}" from scratch)
    "${buildah[@]}" add --quiet "$container" "$folder" / >/dev/null
    "${buildah[@]}" config "$@" "$container"
    "${buildah[@]}" commit --quiet --rm "$container" "docker.io/library/$name" >/dev/null
}
base "$work/debian" debian:bookworm-slim --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say "a bookworm with $(rustc --version)"
chroot "$work/debian" /bin/sh -c \
    'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc libc6-dev make' \
    >"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
mkdir -p "$work/debian/usr/local/rust"
tar -C "$(rustc --print sysroot)" --exclude=share --exclude='lib/rustlib/src' -c . | tar -C "$work/debian/usr/local/rust" -x
base "$work/debian" rust:1-bookworm --env PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
rm -rf --one-file-system "$work/debian"

say "the image"
# What git would check out, and the crates beside it: the build then needs no crate registry.
mkdir -p "$work/context/.cargo"
git ls-files --cached --others --exclude-standard -z | tar --null --files-from=- -c | tar -C "$work/context" -x
cargo vendor --quiet --locked --versioned-dirs "$work/context/vendor" >/dev/null
cat >"$work/context/.cargo/config.toml" <<END
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "/build/vendor"
END
"${buildah[@]}" build --isolation chroot --network host --format docker --pull-never --layers=false \
    --tag intray "$work/context" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }

say "what it says about itself"
settings=$("${buildah[@]}" inspect --type image intray)
version=$(scripts/version.sh)
for expected in "\"org.opencontainers.image.version\": \"$version\"" '"org.opencontainers.image.source"' '"User": "10001:10001"' '"7070/tcp": {}' '"/data": {}' '"INTRAY_INSECURE=true"' '"healthcheck"'; do
    [[ $settings == *"$expected"* ]] || { echo "image: $expected is not in its settings" >&2; exit 1; }
done

say "it serves"
port=$((20000 + RANDOM % 10000))
container=$("${buildah[@]}" from --pull-never intray)
"${buildah[@]}" run --isolation chroot --network host --env "INTRAY_LISTEN=0.0.0.0:$port" "$container" -- intray \
    >"$work/service.log" 2>&1 &
service=$!
for _ in $(seq 100); do
    curl -fsS "http://127.0.0.1:$port/readyz" >/dev/null 2>&1 && break
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
done
answer=$(curl -sS --fail-with-body -H 'content-type: application/json' -d '{"payload":{"say":"hello"}}' \
    "http://127.0.0.1:$port/jobs") || { echo "$answer"; cat "$work/service.log"; exit 1; } >&2
[[ $answer == *'"state":"waiting"'* ]] || { echo "image: $answer" >&2; exit 1; }
status=$(curl -sS -o /dev/null -w '%{http_code}' -H 'host: evil.example' "http://127.0.0.1:$port/queues")
[[ $status = 421 ]] || { echo "image: a foreign host name that points here is answered with $status" >&2; exit 1; }
"${buildah[@]}" run --isolation chroot --network host --env "INTRAY_LISTEN=0.0.0.0:$port" "$container" -- intray healthcheck
kill "$service"
wait "$service" || true
service=
say "a job was enqueued in it: $answer"
