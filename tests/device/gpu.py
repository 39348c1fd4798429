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


def end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Load:
    """A CUDA graph replayed by a thread of this process; counts what it did."""

    def __init__(self, step, repeats, flop=0, byte_count=0):
        import torch

        self.torch = torch
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


def product(kind, n, repeats):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    a = torch.randn(n, n, device="cuda", dtype=dtype)
    b = torch.randn_like(a)
    c = torch.empty_like(a)
    return Load(lambda: torch.matmul(a, b, out=c), repeats, flop=2 * n**3)
