# The fake NVML against the transcript of a real H200: with the transcript as its script, it gives
# the same answer to each call, and its structs are as long as the real ones.
. "$SOURCE_ROOT/tests/lib.sh"
unset FAKE_NVML_SCRIPT

transcript=$SOURCE_ROOT/tests/fake/h200-transcript.txt
program=$BUILD_ROOT/tests/device/nvml_transcript
fake=$BUILD_ROOT/tests/fake/libfake_nvml.so

# Processes are not in a transcript. A function that the real library lacks is there in the fake,
# and says that it is not.
comparable() {
    sed -e 's/ *#.*//' -e '/RunningProcesses/d' -e '/^extent nvmlDeviceGetFieldValues/d' \
        -e 's/ -> missing$/ -> 13/' "$1"
}

# The calls that are made whatever the answers are.
calls() {
    sed -e '/^extent/d' -e 's/ -> .*//' "$1"
}

expect_exit 0 'the fake answers every call' "$program" "$fake"
expect_text out '^nvmlShutdown -> 0' 'the transcript has an end'
expect_text out '^extent nvmlDeviceGetMemoryInfo_v2 -> 40' 'it measures structs'

if [ ! -f "$transcript" ]; then
    skip 'the fake answers as the H200 did' 'no transcript of an H200 yet'
    finish
fi

calls "$transcript" >real
calls out >ours
expect_same ours real 'the transcript is of this program'

{ echo 'gpu h200'; echo "include $transcript"; } >script
expect_exit 0 'the fake reads the transcript' env FAKE_NVML_SCRIPT="$PWD/script" "$program" "$fake"
comparable out >ours
comparable "$transcript" >real
expect_same ours real 'the fake answers as the H200 did'

# The H200 that tests name agrees with the real one in all that does not change.
expect_exit 0 'the fake has an H200 of its own' "$program" "$fake"
constant() {
    comparable "$1" | grep -E \
        '^(extent )?nvmlDeviceGet(Name|Architecture|CudaComputeCapability|NumGpuCores|MemoryBusWidth|MaxClockInfo [12]|MaxPcieLinkGeneration|EccMode) ' |
        sed 's/ *$//'
}
constant out >ours
constant "$transcript" >real
expect_same ours real "the fake's H200 is like the real one"

finish
