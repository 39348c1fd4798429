# A shared GPU in EXCLUSIVE_PROCESS mode, where root asks for it.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

run="$ROOFTOP run --share --mem 4G --exclusive-process"
uuid=GPU-00000000-0000-4000-8000-000000000001
note=run/rooftop/share/mps/$uuid/compute-mode

expect_exit 2 "the mode, and not shared" "$ROOFTOP" run --exclusive-process -- true

stage 1
if [ "$(id -u)" -ne 0 ]; then
    expect_exit 3 "not as this user" $run -- touch ran
    expect_text err 'only root can ask for --exclusive-process' "and says so"
    skip "the mode is set" "not root"
    finish
    exit
fi

# expect_mode MODE NAME: 0 is the default, 3 EXCLUSIVE_PROCESS.
expect_mode() {
    [ "$(cat gpu/compute_mode.0 2>/dev/null || echo 0)" = "$1" ]
    result $? "$2"
}

$run -q --sm 40 -- "$fake_job" start touch one wait end1 >/dev/null &
first=$!
await [ -e one ]
expect_mode 3 "the mode is set while the GPU is shared"
[ "$(cat "$note")" = 0 ]
result $? "the mode before is noted"
"$ROOFTOP" run --share --sm 40 --mem 4G -q -- "$fake_job" start touch two wait end2 >/dev/null &
second=$!
await [ -e two ]
touch end1
wait $first
expect_mode 3 "as long as anyone shares it"
touch end2
wait $second
result $? "a job that did not ask for it ends well"
expect_mode 0 "and then it is as before"
[ ! -e "$note" ]
result $? "the note is gone"

# Whoever set it is killed, and its job.
$run -q -- "$fake_job" start touch three spin 60 >/dev/null &
job=$!
await [ -e three ]
kill -KILL $job
wait $job 2>/dev/null
expect_exit 3 "the GPU is held by the job still" "$ROOFTOP" run -- touch ran
expect_mode 3 "a killed rooftop leaves the mode while its job lives"
kill -KILL "$("$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.leases.0.job_pid)"
is_free() { [ "$("$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.leases.#)" -eq 0 ]; }
await is_free
expect_exit 0 "the next one" "$ROOFTOP" run -- cat gpu/compute_mode.0
expect_text err "the compute mode of $uuid was left at EXCLUSIVE_PROCESS, and is set back" "says so"
[ "$(cat out)" = 0 ]
result $? "and finds the mode as it was before"
[ ! -e "$note" ] && [ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
result $? "neither note nor daemon is left"

# Another hand.
expect_exit 0 "a mode that is set by hand meanwhile" $run -q -- sh -c 'printf 2 >gpu/compute_mode.0'
expect_mode 2 "is left alone"
printf 3 >gpu/compute_mode.0
expect_exit 0 "a mode that was there before" $run -q -- true
expect_mode 3 "stays"
printf 0 >gpu/compute_mode.0

# A driver that refuses.
echo 'nvmlDeviceSetComputeMode -> 4' >>gpu/base
"$fake_job" start
expect_exit 3 "no permission" $run -- touch ran
expect_text err "the compute mode of $uuid cannot be set" "and says so"
[ ! -e "$note" ]
result $? "nothing is noted"

[ ! -e ran ]
result $? "none of the refused was run"

finish
