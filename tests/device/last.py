"""What CUPTI's counters give and cost, in 180 s behind PyTorch's start: a step of session.sh gets 210.

usage: last.py [PART…]          parts, all without one:
  tensor    30 s: five products beside four sets of counters: does the set that bursts used to count, with
            XU and the loads from shared memory in it, spoil the others? Do the two of them alone? And do the
            instructions that no other pipe takes tell the older tensor path from the newer?
  burst     16 s: two loads that take turns beside `rooftop stat` at 10 Hz: power, clock, delay, and what
            Rooftop and its helper take of a core
  limit     26 s: two loads at the power limit, 12 s each: how right is the clock that is held between bursts?
  steady    100 s: `nvidia-smi dmon`, `rooftop stat` without those counters and with bursts, all at 1 Hz, then `rooftop
            record` at 10 Hz, 25 s each beside a steady load
What is printed also goes to $OUT/last.log, the figures to $OUT/last.json."""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import burst
import gpu
import tensor

OUT = os.environ.get("OUT")
LOADS = ("bf16 4096", "tf32 1024", "int8 8192", "fp64 4096", "bf16 8192")
LOADS_AT_THE_LIMIT = (("bf16", 8192, 5), ("tf32", 4096, 10))
SECONDS_AT_THE_LIMIT = 12
SETS = ("burst set", "ld, XU", "burst set, ld, XU", "other pipes")
SECONDS_A_LOAD = 3.6
STEADY_SECONDS = 25
START_SECONDS = 3  # CUDA and CUPTI are loaded then, once


def say(text):
    print(text, flush=True)
    if OUT:
        with open(os.path.join(OUT, "last.log"), "a") as file:
            file.write(text + "\n")


def shown(value, digits):
    return "" if value is None or not math.isfinite(value) else "%.*f" % (digits, value)


def spoiled():
    """The pipe's share of its peak over what its busy cycles say is 1 unless counters get lost; the clock
    of each set is shown beside that of the first."""
    series = tensor.Series({words: tensor.SETS[words] for words in SETS})
    series.wait()
    rows = [tensor.look(series, name, SECONDS_A_LOAD) for name in LOADS]
    series.end()
    say("| load | of the full rate | instructions left | %s |" % " | ".join(
        "%s: pipe, clock, decoding ms" % words for words in SETS))
    say("|---|---|---|" + "---|" * len(SETS))
    for row in rows:
        sets = row["sets"]
        first = sets.get(SETS[0], {}).get("values", {}).get(tensor.CLOCK, math.nan)
        cells = ["%s, %s, %s" % (
            shown(sets[words]["spoiled"], 3), shown(sets[words]["values"][tensor.CLOCK] / first, 4),
            shown(1000 * sets[words]["decoding"], 1)) if words in sets else "" for words in SETS]
        say("| %s | %.3f | %s | %s |" % (row["load"], row["of_full_rate"],
                                         shown(row.get("rest", math.nan), 3), " | ".join(cells)))
    return rows


def turns_with_bursts(what, loads, count, seconds):
    turns = []
    accounts = burst.one_round(burst.prepare(loads), ("burst",), turns.append, count, seconds)
    for turn in turns:
        say("%s: %s W, %s TFLOP/s; %s %% of frames with a clock, %s %% fresh, the first after %s s; clock %s "
            "MHz, pipe wrong by %s points" % (
                turn["load"], shown(sum(turn["watts"]) / max(len(turn["watts"]), 1), 1),
                shown(turn["flops"] / 1e12, 2), shown(100 * (turn["with_clock"] or 0), 0),
                shown(100 * (turn["fresh"] or 0), 0), shown(turn["delay"], 2),
                shown(turn["clock"] and turn["clock"] / 1e6, 0), shown(turn.get("error"), 2)))
    say("%s: %s" % (what, accounts["burst"]))
    return {"turns": turns, "accounts": accounts}


def alternating():
    return turns_with_bursts("alternating", burst.LOADS, burst.TURNS, burst.TURN)


def at_the_limit():
    return turns_with_bursts("at the power limit", LOADS_AT_THE_LIMIT, 2, SECONDS_AT_THE_LIMIT)


def watch_beside(command):
    """What the process and its helper take, from the end of their start on."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(START_SECONDS)
    parts = {"watcher": gpu.Process(process.pid)}
    helper = gpu.helper_of(process.pid)
    if helper:
        parts["helper"] = gpu.Process(helper)
    until = time.time() + STEADY_SECONDS - START_SECONDS
    while time.time() < until and process.poll() is None:
        time.sleep(0.5)
        for part in parts.values():
            part.look()
    gpu.end(process)
    return {name: {"percent": part.percent(), "resident_mb": part.memory} for name, part in parts.items()}


def account_of(name, cost, frames):
    busy, known = gpu.busy_with_clock(frame for _, frame in frames)
    total = sum(part["percent"] for part in cost.values())
    account = {"cost": cost, "percent": total, "frames": len(frames), "busy": busy, "with_clock": known,
               "bursts": gpu.last_known(frames, "counters_sessions_total"),
               "bursts_cpu": gpu.last_known(frames, "counters_cpu_seconds_total"),
               "overflows": gpu.last_known(frames, "counters_overflows_total")}
    say("%s: %.2f %% of a core (%s); %d of %d busy frames with a clock; %s bursts, %s s of a core in all; "
        "%s overflows" % (name, total, ", ".join(
            "%s %.2f %%, %.1f MB" % (part, c["percent"], c["resident_mb"]) for part, c in cost.items()),
            known, busy, account["bursts"], account["bursts_cpu"], account["overflows"]))
    return account


def steady():
    load = gpu.product("bf16", 4096, 20)
    time.sleep(1)
    accounts = {}
    for name, command in (("nvidia-smi dmon", ["nvidia-smi", "dmon", "-d", "1"]),
                          ("stat --clock off", [gpu.ROOFTOP, "stat", "--interval", "1", "--clock", "off"])):
        if not shutil.which(command[0]):
            say("there is no %s here" % command[0])
            continue
        accounts[name] = watch_beside(command)
        say("%s at 1 Hz: %.2f %% of a core" % (name, accounts[name]["watcher"]["percent"]))
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines")
        # a shell's exec keeps the process while its output goes to a file
        cost = watch_beside(["sh", "-c", 'exec "$0" stat --format json --interval 1 >"$1"', gpu.ROOFTOP, lines])
        frames = [json.loads(line) for line in open(lines)]
        accounts["stat 1 Hz"] = account_of(
            "stat at 1 Hz", cost, [(frame["time"], frame["gpus"][0]) for frame in frames])
        recording = os.path.join(folder, "last.roof")
        cost = watch_beside([gpu.ROOFTOP, "record", "--interval", "0.1", "-o", recording])
        frames = [(f["time"], f["gpus"][0]) for f in gpu.stat("replay:%s@max" % recording)]
        accounts["record 10 Hz"] = account_of("record at 10 Hz", cost, frames)
    load.stop()
    return accounts


PARTS = {"tensor": spoiled, "burst": alternating, "limit": at_the_limit, "steady": steady}


def main():
    gpu.require_gpu()
    wrong = [word for word in sys.argv[1:] if word not in PARTS]
    if wrong:
        print("last.py: no part %s; there are %s" % (wrong[0], ", ".join(PARTS)), file=sys.stderr)
        return 2
    results = {}
    for name in sys.argv[1:] or PARTS:
        begin = time.time()
        try:
            results[name] = PARTS[name]()
        except Exception as error:  # the other parts are worth their time all the same
            say("%s failed: %r" % (name, error))
        say("%s took %.0f s\n" % (name, time.time() - begin))
        if OUT:
            with open(os.path.join(OUT, "last.json"), "w") as file:
                json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
