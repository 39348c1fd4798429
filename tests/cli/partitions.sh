# Static SM partitions, with a fake daemon of a version that has them: a slot's SMs are its own.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
run="$ROOFTOP run --share --mem 4G -q"
uuid=GPU-00000000-0000-4000-8000-000000000001
stage 1
export FAKE_MPS_VERSION=13010

expect_exit 0 "a job" $run --sm 25 -- "$fake_job" sm alloc 5G alloc 3G
printf 'sm 32\nalloc 5G -> 2\nalloc 3G -> 0\n' >expected
expect_same out expected "it has four chunks of 16, and the memory of its slot"
expect_exit 0 "its environment" $run --sm 25 -- env
expect_text out "^CUDA_MPS_SM_PARTITION=$uuid/.x4A+$" "names the partition"

$run --sm 50 -- sh -c 'echo $CUDA_MPS_SM_PARTITION >first; exec "$0" start touch one wait end' "$fake_job" >/dev/null &
job=$!
await [ -e one ]
expect_exit 0 "a second job" $run --sm 50 -- sh -c 'echo $CUDA_MPS_SM_PARTITION; exec "$0" sm' "$fake_job"
sed -n 2p out >sms
echo 'sm 64' >expected
expect_same sms expected "has as many SMs"
head -n 1 out | cmp -s - first
[ $? -eq 1 ]
result $? "in a partition of its own"
expect_exit 121 "a program in its neighbour's partition is stopped" $run --sm 25 -- \
    env "CUDA_MPS_SM_PARTITION=$(cat first)" "$fake_job" alloc 1G spin 60
expect_text err "its CUDA_MPS_SM_PARTITION is not the slot's" "and told why"
expect_exit 9 "a program that names none is refused by MPS" $run --sm 25 -- \
    env -u CUDA_MPS_SM_PARTITION "$fake_job" alloc 1G spin 60

# Where a fault ends only its own partition.
echo 'fault -> contained' >mps_script
expect_exit 11 "a job that faults in its own partition" $run --sm 25 --json fault.json -- "$fake_job" seen 3 fault
"$BUILD_ROOT/tests/tools/jsoncheck" outcome note <fault.json >values
echo '"fault" "it caused a GPU fault"' >expected
expect_same values expected "is known to be the cause, though it was not alone"
: >mps_script

# Whoever was killed leaves its partition to the next to give back.
$run --sm 50 -- "$fake_job" start touch two spin 60 >/dev/null &
killed=$!
await [ -e two ]
kill -KILL $killed
wait $killed 2>/dev/null
kill -KILL "$("$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.leases.1.job_pid)"
one_is_left() { [ "$("$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.leases.#)" -eq 1 ]; }
await one_is_left
expect_exit 0 "the next has the room of one that was killed" $run --sm 50 -- "$fake_job" sm
echo 'sm 64' >expected
expect_same out expected "all of it"
touch end
wait $job
result $? "the first has ended well"

# A daemon that has them and makes none.
echo 'sm_partition add -> "Failed to fulfill the requested SM partition of 4 chunks"' >mps_script
expect_exit 0 "no partition can be made" $run --sm 25 -- sh -c 'echo "${CUDA_MPS_SM_PARTITION-none}"; exec "$0" sm' "$fake_job"
printf 'none\nsm 32\n' >expected
expect_same out expected "the percentage bounds it"
expect_text err 'its SMs are no partition of its own: .*Failed to fulfill' "and it is told"
: >mps_script

FAKE_MPS_VERSION=13000 expect_exit 0 "a version without them" $run --sm 25 -- \
    sh -c 'echo "${CUDA_MPS_SM_PARTITION-none}"; exec "$0" sm' "$fake_job"
expect_same out expected "the percentage bounds it"
[ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
result $? "no daemon is left"

finish
