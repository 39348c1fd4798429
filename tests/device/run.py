"""rooftop run on a real GPU: limits that hold, what gets round them, faults, accounts and profiles of real jobs.

usage: run.py [whose] [limits] [ends] [accounts] [scaling]     ends, accounts and scaling, where none is named

Each step prints what it sees, and leaves it in $OUT (here: ./run-out): run-STEP.json, and all steps that are there
in run.md. A step that fails does not end the others; what a job leaves behind is ended."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import gpu

CLIENT = [sys.executable, os.path.join(gpu.HERE, "share.py"), "client"]
FOLDER = tempfile.mkdtemp(prefix="rt-run-")
OUT = os.environ.get("OUT", "run-out")
STEPS = ("whose", "limits", "ends", "accounts", "scaling")
USUAL = ("ends", "accounts", "scaling")
rows = []  # of the step that runs


def path(name):
    return os.path.join(FOLDER, name)


def start(name, options, command, env=None):
    out = open(path(name + ".out"), "w")
    return subprocess.Popen([gpu.ROOFTOP, "run", "--name", name, "--json", path(name + ".json"), *options, "--",
                             *command], stdout=out, stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})))


def diagnose(pid):
    """Why does it not end? The state and the signal masks of its threads, and all that descend from it."""
    for task in sorted(glob.glob("/proc/%d/task/*/status" % pid)):
        fields = dict(line.split(":", 1) for line in open(task, errors="replace").read().splitlines() if ":" in line)
        print("    thread %s:%s" % (task.split("/")[4], "".join(
            " %s=%s" % (key, fields.get(key, "?").strip()) for key in ("Name", "State", "SigPnd", "ShdPnd", "SigBlk"))))
    print(subprocess.run(["ps", "-e", "--forest", "-o", "pid,ppid,pgid,stat,wchan:20,args"], capture_output=True,
                         text=True).stdout)


def await_end(process, patience):
    """Its exit code, or why there is none. A job that does not end is described, and ended."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        print("    NO END within %d s" % patience)
        diagnose(process.pid)
    for end in (process.terminate, process.kill):
        end()
        try:
            return "no end; %d when told to" % process.wait(8)
        except subprocess.TimeoutExpired:
            pass
    return "no end, not even by SIGKILL"


def is_expected(row):
    return row["exit"] in (row["expected"] if isinstance(row["expected"], tuple) else (row["expected"],))


def finish(name, process, expected=0, patience=30):
    begin = time.time()
    code = await_end(process, patience)
    row = {"job": name, "exit": code, "expected": expected, "awaited": time.time() - begin}
    print("%s %s: exit %s, %.2f s after it was awaited" % ("ok" if is_expected(row) else "NOT AS EXPECTED", name, code,
                                                           row["awaited"]))
    row["said"] = open(path(name + ".out"), errors="replace").read()
    for line in row["said"].splitlines():
        print("    " + line)
    try:
        row["account"] = json.load(open(path(name + ".json")))
        print("    outcome %(outcome)s, wall %(wall_seconds).2f s, verified after %(verified_after_seconds)s s" %
              row["account"])
    except (OSError, ValueError) as error:
        print("    no account: %s" % error)
    rows.append(row)
    sys.stdout.flush()


def once(name, options, command, expected=0, patience=30):
    finish(name, start(name, options, command), expected, patience)


def await_files(names, processes, patience=30):
    """All are there; or one of the processes has ended, or it takes too long."""
    until = time.time() + patience
    while time.time() < until and not any(process.poll() is not None for process in processes):
        if all(os.path.exists(path(name)) for name in names):
            return True
        time.sleep(0.01)
    print("not there: %s" % [name for name in names if not os.path.exists(path(name))])
    return False


def title(text):
    print("\n# " + text, flush=True)


def limits():
    slot = ["--share", "--sm", "25%", "--mem", "2G"]
    title("a job within its slot of 25 % and 2 GiB")
    once("within", slot, CLIENT + ["sm", "alloc", "3", "alloc", "1", "info", "busy", "3"])
    title("two processes of 1.4 GiB each: the sum is above the slot")
    once("sum", slot, ["sh", "-c", '"$@" & "$@"', "sh", *CLIENT, "alloc", "1.4", "busy", "20"], 122)
    title("a client that unsets its pipe folder")
    once("outside", slot, CLIENT + ["unset", "CUDA_MPS_PIPE_DIRECTORY", "alloc", "1", "busy", "20"], 121)
    title("a program that is started without its limit")
    once("unlimited", slot, ["env", "-u", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", *CLIENT, "alloc", "1", "busy", "20"],
         121)
    title("a client that unsets its limits after its start, alone: the daemon's own are the slot's")
    once("inside", slot, CLIENT + ["unset", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "unset",
                                   "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "sm", "alloc", "3", "alloc", "1"])
    title("a slot that is no whole number of GiB: 2.5, a process asks for 2.2, another for 2.4")
    once("odd", ["--share", "--sm", "25%", "--mem", "2560M"], CLIENT + ["alloc", "2.2", "info"])
    once("odder", ["--share", "--sm", "25%", "--mem", "2560M"], CLIENT + ["alloc", "2.4", "info"])
    once("small", ["--share", "--sm", "25%", "--mem", "600M"], CLIENT + ["alloc", "0.3", "alloc", "0.3", "info"])
    title("managed memory of 3 GiB in a slot of 2")
    once("managed", slot, CLIENT + ["managed", "3", "info", "busy", "4"])


def ends():
    slot = ["--share", "--sm", "25%", "--mem", "4G"]
    title("a time limit")
    once("timeout", slot + ["--timeout", "3"], CLIENT + ["alloc", "1", "busy", "20"], 124)
    title("SIGTERM in the middle, another beside it")
    other = start("beside", slot, CLIENT + ["alloc", "1", "touch", path("beside.up"), "busy", "4"])
    job = start("term", slot, CLIENT + ["alloc", "1", "touch", path("term.up"), "busy", "20"])
    await_files(["beside.up", "term.up"], [other, job])
    print(subprocess.run([gpu.ROOFTOP, "slots"], capture_output=True, text=True).stdout)
    job.send_signal(signal.SIGTERM)
    finish("term", job, (10, 143))  # by the error that it gets from CUDA, or by the signal
    finish("beside", other)
    title("an illegal access in one of three, one of the others may try again")
    victim = start("victim", slot, CLIENT + ["alloc", "1", "touch", path("victim.up"), "busy", "10"])
    again = start("again", slot + ["--retry-victims", "1"],
                  ["sh", "-c", 'if [ -e "$0" ]; then exec "$@" busy 1; else exec "$@" touch "$0" busy 10; fi',
                   path("again.up"), *CLIENT, "alloc", "1"])
    cause = start("cause", slot, CLIENT + ["sm", "wait", path("victim.up"), "wait", path("again.up"), "sleep", "1",
                                           "fault"])
    finish("cause", cause, 123)
    finish("victim", victim, 123)
    finish("again", again)
    guard()
    title("served again")
    once("after", slot, CLIENT + ["sm", "alloc", "1"])


def guard():
    title("a program without a slot fills the GPU: the last to come has to end")
    slot = ["--share", "--sm", "25%", "--mem", "60G"]
    over = ["wait", path("over")]
    first = start("first", slot, CLIENT + ["alloc", "59", "touch", path("first.up"), "busy", "8", *over])
    await_files(["first.up"], [first])
    for_ever = ["busy", "20", "wait", path("never")]
    last = start("last", slot, CLIENT + ["alloc", "59", "touch", path("last.up"), *for_ever])
    await_files(["last.up"], [last])
    free = float(subprocess.run("nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits", shell=True,
                                capture_output=True, text=True).stdout.split()[0]) / 1024
    # Its context takes some 0.5 GiB, and less than the reserve of 0.5 shall be left.
    filler = subprocess.Popen(CLIENT + ["alloc", "%.2f" % (free - 0.85), *over])
    finish("last", last, 122)
    open(path("over"), "w").close()
    finish("first", first)
    await_end(filler, 10)


def whose():
    """Does anything tell whose a fault was? Three clients, the one at fault first, second and third to come."""
    import share

    uuid = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], capture_output=True,
                          text=True).stdout.split()[0]
    for place in (0, 1, 2):
        title("the one at fault comes as number %d" % (place + 1))
        daemon = share.Daemon(uuid)
        try:
            clients = []
            for i in range(3):
                words = ["sm", "touch", daemon.flag("w%d" % i)]
                words += ["wait", daemon.flag("go"), "fault"] if i == place else ["alloc", "1", "busy", "6"]
                clients.append(daemon.client(*words, sm=25))
                daemon.await_flag("w%d" % i)
                time.sleep(0.3)
            print("clients %s, at fault: %d" % ([c.pid for c in clients], clients[place].pid))
            time.sleep(0.5)
            open(daemon.flag("go"), "w").close()
            for client in clients:
                print("   ", share.output(client))
            log = os.path.join(daemon.log, "server.log")
            for line in open(log, errors="replace"):
                if "torn" in line or "error" in line or "sticky" in line or line.rstrip().split("] ")[-1].isdigit():
                    print("    " + line.rstrip())
            text = subprocess.run("dmesg 2>&1 | grep -iE 'xid|not permitted' | tail -4", shell=True,
                                  capture_output=True, text=True).stdout
            print("    kernel: %s" % (text.strip() or "nothing"))
        finally:
            daemon.close()


# Steps that take one to two seconds alone.
JOBS = {"mlp": "1500", "gemm": "20000", "mem": "6000", "big": "700"}


def job(kind, tag):
    return [sys.executable, gpu.workload("job.py"), kind, JOBS[kind], tag]


def together(group, kinds, options):
    go = path(group + ".go")
    tags = ["%s-%s%d" % (group, kind, i) for i, kind in enumerate(kinds)]
    processes = [start(tag, options, job(kind, tag), {"ROOFTOP_GO": go, "ROOFTOP_READY": path("ready.")})
                 for tag, kind in zip(tags, kinds)]
    await_files(["ready." + tag for tag in tags], processes, 40)
    begin = time.time()
    open(go, "w").close()
    for tag, process in zip(tags, processes):
        finish(tag, process)
    print("all ended %.2f s after the start" % (time.time() - begin))
    rows.append({"job": "all of " + group, "seconds": time.time() - begin})


def accounts():
    for kind in JOBS:
        title("%s, exclusive" % kind)
        together("exclusive-" + kind, [kind], [])
    for group, kinds in (("mlps", ["mlp"] * 4), ("gemms", ["gemm"] * 4), ("mix", ["mlp", "mlp", "gemm", "mem"])):
        title("%s, shared, 25 %% and 8 GiB each" % " ".join(kinds))
        together(group, kinds, ["--share", "--sm", "25%", "--mem", "8G"])


def scaling():
    go = path("scaling.go")
    open(go, "w").close()
    env = dict(os.environ, ROOFTOP_GO=go, ROOFTOP_READY=path("ready."), ROOFTOP_PROFILES=path("profiles.db"))
    for kind in ("gemm", "mlp"):
        title("%s, whole and with 25, 50 and 75 %% of the SMs" % kind)
        process = subprocess.Popen([gpu.ROOFTOP, "profile", "--name", kind, "--scaling", "--", *job(kind, kind)], env=env)
        row = {"job": kind, "exit": await_end(process, 60), "expected": 0}
        shown = subprocess.run([gpu.ROOFTOP, "profile", "show", kind], env=env, capture_output=True, text=True)
        print(shown.stdout + shown.stderr, flush=True)
        exported = subprocess.run([gpu.ROOFTOP, "profile", "export", kind], env=env, capture_output=True, text=True)
        try:
            row["profile"] = json.loads(exported.stdout)
        except ValueError:
            print("no profile: %s" % exported.stderr)
        rows.append(row)


# ---- what is left in $OUT ----


def number(value, form="%.2f", factor=1):
    return "-" if value is None else form % (value * factor)


def account_cells(row):
    account = row.get("account") or {}
    of_gpu = (account.get("gpus") or [{}])[0]
    ratio = lambda name: number(of_gpu.get(name), "%.0f %%", 100)
    return [account.get("outcome", "-"), number(account.get("wall_seconds")),
            number(account.get("verified_after_seconds")), ratio("compute_sol_ratio"),
            of_gpu.get("compute_sol_pipe") or "-", ratio("memory_sol_ratio"), of_gpu.get("bound") or "-",
            ratio("nvml_utilization_ratio"), ratio("graphics_active_ratio"),
            number(of_gpu.get("memory_peak_bytes"), "%.0f", 2**-20), number(of_gpu.get("energy_joules"), "%.0f"),
            number(of_gpu.get("sm_clock_hertz"), "%.0f", 1e-6), number(of_gpu.get("effective_clock_hertz"), "%.0f", 1e-6)]


def table(head, lines):
    return "".join("| %s |\n" % " | ".join(map(str, cells)) for cells in [head, ["---"] * len(head), *lines])


def as_markdown(step, found):
    if step == "scaling":
        lines = []
        for row in found:
            profile = row.get("profile") or {"scaling": []}
            lines.append([row["job"], row["exit"], number(profile.get("wall_seconds")),
                          number(profile.get("span_seconds"))] +
                         [" / ".join([number(part["wall_seconds"]), number(part.get("span_seconds"))])
                          for part in profile["scaling"]])
        widest = max([len(line) for line in lines] + [4])
        return table(["job", "exit", "whole, s", "on the GPU, s"] +
                     ["%d %%: whole / on the GPU" % p for p in (25, 50, 75)][:widest - 4], lines)
    jobs = [row for row in found if "exit" in row]
    whole = [row for row in found if "seconds" in row]
    return table(["job", "exit", "expected", "outcome", "wall, s", "verified after, s", "Compute SOL", "pipe", "Memory SOL",
                  "bound", "nvidia-smi", "busy", "peak, MiB", "J", "MHz", "effective"],
                 [[row["job"], row["exit"], row["expected"], *account_cells(row)] for row in jobs]) + \
        "".join("\n%s: %.2f s" % (row["job"], row["seconds"]) for row in whole) + "\n"


def save(step, seconds, trouble):
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "run-%s.json" % step), "w") as file:
        json.dump({"step": step, "seconds": seconds, "trouble": trouble, "rows": rows}, file, indent=1)
    with open(os.path.join(OUT, "run.md"), "w") as file:
        file.write("# tests/device/run.py\n\n" + subprocess.run(
            "nvidia-smi --query-gpu=name,driver_version --format=csv,noheader", shell=True, capture_output=True,
            text=True).stdout)
        for name in STEPS:
            if not os.path.exists(os.path.join(OUT, "run-%s.json" % name)):
                continue
            found = json.load(open(os.path.join(OUT, "run-%s.json" % name)))
            file.write("\n## %s (%.0f s)\n\n%s%s" % (name, found["seconds"], as_markdown(name, found["rows"]),
                                                     "\n" + found["trouble"] if found["trouble"] else ""))


def main():
    if "--without-gpu" not in sys.argv:
        gpu.require_gpu()
    begin = time.time()
    steps = [word for word in sys.argv[1:] if word in STEPS] or USUAL
    bad = 0
    for step in steps:
        since, trouble = time.time(), ""
        rows.clear()
        try:
            {"whose": whose, "limits": limits, "ends": ends, "accounts": accounts, "scaling": scaling}[step]()
        except Exception:
            trouble = traceback.format_exc()
            print(trouble)
        save(step, time.time() - since, trouble)
        wrong = [row["job"] for row in rows if "exit" in row and not is_expected(row)]
        bad += len(wrong) + bool(trouble)
        print("(%s: %.0f s; not as expected: %s; %.0f s so far)" % (step, time.time() - since, wrong or "none",
                                                                   time.time() - begin), flush=True)
    print("slots at the end:", subprocess.run([gpu.ROOFTOP, "slots"], capture_output=True, text=True).stdout)
    print("MPS at the end:", subprocess.run("ps -eo pid,stat,args | grep '[n]vidia-cuda-mps'", shell=True,
                                            capture_output=True, text=True).stdout or "none")
    sys.exit(bad > 0)


main()
