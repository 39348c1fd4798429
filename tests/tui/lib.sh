# For tests of the screen: the program runs in a tmux of its own, and what tmux shows is compared.
# Nothing waits for a time: each check waits until the screen shows what it is to show.

. "$SOURCE_ROOT/tests/lib.sh"

if ! command -v tmux >/dev/null; then
    echo "1..0 # SKIP no tmux here"
    exit 0
fi
if ! can_open_terminal; then
    echo "1..0 # SKIP no pseudo-terminal here"
    exit 0
fi

tmux_count=0
tmux_socket=rooftop-test-$$-0
export SHELL=/bin/sh TMUX_TMPDIR="$scratch" TZ=UTC LC_ALL=C.UTF-8 XDG_CONFIG_HOME="$scratch/config"
# The search for leaks stops its process by SIGSTOP. The SIGCONT that comes when the terminal's session
# ends takes that back, and the search waits for ever. tui_vanish looks for leaks without a session.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
unset ROOFTOP_SOURCE NO_COLOR COLORFGBG TMUX

mux() {
    tmux -L "$tmux_socket" "$@"
}

# open_screen WIDTH HEIGHT ARGUMENT…: rooftop top in a terminal of that size. $setting may hold
# assignments for its environment. When it ends, its exit code is in the file `code`.
open_screen() {
    width=$1 height=$2
    shift 2
    open_terminal "$width" "$height" "env ${setting:-} $ROOFTOP top $*; echo \$? >$scratch/code; sleep 600"
}

# open_shell WIDTH HEIGHT: a shell that can stop programs and let them go on.
open_shell() {
    open_terminal "$1" "$2" "sh -i"
}

open_terminal() {
    mux kill-server 2>/dev/null
    # A server that is about to end would still take the next session.
    tmux_count=$((tmux_count + 1))
    tmux_socket=rooftop-test-$$-$tmux_count
    rm -f code
    mux -f /dev/null new-session -d -x "$1" -y "$2" "$3"
}

screen() {
    mux capture-pane -p >screen 2>/dev/null
}

shows() {
    screen
    grep -Eq -- "$1" screen
}

# wait_for PATTERN NAME: until a line of the screen matches; a check.
wait_for() {
    await shows "$1"
    shown=$?
    result $shown "$2"
    [ $shown -eq 0 ] || { echo "# waited for '$1'; the screen:"; sed 's/^/# |/' screen; }
    return $shown
}

lacks() {
    ! shows "$1"
}

# wait_without PATTERN NAME: until no line matches.
wait_without() {
    await lacks "$1"
    result $? "$2"
}

# wait_exit CODE NAME: until the program has ended.
wait_exit() {
    await [ -s code ]
    [ "$(cat code 2>/dev/null)" = "$1" ]
    result $? "$2"
}

press() {
    mux send-keys "$@"
}

is_golden() {
    screen
    cmp -s screen "$golden"
}

# same_screen GOLDEN NAME: the screen is that of tests/golden/GOLDEN, at last.
same_screen() {
    golden=$SOURCE_ROOT/tests/golden/$1
    if [ "${ROOFTOP_GOLDEN:-}" = write ]; then
        sleep 0.5
        screen
    else
        await is_golden
    fi
    expect_same screen "$golden" "$2"
}
