. "$SOURCE_ROOT/tests/tui/lib.sh"

# Sizes that change, and a GPU that goes.
lost=sim:$SOURCE_ROOT/tests/data/lost.sim
recording=replay:$SOURCE_ROOT/data/h200.roof

open_screen 100 30 --source "$lost@4" --paused --from 0.5
wait_for 'compute-bound' "two GPUs"
press Down
press Enter
press n
wait_for '^ 1 .*stale' "zoomed on the second while it does not answer"
press n
wait_without 'stale' "when it is back"
press Space
wait_for 'the end of the recording' "the end is told"
wait_for '^ 1 .*lost' "and while it is lost"
wait_for 'the GPU is lost; last seen' "with the reason"
press Escape
wait_for '^ 0 ' "back from the zoom"
press '{' '{' '{' '{' '{' '{' '{'
wait_for ' x0\.[0-9]+' "much slower"
press Space
wait_for '0:0[0-3]' "Space plays it again"
press q
wait_exit 0 "q quits"

open_screen 80 24 --source "$recording" --paused --from gemm-bf16-8192+1s
wait_for 'compute-bound' "a recording, at a mark"
i=0
while [ $i -lt 60 ]; do
    mux resize-window -x $((20 + i * 37 % 180)) -y $((5 + i * 13 % 55))
    i=$((i + 1))
done
mux resize-window -x 20 -y 5
wait_for '^ 0 C *[0-9]+ M' "after many sizes, the smallest"
mux resize-window -x 120 -y 30
wait_for 'compute-bound: tensor pipe' "and a large one again"
same_screen top-resized.txt "the screen is as if nothing had been: no rest of other sizes"
press '}'
wait_for 'x2' "} plays faster"
press '{'
press '{'
wait_for 'x0.5' "{ slower"
press Home
wait_for '0:00.1' "Home goes to the beginning"
press End
wait_for '(3:[0-9.]+)/\1' "End to the end"
press q
wait_exit 0 "q quits"

# The end, however one comes there.
open_screen 80 24 --source "$recording@max"
wait_for 'the end of the recording' "the end is told where all came at once"
wait_for '^║ 3:' "and the recording stands"
press q
wait_exit 0 "q quits"
open_screen 80 24 --source "$recording" --paused
wait_for '^ 0 H200 +C +0%' "not played yet it shows its first moment"
press End
wait_for 'the end of the recording' "gone to, the end is told too"
press Space
wait_for '^► 0:0' "and Space plays from the beginning at once"
press q
wait_exit 0 "q quits"

# The same keys in every mode, the title, the time line and its marks following.
open_screen 110 30 --source "$recording" --paused --from gemm-bf16-8192+1s
wait_for 'gemm-bf16-8192$' "at a mark"
for mode in waterfall pipes links power sol; do
    case $mode in
    waterfall) key=2 shows='largest loss' ;;
    pipes) key=3 shows='issue slots' ;;
    links) key=4 shows='NVLink' ;;
    power) key=5 shows='mem. clock' ;;
    sol) key=1 shows='^100 ' ;;
    esac
    press "$key"
    wait_for "$shows" "$mode"
    press n
    wait_without 'gemm-bf16-8192$' "$mode: to the next mark"
    wait_for "$shows" "$mode is shown there too"
    press b
    wait_for 'gemm-bf16-8192$' "$mode: and back"
    press '}'
    wait_for '^. 0:[0-9.]+/3:[0-9.]+ x2 ' "$mode: twice as fast"
    press '{'
    wait_without ' x2 ' "$mode: and as it was"
done
press Space
wait_for '\[SOL\]' "plays"
wait_without 'PAUSED' "no longer paused"
press Space
wait_for 'PAUSED' "and stops"
press q
wait_exit 0 "q quits"

finish
