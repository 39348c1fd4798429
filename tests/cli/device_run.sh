# tests/device/run.py over the fakes: each step ends as a GPU is expected to let it end, and leaves its figures.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

if ! command -v python3 >/dev/null; then
    skip 'the jobs on a real GPU' 'there is no python3'
    finish
fi
stage 1
mkdir bin workloads
cat >bin/nvidia-smi <<'END'
#!/bin/sh
case $* in
    *uuid*) cat "$FAKE_GPU/devices" ;;
    *memory.free*) awk '/MemoryInfo/ { print int($7 / 1048576) }' "$FAKE_NVML_SCRIPT" ;;
    *) echo 'NVIDIA H200, fake' ;;
esac
END
chmod +x bin/nvidia-smi
ln -s "$ROOFTOP_MPS_CONTROL" bin/nvidia-cuda-mps-control
cat >workloads/job.py <<'END'
import os, subprocess, sys
kind, steps, tag = sys.argv[1:]
open(os.environ["ROOFTOP_READY"] + tag, "w").close()
subprocess.run([os.environ["FAKE_JOB"], "wait", os.environ["ROOFTOP_GO"], "seen", "3"], check=True)
print(f"JOB {tag} {kind} 0.300", flush=True)
END
export TMPDIR="$PWD" PATH="$PWD/bin:$PATH" WORKLOADS="$PWD/workloads" FAKE_JOB="$fake_job" OUT="$PWD/kept" PYTHONDONTWRITEBYTECODE=1

python3 "$SOURCE_ROOT/tests/device/run.py" --without-gpu limits ends accounts scaling >out 2>&1
result $? 'all ends as expected'
grep -E 'NOT AS EXPECTED|NO END|Traceback|not there' out | sed 's/^/# /'
for step in limits ends accounts scaling; do
    expect_text out "^\\($step: .* not as expected: none" "$step"
    expect_text kept/run.md "^## $step " 'is in the page'
done
expect_text kept/run.md '^\| last \| 122 \| 122 \| memory ' 'the guard'
expect_text kept/run.md '^\| mix-mem3 \| 0 \| 0 \| ended ' 'a job of four'
expect_text out '^    free +100 %' 'no slot is left'

python3 "$SOURCE_ROOT/tests/device/share.py" terminate >out 2>&1
expect_text out '^both big +terminate +the victim: exit .* after [0-9.]+ s$' 'a client that is ended'
expect_text out '^ +its neighbour: goes on$' 'leaves the one beside it'
[ "$(grep -c 'its neighbour' out)" = "$(grep -c 'the victim' out)" ]
result $? 'each case has both'
! grep -E 'FAILED|Traceback|out of time' out
result $? 'all cases are made'
finish
