. "$SOURCE_ROOT/tests/lib.sh"
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# Power-capped at two thirds of the clock, busy half of the time; the second GPU's clock is not known.
cat >load.sim <<'END'
device name="NVIDIA <H200> & more" uuid=GPU-A sm_count=132 max_sm_clock_hertz=1980e6
device name="NVIDIA H200" uuid=GPU-B sm_count=132 max_sm_clock_hertz=1980e6
at 0
gpu * tensor_active_ratio=0.36 fp32_active_ratio=0 sm_active_ratio=0.4 graphics_active_ratio=0.5
gpu * dram_active_ratio=0.2 throttle_reasons=power_cap
gpu 0 effective_clock_hertz=1320e6
gpu 1 effective_clock_hertz=absent:no_cupti
end 2
END
waterfall() {
    "$ROOFTOP" waterfall --source sim:load.sim "$@"
}

expect_exit 0 "text" waterfall
cp out text
expect_same text "$SOURCE_ROOT/tests/golden/waterfall.txt" "two waterfalls as text"
expect_exit 0 "a drawing" waterfall --format svg
cp out drawing
expect_same drawing "$SOURCE_ROOT/tests/golden/waterfall.svg" "two waterfalls as a drawing"
# The small print has 6.8 pixels for each letter; fonts without serifs take up to 6.5.
sed -n 's/^<text x="\([0-9]*\)" .* font-size="11" [^>]*>\(.*\)<.text>$/\1 \2/p' drawing |
    awk '{ left = $1; sub(/^[0-9]* /, ""); if (left + 6.8 * length > 976) print }' >too_long
expect_same too_long /dev/null "its longest remark fits"
grep -q 'width="992"' drawing
result $? "into its width"
expect_exit 0 "JSON" waterfall --format json --gpu 0
"$jsoncheck" gpus.0.clock_known gpus.0.achieved_ratio gpus.0.steps.3.lost_ratio <out >values
echo 'true 0.24 0.0266667' >expected
expect_same values expected "the steps as JSON"
waterfall --format json --gpu 1 | "$jsoncheck" gpus.0.clock_known gpus.0.achieved_ratio gpus.0.steps.0.absent >values
echo 'false 0.36 "no_cupti"' >expected
expect_same values expected "without the clock"

expect_exit 0 "a part of the time" waterfall --for 1s --gpu 0
expect_text out '^GPU 0: .*, 1\.0 s$' "it is as long as was asked for"

# In bursts the clock is not known while nothing runs, which is most of the time here: 2 s of 10 with work at 0.8 of the
# pipe and 1386 of 1980 MHz are 11.2 % of the peak.
cat >bursts.sim <<'END'
device name="NVIDIA H200" uuid=GPU-A sm_count=132 max_sm_clock_hertz=1980e6
at 0
gpu 0 graphics_active_ratio=1 sm_active_ratio=1 tensor_active_ratio=0.8 fp32_active_ratio=0 dram_active_ratio=0.2
gpu 0 effective_clock_hertz=1386e6 tensor_hmma_active_ratio=0.8
at 2
gpu 0 graphics_active_ratio=0 sm_active_ratio=0 tensor_active_ratio=0 dram_active_ratio=0 tensor_hmma_active_ratio=0
gpu 0 effective_clock_hertz=absent:counters_idle
end 10
END
expect_exit 0 "a GPU that rests between its jobs" "$ROOFTOP" waterfall --source sim:bursts.sim --interval 1
expect_text out '^  clock +70\.0 % +70\.0 % +30\.0 % .*maximum \(known for 2\.0 s\)$' "the clock is that of its work"
expect_text out '^  busy +20\.0 % +14\.0 % +56\.0 % ' "and its rests are lost"
expect_text out '^  that is 120 TFLOP/s of 1\.07 PFLOP/s' "what it achieved is over all the time, too"

expect_exit 0 "a product by mma.sync" waterfall --source "replay:$SOURCE_ROOT/data/h200.roof" --from gemm-int8-8192
expect_text out ' of 2\.10 PFLOP/s, .*; about 8[0-9]* TFLOP/s, if by mma\.sync$' "it warns that the pipe promises more than was done"

# The wall clock is set, an hour back and an hour on, while it looks at a GPU.
if ldd "$ROOFTOP" | grep -Eq 'lib[amt]san'; then
    skip 'a wall clock that is set' 'a sanitizer wants to be loaded first'
else
    for step in -3600 3600; do
        expect_exit 0 "a wall clock that is set by $step s" timeout 20 env FAKE_CLOCK_STEP=$step \
            LD_PRELOAD="$BUILD_ROOT/tests/fake/libwall_clock.so" ROOFTOP_CUPTI=/none \
            ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so" \
            "$ROOFTOP" waterfall --source nvml --for 2s --format json
        "$jsoncheck" gpus.0.seconds <out | awk '{ exit !($1 >= 1.999 && $1 < 600) }'
        result $? "it looks as long as was asked for"
    done
fi

cat >bare.sim <<'END'
device name="NVIDIA A100" uuid=GPU-A sm_count=108
device name="NVIDIA A100 MIG 1g.5gb" uuid=MIG-A parent_index=0 gpu_instance_id=1 sm_count=14
at 0
gpu * nvml_utilization_ratio=1 sm_active_ratio=absent:needs_hopper graphics_active_ratio=absent:needs_hopper
end 2
END
expect_exit 0 "without counters" "$ROOFTOP" waterfall --source sim:bare.sim
expect_text out '^GPU 0: NVIDIA A100$' "the GPU has its title"
expect_text out '^GPU 0, MIG instance 0: NVIDIA A100 MIG 1g.5gb$' "and so has an instance"
[ "$(grep -c '^  no waterfall: ..*' out)" -eq 2 ]
result $? "the reason takes the place of the steps"
reason=$(sed -n 's/^  no waterfall: //p' out | head -n 1)
"$ROOFTOP" waterfall --source sim:bare.sim --format svg >out
grep -qF "$reason" out
result $? "in the drawing too"
expect_exit 2 "no such mark" waterfall --from nowhere
expect_exit 2 "no such form" waterfall --format png
expect_exit 2 "an operand" waterfall more

finish
