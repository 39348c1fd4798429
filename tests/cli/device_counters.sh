# tests/device/last.py, burst.py, tensor.py and counters.py in a tenth of their time, over fake libraries and a torch
# whose graphs take no more than time: what they need and print is there, before a real GPU waits for it.
. "$SOURCE_ROOT/tests/lib.sh"

if ! command -v python3 >/dev/null || grep -qi gvisor /proc/version; then
    skip 'the counters of a real GPU' 'there is no python3, or gVisor hides the counters'
    finish
fi
fake=$BUILD_ROOT/tests/fake
export ROOFTOP ROOFTOP_NVML="$fake/libfake_nvml.so" ROOFTOP_CUDA="$fake/libfake_cupti.so" \
    ROOFTOP_CUPTI="$fake/libfake_cupti.so" FAKE_NVML_SCRIPT="$PWD/nvml" ROOFTOP_FAKE_CUPTI="$PWD/counters" \
    PYTHONPATH="$PWD/modules:$PWD/device" PYTHONDONTWRITEBYTECODE=1
unset ROOFTOP_SOURCE
echo 'gpu h200' >nvml
printf 'value gpc__cycles 1.5e9\nvalue pct_of 40\nvalue sum.per_second 1e11\n' >counters
mkdir -p device modules/torch
# As ./dev carry packs them.
cp "$SOURCE_ROOT"/tests/device/*.py "$BUILD_ROOT/tests/device/cupti_series" device/
cat >modules/torch/__init__.py <<'END'
import sys, time
from unittest.mock import MagicMock
class Graph:
    def replay(self):
        time.sleep(0.005)
sys.modules["torch"] = torch = MagicMock()
torch.cuda.CUDAGraph = Graph
END
cat >modules/pynvml.py <<'END'
import time
nvmlInit = lambda: None
nvmlDeviceGetHandleByIndex = lambda index: index
nvmlDeviceGetTotalEnergyConsumption = lambda handle: 165000 * time.time()
END
cat >short.py <<'END'
import runpy, sys
import burst, last, tensor
burst.TURN, burst.TURNS = 1, 2
last.SECONDS_A_LOAD, last.LOADS = 1.2, ("bf16 4096", "int8 8192")
last.START_SECONDS, last.STEADY_SECONDS, last.SECONDS_AT_THE_LIMIT = 0.8, 2, 1
tensor.SECONDS = 3
script = sys.argv.pop(1)
if script in ("burst", "last", "tensor"):
    sys.exit(sys.modules[script].main())
runpy.run_path("device/%s.py" % script, run_name="__main__")
END

# Each in a folder of its own, all at once.
part() {
    mkdir "$1"
    name=$1
    shift
    OUT=$PWD/$name python3 short.py "$@" >"$name/out" 2>&1 &
    parts="$parts $name=$!"
}
parts=
part products last tensor
part alternating last burst
part limit last limit
part steady last steady
part modes burst 1 burst
part paths tensor 'int8 8192'
part soak counters soak 2 burst
part loaded counters soak 2 continuous bf16 4096
for part in $parts; do
    wait "${part#*=}"
    result $? "${part%=*}: a script that ends well"
done
# How many samples fall into such short spans depends on the machine: what was printed, not which figures.
expect_text products/out '^\| int8 8192 \| .* \|$' 'last.py: four sets beside a product'
expect_text alternating/out '^tf32 256: .* of frames with a clock' 'two loads that take turns'
expect_text limit/out '^bf16 8192: .* of frames with a clock' 'two at the power limit'
expect_text steady/out '^record at 10 Hz: .* % of a core .* busy frames with a clock; ' 'a steady load, and what is taken of a core'
cat products/out alternating/out limit/out steady/out | grep -q 'failed:'
[ $? -eq 1 ]
result $? 'no part of it failed'
expect_text modes/out '^\| bf16 8192 \| burst \| ' 'burst.py: a line for each mode and load'
[ "$(wc -l <modes/burst.jsonl)" -eq 2 ]
result $? 'and each turn is kept'
expect_text paths/out '^\| int8 8192 \| ' 'tensor.py: what is counted for each busy cycle'
grep -q skipped paths/out
[ $? -eq 1 ]
result $? 'of every load'
expect_text soak/out '^burst, 2 s: [0-9]+ frames, .* busy frames have it; ' 'counters.py: a soak'
expect_text soak/out 'restarts of the helper: ' 'with its helper'
[ -s loaded/soak.roof ]
result $? 'its recording is kept'
expect_text loaded/out '^  the load: [1-9][0-9]* products$' 'beside a load of its own'
finish
