# The nvml source through the program, over the fake library.
. "$SOURCE_ROOT/tests/lib.sh"

ROOFTOP_NVML=$BUILD_ROOT/tests/fake/libfake_nvml.so
FAKE_NVML_SCRIPT=$PWD/script
export ROOFTOP_NVML FAKE_NVML_SCRIPT
unset ROOFTOP_SOURCE

echo 'gpu h200' >script
stat="$ROOFTOP stat --source nvml --interval 0.1"
expect_line '"tensor_active_ratio":0.935,' 'stat has the counters of GPM' $stat --format json
expect_text out '"power_watts":601.75,' 'stat has the values of NVML'
expect_text out '"effective_clock_hertz":null,' 'what NVML lacks is null'

printf 'gpu h200\nnvmlDeviceGetFieldValues 186 -> 3\n' >script
expect_line ' 593~ ' 'where only a mean power is known, stat shows it with a tilde' $stat
"$ROOFTOP" top --source nvml --once --size 100x24 >out
expect_text out ' ~593W ' 'so does the header of top'
expect_text out 'mean power +593 W ' 'and its meter'

# Time stands still, and GPM's counters with it.
echo 1 >now
printf 'gpu h200\nclock %s\nlog %s\n' "$PWD/now" "$PWD/calls" >script
expect_exit 0 'top --once without new counters' "$ROOFTOP" top --source nvml --once --size 100x24
[ "$(grep -c nvmlDeviceGetUtilizationRates calls)" -ge 3 ]
result $? 'waits for them for some frames'
expect_text out 'have not advanced' 'and says so then'
grep -q CudaDriverVersion calls
result $((! $?)) 'watching does not ask for the version of CUDA, for which NVML would load CUDA'
"$ROOFTOP" doctor >out
expect_text out 'serves CUDA 13.0' 'doctor does'
rm calls

cat >script <<'END'
gpu h200
gpu h200
at 0.3
device 1
* -> 15
END
expect_line '"index":0,.*"state":"ok".*"index":1,.*"state":"lost"' 'stat goes on when a GPU is lost' \
    $stat --format json

printf 'gpu h200\ngpu h200\nnvmlDeviceGetTemperature -> hang %s\n' "$PWD/never" >script
expect_line '"index":0,.*"state":"ok".*"index":1,.*"state":"(none|stale)"' 'stat goes on while a GPU hangs' \
    $stat --format json

for code in 9 18 4; do
    echo "init $code" >script
    expect_exit 3 "no GPU, NVML's error $code" "$ROOFTOP" stat --source nvml --count 1
done
expect_text err 'refuses this user' 'the reason is said'
expect_text err '/dev/nvidiactl' 'and what to do'

echo 'gpu h200' >script
expect_exit 3 'no library' env ROOFTOP_NVML=/nonexistent.so "$ROOFTOP" stat --count 1
expect_text err '/nonexistent.so' 'the library is named'

finish
