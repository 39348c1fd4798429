. "$SOURCE_ROOT/tests/lib.sh"
models=$SOURCE_ROOT/tests/data/models
recording=$SOURCE_ROOT/data/h200.roof
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
export HOME="$scratch" XDG_DATA_HOME="$scratch" ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so" \
    FAKE_NVML_SCRIPT="$PWD/script"
unset ROOFTOP_SOURCE HF_HOME HF_HUB_CACHE

# A stand-in for vLLM that serves a model from a folder.
mkdir answers model
cp "$models/llama-3.1-8b.json" model/config.json
cat >answers/v1_models <<END
{"object":"list","data":[{"id":"llama","object":"model","owned_by":"vllm","root":"$PWD/model","max_model_len":8192}]}
END
cat >answers/metrics <<'END'
vllm:num_requests_running{engine="0",model_name="llama"} 32.0
vllm:num_requests_waiting{engine="0",model_name="llama"} 3.0
vllm:kv_cache_usage_perc{engine="0",model_name="llama"} 0.5
vllm:cache_config_info{block_size="16",num_gpu_blocks="16384"} 1.0
vllm:generation_tokens_total{engine="0",model_name="llama"} 500000.0
END
cp "$BUILD_ROOT/tests/tools/canned_server" vllm
./vllm serve "$PWD/model" --answers answers &
server=$!
await [ -e answers/ready ]
printf 'gpu h200\nprocesses compute %d:1000000\n' "$server" >script

expect_exit 0 "a server that holds a GPU" "$ROOFTOP" served --source nvml --interval 0.1
expect_text out "^vLLM, pid $server, port [0-9]+, GPU 0$" "is found by its process and its port"
expect_text out '^  model    llama, 8.0 billion parameters, 128 KiB of KV cache a token$' "its model's shape is read from the disk"
expect_text out '^  running  32 requests with 4096 tokens each, 3 waiting, 0 tokens/s$' "its load from its counters"
expect_text out '^  decode   attainable: Compute 1[01] %, Memory 9[0-9] %, 4[0-9]{3} tokens/s; the context stops it: 17\.2 GB of KV cache a step$' "and what stops it is named"
"$ROOFTOP" served --source nvml --interval 0.1 --format json >json
"$jsoncheck" servers.0.engine servers.0.requests_running servers.0.context_tokens \
    servers.0.attainable_source servers.0.decode.limit servers.0.counters_reason <json >values
echo '"vLLM" 32 4096 "shipped" "context" null' >expected
expect_same values expected "JSON says the same"

expect_exit 0 "--no-probe" "$ROOFTOP" served --source nvml --interval 0.1 --no-probe
expect_text out '^  running  not known: not asked \(--no-probe\)$' "asks nobody"
expect_text out '8.0 billion parameters' "and still reads the model that the command line names"
expect_exit 0 "a batch of one's own" "$ROOFTOP" served --source nvml --interval 0.1 --no-probe --batch 256 --context 1024
expect_text out '^  decode   attainable: .*, (19|2[01])[0-9]{3} tokens/s;' "takes the place of the server's"

cat >script <<END
gpu h200
processes compute $server:1000000
gpu h200
processes compute $server:1000000
nvmlGpmMetricsGet 5 -> 0 14.5
nvmlGpmMetricsGet 10 -> 0 57.5
END
expect_exit 0 "a server on two GPUs" "$ROOFTOP" served --source nvml --interval 0.1
expect_text out "^vLLM, pid $server, port [0-9]+, GPUs 0, 1$" "has them in order"
expect_text out '^  now      Compute 54 %, Memory 38 %$' "and what is done now is the mean of both"
"$ROOFTOP" served --source nvml --interval 0.1 --format json >json
"$jsoncheck" servers.0.gpus servers.0.compute_sol_ratio servers.0.memory_sol_ratio <json >values
echo '[0,1] 0.54 0.375' >expected
expect_same values expected "in JSON, too"
"$ROOFTOP" served --source nvml --interval 0.1 --share 1 --batch 16 --format json |
    "$jsoncheck" servers.0.decode.weight_bytes servers.0.decode.tokens_per_second >alone
kill "$server"
wait "$server" 2>/dev/null
rm answers/ready
./vllm serve "$PWD/model" --answers answers --data-parallel-size 2 &
server=$!
await [ -e answers/ready ]
sed -i "s/compute .*:/compute $server:/" script
"$ROOFTOP" served --source nvml --interval 0.1 --format json |
    "$jsoncheck" servers.0.decode.weight_bytes servers.0.decode.tokens_per_second >values
awk 'NR == FNR { bytes = $1; rate = $2; next } { print $1 / bytes, $2 / rate }' alone values >found
echo '1 2' >expected
"$ROOFTOP" served --source nvml --interval 0.1 --no-probe >out
expect_text out ' 128 KiB of KV cache a token, 2 copies$' "copies of the model are told"
expect_same found expected "two copies of the model read all of its weights each, for half of the requests"
printf 'gpu h200\nprocesses compute %d:1000000\n' "$server" >script

echo 'vllm:num_requests_running{engine="0' >answers/metrics
echo '<html>' >answers/v1_models
expect_exit 0 "a server that answers nonsense" "$ROOFTOP" served --source nvml --interval 0.1
expect_text out '^  running  not known: its answer to /metrics is not understood$' "is told of"
kill "$server"
wait "$server" 2>/dev/null
printf 'gpu h200\nprocesses compute\n' >script
expect_exit 0 "no server" "$ROOFTOP" served --source nvml --interval 0.1
expect_text out '^No inference server that Rooftop knows' "says so"

expect_exit 2 "a recording without a model" "$ROOFTOP" served --source "replay:$recording"
expect_text err 'no server runs in a recording: give the model with --config' "asks for one"
expect_exit 2 "a config.json that is none" "$ROOFTOP" served --source "replay:$recording" --config answers/metrics
expect_text err 'answers/metrics: it is not a JSON object' "is named"

expect_exit 2 "a model that is not there, on a host without a GPU" \
    env ROOFTOP_NVML=/not/there "$ROOFTOP" served --config none.json
expect_text err '^rooftop served: --config: none\.json: No such file' "is what is said"
expect_exit 2 "no request at once" "$ROOFTOP" served --source "replay:$recording" --batch 0
for load in '--batch 0.5' '--context 1e300' '--prompt 2e9' '--share 0'; do
    expect_exit 2 "a load that cannot be: $load" \
        "$ROOFTOP" served --source "replay:$recording" --config "$models/llama-3.1-8b.json" $load
    expect_text err "^rooftop served: ${load% *}: .*from 1 to" "is named"
done
expect_exit 2 "a file that is not there" "$ROOFTOP" served --source "replay:$recording" --config none.gguf
expect_text err 'none\.gguf: No such file' "is named"
expect_exit 0 "a long prompt" "$ROOFTOP" served --source "replay:$recording" \
    --config "$models/llama-3.1-8b.json" --prompt 200000
expect_text out "^  prefill  .*; the context stops it: attention's arithmetic$" "is not held up by its KV cache, though that is large"
expect_exit 0 "weights of four bits" "$ROOFTOP" served --source "replay:$recording" \
    --config "$models/llama-3.1-8b-awq-int4.json" --batch 8 --context 100
expect_text out ' 128 KiB of KV cache a token, weights of 4\.16 bits$' "are told"
expect_exit 0 "a GGUF file" "$ROOFTOP" served --source "replay:$recording" \
    --config "$SOURCE_ROOT/tests/fuzz/corpus/gguf/llama.gguf" --batch 8 --context 100
expect_text out 'gguf, 0\.1 million parameters' "is read like a config.json"

# row WORKLOAD BATCH CONTEXT KIND STEPS: a line of the table of docs/results; STEPS is how many a second the
# workload itself counted.
row() {
    "$ROOFTOP" served --source "replay:$recording@max" --from "$1+1s" --interval 3 --format json \
        --config "$models/llama-3.1-8b.json" --batch "$2" --context "$3" --prompt "$3" |
        "$jsoncheck" servers.0.compute_sol_ratio servers.0.memory_sol_ratio \
            "servers.0.$4.attainable_compute_sol_ratio" "servers.0.$4.attainable_memory_sol_ratio" \
            "servers.0.$4.tokens_per_second" "servers.0.$4.limit" |
        awk -v name="$1" -v reached="$(echo "$2 $3 $4 $5" | awk '{ print $1 * $4 * ($3 == "prefill" ? $2 : 1) }')" '
            { gsub("\"", ""); printf "| %s | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f | %.0f | %s |\n", name,
                100 * $1, 100 * $3, 100 * $2, 100 * $4, reached, $5, 100 * reached / $5, $6 }'
}
{
    echo "| workload | Compute SOL | attainable | Memory SOL | attainable | tokens/s | possible | per cent of it | stopped by |"
    echo "|---|---|---|---|---|---|---|---|---|"
    row llama8b-prefill-b1-t8192 1 8192 prefill 4.26
    row llama8b-prefill-b4-t2048 4 2048 prefill 4.75
    row llama8b-decode-b1-ctx1024 1 1024 decode 202.31
    row llama8b-decode-b2-ctx1024 2 1024 decode 197.43
    row llama8b-decode-eager-b2-ctx1024 2 1024 decode 147.88
    row llama8b-decode-b32-ctx1024 32 1024 decode 165.17
    row llama8b-decode-b32-ctx4096 32 4096 decode 112.33
    row llama8b-decode-b256-ctx1024 256 1024 decode 61.3
} >table.md
page=$SOURCE_ROOT/docs/results/served-h200.md
if [ "${ROOFTOP_GOLDEN:-}" = write ]; then
    { sed '/^| workload/,$d' "$page"; cat table.md; } >page
    cp page "$page"
fi
sed -n '/^| workload/,$p' "$page" >documented
expect_same table.md documented "docs/results/served-h200.md is what the recording says"
awk -F' *[|] *' 'NR > 2 && !($3 <= $4 + 2 && ($2 ~ /prefill/ || $5 <= $6 + 2) && $9 > 0 && $9 <= 102)' table.md >above
expect_same above /dev/null "nothing recorded is above what its model could reach"
finish
