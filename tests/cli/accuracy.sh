# docs/ACCURACY.md's table is what tests/device/accuracy.py makes of the shipped recording and its workloads' own rates.
. "$SOURCE_ROOT/tests/lib.sh"

command -v python3 >/dev/null || {
    skip 'the table of errors' 'there is no python3'
    finish
}
page=$SOURCE_ROOT/docs/ACCURACY.md
export ROOFTOP PYTHONDONTWRITEBYTECODE=1 XDG_DATA_HOME="$scratch" HOME="$scratch"
unset ROOFTOP_SOURCE
{
    python3 "$SOURCE_ROOT/tests/device/accuracy.py" "$SOURCE_ROOT/data/h200.roof"
    echo
} >made
if [ "${ROOFTOP_GOLDEN:-}" = write ]; then
    { sed '/^| workload | nvidia-smi/,$d' "$page"; cat made; sed -n '/^What it shows:/,$p' "$page"; } >page
    cp page "$page"
fi
sed -n '/^| workload | nvidia-smi/,/^What it shows:/p' "$page" | sed '$d' >documented
expect_same made documented 'the table of docs/ACCURACY.md is what the recording says'
[ "$(grep -c '^| ' made)" -eq 31 ]
result $? 'of each workload'

# The aim: half a point for products on the newer tensor path and the other pipes, one for device memory.
awk -F ' *[|] *' '/^\| (gemm|stream|gemv|llama8b-decode-(eager-)?b[12]-)/ {
    error = ($2 ~ /^gemm/ ? $7 : $10) + 0
    limit = $2 ~ /^gemm/ ? 0.5 : 1
    if ($2 !~ /^gemm-(tf32-256|int8-8192|bf16-8192)$/ && (error > limit || error < -limit)) print
}' made >beyond
expect_same beyond /dev/null 'no error is beyond the aim but those that the page explains'
finish
