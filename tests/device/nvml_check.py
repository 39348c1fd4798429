"""What the nvml source says of GPU 0, beside what nvidia-smi says at the same time."""
import json
import subprocess
import sys

import gpu

# nvidia-smi's query, where Rooftop has it ("list" or "stat"), its name, factor, tolerance (relative).
ROWS = [
    ("memory.total", "stat", "memory_total_bytes", 1048576, 1e-6),
    ("memory.reserved", "stat", "memory_reserved_bytes", 1048576, 0.01),
    ("memory.used", "stat", "memory_used_bytes", 1048576, 0.05),
    ("memory.free", "stat", "memory_free_bytes", 1048576, 0.01),
    ("clocks.max.sm", "list", "max_sm_clock_hertz", 1e6, 0),
    ("clocks.max.memory", "list", "max_memory_clock_hertz", 1e6, 0),
    ("clocks.sm", "stat", "sm_clock_hertz", 1e6, 0.3),
    ("clocks.mem", "stat", "memory_clock_hertz", 1e6, 0.3),
    ("power.limit", "list", "power_limit_watts", 1, 0),
    ("power.draw.instant", "stat", "power_watts", 1, 0.3),
    ("power.draw.average", "stat", "power_average_watts", 1, 0.3),
    ("temperature.gpu", "stat", "temperature_celsius", 1, 0.1),
    ("temperature.memory", "stat", "memory_temperature_celsius", 1, 0.1),
    ("pcie.link.gen.gpucurrent", "stat", "pcie_generation", 1, 0),
    ("pcie.link.width.current", "stat", "pcie_width_lanes", 1, 0),
    ("pcie.link.width.max", "list", "pcie_max_width_lanes", 1, 0),
    ("ecc.errors.corrected.volatile.total", "stat", "ecc_corrected_errors_total", 1, 0),
    ("ecc.errors.uncorrected.volatile.total", "stat", "ecc_uncorrected_errors_total", 1, 0),
    ("utilization.gpu", "stat", "nvml_utilization_ratio", 0.01, 1),
]


def smi(query):
    run = subprocess.run(["nvidia-smi", "-i", "0", "--query-gpu=" + query,
                          "--format=csv,noheader,nounits"], capture_output=True, text=True)
    try:
        return float(run.stdout.strip())
    except ValueError:
        return None


def main():
    gpu.require_gpu()
    listed = json.loads(subprocess.run([gpu.ROOFTOP, "list", "--source", "nvml", "--format", "json"],
                                       check=True, capture_output=True, text=True).stdout)
    ours = {"list": listed["gpus"][0],
            "stat": gpu.stat(source="nvml", interval=0.2, count=3)[-1]["gpus"][0]}
    wrong = 0
    print("%-40s %18s %18s" % ("metric", "nvidia-smi", "rooftop"))
    for query, where, name, factor, tolerance in ROWS:
        theirs = smi(query)
        mine = ours[where].get(name)
        same = (theirs is None) == (mine is None)
        if same and mine is not None:
            same = abs(mine - theirs * factor) <= max(tolerance * abs(theirs * factor), 1e-9)
        wrong += not same
        print("%-40s %18s %18s %s" % (name, theirs if theirs is None else theirs * factor, mine,
                                      "" if same else "  DIFFERS"))
    empty = [f for f in gpu.stat(source="nvml", interval=0.1, count=100)
             if f["gpus"][0].get("sm_active_ratio") is None]
    print("frames without a new GPM sample at 10 Hz: %d of 100" % len(empty))
    sys.exit(1 if wrong else 0)


main()
