# What the examples share: a call, and ways to read an answer. The service is at $INTRAY.
INTRAY=${INTRAY:-http://127.0.0.1:7070}

# call METHOD PATH [JSON]: prints the answer.
call() {
    curl -sS -X "$1" ${3:+--json "$3"} "$INTRAY$2"
}

# text KEY, number KEY: the first such value of the JSON on standard input.
text() {
    grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}
number() {
    grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2
}

# handed_out: the jobs of a reserve's answer, a line each.
handed_out() {
    sed 's/{"id"/\
{"id"/g' | grep '"reservation"' || true
}

# expect WHAT FOUND EXPECTED: the end of the example if it is not so.
expect() {
    if [ "$2" != "$3" ]; then
        echo "$1: it is '$2' and should be '$3'" >&2
        exit 1
    fi
    echo "$1: $2"
}

# holds WHAT ANSWER PART: the same, for a part of an answer.
holds() {
    case $2 in
    *"$3"*) echo "$1: $3" ;;
    *)
        echo "$1: '$3' is not in '$2'" >&2
        exit 1
        ;;
    esac
}

# empty_queue NAME: what an earlier run has left goes, and then whose turn it was.
empty_queue() {
    while call DELETE "/queues/$1?state=all&force=true" | grep -q '"more":true'; do :; done
    call POST "/queues/$1/sweep" >/dev/null
}

pause() {
    sleep 0.25 2>/dev/null || sleep 1
}
