# Watching live with the fake NVML, and reading a recording.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

export ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so"
export FAKE_NVML_SCRIPT="$scratch/script"
watch=$BUILD_ROOT/tests/bench/bench_watch

for count in 1 8 64; do
    i=0
    while [ $i -lt $count ]; do
        echo 'gpu h200'
        i=$((i + 1))
    done >"$FAKE_NVML_SCRIPT"
    "$watch" "live, GPUs: $count" nvml 3 || exit 1
    "$BUILD_ROOT/tests/bench/bench_run" "stat, one record, GPUs: $count" \
        "$ROOFTOP" stat --source nvml --count 1 || exit 1
    "$BUILD_ROOT/tests/bench/bench_run" "stat to JSON at 10 Hz, GPUs: $count" \
        "$ROOFTOP" stat --source nvml --interval 0.1 --count 30 --format json || exit 1
done

recording=$SOURCE_ROOT/data/h200.roof
if [ -f "$recording" ]; then
    "$watch" "replay of ${recording##*/}" "replay:$recording@max" 1 || exit 1
    samples=$(sqlite3 "$recording" 'SELECT count(*) FROM sample') || exit 1
    printf 'size of a sample in %s\t%d\tbytes\n' "${recording##*/}" \
        $(($(stat -c %s "$recording") / samples))
fi
