. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
run="$ROOFTOP run"

# no_mps_left NAME: whoever leaves last stops the daemon.
no_mps_left() {
    [ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
    result $? "$1"
}

# The command line.
expect_exit 2 "no command" $run
expect_exit 2 "exclusive and limited" $run --exclusive --sm 25% -- true
expect_exit 2 "no percentage" $run --sm 125% -- true
expect_text err "'125%' is no part of the SMs such as 25%, up to 100%" "and says what is one"
expect_exit 2 "no size" $run --mem lots -- true
expect_exit 2 "a slot that holds nothing" $run --mem 10 -- touch ran
expect_exit 2 "a slot of nothing" $run --mem 0 -- touch ran
expect_exit 2 "a place where no account can be written" $run --json /not/there/a.json -- touch ran
expect_text err '^rooftop run: --json: /not/there/a\.json: No such file' "and names it"
[ ! -e ran ]
result $? "before the command was run"
expect_exit 2 "a reserve above what slots leave" $run --share --reserve 2G -- true
expect_text err 'slots leave 1 GiB' "and says why"
expect_exit 2 "shared on two GPUs" $run --share --gpus 2 -- touch ran
expect_text err 'a CUDA process reaches one daemon only' "and says why"
expect_text err 'start each of these with a .rooftop run --share. of its own' "and what to do"
expect_exit 2 "limited on two GPUs" $run --mem 4G --gpus 2 -- touch ran
[ ! -e ran ]
result $? "neither was run"

expect_exit 2 "a source that is not there" $run --source sim:none.sim -- touch ran
[ ! -e ran ]
result $? "is no reason to run without"

# Without a GPU.
export ROOFTOP_RUNTIME_DIR="$scratch/alone" ROOFTOP_NVML=/not/there ROOFTOP_SOURCE=nvml
mkdir alone
expect_exit 7 "without a GPU it runs all the same" $run -- sh -c 'exit 7'
expect_text err 'no GPU, so it runs without' "and says so"
sh -c 'exec "$@" 0<&- 1>&- 2>&-' sh $run -- sh -c 'readlink "/proc/$PPID/fd/0" "/proc/$PPID/fd/1" "/proc/$PPID/fd/2" >streams'
printf '/dev/null\n/dev/null\n/dev/null\n' >expected
expect_same streams expected "no file of ours takes the place of a stream that is closed"
expect_exit 3 "with --share it does not" $run --share -- touch ran
expect_exit 3 "nor for two GPUs" $run --gpus 2 -- touch ran
expect_text err 'rooftop doctor.*Without --share, --gpu and --gpus the command runs without' "and says what to do"
[ ! -e ran ]
result $? "the command was not run"
expect_exit 3 "slots without a GPU" "$ROOFTOP" slots

stage 2
mkdir -m 777 everybodys everybodys/rooftop
chmod 777 everybodys/rooftop
ROOFTOP_RUNTIME_DIR=$PWD/everybodys expect_exit 1 "a folder where others may write" $run -- touch ran
expect_text err 'everybodys/rooftop is not this user.s own, or others may write in it' "is named"
expect_text err '^Set ROOFTOP_RUNTIME_DIR to a folder of your own' "and what to do"

# Alone on a GPU.
expect_exit 5 "its exit code is passed on" $run -q -- sh -c 'exit 5'
expect_exit 127 "a command that is not there" $run -q -- /not/there
expect_exit 127 "what only a shell knows" $run -q -- export A=1
expect_text err "cannot run 'export': No such file" "is named"
expect_text err "sh -c 'LINE'" "and how it runs"
expect_exit 126 "a file that cannot be executed" $run -q -- /etc/passwd
expect_text err "cannot run '/etc/passwd': Permission denied" "is named"
expect_text err 'chmod \+x' "and what to do"
expect_exit 2 "more memory than there is" $run --share --mem 1T -- touch ran
expect_text err 'rooftop slots. shows what is free' "and what to do"
expect_exit 143 "a command that a signal ended" $run -q -- sh -c 'kill -TERM $$'
expect_exit 0 "an exclusive job" $run --json e.json -- "$fake_job" alloc 3G seen 4
expect_text err 'Compute SOL 9[34] % \(tensor\), Memory SOL 1[78] % \(HBM only\), bound: compute; nvidia-smi would have said 99 %$' \
    "its account"
expect_text err 'memory peak 3572 MiB' "the peak of its memory"
"$jsoncheck" outcome mode exit_code gpus.# gpus.0.index gpus.0.memory_peak_bytes gpus.0.compute_sol_pipe \
    gpus.0.energy_is_estimate sm_percent <e.json >values
echo '"ended" "exclusive" 0 1 0 3745513472 "tensor" false null' >expected
expect_same values expected "the account as JSON"
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G expect_exit 1 "a job alone" \
    $run -q -- sh -c 'env | grep -E "CUDA_MPS_(ACTIVE|PINNED|SM)"'
expect_same out /dev/null "has no limit, whatever the environment says"
# It has been killed, and whoever started it has not looked: it is listed still.
sh -c '"$1" touch up spin 60 & echo $! >pid; exec sleep 60' - "$fake_job" &
parent=$!
await [ -e up ]
kill -KILL "$(cat pid)"
await grep -q '^State:.Z' "/proc/$(cat pid)/status"
: >gpu/calls
(await grep -q ComputeRunning gpu/calls && kill "$parent") &
expect_exit 0 "a GPU whose last job is about to be gone" $run -q --gpu 0 -- true
wait "$parent" "$!"

expect_exit 0 "two whole GPUs" $run -q --gpus 2 -- sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
echo GPU-00000000-0000-4000-8000-000000000001,GPU-00000000-0000-4000-8000-000000000002 >expected
expect_same out expected "their UUIDs in full"
expect_exit 2 "three, where there are two" $run --gpus 3 -- true
expect_text err 'there are 2' "and says how many there are"

# Shared: limits hold.
expect_exit 0 "a shared job" $run --share --sm 25% --mem 4G --json s.json -- \
    "$fake_job" sm alloc 5G alloc 3G seen 4
printf 'sm 32\nalloc 5G -> 2\nalloc 3G -> 0\n' >expected
expect_same out expected "it has 32 of 132 SMs, and no more memory than its slot"
"$jsoncheck" outcome mode sm_percent memory_limit_bytes gpus.0.memory_peak_bytes <s.json >values
echo '"ended" "shared" 25 4294967296 3745513472' >expected
expect_same values expected "its account as JSON"
"$jsoncheck" verified verified_after_seconds <s.json | grep -Eq '^true [0-9.]+$'
result $? "it was verified to be a client"
expect_text err 'verified [0-9.]+ s after its start: it was a client of MPS within its limits' "and says so"
no_mps_left "the daemon is gone"
expect_exit 0 "a job without a GPU in its hands" $run --share --mem 4G --json n.json -- true
expect_text err 'not verified: it was not seen on the GPU, and may have ended too soon' "says that it was not verified"
"$jsoncheck" verified <n.json >values
echo false >expected
expect_same values expected "its account says so too"
expect_exit 0 "its environment" $run -q --share --mem 2G -- env
expect_text out '^CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M$' "the memory limit"
expect_text out '^CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25$' "the SM limit"
expect_text out '^CUDA_MPS_PIPE_DIRECTORY=/.*/GPU-00000000-0000-4000-8000-000000000001/pipe$' "the pipe folder"

# What is above it may have chosen a GPU.
CUDA_VISIBLE_DEVICES=1 expect_exit 0 "a GPU that the environment names" $run -q -- sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
echo GPU-00000000-0000-4000-8000-000000000002 >expected
expect_same out expected "is the job's"
CUDA_VISIBLE_DEVICES=GPU-00000000-0000-4000-8000-000000000002,GPU-1 expect_exit 2 "two, where it names one" $run --gpus 2 -- touch ran
CUDA_VISIBLE_DEVICES=7 expect_exit 2 "one that is not here" $run -- touch ran
expect_text err "CUDA_VISIBLE_DEVICES is '7', which is none of the GPUs here" "and says so"
CUDA_VISIBLE_DEVICES=7 expect_exit 0 "another, by name" $run -q --gpu 0 -- true
expect_exit 3 "a run inside a run" $run -q -- $run -q -- touch ran
expect_text err "is held by 'sh'|is held by '.*rooftop'" "stays on its GPU"
expect_exit 0 "unless another is named" $run -q --share --mem 4G --gpu 0 -- $run -q --gpu 1 -- env
grep -q '^CUDA_MPS_PIPE_DIRECTORY' out
[ $? -eq 1 ]
result $? "where the outer one's daemon does not serve"

# The table of leases.
echo junk >run/rooftop/share/leases
expect_exit 1 "a damaged table of leases" $run --mem 4G -- touch ran
expect_text err '^rooftop run: .*/leases: this is no table of leases$' "is named"
expect_text err '^Remove the file when no .rooftop run. is running' "and what to do"
expect_exit 1 "slots, with it" "$ROOFTOP" slots
expect_text err 'leases: this is no table of leases' "too"
rm run/rooftop/share/leases
# As one that is stopped at a bad moment.
mkfifo held
flock run/rooftop/share/leases.lock cat held >/dev/null &
holder=$!
exec 5>held
expect_exit 1 "a table that another holds" $run -- touch ran
expect_text err 'leases: another rooftop has held its lock for 5 s' "is named"
expect_exit 0 "slots are shown all the same" "$ROOFTOP" slots
exec 5>&-
wait $holder
ROOFTOP_RUNTIME_DIR=here expect_exit 1 "a folder that depends on where one is" $run -- touch ran
expect_text err 'ROOFTOP_RUNTIME_DIR is no absolute path' "is refused"
expect_exit 2 "a reserve of nothing" $run --share --reserve 0 -- touch ran
[ ! -e ran ]
result $? "none of those was run"

# Shared: what gets round the limits is stopped.
expect_exit 121 "a program outside MPS" $run --share --mem 4G -- \
    "$fake_job" unset CUDA_MPS_PIPE_DIRECTORY alloc 1G spin 60
expect_text err 'uses the GPU without MPS' "and says so"
expect_exit 121 "a program without its memory limit" $run --share --mem 4G -- \
    env -u CUDA_MPS_PINNED_DEVICE_MEM_LIMIT "$fake_job" alloc 1G spin 60
expect_text err "its CUDA_MPS_PINNED_DEVICE_MEM_LIMIT is not the slot's 4.00 GiB" "and says so"
expect_exit 121 "a program with more SMs" $run --share --mem 4G -- \
    env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=90 "$fake_job" alloc 1G spin 60
expect_exit 121 "a client that becomes a program outside MPS" $run -q --share --mem 4G -- \
    "$fake_job" seen 4 unset CUDA_MPS_PIPE_DIRECTORY exec alloc 1G spin 60
expect_exit 121 "a program that is called like MPS" $run -q --share --mem 4G -- \
    "$fake_job" name nvidia-cuda-mps-server unset CUDA_MPS_PIPE_DIRECTORY alloc 1G spin 60
# Root can read all.
if [ "$(id -u)" -eq 0 ]; then
    skip "a program that hides its environment" "needs an ordinary user"
else
    expect_exit 121 "a program that hides its environment" $run -q --share --mem 4G -- \
        "$fake_job" hide alloc 1G spin 60
    expect_text err 'hides its environment, so nobody knows its limits' "and says so"
fi
expect_exit 0 "a part of the SMs with decimals" $run -q --share --sm 66.6666667 --mem 4G -- \
    "$fake_job" alloc 1G seen 4
expect_exit 0 "a program that sets its title" $run -q --share --mem 4G -- "$fake_job" title alloc 1G seen 4
expect_exit 0 "a program with a large environment" env A="$(printf '%0100000d' 0)" B="$(printf '%0100000d' 0)" \
    C="$(printf '%0100000d' 0)" $run -q --share --mem 4G -- "$fake_job" alloc 1G seen 4
expect_exit 0 "a program with fewer SMs" $run -q --share --mem 4G -- \
    env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 "$fake_job" alloc 1G seen 4
expect_exit 122 "two processes, together above the slot" $run --share --mem 4G --json m.json -- \
    sh -c '"$0" alloc 3G spin 60 & "$0" alloc 3G spin 60' "$fake_job"
expect_text err 'hold 6\.98 GiB, its slot has 4\.00' "and says how much"
"$jsoncheck" outcome exit_code <m.json >values
echo '"memory" 122' >expected
expect_same values expected "the account says it too"
expect_exit 124 "a time limit" $run -q --share --mem 4G --timeout 0.1 -- "$fake_job" alloc 1G spin 60
for never in 1e-12 1e30; do
    expect_exit 2 "a time limit of $never s, which no timer can keep," $run --timeout $never -- true
done
expect_text err "--timeout: '1e30' is not a time such as 0.5, 250ms or 2m, from 1ms to 100 years" "and what is one"
expect_exit 124 "a time limit, for one that ignores signals" $run -q --timeout 0.1 --grace 0.1 -- \
    sh -c 'trap "" TERM; exec sleep 60'
no_mps_left "the daemon is gone after all that"

# A client that would die of the signal leaves by itself, and the exit code is that of the signal.
touch leave
$run -q --share --mem 4G -- "$fake_job" linger leave alloc 1G touch works spin 60 >said 2>err &
job=$!
await [ -e works ]
kill -TERM $job
wait $job
[ $? -eq 143 ]
result $? "SIGTERM to a client of MPS: exit code 143"
expect_text said '^terminated$' "it was dropped by its server, and left"

# What the job leaves in a process group of its own is told to end, and not killed at once.
expect_exit 0 "a job with a process left behind" $run -q --grace 1h -- sh -c \
    'setsid sh -c "trap \"touch told; exit\" TERM; touch left; while :; do sleep 0.02; done" &
    until [ -e left ]; do sleep 0.02; done'
[ -e told ]
result $? "which is told to end"

# Whoever starts it may ignore signals.
env --ignore-signal=HUP $run -q --share --mem 4G -- "$fake_job" start touch deaf wait end1 >/dev/null 2>deaf.err &
job=$!
await [ -e deaf ]
kill -HUP $job
kill -TERM $job
wait $job
[ $? -eq 143 ]
result $? "under nohup a hangup does not end the job, as another signal does"
$run -q --share --mem 4G -- env --ignore-signal=HUP "$fake_job" start touch deaf2 wait end2 >out 2>&1 &
job=$!
await [ -e deaf2 ]
kill -HUP $job
asked=$(wc -l <gpu/calls)
is_asked_more() {
    [ "$(wc -l <gpu/calls)" -gt $((asked + 40)) ]
}
await is_asked_more
touch end2
wait $job
result $? "a job that ignores it keeps its place in MPS"
expect_exit 4 "where the ends of children are ignored" env --ignore-signal=CHLD $run -q --share --mem 4G -- sh -c 'exit 4'

# The effective clock, in bursts of CUPTI's counters.
printf 'value gpc__cycles 1.5e9\nlog %s/log\n' "$PWD" >counters
export ROOFTOP_CUPTI="$fake/libfake_cupti.so" ROOFTOP_CUDA="$fake/libfake_cupti.so" ROOFTOP_FAKE_CUPTI="$PWD/counters"
ROOFTOP_SOURCE=auto expect_exit 0 "a job whose clock is measured" $run --grace 1h -- \
    sh -c 'until grep -q ^disable log; do sleep 0.02; done; exec "$0" seen 4' "$fake_job"
expect_text err 'clock 1485 MHz \(effective: 1500 MHz\)' "and is in its account"
rm -f log
ROOFTOP_SOURCE=auto expect_exit 0 "without" $run --clock off -- "$fake_job" seen 3
ROOFTOP_SOURCE=auto expect_exit 0 "one that shares" $run --share --mem 4G -- "$fake_job" seen 3
[ ! -e log ]
result $? "the counters stay off there"
unset ROOFTOP_CUPTI ROOFTOP_CUDA ROOFTOP_FAKE_CUPTI

# The guard: a program without a slot fills the GPU.
$run -q --share --mem 60G --json first.json -- "$fake_job" alloc 59G touch one wait end >/dev/null 2>&1 &
first=$!
await [ -e one ]
$run --share --mem 60G --json last.json -- "$fake_job" alloc 59G touch two spin 600 >/dev/null 2>last.err &
last=$!
await [ -e two ]
"$fake_job" alloc 20.5G touch three wait end >/dev/null &
filler=$!
wait $last
[ $? -eq 122 ]
result $? "before the GPU is full the last to come has to end"
expect_text last.err 'the GPU has 0\.[0-9]+ GiB of memory left, 0\.50 are to stay free, and it was the last to come' \
    "its account says why"
touch end
wait $first
result $? "the other goes on"
wait $filler

# The driver has not freed the memory of a job that has ended: here another program holds as much, for as long as
# the job beside it has looked some times more.
rm -f end
$run -q --share --mem 60G -- "$fake_job" alloc 59G touch four wait end >/dev/null 2>&1 &
first=$!
await [ -e four ]
$run -q --share --mem 60G -- "$fake_job" alloc 59G touch five spin 600 >/dev/null 2>&1 &
last=$!
await [ -e five ]
"$fake_job" alloc 79.5G wait gone seen 5 touch freed wait end >/dev/null &
filler=$!
wait $last
[ $? -eq 122 ]
result $? "again the last to come has to end"
touch gone
await [ -e freed ]
kill $filler
touch end
wait $first
result $? "the other goes on, though the memory comes late"

finish
