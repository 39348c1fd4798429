#!/usr/bin/env python3
"""The bench on a real GPU: bench.py STEP… [--minutes N] [--job-seconds S] [--from bench.tar.gz], as root,
python3 with torch.

    bench.py iterations        how many steps of each job take SECONDS alone; the others need it
    bench.py trainings|products|mix|streams|large
                               one JOBS.ini each, five modes, three repeats
    bench.py colocation        the solo runs of the jobs, then all pairs and all triples under MPS
    bench.py sliced            the pairs and the triples time-sliced
    bench.py table             colocation.csv from what has run

Steps run in the order given, until the minutes are over; what fails is said, and the next one begins. All
files are in $WORK (/tmp/rooftop-bench), and are packed into $OUT/bench.tar.gz behind each step. The same
command goes on from there; on a fresh machine give it the archive, and the same SECONDS. ROOFTOP names the
program. With --job-seconds the jobs of colocation and sliced take S alone instead of SECONDS.

A set whose result is there keeps its JOBS.ini, so that it goes on. A result is of one GPU: on another one it
is kept as NAME.bench.old, and begun anew.

Jobs are started from a python that has imported torch already (torch_fork.py): what a job takes to start is
in no figure, and would be most of the machine's time.
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
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = os.environ.get("SCRIPT", str(HERE.parent / "workloads" / "job.py"))
# In JOBS.ini it stays a variable, so that a result can be resumed where paths are others.
os.environ["JOB"] = f"{sys.executable} {HERE / 'torch_fork.py'} {SCRIPT}"
ROOFTOP = os.environ.get("ROOFTOP", str(HERE.parent / "rooftop"))
OUT = pathlib.Path(os.environ.get("OUT", "bench-out"))
WORK = pathlib.Path(os.environ.get("WORK", "/tmp/rooftop-bench"))
SECONDS = float(os.environ.get("SECONDS", "3"))
SETTLE = os.environ.get("SETTLE", "1s")
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
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
TRIPLES = list(itertools.combinations_with_replacement(KINDS, 3))
# Name of the files, jobs, modes, repeats; what is worth most comes first.
ALONE = [(f"co-{kind}", (kind,), ["exclusive"], 3) for kind in KINDS]
TOGETHER = [("co-" + "-".join(kinds), kinds, ["mps"], 1) for kinds in PAIRS + TRIPLES]
SLICED = [("sliced-" + "-".join(kinds), kinds, ["time-slicing"], 1) for kinds in PAIRS + TRIPLES]


def say(text):
    print(text, flush=True)


# ---- the jobs' python ----

def start_server():
    os.environ["TORCH_FORK"] = str(WORK / "torch_fork")
    (WORK / "torch_fork").unlink(missing_ok=True)
    began = time.time()
    server = subprocess.Popen([sys.executable, HERE / "torch_fork.py", "--serve"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    if server.stdout.readline() == b"ready\n":
        say(f"torch is imported: {time.time() - began:.1f} s")
    else:
        say("torch_fork.py does not serve: each job imports torch by itself")
    return server


def run_alone(command):
    """What it prints; by its own import of torch where the server's child fails."""
    go = WORK / "go"
    go.touch()
    environment = dict(os.environ, ROOFTOP_GO=str(go), ROOFTOP_READY=str(WORK / "ready."))
    done = subprocess.run(command, shell=True, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode and os.environ.pop("TORCH_FORK", None):
        say("a job fails that torch_fork.py serves: each imports torch by itself")
        return run_alone(command)
    done.check_returncode()
    return done.stdout


def iterations():
    """Steps of each kind that take SECONDS alone."""
    path = WORK / "iterations.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for kind in KINDS:
        if kind in found:
            continue
        began = time.time()
        text = run_alone(f"$JOB {kind} {TRIED[kind]} x")
        seconds = float(text.split()[-1])
        found[kind] = max(1, round(TRIED[kind] * SECONDS / seconds))
        say(f"{kind}: {TRIED[kind]} steps in {seconds:.3f} s, {time.time() - began - seconds:.1f} s to start and end;"
            f" {found[kind]} for {SECONDS:g} s")
        path.write_text(json.dumps(found))
    return found


# ---- rooftop bench ----

def write_jobs(name, title, counts, modes, repeats, seconds=SECONDS):
    path = WORK / f"{name}.ini"
    if path.exists() and path.with_suffix(".bench").exists():
        return path
    steps = {kind: max(1, round(count * seconds / SECONDS)) for kind, count in iterations().items()}
    lines = ["[bench]", f"title = {title}", f"modes = {', '.join(modes)}", f"repeats = {repeats}",
             "timeout = 1m", "warm-up-timeout = 1m", f"settle = {SETTLE}", ""]
    for kind, count in counts.items():
        lines += [f"[{kind}]", f"command = $JOB {kind} {steps[kind]} ''", f"count = {count}", "ready = file",
                  "done = line JOB", f"sm = {LIMITS[kind]}%", "memory = 16G", f"time = {seconds:g}s", ""]
    path.write_text("\n".join(lines))
    return path


def run_bench(path, until):
    """Its exit status; None where its time was over."""
    process = subprocess.Popen([ROOFTOP, "bench", str(path)])
    try:
        return process.wait(timeout=max(until - time.time(), 0))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def is_complete(result, trials):
    if not result.exists():
        return False
    with sqlite3.connect(f"file:{result}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM trial").fetchone()[0] == trials


def bench(path, trials, until):
    """True where it has run to its end."""
    result = path.with_suffix(".bench")
    if is_complete(result, trials):
        return True
    if until - time.time() < 5:
        return False
    began = time.time()
    code = run_bench(path, until)
    if code == 2 and result.exists():
        say(f"{result.name}: of another GPU: kept as {result.name}.old, and begun anew")
        result.rename(f"{result}.old")
        code = run_bench(path, until)
    say(f"{path.name}: {'stopped' if code is None else f'exit {code}'} after {time.time() - began:.0f} s")
    return code == 0


def run_set(name, until):
    modes = ["exclusive", "time-slicing", "mps", "mps-equal", "mps-limits"]
    path = write_jobs(name, TITLES[name], SETS[name], modes, 3)
    done = bench(path, 3 * len(modes), until)
    result = path.with_suffix(".bench")
    if result.exists():
        subprocess.run([ROOFTOP, "report", str(result)])
        with open(path.with_suffix(".html"), "wb") as page:
            subprocess.run([ROOFTOP, "report", "--format", "html", str(result)], stdout=page)
    return done


def run_combinations(combinations, until, seconds):
    done = True
    for name, kinds, modes, repeats in combinations:
        counts = {kind: kinds.count(kind) for kind in kinds}
        path = write_jobs(name, " + ".join(kinds), counts, modes, repeats, seconds)
        done = bench(path, repeats * len(modes), until) and done
    return done


# ---- results ----

def read_result(name):
    path = WORK / f"{name}.bench"
    if not path.exists():
        return []
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return database.execute(
        "SELECT mode, repeat, name, end - begin, outcome, memory_peak, compute_sol_ratio, memory_sol_ratio,"
        " sm_active_ratio, nvml_utilization_ratio, energy_joules, sm_clock_hertz,"
        " effective_clock_hertz"
        " FROM run JOIN trial ON trial = id").fetchall()


def table():
    """One line a job of a combination and mode; docs/results/colocation.md describes the columns."""
    alone = {}
    for name, kinds, _, _ in ALONE:
        times = [row[3] for row in read_result(name) if row[4] == "ended"]
        if times:
            alone[kinds[0]] = sum(times) / len(times)
    with open(OUT / "colocation.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["jobs", "mode", "repeat", "job", "seconds", "solo_seconds", "slowdown", "outcome",
                      "memory_peak_bytes", "gpu_compute_sol_ratio", "gpu_memory_sol_ratio", "gpu_sm_active_ratio",
                      "gpu_nvml_utilization_ratio", "gpu_energy_joules", "gpu_sm_clock_hertz",
                      "gpu_effective_clock_hertz"])
        for name, kinds, _, _ in ALONE + TOGETHER + SLICED:
            for mode, repeat, job, seconds, outcome, *rest in read_result(name):
                solo = alone.get(job.split(".")[0])
                out.writerow(["+".join(kinds), mode, repeat + 1, job, seconds, solo,
                              seconds / solo if solo and outcome == "ended" else "", outcome] + rest)
    say(f"wrote {OUT / 'colocation.csv'}")
    return True


def pack():
    archive = OUT / "bench.tar.gz"
    with tarfile.open(f"{archive}.new", "w:gz") as file:
        for path in sorted(WORK.iterdir()):
            if path.suffix in (".bench", ".ini", ".html", ".json", ".old"):
                file.add(path, path.name)
    os.replace(f"{archive}.new", archive)


def unpack(archive):
    if (WORK / "iterations.json").exists():
        say(f"{WORK} is there already: {archive} is not unpacked")
    elif not pathlib.Path(archive).exists():
        say(f"there is no {archive}: begun from nothing")
    else:
        with tarfile.open(archive) as file:
            file.extractall(WORK)


# ---- steps ----

STEPS = {
    "iterations": lambda until, seconds: bool(iterations()),
    **{name: lambda until, seconds, name=name: run_set(name, until) for name in SETS},
    "colocation": lambda until, seconds: run_combinations(ALONE + TOGETHER, until, seconds),
    "sliced": lambda until, seconds: run_combinations(SLICED, until, seconds),
    "table": lambda until, seconds: table(),
}


def run_step(step, until, seconds):
    began = time.time()
    try:
        done = STEPS[step](until, seconds)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError, sqlite3.Error) as error:
        say(f"{step}: {error}")
        done = False
    pack()
    say(f"== {step}: {'complete' if done else 'NOT complete: call again'}, {time.time() - began:.0f} s")
    return done


def take_option(words, name, value):
    if name in words:
        at = words.index(name)
        value = words[at + 1]
        del words[at:at + 2]
    return value


def main():
    words = sys.argv[1:]
    until = time.time() + 60 * float(take_option(words, "--minutes", "9"))
    seconds = float(take_option(words, "--job-seconds", SECONDS))
    archive = take_option(words, "--from", None)
    if not words or any(word not in STEPS for word in words):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    for folder in OUT, WORK:
        folder.mkdir(parents=True, exist_ok=True)
    if archive:
        unpack(archive)
    server = start_server()
    try:
        return 0 if all([run_step(step, until, seconds) for step in words]) else 1
    finally:
        pack()
        server.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
