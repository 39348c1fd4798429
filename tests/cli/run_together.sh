. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
run="$ROOFTOP run"

# no_mps_left NAME: whoever leaves last stops the daemon.
no_mps_left() {
    [ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
    result $? "$1"
}

stage 2

# Several jobs on one GPU, and who has no room.
$run -q --share --sm 40 --mem 40G --name first -- "$fake_job" start touch one wait end >/dev/null &
first=$!
$run -q --share --sm 40 --mem 40G --name second -- "$fake_job" start touch two wait end >/dev/null &
second=$!
await [ -e one -a -e two ]
"$ROOFTOP" slots >out
sed 's/ [0-9]\{1,8\}  \([a-z]\)/ N  \1/; s/  '"$(id -un)"' /  ME /; s/[0-9.]* s$/N s/' out | tr -s ' ' >slots
cat >expected <<'END'
GPU JOB PID USER SMs MEMORY FOR
0 NVIDIA H200, GPU-00000000-0000-4000-8000-000000000001
 first N ME 40 % 40.0 GiB N s
 second N ME 40 % 40.0 GiB N s
 free 20 % 58.8 GiB
1 NVIDIA H200, GPU-00000000-0000-4000-8000-000000000002
 free 100 % 138.8 GiB
END
[ "$(awk 'length($0) > 80' out)" = "" ]
result $? "slots: in 80 columns"
sort slots >sorted
sort expected >expected.sorted
expect_same sorted expected.sorted "slots: who holds what, and what is left"
"$ROOFTOP" slots --format json | "$jsoncheck" gpus.# gpus.0.free_sm_percent gpus.0.leases.# \
    gpus.1.leases.# gpus.0.leases.1.mode >values
echo '2 20 2 0 "shared"' >expected
expect_same values expected "slots as JSON"
expect_exit 3 "no room on that GPU" $run --gpu 0 --share --sm 40 --mem 10G -- touch ran
expect_text err '20 % of its SMs left, 40 % are asked for' "and says why"
expect_exit 3 "no GPU for itself" $run --gpu 0 -- touch ran
expect_text err "is held by '(first|second)'" "and names who holds it"
$run --gpu 0 --wait 1h -- touch ran 2>waits &
waiting=$!
await grep -q 'waiting for a slot' waits
kill -TERM $waiting
wait $waiting
[ $? -eq 143 ]
result $? "a signal ends the wait for a slot"
expect_exit 0 "the other GPU is free" $run -q --share --sm 40 --mem 10G -- true
$run -q --gpu 0 --wait 1h -- true 2>waits &
waiting=$!
await grep -q 'waiting for a slot' waits
touch end
wait $waiting
result $? "one that waits gets its slot"
wait $first
result $? "the first has ended well"
wait $second
result $? "the second has ended well"
no_mps_left "no daemon is left"

# A program without a slot.
ln -s "$fake_job" job
./job start touch three wait end2 &
await [ -e three ]
expect_exit 3 "a GPU in use by another program" $run --gpu 0 -- touch ran
expect_text err 'in use by \./job start touch three.*which has no slot' "and names it"
expect_exit 0 "beside it all the same" $run -q --gpu 0 --beside -- true
touch end2
wait
[ ! -e ran ]
result $? "none of those was run"

# An MPS server of another daemon, without any client.
mkdir -p away/pipe away/log
away() { CUDA_MPS_PIPE_DIRECTORY=$PWD/away/pipe CUDA_MPS_LOG_DIRECTORY=$PWD/away/log CUDA_VISIBLE_DEVICES=$(head -n 1 gpu/devices) "$@"; }
away "$ROOFTOP_MPS_CONTROL" -d
await [ -e away/pipe/nvidia-cuda-mps-control.pid ]
away "$fake_job" start
expect_exit 3 "a GPU with another MPS server" $run --gpu 0 --share --mem 4G -- touch ran
expect_text err 'in use by another MPS server, .* of [^ ]+ \(PID [0-9]+\), which has no slot' "and names it"
rm -f err
(await grep -q 'waiting for a slot' err; echo quit | away "$ROOFTOP_MPS_CONTROL") &
expect_exit 0 "it can be waited for" $run -q --gpu 0 --share --mem 4G --wait 1h -- true
expect_text err 'waiting for a slot: .* another MPS server' "by name"
wait

# Signals.
$run -q --share --mem 4G -- "$fake_job" start touch four spin 60 >/dev/null &
job=$!
await [ -e four ]
kill -TERM $job
wait $job
[ $? -eq 143 ]
result $? "SIGTERM reaches the program, which ends itself"
$run -q --share --mem 4G -- sh -c 'echo $$ >five; exec "$0" spin 60' "$fake_job" >/dev/null &
job=$!
await [ -s five ]
kill -KILL $job
wait $job 2>/dev/null
leases() { "$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.leases.# gpus.1.leases.#; }
[ "$(leases)" = '1 0' ]
result $? "a job whose rooftop was killed keeps its slot"
expect_exit 3 "so nobody else has the GPU" $run --gpu 0 -- true
expect_text err "is held by 'sh' \(PID $(cat five)\)" "and the job's own PID is named"
kill -KILL "$(cat five)"
slots_are_free() {
    [ "$(leases)" = '0 0' ]
}
await slots_are_free
result $? "until it has ended"
"$ROOFTOP" slots >out
expect_text out '^No job has a slot\. .rooftop run --share -- COMMAND. takes one' "slots says how to get one"

# Faults. A fault takes down all jobs of its GPU, and MPS does not say whose it was.
$run -q --share --mem 4G --json victim.json -- sh -c '"$0" start touch six spin 600
    code=$?; until [ -e late ]; do sleep 0.02; done; exit $code' "$fake_job" >/dev/null 2>victim.err &
victim=$!
# Its neighbours come later than it, and are gone before it ends.
await [ -e six ]
$run --share --mem 4G --retry-victims 1 --json retried.json -- sh -c \
    'if [ -e seven ]; then exec "$0" start; else exec "$0" start touch seven spin 60; fi' "$fake_job" >/dev/null 2>retried.err &
retried=$!
await [ -e six -a -e seven ]
expect_exit 123 "a job with neighbours that faults" $run --share --mem 4G --json cause.json -- \
    "$fake_job" seen 12 fault
expect_text err 'a GPU fault took down 3 processes on its GPU, its own too' "is told so"
wait $retried
result $? "one that may try again succeeds"
# It looks at its GPU some times more, while it is alone there.
count_listings() {
    grep -c '^nvmlDeviceGetComputeRunningProcesses.* 0 ' gpu/calls
}
listings=$(($(count_listings) + 4))
looked_again() {
    [ "$(count_listings)" -ge $listings ]
}
await looked_again
touch late
wait $victim
[ $? -eq 123 ]
result $? "its neighbour has the same exit code"
expect_text retried.err 'a GPU fault took down 3 processes on its GPU, its own too; trying again' "and says why it did"
expect_exit 11 "a job that faults alone" $run --share --mem 4G --json alone.json -- \
    "$fake_job" seen 3 fault
expect_text err 'it caused a GPU fault' "is known to be the cause"
for account in cause victim retried alone; do
    "$jsoncheck" outcome attempts <$account.json
done >values
printf '"victim" 1\n"victim" 1\n"ended" 2\n"fault" 1\n' >expected
expect_same values expected "the accounts tell them apart"
no_mps_left "no daemon is left after the faults"

# Its neighbour tries again too, and is hurt again.
$run -q --share --mem 4G --retry-victims 1 -- sh -c \
    'n=1; [ ! -e round1 ] || n=2; exec "$0" start touch round$n spin 600' "$fake_job" >/dev/null 2>&1 &
neighbour=$!
expect_exit 123 "a victim for the second time" $run --share --mem 4G --retry-victims 1 --json again.json -- sh -c \
    'n=1; [ ! -e met ] || n=2; until [ -e round$n ]; do sleep 0.02; done; touch met; exec "$0" fault' "$fake_job"
[ "$(grep -c 'trying again' err)" -eq 1 ]
result $? "has tried again once"
"$jsoncheck" outcome attempts exit_code <again.json >values
echo '"victim" 2 123' >expected
expect_same values expected "and gives up, as its account says"
wait $neighbour
[ $? -eq 123 ]
result $? "so does its neighbour"

# What was seen of the first attempt is not said of the second, which is no client of MPS.
$run --share --mem 4G --retry-victims 1 --json plain.json -- sh -c \
    'if [ -e nine ]; then exit 0; fi; exec "$0" start touch nine spin 600' "$fake_job" >/dev/null 2>plain.err &
job=$!
await [ -e nine ]
expect_exit 123 "a neighbour that faults" $run --share --mem 4G -- "$fake_job" seen 12 fault
wait $job
result $? "a second attempt without CUDA"
"$jsoncheck" outcome attempts verified verified_by verified_after_seconds <plain.json >values
echo '"ended" 2 false null null' >expected
expect_same values expected "is not said to be verified"

# The daemon dies under a job, which may end of it before the daemon's end is seen.
# lose_daemon NAME COMMAND…: the command ends it, and gets its PID file.
lose_daemon() {
    name=$1
    shift
    rm -f eight
    $run --share --mem 4G --json lost.json -- "$fake_job" start touch eight spin 600 >/dev/null 2>lost.err &
    job=$!
    await [ -e eight ]
    "$@" run/rooftop/share/mps/*/pipe/nvidia-cuda-mps-control.pid
    wait $job
    [ $? -eq 13 ]
    result $? "$name: the job ends as it ends"
    expect_text lost.err 'the MPS daemon of GPU-.* has ended under the job, which may fail for that; .*/control\.log' "and says so at once"
    expect_text lost.err '^    the MPS daemon ended [0-9.]+ s after its start, under it$' "so does its account"
    "$jsoncheck" mps_lost_after_seconds <lost.json | grep -Eq '^[0-9.]+$'
    result $? "as JSON too"
}
kill_it() {
    kill -KILL "$(cat "$1")"
}
hold_it_dying() {
    echo 'dying -> dying' >mps_script
    echo dying | CUDA_MPS_PIPE_DIRECTORY=${1%/*} "$fake/nvidia-cuda-mps-control" >/dev/null
    : >mps_script
}
lose_daemon "an MPS daemon that dies" kill_it
lose_daemon "one that is still dying" hold_it_dying
expect_exit 0 "the next job has a new daemon" $run --share --mem 4G --json new.json -- "$fake_job" sm
"$jsoncheck" mps_lost_after_seconds <new.json >values
echo null >expected
expect_same values expected "which does not die"

# A GPU that does not answer is nobody's.
{
    sed '$d' gpu/base
    echo 'gpu h200'
    echo "nvmlDeviceGetTemperature -> hang $PWD/answer"
} >silent
FAKE_NVML_SCRIPT=$PWD/silent expect_exit 3 "a GPU that does not answer" $run --gpus 2 -- touch ran
expect_text err 'the driver does not answer for GPU-.*2, so nobody knows what runs there' "and says so"
expect_text err 'rooftop doctor.*--gpu.*nvidia-smi -r' "and what to do"

# MPS that does not work.
echo 'start -> "Failed to set up"' >mps_script
expect_exit 3 "MPS that does not start" $run --share --mem 4G -- touch ran
expect_text err 'did not start: Failed to set up' "and what it said"
expect_exit 0 "without --share it has the GPU to itself" $run --mem 4G --json x.json -- true
expect_text err 'no MPS, so it has the GPU to itself' "and says so"
"$jsoncheck" mode <x.json >values
echo '"exclusive"' >expected
expect_same values expected "the account says so"
echo 'set_default_active_thread_percentage -> ""' >mps_script
expect_exit 3 "a limit that was not read back" $run --share --sm 30 --mem 4G -- touch ran
expect_text err 'did not take the SM limit' "and says which"
: >mps_script
ROOFTOP_MPS_CONTROL=/not/there expect_exit 3 "no MPS program" $run --share -- touch ran
[ ! -e ran ]
result $? "none of those was run either"
no_mps_left "no daemon is left at the end"

finish
