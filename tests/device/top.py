"""`rooftop top` beside a real GPU: its start, how soon a load is on the screen, its cost, its memory, its processes.

About 80 s. usage: top.py [ROUNDS]"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import gpu
from screen import Screen

HEADER = re.compile(r"^ ?0 .*?\b(?:C|Compute) +([0-9.]+) ?%", re.M)


def compute(screen):
    """The Compute SOL that the first GPU's header shows, in percent, or None."""
    found = HEADER.search("\n".join(screen.lines()[:4]))
    return float(found.group(1)) if found else None


def quiet_product():
    """A load that has run once, and stands still."""
    load = gpu.product("bf16", 4096, 20)
    load.stop()
    return load


def started(test):
    """Seconds from the start of the program until its screen passes the test."""
    begin = time.monotonic()
    screen = Screen()
    drawn = screen.watch(test).wait(10)
    screen.end()
    return drawn - begin if drawn else float("nan")


def show_starts():
    frame = [started(lambda screen: any("rooftop" in line for line in screen.lines()[:1])) for _ in range(5)]
    value = [started(lambda screen: compute(screen) is not None) for _ in range(5)]
    print("start to first frame, 200x60: median %.3f s, worst %.3f s" % (statistics.median(frame), max(frame)))
    print("start to first Compute SOL:   median %.3f s, worst %.3f s" % (statistics.median(value), max(value)))


def show_delays():
    """A load starts at a known instant; when is its first change drawn, and when half of its level?"""
    load = quiet_product()
    screen = Screen(["--interval", "0.1"])
    screen.watch(lambda s: compute(s) is not None).wait(10)
    first, half = [], []
    for i in range(7):
        screen.watch(lambda s: (compute(s) or 0) < 1).wait(5)
        time.sleep(1 + 0.037 * i)  # another place between two samples each time
        changed = screen.watch(lambda s: (compute(s) or 0) >= 1)
        risen = screen.watch(lambda s: (compute(s) or 0) >= 40)
        begin = time.monotonic()
        load.start()
        first.append((changed.wait(3) or float("nan")) - begin)
        half.append((risen.wait(3) or float("nan")) - begin)
        load.stop()
    screen.end()
    for what, seconds in (("changed", first), ("at 40 % or more (bf16 4096)", half)):
        print("load's start to Compute SOL %s: median %.3f s, worst %.3f s: %s" % (
            what, statistics.median(seconds), max(seconds), " ".join("%.3f" % s for s in seconds)))


def cost_of(interval, seconds):
    screen = Screen(["--interval", str(interval)])
    screen.watch(lambda s: compute(s) is not None).wait(10)
    time.sleep(0.3)
    pid = screen.process.pid
    cpu, drawn, begin = gpu.cpu_seconds(pid), screen.byte_count, time.time()
    time.sleep(seconds)
    span = time.time() - begin
    row = {"cpu": 100 * (gpu.cpu_seconds(pid) - cpu) / span, "drawn": (screen.byte_count - drawn) / span}
    row.update({field: gpu.memory_mb(pid, field) for field in ("VmHWM", "VmRSS", "RssAnon", "RssFile")})
    screen.end()
    return row


def show_costs(rounds, seconds=3):
    load = gpu.product("bf16", 1024, 400)
    rows = {0.1: [], 1: []}
    for _ in range(rounds):
        for interval, list_ in rows.items():
            list_.append(cost_of(interval, seconds))
    load.stop()
    print("\n| interval | CPU, % of a core | drawn, B/s | VmHWM, MB | VmRSS | RssAnon | RssFile |\n"
          "|---|---|---|---|---|---|---|")
    for interval, list_ in rows.items():
        columns = []
        for key, digits in (("cpu", 2), ("drawn", 0), ("VmHWM", 1), ("VmRSS", 1), ("RssAnon", 1), ("RssFile", 1)):
            values = [row[key] for row in list_]
            columns.append("%.*f ± %.*f" % (digits, statistics.fmean(values), digits, statistics.pstdev(values)))
        print("| %s s | %s |" % (interval, " | ".join(columns)))


WORKER = """
import sys; sys.path.insert(0, %r)
import time, gpu
load = gpu.product("bf16", int(sys.argv[1]), 50)
print("ready", flush=True)
time.sleep(60)
"""


def mappings(pid):
    """Resident kB of a process by file. What lies right behind a file's mappings is its data."""
    parts, name, end = {}, "", ""
    for line in open("/proc/%d/smaps" % pid):
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            before, (begin, end) = end, words[0].split("-")
            if len(words) > 5:
                name = os.path.basename(words[5])
            elif begin != before or name.startswith("["):
                name = "[anonymous]"
            elif not name.endswith(" data"):
                name += " data"
        elif words[0] == "Rss:":
            parts[name] = parts.get(name, 0) + int(words[1])
    return parts


def show_memory():
    """What is resident in top, in stat, and in a peer."""
    screen = Screen(["--interval", "0.1"])
    others = {"rooftop stat": [gpu.ROOFTOP, "stat", "--interval", "0.1"], "nvidia-smi dmon": ["nvidia-smi", "dmon"]}
    processes = {name: subprocess.Popen(command, stdout=subprocess.DEVNULL) for name, command in others.items()
                 if shutil.which(command[0])}
    time.sleep(3)
    columns = {"rooftop top": mappings(screen.process.pid)}
    columns.update({name: mappings(process.pid) for name, process in processes.items()})
    screen.end()
    for process in processes.values():
        gpu.end(process)
    print("\n| resident, kB | %s |\n|---|%s" % (" | ".join(columns), "---|" * len(columns)))
    for name in sorted(columns["rooftop top"], key=columns["rooftop top"].get, reverse=True)[:16]:
        print("| %s | %s |" % (name, " | ".join(str(column.get(name, "")) for column in columns.values())))
    print("| all | %s |" % " | ".join(str(sum(column.values())) for column in columns.values()))


def show_processes():
    import pynvml

    workers = [subprocess.Popen([sys.executable, "-c", WORKER % gpu.HERE, n], stdout=subprocess.PIPE)
               for n in ("4096", "1024")]
    for worker in workers:
        worker.stdout.readline()
    print("\nthe processes:", [worker.pid for worker in workers])
    screen = Screen(["--interval", "0.1"], 120, 40)
    time.sleep(3)
    print("\n".join(screen.lines()[-14:]))
    screen.end()
    print(subprocess.run([gpu.ROOFTOP, "top", "--once", "--size", "120x40", "--no-prefs"],
                         capture_output=True, text=True).stdout)
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    for what, ask in (
        ("nvmlDeviceGetProcessUtilization", lambda: pynvml.nvmlDeviceGetProcessUtilization(handle, 0)),
        ("nvmlDeviceGetComputeRunningProcesses", lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle)),
    ):
        try:
            print(what, [str(entry).replace("\n", " ") for entry in ask()][-6:])
        except pynvml.NVMLError as error:
            print(what, error)
    for worker in workers:
        worker.kill()


def main():
    gpu.require_gpu()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for step in (show_starts, show_delays, lambda: show_costs(rounds), show_memory, show_processes):
        begin = time.time()
        step()
        print("(%.0f s)" % (time.time() - begin), flush=True)


main()
