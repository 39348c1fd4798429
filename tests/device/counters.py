"""CUPTI's counters over time and with company: a soak under load, two programs that want them, and
`rooftop release`. About 95 s.

usage: counters.py [SOAK-SECONDS]"""
import json
import os
import subprocess
import sys
import time

import gpu


class Watcher:
    """`rooftop stat` in the background; its frames with the time at which each was read."""

    def __init__(self, *arguments):
        command = [gpu.ROOFTOP, "stat", "--format", "json", "--interval", "0.1", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def frames(self, seconds):
        until = time.time() + seconds
        while time.time() < until:
            line = self.process.stdout.readline()
            if not line:
                return
            yield time.time(), json.loads(line)["gpus"][0]

    def helper(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                status = open("/proc/%s/status" % pid).read()
            except OSError:
                continue
            if "Name:\trooftop-counter" in status and "PPid:\t%d\n" % self.process.pid in status:
                return int(pid)
        return None

    def seconds_until(self, known, limit):
        """Until a frame has the effective clock, or has it not; None where that does not come."""
        start = time.time()
        for when, frame in self.frames(limit):
            if (frame["effective_clock_hertz"] is not None) == known:
                return when - start
        return None

    def end(self):
        self.process.stdout.close()
        gpu.end(self.process)


def words(seconds):
    return "never" if seconds is None else "%.2f s" % seconds


def soak(seconds):
    watcher = Watcher("--source", "cupti")
    print("first value after %s" % words(watcher.seconds_until(True, 10)))
    helper = watcher.helper()
    cpu, start = gpu.cpu_seconds(helper), time.time()
    own = gpu.cpu_seconds(watcher.process.pid)
    frames, known, clocks, overflows, gap, last = 0, 0, [], 0, 0.0, None
    for when, frame in watcher.frames(seconds):
        frames += 1
        overflows = frame["counters_overflows_total"]
        if frame["effective_clock_hertz"] is None:
            continue
        known += 1
        clocks.append(frame["effective_clock_hertz"])
        gap = max(gap, when - last) if last else gap
        last = when
    span = time.time() - start
    print("soak of %.0f s: %d frames, %d with the effective clock, longest gap %.2f s, %s overflows"
          % (span, frames, known, gap, overflows))
    print("effective clock %.0f MHz (%.0f to %.0f)"
          % (sum(clocks) / len(clocks) / 1e6, min(clocks) / 1e6, max(clocks) / 1e6))
    print("helper %.2f %% of a core, %.0f MB resident (peak); rooftop %.2f %%"
          % (100 * (gpu.cpu_seconds(helper) - cpu) / span, gpu.memory_mb(helper),
             100 * (gpu.cpu_seconds(watcher.process.pid) - own) / span))
    watcher.end()
    return known >= 0.99 * frames and overflows == 0


def two_holders():
    first = Watcher("--source", "cupti")
    first.seconds_until(True, 10)
    second = Watcher("--source", "cupti")
    held = list(frame for _, frame in second.frames(3))
    doctor = subprocess.run([gpu.ROOFTOP, "doctor"], capture_output=True, text=True).stdout
    told = "another program holds" in doctor
    print("while another holds them: %d frames, %d with the clock, %d with GPM; doctor says so: %s"
          % (len(held), sum(f["effective_clock_hertz"] is not None for f in held),
             sum(f["sm_active_ratio"] is not None for f in held), told))
    for line in doctor.splitlines():
        if "rooftop-counter" in line:
            print("  doctor: " + line.strip())
    first.end()
    back = second.seconds_until(True, 15)
    print("after the first has ended the second has the clock within %s" % words(back))
    second.end()
    return told and back is not None


def release():
    first = Watcher("--source", "cupti")
    first.seconds_until(True, 10)
    print(subprocess.run([gpu.ROOFTOP, "release", "--for", "6s"], capture_output=True,
                         text=True).stdout.strip())
    gone = first.seconds_until(False, 3)
    second = Watcher("--source", "cupti", "--count", "30")
    taken = second.seconds_until(True, 5)
    second.end()
    back = first.seconds_until(True, 12)
    print("released within %s; another took them within %s; they were back after %s"
          % (words(gone), words(taken), words(back)))
    first.end()
    return None not in (gone, taken, back)


def main():
    gpu.require_gpu()
    load = gpu.product("bf16", 4096, 20)
    time.sleep(1)
    good = soak(float(sys.argv[1]) if len(sys.argv) > 1 else 55)
    good = two_holders() and good
    good = release() and good
    load.stop()
    print("counters: %s" % ("as expected" if good else "NOT as expected"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
