"""What watching costs: the watched work's speed, GPU power, and the watcher's own CPU and memory.

Interleaved: in each round the load runs alone and beside each watcher in turn.
usage: cost.py [ROUNDS] [SECONDS]"""
import os
import shutil
import statistics
import subprocess
import sys
import time

import gpu
from screen import Screen

LOADS = (("tf32", 256, 400), ("bf16", 1024, 400))


def watchers():
    quiet = [gpu.ROOFTOP, "stat", "--format", "json"]
    found = {
        "alone": None,
        "rooftop stat 1 Hz": quiet + ["--interval", "1"],
        "rooftop stat 10 Hz": quiet + ["--interval", "0.1"],
        "rooftop top 1 Hz": [gpu.ROOFTOP, "top", "--interval", "1"],
        "rooftop top 10 Hz": [gpu.ROOFTOP, "top", "--interval", "0.1"],
    }
    for extra in os.environ.get("COST_EXTRA", "").split(";"):
        if extra.strip():
            found["rooftop " + extra.strip()] = [gpu.ROOFTOP] + extra.split()
    if shutil.which("nvidia-smi"):
        found["nvidia-smi dmon 1 Hz"] = ["nvidia-smi", "dmon", "-d", "1"]
    return found


def launch(command):
    """The watcher, and for `top` its screen of 200x60."""
    if command[1] == "top":
        screen = Screen(command[2:])
        return screen.process, screen
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=quiet, stderr=quiet), None


def window(load, command, seconds, handle):
    import pynvml

    process = None
    if command:
        process, screen = launch(command)
        time.sleep(1.0)
        if process.poll() is not None:
            raise SystemExit("%s ended with %d" % (command, process.returncode))
        cpu, before = gpu.cpu_seconds(process.pid), screen.byte_count if screen else 0
    done, energy, start = load.done, pynvml.nvmlDeviceGetTotalEnergyConsumption(handle), time.time()
    time.sleep(seconds)
    span = time.time() - start
    row = {
        "rate": (load.done - done) * load.flop / span / 1e12,
        "watts": (pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) - energy) / 1000 / span,
    }
    if process:
        row["cpu"] = 100 * (gpu.cpu_seconds(process.pid) - cpu) / span
        row["rss"] = gpu.memory_mb(process.pid)
        if screen:
            row["drawn"] = (screen.byte_count - before) / span
        gpu.end(process)
    return row


def first_record(interval):
    """Seconds from the start of the program to its first line."""
    start = time.time()
    process = subprocess.Popen([gpu.ROOFTOP, "stat", "--format", "json", "--interval", str(interval)],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    seconds = time.time() - start
    process.stdout.close()
    gpu.end(process)
    return seconds


def spread(values, digits=2):
    if len(values) < 2:
        return "%.*f" % (digits, values[0]) if values else ""
    return "%.*f ± %.*f" % (digits, statistics.fmean(values), digits, statistics.stdev(values))


def main():
    gpu.require_gpu()
    import pynvml

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    print("first record: interval 0.1 s: %s s; interval 1 s: %s s" % (
        spread([first_record(0.1) for _ in range(5)], 3), spread([first_record(1) for _ in range(5)], 3)))
    for kind, n, repeats in LOADS[: int(os.environ.get("COST_LOADS", "2"))]:
        load = gpu.product(kind, n, repeats)
        time.sleep(2)
        rows = {name: [] for name in watchers()}
        for _ in range(rounds):
            for name, command in watchers().items():
                rows[name].append(window(load, command, seconds, handle))
        load.stop()
        print("\n%s %d, %d rounds of %.0f s, mean ± standard deviation\n" % (kind, n, rounds, seconds))
        print("| beside | TFLOP/s | W | CPU, % of a core | peak resident, MB | drawn, B/s |")
        print("|---|---|---|---|---|---|")
        for name, list_ in rows.items():
            print("| %s | %s | %s | %s | %s | %s |" % (
                name, spread([r["rate"] for r in list_], 3), spread([r["watts"] for r in list_], 1),
                spread([r["cpu"] for r in list_ if "cpu" in r]),
                spread([r["rss"] for r in list_ if "rss" in r], 1),
                spread([r["drawn"] for r in list_ if "drawn" in r], 0)), flush=True)


main()
