"""Records the known workloads with `rooftop record`, then sets Compute and Memory SOL beside the truth.

usage: accuracy.py RECORDING.roof [SECONDS a phase]; prints a Markdown table for docs/ACCURACY.md.
An existing recording is only evaluated."""
import json
import os
import statistics
import subprocess
import sys

import gpu

HBM_BYTES = 4.8e12  # datasheet
SMS, FP32_PER_CYCLE = 132, 256
# datasheet FLOP/s at the clock it assumes; scaled to the clock of the run
TENSOR = {"bf16": 989.4e12, "fp16": 989.4e12, "tf32": 494.7e12, "fp8": 1978.9e12, "int8": 1978.9e12}
DATASHEET_CLOCK = 1830e6


def record(path, seconds):
    phases = path + ".phases"
    subprocess.run([gpu.ROOFTOP, "record", "--force", "--redact", "--clock", "continuous",
                    "--interval", "0.1", "-o", path,
                    "--marks", phases, "--", sys.executable, gpu.workload("phases.py"), phases,
                    str(seconds)], check=True)


def truth(phase, clock):
    """Compute and memory truth in %, None where the phase's work says nothing about it."""
    dtype, flops = phase.get("dtype"), phase.get("tflops", 0) * 1e12
    compute = None
    if flops and phase["name"].startswith("gemm"):
        if dtype == "fp32":
            peak = SMS * FP32_PER_CYCLE * clock
        elif dtype == "fp64":
            peak = SMS * 256 * clock
        else:
            peak = TENSOR[dtype] / DATASHEET_CLOCK * clock
        compute = 100 * flops / peak
    memory = 100 * phase["gbytes"] * 1e9 / HBM_BYTES if phase.get("gbytes") else None
    return compute, memory


def mean(rows, key):
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.fmean(values) if values else None


def show(value, scale=1.0, digits=1):
    return "" if value is None else "%.*f" % (digits, value * scale)


def main():
    path = sys.argv[1]
    if not os.path.exists(path):
        gpu.require_gpu()
        record(path, float(sys.argv[2]) if len(sys.argv) > 2 else 5.0)
    phases = [json.loads(line) for line in open(path + ".phases")]
    frames = gpu.stat("replay:%s@max" % path)
    print("| workload | nvidia-smi | Compute SOL | pipe | truth | Memory SOL | truth | bound | clock | samples |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for phase in phases:
        # whole intervals inside the phase
        rows = [f["gpus"][0] for f in frames if phase["t0"] + 0.1 < f["time"] < phase["t1"]]
        if not rows:
            continue
        measured_clock = mean(rows, "effective_clock_hertz")
        clock = measured_clock or mean(rows, "sm_clock_hertz")
        compute, memory = truth(phase, clock) if clock else (None, None)
        pipe = statistics.mode(str(row["compute_sol_pipe"]) for row in rows)
        bound = statistics.mode(str(row["bound"]) for row in rows)
        print("| %s | %s | %s | %s | %s | %s | %s | %s | %s %s | %d |" % (
            phase["name"], show(mean(rows, "nvml_utilization_ratio"), 100, 0),
            show(mean(rows, "compute_sol_ratio"), 100, 2), pipe, show(compute, 1, 2),
            show(mean(rows, "memory_sol_ratio"), 100, 2), show(memory, 1, 2), bound,
            show(clock, 1e-6, 0), "effective" if measured_clock else "NVML", len(rows)))


main()
