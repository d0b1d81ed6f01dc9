#!/bin/sh
# Runs those stories of the program to which it matters in each way that a run may be started in, or another command; `started_ways.sh
# all`: `make test`, in three runs that take the ways together. Prints a line per way, what a failed one printed, and fails if one does.
set -u
cd "$(dirname "$0")/.." || exit 1
export PATH="$PWD/.engine:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"
chmod 755 "$work"

# The test programs of these targets.
built() {
    cargo test --locked --no-run "$@" >"$work/built" 2>&1 || { cat "$work/built" >&2; exit 1; }
    sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$work/built"
}

# A script that runs this command.
write() {
    file=$work/$1
    shift
    { echo '#!/bin/sh'; printf exec; for word; do printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done; echo; } >"$file"
    chmod 755 "$file"
}

case "${1:-}" in
    '')
        # shellcheck disable=SC2046
        write run $(built --test service) --quiet program::shutdown program::first_process program::startup program::top \
            program::man_page program::cli_errors program::demo program::guards program::warnings documented_calls::start_page
        ;;
    all) write run make test ;;
    *) write run "$@" ;;
esac
# Another user has no cargo, so that of everything the built programs are run.
cp "$work/run" "$work/run-built"
# shellcheck disable=SC2046
[ "${1:-}" != all ] || write run-built sh -c 'for each; do "$each" --quiet || exit; done' sh $(built --workspace)

failed=0
way() {
    name=$1 began=$(date +%s)
    shift
    "$@" >"$work/log" 2>&1
    status=$?
    echo "-- $name: $([ $status = 0 ] && echo passed || echo FAILED), $(($(date +%s) - began)) s"
    [ $status = 0 ] || { failed=1; cat "$work/log"; }
}

# What another project's file of variables may hold; none of it is this one's.
foreign="REDIS_URL=redis://127.0.0.1:1 INTRAY_LISTEN=203.0.113.1:1 INTRAY_KEYS_FILE=/nowhere INTRAY_URL=http://127.0.0.1:1 INTRAY_KEY=k
    INTRAY_TOKEN_SECRET=short INTRAY_REDIS_TIMEOUT_MS=100 RUST_LOG=trace RUST_BACKTRACE=0 NO_COLOR=1 CLICOLOR_FORCE=1 TERM=dumb COLUMNS=20
    LANG=tr_TR.UTF-8 LC_ALL=C TZ=Asia/Kathmandu http_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1
    GIT_DIR=/nowhere GREP_OPTIONS=-v PYTHONDONTWRITEBYTECODE=1 PORT=1 HOST=203.0.113.1 DATABASE_URL=postgres://127.0.0.1:1 CI=1"

if [ "${1:-}" = all ]; then
    way 'in a terminal' script -qec "$work/run" /dev/null
    # shellcheck disable=SC2086
    way "in the background of a script under nohup, without a terminal and standard input, with another project's variables" \
        env $foreign nohup setsid --wait sh -c '"$0" <&- & wait $!' "$work/run"
else
    way plain "$work/run"
    way 'under nohup' nohup "$work/run"
    way 'in the background of a script, which ignores SIGINT and SIGQUIT' sh -c '"$0" & wait $!' "$work/run"
    way 'with nothing on standard input' sh -c '"$0" </dev/null' "$work/run"
    way 'with standard input closed' sh -c '"$0" <&-' "$work/run"
    way 'without a terminal' setsid --wait "$work/run"
    way 'in a terminal' script -qec "$work/run" /dev/null
    # shellcheck disable=SC2086
    way "with another project's variables" env $foreign "$work/run"
fi
if [ "$(id -u)" = 0 ]; then
    chown 65534:65534 "$work/home"
    way 'as a user without rights' setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work/home" TMPDIR="$work/home" "$work/run-built"
fi
exit $failed
