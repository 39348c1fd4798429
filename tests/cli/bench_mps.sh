# rooftop bench in the modes of MPS and MIG, over the fake daemon and programs that use the fake GPU.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

stage 1
export ROOFTOP_PROFILES="$PWD/profiles.db"
# A counter of energy would be waited for behind each trial.
echo "nvmlDeviceGetTotalEnergyConsumption -> 3" >>gpu/base
"$fake_job" start
cat >jobs.ini <<END
[bench]
modes = exclusive, time-slicing, mps, mps-equal, mps-limits, mig
repeats = 1
settle = 1ms
[small]
command = "$fake_job" sm alloc 2G spin 0.4 >>small.\$ROOFTOP_JOB
count = 2
sm = 20%
memory = 4G
[large]
command = "$fake_job" sm spin 0.4 >>large.seen
sm = 60%
memory = 8G
END
expect_exit 0 'all modes' "$ROOFTOP" bench jobs.ini
expect_text err '^mig: MIG is off, and there are 3 jobs$' 'MIG is left out, with the reason'
sqlite3 jobs.bench "SELECT mode, count(*) FROM trial JOIN run ON trial = id WHERE outcome = 'ended' GROUP BY id" >out
printf '%s|3\n' exclusive time-slicing mps mps-equal mps-limits >expected
expect_same out expected 'every job of every other mode ended'
# 33 % and 60 % of 132 SMs, in whole pairs.
grep -h '^sm' large.seen >out
printf 'sm %s\n' 132 132 132 42 78 >expected
expect_same out expected 'the jobs had the SMs of their mode'
# The context of 500 MiB and what was allocated.
sqlite3 jobs.bench "SELECT DISTINCT memory_peak / 1048576 FROM run WHERE name = 'small.1'" >out
expect_text out '^2548.0$' 'the peak of a job is that of its process'
[ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
result $? 'no daemon is left'
"$ROOFTOP" report jobs.bench >out
expect_text out '^Left out: mig: MIG is off' 'the report says what was left out'

# Limits from profiles: one by the job's name, one by another's, one by the command.
cat >profiled.ini <<END
[bench]
modes = mps-limits
repeats = 2
settle = 1ms
[one]
command = $fake_job sm spin 0.3
count = 2
[two]
command = $fake_job sm spin 0.3 >>two.seen
profile = of_two
[three]
command = $fake_job sm alloc 1G spin 1.2
sm = 30%
END
expect_exit 0 'a dry run without profiles' "$ROOFTOP" bench -n profiled.ini
expect_text out '^  mps-limits: left out: \[one\] has no sm = … and no profile; run .rooftop profile --scaling --name one -- COMMAND' 'says what to run'
expect_exit 0 'a bench without profiles' "$ROOFTOP" bench profiled.ini
expect_text err '^mps-limits: \[one\] has no sm' 'leaves the mode out'
expect_exit 0 'a profile' "$ROOFTOP" profile --name one --scaling -- "$fake_job" alloc 1G spin 1.2
"$ROOFTOP" profile --name of_two -- "$fake_job" spin 1.2 2>/dev/null
"$ROOFTOP" profile -- "$fake_job" sm alloc 1G spin 1.2 >/dev/null 2>&1
# Known figures: 95 % of the speed at 35 % of the SMs; 58 % of the SMs. Then 2 · 35 + 58 into 70.
sqlite3 "$ROOFTOP_PROFILES" "UPDATE profile SET wall_seconds = 9.5 WHERE key = 'one';
    UPDATE profile_scaling SET wall_seconds = CASE sm_percent WHEN 25 THEN 9.5 / 0.9 ELSE 9.5 / 1.025 END WHERE key = 'one';
    UPDATE profile_metric SET p95 = 0.58 WHERE key = 'of_two' AND metric LIKE '%coverage%'"
expect_exit 0 'a dry run with profiles' "$ROOFTOP" bench -n profiled.ini
expect_text out '^    in mps-limits: 19 % of the SMs \(profile one: keeps 95 % of its speed; 35 %, shrunk so that all fit\), 2 GiB \(profile one: its peak and a fifth\)$' 'the scaling curve and the peak, shrunk'
expect_text out '^    in mps-limits: 31 % of the SMs \(profile of_two: SMs that it uses, 95th percentile; 58 %' 'the SMs in use'
expect_text out '^    in mps-limits: 30 % of the SMs, 2 GiB \(profile [0-9a-f]{16}: its peak' 'what JOBS.ini names stays; the rest is found by the command'
expect_exit 0 'the mode' "$ROOFTOP" bench profiled.ini
sort -u two.seen >out
# 31 % of 132 SMs, in whole pairs.
echo 'sm 40' >expected
expect_same out expected 'runs with those limits'
sqlite3 profiled.bench "DELETE FROM trial WHERE repeat = 1"
sqlite3 "$ROOFTOP_PROFILES" "UPDATE profile_metric SET p95 = 0.2 WHERE key = 'of_two'"
expect_exit 2 'a profile that has changed since' "$ROOFTOP" bench profiled.ini
expect_text err 'profiled.bench: it is of other limits' 'is refused'
"$ROOFTOP" report profiled.bench >out
expect_text out 'two: 31 % of the SMs \(profile of_two' 'the report says whence the limits are'

cat >outside.ini <<END
[bench]
modes = mps
repeats = 1
timeout = 1500ms
settle = 1ms
[good]
command = "$fake_job" spin 0.6
[bad]
command = "$fake_job" unset CUDA_MPS_PIPE_DIRECTORY spin 60
[hangs]
command = "$fake_job" alloc 1G spin 60
END
expect_exit 0 'jobs that do not keep to the mode' "$ROOFTOP" bench outside.ini
sqlite3 outside.bench "SELECT name, outcome FROM run" >out
printf 'good|ended\nbad|outside\nhangs|timeout\n' >expected
expect_same out expected 'are stopped, the others are not'
sqlite3 outside.bench "SELECT output FROM run WHERE name = 'bad'" >out
expect_text out 'uses the GPU without MPS' 'and it is said why'

"$ROOFTOP" run -q --beside -- sleep 30 &
run=$!
await sh -c '"$1" slots | grep -q sleep' sh "$ROOFTOP"
expect_exit 1 'a GPU that rooftop run has leased' "$ROOFTOP" bench -o leased.bench jobs.ini
kill $run
wait $run 2>/dev/null

printf '[bench]\nmodes = exclusive, mps\nsettle = 1ms\nrepeats = 1\n[a]\ncommand = true\n' >without.ini
expect_exit 0 'without MPS' env ROOFTOP_MPS_CONTROL=/not/there "$ROOFTOP" bench --beside without.ini
expect_text err '^mps: ' 'the mode is left out'
sqlite3 without.bench 'SELECT mode FROM trial' >out
expect_text out '^exclusive$' 'the others run'

cat >mig <<END
gpu h200
nvmlDeviceGetMigMode -> 0 1 1
processes compute
mig 0
mig 1
mig 2
END
expect_exit 0 'instances of MIG' env FAKE_NVML_SCRIPT="$PWD/mig" "$ROOFTOP" bench jobs.ini
sqlite3 jobs.bench "SELECT count(*) FROM trial JOIN run ON trial = id WHERE mode = 'mig' AND outcome = 'ended'" >out
expect_text out '^3$' 'the mode is added to the result'
finish
