# For the shell tests: TAP on standard output, one line a check, in a scratch folder of its own.
# A script includes it, makes its checks, and ends with `finish`.

set -u
checks=0
failures=0
scratch=$(mktemp -d) || exit 99
end_all="env -i PATH=$PATH sh $SOURCE_ROOT/tests/end.sh $scratch"
trap '$end_all' EXIT
# Also where the test is killed; no child of it, which a bare `wait` would wait for.
(env -i PATH="$PATH" setsid sh -c 'tail --pid="$0" -f /dev/null; exec "$@"' $$ $end_all >/dev/null 2>&1 &)
cd "$scratch" || exit 99
# A recorder that runs on this machine is no matter of the tests.
export ROOFTOP_RUNTIME_DIR="$scratch"

# result STATUS NAME: one check; 0 is a pass.
result() {
    checks=$((checks + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $checks - $2"
    else
        echo "not ok $checks - $2"
        failures=$((failures + 1))
    fi
}

# skip NAME REASON
skip() {
    checks=$((checks + 1))
    echo "ok $checks - $1 # SKIP $2"
}

# expect_exit CODE NAME COMMAND…: runs it; its output is in the files `out` and `err`.
expect_exit() {
    expected=$1 name=$2
    shift 2
    "$@" >out 2>err </dev/null
    status=$?
    [ "$status" -eq "$expected" ]
    result $? "$name: exit $expected"
    [ "$status" -eq "$expected" ] || { echo "# exited $status"; sed 's/^/# /' out err; }
}

# expect_text FILE PATTERN NAME: a line of the file matches the extended regular expression.
expect_text() {
    grep -Eq -- "$2" "$1"
    result $? "$3"
    grep -Eq -- "$2" "$1" || sed 's/^/# /' "$1"
}

# expect_same FILE EXPECTED NAME: equal to the golden file; ROOFTOP_GOLDEN=write makes it anew.
expect_same() {
    [ "${ROOFTOP_GOLDEN:-}" != write ] || cp "$1" "$2"
    diff -u "$2" "$1" >difference 2>&1
    result $? "$3"
    sed 's/^/# /' difference
}

# await COMMAND…: until it succeeds. Only what is broken makes a test wait for a minute.
await() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || return 1
        sleep 0.05
    done
}

# expect_line PATTERN NAME COMMAND…: it runs until a line of its output, in the file `out`, matches; then it is
# ended.
expect_line() {
    pattern=$1 name=$2
    shift 2
    "$@" >out &
    runs=$!
    await grep -Eq -- "$pattern" out
    result $? "$name"
    kill $runs
    wait $runs 2>/dev/null
}

has_ended() {
    ! kill -0 "$1" 2>/dev/null
}

# True where a pseudo-terminal can be had; a bare chroot without /dev/pts has none.
can_open_terminal() {
    script -qec true /dev/null >/dev/null 2>&1 </dev/null
}

finish() {
    echo "1..$checks"
    [ "$failures" -eq 0 ]
    exit
}
