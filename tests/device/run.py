"""rooftop run on a real GPU: limits that hold, what gets round them, faults, and accounts of real jobs.

usage: run.py [whose] [limits] [ends] [accounts]     all, where none is named; under four minutes together"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import gpu

CLIENT = [sys.executable, os.path.join(gpu.HERE, "share.py"), "client"]
FOLDER = tempfile.mkdtemp(prefix="rt-run-")


def path(name):
    return os.path.join(FOLDER, name)


def start(name, options, command, env=None):
    out = open(path(name + ".out"), "w")
    return subprocess.Popen([gpu.ROOFTOP, "run", "--name", name, "--json", path(name + ".json"), *options, "--",
                             *command], stdout=out, stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})))


def finish(name, process, patience=60):
    begin = time.time()
    try:
        code = process.wait(patience)
    except subprocess.TimeoutExpired:
        process.terminate()
        code = "no end in %d s" % patience
        process.wait(20)
    print("%s: exit %s, %.2f s after it was awaited" % (name, code, time.time() - begin))
    for line in open(path(name + ".out"), errors="replace"):
        print("    " + line.rstrip())
    if os.path.exists(path(name + ".json")):
        account = json.load(open(path(name + ".json")))
        print("    outcome %s, wall %.2f s, verified after %s s" % (
            account["outcome"], account["wall_seconds"], account["verified_after_seconds"]))
    sys.stdout.flush()


def once(name, options, command, patience=60):
    finish(name, start(name, options, command), patience)


def await_file(name, patience=30):
    until = time.time() + patience
    while not os.path.exists(path(name)) and time.time() < until:
        time.sleep(0.01)
    return os.path.exists(path(name))


def title(text):
    print("\n# " + text, flush=True)


def limits():
    slot = ["--share", "--sm", "25%", "--mem", "2G"]
    title("a job within its slot of 25 % and 2 GiB")
    once("within", slot, CLIENT + ["sm", "alloc", "3", "alloc", "1", "info", "busy", "3"])
    title("two processes of 1.4 GiB each: the sum is above the slot")
    once("sum", slot, ["sh", "-c", '"$@" & "$@"', "sh", *CLIENT, "alloc", "1.4", "busy", "20"])
    title("a client that unsets its pipe folder")
    once("outside", slot, CLIENT + ["unset", "CUDA_MPS_PIPE_DIRECTORY", "alloc", "1", "busy", "20"])
    title("a program that is started without its limit")
    once("unlimited", slot, ["env", "-u", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", *CLIENT, "alloc", "1", "busy", "20"])
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
    once("timeout", slot + ["--timeout", "3"], CLIENT + ["alloc", "1", "busy", "20"])
    title("SIGTERM in the middle, another beside it")
    other = start("beside", slot, CLIENT + ["alloc", "1", "touch", path("beside.up"), "busy", "6"])
    job = start("term", slot, CLIENT + ["alloc", "1", "touch", path("term.up"), "busy", "20"])
    await_file("beside.up")
    await_file("term.up")
    print(subprocess.run([gpu.ROOFTOP, "slots"], capture_output=True, text=True).stdout)
    job.send_signal(signal.SIGTERM)
    finish("term", job)
    finish("beside", other)
    title("an illegal access in one of three, one of the others may try again")
    victim = start("victim", slot, CLIENT + ["alloc", "1", "touch", path("victim.up"), "busy", "10"])
    again = start("again", slot + ["--retry-victims", "1"],
                  ["sh", "-c", 'if [ -e "$0" ]; then exec "$@" busy 1; else exec "$@" touch "$0" busy 10; fi',
                   path("again.up"), *CLIENT, "alloc", "1"])
    cause = start("cause", slot, CLIENT + ["sm", "wait", path("victim.up"), "wait", path("again.up"), "sleep", "2",
                                           "fault"])
    for name, process in (("cause", cause), ("victim", victim), ("again", again)):
        finish(name, process)
    title("served again")
    once("after", slot, CLIENT + ["sm", "alloc", "1"])


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


JOBS = {"mlp": "2500", "gemm": "20000", "mem": "20000", "big": "1500"}


def together(kinds, options):
    go = path("go%d" % time.time_ns())
    begin = time.time()
    processes = []
    for i, kind in enumerate(kinds):
        tag = "%s%d" % (kind, i)
        for suffix in (".json", ".ready." + tag):
            if os.path.exists(path(tag + suffix)):
                os.unlink(path(tag + suffix))
        processes.append((tag, start(tag, options, [sys.executable, gpu.workload("job.py"), kind, JOBS[kind], tag],
                                     {"ROOFTOP_GO": go, "ROOFTOP_READY": path("%d.ready." % i)})))
    for i, (tag, _) in enumerate(processes):
        if not await_file("%d.ready.%s" % (i, tag), 40):
            print("%s is not ready" % tag)
    begin = time.time()
    open(go, "w").close()
    for tag, process in processes:
        finish(tag, process)
    print("all ended %.2f s after the start" % (time.time() - begin))


def accounts():
    for kind in JOBS:
        title("%s, exclusive" % kind)
        together([kind], [])
    for kinds in (["mlp"] * 4, ["gemm"] * 4, ["mlp", "mlp", "gemm", "mem"]):
        title("%s, shared, 25 %% and 8 GiB each" % " ".join(kinds))
        together(kinds, ["--share", "--sm", "25%", "--mem", "8G"])


def main():
    gpu.require_gpu()
    begin = time.time()
    for part in sys.argv[1:] or ["whose", "limits", "ends", "accounts"]:
        {"whose": whose, "limits": limits, "ends": ends, "accounts": accounts}[part]()
        print("(%.0f s so far)" % (time.time() - begin))
    print("slots at the end:", subprocess.run([gpu.ROOFTOP, "slots"], capture_output=True, text=True).stdout)
    print("MPS at the end:", subprocess.run("ps -eo pid,stat,args | grep '[n]vidia-cuda-mps'", shell=True,
                                            capture_output=True, text=True).stdout or "none")


main()
