# rooftop bench in the modes of MPS and MIG, over the fake daemon and programs that use the fake GPU.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

stage 1
"$fake_job" start
cat >jobs.ini <<END
[bench]
modes = exclusive, time-slicing, mps, mps-equal, mps-limits, mig
repeats = 1
settle = 1ms
[small]
command = "$fake_job" sm alloc 2G \$WORK >>small.\$ROOFTOP_JOB
count = 2
sm = 20%
memory = 4G
[large]
command = "$fake_job" sm \$WORK >>large.seen
sm = 60%
memory = 8G
END
WORK='seen 4' expect_exit 0 'all modes' "$ROOFTOP" bench jobs.ini
expect_text err '^mig: MIG is off, and there are 3 jobs$' 'MIG is left out, with the reason'
sqlite3 jobs.bench "SELECT mode, count(*) FROM trial JOIN run ON trial = id WHERE outcome = 'ended' GROUP BY id" >out
printf '%s|3\n' exclusive time-slicing mps mps-equal mps-limits >expected
expect_same out expected 'every job of every other mode ended'
# 33 % and 60 % of 132 SMs, in whole pairs.
grep -h '^sm' large.seen >out
printf 'sm %s\n' 132 132 132 42 78 >expected
expect_same out expected 'the jobs had the SMs of their mode'
# The context of 500 MiB and what was allocated.
sqlite3 jobs.bench "SELECT DISTINCT memory_peak / 1048576 FROM run
    WHERE name = 'small.1' AND memory_peak NOT NULL" >out
expect_text out '^2548.0$' 'the peak of a job is that of its process'
[ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
result $? 'no daemon is left'
"$ROOFTOP" report jobs.bench >out
expect_text out '^Left out: mig: MIG is off' 'the report says what was left out'

cat >outside.ini <<END
[bench]
modes = mps
repeats = 1
settle = 1ms
[good]
command = "$fake_job" wait stopped
[bad]
command = trap 'touch stopped' TERM; "$fake_job" unset CUDA_MPS_PIPE_DIRECTORY spin 60
[early]
command = "$fake_job" unset CUDA_MPS_PIPE_DIRECTORY spin 60
ready = line never
END
expect_exit 0 'jobs that do not keep to the mode' "$ROOFTOP" bench outside.ini
sqlite3 outside.bench "SELECT name, outcome FROM run" >out
printf 'good|ended\nbad|outside\nearly|outside\n' >expected
expect_same out expected 'are stopped, the others are not'
for job in bad early; do
    sqlite3 outside.bench "SELECT output FROM run WHERE name = '$job'" >out
    expect_text out 'uses the GPU without MPS' "and it is said why: $job"
done
"$ROOFTOP" report outside.bench | tr -s ' \n' ' ' >out
expect_text out 'early: outside, exit code 143: .* uses the GPU without MPS' 'in the report too'
cat >late.ini <<END
[bench]
modes = mps
repeats = 1
timeout = 300ms
settle = 1ms
[hangs]
command = exec "$fake_job" alloc 1G spin 60
END
expect_exit 0 'a job that hangs' "$ROOFTOP" bench late.ini
"$ROOFTOP" report late.bench | tr -s ' \n' ' ' >out
expect_text out 'hangs: timeout, exit code 143: stopped after 0.3 s' 'is stopped; the report says how long it was waited for'

# One fault takes its co-clients down; a job that fails by itself is told from them.
cat >fault.ini <<END
[bench]
modes = mps
repeats = 2
settle = 1ms
[culprit]
command = [ -e once ] && exec touch over; touch once; exec "$fake_job" start wait there.victim.1 wait there.victim.2 wait own_ended seen 4 fault
[victim]
command = exec "$fake_job" start touch there.\$ROOFTOP_JOB wait over
count = 2
[own]
command = "$fake_job" seen 2; touch own_ended; exit 5
END
expect_exit 0 'a GPU fault in a trial' "$ROOFTOP" bench fault.ini
expect_text err '^trial 1 of 2: .*, 4 of 4 jobs failed, a GPU fault took down 3$' 'is told'
expect_text err '^trial 2 of 2: .*, 1 of 4 jobs failed$' 'the next trial has a new server'
sqlite3 fault.bench "SELECT name, outcome, exit_code FROM run WHERE trial = 1" >out
printf 'culprit|fault|11\nvictim.1|fault|10\nvictim.2|fault|10\nown|failed|5\n' >expected
expect_same out expected 'who was taken down by it, and who failed by itself'
"$ROOFTOP" report fault.bench | tr '\n' ' ' | tr -s ' ' >out
expect_text out ' mps, repeat 1: a GPU fault of one of them took down culprit, victim.1 and victim.2; MPS does not say whose it was mps' 'the report says so'

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
expect_exit 0 'instances of MIG' env WORK='spin 0.1' FAKE_NVML_SCRIPT="$PWD/mig" "$ROOFTOP" bench jobs.ini
sqlite3 jobs.bench "SELECT count(*) FROM trial JOIN run ON trial = id WHERE mode = 'mig' AND outcome = 'ended'" >out
expect_text out '^3$' 'the mode is added to the result'
finish
