. "$SOURCE_ROOT/tests/lib.sh"
data=$SOURCE_ROOT/tests/data
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# verdicts SOURCE: time, index, bound and verdict of each interval of a second
verdicts() {
    "$ROOFTOP" stat --source "$1@max" --interval 1 --format csv --metrics bound |
        sed 1d | cut -d, -f1,2,10,12-
}

verdicts "sim:$data/one.sim" | cut -d, -f2- | uniq >out
expect_same out "$SOURCE_ROOT/tests/golden/sentences.csv" "each moment of one GPU has its sentence"

verdicts "sim:$data/eight.sim" | head -8 | cut -d, -f2,3 >out
printf '%s\n' 0,compute 1,compute 2,memory 3,link 4,link 5,latency 6,idle 7,idle >expected
expect_same out expected "each of eight GPUs has its own bound"

verdicts "replay:$SOURCE_ROOT/data/h200.roof" >out
for bound in idle latency compute memory; do
    expect_text out "^[0-9.]*,0,$bound,\"?$bound" "the recording of an H200 shows $bound"
done
grep -q ',0,,' out
[ $? -eq 1 ]
result $? "and leaves no bound open"
verdicts "replay:$SOURCE_ROOT/data/h200-x2-links.roof" >out
expect_text out ',link,link-bound: NVLink both ways at 7[01] % of its peak; SMs have work 17 % of the time' "an all-reduce is bound by NVLink"
expect_text out ',link,link-bound: PCIe host-to-device at [89][0-9] % of its peak while the SMs sleep; nvidia-smi says (99|100) %' "copies are bound by PCIe"

"$ROOFTOP" stat --source "sim:$data/one.sim@max" --interval 1 --format json | tail -4 | head -1 >json
"$jsoncheck" gpus.0.waterfall_clock_ratio gpus.0.effective_clock_hertz gpus.0.assumed_type \
    gpus.0.memory_sol_level <json >values
echo 'null null "bf16" "dram"' >expected
expect_same values expected "the clock's factor is missing without the effective clock"

printf 'device name=A\nat 0\ngpu 0 power_watts=much\nend 1\n' >wrong.sim
expect_exit 2 "a mistake in a sim file" "$ROOFTOP" stat --source sim:wrong.sim
expect_text err 'wrong\.sim:3: wrong value for power_watts; expected a number' "names file, line and what was expected"
finish
