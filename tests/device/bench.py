#!/usr/bin/env python3
"""The bench on a real GPU: bench.py STEP… [--minutes N], as root, python3 with torch.

    bench.py iterations        how many steps of each job take SECONDS alone (1 min); the others need it
    bench.py trainings|products|mix|streams|large
                               one JOBS.ini each, all modes, three repeats (5 to 7 min)
    bench.py colocation        all pairs and 20 triples of the jobs, under MPS and time-sliced, with
                               their solo runs (about 20 min)
    bench.py table             colocation.csv from what has run

Results go to $OUT (here: ./bench-out). Each step stops at its minutes and goes on when it is called
again; on a fresh machine copy the files of $OUT there first. ROOFTOP names the program.
"""
import csv
import itertools
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
JOB = os.environ.get("JOB") or f"{sys.executable} {HERE.parent / 'workloads' / 'job.py'}"
ROOFTOP = os.environ.get("ROOFTOP", str(HERE.parent / "rooftop"))
OUT = pathlib.Path(os.environ.get("OUT", "bench-out"))
SECONDS = float(os.environ.get("SECONDS", "5"))
KINDS = ["mlp", "gemm", "mem", "big"]
TRIED = {"mlp": 1000, "gemm": 1000, "mem": 2000, "big": 400}
# SMs for the mode mps-limits, memory generously.
LIMITS = {"mlp": 15, "gemm": 30, "mem": 40, "big": 60}
SETS = {
    "trainings": {"mlp": 4},
    "products": {"gemm": 4},
    "mix": {"mlp": 2, "gemm": 1, "mem": 1},
    "streams": {"mem": 4},
    "large": {"mlp": 2, "gemm": 1, "big": 1},
}
TITLES = {
    "trainings": "Four small trainings",
    "products": "Four chains of 1024 products",
    "mix": "Two small trainings, a chain of products and a stream",
    "streams": "Four streams",
    "large": "Two small trainings, a chain of products and one of large products",
}


def iterations():
    """Steps of each kind that take SECONDS alone."""
    path = OUT / "iterations.json"
    if path.exists():
        return json.loads(path.read_text())
    go = OUT / "go"
    go.touch()
    found = {}
    for kind in KINDS:
        environment = dict(os.environ, ROOFTOP_GO=str(go), ROOFTOP_READY=str(OUT / "ready."))
        text = subprocess.run(f"{JOB} {kind} {TRIED[kind]} x", shell=True, env=environment, check=True,
                              capture_output=True, text=True).stdout
        seconds = float(text.split()[-1])
        found[kind] = max(1, round(TRIED[kind] * SECONDS / seconds))
        print(f"{kind}: {TRIED[kind]} steps in {seconds:.3f} s; {found[kind]} for {SECONDS} s", flush=True)
    path.write_text(json.dumps(found))
    return found


def write_jobs(name, title, counts, modes, repeats):
    steps = iterations()
    lines = ["[bench]", f"title = {title}", f"modes = {', '.join(modes)}", f"repeats = {repeats}",
             "timeout = 3m", "warm-up-timeout = 2m", ""]
    for kind, count in counts.items():
        lines += [f"[{kind}]", f"command = {JOB} {kind} {steps[kind]} ''", f"count = {count}", "ready = file",
                  "done = line JOB", f"sm = {LIMITS[kind]}%", "memory = 16G", f"time = {SECONDS:g}s", ""]
    path = OUT / f"{name}.ini"
    path.write_text("\n".join(lines))
    return path


def bench(path, until):
    """True where it ran to its end."""
    left = until - time.time()
    if left < 5:
        return False
    process = subprocess.Popen([ROOFTOP, "bench", str(path)])
    try:
        code = process.wait(timeout=left)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()
        return False
    if code != 0:
        sys.exit(f"rooftop bench {path}: exit {code}")
    return True


def run_set(name, until):
    modes = ["exclusive", "time-slicing", "mps", "mps-equal", "mps-limits"]
    path = write_jobs(name, TITLES[name], SETS[name], modes, 3)
    done = bench(path, until)
    result = path.with_suffix(".bench")
    if result.exists():
        print(subprocess.run([ROOFTOP, "report", str(result)], capture_output=True, text=True).stdout)
        html = subprocess.run([ROOFTOP, "report", "--format", "html", str(result)], capture_output=True).stdout
        path.with_suffix(".html").write_bytes(html)
    print(f"{name}: {'complete' if done else 'not complete: call again'}", flush=True)


def combinations():
    pairs = list(itertools.combinations_with_replacement(KINDS, 2))
    triples = list(itertools.combinations_with_replacement(KINDS, 3))
    return [(kind,) for kind in KINDS] + pairs + triples


def combination_name(kinds):
    return "co-" + "-".join(kinds)


def run_colocation(until):
    for kinds in combinations():
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        alone = len(kinds) == 1
        path = write_jobs(combination_name(kinds), " + ".join(kinds), counts,
                          ["exclusive"] if alone else ["time-slicing", "mps"], 3 if alone else 1)
        if not bench(path, until):
            print("colocation: not complete: call again", flush=True)
            return
    print("colocation: complete", flush=True)


def read_runs(kinds):
    path = OUT / f"{combination_name(kinds)}.bench"
    if not path.exists():
        return []
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return database.execute(
        "SELECT mode, repeat, name, end - begin, outcome, memory_peak, compute_sol_ratio, memory_sol_ratio,"
        " sm_active_ratio, nvml_utilization_ratio, energy_joules, sm_clock_hertz"
        " FROM run JOIN trial ON trial = id").fetchall()


def table():
    """One line a job of a combination and mode; docs/results/colocation.md describes the columns."""
    alone = {}
    for kind in KINDS:
        times = [row[3] for row in read_runs((kind,)) if row[4] == "ended"]
        if times:
            alone[kind] = sum(times) / len(times)
    with open(OUT / "colocation.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["jobs", "mode", "repeat", "job", "seconds", "solo_seconds", "slowdown", "outcome",
                      "memory_peak_bytes", "gpu_compute_sol_ratio", "gpu_memory_sol_ratio", "gpu_sm_active_ratio",
                      "gpu_nvml_utilization_ratio", "gpu_energy_joules", "gpu_sm_clock_hertz"])
        for kinds in combinations():
            for mode, repeat, name, seconds, outcome, *rest in read_runs(kinds):
                solo = alone.get(name.split(".")[0])
                out.writerow(["+".join(kinds), mode, repeat + 1, name, seconds, solo,
                              seconds / solo if solo and outcome == "ended" else "", outcome] + rest)
    print(f"wrote {OUT / 'colocation.csv'}")


def main():
    words = sys.argv[1:]
    minutes = 9.0
    if "--minutes" in words:
        at = words.index("--minutes")
        minutes = float(words[at + 1])
        del words[at:at + 2]
    if not words or any(word not in [*SETS, "iterations", "colocation", "table"] for word in words):
        sys.exit(__doc__)
    until = time.time() + 60 * minutes
    OUT.mkdir(parents=True, exist_ok=True)
    for word in words:
        if word == "iterations":
            iterations()
        elif word == "colocation":
            run_colocation(until)
        elif word == "table":
            table()
        else:
            run_set(word, until)


if __name__ == "__main__":
    main()
