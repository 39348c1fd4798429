# tests/device/bench.py and torch_fork.py, over a fake GPU and a torch that says when it is imported.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

if ! command -v python3 >/dev/null; then
    skip 'the bench on a real GPU' 'there is no python3'
    finish
fi
stage 1
device=$SOURCE_ROOT/tests/device
mkdir modules
mkdir modules/torch
touch modules/torch/_dynamo.py
cat >modules/torch/__init__.py <<'END_OF_PYTHON'
import os
open(os.environ["IMPORTS"], "a").write(f"{os.getpid()}\n")
class cuda:
    is_initialized = staticmethod(lambda: False)
END_OF_PYTHON
cat >job.py <<'END_OF_PYTHON'
import os, subprocess, sys, torch
kind, steps, tag = sys.argv[1:]
assert kind != os.environ.get("BROKEN")
open(os.environ["ROOFTOP_READY"] + tag, "w").close()
length = "0.6" if "ROOFTOP_PROFILES" in os.environ else "0.01"  # a profile takes a job that can be measured
subprocess.run([os.environ["FAKE_JOB"], "wait", os.environ["ROOFTOP_GO"], "spin", length], check=True)
print(f"JOB {tag} {kind} 0.010", flush=True)
END_OF_PYTHON
export PYTHONPATH="$PWD/modules" IMPORTS="$PWD/imports" FAKE_JOB="$fake_job" SCRIPT="$PWD/job.py"
export OUT="$PWD/kept" WORK="$PWD/work" SETTLE=1ms PYTHONDONTWRITEBYTECODE=1

# A script through the server, and without it.
cat >script.py <<'END_OF_PYTHON'
import os, sys, torch
shown = open("/proc/self/environ").read().split("\0")
assert set(shown) - {""} == {f"{name}={value}" for name, value in os.environ.items()}
print(os.environ["COLOUR"], os.getcwd(), os.getpgrp(), sys.argv[1:], sys.stdin.read(), flush=True)
sys.exit(7)
END_OF_PYTHON
: >imports
mkfifo hold
TORCH_FORK=$PWD/socket python3 "$device/torch_fork.py" --serve <hold >served &
server=$!
exec 4>hold
await grep -q ready served
mkdir elsewhere
for socket in "$PWD/socket" "$PWD/none"; do
    (cd elsewhere && printf words | COLOUR=blue TORCH_FORK=$socket \
        python3 -c 'import os, sys; os.setpgid(0, 0); print("blue", os.getcwd(), os.getpgrp(), flush=True)
os.execvp("python3", ["python3", *sys.argv[1:]])' "$device/torch_fork.py" ../script.py a b >../out)
    [ $? -eq 7 ]
    result $? "the exit status is that of the script"
    sed "1s/\$/ ['a', 'b'] words/;2d" out >expected
    sed 1d out >seen
    expect_same seen expected "so are its environment, folder, process group, words and input"
done
[ "$(wc -l <imports)" -eq 2 ]
result $? 'the server has imported torch once, a script without it by itself'
cat >script.py <<'END_OF_PYTHON'
import os, time
open("alive", "w").write(str(os.getpid()))
time.sleep(300)
END_OF_PYTHON
TORCH_FORK=$PWD/socket python3 "$device/torch_fork.py" script.py &
caller=$!
await [ -s alive ]
kill -9 $caller
await sh -c '! kill -0 "$(cat alive)"'
result $? 'a script dies with its caller'
exec 4>&-
wait $server
result $? 'the server ends with its input'

# All steps, with a job of one kind that fails at first.
: >imports
BROKEN=mlp expect_exit 1 'a job that fails' python3 "$device/bench.py" iterations trainings
expect_text out '^== iterations: NOT complete' 'costs its step'
expect_text out '^== trainings: NOT complete' 'and those that need it'
expect_exit 0 'bench.py' python3 "$device/bench.py" iterations trainings
expect_text out '^== trainings: complete' 'goes on where it was'
sqlite3 work/trainings.bench "SELECT count(*) FROM run WHERE outcome = 'ended'" >out
expect_text out '^60$' 'every job of every trial ended'
[ "$(ls kept)" = bench.tar.gz ]
result $? 'it leaves one file'
# What is left is told beforehand.
expect_exit 0 'the plan' python3 "$device/bench.py" all --plan
expect_text out '^plan: trainings: 0 runs, 0 s' 'what is complete takes nothing'
expect_text out '^plan: colocation: 42 runs, ' 'solo runs of four kinds, 10 pairs and 20 triples'
expect_text out '^plan: .* trials took [0-9.]+ times the guess$' 'by what trials took here'
# A solo run, a pair and a profile; then another GPU.
run_items="import sys, time; sys.path.insert(0, '$device'); import bench; items = bench.items_of('colocation', 1)
assert all([bench.bench(item, time.time() + 600) for item in (items[0], items[4])]) and bench.table()
bench.KINDS[1:] = []; bench.iterations = lambda: {'mlp': 1000}; assert bench.profiles(time.time() + 600)"
expect_exit 0 'jobs beside each other' python3 -c "$run_items"
sqlite3 :memory: -cmd '.import --csv kept/colocation.csv line' \
    "SELECT jobs, mode, count(*), min(slowdown > 0), min(solo_seconds > 0) FROM line GROUP BY jobs, mode" >out
printf '%s\n' 'mlp|exclusive|3|1|1' 'mlp+mlp|mps|2|1|1' >expected
expect_same out expected 'a line for each job, with its time alone'
"$BUILD_ROOT/tests/tools/jsoncheck" mlp.key <work/profiles.json >out
expect_text out '^"mlp"$' 'its profile is kept'
cp gpu/nvml nvml.before
echo 'nvmlDeviceGetUUID -> 0 "GPU-dba5d9ac-0000-4000-8000-000000000001"' >>gpu/nvml
expect_exit 0 'on another GPU' python3 "$device/bench.py" colocation --plan
expect_text out '^plan: colocation: 41 runs, ' 'the solo runs are made anew, a pair that is complete is not'
cp nvml.before gpu/nvml
rm -r work/co-* kept/colocation.csv

# On another machine, from the archive.
mv work before
mv kept/bench.tar.gz .
: >imports
expect_exit 0 'from the archive' python3 "$device/bench.py" trainings --from bench.tar.gz
[ "$(wc -l <imports)" -eq 1 ]
result $? 'no job is run again'
finish
