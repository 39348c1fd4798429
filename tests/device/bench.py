#!/usr/bin/env python3
"""The bench on a real GPU: bench.py STEP… [--minutes N] [--job-seconds S] [--from bench.tar.gz] [--plan], as root,
python3 with torch.

    bench.py iterations        how many steps of each job take SECONDS alone; the others need it
    bench.py trainings|products|mix|streams|large
                               one JOBS.ini each, five modes, three repeats
    bench.py colocation        the solo runs of the jobs, then all pairs and all triples under MPS
    bench.py profiles          each job's profile, alone: profiles.json
    bench.py sliced            the pairs and the triples time-sliced
    bench.py table             colocation.csv from what has run
    bench.py all               what is wanted most first: iterations streams mix large colocation profiles sliced
                               trainings

It begins with how many seconds each step will take; with --plan that is all. Steps run in the order given, until
the minutes are over; what fails is said, and the next one begins. All files are in $WORK (/tmp/rooftop-bench), and are
packed into $OUT/bench.tar.gz behind each bench. The same command goes on from there; on a fresh machine give it the
archive, and the same SECONDS. ROOFTOP names the program. With --job-seconds the jobs of colocation and sliced take
S alone instead of SECONDS.

A result whose JOBS.ini is there keeps it, so that it goes on. A result is of one GPU and driver: one that is not
complete is on another kept as NAME.bench.old, and begun anew. Solo runs are made on each GPU.

Jobs are started from a python that has imported torch already (torch_fork.py): what a job takes to start is
in no figure, and would be most of the machine's time. A profile needs the job's own process, and imports torch.
"""
import collections
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
FIVE = ["exclusive", "time-slicing", "mps", "mps-equal", "mps-limits"]
COMBINATIONS = [kinds for size in (2, 3) for kinds in itertools.combinations_with_replacement(KINDS, size)]
ALL = ["iterations", "streams", "mix", "large", "colocation", "profiles", "sliced", "trainings"]
# Seconds that an H200 took for a job's start and end, for a server of MPS, and for rooftop bench itself.
START, SERVER, BENCH = 2.2, 1.0, 1.0
PROFILED = 4  # seconds of work, behind an import of torch

# One JOBS.ini: how many there are of each kind, and how long one takes alone.
Item = collections.namedtuple("Item", "name title counts modes repeats seconds")


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


# ---- what is to be run ----

def gpu_id():
    """The beginning of the GPU's UUID."""
    text = subprocess.run([ROOFTOP, "list", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)["gpus"][0]["uuid"][4:12]


def combination(prefix, kinds, mode, seconds):
    counts = {kind: kinds.count(kind) for kind in kinds}
    return Item("-".join((prefix,) + kinds), " + ".join(kinds), counts, [mode], 1, seconds)


def items_of(step, seconds):
    """What is worth most comes first."""
    if step in SETS:
        return [Item(step, TITLES[step], SETS[step], FIVE, 3, SECONDS)]
    if step == "colocation":
        alone = [Item(f"co-{kind}-{gpu_id()}", kind, {kind: 1}, ["exclusive"], 3, seconds) for kind in KINDS]
        return alone + [combination("co", kinds, "mps", seconds) for kinds in COMBINATIONS]
    if step == "sliced":
        return [combination("sliced", kinds, "time-slicing", seconds) for kinds in COMBINATIONS]
    return []


def guess(item, mode):
    """Seconds of one trial."""
    work = sum(item.counts.values()) * item.seconds
    if mode == "exclusive":
        return work + START * sum(item.counts.values())
    return START + SERVER + 0.75 * work


def trials_of(path):
    """Seconds of each trial that has run, by mode and repeat."""
    if not path.exists():
        return {}
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        try:
            rows = database.execute("SELECT mode, repeat, whole_seconds FROM trial").fetchall()
        except sqlite3.DatabaseError:
            return {}  # killed before it had tables, or damaged
    return {(mode, repeat): seconds for mode, repeat, seconds in rows}


def left_of(item):
    done = trials_of(WORK / f"{item.name}.bench")
    return [mode for mode in item.modes for repeat in range(item.repeats) if (mode, repeat) not in done]


def show_plan(steps, minutes, seconds):
    """What is left of each step by the figures above, times how long trials took that have run here."""
    seen = guessed = 0
    for item in sum((items_of(step, seconds) for step in steps), []):
        for (mode, _), took in trials_of(WORK / f"{item.name}.bench").items():
            seen += took
            guessed += guess(item, mode)
    pace = seen / guessed if guessed else 1
    total = 0
    for step in steps:
        items = [(item, left_of(item)) for item in items_of(step, seconds)]
        trials = sum(len(left) for _, left in items)
        length = sum(BENCH + sum(guess(item, mode) for mode in left) for item, left in items if left) * pace
        if step == "profiles" and not (WORK / "profiles.json").exists():
            trials, length = len(KINDS), len(KINDS) * (PROFILED + 3 * START)
        if step == "iterations" and not (WORK / "iterations.json").exists():
            trials, length = len(KINDS), len(KINDS) * (SECONDS + START)
        total += length
        say(f"plan: {step}: {trials} runs, {length:.0f} s; {total:.0f} s to its end")
    say(f"plan: {minutes * 60:.0f} s in this call" + (f"; trials took {pace:.2f} times the guess" if guessed else ""))


# ---- rooftop bench ----

def write_jobs(item):
    path = WORK / f"{item.name}.ini"
    if path.exists() and path.with_suffix(".bench").exists():
        return path
    steps = {kind: max(1, round(count * item.seconds / SECONDS)) for kind, count in iterations().items()}
    lines = ["[bench]", f"title = {item.title}", f"modes = {', '.join(item.modes)}", f"repeats = {item.repeats}",
             "timeout = 1m", "warm-up-timeout = 1m", f"settle = {SETTLE}", ""]
    for kind, count in item.counts.items():
        lines += [f"[{kind}]", f"command = $JOB {kind} {steps[kind]} ''", f"count = {count}", "ready = file",
                  "done = line JOB", f"sm = {LIMITS[kind]}%", "memory = 16G", f"time = {item.seconds:g}s", ""]
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
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def bench(item, until):
    """True where it has run to its end."""
    left = left_of(item)
    if not left:
        return True
    if until - time.time() < guess(item, left[0]):
        return False
    path = write_jobs(item)
    result = path.with_suffix(".bench")
    began = time.time()
    code = run_bench(path, until)
    if code == 2 and result.exists():
        say(f"{result.name}: of another GPU or driver: kept as {result.name}.old, and begun anew")
        result.rename(f"{result}.old")
        code = run_bench(path, until)
    say(f"{path.name}: {'stopped' if code is None else f'exit {code}'} after {time.time() - began:.0f} s")
    pack()
    return code == 0


def run_set(item, until):
    done = bench(item, until)
    result = WORK / f"{item.name}.bench"
    if result.exists():
        subprocess.run([ROOFTOP, "report", str(result)])
        with open(result.with_suffix(".html"), "wb") as page:
            subprocess.run([ROOFTOP, "report", "--format", "html", str(result)], stdout=page)
    return done


def run_combinations(step, until, seconds):
    done = [bench(item, until) for item in items_of(step, seconds)]
    return table() and all(done)


# ---- profiles ----

def profile(kind, steps):
    """Alone, with an import of torch of its own: a job's processes are those that it starts."""
    (WORK / "go").touch()
    environment = dict(os.environ, ROOFTOP_GO=str(WORK / "go"), ROOFTOP_READY=str(WORK / "ready."),
                       ROOFTOP_PROFILES=str(WORK / "profiles.db"))
    environment.pop("TORCH_FORK", None)
    command = f"exec $JOB {kind} {max(1, round(steps * PROFILED / SECONDS))} ''"
    subprocess.run([ROOFTOP, "profile", "--name", kind, "--", "sh", "-c", command], env=environment, check=True)
    text = subprocess.run([ROOFTOP, "profile", "export", kind], env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(text.stdout)


def profiles(until):
    path = WORK / "profiles.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for kind, steps in iterations().items():
        if kind in found or until - time.time() < PROFILED + 3 * START:
            continue
        try:
            found[kind] = profile(kind, steps)
        except subprocess.SubprocessError as error:
            say(f"profile of {kind}: {error}")
        path.write_text(json.dumps(found))
    return len(found) == len(KINDS)


# ---- results ----

COLUMNS = ["gpu", "jobs", "mode", "repeat", "job", "seconds", "solo_seconds", "slowdown", "outcome",
           "memory_peak_bytes", "gpu_compute_sol_ratio", "gpu_memory_sol_ratio", "gpu_sm_active_ratio",
           "gpu_nvml_utilization_ratio", "gpu_energy_joules", "gpu_sm_clock_hertz", "gpu_effective_clock_hertz"]


def read_result(path):
    """The GPU, the jobs, and the rows of a result."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        facts = dict(database.execute("SELECT name, value FROM fact"))
        title = next(line for line in facts["jobs"].splitlines() if line.startswith("title = "))
        return facts["gpu_uuid"][4:12], title[8:].replace(" ", ""), database.execute(
            "SELECT mode, repeat, name, end - begin, outcome, memory_peak, compute_sol_ratio, memory_sol_ratio,"
            " sm_active_ratio, nvml_utilization_ratio, energy_joules, sm_clock_hertz, effective_clock_hertz"
            " FROM run JOIN trial ON trial = id").fetchall()


def table():
    """One line a job of a combination and mode; docs/results/colocation.md describes the columns."""
    paths = [path for path in WORK.glob("*.bench") if path.name.startswith(("co-", "sliced-")) and trials_of(path)]
    results = sorted(map(read_result, paths), key=lambda result: (
        result[2][0][0] == "time-slicing", result[1].count("+"), result[1], result[0]))
    times = collections.defaultdict(list)
    for gpu, jobs, rows in results:
        for mode, _, _, seconds, outcome, *_ in rows:
            if mode == "exclusive" and outcome == "ended":
                times[gpu, jobs].append(seconds)
    alone = {key: sum(seen) / len(seen) for key, seen in times.items()}
    with open(OUT / "colocation.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for gpu, jobs, rows in results:
            for mode, repeat, job, seconds, outcome, *rest in rows:
                solo = alone.get((gpu, job.split(".")[0]))
                out.writerow([gpu, jobs, mode, repeat + 1, job, seconds, solo,
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
    **{name: lambda until, seconds, name=name: run_set(items_of(name, seconds)[0], until) for name in SETS},
    "colocation": lambda until, seconds: run_combinations("colocation", until, seconds),
    "profiles": lambda until, seconds: profiles(until),
    "sliced": lambda until, seconds: run_combinations("sliced", until, seconds),
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
    minutes = float(take_option(words, "--minutes", "9"))
    until = time.time() + 60 * minutes
    seconds = float(take_option(words, "--job-seconds", SECONDS))
    archive = take_option(words, "--from", None)
    only_plan = "--plan" in words
    steps = [step for word in words if word != "--plan" for step in (ALL if word == "all" else [word])]
    if not steps or any(step not in STEPS for step in steps):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    for folder in OUT, WORK:
        folder.mkdir(parents=True, exist_ok=True)
    if archive:
        unpack(archive)
    show_plan(steps, minutes, seconds)
    if only_plan:
        return 0
    server = start_server()
    try:
        return 0 if all([run_step(step, until, seconds) for step in steps]) else 1
    finally:
        pack()
        server.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
