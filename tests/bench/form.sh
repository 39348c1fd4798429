# Cost of writing a frame in each form.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

for count in 1 8 64; do
    {
        i=0
        while [ $i -lt $count ]; do
            printf 'device name="NVIDIA H200" architecture=hopper compute_capability=9.0 sm_count=132 max_sm_clock_hertz=1980MHz memory_bus_bits=6016 uuid=GPU-%08d-0000-4000-8000-000000000000\n' $i
            i=$((i + 1))
        done
        echo 'at 0'
        echo 'gpu * graphics_active_ratio=0.99 sm_active_ratio=0..0.9 tensor_active_ratio=0..0.9 fp64_active_ratio=0 fp32_active_ratio=0.1 fp16_active_ratio=0 int_active_ratio=0.1 dram_active_ratio=0.2..0.7 nvml_utilization_ratio=0.99 memory_used_bytes=20G power_watts=660 sm_clock_hertz=1700MHz throttle_reasons=power_cap temperature_celsius=60'
        echo 'process 0 pid=4242 memory=17G user=alice command="python serve.py"'
        echo 'end 1000000'
    } >"$scratch/$count.sim"
    for form in text json csv; do
        "$BUILD_ROOT/tests/bench/bench_form" "a frame as $form, GPUs: $count" \
            "sim:$scratch/$count.sim@max" $form 0.2 || exit 1
    done
done
