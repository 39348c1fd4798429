. "$SOURCE_ROOT/tests/lib.sh"

TZ=UTC LC_ALL=C.UTF-8
export TZ LC_ALL
data=$SOURCE_ROOT/tests/data
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# stat SIM OPTION…: as fast as it can be read
stat() {
    sim=$1
    shift
    "$ROOFTOP" stat --source "sim:$data/$sim.sim@max" "$@"
}

for sim in one lost mig eight; do
    stat $sim --interval 0.1 --format json --processes >json.$sim
    "$jsoncheck" <json.$sim
    result $? "$sim: every record is JSON, without repeated keys"
    grep -Eiq '[:[,]-?(nan|inf)' json.$sim
    [ $? -eq 1 ]
    result $? "$sim: no value is NaN or infinite"
done

# Some metrics only, so that a new one does not change the golden files.
golden=$SOURCE_ROOT/tests/golden
some=compute_sol_ratio,compute_sol_pipe,memory_sol_ratio,memory_sol_level,bound,sm_active_ratio,nvml_utilization_ratio,l2_active_ratio,power_watts,sm_clock_hertz,memory_used_bytes,throttle_reasons,xid_errors_total
stat one --interval 2 >out
expect_same out "$golden/stat-one.txt" "text is as it was"
stat lost --processes >out
expect_same out "$golden/stat-lost.txt" "so is the text of a lost GPU and of processes"
stat one --interval 4 --format json --processes --metrics $some >out
expect_same out "$golden/stat-one.json" "so is JSON"
stat mig --interval 2 --format csv --metrics $some >out
expect_same out "$golden/stat-mig.csv" "so is CSV"

recording=$SOURCE_ROOT/data/h200.roof
"$ROOFTOP" stat --source "replay:$recording@max" --interval 0.1 --format json >json
"$jsoncheck" marks gpus.0.bound <json >bounds
result $? "the recording of the H200 is JSON"
grep '"llama8b-prefill-b1-t8192"' bounds | sort | uniq -c | sort -n | tail -1 >most
expect_text most '"compute"' "its prefill is bound by compute"
grep '"llama8b-decode-b1-ctx1024"' bounds | sort | uniq -c | sort -n | tail -1 >most
expect_text most '"memory"' "its decode is bound by memory"
"$ROOFTOP" stat --source "replay:$recording@max" --from gemm-bf16-8192 --count 2 >out
expect_text out '^-- gemm-bf16-8192$' "--from goes to a mark"
[ "$(wc -l <out)" -eq 4 ]
result $? "and nothing comes before"
stat one --from 2.5s --count 1 --format json | "$jsoncheck" time >values
echo 1767225603.5 >expected
expect_same values expected "--from goes to a time"
expect_exit 2 "a mark that is not there" stat one --from nonsense
expect_text err "'nonsense' is no mark" "it is named"
expect_exit 2 "a time after the end" stat one --from 1h

stat lost --format json >out
"$jsoncheck" gpus.1.state <out >states
printf '"ok"\n"stale"\n"ok"\n"lost"\n' >expected
expect_same states expected "a device that is stale, back and lost says so"
"$jsoncheck" gpus.1.sm_active_ratio <out >values
printf '0.96\nnull\n0.96\nnull\n' >expected
expect_same values expected "a device that does not answer has no values"
"$jsoncheck" gpus.0.state <out | sort -u >values
echo '"ok"' >expected
expect_same values expected "its neighbour goes on"

stat lost --count 2 >out
expect_text out '^00:00:02\.0 +1 stale for 1\.0 s: ' "text says what is stale, and for how long"
[ "$(wc -l <out)" -eq 6 ] && [ "$(grep -c '^TIME' out)" -eq 1 ]
result $? "--count ends it, with one header and one mark"

stat mig --count 1 --format json | "$jsoncheck" gpus.1.parent_index gpus.1.gpu_instance_id >values
grep -q null values
[ $? -eq 1 ]
result $? "a MIG instance names its GPU"
stat mig --count 1 --gpu MIG-00000000-0000-4000-8000-000000000005 >out
expect_text out '^00:00:01\.0 0/1 ' "one MIG instance alone"
[ "$(wc -l <out)" -eq 2 ]
result $? "nothing beside it"

stat eight --count 1 --gpu 6,2 --format json | "$jsoncheck" gpus.# gpus.0.index gpus.1.index >values
echo '2 6 2' >expected
expect_same values expected "--gpu takes some, in its order"

stat one --count 3 --format csv >out
[ "$(grep -c '^time,index,uuid,name,' out)" -eq 1 ] && [ "$(wc -l <out)" -eq 4 ]
result $? "CSV has one header, then a line for each GPU and interval"
commas=$(head -1 out | tr -cd , | wc -c)
stat one --format csv --metrics bound,power_watts | head -1 >out
echo 'time,index,uuid,name,parent_index,gpu_instance_id,compute_instance_id,state,age_seconds,bound,power_watts,marks,verdict' >expected
expect_same out expected "--metrics chooses, in its order"
[ "$commas" -gt 60 ]
result $? "CSV has all metrics"

cat >odd.sim <<'END'
device name="A \"B\", C" uuid=GPU-1
at 0
gpu 0 power_watts=100
process 0 pid=7 user=ann command="python \"x\", y"
end 2
END
"$ROOFTOP" stat --source "sim:odd.sim@max" --format csv --metrics power_watts --count 1 >out
expect_text out ',0,GPU-1,"A ""B"", C",' "CSV quotes as RFC 4180 does"
"$ROOFTOP" stat --source "sim:odd.sim@max" --format json --processes --count 1 |
    "$jsoncheck" gpus.0.processes.0.command gpus.0.processes.0.user >values
echo '"python \"x\", y" "ann"' >expected
expect_same values expected "JSON has the processes of a recording"
"$ROOFTOP" stat --source "sim:odd.sim@max" --processes --count 1 >out
expect_text out 'pid 7 .* ann +python "x", y$' "text has them too"

expect_exit 2 "processes in CSV" stat one --format csv --processes
expect_text err 'use --format json' "and what to do"
expect_exit 2 "too short an interval" stat one --interval 0.05
expect_text err 'each 0.1 s' "and why"
expect_exit 2 "an unknown metric" stat one --metrics power_watts,nonsense
expect_text err "no metric 'nonsense'" "it is named"
expect_exit 2 "a metric twice" stat one --metrics bound,bound
expect_exit 2 "no metric" stat one --metrics ,
expect_exit 2 "an unknown GPU" stat one --gpu 7
expect_text err "'7'" "it is named"
expect_exit 2 "an unknown form" stat one --format xml
expect_exit 2 "a stray word" stat one word
expect_exit 2 "an unknown source" "$ROOFTOP" stat --source nonsense
expect_exit 2 "a source without its file" "$ROOFTOP" stat --source replay:@max
expect_text err 'replay needs an argument: replay:FILE' "what is missing"
expect_exit 2 "an empty option" stat one --gpu ''
expect_text err "^rooftop stat: --gpu: '' is not a value" "it is named"
expect_exit 2 "a file that is not there" "$ROOFTOP" stat --source sim:not-there.sim
expect_text err 'not-there.sim' "it is named"
printf 'device name=x\nat 0\ngpu 0 nonsense=1\nend 1\n' >wrong.sim
expect_exit 2 "a malformed file" "$ROOFTOP" stat --source sim:wrong.sim
expect_text err 'wrong.sim:3' "file and line are named"
expect_exit 3 "no GPU" env ROOFTOP_NVML=/not/there "$ROOFTOP" stat --source nvml
expect_exit 0 "ROOFTOP_SOURCE" \
    env "ROOFTOP_SOURCE=sim:$data/one.sim@max" "$ROOFTOP" stat

# On a terminal.
if can_open_terminal; then
    script -qec "stty cols 60 rows 7; '$ROOFTOP' stat --source 'sim:$data/one.sim@max'" /dev/null \
        </dev/null | tr -d '\r' >out
    [ "$(grep -c '^TIME' out)" -eq 3 ]
    result $? "the header comes back with each screenful of a terminal"
    expect_text out '^TIME .* SM %$' "columns that do not fit are left out"
else
    skip "a terminal" "no pseudo-terminal here"
fi

for form in text json csv; do
    (stat eight --format $form --interval 0.1; echo $? >status) | head -n 1 >first
    [ "$(cat status)" -eq 0 ] && [ -s first ]
    result $? "$form: a reader that leaves is no failure"
    stat one --format $form >/dev/full 2>err
    [ $? -eq 1 ] && grep -q 'cannot write the output' err
    result $? "$form: a full disk is"
done

# One page of a recording is lost.
cp "$SOURCE_ROOT/data/h200.roof" damaged.roof
dd if=/dev/zero of=damaged.roof bs=4096 seek=80 count=1 conv=notrunc 2>/dev/null
damage='damaged.roof: the recording is damaged, [0-9.]+ s from its beginning'
for command in stat "top --once --span 5m" waterfall "record -o rest.roof"; do
    # shellcheck disable=SC2086
    expect_exit 2 "$command: a recording is damaged in its middle" "$ROOFTOP" $command --source replay:damaged.roof@max
    expect_text err "$damage" "$command says so, and where"
done
expect_exit 2 "diff: the same" "$ROOFTOP" diff damaged.roof "$SOURCE_ROOT/data/h200.roof"
expect_text err "$damage" "diff says so too"
expect_exit 0 "what was before the damage is recorded" "$ROOFTOP" stat --source replay:rest.roof@max

finish
