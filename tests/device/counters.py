"""CUPTI's counters over time and with company.

usage: counters.py [SECONDS]     a soak under load, two programs that want them, and `rooftop release`:
                                 about 95 s
       counters.py soak SECONDS [continuous|burst|off [TYPE N]]
                                 `rooftop record` at 10 Hz for so long, beside products of such matrices,
                                 or else beside whatever runs"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
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
        return gpu.helper_of(self.process.pid)

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


def size_of(recording):
    return sum(os.path.getsize(path) for path in (recording, recording + "-wal")
               if os.path.exists(path))


def describe_clocks(frames):
    """NVML's clock, which is that of a moment, beside the effective one, a mean since the frame before."""
    both = [(gpu_["sm_clock_hertz"] / 1e6, gpu_["effective_clock_hertz"] / 1e6) for _, gpu_ in frames
            if gpu_["sm_clock_hertz"] and gpu_["effective_clock_hertz"] and (gpu_["graphics_active_ratio"] or 0) > 0.9]
    if len(both) < 20:
        return
    for name, clocks in (("NVML's", [nvml for nvml, _ in both]), ("effective", [clock for _, clock in both])):
        print("  clock, %s: %.0f MHz, standard deviation %.0f, %.0f to %.0f" % (
            name, statistics.fmean(clocks), statistics.stdev(clocks), min(clocks), max(clocks)))
    tenth = len(both) // 10
    means = [statistics.fmean(clock / nvml for nvml, clock in both[i * tenth:(i + 1) * tenth]) for i in range(10)]
    print("  effective over NVML's, tenth by tenth: %s" % " ".join("%.3f" % mean for mean in means))
    if len({nvml for nvml, _ in both}) > 1 and len({clock for _, clock in both}) > 1:
        print("  their correlation: %.2f" % statistics.correlation(*zip(*both)))


def describe_recording(path, mode, seconds):
    frames = [(f["time"], f["gpus"][0]) for f in gpu.stat("replay:%s@max" % path)]
    with_clock = [time for time, gpu_ in frames if gpu_["effective_clock_hertz"] is not None]
    busy, known = gpu.busy_with_clock(gpu_ for _, gpu_ in frames)
    fresh = sum((gpu_["counters_age_seconds"] or 0) < 0.35 for _, gpu_ in frames
                if gpu_["effective_clock_hertz"] is not None)
    gap = max((b - a for a, b in zip(with_clock, with_clock[1:])), default=float("nan"))
    longest = max((b[0] - a[0] for a, b in zip(frames, frames[1:])), default=float("nan"))
    print("%s, %.0f s: %d frames, longest gap %.2f s; %d with the effective clock, longest gap %.2f s; "
          "%d of them fresh; %d of %d busy frames have it; %s bursts, %s s of a core; %s overflows" % (
              mode, seconds, len(frames), longest, len(with_clock), gap, fresh, known,
              busy, *(gpu.last_known(frames, name) for name in (
                  "counters_sessions_total", "counters_cpu_seconds_total", "counters_overflows_total"))))
    describe_clocks(frames)


def soak_beside(seconds, mode="continuous", kind=None, n=0):
    seconds, load = float(seconds), kind and gpu.product(kind, int(n), 20)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "soak.roof")
        record = subprocess.Popen([gpu.ROOFTOP, "record", "--interval", "0.1", "--clock", mode, "--for",
                                   "%ds" % seconds, "-o", path], stdout=subprocess.DEVNULL)
        time.sleep(min(10, seconds / 4))  # what the start takes is not what an hour takes
        parts, helpers, begin, size = {"rooftop": gpu.Process(record.pid)}, [], time.time(), size_of(path)
        while record.poll() is None:
            helper = gpu.helper_of(record.pid)
            if helper and helper not in helpers:
                helpers.append(helper)
                parts["helper %d" % len(helpers)] = gpu.Process(helper)
            for part in parts.values():
                part.look()
            span, grown = time.time() - begin, size_of(path) - size
            time.sleep(0.5)
        describe_recording(path, mode, seconds)
        for name, part in parts.items():
            print("  %s: %s" % (name, part))
        print("  restarts of the helper: %d; recording: %.1f MB in all, it grew by %.1f MB an hour" % (
            max(len(helpers) - 1, 0), os.path.getsize(path) / 1e6, grown / span * 3600 / 1e6))
        if "OUT" in os.environ:
            shutil.copy(path, os.environ["OUT"])
    if load:
        print("  the load: %d products" % load.done)
        load.stop()
    return record.returncode


def main():
    gpu.require_gpu()
    if sys.argv[1:2] == ["soak"]:
        return soak_beside(*sys.argv[2:])
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
