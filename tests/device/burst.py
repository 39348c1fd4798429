"""What --clock off, burst and continuous cost and give, beside two loads that take turns.

usage: burst.py [ROUNDS [MODE…]] each round is 15 s a mode, in which the loads take turns twice
For each mode and load the mean power with its spread over seconds, the FLOP rate, and the share of
frames with an effective clock, held or fresh; for each change of the load how long it took until a frame
had a clock that was measured after it. Then the error of the pipe against the FLOPs with the clock of
that mode, and what Rooftop and its helper took of a core. Lines of all rounds and calls gather in
$OUT/burst.jsonl."""
import json
import os
import statistics
import subprocess
import sys
import threading
import time

import gpu

MODES = ("off", "burst", "continuous")
LOADS = (("tf32", 256, 400), ("bf16", 8192, 5))
TURN = 3.4
TURNS = 4


class Frames:
    def __init__(self, mode):
        command = [gpu.ROOFTOP, "stat", "--format", "json", "--interval", "0.1", "--clock", mode]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.frames = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            frame = json.loads(line)
            self.frames.append((frame["time"], frame["gpus"][0]))

    def start_account(self):
        helper = gpu.helper_of(self.process.pid)
        self.parts = {"rooftop": gpu.Process(self.process.pid)}
        if helper:
            self.parts["helper"] = gpu.Process(helper)

    def end(self):
        """Returns per cents of a core, and what the counters say of themselves."""
        for part in self.parts.values():
            part.look()
        gpu.end(self.process)
        self.thread.join()
        account = {name: part.percent() for name, part in self.parts.items()}
        account["bursts"] = gpu.last_known(self.frames, "counters_sessions_total")
        account["bursts_cpu"] = gpu.last_known(self.frames, "counters_cpu_seconds_total")
        return account


def clock_delay(frames, begin, end):
    """Seconds from a change of the load to the first clock that was measured wholly after it."""
    for when, frame in frames:
        age = frame["counters_age_seconds"]
        if begin < when < end and frame["effective_clock_hertz"] is not None and age is not None:
            if when - age > begin + 0.2:
                return when - begin
    return None


def energy():
    import pynvml

    return pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByIndex(0)) / 1000


def watts_each_second(begin_after, seconds):
    time.sleep(begin_after)
    watts, last, at = [], energy(), time.time()
    until = at + seconds
    while time.time() < until - 0.3:
        time.sleep(min(1, until - time.time()))
        now, joules = time.time(), energy()
        watts.append((joules - last) / (now - at))
        last, at = joules, now
    return watts


def one_turn(load, seconds):
    load.start()
    begin = time.time()
    time.sleep(0.5)
    done, start = load.done, time.time()
    watts = watts_each_second(0, seconds - 0.5)
    done, end = load.done - done, time.time()
    load.stop()
    return {"begin": begin, "start": start, "end": end, "watts": watts,
            "flops": done * load.flop / (end - start)}


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else None


def judge(turn, frames, kind, mode):
    inside = [frame for when, frame in frames if turn["start"] + 0.1 < when <= turn["end"]]
    clock = mean(frame["effective_clock_hertz"] for frame in inside)
    pipe = mean(frame["tensor_active_ratio"] for frame in inside)
    both = mean(frame["tensor_active_ratio"] * frame["effective_clock_hertz"] for frame in inside
                if None not in (frame["tensor_active_ratio"], frame["effective_clock_hertz"]))
    known = [frame for frame in inside if frame["effective_clock_hertz"] is not None]
    turn["frames"] = len(inside)
    turn["with_clock"] = len(known) / len(inside) if inside else None
    turn["fresh"] = (sum(frame["counters_age_seconds"] < 0.35 for frame in known) / len(inside)
                     if inside else None)
    turn["delay"] = clock_delay(frames, turn["begin"], turn["end"])
    turn["clock"], turn["pipe"] = clock, pipe
    if clock and pipe:
        turn["error"] = 100 * (pipe - turn["flops"] / gpu.known_peak(kind, clock))
        turn["error_of_products"] = 100 * (both / clock - turn["flops"] / gpu.known_peak(kind, clock))
    turn["mode"] = mode


def one_round(loads, modes, keep, turns, seconds):
    """The loads take turns of so many seconds. Returns the account of each mode."""
    accounts = {}
    for mode in modes:
        watcher = Frames(mode)
        time.sleep(1.5)
        watcher.start_account()
        made = [(name, kind, one_turn(load, seconds)) for _ in range(turns // 2) for name, kind, load in loads]
        accounts[mode] = watcher.end()
        for name, kind, turn in made:
            judge(turn, watcher.frames, kind, mode)
            turn["load"] = name
            keep(turn)
    return accounts


def show(values, digits=1, scale=1.0):
    values = [scale * value for value in values if value is not None]
    if not values:
        return ""
    spread = " ± %.*f" % (digits, statistics.stdev(values)) if len(values) > 1 else ""
    return "%.*f%s" % (digits, statistics.fmean(values), spread)


def print_table(turns):
    print("| load | mode | W, over seconds | TFLOP/s | frames with a clock % | fresh % | delay, s | clock, MHz | pipe % | error, points | of the products |")
    print("|---|" + "---|" * 10)
    for load in dict.fromkeys(turn["load"] for turn in turns):
        for mode in MODES:
            of = [turn for turn in turns if turn["load"] == load and turn["mode"] == mode]
            if not of:
                continue
            print("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
                load, mode, show([w for turn in of for w in turn["watts"]]),
                show([turn["flops"] for turn in of], 2, 1e-12),
                show([turn["with_clock"] for turn in of], 0, 100),
                show([turn["fresh"] for turn in of], 0, 100), show([turn["delay"] for turn in of], 2),
                show([turn["clock"] for turn in of], 1, 1e-6), show([turn["pipe"] for turn in of], 2, 100),
                show([turn.get("error") for turn in of], 2),
                show([turn.get("error_of_products") for turn in of], 2)))


def prepare(loads=LOADS):
    import pynvml

    pynvml.nvmlInit()
    return [("%s %d" % (kind, n), kind, gpu.product(kind, n, repeats, start=False))
            for kind, n, repeats in loads]


def main():
    gpu.require_gpu()
    loads = prepare()
    path = os.path.join(os.environ["OUT"], "burst.jsonl") if "OUT" in os.environ else None
    turns = [json.loads(line) for line in open(path)] if path and os.path.exists(path) else []

    def keep(turn):
        turns.append(turn)
        if path:
            with open(path, "a") as file:
                file.write(json.dumps(turn) + "\n")

    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        accounts = one_round(loads, sys.argv[2:] or MODES, keep, TURNS, TURN)
        for mode, account in accounts.items():
            print("%s: %s" % (mode, account))
    print_table(turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
