# tests/device/ceilings.py over a fake GPU, and tests/tools/ship_ceilings.sh from what it leaves to the rows of C and
# the page of results, in a tree of its own.
. "$SOURCE_ROOT/tests/lib.sh"

command -v python3 >/dev/null || {
    skip 'the ceilings of a real GPU' 'there is no python3'
    finish
}
. "$SOURCE_ROOT/tests/calibrate_stage.sh"
export ROOFTOP OUT="$PWD/left" PYTHONPATH="$PWD/modules" PYTHONDONTWRITEBYTECODE=1
mkdir -p modules/torch left
cat >modules/torch/__init__.py <<'END'
class cuda:
    is_available = staticmethod(lambda: True)
END
idle_gpu
printf 'time rooftop_read 0.0005\ntime product14 0.002\nrate h2d 5e10\n' >cuda

if grep -qi gvisor /proc/version; then
    skip 'the ceilings of a real GPU' 'gVisor'
    finish
fi
expect_exit 0 'three calibrations and one with --verify' python3 "$SOURCE_ROOT/tests/device/ceilings.py" 3
expect_text out '^hbm_read +2\.1454e\+12 ' 'the table has a ceiling'
expect_text out '^nvlink_send +not measured: ' 'and what was not measured'

# With counters, beside work that takes real time.
printf 'nvmlGpmMetricsGet 5 -> 0 68.5\nnvmlGpmMetricsGet 7 -> 0 68.5\nnvmlGpmMetricsGet 21 -> 0 51000\n' >>nvml
printf 'pace 0.4\nlog /dev/null\n' >>cuda
XDG_DATA_HOME=$PWD/elsewhere "$ROOFTOP" calibrate --verify --only tensor_bf16,pcie_h2d --format json \
    >left/ceilings/verify.json
result $? 'known work'

# Three runs that differ.
sqlite3 left/ceilings/rooftop/ceilings.db "UPDATE ceiling SET value = value * 1.1 WHERE (kind, time) IN
    (SELECT kind, max(time) FROM ceiling GROUP BY kind)"
mkdir -p tree/tests/tools tree/src/store tree/docs/results
cp "$SOURCE_ROOT/tests/tools/ship_ceilings.sh" tree/tests/tools/
cp "$SOURCE_ROOT"/src/store/ceiling*.def tree/src/store/
cp "$SOURCE_ROOT/docs/results/calibrate-h200.md" tree/docs/results/
expect_exit 2 'a folder that is none' sh tree/tests/tools/ship_ceilings.sh modules
expect_text err 'usage: ship_ceilings\.sh FOLDER' 'it says how it is used'
expect_exit 0 'the rows and the page' sh tree/tests/tools/ship_ceilings.sh left/ceilings fp32
rows=tree/src/store/ceiling_shipped.def page=tree/docs/results/calibrate-h200.md
expect_text $rows '^SHIPPED\("H200", HBM_READ, 2\.145e12, 0\.1, NAN, NAN, NAN, NAN, "measured on one H200 by calibrate: own kernel"\)$' 'the median of three runs, and their spread'
expect_text $rows '^SHIPPED\("H200", TENSOR_BF16, 5\.498e14, 0\.1, 0\.[0-9]{3}, NAN, ' 'what only --verify counted; no clock of NVML where the tensor cores work'
grep '^SHIPPED("H200", FP32,' "$SOURCE_ROOT/src/store/ceiling_shipped.def" >kept
grep -qxF "$(cat kept)" $rows
result $? 'what is kept stays'
grep -q 'NVLINK_SEND' $rows
result $? 'and what was not measured'
printf '#define SHIPPED(chip, id, value, spread, ratio, clock, temperature, power, how) {chip, value, spread, ratio, clock, temperature, power, how},
#include <math.h>
const struct { const char *chip; double a, b, c, d, e, f; const char *how; } rows[] = {
#include "%s"
};\n' "$PWD/$rows" >rows.c
"${CC:-cc}" -fsyntax-only rows.c
result $? 'the rows are C'
expect_text $page '^\| hbm_read \| 2\.145e12 \| ' 'the page has the ceiling'
expect_text $page '^\| tensor_bf16 \| tensor_active_ratio \| .* \| [-+][0-9.]+ pt \| ' 'an error in points'
expect_text $page '^\| pcie_h2d \| pcie_rx_bytes_per_second \| 5e10 \| .* \| \+[1-9][0-9.]* % \| ' 'and one in per cent'
finish
