"""The ceilings of this GPU in several runs with their spread, then the counters beside known work.

usage: ceilings.py [RUNS]

A run takes 35 to 45 s on an H200, --verify too, which comes second: what a call that ends early leaves is whole
from then on. $OUT/ceilings (here: ./ceilings-out) gets the JSON of each run and of
--verify, the store, and what `rooftop doctor` says; tests/tools/ship_ceilings.sh makes the shipped
ceilings from that folder."""
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a context of this process would count as other work
import gpu

OUT = pathlib.Path(os.environ["OUT"], "ceilings") if "OUT" in os.environ else pathlib.Path("ceilings-out")


def calibrate(name, arguments=()):
    """What the first GPU did, which also lies in a file of that name; None after a failure."""
    start = time.time()
    command = [gpu.ROOFTOP, "calibrate", "--gpu", "0", "--format", "json", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    print("%s: exit %d after %.1f s %s" % (name, result.returncode, time.time() - start, result.stderr), flush=True)
    (OUT / (name + ".json")).write_text(result.stdout)
    return json.loads(result.stdout) if result.returncode == 0 else None


def number(value, scale=1.0, digits=0):
    return "-" if value is None else "%.*f" % (digits, value / scale)


def print_ceilings(results):
    found = {}
    for result in results:
        for ceiling in result["ceilings"]:
            found.setdefault(ceiling["ceiling"], []).append(ceiling)
    print("%-12s %12s %9s %9s %9s %7s %7s  %s" % ("ceiling", "median", "spread, %", "of runs, %", "counter, %",
                                                  "MHz", "W", "how"))
    for name, rows in found.items():
        values = sorted(row["value"] for row in rows)
        median = values[(len(values) - 1) // 2]
        row = next(row for row in rows if row["value"] == median)
        print("%-12s %12.5g %9.2f %9.2f %9s %7s %7s  %s" % (
            name, median, 100 * max(row["spread_ratio"] for row in rows), 100 * (values[-1] - values[0]) / median,
            number(row["counter_ratio"], 0.01, 2), number(row["clock_hertz"], 1e6), number(row["power_watts"]),
            row["how"]))
    for name, why in results[0]["missing"].items():
        print("%-12s not measured: %s" % (name, why))


def print_errors(result):
    print("\n%-12s %-28s %12s %12s %9s %7s" % ("work", "counter", "true", "counted", "error", "samples"))
    for row in result["errors"]:
        if row["counted"] is not None:
            points = "error_points" in row
            error = row["error_points" if points else "error_percent"]
            print("%-12s %-28s %12.5g %12.5g %+6.2f %-2s %7d  %s" % (
                row["ceiling"], row["metric"], row["true"], row["counted"], error, "pt" if points else "%",
                row["samples"], row["note"] or ""))


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    gpu.require_gpu()
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_DATA_HOME"] = str(OUT)
    doctor = subprocess.run([gpu.ROOFTOP, "doctor"], capture_output=True, text=True)
    (OUT / "doctor.txt").write_text(doctor.stdout + doctor.stderr)
    results = [calibrate("run-1")]
    verified = calibrate("verify", ["--verify"])
    results += [calibrate("run-%d" % i) for i in range(2, runs + 1)]
    done = [result for result in results if result]
    if done:
        print_ceilings(done)
    if verified:
        print_errors(verified)
    raise SystemExit(0 if verified and len(done) == runs else 1)


main()
