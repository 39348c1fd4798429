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
