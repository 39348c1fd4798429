"""PCIe copies on one GPU: the bound must be `link` while nvidia-smi says 99 %."""
import collections
import statistics
import threading
import time

import gpu


def copy_for(seconds, to_device):
    import torch

    count = 1 << 28
    host = torch.randn(count).pin_memory()
    device = torch.empty(count, device="cuda")
    stop, done = [], [0]

    def run():
        while not stop:
            if to_device:
                device.copy_(host, non_blocking=True)
            else:
                host.copy_(device, non_blocking=True)
            torch.cuda.synchronize()
            done[0] += 4 * count

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(1)
    start, before = time.time(), done[0]
    frames = gpu.stat(interval=0.1, count=int(seconds * 10))
    rate = (done[0] - before) / (time.time() - start)
    stop.append(1)
    thread.join()
    return rate, frames


def mean(frames, name):
    values = [f["gpus"][0][name] for f in frames if f["gpus"][0].get(name) is not None]
    return statistics.fmean(values) if values else float("nan")


def main():
    gpu.require_gpu()
    failed = False
    for name, to_device in (("host to device", True), ("device to host", False)):
        rate, frames = copy_for(3, to_device)
        bounds = collections.Counter(f["gpus"][0]["bound"] for f in frames)
        print("%s: payload %.1f GB/s; nvidia-smi %.0f %%, SM %.2f %%, PCIe rx %.1f tx %.1f GB/s, link SOL %.1f %%, bound %s" % (
            name, rate / 1e9, 100 * mean(frames, "nvml_utilization_ratio"),
            100 * mean(frames, "sm_active_ratio"), mean(frames, "pcie_rx_bytes_per_second") / 1e9,
            mean(frames, "pcie_tx_bytes_per_second") / 1e9, 100 * mean(frames, "link_sol_ratio"),
            dict(bounds)))
        print("  verdict:", frames[-1]["gpus"][0].get("verdict"))
        failed |= bounds.most_common(1)[0][0] != "link"
    raise SystemExit(1 if failed else 0)


main()
