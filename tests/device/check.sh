# The GPUs of this machine through the program, in seconds: nothing is started on them and nothing
# changed, so that it may run beside other people's jobs.
. "$SOURCE_ROOT/tests/lib.sh"
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
unset ROOFTOP_SOURCE

if ! "$ROOFTOP" list >out 2>&1; then
    skip 'the GPUs of this machine' 'no GPU here'
    finish
fi

expect_exit 0 'list' "$ROOFTOP" list --format json
"$jsoncheck" gpus.# gpus.0.uuid gpus.0.memory_total_bytes <out >listed
result $? 'is JSON'
read -r count uuid bytes <listed

expect_exit 0 'stat' "$ROOFTOP" stat --interval 0.5 --count 3 --format json --processes
"$jsoncheck" gpus.# gpus.0.uuid gpus.0.memory_total_bytes <out >seen
[ $? -eq 0 ] && [ "$(sort -u seen)" = "$count $uuid $bytes" ]
result $? 'three records of the same GPUs'
tail -n 1 out | "$jsoncheck" gpus.0.state gpus.0.power_watts gpus.0.sm_clock_hertz >values
expect_text values '^"ok" [1-9]|^"ok" null [1-9]' 'the GPU is read'

"$ROOFTOP" doctor >out 2>&1
expect_text out "$(echo "$uuid" | tr -d '"')|GPU 0" 'doctor speaks of it'
expect_exit 0 'a screen' "$ROOFTOP" top --once
[ -s out ]
result $? 'shows something'

expect_exit 0 'a recording' "$ROOFTOP" record --redact --for 1s -o now.roof
expect_exit 0 'is replayed' "$ROOFTOP" stat --source replay:now.roof@max --interval 0.1 --format csv
[ "$(wc -l <out)" -gt 2 ]
result $? 'with its samples'

if command -v nvidia-smi >/dev/null; then
    nvidia-smi --id="$(echo "$uuid" | tr -d '"')" --query-gpu=memory.total --format=csv,noheader,nounits >smi
    [ "$(cat smi)" -eq $((bytes / 1048576)) ]
    result $? 'nvidia-smi has the same memory'
else
    skip 'nvidia-smi has the same memory' 'there is no nvidia-smi'
fi
finish
