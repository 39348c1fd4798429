# The screen: the cost of a frame, and the whole program over the fake NVML.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$BUILD_ROOT/tests/bench/bench_frame" || exit 1

export ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so"
export FAKE_NVML_SCRIPT="$scratch/script"
export LC_ALL=C.UTF-8
for count in 1 8 64; do
    i=0
    while [ $i -lt $count ]; do
        echo 'gpu h200'
        i=$((i + 1))
    done >"$FAKE_NVML_SCRIPT"
    for interval in 0.1 1; do
        "$BUILD_ROOT/tests/bench/bench_terminal" "top, each $interval s, 200x60, GPUs: $count" 200x60 5 \
            compute "$ROOFTOP" top --source nvml --no-prefs --budget 100 --interval $interval || exit 1
    done
done

# With two hours of the past behind it, played as fast as it goes.
for count in 1 8; do
    {
        i=0
        while [ $i -lt $count ]; do
            echo "device name=H200 architecture=hopper compute_capability=9.0 uuid=GPU-$i"
            i=$((i + 1))
        done
        echo 'at 0'
        echo 'gpu * sm_active_ratio=0.9 tensor_active_ratio=0.5..0.9 dram_active_ratio=0.1'
        echo 'end 7200'
    } >"$scratch/past.sim"
    "$BUILD_ROOT/tests/bench/bench_terminal" "top, two hours of samples, 200x60, GPUs: $count" 200x60 2 \
        HBM "$ROOFTOP" top --source "sim:$scratch/past.sim@max" --no-prefs --budget 100 >"$scratch/past" || exit 1
    grep 'most memory' "$scratch/past"
done
