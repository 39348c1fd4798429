"""What tells the older tensor path (mma.sync) from the newer one (wgmma): loads from shared memory for
each cycle in which a tensor pipe is busy, beside how much of the pipe's activity was FLOPs.

usage: tensor.py [LOAD…]        all loads without one: about 70 s
Prints a Markdown table, and what the counters of loads cost beside two of the loads; the figures as
JSON go to $OUT/tensor.json."""
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time

import gpu
import old_path

SECONDS = 1.0
SMS = 132
OF_PEAK = ".avg.pct_of_peak_sustained_elapsed"
CLOCK = "gpc__cycles_elapsed.avg.per_second"
PIPE = "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime"
TENSOR = PIPE + OF_PEAK
# what a burst reads on Hopper
BURST = [CLOCK, "LTS.TriageCompute.lts__throughput" + OF_PEAK,
         "TPC.TriageCompute.sm__inst_executed_realtime" + OF_PEAK,
         "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second", TENSOR]
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum.per_second"
LOADS = "sm__inst_executed_pipe_lsu_mem_shared_cmd_read.sum.per_second"
XU = "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime" + OF_PEAK
# The same counters otherwise summed up: do the parts of the chip differ in clock, and is the busy time
# that of the FLOPs?
SLOWEST, FASTEST = (CLOCK.replace(".avg", which) for which in (".min", ".max"))
BUSY_CYCLES = PIPE + ".sum.per_second"
ALL = BURST + [WAVEFRONTS, LOADS, SLOWEST, FASTEST, BUSY_CYCLES]


class Series:
    """cupti_series in the background, with the time at which each line came."""

    def __init__(self):
        self.lines = []
        self.process = subprocess.Popen(series_command(300, 0.1, 0.1, 128, ALL),
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def wait(self):
        until = time.time() + 15
        while not self.lines and self.process.poll() is None and time.time() < until:
            time.sleep(0.05)
        if not self.lines:
            sys.exit("tensor: no counters")

    def between(self, begin, end):
        return [line for line in self.lines
                if begin + 0.1 < line["time"] <= end and line["samples"] and None not in line["values"]]

    def end(self):
        gpu.end(self.process)


def series_command(seconds, each, interval, mib, names):
    return [os.path.join(gpu.HERE, "cupti_series"), *map(str, (seconds, each, interval, mib)), *names]


def attention(backend=None):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    batch, heads, length, width = 4, 16, 8192, 128
    q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16)
               for _ in range(3))

    def step():
        if backend is None:
            return scaled_dot_product_attention(q, k, v, is_causal=True)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    return step, 4, 2 * batch * heads * length**2 * width, "bf16"  # the half below the diagonal


def square(kind, n):
    repeats = 400 if n <= 1024 else 5
    return gpu.product_step(kind, n), repeats, 2 * n**3, kind


def unaligned():
    import torch

    n = 4095  # whose rows wgmma's loads cannot take
    a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    return lambda: a @ a, 5, 2 * n**3, "bf16"


def batched():
    import torch

    a = torch.randn(4096, 128, 128, device="cuda", dtype=torch.bfloat16)
    return lambda: torch.bmm(a, a), 20, 2 * 4096 * 128**3, "bf16"


def convolution():
    import torch

    x = torch.randn(64, 256, 56, 56, device="cuda", dtype=torch.bfloat16)
    layer = torch.nn.Conv2d(256, 256, 3, padding=1, bias=False, device="cuda", dtype=torch.bfloat16)
    x = x.to(memory_format=torch.channels_last)
    layer = layer.to(memory_format=torch.channels_last).requires_grad_(False)
    return lambda: layer(x), 5, 2 * 64 * 56 * 56 * 256 * 256 * 9, "bf16"


def matrices(*shapes):
    import torch

    return [torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02 for shape in shapes]


def fused_gelu():
    import torch

    n = 4096
    bias, x, w = matrices((n,), (n, n), (n, n))
    return lambda: torch._addmm_activation(bias, x, w, use_gelu=True), 5, 2 * n**3, "bf16"


def linear_gelu():
    from torch.nn.functional import gelu, linear

    n = 4096
    bias, x, w = matrices((n,), (n, n), (n, n))
    return lambda: gelu(linear(x, w, bias)), 5, 2 * n**3, "bf16"


def softmax_mix():
    n = 4096
    x, w = matrices((n, n), (n, n))
    return lambda: (x @ w).softmax(-1) @ w, 3, 4 * n**3, "bf16"


def prefill():
    """A layer of Llama-3.1-8B with 8192 tokens, as in workloads/phases.py."""
    import torch.nn.functional as F

    tokens, hidden, inner, heads, groups, width = 8192, 4096, 14336, 32, 8, 128
    wide = (heads + 2 * groups) * width
    x, norm, qkv, out, gate, down = matrices((1, tokens, hidden), (hidden,), (hidden, wide),
                                             (hidden, hidden), (hidden, 2 * inner), (inner, hidden))

    def step():
        h = F.rms_norm(x, (hidden,), norm)
        parts = (h @ qkv).split([heads * width, groups * width, groups * width], -1)
        q, k, v = (p.view(1, tokens, -1, width).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        z = x + y.transpose(1, 2).reshape(1, tokens, hidden) @ out
        g, u = (F.rms_norm(z, (hidden,), norm) @ gate).chunk(2, -1)
        return z + (F.silu(g) * u) @ down

    flop = 2 * tokens * hidden * (wide + hidden + 3 * inner) + 2 * heads * tokens**2 * width
    return step, 1, flop, "bf16"


def lora():
    """A frozen product with a low-rank one beside it, forward and the input's gradient."""
    import torch.nn.functional as F

    n, rank = 4096, 8
    x, w, down, up, gradient = matrices((n, n), (n, n), (n, rank), (rank, n), (n, n))

    def step():
        y = x @ w + (F.dropout(x, 0.05) @ down) @ up * 2
        return y, gradient @ w.t() + (gradient @ up.t()) @ down.t() * 2

    return step, 3, 2 * (2 * n**3 + 4 * n * n * rank), "bf16"


def pure(loads):
    import torch

    step, flop = old_path.step(torch, loads, 4096)
    return step, 20, flop, "bf16"


def triton_product(rows, columns, warps):
    """Triton takes wgmma for blocks of 64 rows for each four warps, mma.sync for smaller ones."""
    import triton_product as module

    return module.product(4096, rows, columns, warps)


KNOWN = {
    "tf32 256": lambda: square("tf32", 256),
    "tf32 1024": lambda: square("tf32", 1024),
    "int8 8192": lambda: square("int8", 8192),
    "bf16 256": lambda: square("bf16", 256),
    "bf16 1024": lambda: square("bf16", 1024),
    "bf16 4096": lambda: square("bf16", 4096),
    "bf16 8192": lambda: square("bf16", 8192),
    "bf16 4095": unaligned,
    "bf16 4096 x 128": batched,
    "fp8 8192": lambda: square("fp8", 8192),
    "fp64 4096": lambda: square("fp64", 4096),
    "conv 3x3": convolution,
    "attention": attention,
    "attention, flash": lambda: attention("FLASH_ATTENTION"),
    "attention, cuDNN": lambda: attention("CUDNN_ATTENTION"),
    "gelu fused": fused_gelu,
    "linear + gelu": linear_gelu,
    "product + softmax": softmax_mix,
    "prefill layer": prefill,
    "LoRA step": lora,
    "mma.sync, registers": lambda: pure(0),
    "mma.sync, 1 ldmatrix / 4": lambda: pure(1),
    "mma.sync, 2 ldmatrix / 4": lambda: pure(2),
    "Triton 128x128": lambda: triton_product(128, 128, 8),
    "Triton 32x64": lambda: triton_product(32, 64, 4),
}


def look(series, name):
    import torch

    step, repeats, flop, kind = KNOWN[name]()
    load = gpu.Load(step, repeats, flop)
    time.sleep(0.3)
    done, begin = load.done, time.time()
    time.sleep(SECONDS)
    done, end = load.done - done, time.time()
    load.stop()
    torch.cuda.empty_cache()
    lines = series.between(begin, end)
    if not lines:
        return None
    value = {key: statistics.fmean(line["values"][i] for line in lines) for i, key in enumerate(ALL)}
    clock = value[CLOCK]
    busy = value[TENSOR] / 100 * clock * SMS
    rate = done * flop / (end - begin)
    truth = 100 * rate / gpu.known_peak(kind, clock)
    return {
        "load": name, "kind": kind, "tensor": value[TENSOR], "truth": truth,
        "rate": truth / value[TENSOR] if value[TENSOR] > 0 else math.nan,
        "wavefronts": value[WAVEFRONTS] / busy if busy > 0 else math.nan,
        "loads": value[LOADS] / busy if busy > 0 else math.nan,
        "flop_per_busy_cycle": rate / value[BUSY_CYCLES] if value[BUSY_CYCLES] else math.nan,
        "clock": clock, "slowest": value[SLOWEST], "fastest": value[FASTEST], "samples": len(lines),
        "overflows": sum(line["overflow"] for line in series.lines if begin < line["time"] <= end),
        "decoding": max(line["decoding"] for line in lines),
    }


def cost(name):
    """Of the sets at 10 Hz, and of a burst of 0.2 s as the helper makes it, beside a load."""
    step, repeats, flop, _ = KNOWN[name]()
    load = gpu.Load(step, repeats, flop)
    sets = {"burst set": BURST, "+ wavefronts": BURST + [WAVEFRONTS], "+ loads": BURST + [LOADS],
            "+ wavefronts, XU": BURST + [WAVEFRONTS, XU]}
    for words, names in sets.items():
        text = ["%-12s %-17s" % (name, words)]
        for each, interval, mib in ((0.1, 0.1, 64), (0.2, 0.05, 16)):
            seconds = 0.6 if each < 0.2 else 0.2
            out = subprocess.run(series_command(seconds, each, interval, mib, names),
                                 capture_output=True, text=True)
            lines = [json.loads(line) for line in out.stdout.splitlines()]
            if lines:
                text.append("each %.1f s, %2d MiB: %5.1f ms to decode, %d samples, %d overflows" % (
                    each, mib, 1e3 * statistics.fmean(line["decoding"] for line in lines),
                    lines[-1]["samples"], sum(line["overflow"] for line in lines)))
            else:
                text.append(out.stderr.strip())
        print("; ".join(text), flush=True)
    load.stop()


def main():
    gpu.require_gpu()
    names = sys.argv[1:] or list(KNOWN)
    series, rows = Series(), []
    series.wait()
    print("| load | tensor pipe % | FLOP truth % | truth / pipe | wavefronts a busy cycle | loads a busy cycle | FLOP a busy cycle | clock, MHz | of the slowest, fastest part | decoding, ms | overflows |")
    print("|---|" + "---|" * 10)
    for name in names:
        try:
            row = look(series, name)
        except Exception as error:
            print("skipped: %s: %s" % (name, str(error).splitlines()[0][:200] if str(error) else repr(error)), flush=True)
            continue
        if row is None:
            print("skipped: %s: no samples" % name, flush=True)
            continue
        rows.append(row)
        print("| %s | %.2f | %.2f | %.3f | %.3f | %.3f | %.0f | %.0f | %.0f, %.0f | %.1f | %d |" % (
            name, row["tensor"], row["truth"], row["rate"], row["wavefronts"], row["loads"],
            row["flop_per_busy_cycle"], row["clock"] / 1e6, row["slowest"] / 1e6, row["fastest"] / 1e6, 1e3 * row["decoding"], row["overflows"]), flush=True)
    series.end()
    if "OUT" in os.environ:
        with open(os.path.join(os.environ["OUT"], "tensor.json"), "w") as file:
            json.dump(rows, file, indent=1)
    if not sys.argv[1:]:
        for name in ("bf16 4096", "int8 8192"):
            cost(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
