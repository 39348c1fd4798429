"""Records the known workloads with `rooftop record`, then sets Compute and Memory SOL beside the truth.

usage: accuracy.py RECORDING.roof [SECONDS a phase]; prints a Markdown table for docs/ACCURACY.md, and
below it how far the waterfall's product is from the FLOPs. An existing recording is only evaluated."""
import json
import math
import os
import statistics
import subprocess
import sys

import gpu

HBM_BYTES = 4.8e12  # datasheet


def record(path, seconds):
    phases = path + ".phases"
    subprocess.run([gpu.ROOFTOP, "record", "--force", "--redact", "--clock", "continuous",
                    "--interval", "0.1", "-o", path,
                    "--marks", phases, "--", sys.executable, gpu.workload("phases.py"), phases,
                    str(seconds)], check=True)


PIPES = {"fp32": "fp32_active_ratio"}


def truth(phase, clock):
    """Compute and memory truth in %, None where the phase's work says nothing about it."""
    dtype, flops = phase.get("dtype"), phase.get("tflops", 0) * 1e12
    compute = None
    if flops and phase["name"].startswith("gemm") and clock:
        compute = 100 * flops / gpu.known_peak(dtype, clock)
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
    print("| workload | nvidia-smi | Compute SOL | its type's pipe | FLOP truth | error | HBM | byte truth | error | Memory SOL | bound | effective clock, MHz | NVML's |")
    print("|---|" + "---|" * 12)
    errors = []
    for phase in phases:
        # GPM lags by up to its grain of 0.1 s
        rows = [f["gpus"][0] for f in frames if phase["t0"] + 0.35 < f["time"] < phase["t1"] - 0.05]
        if rows:
            print_row(phase, rows)
            errors += waterfall_error(phase, rows)
    print("\nThe product of the waterfall's factors, less the FLOPs over the peak at the maximum clock, in points:\n"
          + ", ".join(errors))


STEPS = ["waterfall_%s_ratio" % step for step in ("clock", "busy", "coverage", "pipe")]


def waterfall_error(phase, rows):
    """A list of one sentence, or of none where the phase's work says nothing about it."""
    rows = [row for row in rows if None not in [row[step] for step in STEPS]]
    if not (rows and phase["name"].startswith("gemm")):
        return []
    maximum = rows[0]["effective_clock_hertz"] / rows[0]["waterfall_clock_ratio"]
    product = statistics.fmean(math.prod(row[step] for step in STEPS) for row in rows)
    true = phase["tflops"] * 1e12 / gpu.known_peak(phase["dtype"], maximum)
    return ["%s %+.2f" % (phase["name"], 100 * (product - true))]


def difference(measured, true):
    return "" if true is None or measured is None else "%+.2f" % (measured - true)


def percent(rows, key):
    value = mean(rows, key)
    return None if value is None else 100 * value


def print_row(phase, rows):
    clock = mean(rows, "effective_clock_hertz")
    compute, memory = truth(phase, clock)
    pipe = percent(rows, PIPES.get(phase.get("dtype"), "tensor_active_ratio"))
    dram = percent(rows, "dram_active_ratio")
    if not phase["name"].startswith(("stream", "elementwise", "gemv", "llama8b-decode")):
        memory = None  # its bytes are a lower bound
    modes = {key: statistics.mode(str(row[key] or "") for row in rows)
             for key in ("compute_sol_pipe", "memory_sol_level", "bound")}
    compute_sol = "%s %s" % (show(percent(rows, "compute_sol_ratio"), 1, 1), modes["compute_sol_pipe"])
    print("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s %s | %s | %s | %s |" % (
        phase["name"], show(percent(rows, "nvml_utilization_ratio"), 1, 0), compute_sol.strip(),
        show(pipe, 1, 2) if compute is not None else "", show(compute, 1, 2), difference(pipe, compute),
        show(dram, 1, 2), show(memory, 1, 2), difference(dram, memory),
        show(percent(rows, "memory_sol_ratio"), 1, 1), modes["memory_sol_level"], modes["bound"],
        show(clock, 1e-6, 0), show(mean(rows, "sm_clock_hertz"), 1e-6, 0)))


main()
