. "$SOURCE_ROOT/tests/lib.sh"
recording=$SOURCE_ROOT/data/h200.roof
export XDG_DATA_HOME="$scratch" HOME="$scratch"

# The table of docs: means over 3 s of each workload, in per cent.
metrics=compute_sol_ratio,memory_sol_ratio,attainable_compute_sol_ratio,attainable_memory_sol_ratio
metrics=$metrics,attainable_sol_ratio,attainable_budget_ratio,attainable_outside_ratio,attainable_limit
table() {
    echo "| workload | Compute SOL | attainable | Memory SOL | attainable | stopped by | budget | outside the kernels | inside |"
    echo "|---|---|---|---|---|---|---|---|---|"
    # shellcheck disable=SC2013 # the names have no blanks
    for name in $(grep -v '^#' workloads); do
        "$ROOFTOP" stat --source "replay:$recording@max" --from "$name+1s" --interval 3 --count 1 \
            --format csv --metrics "$metrics" |
            awk -F, -v name="$name" '
                NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
                function value(metric) { return $column[metric] }
                function percent(metric) { return sprintf("%.1f", 100 * value(metric)) }
                NR == 2 {
                    budget = value("attainable_budget_ratio")
                    outside = value("attainable_outside_ratio")
                    printf "| %s | %s | %s | %s | %s | %s | %.1f | %.1f | %.1f |\n", name,
                        percent("compute_sol_ratio"), percent("attainable_compute_sol_ratio"),
                        percent("memory_sol_ratio"), percent("attainable_memory_sol_ratio"),
                        value("attainable_limit"), 100 * budget, 100 * outside, 100 * (budget - outside)
                }'
    done
}

cat >workloads <<'END'
gemm-tf32-256
gemm-tf32-1024
gemm-tf32-4096
gemm-bf16-256
gemm-bf16-1024
gemm-bf16-4096
gemm-bf16-8192
gemm-fp16-4096
gemm-fp8-8192
gemm-int8-8192
gemm-fp32-4096
gemm-fp64-4096
stream-copy
stream-triad
elementwise-sin
gemv-bf16-16384
train-mlp-small
llama8b-prefill-b1-t8192
llama8b-prefill-b4-t2048
llama8b-decode-b1-ctx1024
llama8b-decode-b2-ctx1024
llama8b-decode-eager-b2-ctx1024
llama8b-decode-b32-ctx1024
llama8b-decode-b32-ctx4096
llama8b-decode-b256-ctx1024
llama8b-lora-b1-t128
llama8b-lora-b1-t512
llama8b-lora-b4-t2048
END
table >table.md
[ "$(wc -l <table.md)" -eq 30 ]
result $? "every known workload has its row"
sed -n '/^| workload/,$p' "$SOURCE_ROOT/docs/results/attainable-h200.md" >documented
if [ "${ROOFTOP_GOLDEN:-}" = write ]; then
    { sed '/^| workload/,$d' "$SOURCE_ROOT/docs/results/attainable-h200.md"; cat table.md; } >page
    cp page "$SOURCE_ROOT/docs/results/attainable-h200.md"
    cp table.md documented
fi
diff documented table.md >difference
result $? "docs/results/attainable-h200.md is what the recording says"
sed 's/^/# /' difference

# wrong CONDITION: the workloads for which it holds, with the table's columns as c(2), c(3) …
wrong() {
    awk -F' *[|] *' "function c(i) { return \$(i + 1) } NR > 2 && ($1) { print \"# \" \$0; bad = 1 }
        END { exit !bad }" table.md
}
wrong 'c(2) > c(3) + 2 || c(4) > c(5) + 2'
[ $? -eq 1 ]
result $? "no workload is above its attainable by more than 2 points"
wrong 'c(1) ~ /^(gemm-(tf32|bf16|fp16|fp32|fp64)-4096|gemm-(bf16|fp8)-8192|stream-triad|elementwise|gemv)/ && c(7) > 15'
[ $? -eq 1 ]
result $? "large products and streams are within 15 points below it"
wrong 'c(1) ~ /^llama8b-(prefill|decode-b(1|2|32)-)/ && c(9) > 15'
[ $? -eq 1 ]
result $? "prefill and decoding from a graph are so while their kernels run"
wrong 'c(1) ~ /^(train|llama8b-lora-b1|gemm-tf32-256)/ && (c(7) < 50 || c(8) < c(9))'
[ $? -eq 1 ]
result $? "small work has a large budget, and most of it outside its kernels"

"$ROOFTOP" stat --source "replay:$recording@max" --from llama8b-decode-b256-ctx1024+1s --interval 3 \
    --count 1 --format json >json
"$BUILD_ROOT/tests/tools/jsoncheck" gpus.0.attainable_limit gpus.0.attainable_source gpus.0.verdict <json >values
expect_text values '^"dram" "shipped" "memory-bound: HBM at 6[0-9] %; attainable 9[0-9] %, HBM stops it; 30 points of budget; nvidia-smi says' "JSON tells the limit, where its ceiling is from, and the sentence"
finish
