# rooftop bench over small programs, with the fake NVML as the GPU.
. "$SOURCE_ROOT/tests/lib.sh"

ROOFTOP_NVML=$BUILD_ROOT/tests/fake/libfake_nvml.so
FAKE_NVML_SCRIPT=$PWD/script
TMPDIR=$PWD
export TMPDIR ROOFTOP_NVML FAKE_NVML_SCRIPT
unset ROOFTOP_SOURCE
free_gpu() { printf 'gpu h200\nprocesses compute\nlog %s/calls\n' "$PWD"; }
free_gpu >script

query() {
    sqlite3 "$1" "$2" >out
}

# What a job does to be measured: it works until the GPU has been read some times more.
cat >measured <<'END_OF_JOB'
readings() { grep -c ^nvmlGpmSampleGet calls; }
enough=$(($(readings) + 4))
until [ "$(readings)" -ge $enough ]; do sleep 0.01; done
END_OF_JOB

expect_exit 2 'no file' "$ROOFTOP" bench
expect_exit 2 'a file that is not there' "$ROOFTOP" bench none.ini
expect_text err 'none.ini: No such file' 'is named'
printf '[a]\ncommand = true\ncuont = 2\n' >wrong.ini
mkdir folder
expect_exit 2 'a folder for jobs' "$ROOFTOP" bench folder
expect_text err '^rooftop bench: folder: Is a directory' 'is named'
expect_exit 2 'an unknown key' "$ROOFTOP" bench wrong.ini
expect_text err "wrong.ini:3: \[a\] knows no key 'cuont'" 'is named with its line'

cat >good.ini <<'END_OF_JOBS'
[bench]
title = Three jobs
modes = exclusive, time-slicing
repeats = 2
settle = 1ms
[plain]
command = sleep 0.05
count = 2
time = 10s
[file]
command = : >"${ROOFTOP_READY}x"; while [ ! -e "$ROOFTOP_GO" ]; do sleep 0.01; done; echo "$COLOUR"; . ./measured
ready = file
env.COLOUR = blue
time = 20s
[line]
command = trap go=1 CONT; echo epoch 1; until [ "$go" ]; do sleep 0.01; done; echo JOB; sleep 0.05
ready = line epoch 1
hold = stop
done = line JOB
time = 5s
END_OF_JOBS
expect_exit 0 'a dry run' "$ROOFTOP" bench --dry-run good.ini
expect_text out '^  plain × 2: sleep 0.05$' 'it shows the jobs'
expect_text out '^  time-slicing, exclusive$' 'the second repeat begins with another mode'
# 2 × (45 s + 45 s) at most, and 2 × (45 s + 20 s) at least.
expect_text out '^How long: between 2 min 10 s and 3 min 0 s' 'and how long it takes'
[ ! -e good.bench ]
result $? 'and makes no file'

expect_exit 0 'jobs are run' "$ROOFTOP" bench good.ini
expect_text err '^trial 4 of 4: exclusive, repeat 2: ' 'each trial is told'
[ ! -e good.bench-journal ]
result $? 'there is nothing beside the result'
query good.bench "SELECT count(*) || '|' || sum(outcome = 'ended') FROM run"
expect_text out '^16\|16$' 'every job of every trial ended'
query good.bench 'SELECT min(compute_sol_ratio), max(compute_sol_ratio), max(nvml_utilization_ratio) FROM trial'
expect_text out '^0.935\|0.935\|0.99$' 'the GPU was measured meanwhile'
# Of a trial in which the machine was too busy to sample, the energy is not known.
query good.bench 'SELECT min(energy_joules / length), max(energy_joules / length)
    FROM trial JOIN (SELECT trial, max(end) AS length FROM run GROUP BY trial) ON trial = id'
expect_text out '^601\.7[45][0-9]*\|601\.7[56]' 'energy is power by time'
query good.bench "SELECT count(*) FROM run a JOIN run b ON a.trial = b.trial AND b.instance = a.instance + 1
    JOIN trial ON id = a.trial WHERE mode = 'exclusive' AND abs(a.end - b.begin) < 1e-6"
expect_text out '^6$' 'in turn each job begins where the one before ends'
query good.bench "SELECT count(*) FROM run JOIN trial ON id = trial WHERE mode = 'time-slicing' AND begin = 0"
expect_text out '^8$' 'at once all begin together'
expect_exit 0 'what is done is not run again' "$ROOFTOP" bench good.ini
[ "$(sqlite3 good.bench 'SELECT count(*) FROM trial')" -eq 4 ]
result $? 'there are as many trials as before'
sed 's/0.05/0.06/' good.ini >other.ini
# The wall clock is set an hour on while the jobs run.
if ldd "$ROOFTOP" | grep -Eq 'lib[amt]san'; then
    skip 'a wall clock that is set' 'a sanitizer wants to be loaded first'
else
    printf '[bench]\nmodes = exclusive, time-slicing\nrepeats = 1\nsettle = 1ms\n[plain]\ncommand = . ./measured\ncount = 2\n' >set.ini
    expect_exit 0 'a wall clock that is set' env FAKE_CLOCK_STEP=3600 \
        LD_PRELOAD="$BUILD_ROOT/tests/fake/libwall_clock.so" "$ROOFTOP" bench set.ini
    query set.bench 'SELECT max(end) < 600, min(end > begin) FROM run'
    expect_text out '^1\|1$' 'the jobs took as long as they did'
    query set.bench 'SELECT count(compute_sol_ratio), count(energy_joules) FROM trial'
    expect_text out '^2\|2$' 'and what the GPU did meanwhile is known'
fi

expect_exit 2 'other jobs into the same result' "$ROOFTOP" bench -o good.bench other.ini
expect_text err 'good.bench: it is of other jobs' 'are refused'
{ free_gpu; echo 'nvmlSystemGetDriverVersion -> 0 "590.10"'; } >script
expect_exit 2 'another driver' "$ROOFTOP" bench good.ini
expect_text err 'good.bench: it is of another driver' 'is refused'
free_gpu >script
cp good.bench newer.bench
sqlite3 newer.bench 'PRAGMA user_version = 2'
for command in "bench -o newer.bench good.ini" "report newer.bench"; do
    # shellcheck disable=SC2086
    expect_exit 2 "a result of a newer rooftop: $command" "$ROOFTOP" $command
    expect_text err 'newer.bench: a newer rooftop has written it' 'is left to that'
done
[ "$(sqlite3 newer.bench 'PRAGMA user_version')" -eq 2 ]
result $? 'and stays as it is'
cp good.bench damaged.bench
page=$(sqlite3 good.bench "SELECT 4096 * (rootpage - 1) FROM sqlite_master WHERE name = 'fact'")
dd if=/dev/zero of=damaged.bench bs=1 seek="$page" count=4096 conv=notrunc 2>/dev/null
for command in "bench -o damaged.bench good.ini" "report damaged.bench"; do
    # shellcheck disable=SC2086
    expect_exit 2 "a damaged result: $command" "$ROOFTOP" $command
    expect_text err 'damaged.bench: the (result|file) is damaged' 'is named'
done
TMPDIR=/not/there expect_exit 1 'no place for the barrier' "$ROOFTOP" bench -o none.bench good.ini
expect_text err 'a folder in /not/there: No such file' 'is named'
{ cat good.ini; yes '# more' | head -c 1048576; } >long.ini
expect_exit 2 'a file of jobs of a megabyte' "$ROOFTOP" bench --dry-run long.ini
expect_text err 'long.ini: File too large' 'is not cut short'

# Bursts of CUPTI's counters tell the clock.
printf '[bench]\nmodes = exclusive\nrepeats = 1\nsettle = 1ms\n[a]\ncommand = sleep 1.5\n' >off.ini
sed 's/sleep 1.5/. .\/burst/' off.ini >clock.ini
cat >burst <<'END_OF_JOB'
count() { cat log 2>/dev/null | grep -c "^$1"; }
began=$(count enable)
until [ "$(count disable)" -gt "$began" ]; do sleep 0.02; done
. ./measured
END_OF_JOB
printf 'value gpc__cycles 1.5e9\nvalue pct_of 40\nlog %s/log\n' "$PWD" >counters
with_counters() {
    env ROOFTOP_CUPTI="$BUILD_ROOT/tests/fake/libfake_cupti.so" ROOFTOP_CUDA="$BUILD_ROOT/tests/fake/libfake_cupti.so" \
        ROOFTOP_FAKE_CUPTI="$PWD/counters" "$@"
}
expect_exit 0 'with the counters off' with_counters "$ROOFTOP" bench --clock off off.ini
[ ! -e log ]
result $? 'they are not touched'
query off.bench 'SELECT effective_clock_hertz IS NULL FROM trial'
expect_text out '^1$' 'and the effective clock is not known'
"$ROOFTOP" report off.bench >out
expect_text out 'effective clock is not known' 'the report says so'
expect_exit 0 'with the counters' with_counters "$ROOFTOP" bench clock.ini
query clock.bench 'SELECT effective_clock_hertz FROM trial'
expect_text out '^1500000000.0$' 'the effective clock is measured'
"$ROOFTOP" report clock.bench >out
expect_text out '^Effective clock +1500 MHz$' 'and reported'
! grep -q 'is not known' out
result $? 'without a note'

cat >bad.ini <<'END_OF_JOBS'
[bench]
modes = time-slicing
repeats = 1
settle = 1ms
[fails]
command = printf 'no \377 memory\n'; exit 7
[dies]
command = kill -9 $$
[forks]
command = sleep 300 & echo $! >forked; setsid sleep 301 & echo $! >strayed; exit 0
[leaves]
command = true
ready = file
[garbage]
command = head -c 300000 /dev/urandom
[missing]
command = ./no-such-program
[folder]
command = true
folder = /no/such
END_OF_JOBS
expect_exit 0 'jobs that go wrong' "$ROOFTOP" bench bad.ini
expect_text err '5 of 7 jobs failed' 'are counted'
query bad.bench "SELECT name, outcome, exit_code FROM run"
for line in 'fails\|failed\|7' 'dies\|failed\|137' 'forks\|ended\|0' 'leaves\|cold\|0' 'garbage\|ended\|0' 'missing\|failed\|127' 'folder\|failed\|126'; do
    expect_text out "^$line\$" "outcome of $line"
done
await has_ended "$(cat forked)" && await has_ended "$(cat strayed)"
result $? 'what a job leaves behind is killed, outside its process group too'
query bad.bench "SELECT output FROM run WHERE name = 'fails'"
expect_text out '^no � memory' 'what it printed last is kept, as UTF-8'
query bad.bench "SELECT name, output FROM run WHERE outcome = 'cold'"
expect_text out '^leaves\|it ended before it had warmed up$' 'or that it was not there'

# Jobs that are stopped. One warms up first, and does not heed the signal then.
cat >hangs.ini <<'END_OF_JOBS'
[bench]
modes = exclusive
repeats = 1
settle = 1ms
timeout = 300ms
[hangs]
command = trap '' TERM; : >"$ROOFTOP_READY"; while :; do sleep 0.02; done
ready = file
END_OF_JOBS
expect_exit 0 'a job that does not end' "$ROOFTOP" bench hangs.ini
query hangs.bench 'SELECT outcome, exit_code, output FROM run'
expect_text out '^timeout\|137\|stopped after 0.3 s$' 'is stopped'
sed -e 's/^timeout/warm-up-timeout/' -e 's/^command.*/command = sleep 300/' hangs.ini >cold.ini
expect_exit 0 'a job that does not warm up' "$ROOFTOP" bench cold.ini
query cold.bench 'SELECT outcome, exit_code, output FROM run'
expect_text out '^cold\|143\|stopped: it had not warmed up after 0.3 s$' 'is stopped too'

# One that only prints a line would work on while others warm up, and its time would be too short. It starts no program
# meanwhile: a shell that is stopped while it does is in state D.
cat >held.ini <<'END_OF_JOBS'
[bench]
modes = time-slicing
repeats = 1
settle = 1ms
warm-up-timeout = 20s
timeout = 20s
[quick]
command = echo $$ >quick; echo epoch 1; until [ -e seen ]; do :; done; touch worked
ready = line epoch 1
[slow]
command = until [ -s quick ] && grep -q '^State:.T' "/proc/$(cat quick)/status"; do sleep 0.01; done; touch seen; echo warm; until [ -e worked ]; do sleep 0.01; done
ready = line warm
END_OF_JOBS
expect_exit 0 'jobs that only say when they are warm' "$ROOFTOP" bench held.ini
query held.bench 'SELECT group_concat(outcome) FROM run'
expect_text out '^ended,ended$' 'are stopped until all are'

# Killed in the middle: what was done is kept, nothing is left running, and the rest is run later.
cat >forks <<'END_OF_JOB'
sleep 300 &
echo $! >>started
setsid sleep 301 &
echo $! >>started
(sleep 302 & echo $! >>started)
echo $$ >>started
mv started pids
wait
END_OF_JOB
cat >killed.ini <<'END_OF_JOBS'
[bench]
modes = exclusive, time-slicing
repeats = 2
settle = 1ms
[a]
command = if [ -e first ] && [ ! -e free ]; then . ./forks; fi; touch first
END_OF_JOBS
"$ROOFTOP" bench killed.ini 2>err &
bench=$!
await [ -s pids ]
kill -9 $bench
wait $bench 2>/dev/null
all_gone() {
    while read -r pid; do
        has_ended "$pid" || return 1
    done <pids
}
await all_gone
result $? 'a bench that is killed leaves no job behind, nor what that has started'
await sh -c '! ls -d rooftop-bench-* 2>/dev/null'
result $? 'nor its folder'
query killed.bench 'SELECT count(*) FROM trial'
expect_text out '^1$' 'the trial before is kept'
touch free
expect_exit 0 'the same command goes on' "$ROOFTOP" bench killed.ini
query killed.bench 'SELECT count(*) FROM trial'
expect_text out '^4$' 'to the end'

# A job that forks and does not end in time.
rm pids
sed 's/^command.*/command = (until [ -e pids ]; do sleep 0.02; done; : >"$ROOFTOP_READY") \& . .\/forks/' hangs.ini >late.ini
expect_exit 0 'a job that forks and does not end' "$ROOFTOP" bench late.ini
query late.bench 'SELECT outcome FROM run'
expect_text out '^timeout$' 'is stopped'
await all_gone
result $? 'with all that it has started'

# Ctrl-C
printf '[bench]\nmodes = exclusive\nsettle = 1ms\n[a]\ncommand = touch began; sleep 300\n' >stop.ini
"$ROOFTOP" bench stop.ini 2>err &
bench=$!
await [ -e began ]
kill -TERM $bench
wait $bench
[ $? -eq 1 ]
result $? 'a signal ends it: exit 1'
expect_text err 'the same command goes on from there' 'and it says how to go on'

printf 'gpu h200\n' >script
expect_exit 1 'a GPU in use' "$ROOFTOP" bench -o busy.bench good.ini
expect_text err '4242' 'is refused by name'
# The list of what uses it comes late.
printf 'gpu h200\nnvmlDeviceGetName -> 0 "NVIDIA H200"\n' >script
echo "nvmlDeviceGetUtilizationRates -> hang $PWD/there" >>script
(sleep 0.7; touch there) &
expect_exit 1 'a GPU in use, on a busy host' "$ROOFTOP" bench -o busy.bench good.ini
expect_text err '4242' 'is refused by name'
echo 'init 9' >script
expect_exit 3 'no GPU' "$ROOFTOP" bench -o none.bench good.ini
expect_exit 2 'a source that is not live' "$ROOFTOP" bench -s "sim:$SOURCE_ROOT/tests/data/one.sim" -o none.bench good.ini
# What is above it may have chosen a GPU.
{ free_gpu; printf 'gpu h200\nprocesses compute\n'; } >script
printf '[bench]\nmodes = exclusive\nrepeats = 1\nsettle = 1ms\n[look]\ncommand = echo "$CUDA_VISIBLE_DEVICES" >seen\n' >look.ini
CUDA_VISIBLE_DEVICES=1 expect_exit 0 'a GPU that the environment names' "$ROOFTOP" bench look.ini
expect_text seen '^GPU-00000000-0000-4000-8000-000000000002$' 'is the one for the jobs'
CUDA_VISIBLE_DEVICES=1 expect_exit 0 'another, by name' "$ROOFTOP" bench --gpu 0 -o named.bench look.ini
expect_text seen '^GPU-00000000-0000-4000-8000-000000000001$' 'is the one for the jobs'
CUDA_VISIBLE_DEVICES=7 expect_exit 2 'one that is not here' "$ROOFTOP" bench -o none.bench look.ini
expect_text err "CUDA_VISIBLE_DEVICES is '7'" 'is named'

echo text >text.bench
sqlite3 other.bench 'CREATE TABLE t(a)'
cp other.bench before.bench
free_gpu >script
expect_exit 2 'a folder that is not there' "$ROOFTOP" bench -o not/there.bench good.ini
expect_text err 'not/there.bench: No such file' 'and names the file'
expect_exit 2 'a file of another kind' "$ROOFTOP" bench -o text.bench good.ini
expect_text err 'text.bench: this is no result' 'is not written to'
expect_exit 2 "another program's database" "$ROOFTOP" bench -o other.bench good.ini
cmp -s other.bench before.bench
result $? 'is as it was'
finish
