# The live path: threads, driver calls, GPM; the driver is the fake one, which answers at once.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so" FAKE_NVML_SCRIPT="$scratch/script"

for count in 1 8 64; do
    i=0
    while [ $i -lt $count ]; do
        echo 'gpu h200'
        i=$((i + 1))
    done >"$FAKE_NVML_SCRIPT"
    "$BUILD_ROOT/tests/bench/bench_tick" "fake NVML to JSON, GPUs: $count" nvml json 3 || exit 1
done

echo 'gpu h200' >"$FAKE_NVML_SCRIPT"
runs=10
start=$(date +%s%N)
i=0
while [ $i -lt $runs ]; do
    "$ROOFTOP" stat --source nvml --interval 0.1 --count 1 >/dev/null || exit 1
    i=$((i + 1))
done
end=$(date +%s%N)
printf 'rooftop stat --interval 0.1 --count 1, whole run\t%d\tms\n' $(((end - start) / runs / 1000000))
