"""What tells the older tensor path (mma.sync) from the newer one (wgmma): counters for each cycle in
which a tensor pipe is busy, beside the FLOPs of such a cycle, which are the truth.

usage: tensor.py [LOAD…]        ten loads without one, about 75 s; `tensor.py all` takes all, 165 s
Prints two Markdown tables; the figures as JSON go to $OUT/tensor.json. The sets of counters take
turns beside each load, because some spoil each other: docs/COUNTERS.md."""
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

SECONDS = 5.9  # each set has its turn once
SUM, OF_PEAK = ".sum.per_second", ".avg.pct_of_peak_sustained_elapsed"
CLOCK = "gpc__cycles_elapsed.avg.per_second"
PIPE = "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime"
BASE = [CLOCK, PIPE + SUM, PIPE + OF_PEAK]
LD = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld" + SUM
XU = "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime" + OF_PEAK
LOADS = "sm__inst_executed_pipe_lsu_mem_shared_cmd_read" + SUM
ISSUED = "TPC.TriageCompute.sm__inst_executed_realtime"
# what a burst reads on Hopper, beside the first set
BURST = ["LTS.TriageCompute.lts__throughput" + OF_PEAK, ISSUED + OF_PEAK,
         "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"]
# All pipes whose instructions one pass counts; a tensor core's take two passes, but are what is left.
PIPES = ["TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime" + SUM,
         "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime" + SUM,
         "sm__inst_executed_pipe_uniform" + SUM, "sm__inst_executed_pipe_lsu" + SUM,
         "sm__inst_executed_pipe_cbu" + SUM]
SETS = {  # its words: the counter that stands in the table, and what is counted with it
    "burst set": (None, BURST),
    "burst set, ld": (None, BURST + [LD]),
    "burst set, ld, XU": (LD, BURST + [LD, XU]),
    "ld, XU": (LD, [LD, XU]),  # as bursts count them since then
    "ld and its instructions": (LOADS, [LOADS, LD]),
    "shared": ("l1tex__data_pipe_lsu_wavefronts_mem_shared" + SUM, []),
    "shared misc": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_misc" + SUM, []),
    "shared st": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st" + SUM, []),
    "bank reads": ("l1tex__data_bank_reads" + SUM, []),
    "pipe shared": ("sm__pipe_shared_cycles_active_realtime" + SUM, []),
    "uniform": ("sm__inst_executed_pipe_uniform" + SUM, []),
    "instructions": (ISSUED + SUM, []),
    "other pipes": (ISSUED + SUM, PIPES),
}
FULL_RATE = {"tf32": 512, "bf16": 1024, "fp16": 1024, "fp8": 2048, "int8": 2048, "fp64": 64}
FEW = ("tf32 256", "tf32 1024", "int8 8192", "bf16 256", "bf16 8192", "bf16 4095", "attention",
       "attention, flash", "Triton 128x128", "Triton 32x64")


def names_of(sets):
    return [list(dict.fromkeys(BASE + ([counter] if counter else []) + others))
            for counter, others in sets.values()]


class Series:
    """cupti_series in the background."""

    def __init__(self, counters):
        self.lines, self.counters, self.names = [], counters, names_of(counters)
        sets = " -- ".join(" ".join(names) for names in self.names).split()
        self.process = subprocess.Popen([os.path.join(gpu.HERE, "cupti_series"), "600", "0.1", "0.05",
                                         "64", *sets], stdout=subprocess.PIPE, text=True)
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

    def between(self, number, begin, end):
        return [line for line in self.lines if line["set"] == number and begin + 0.1 < line["time"] <= end
                and line["samples"] and None not in line["values"]]

    def end(self):
        gpu.end(self.process)


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


def means_of(lines, names):
    return {name: statistics.fmean(line["values"][i] for line in lines) for i, name in enumerate(names)}


def look(series, name, seconds=SECONDS):
    import torch

    step, repeats, flop, kind = KNOWN[name]()
    load = gpu.Load(step, repeats, flop)
    time.sleep(0.3)
    done, begin = load.done, time.time()
    time.sleep(seconds)
    done, end = load.done - done, time.time()
    load.stop()
    torch.cuda.empty_cache()
    rate = done * flop / (end - begin)
    row = {"load": name, "kind": kind, "rate": rate, "sets": {}}
    busy = []
    for number, (words, (counter, _)) in enumerate(series.counters.items()):
        lines = series.between(number, begin, end)
        if not lines:
            continue
        value = means_of(lines, series.names[number])
        pipe = value[PIPE + SUM]
        busy.append(pipe)
        # busy cycles by their sum are those of an SM's four parts
        row["sets"][words] = {
            "values": value,
            "each": 4 * value[counter] / pipe if counter and pipe else math.nan,
            "spoiled": value[PIPE + OF_PEAK] / 100 / (pipe / (4 * 132 * value[CLOCK])) if pipe else math.nan,
            "decoding": max(line["decoding"] for line in lines),
            "overflows": sum(line["overflow"] for line in lines),
        }
    pipes = row["sets"].get("other pipes")
    if pipes:
        value = pipes["values"]
        left = value[ISSUED + SUM] - sum(value[pipe] for pipe in PIPES)
        row["rest"] = left / value[PIPE + SUM] if value[PIPE + SUM] else math.nan
    row["flop_per_busy_cycle"] = rate / statistics.fmean(busy) if busy and sum(busy) else math.nan
    row["of_full_rate"] = row["flop_per_busy_cycle"] / FULL_RATE[kind]
    return row


def print_table(rows, title, key, form):
    print("\n%s\n" % title)
    words = [word for word, (counter, _) in SETS.items() if counter or key != "each"]
    print("| load | rate of the pipe | " + " | ".join(words) + " |")
    print("|---|---|" + "---|" * len(words))
    for row in rows:
        print("| %s | %.3f | %s |" % (row["load"], row["of_full_rate"], " | ".join(
            form % row["sets"][word][key] if word in row["sets"] else "" for word in words)))


def main():
    gpu.require_gpu()
    names = list(KNOWN) if sys.argv[1:] == ["all"] else sys.argv[1:] or FEW
    series, rows = Series(SETS), []
    series.wait()
    for name in names:
        try:
            rows.append(look(series, name))
        except Exception as error:
            print("skipped: %s: %s" % (name, (str(error).splitlines() or [repr(error)])[0][:200]), flush=True)
    series.end()
    if "OUT" in os.environ:
        with open(os.path.join(os.environ["OUT"], "tensor.json"), "w") as file:
            json.dump(rows, file, indent=1)
    print_table(rows, "counted for each busy cycle", "each", "%.3f")
    print("\ninstructions of no other pipe for each busy cycle of a quarter SM; a product of bf16 needs 0.17 by "
          "mma.sync, 0.03 at most by wgmma\n")
    for row in rows:
        print("%s: %.3f (%.3f of the full rate)" % (row["load"], row.get("rest", math.nan), row["of_full_rate"]))
    print_table(rows, "pipe in per cent, of what its busy cycles say: 1 unless spoiled", "spoiled", "%.3f")
    print_table(rows, "longest decoding, s", "decoding", "%.4f")
    print_table(rows, "overflows", "overflows", "%d")
    return 0


if __name__ == "__main__":
    sys.exit(main())
