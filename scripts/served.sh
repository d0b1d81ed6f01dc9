# To be read by a script: starts the service of $INTRAY_BIN, or the newest in target/, with a folder $data of its own, at $url. Both are
# gone when the script ends.
INTRAY_BIN=$("$root/scripts/built.sh")
export INTRAY_BIN
data=$(mktemp -d)
: >"$data/log"
# Redis has so long to answer, that no busy machine fails a test.
"$INTRAY_BIN" serve --listen 127.0.0.1:0 --data-dir "$data" --redis-timeout-ms 30000 >"$data/log" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null; wait "$service" || true; rm -rf "$data"' INT TERM EXIT
until url=$(sed -n 's/.*intray is ready on \(http:[^ "]*\).*/\1/p' "$data/log") && [ -n "$url" ]; do
    kill -0 "$service" || { cat "$data/log" >&2; exit 1; }
    sleep 0.1
done
