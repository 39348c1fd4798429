. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/calibrate_stage.sh"
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
export XDG_DATA_HOME="$PWD/data"
store=$XDG_DATA_HOME/rooftop/ceilings.db

calibrate() {
    rm -f left
    "$ROOFTOP" calibrate "$@"
}
# all_is_free FILE NAME: the driver got everything back.
all_is_free() {
    expect_text "$1" '^left: 0 contexts 0 memory 0 host 0 streams 0 events 0 modules 0 blas 0 graphs' "$2: all is freed"
}
# stored CEILING: the newest value, in millions.
stored() {
    sqlite3 "$store" "SELECT round(value / 1e6) FROM ceiling WHERE kind = '$1' ORDER BY time DESC LIMIT 1"
}

# 132 SMs, 8 blocks of 256 threads on each: 270336 threads. An array is whole rounds of 4 × threads ×
# 16 bytes: 62 of them in 1 GiB. In a third of 50 MiB of L2 is one of them, which is read 64 times. A
# round of chains is 64 multiply-adds, and there are 2048; products are of 8192.
idle_gpu
cat >cuda <<END
time rooftop_read 0.001
time rooftop_write 0.0005
time rooftop_copy 0.001
time rooftop_triad 0.001
time rooftop_fp64 0.002
time rooftop_fp32 0.001
time rooftop_fp16 0.001
time rooftop_int32 0.004
time rooftop_tensor_int8 0.0001
time product1 0.02
time product0 0.004
time product14 0.002
time product28 0.001
time product3 0.0015
time rooftop_empty 0.000002
time graph 0.00025
rate h2d 5e10
rate d2h 4e10
log $PWD/left
END

# Each calibration looks for a third of a second whether the GPU is idle, so that most are made at once, each
# with scripts in a folder of its own. place NAME [NVML-LINE [CUDA-LINE]] makes it.
place() {
    mkdir "$1"
    { cat nvml; echo "${2:-}"; } >"$1/nvml"
    { sed "s#^log .*#log $PWD/$1/left#" cuda; echo "${3:-}"; } >"$1/cuda"
}
# aside NAME ARGUMENT…: calibrates there.
aside() (
    name=$1
    shift
    export FAKE_NVML_SCRIPT="$PWD/$name/nvml" ROOFTOP_FAKE_CUDA="$PWD/$name/cuda" \
        XDG_DATA_HOME="${STORE:-$PWD/$name/data}"
    "$ROOFTOP" calibrate "$@" >"$name/out" 2>"$name/err" </dev/null
    echo $? >"$name/status"
)
# ended NAME CODE TITLE
ended() {
    [ "$(cat "$1/status")" = "$2" ]
    result $? "$3: exit $2"
}

place process 'processes compute 1:1000000'
aside process --only fp32 &
place utilization 'nvmlDeviceGetUtilizationRates -> 0 40 0'
aside utilization --only fp32 &
place forced 'processes compute 1:1000000'
aside forced --only fp32 --force &
place no_library
ROOFTOP_CUBLASLT=$PWD/none aside no_library --only tensor_bf16,tensor_fp8 &
place no_type '' 'no product 14'
aside no_type --only tensor_bf16 &
# Counters beside the truth: 274.9 of 494.7 TFLOP/s at 1830 MHz, while NVML says 1485 MHz.
place no_graph '' 'fail cuStreamEndCapture 901'
aside no_graph --only launch_rate,graph_rate &
place verify 'nvmlGpmMetricsGet 5 -> 0 68.5
nvmlGpmMetricsGet 7 -> 0 68.5
nvmlGpmMetricsGet 21 -> 0 51000' 'pace 0.4'
aside verify --verify --only tensor_tf32,pcie_h2d --format json &
place interrupted '' 'interrupt 40'
aside interrupted &
place no_device '' 'devices 0'
aside no_device &
place no_launch
ROOFTOP_CUDA=$fake/libfake_cuda_no_launch.so aside no_launch &
place no_driver
ROOFTOP_CUDA=$PWD/none aside no_driver &
place no_store
STORE=/proc aside no_store --only fp32 &
place mig 'nvmlDeviceGetMigMode -> 0 1 1'
aside mig &
place one_busy 'processes compute 1:1000000
gpu h200
processes compute
processes mps
processes graphics
nvmlDeviceGetUtilizationRates -> 0 0 0
nvmlGpmMetricsGet 1 -> 0 0' 'devices 2
rate peer 366e9'
aside one_busy --only fp32,nvlink_send &

expect_exit 0 "all ceilings" calibrate
all_is_free left "all ceilings"
expect_text left 'most 4096 MiB' "4 GiB of device memory at most"
cp out table
array=$((62 * 4 * 270336 * 16))
product=$((2 * 8192 * 8192 * 8192))
cat >known <<END
hbm_read $((array / 1000))
hbm_write $((array * 2 / 1000))
hbm_copy $((array * 2 / 1000))
hbm_triad $((array * 3 / 1000))
l2_read $((270336 * 4 * 16 * 64 / 1000))
fp64 $((270336 * 2048 * 128 / 2000))
fp32 $((270336 * 2048 * 128 / 1000))
fp16 $((270336 * 2048 * 256 / 1000))
int32 $((270336 * 2048 * 128 / 4000))
tensor_fp64 $((product / 20000))
tensor_tf32 $((product / 4000))
tensor_bf16 $((product / 2000))
tensor_fp8 $((product / 1000))
tensor_int8 $((2 * 16 * 8 * 32 * 4 * 2048 * 132 * 8 * 8 / 100))
pcie_h2d 50000
pcie_d2h 40000
END
# Times are milliseconds in single precision.
while read -r ceiling value; do
    echo "$ceiling $value $(stored "$ceiling")"
done <known | awk '{ print $1, ($3 > $2 * 0.999 && $3 < $2 * 1.001 ? $2 : $3) }' >found
expect_same found known "each ceiling is the known one"
sqlite3 "$store" "SELECT round(value / 1000) FROM ceiling WHERE kind = 'launch_rate'" >rate
expect_text rate '^500\.0$' "the launch rate is the known one"
sqlite3 "$store" "SELECT round(value / 1000) FROM ceiling WHERE kind = 'graph_rate'" >rate
expect_text rate '^400\.0$' "and that in a graph"
expect_text table '^tensor_int8 .* own kernel, mma.sync \(about 2/3' "the faster of library and own kernel counts, and is named"
expect_text table '^tensor_bf16 .* cuBLASLt 13\.1$' "the library is named"
expect_text table '^nvlink_send +not measured: there is no second GPU' "what was not measured says why"
sqlite3 "$store" "SELECT driver, spread < 1e-3 FROM ceiling WHERE kind = 'fp32'" >driver
echo '580.159.04|1' >expected
expect_same driver expected "driver and spread are stored"

expect_exit 0 "the list" "$ROOFTOP" ceilings
expect_text out '^fp32 +70\.9 TFLOP/s' "what was measured is listed"
! grep -q 'below the best' out
result $? "nothing is slower than it was"
sed -i 's/^time product28 .*/time product28 0.0011/' cuda
expect_exit 0 "once more, slower" calibrate --only tensor_fp8
expect_exit 0 "the list" "$ROOFTOP" ceilings
expect_text out '^slower: tensor_fp8 of GPU 0 is 9 % below the best that this GPU did, on 20' "a GPU that has become slower is told"
"$ROOFTOP" ceilings --format json | "$jsoncheck" gpus.0.ceilings.12.ceiling gpus.0.ceilings.12.slower_than.0 >values
echo '"tensor_fp8" "itself"' >expected
expect_same values expected "the same as JSON"

wait
ended process 1 "a GPU that another process uses"
expect_text process/err '^rooftop calibrate: GPU 0 is in use: .*PID 1\)' "who uses it is named"
ended utilization 1 "a GPU that somebody uses"
expect_text utilization/err 'nvml_utilization_ratio is 40 %' "where nobody is to be seen, it says what is busy"
ended forced 0 "with --force"
expect_text forced/out '^fp32 +70\.9 TFLOP/s' "it measures beside other work"
[ ! -e forced/data ]
result $? "and does not store that"

ended no_library 0 "without cuBLASLt"
expect_text no_library/out '^tensor_bf16 .* own kernel, mma\.sync' "kernels of one's own take its place"
expect_text no_library/out '^tensor_fp8 +not measured: it takes cuBLASLt' "and what has none says so"
ended no_type 0 "cuBLASLt without a type"
expect_text no_type/out '^tensor_bf16 .* own kernel, mma\.sync' "a kernel of one's own takes its place"

ended no_graph 0 "a driver that makes no graph"
expect_text no_graph/out '^graph_rate +not measured: cuStreamEndCapture' "loses that ceiling"
expect_text no_graph/out '^launch_rate +500 k/s' "and no other"
all_is_free no_graph/left "a graph that failed"

ended verify 0 "verify"
"$jsoncheck" errors.0.metric errors.0.true errors.0.counted errors.0.error_points errors.0.note <verify/out >values
expect_text values '^"compute_sol_ratio" 0\.684[0-9]* 0\.685 0\.0[0-9]* "truth at NVML' "Compute SOL beside the truth"
"$jsoncheck" errors.3.metric errors.3.true errors.3.counted errors.3.error_percent <verify/out >values
expect_text values '^"pcie_rx_bytes_per_second" (50000|49999)[0-9.]* 53477376000\.0 6\.95' "PCIe beside the truth"
[ ! -e verify/data ]
result $? "it stores nothing"

ended interrupted 1 "Ctrl-C in the middle"
expect_text interrupted/err 'stopped; the GPU is free again' "it says so"
all_is_free interrupted/left "Ctrl-C in the middle"
[ ! -e interrupted/data ]
result $? "nothing is stored after a failure"
ended no_device 3 "CUDA does not see the GPU"
expect_text no_device/err 'CUDA_VISIBLE_DEVICES' "it says what to check"
ended no_launch 1 "a driver without a function"
expect_text no_launch/err 'has no function cuLaunchKernel' "it is named"
ended no_driver 3 "no driver"
ended no_store 1 "a store that cannot be written"
expect_text no_store/err 'cannot store the ceilings: /proc/rooftop' "its path is named"
ended one_busy 1 "one of two GPUs that is in use"
expect_text one_busy/err '^rooftop calibrate: GPU 0 is in use: .*PID 1\)' "it is named"
expect_text one_busy/out '^GPU 1 ' "the other is measured"
expect_text one_busy/out '^fp32 +70\.9 TFLOP/s' "in full"
expect_text one_busy/out '^nvlink_send +not measured: there is no second GPU' "without a copy to the one in use"
[ "$(sqlite3 one_busy/data/rooftop/ceilings.db 'SELECT uuid, kind FROM ceiling')" = 'GPU-00000000-0000-4000-8000-000000000002|fp32' ]
result $? "and stored"
ended mig 1 "a GPU with MIG"
expect_text mig/err '^rooftop calibrate: GPU 0 is divided into MIG' "it says why"

expect_exit 2 "no such ceiling" calibrate --only fp31
expect_text err "no ceiling 'fp31'" "it is named"
printf 'device uuid=GPU-A name="NVIDIA H200"\nat 0\nend 1\n' >gpus.sim
expect_exit 2 "a recording" calibrate --source sim:gpus.sim
expect_exit 0 "shipped ceilings" "$ROOFTOP" ceilings --source sim:gpus.sim
expect_text out '^tensor_bf16 .* measured on one H200' "they are marked"
expect_text out "^Not measured on this GPU yet: run 'rooftop calibrate'" "and the way to better ones is told"

cat >mig.sim <<'END'
device uuid=GPU-M name="NVIDIA H200" mig_enabled=1
device uuid=MIG-M name="NVIDIA H200 MIG 1g.18gb" parent_index=0 gpu_instance_id=1
at 0
end 1
END
expect_exit 0 "a GPU with MIG that was not measured" "$ROOFTOP" ceilings --check --source sim:mig.sim
printf '%s\n' "GPU 0 was not measured: it is divided into MIG instances, and only whole GPUs are." \
    "Nothing that was measured has become slower." >expected
expect_same out expected "is not sent to calibrate, nor is its instance"
expect_exit 0 "the list of them" "$ROOFTOP" ceilings --source sim:mig.sim
[ "$(grep -c "^Not measured: only whole GPUs are, and MIG is on\.$" out)" -eq 2 ]
result $? "says the same of both"

# A sick GPU among eight, and one of another kind.
printf 'device uuid=GPU-%s name=X\n' 0 1 2 3 4 5 6 7 >gpus.sim
printf 'device uuid=GPU-Y name=Y\nat 0\nend 1\n' >>gpus.sim
# All have the same ceiling but the one of GPU 5.
measured() {
    sqlite3 "$store" "DELETE FROM ceiling; INSERT INTO ceiling(uuid, kind, time, value)
        SELECT 'GPU-' || value, 'fp32', 1.7e9, iif(value = 5, $1, 50e12) FROM json_each('[0,1,2,3,4,5,6,7]')"
    sqlite3 "$store" "INSERT INTO ceiling(uuid, kind, time, value) VALUES('GPU-Y', 'fp32', 1.7e9, 10e12)"
}
calibrate --only fp32 >/dev/null
measured 40e12
expect_exit 1 "a check of eight GPUs, one slow" "$ROOFTOP" ceilings --check --source sim:gpus.sim
echo 'slower: fp32 of GPU 5 is 20 % below the other GPUs of this kind here, 50.0 TFLOP/s' >expected
expect_same out expected "that one is named, and no other"
expect_exit 1 "a check of that one alone" "$ROOFTOP" ceilings --check --source sim:gpus.sim --gpu 5
expect_same out expected "holds it against all that are here"
expect_exit 0 "a check of another" "$ROOFTOP" ceilings --check --source sim:gpus.sim --gpu 4
expect_exit 0 "the list of them" "$ROOFTOP" ceilings --source sim:gpus.sim
grep '^slower' out >found
expect_same found expected "it says the same below that GPU"
expect_exit 1 "the check as JSON" "$ROOFTOP" ceilings --check --format json --source sim:gpus.sim
"$jsoncheck" gpus.4.ceilings.0.slower_than gpus.5.ceilings.0.slower_than.0 <out >values
echo '[] "neighbours"' >expected
expect_same values expected "it has the same"
sqlite3 "$store" 'UPDATE ceiling SET spread = 0.25'
expect_exit 0 "one whose repeats differ by more" "$ROOFTOP" ceilings --check --source sim:gpus.sim
measured 49e12
sqlite3 "$store" "DELETE FROM ceiling WHERE uuid = 'GPU-3'"
# Without the library a product goes by mma.sync, at two thirds; and how fast launches are is the host's matter.
printf 'device uuid=GPU-H name="NVIDIA H200"\nat 0\nend 1\n' >h200.sim
sqlite3 "$store" "INSERT INTO ceiling(uuid, kind, time, value, how) VALUES
    ('GPU-H', 'tensor_bf16', 1.7e9, 700e12, 'cuBLASLt 13.1'), ('GPU-H', 'launch_rate', 1.7e9, 1e5, 'own kernel'),
    ('GPU-H', 'tensor_bf16', 1.8e9, 450e12, 'own kernel, mma.sync (about 2/3 of this chip''s rate)')"
expect_exit 0 "a GPU that was measured without cuBLASLt, beside a slow processor" \
    "$ROOFTOP" ceilings --check --source sim:h200.sim
echo 'Nothing that was measured has become slower.' >expected
expect_same out expected "is not taken for a slow one"
sqlite3 "$store" "INSERT INTO ceiling(uuid, kind, time, value, how) VALUES
    ('GPU-H', 'tensor_bf16', 1.9e9, 400e12, 'cuBLASLt 13.1'), ('GPU-H', 'launch_rate', 1.9e9, 5e4, 'own kernel')"
expect_exit 1 "slower with the library, and than it launched itself" "$ROOFTOP" ceilings --check --source sim:h200.sim
[ "$(grep -c '^slower: tensor_bf16' out) $(grep -c '^slower: launch_rate' out)" = '2 1' ]
result $? "is"
expect_exit 0 "a check of healthy ones" "$ROOFTOP" ceilings --check --source sim:gpus.sim
printf '%s\n' "GPU 3 was not measured yet: run 'rooftop calibrate'." "Nothing that was measured has become slower." >expected
expect_same out expected "names those that were not measured"

for how in '' --verify; do
    expect_exit 2 "a recording with '$how'" "$ROOFTOP" calibrate $how --source "replay:$SOURCE_ROOT/data/h200.roof"
    expect_text err '^rooftop calibrate: --source: a recording cannot be calibrated' "is refused as one"
done

finish
