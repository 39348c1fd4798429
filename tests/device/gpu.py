"""What the tests on a real GPU share. Each prints its figures; without a GPU it says so and ends."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

ROOFTOP = os.environ.get("ROOFTOP", "rooftop")
HERE = os.path.dirname(os.path.abspath(__file__))


def require_gpu():
    if "gvisor" in open("/proc/version").read().lower() or os.uname().release.startswith("4.4.0"):
        print("skipped: gVisor, whose sandbox hides the counters")
        sys.exit(0)
    try:
        import torch

        if torch.cuda.is_available():
            return
    except ImportError:
        pass
    print("skipped: no GPU")
    sys.exit(0)


def workload(name):
    """A script of the workloads folder, which `./dev carry` puts beside these tests."""
    for folder in (os.environ.get("WORKLOADS", ""), os.path.join(HERE, "..", "workloads"),
                   os.path.join(HERE, "..", "..", "..", "shared", "workloads")):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    sys.exit("tests/device: workload %s is not there; set WORKLOADS" % name)


def stat(source=None, interval=0.1, count=None, extra=()):
    """The objects that `rooftop stat --format json` prints."""
    command = [ROOFTOP, "stat", "--format", "json", "--interval", str(interval), *extra]
    if source:
        command += ["--source", source]
    if count:
        command += ["--count", str(count)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def cpu_seconds(pid):
    """CPU time of all threads, to the nanosecond (schedstat), of a living process."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            total += int(open("/proc/%d/task/%s/schedstat" % (pid, task)).read().split()[0])
        except OSError:
            pass
    return total / 1e9


def memory_mb(pid, field="VmHWM"):
    for line in open("/proc/%d/status" % pid):
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    return float("nan")


def helper_of(parent):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = open("/proc/%s/status" % pid).read()
        except OSError:
            continue
        if "Name:\trooftop-counter" in status and "PPid:\t%d\n" % parent in status:
            return int(pid)
    return None


class Process:
    """What a process took, looked at now and then, because it may end."""

    def __init__(self, pid):
        self.pid, self.start, self.span = pid, time.time(), 1e-9
        self.first_cpu = self.cpu = cpu_seconds(pid)
        self.first_memory = self.memory = memory_mb(pid, "VmRSS")

    def look(self):
        try:
            self.cpu, self.memory = cpu_seconds(self.pid), memory_mb(self.pid, "VmRSS")
            self.span = time.time() - self.start
        except OSError:
            pass

    def percent(self):
        return 100 * (self.cpu - self.first_cpu) / self.span

    def __str__(self):
        return "%.2f %% of a core, resident %.1f MB, then %.1f MB" % (
            self.percent(), self.first_memory, self.memory)


def busy_with_clock(frames):
    """How many frames are of a GPU that works, and how many of those have an effective clock."""
    busy = [frame for frame in frames if (frame["graphics_active_ratio"] or 0) >= 0.01]
    return len(busy), sum(frame["effective_clock_hertz"] is not None for frame in busy)


def last_known(frames, name):
    """The last value of a total in (time, frame) pairs."""
    return next((frame[name] for _, frame in reversed(frames) if frame[name] is not None), "unknown")


def end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Load:
    """A CUDA graph replayed by a thread of this process; counts what it did."""

    def __init__(self, step, repeats, flop=0, byte_count=0, start=True):
        import torch

        self.torch = torch
        self.step = step  # holds the tensors: the next graph's capture frees what nobody holds
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), torch.cuda.graph(self.graph, stream=stream):
            for _ in range(repeats):
                step()
        self.repeats, self.flop, self.byte_count = repeats, flop, byte_count
        self.done = 0
        self.running = False
        if start:
            self.start()

    def start(self):
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.running:
            self.graph.replay()
            self.torch.cuda.synchronize()
            self.done += self.repeats

    def stop(self):
        self.running = False
        self.thread.join()


def product_step(kind, n):
    """A function that multiplies two square matrices of a type."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    if kind == "int8":
        a, b = (torch.randint(-8, 8, (n, n), device="cuda", dtype=torch.int8) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())
    if kind == "fp8":
        a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}.get(kind, torch.float32)
    a = torch.randn(n, n, device="cuda", dtype=dtype)
    b = torch.randn_like(a)
    c = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=c)


def product(kind, n, repeats, start=True):
    return Load(product_step(kind, n), repeats, flop=2 * n**3, start=start)


def known_peak(kind, clock):
    """FLOP/s that an H200 reaches in a type at a clock in hertz."""
    if kind in ("fp32", "fp64"):
        return 132 * 256 * clock  # FP64 in its tensor cores
    at_datasheet = {"bf16": 989.4e12, "fp16": 989.4e12, "tf32": 494.7e12, "fp8": 1978.9e12,
                    "int8": 1978.9e12}
    return at_datasheet[kind] / 1830e6 * clock
