"""What people see on this GPU: doctor, list and stat beside a load; its process, and the time to the
first record."""
import csv
import io
import json
import os
import statistics
import subprocess
import time

import gpu


def output(*words):
    done = subprocess.run([gpu.ROOFTOP, *words], capture_output=True, text=True)
    print("$ rooftop %s   (exit %d)\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def refuse(word):
    raise ValueError("%s is no JSON" % word)


def first_record(source):
    start = time.monotonic()
    with subprocess.Popen([gpu.ROOFTOP, "stat", "--source", source, "--interval", "1h", "--format", "json"],
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        passed = time.monotonic() - start
        gpu.end(process)
    return passed


def check(name, holds):
    print("%s: %s" % ("ok" if holds else "FAILED", name))
    return 0 if holds else 1


def main():
    gpu.require_gpu()
    for source in ("nvml", "auto"):
        times = [first_record(source) for _ in range(10)]
        print("first record, %s: median %.3f s, longest %.3f s" % (source, statistics.median(times), max(times)))
    load = gpu.product("bf16", 4096, 20)
    time.sleep(1)
    output("doctor")
    output("list")
    output("stat", "--count", "5", "--processes")
    frames = [json.loads(line, parse_constant=refuse)
              for line in output("stat", "--count", "2", "--interval", "0.2", "--format", "json", "--processes").splitlines()]
    rows = list(csv.DictReader(io.StringIO(output("stat", "--count", "2", "--interval", "0.2", "--format", "csv"))))
    report = json.loads(output("doctor", "--format", "json"), parse_constant=refuse)
    load.stop()

    first = frames[-1]["gpus"][0]
    own = [p for p in first["processes"] or [] if p["pid"] == os.getpid()]
    failed = check("two records of JSON", len(frames) == 2)
    failed += check("CSV has the same metrics", set(first) - {"processes", "processes_truncated"} <= set(rows[0]))
    failed += check("doctor's JSON has sections", len(report["sections"]) >= 4)
    failed += check("the load is bound by compute", first["bound"] == "compute")
    failed += check("the load's process is listed with its command",
                    len(own) == 1 and "outputs.py" in (own[0]["command"] or ""))
    failed += check("and with its memory", bool(own) and (own[0]["memory_bytes"] or 0) > 1e8)
    raise SystemExit(1 if failed else 0)


main()
