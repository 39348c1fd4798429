"""The ceilings of this GPU in several runs with their spread, then the counters beside known work.

usage: ceilings.py [RUNS]"""
import json
import os
import subprocess
import sys
import tempfile

import gpu


def run(arguments):
    """The JSON object of the first GPU."""
    command = [gpu.ROOFTOP, "calibrate", "--gpu", "0", "--format", "json"] + arguments
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[0])


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    gpu.require_gpu()
    os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp()
    found = {}
    for _ in range(runs):
        for ceiling in run([])["ceilings"]:
            found.setdefault(ceiling["ceiling"], []).append(ceiling)
    print("%-12s %12s %9s %9s %9s %7s %7s  %s" % ("ceiling", "median", "spread, %", "of runs, %", "counter",
                                                  "MHz", "W", "how"))
    for name, rows in found.items():
        values = sorted(row["value"] for row in rows)
        median = values[len(values) // 2]
        row = rows[-1]
        print("%-12s %12.5g %9.2f %9.2f %9s %7s %7s  %s" % (
            name, median, 100 * max(row["spread_ratio"] for row in rows), 100 * (values[-1] - values[0]) / median,
            row["counter_ratio"], row["clock_hertz"] and round(row["clock_hertz"] / 1e6),
            row["power_watts"] and round(row["power_watts"]), row["how"]))
    print()
    subprocess.run([gpu.ROOFTOP, "calibrate", "--gpu", "0", "--verify"], check=True)


main()
