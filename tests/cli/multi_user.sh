# One MPS server for several users: only where root asks for it.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

run="$ROOFTOP run --share --mem 4G"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

expect_exit 2 "several users, and not shared" "$ROOFTOP" run --multi-user -- true
expect_text err '--multi-user goes with --share' "and says so"

stage 1
if [ "$(id -u)" -ne 0 ]; then
    expect_exit 3 "not as this user" $run --multi-user -- touch ran
    expect_text err 'only root can ask for --multi-user' "and says so"
    skip "several users on one GPU" "not root"
    finish
    exit
fi
if ! $as_nobody test -x "$fake_job" -a -x "$ROOFTOP" 2>/dev/null; then
    skip "several users on one GPU" "another user cannot reach the program"
    finish
    exit
fi

expect_exit 3 "not as another user than root" $as_nobody $run --multi-user -- touch ran
expect_text err 'only root can ask for --multi-user' "and says so"

# The scratch folder is closed to others.
expect_exit 3 "a folder above that is closed" $run --multi-user -- touch ran
expect_text err "the folder $scratch is closed to other users" "and which"
chmod 711 .

# Whoever is nobody tells the fake driver of itself, too.
mkdir -p gpu/process
touch gpu/lock
chmod 777 gpu gpu/process
chmod 666 gpu/lock

pipe=run/rooftop/share/mps/GPU-00000000-0000-4000-8000-000000000001/pipe
mode_of() { stat -c %a "$1"; }

# Where nobody asks for it, another user does not come near.
$run -q --name alone -- "$fake_job" start touch one wait end >/dev/null &
job=$!
await [ -e one ]
[ "$(mode_of $pipe)" = 700 ]
result $? "the pipe folder is closed to others"
expect_exit 121 "another user's program in a slot of root's is stopped" $run -q -- \
    $as_nobody "$fake_job" alloc 1G spin 60
expect_text err 'uses the GPU without MPS' "since it does not reach MPS"
expect_exit 3 "several users beside one" $run --multi-user -- touch ran
expect_text err "is shared by one user, as 'alone' \(PID [0-9]+\) asked" "and says so"
rm -f err
(await grep -q 'waiting for a slot' err; touch end) &
expect_exit 0 "it can wait" $run --multi-user --wait 1h -- true
expect_text err 'waiting for a slot: GPU-.* is shared by one user' "and says for what"
wait $job
result $? "the first has ended well"

# Another user has a daemon of its own.
mkdir -m 777 theirs theirs/pipe theirs/log
theirs="$as_nobody env CUDA_MPS_PIPE_DIRECTORY=$PWD/theirs/pipe CUDA_MPS_LOG_DIRECTORY=$PWD/theirs/log CUDA_VISIBLE_DEVICES=GPU-00000000-0000-4000-8000-000000000001"
$theirs "$ROOFTOP_MPS_CONTROL" -d
await [ -e theirs/pipe/nvidia-cuda-mps-control.pid ]
$theirs "$fake_job" start >/dev/null
expect_exit 3 "another user's MPS server" $run -- touch ran
expect_text err "in use by another MPS server, .* of $(id -nu 65534) \(PID [0-9]+\)" "is named with its user"
rm -f err
(await grep -q 'waiting for a slot' err; echo quit | $theirs "$ROOFTOP_MPS_CONTROL") &
expect_exit 0 "it can be waited for" $run -q --wait 1h -- true
expect_text err "waiting for a slot: .* of $(id -nu 65534)" "by name"
wait

# Where it is asked for.
rm -f one end
$run --multi-user --name root -- "$fake_job" start touch one wait end >/dev/null 2>first.err &
job=$!
mkdir -m 777 open
$run -q --multi-user --name nobody -- $as_nobody "$fake_job" sm alloc 5G touch open/two wait end >nobody.out 2>second.err &
other=$!
await [ -e one -a -e open/two ]
result $? "two users are served at once"
expect_text first.err 'one MPS server serves all users of GPU-.*a fault in one job ends them all' "and told what that means"
"$ROOFTOP" slots >out
expect_text out '^    shared by several users \(--multi-user\)$' "slots says so"
[ "$(mode_of $pipe)" = 711 ]
result $? "the pipe folder can be entered"
expect_exit 3 "one user beside several" $run -- touch ran
expect_text err "is shared by several users \(--multi-user\), as '(root|nobody)'" "and says so"
touch end
wait $job
result $? "root's has ended well"
wait $other
result $? "the other user's too"
printf 'sm 32\nalloc 5G -> 2\n' >expected
expect_same nobody.out expected "with the limits of its slot"

# A daemon of the other kind is made anew.
expect_exit 0 "one user again" $run -q -- stat -c %a "$pipe"
echo 700 >expected
expect_same out expected "behind a closed door"

[ ! -e ran ]
result $? "none of the refused was run"
[ -z "$(find run -name nvidia-cuda-mps-control.pid)" ]
result $? "no daemon is left"

finish
