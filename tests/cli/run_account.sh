# The account of a job: each figure beside what the fake GPU says.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
stage 1

# is_about EXPECTED FILE OVER UNDER: so much is one figure of an account over another, to 0.2 %.
is_about() {
    "$jsoncheck" "$3" "$4" <"$2" | awk -v expected="$1" '{ off = $1 / $2 / expected - 1; exit !(off * off < 4e-6) }'
}

# Alone. The fake's power is 601.75 W, and its graphics engine is at work for 99.5 % of the time.
expect_exit 0 "a job with a child" "$ROOFTOP" run --json a.json -- \
    sh -c '"$0" alloc 1G touch a wait b seen 10 & "$0" alloc 2G touch b wait a seen 10; wait' "$fake_job"
"$jsoncheck" outcome mode attempts verified sm_percent memory_limit_bytes gpus.0.memory_peak_bytes \
    gpus.0.energy_is_estimate <a.json >values
echo '"ended" "exclusive" 1 null null null 4269801472 false' >expected
expect_same values expected "the memory of the whole tree: 1 and 2 GiB and two contexts of 500 MiB"
"$jsoncheck" gpus.0.compute_sol_ratio gpus.0.compute_sol_pipe gpus.0.memory_sol_ratio gpus.0.memory_sol_level \
    gpus.0.bound gpus.0.nvml_utilization_ratio gpus.0.sm_clock_hertz <a.json >values
echo '0.935 "tensor" 0.175 "dram" "compute" 0.99 1485000000.0' >expected
expect_same values expected "Compute and Memory SOL, the bound, nvidia-smi's number and the clock"
grep -o '"[a-z0-9_]*":' a.json | tr -d '":' | sort -u >keys
while read -r key; do
    grep -q "\*$key\*" "$SOURCE_ROOT/man/rooftop-run.1.scd" || grep -q "^| \`$key\` |" "$SOURCE_ROOT/docs/METRICS.md" || echo "$key"
done <keys >unknown
[ -s keys ] && [ ! -s unknown ]
result $? "every field is described"
is_about 601.75 a.json gpus.0.energy_joules gpus.0.measured_seconds
result $? "its energy is all of the GPU's"
is_about 0.995 a.json gpus.0.busy_seconds gpus.0.measured_seconds
result $? "its busy time"

# What MPS takes to start is not the job's time: here as long as 20 more readings.
cat >slow_mps <<'END'
#!/bin/sh
readings() {
    grep -c '^nvmlDeviceGetUtilizationRates' "$FAKE_GPU/calls"
}
if [ "${1-}" = -d ]; then
    enough=$(($(readings) + 20))
    until [ "$(readings)" -ge "$enough" ]; do sleep 0.01; done
fi
exec "$FAKE_MPS_CONTROL" "$@"
END
chmod +x slow_mps
expect_exit 0 "a job whose MPS daemon starts slowly" env FAKE_MPS_CONTROL="$ROOFTOP_MPS_CONTROL" ROOFTOP_MPS_CONTROL="$PWD/slow_mps" \
    "$ROOFTOP" run --share --sm 25% --mem 4G --json slow.json -- "$fake_job" alloc 1G seen 10
"$jsoncheck" wall_seconds waited_seconds gpus.0.measured_seconds <slow.json | awk '{ exit !($3 > 0 && $3 <= $1 && $2 > 1) }'
result $? "only the job's time is measured"
is_about 601.75 slow.json gpus.0.energy_joules gpus.0.measured_seconds
result $? "and its energy"

# Beside another, from its first to its last moment: half of the energy, as an estimate.
"$ROOFTOP" run -q --share --sm 25% --mem 4G -- "$fake_job" start touch one wait end >/dev/null &
other=$!
await [ -e one ]
expect_exit 0 "a job beside another" "$ROOFTOP" run --share --sm 25% --mem 4G --json b.json -- "$fake_job" alloc 1G seen 10
expect_text err 'GPU 0 NVIDIA H200, shared: 25 % of the SMs, 4\.0 GiB; up to 1 other job beside it$' "says what it had"
expect_text err 'energy [0-9]+ J \(estimate: an equal share of the GPU.s\)' "its energy is an estimate"
expect_text err 'nvidia-smi would have said 99 % \(all of the whole GPU, its neighbours included\)' "and all else the whole GPU's"
is_about 300.875 b.json gpus.0.energy_joules gpus.0.measured_seconds
result $? "half of the GPU's"
"$jsoncheck" mode verified memory_limit_bytes gpus.0.jobs_beside gpus.0.memory_peak_bytes gpus.0.energy_is_estimate <b.json >values
echo '"shared" true 4294967296 1 1598029824 true' >expected
expect_same values expected "and only its own memory"
touch end
wait $other

# Beside a program without a slot.
"$fake_job" start touch stranger wait gone &
other=$!
await [ -e stranger ]
expect_exit 0 "a job beside a program without a slot" "$ROOFTOP" run --beside --json s.json -- "$fake_job" alloc 1G seen 10
expect_text err 'GPU 0 NVIDIA H200; up to 1 other job beside it$' "says so"
is_about 300.875 s.json gpus.0.energy_joules gpus.0.measured_seconds
result $? "half of the energy is the job's"
"$jsoncheck" gpus.0.energy_is_estimate <s.json >values
echo true >expected
expect_same values expected "as an estimate"
touch gone
wait $other

# The end of MPS behind it is not its own.
echo 'quit -> hang' >mps_script
begin=$(date +%s)
expect_exit 0 "a job whose MPS daemon does not quit" "$ROOFTOP" run -q --share --mem 4G --json q.json -- true
: >mps_script
"$jsoncheck" wall_seconds <q.json | awk -v all=$(($(date +%s) - begin)) '{ exit !(all >= 4 && $1 < all - 3) }'
result $? "its wall time ends with it"

# It has its GPU only after waiting; that is not its wall time.
"$ROOFTOP" run -q -- "$fake_job" start touch two wait end2 >/dev/null &
other=$!
await [ -e two ]
began=$(date +%s%N)
"$ROOFTOP" run --wait 1h --json c.json -- true 2>waits &
waiting=$!
await grep -q 'waiting for a slot' waits
touch end2
wait $waiting
result $? "a job that waits"
passed=$(($(date +%s%N) - began))
wait $other
"$jsoncheck" waited_seconds wall_seconds <c.json |
    awk -v passed=$passed '{ exit !($1 > 0 && $2 > 0 && $1 + $2 <= passed / 1e9) }'
result $? "its wait and its wall time are told apart"

# On the GPU too shortly to be listed by the driver: the log of MPS has it. The program is a child of the job's.
expect_exit 0 "a short job" "$ROOFTOP" run --share --sm 25% --mem 4G --json d.json -- sh -c '"$0" sm; true' "$fake_job"
"$jsoncheck" verified verified_by verified_after_seconds <d.json >values
echo 'true "log" null' >expected
expect_same values expected "is verified by the log"
expect_text err 'verified by the log of MPS: it was a client' "and says so"
expect_exit 0 "one that is not on the GPU" "$ROOFTOP" run --share --sm 25% --mem 4G --json e.json -- true
"$jsoncheck" verified verified_by <e.json >values
echo 'false null' >expected
expect_same values expected "is not verified"
(await [ -e alone ]; exec "$ROOFTOP" run -q --share --sm 25% --mem 4G -- "$fake_job" start touch three wait end3) >/dev/null &
other=$!
expect_exit 0 "one that is not on the GPU, while another comes" "$ROOFTOP" run --share --sm 25% --mem 4G --json f.json -- \
    sh -c 'touch alone; until [ -e three ]; do sleep 0.02; done'
"$jsoncheck" verified verified_by <f.json >values
expect_same values expected "is not verified by its neighbour"
touch end3
wait $other

# Two whole GPUs: the account is over both, each with its own memory.
unset CUDA_VISIBLE_DEVICES
echo GPU-00000000-0000-4000-8000-000000000002 >>gpu/devices
echo 'gpu h200' >>gpu/base
cp gpu/base gpu/nvml
expect_exit 0 "a job on two GPUs" "$ROOFTOP" run --gpus 2 --json g.json -- sh -c '
    echo "$CUDA_VISIBLE_DEVICES"
    "$0" alloc 1G seen 20 & CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES#*,} "$0" alloc 2G seen 20; wait' "$fake_job"
echo GPU-00000000-0000-4000-8000-000000000001,GPU-00000000-0000-4000-8000-000000000002 >expected
head -n 1 out >values
expect_same values expected "names both to CUDA"
"$jsoncheck" mode gpus.# gpus.0.index gpus.1.index gpus.0.memory_peak_bytes gpus.1.memory_peak_bytes \
    gpus.0.compute_sol_pipe gpus.1.compute_sol_pipe <g.json >values
echo '"exclusive" 2 0 1 1598029824 2671771648 "tensor" "tensor"' >expected
expect_same values expected "its account has both"
is_about 601.75 g.json gpus.1.energy_joules gpus.1.measured_seconds
result $? "and the energy of each"

finish
