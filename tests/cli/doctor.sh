. "$SOURCE_ROOT/tests/lib.sh"

data=$SOURCE_ROOT/tests/data
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# Without a GPU. What the machine is, is its own matter.
expect_exit 3 "no GPU" env ROOFTOP_NVML=/not/there "$ROOFTOP" doctor --source nvml
expect_text out '^This machine$' "it says what the machine is"
expect_text out '^  ok    kernel        Linux [0-9]' "its kernel"
expect_text out '^  mend  source  .*/not/there' "why there is no source"
expect_text out 'rooftop stat --source replay:FILE' "what does work"
[ ! -s err ]
result $? "all of that on standard output"
sed -n '/^What works here/,$p' out >works
expect_same works "$SOURCE_ROOT/tests/golden/doctor-works.txt" "the end of the report"
ROOFTOP_NVML=/not/there "$ROOFTOP" doctor --source nvml --format json | "$jsoncheck" exit_code >code
echo 3 >expected
expect_same code expected "the same as JSON"

# A made-up machine on which all is well, but for what no source can know.
cat >well.sim <<'END'
driver 580.159.04 13.0
device name="GPU A" uuid=GPU-A persistence_mode=1
device name="GPU B" uuid=GPU-B
device name="GPU B MIG 1g" uuid=MIG-1 parent_index=1
at 0
gpu * temperature_celsius=40 sm_active_ratio=0.5 dram_active_ratio=0.5 l2_active_ratio=absent:needs_cupti
gpu 2 power_watts=absent:shared_mig
at 0.5
gpu * temperature_celsius=absent:driver_error
gpu 0 power_watts=100
gpu 1 power_watts=100
end 1
END
expect_exit 0 "a note is nothing to mend" "$ROOFTOP" doctor --source sim:well.sim
expect_text out '^  ok    driver        580\.159\.04$' "the driver"
expect_text out '^GPU 0: GPU A$' "a GPU"
expect_text out '^GPU 1, MIG instance 0: GPU B MIG 1g$' "a MIG instance"
expect_text out '^Metrics of GPU 0, 1$' "GPUs that lack the same are told of together"
expect_text out '^Metrics of GPU 1/0$' "and the others apart"
expect_text out '^  note  missing       only the cupti source measures it: l2_active_ratio$' "a reason"
grep -q -- '-> use --source cupti' out
[ $? -eq 1 ]
result $? "a recording cannot be advised"
sed '/^Metrics of GPU 1\/0/,$d' out >common
grep -q power_watts common
[ $? -eq 1 ]
result $? "a metric that comes later in a recording is not missing"
grep -q ' temperature_celsius' out
[ $? -eq 1 ]
result $? "nor one that was there"

sed 's/^at 0.5/gpu 0 fan_speed_ratio=absent:no_permission\n&/' well.sim >refused.sim
expect_exit 1 "a refusal is to be mended" "$ROOFTOP" doctor --source sim:refused.sim
expect_text out '^  mend  missing       the driver refuses it to this user: fan_speed_ratio$' "which"
"$ROOFTOP" doctor --source sim:refused.sim --format json >json
"$jsoncheck" exit_code sections.1.uuid sections.1.findings.0.topic <json >values
echo '1 "GPU-A" "state"' >expected
expect_same values expected "the same as JSON"

expect_exit 1 "a lost GPU" "$ROOFTOP" doctor --source "sim:$data/lost.sim"
expect_text out '^  mend  state         for 1\.0 s: the GPU is lost$' "it is lost"
awk 'length > 104' out >long
[ ! -s long ]
result $? "lines are no longer than a screen is wide"
expect_exit 2 "a malformed source" "$ROOFTOP" doctor --source sim:not-there.sim
[ ! -s out ] && grep -q not-there.sim err
result $? "it is an error, not a report"
expect_exit 2 "a stray word" "$ROOFTOP" doctor word

finish
