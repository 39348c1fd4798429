# shellcheck disable=SC2034 # lib.sh reads $setting
. "$SOURCE_ROOT/tests/tui/lib.sh"

# A live source: the fake NVML, with two processes that really run, the second somebody else's.
sleep 600 &
mine=$!
script=$scratch/script
cat >"$script" <<END
gpu h200
processes compute $mine:2147483648 1:1073741824
gpu h200
follow
END
fake="ROOFTOP_NVML=$BUILD_ROOT/tests/fake/libfake_nvml.so FAKE_NVML_SCRIPT=$script"

# A folder that a user without rights may enter, and the command that becomes one.
become='' why_not=''
if [ "$(id -u)" -eq 0 ]; then
    become="setpriv --reuid=65534 --clear-groups"
    chmod 755 "$scratch"
    chmod 644 "$script"
    if ! command -v setpriv >/dev/null; then
        why_not="no setpriv here to become another user"
    elif ! $become test -x "$ROOFTOP"; then
        why_not="the program lies in a folder that other users may not enter"
    fi
fi

setting=$fake
open_screen 120 40 --source nvml
wait_for 'nvidia-smi' "a live screen"
wait_for "$mine .*sleep 600" "a process and its command"
press r
wait_for 'recording to rooftop-.*roof' "r records"
wait_for 'REC' "the title says so"
title=$(head -n 1 screen)
until screen && [ "$(head -n 1 screen)" != "$title" ]; do
    sleep 0.05
done
expect_text screen 'recording to rooftop-' "the screen goes on below the message"
press m
wait_for 'Name of the mark' "m asks for a name"
press Enter
wait_for 'marked, in the recording too' "a mark"
"$ROOFTOP" mark outside >out
wait_for 'marked from outside: outside' "a mark that another program sets is told"
press r
wait_for 'recorded to' "r again stops"
recording=$(find . -name 'rooftop-*.roof')
"$ROOFTOP" stat --source "replay:$recording@max" --from 'mark 1' >out 2>err || [ -s out ]
result $? "the recording has the mark"
press Space
wait_for 'PAUSED' "Space pauses"
press Left
wait_for 'PAUSED +-[0-9]' "Left goes back"
press End
wait_without 'PAUSED' "End goes on"
press F4
press "${mine%?}"
wait_without 'held by nobody' "a filter hides what it does not match"
wait_for "$mine .*sleep 600" "and finds a process by how its number begins"
press C-u
press 'sleep 600'
press Enter
wait_without 'held by nobody' "only that process is listed"
press Tab
press k
wait_for 'SIGTERM' "k asks which signal"
wait_for "$mine of" "for the selected process"
press Escape
wait_without 'SIGTERM' "Esc leaves it"
kill -0 $mine
result $? "and the process"
press k
wait_for 'SIGTERM' "k asks again"
press Enter
wait_for "sent SIGTERM to process $mine" "Enter sends it"
wait $mine 2>/dev/null
[ $? -eq 143 ]
result $? "the process got it"
press q
wait_exit 0 "q quits"

if [ -n "$why_not" ]; then
    skip "kill is refused" "$why_not"
else
    setting="$fake $become"
    open_screen 120 40 --source nvml --no-prefs
    wait_for 'NVIDIA H200' "a screen of another user"
    wait_for '^ +1 ' "process 1 is shown"
    press F4
    press 1
    press Enter
    wait_for 'filter: 1' "and alone"
    press Tab
    press k
    wait_for 'you may not signal it|cannot be signalled' "kill is refused"
    press q
    wait_exit 0 "q quits"
fi

setting="$fake"
open_screen 100 30 --source nvml --budget 0.0001
wait_for 'slowed down' "above its budget it slows down and says so"
press F1
wait_for 'slowed down to keep the budget' "and the help says so"
wait_for 'every (0\.[2-9]|1)' "and that it samples less often"
press q
press q
wait_exit 0 "q quits"

# Far more samples and keys than frames.
began=$(date +%s%N)
open_screen 100 70 --source "replay:$SOURCE_ROOT/data/h200.roof@10" --budget 1000
i=0
wait_for 'H200' "a recording at ten times its speed"
while [ $i -lt 20 ]; do
    press Down Up Down Up Down Up
    i=$((i + 1))
done
press F1
wait_for 'at most 10 frames a second, [0-9]+ drawn' "the help counts the frames"
frames=$(sed -n 's/.*a second, \([0-9]*\) drawn.*/\1/p' screen)
[ "$frames" -le $((($(date +%s%N) - began) / 100000000 + 2)) ]
result $? "at most 10 a second were drawn"
press q
press q
wait_exit 0 "q quits"

cat >"$script" <<'END'
gpu h200
gpu h200
* -> 15
END
open_screen 100 30 --source nvml
wait_for ' 1 .* lost' "a lost GPU has its row"
wait_for ' 0 .* [0-9]+%' "the other goes on"
press Down
press Enter
wait_for 'the GPU is lost' "zoomed on it: the reason"
press Escape
press q
wait_exit 0 "q quits"

cat >"$script" <<'END'
gpu h200
gpu h200
at 1
device 0
* -> 15
device 1
* -> 15
END
open_screen 100 30 --source nvml
wait_for ' 0 .* lost [0-9]' "all GPUs lost at once: the first has its row"
wait_for ' 1 .* lost [0-9]' "and the second"
press q
wait_exit 0 "q quits"

setting="ROOFTOP_NVML=/nonexistent.so"
open_screen 80 24 --source nvml
wait_exit 3 "without a driver it ends with 3"
wait_for 'What works without a GPU' "and says what works"

finish
