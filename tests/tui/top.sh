# shellcheck disable=SC2034 # lib.sh reads $setting
. "$SOURCE_ROOT/tests/tui/lib.sh"

one=sim:$SOURCE_ROOT/tests/data/one.sim
eight=sim:$SOURCE_ROOT/tests/data/eight.sim

open_screen 120 34 --source "$one" --from 4 --paused
wait_for 'memory-bound: HBM' "the verdict is shown"
same_screen top-120x34.txt "a paused recording at 120x34"
press 2
wait_for '\[waterfall\]' "2 shows the waterfall"
same_screen top-waterfall.txt "the waterfall"
press 3
same_screen top-pipes.txt "the pipes"
press 4
same_screen top-links.txt "the links"
press 5
same_screen top-power.txt "the power"
press F1
wait_for 'What Rooftop costs' "F1 shows the help"
press Escape
wait_without 'What Rooftop costs' "Esc closes it"
press n
wait_for 'compute-bound' "n goes to the next mark"
press b
press b
wait_for '^  *idle|   idle' "b goes back"
press q
wait_exit 0 "q quits"

for size in 20x5 40x10 80x24 200x60; do
    open_screen "${size%x*}" "${size#*x}" --source "$eight" --from 5 --paused
    wait_for 'rooftop|M *34' "something is shown at $size"
    same_screen "top-eight-$size.txt" "eight GPUs at $size"
done

# The keys come at once: the last row of all, and then a table without it.
open_screen 120 40 --source "$eight" --from 5 --paused
wait_for 'python job0' "processes"
press Tab End Tab Home z Tab u
wait_for 'filter: user0' "zoomed on a GPU, u takes the user of one of its processes"
press q
wait_exit 0 "q quits"

open_screen 80 24 --source "$eight" --from 5 --paused
wait_for 'link-bound' "eight GPUs without room for charts: their sentences"
press 2
wait_for '^ +clock +[?] × busy +99% × coverage +91% × pipe' "2: the waterfall in their place"
press 3
wait_for '^ +SM +90%  tensor +' "3: the pipes"
press 4
wait_for '^ +PCIe ↓2.10 MB/s ↑58.4 GB/s  NVLink ↓ +0 B/s ↑ +0 B/s  HBM' "4: the links"
press 5
wait_for '^ +680 W of 700 W +1540 MHz of 1980 MHz +82 °C  power_cap thermal' "5: the power"
press q
wait_exit 0 "q quits"

open_screen 40 10 --source "$eight" --from 5 --paused --mode links
wait_for '^ 4 H200  PCIe ↓2.10 MB/s ↑58.4 GB/s' "a row each: the links too"
press q
wait_exit 0 "q quits"

open_screen 80 24 --source "sim:$SOURCE_ROOT/tests/data/mig.sim" --from 4 --paused
wait_for '^ +0/1 MIG 1g.18gb +C +3%' "a MIG instance has the name that --gpu takes"

setting="LC_ALL=C"
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "ASCII: the verdict"
same_screen top-ascii.txt "the C locale has ASCII only"
! LC_ALL=C grep -q '[^ -~]' screen
result $? "not one byte is outside ASCII"

setting="NO_COLOR=1"
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "NO_COLOR: the verdict"
mux capture-pane -p -e >coloured
! grep -q "$(printf '\033')\[\([0-9;]*;\)*3[0-8]" coloured
result $? "NO_COLOR draws without colours"
setting=
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "colour: the verdict"
mux capture-pane -p -e >coloured
grep -q "$(printf '\033')\[\([0-9;]*;\)*3[0-8]" coloured
result $? "else with colours"

mux capture-pane -p -e >dark
setting="COLORFGBG='0;15'"
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "a light background: the verdict"
mux capture-pane -p -e >light
! grep -Eq '38;5;(0|7|15|16|255)m' dark light
result $? "neither white nor black is drawn, which the background may be"
! cmp -s dark light
result $? "has other colours"
setting=

setting="TERM=xterm-of-tomorrow"
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "an unknown terminal is taken for one like all others"
mux capture-pane -p -e >coloured
grep -q "$(printf '\033')\[\([0-9;]*;\)*38;5" coloured
result $? "with 256 colours"
setting="TERM=vt220"
open_screen 80 24 --source "$one" --from 7 --paused
wait_for 'compute-bound' "a terminal without colours"
mux capture-pane -p -e >coloured
! grep -q "$(printf '\033')\[\([0-9;]*;\)*3[0-8]" coloured
result $? "gets none"
for type in dumb '' unknown; do
    setting="TERM=$type"
    open_screen 80 24 --source "$one"
    wait_exit 2 "TERM='$type' shows no screen"
    wait_for "shows no screen: use --once" "and says what does"
done
cat >without_terminfo <<'END'
for folder in /etc/terminfo /lib/terminfo /usr/lib/terminfo /usr/share/terminfo "$HOME/.terminfo"; do
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder" || exit 99
done
exec "$@"
END
if unshare -rm sh without_terminfo true 2>/dev/null; then
    setting="unshare -rm sh $scratch/without_terminfo"
    open_screen 80 24 --source "$one"
    wait_exit 1 "where no terminal is described it ends with 1"
    wait_for 'install ncurses-base' "and says what to install"
else
    skip "no terminfo" "folders cannot be hidden here"
fi
setting=

# Under a shell that can stop it.
open_shell 80 24
press "$ROOFTOP top --source $one --from 7 --paused" Enter
wait_for 'compute-bound' "started from a shell"
press C-z
wait_for 'Stopped' "Ctrl-Z stops it, and the shell goes on"
! grep -q 'compute-bound' screen
result $? "on its own screen"
press 'fg; echo it was $?' Enter
wait_for 'compute-bound' "fg shows it again"
press 2
wait_for '\[waterfall\]' "and keys work"
press q
wait_for '^it was 0' "it ends in order"
press "$ROOFTOP top --source $one --from 7 --paused; echo so it was \$?" Enter
wait_for 'compute-bound' "started once more"
press 'C-\'
wait_for '^so it was 0' "Ctrl-\\ ends it in order too"

open_screen 100 30 --source "$eight" --from 5 --paused
wait_for 'python job0' "the processes are shown"
press F4
press user1
press Enter
wait_for 'filter: user1' "F4 filters"
wait_without 'python job0' "what does not match is gone"
press Escape
wait_for 'python job0' "Esc shows all again"
press Tab
press F9
wait_for 'a recording: its processes cannot be signalled' "kill is refused in a recording"
press F2
wait_for 'Setup:' "F2 opens the setup"
press Right
wait_for 'screen theme +dark' "Right changes a setting"
press F2
wait_for 'saved to' "it is saved"
grep -q '^theme = dark' "$XDG_CONFIG_HOME/rooftop/top.ini"
result $? "the file has it"
press F10
wait_exit 0 "F10 quits"

echo 'theme = purple' >"$XDG_CONFIG_HOME/rooftop/top.ini"
expect_exit 2 "a mistake in the preferences" "$ROOFTOP" top --once --source "$one"
expect_text err 'top.ini:1: a key before the first' "names file and line"
rm "$XDG_CONFIG_HOME/rooftop/top.ini"

finish
