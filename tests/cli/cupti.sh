# CUPTI's counters beside NVML, through the program, over both fake libraries.
. "$SOURCE_ROOT/tests/lib.sh"

ROOFTOP_NVML=$BUILD_ROOT/tests/fake/libfake_nvml.so
ROOFTOP_CUPTI=$BUILD_ROOT/tests/fake/libfake_cupti.so
ROOFTOP_CUDA=$ROOFTOP_CUPTI
FAKE_NVML_SCRIPT=$PWD/nvml
ROOFTOP_FAKE_CUPTI=$PWD/counters
export ROOFTOP_NVML ROOFTOP_CUPTI ROOFTOP_CUDA FAKE_NVML_SCRIPT ROOFTOP_FAKE_CUPTI
unset ROOFTOP_SOURCE

# wait_for PATTERN FILE: until a line matches.
wait_for() {
    await grep -Eq "$1" "$2"
}

columns=effective_clock_hertz,l2_active_ratio,tensor_active_ratio,counters_share_ratio

# stat_until PATTERN NAME OPTION…: stat prints a line that matches; then it is ended.
stat_until() {
    pattern=$1 name=$2
    shift 2
    expect_line "$pattern" "$name" "$ROOFTOP" stat --interval 0.1 --format csv -m $columns "$@"
}

# all_off: as many times disabled as enabled, and at least once.
all_off() {
    [ "$(grep -c '^enable' log)" -gt 0 ] && [ "$(grep -c '^enable' log)" -eq "$(grep -c '^disable' log)" ]
}

# counters_log FILE: of the counters from now on. A helper may still be ending when its program has, and writes
# where it began.
counters_log() {
    printf 'value gpc__cycles 1.5e9\nvalue pct_of 40\nlog %s/%s\n' "$PWD" "$1" >counters
}

echo 'gpu h200' >nvml
counters_log log
stat_until ',1\.5e\+09,0\.4,0\.935,0\.0[0-9]*' "auto adds the clock and L2 to what GPM measures, in bursts"
await all_off
result $? "the counters are off when it has ended"
stat_until ',1\.5e\+09,0\.4,0\.935,1' "the source cupti samples all the time" --source cupti
await all_off
counters_log untouched
stat_until ',,,0\.935,' "without CUPTI, GPM goes on" --clock off
[ ! -e untouched ]
result $? "and the counters stay off"
"$ROOFTOP" stat --source nvml --interval 0.1 --count 2 >out
[ ! -e untouched ]
result $? "so they do with the source nvml"

echo 'gpu a100' >nvml
stat_until ',1\.5e\+09,0\.4,0\.4,' "where there is no GPM, CUPTI measures all"

echo 'gpu h200' >nvml
expect_exit 2 "no such time" "$ROOFTOP" stat --clock sometimes
expect_exit 2 "a source without counters" "$ROOFTOP" stat --source nvml --clock burst --count 1
expect_text err 'leave --clock out' "what to do"

echo 'result enable 26' >counters
"$ROOFTOP" doctor >out
expect_text out 'another program holds this GPU.s counters: ' "doctor says that the counters are held"
echo 'result enable 35' >counters
"$ROOFTOP" doctor >out
expect_text out 'keeps the counters for administrators: ' "doctor says who may have them"
ROOFTOP_CUPTI=/nonexistent.so "$ROOFTOP" doctor >out
expect_text out 'no libcupti was found' "doctor says that the library is missing"
expect_text out '^  note  counters      CUPTI.s counters: .*/nonexistent\.so' "and which was asked for"
ROOFTOP_CUDA=/nonexistent.so "$ROOFTOP" doctor >out
expect_text out 'libcuda, .*, was not found' "doctor says that the driver's library is missing"
ROOFTOP_CUPTI=libm.so.6 "$ROOFTOP" doctor >out
expect_text out 'the libcupti that was found is older than 12\.6' "doctor says that the library is too old"
expect_text out '^  note  counters      CUPTI.s counters: .*libm\.so\.6' "and which it is"
ROOFTOP_CUDA=libm.so.6 "$ROOFTOP" doctor >out
expect_text out 'the driver is older than the libcupti' "doctor says that the driver is too old"
printf 'driver 12040\nresult initialize 999\n' >counters
"$ROOFTOP" doctor >out
expect_text out 'the driver is older than the libcupti' "by its version too"
printf 'driver 12040\nresult enable 27\n' >counters
"$ROOFTOP" doctor >out
expect_text out 'the driver is older than the libcupti' "and where it only refuses the counters"
echo 'result cuinit 803' >counters
"$ROOFTOP" doctor >out
expect_text out '^  mend .*CUDA does not start' "doctor says that CUDA does not start"
expect_text out '^  note  counters      CUPTI.s counters: cuInit: CUDA error 803' "and with which error"
echo 'result enable 45' >counters
"$ROOFTOP" doctor >out
expect_text out 'no such counters in this mode \(' "doctor says that the mode of the GPU has none"
printf 'gpu a100\n' >nvml
echo 'result enable 999' >counters
"$ROOFTOP" doctor >out
expect_text out 'no hardware counters: CUPTI failed' "doctor says that CUPTI failed"
! grep -q 'see rooftop doctor' out
result $? "and does not send its reader to itself"
printf 'gpu h200\n' >nvml

# Another version is installed while this one runs: its helper is still this one's.
printf 'value gpc__cycles 1.5e9\nlog %s/log\n' "$PWD" >counters
mkdir installed
cp "$ROOFTOP" installed/rooftop
rm -f log
installed/rooftop stat --source cupti --interval 0.1 --format csv -m effective_clock_hertz >stream &
stat=$!
wait_for ',1\.5e\+09,' stream
rm installed/rooftop
helper=$(cat /proc/$stat/task/*/children)
kill -9 $helper
# more_helpers: another has enabled the counters.
more_helpers() {
    [ "$(grep -c '^enable' log)" -gt 1 ]
}
await more_helpers
result $? "a helper starts, though its file is no longer there"
kill $stat
wait $stat
await has_ended "$helper"
rm log

# Another program asks for the counters: of this program's helper, and of no other test's.
counters_log released
# shellcheck disable=SC3045 # dash and bash have -c
ulimit -c unlimited 2>/dev/null
"$ROOFTOP" stat --source cupti --interval 0.1 --format csv -m effective_clock_hertz >stream &
stat=$!
wait_for ',1\.5e\+09,' stream
mkdir -p root/proc
# On a busy host it may have been started anew a moment ago.
find_helper() {
    for status in /proc/[0-9]*/status; do
        grep -q "^PPid:[[:space:]]*$stat\$" "$status" 2>/dev/null || continue
        process=${status%/status}
        cat "$process/limits" >limits 2>/dev/null || continue
        ln -s "$process" "root/proc/${process#/proc/}"
        return 0
    done
    return 1
}
await find_helper
expect_text limits '^Max core file size +0 +0 ' "the helper leaves no core files"
ROOFTOP_HOST_ROOT=$PWD/root
export ROOFTOP_HOST_ROOT
expect_exit 0 "release" "$ROOFTOP" release --for 30s
expect_text out '^asked 1 rooftop process for the counters, for 30 s$' "the helper is asked"
wait_for disable released
expect_text released '^disable 0$' "the counters are free"
rm root/proc/*
expect_exit 0 "release where there is nobody" "$ROOFTOP" release
expect_text out '^asked 0 rooftop processes' "nobody is asked"
kill $stat
wait $stat
unset ROOFTOP_HOST_ROOT

# Two programs want them: the second does without until the first has ended.
printf 'value gpc__cycles 1.5e9\nlock %s/lock\n' "$PWD" >counters
watch() {
    exec "$ROOFTOP" stat --source cupti --interval 0.1 --format csv -m effective_clock_hertz,sm_active_ratio
}
watch >first &
first=$!
wait_for ',1\.5e\+09,0\.9625' first
result $? "the first has them"
watch >second &
second=$!
wait_for ',,0\.9625' second
result $? "the second goes on with GPM"
grep -q ',1.5e+09,' second
[ $? -eq 1 ]
result $? "without the clock"
"$ROOFTOP" doctor >out
expect_text out 'another program holds this GPU.s counters: ' "doctor says why"
expect_text out 'rooftop-counter \(PID [0-9]+\)' "and who"
kill $first
wait $first
wait_for ',1\.5e\+09,0\.9625' second
result $? "the second takes them when the first has ended"
kill $second
wait $second

expect_exit 2 "release for no time" "$ROOFTOP" release --for 0s
expect_exit 2 "release for too long" "$ROOFTOP" release --for 48h
expect_exit 2 "the helper is not for people" "$ROOFTOP" counters

finish
