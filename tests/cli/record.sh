. "$SOURCE_ROOT/tests/lib.sh"

ROOFTOP_RUNTIME_DIR=$scratch
export ROOFTOP_RUNTIME_DIR
h200=$SOURCE_ROOT/data/h200.roof
one=$SOURCE_ROOT/tests/data/one.sim

# stat_of FILE: all that it shows, as JSON.
stat_of() {
    "$ROOFTOP" stat --source "replay:$1@max" --interval 0.1 --format json --processes
}

has_socket() {
    [ -n "$(ls "$scratch/rooftop" 2>/dev/null)" ]
}

expect_exit 0 "a source is recorded to its end" \
    "$ROOFTOP" record --source "sim:$one@max" --output one.roof
expect_text err '^one.roof: 10.0 s, 100 samples of 1 GPU, 4 marks$' "the end says what was recorded"
[ ! -e one.roof-journal ]
result $? "no journal is left"
expect_exit 0 "a recording is recorded" "$ROOFTOP" record --source replay:one.roof@max -o again.roof
stat_of one.roof >first
stat_of again.roof >second
expect_same second first "a recording of a recording shows the same, to the digit"
expect_text first '"user":"alice","command":"python serve.py --model llama-8b"' \
    "the processes are in it"
grep -q bob one.roof
result $? "text of processes is found in the bytes of the file"

"$ROOFTOP" record -s "sim:$SOURCE_ROOT/tests/data/lost.sim@max" -o lost.roof 2>/dev/null
"$ROOFTOP" record -s replay:lost.roof@max -o lost-again.roof 2>/dev/null
stat_of lost.roof >first
stat_of lost-again.roof >second
expect_same second first "GPUs that are stale and lost are recorded so"
for state in stale lost; do
    expect_text first "\"state\":\"$state\"" "the recording shows a GPU that is $state"
done

expect_exit 2 "a file that exists is not replaced" "$ROOFTOP" record -s "sim:$one@max" -o one.roof
expect_text err 'one.roof.*--force' "the message says how to replace it"
expect_exit 0 "--force replaces it" "$ROOFTOP" record -s "sim:$one@max" -o one.roof --force

cp "$one" own.sim
for source in replay:one.roof sim:own.sim; do
    file=${source#*:}
    cp "$file" before
    expect_exit 2 "$source is not recorded over itself, by --force either" \
        "$ROOFTOP" record -s "$source@max" -o "./$file" --force
    expect_text err "^rooftop record: --output: ./$file: this file is the source; give another" \
        "the message says so"
    expect_same "$file" before "$file is as it was"
done

expect_exit 0 "--redact" "$ROOFTOP" record -s replay:again.roof@max -o redacted.roof --redact
! grep -aqE 'alice|bob|serve\.py|gemm\.py|llama-8b|bench' redacted.roof
result $? "a redacted recording holds no user, command line or container"
grep -aq "host$(uname -n)" one.roof && ! grep -aq "host$(uname -n)" redacted.roof
result $? "nor the name of the host"
stat_of redacted.roof >out
expect_text out '"pid":4242' "but the numbers of the processes"

expect_exit 0 "--for ends it" "$ROOFTOP" record -s "replay:$h200@max" -o part.roof --for 3s
expect_text err '^part.roof: 3.0 s, (28|29|30) samples of 1 GPU' "--for is of the recording's own time"

expect_exit 7 "the command's exit code is returned" \
    "$ROOFTOP" record -s "sim:$one" -o command.roof -- sh -c 'exit 7'
stat_of command.roof >/dev/null
result $? "what was recorded beside the command can be read"
expect_exit 143 "a signal that ends the command is told as shells do" \
    "$ROOFTOP" record -s "sim:$one" -o signal.roof -- sh -c 'kill $$'
expect_exit 127 "a command that does not exist" \
    "$ROOFTOP" record -s "sim:$one" -o none.roof -- ./no-such-command
expect_text err 'no-such-command' "is named"
[ ! -e none.roof ]
result $? "and leaves no recording"
cp part.roof kept.roof
expect_exit 127 "one that PATH does not lead to, in the place of a recording" \
    "$ROOFTOP" record -s "sim:$one" -f -o kept.roof -- no-such-command
expect_exit 126 "one that cannot be run, likewise" "$ROOFTOP" record -s "sim:$one" -f -o kept.roof -- "$PWD"
cmp -s part.roof kept.roof
result $? "leave that as it was"
expect_exit 2 "a file without -o" "$ROOFTOP" record -s "sim:$one" file.roof
expect_text err 'file.roof.*-o' "is explained"
expect_exit 2 "a folder that does not exist" "$ROOFTOP" record -s "sim:$one@max" -o no/such.roof -- touch ran
expect_text err '--output: no/such.roof: No such file' "is named, with the option"
[ ! -e ran ]
result $? "before the command was run"
expect_exit 2 "a folder as the file" "$ROOFTOP" record -s "sim:$one@max" -f -o .
expect_text err '--output: \.: Is a directory' "is named too"

# A recording of format 1, made when that was new. Its values must come out as they went in.
"$ROOFTOP" stat -s "replay:$SOURCE_ROOT/tests/data/version1.roof@max" -f csv --metrics \
    tensor_active_ratio,power_watts,energy_joules_total,pcie_rx_bytes_per_second,l2_active_ratio |
    cut -d, -f1,2,8,10-14 >old
expect_same old "$SOURCE_ROOT/tests/golden/version1.csv" "a recording of format 1 opens"
stat_of "$SOURCE_ROOT/tests/data/version1.roof" >old
expect_text old '"pid":4300,.*"memory_bytes":2147483648,.*"user":"bob","command":"python gemm.py"' \
    "with its processes"

cat >spans.jsonl <<END
{"name": "first span", "t0": 1767225601.5, "t1": 1767225602.5, "tflops": 3}

{"name": "second", "t0": 1767225603}
this is no JSON
{"name": "backwards", "t0": 9, "t1": 8}
{"name": "last, without a line end", "t0": 1767225605.25, "t1": 1767225606}
END
printf '%s' "$(cat spans.jsonl)" >unfinished.jsonl
expect_exit 1 "--marks with a line that is no span" \
    "$ROOFTOP" record -s "sim:$one@max" -o spans.roof --marks unfinished.jsonl
expect_text err 'unfinished.jsonl: line [45]: ' "names the line"
for name in 'first span' second 'last, without a line end'; do
    grep -aq "$name" spans.roof
    result $? "the other lines became marks: $name"
done
expect_exit 1 "--marks with a file that never came" \
    "$ROOFTOP" record -s "sim:$one@max" -o never.roof --marks never.jsonl
expect_text err 'never.jsonl: No such file' "names it"

expect_exit 1 "--marks with a file that has no end" \
    timeout -s KILL 60 "$ROOFTOP" record -s "sim:$one@max" -o endless.roof --marks /dev/zero
expect_text err '/dev/zero: File too large' "names it too"

expect_exit 1 "a mark without a recorder" "$ROOFTOP" mark lonely
expect_text err 'begin with `rooftop record`' "says how to have one"
expect_text err 'no recorder' "says so"
expect_exit 2 "a mark without a name" "$ROOFTOP" mark
expect_exit 2 "a mark with an empty name" "$ROOFTOP" mark ''

"$ROOFTOP" record -s "replay:$h200" -o live.roof 2>live.err &
recorder=$!
await has_socket
result $? "a recorder opens its socket"
[ "$(stat -c %a "$scratch/rooftop")" = 700 ]
result $? "in a folder that others cannot enter"
# It does not wait for long for a recorder that is held up.
set_mark() { "$ROOFTOP" mark 'half way — 50 %' >out; }
await set_mark
result $? "a mark for a recorder that runs"
expect_text out "1 recorder took the mark 'half way — 50 %'" "says how many took it"
kill -INT $recorder
wait $recorder
result $? "Ctrl-C ends the recording: exit 0"
grep -aq 'half way — 50 %' live.roof
result $? "the mark is in the recording"
! has_socket
result $? "the socket is gone with its recorder"

"$ROOFTOP" record -s "replay:$h200" -o killed.roof 2>/dev/null &
recorder=$!
await has_socket
kill -KILL $recorder
wait $recorder 2>/dev/null
has_socket
result $? "a recorder that is killed leaves its socket"
expect_exit 1 "a mark for a recorder that was killed" "$ROOFTOP" mark late
! has_socket
result $? "removes the socket"
expect_exit 0 "its file can be replaced" "$ROOFTOP" record -s "sim:$one@max" -f -o killed.roof
"$ROOFTOP" record -s "replay:$h200" -o moved.roof 2>moved.err &
recorder=$!
await has_socket
expect_exit 2 "a file that another recorder writes is not replaced" "$ROOFTOP" record -s "sim:$one@max" -f -o moved.roof
cat err >refused
expect_text refused '^rooftop record: --output: moved.roof: another rooftop records into it now; end that first' "by name"
kill -0 $recorder
result $? "and that goes on"
rm moved.roof
wait $recorder
[ $? = 1 ]
result $? "a recorder whose file is removed ends"
expect_text moved.err '^rooftop record: moved.roof: the file was removed, renamed or replaced' \
    "it says what became of its file"
expect_exit 0 "what the killed recorder wrote can be read" \
    "$ROOFTOP" stat -s replay:killed.roof@max -f json

chmod 755 "$scratch/rooftop"
"$ROOFTOP" record -s "sim:$one@max" -o open.roof 2>err
result $? "a socket folder that others can enter is not used, and the recording goes on"
rmdir "$scratch/rooftop"

(
    trap '' XFSZ
    ulimit -f 200
    exec "$ROOFTOP" record -s "replay:$h200@max" -o full.roof
) >out 2>err
[ $? -eq 1 ]
result $? "a file that may not grow further: exit 1"
expect_text err 'full.roof' "is named"
expect_exit 0 "and what was written before can be read" "$ROOFTOP" stat -s replay:full.roof@max -c 1

finish
