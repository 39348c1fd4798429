# A job in front on a terminal, stopped and continued by its shell; tests/cli/run.sh has all else of `rooftop run`.
. "$SOURCE_ROOT/tests/tui/lib.sh"

export ROOFTOP_NVML=/not/there ROOFTOP_SOURCE=nvml
cat_run="$ROOFTOP run -q -- cat"

# echoes WORD NAME: cat has read a line, and written it below what the terminal shows of it.
echoes() {
    press "$1" Enter
    wait_for "^$1\$" "$2"
    tries=0
    until screen && [ "$(grep -c "^$1\$" screen)" -ge 2 ] || [ $tries -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    [ "$(grep -c "^$1\$" screen)" -ge 2 ]
    result $? "$2: the job has the terminal"
}

open_shell 100 40
press "$cat_run" Enter
wait_for 'runs without' 'a job on a terminal'
echoes before 'it reads'
press C-z
wait_for 'Stopped' 'Ctrl-Z: the shell has the terminal'
press 'echo shell$((1 + 1))' Enter
wait_for '^([#$] )?shell2$' 'and obeys'
press 'fg' Enter
echoes after 'fg'
press C-c
wait_for '^(\^C)?[#$]$' 'Ctrl-C: the shell has the terminal'
press 'echo code=$?' Enter
wait_for '^code=130$' 'and the exit code'

# All of the job stops: nobody watches it meanwhile.
press "$ROOFTOP run -q -- sh -c 'setsid sleep 600 & echo \$! >apart; exec cat'" Enter
await [ -s apart ]
echoes with 'a job with a process in a session of its own'
press C-z
wait_for 'Stopped.*apart|Stopped.*setsid' 'Ctrl-Z'
is_in_state() {
    grep -q "^State:.$1" "/proc/$(cat apart)/status"
}
await is_in_state T
result $? 'stops that too'
press 'fg' Enter
await is_in_state S
result $? 'fg lets it go on'
press C-c
wait_for '^(\^C)?[#$]$' 'Ctrl-C ends it'

# In the background it waits for the terminal.
press 'clear; echo next' Enter
wait_for '^([#$] )?next$' 'again'
press "$cat_run &" Enter
await_stop() {
    press '' Enter
    screen
    grep -q 'Stopped' screen
}
await await_stop
result $? 'a job in the background that reads is stopped'
press 'fg' Enter
echoes late 'fg'
press C-d
press 'echo end=$?' Enter
wait_for '^([#$] )?end=0$' 'its input ends'

# Behind a pipe there may be a pager.
press 'clear' Enter
press "$ROOFTOP run -q -- sh -c 'echo piped; exec sleep 600' | sh -c 'read line; echo \$line; read word </dev/tty; echo got-\$word; exec cat'" Enter
wait_for '^piped$' 'a job with a program behind a pipe'
press 'key' Enter
wait_for '^got-key$' 'which can read from the terminal'
press C-c
wait_for '^(\^C)?[#$]$' 'Ctrl-C ends both'

# Without a shell that could let it go on, it does not stop.
open_terminal 100 40 "exec $cat_run"
wait_for 'runs without' 'a job without a shell'
press C-z Enter
echoes still 'Ctrl-Z'
press C-c
mux kill-server 2>/dev/null
finish
