"""MPS on a real GPU: what the control daemon answers, and what its limits do to real clients.

usage: share.py [STEP…]    as root; all steps, where none is named, in under four minutes. Prints each
                           command with its answer, then the findings. Ends every daemon that it
                           started, also on failure. Steps: commands limits ends fault users
       share.py probe      flags, protocols, one server for two users, under 40 s (share_probe.py)
       share.py terminate  when does the end of a client harm the one beside it? 110 s (share_terminate.py)"""
import ctypes
import glob
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOFTOP = os.environ.get("ROOFTOP", os.path.join(HERE, "..", "rooftop"))
CONTROL = os.environ.get("ROOFTOP_MPS_CONTROL") or "nvidia-cuda-mps-control"
GIB = 1 << 30
PATIENCE = 20


# ---- a client of the driver API: words on the command line say what it does -----------------------

class Client:
    """share.py client WORD…: sm, info, alloc SIZE, managed SIZE, queue COUNT, linger (at an error), busy SECONDS,
    fault, wait FILE,
    unset NAME (before CUDA starts), touch FILE, sleep SECONDS. Prints a line for each."""

    def __init__(self):
        self.cuda = None
        self.buffers = []
        self.queued = 20  # fills of a buffer before each synchronization
        self.lingers = False

    def call(self, name, *arguments):
        return getattr(self.cuda, name)(*arguments)

    def start(self):
        if self.cuda:
            return
        self.cuda = ctypes.CDLL("libcuda.so.1")
        begin = time.time()
        results = [self.call("cuInit", 0)]
        device, context = ctypes.c_int(), ctypes.c_void_p()
        results.append(self.call("cuDeviceGet", ctypes.byref(device), 0))
        results.append(self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device))
        results.append(self.call("cuCtxSetCurrent", context))
        self.device = device
        self.say("start", results, "%.2f s" % (time.time() - begin))
        if any(results):
            sys.exit(9)

    def say(self, *words):
        print(*words, flush=True)

    def sm(self):
        count = ctypes.c_int()
        result = self.call("cuDeviceGetAttribute", ctypes.byref(count), 16, self.device)
        self.say("sm", result, count.value)

    def info(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        result = self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        self.say("info", result, "free %.2f GiB total %.2f GiB" % (free.value / GIB, total.value / GIB))

    def alloc(self, gib):
        pointer = ctypes.c_uint64()
        size = int(float(gib) * GIB)
        result = self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        self.say("alloc", gib, "->", result)
        if result == 0:
            self.buffers.append((pointer, size))

    def managed(self, gib):
        pointer = ctypes.c_uint64()
        size = int(float(gib) * GIB)
        result = self.call("cuMemAllocManaged", ctypes.byref(pointer), ctypes.c_size_t(size), 1)
        filled = self.call("cuMemsetD8_v2", pointer, 1, ctypes.c_size_t(size)) if result == 0 else None
        done = self.call("cuCtxSynchronize")
        self.say("managed", gib, "->", result, "memset", filled, "synchronize", done)
        if result == 0:
            self.buffers.append((pointer, size))

    def queue(self, count):
        self.queued = int(count)

    def linger(self):
        self.lingers = True

    def busy(self, seconds):
        if not self.buffers:
            self.alloc("0.5")
        pointer, size = self.buffers[0]
        until, rounds, result = time.time() + float(seconds), 0, 0
        while time.time() < until and result == 0:
            for _ in range(self.queued):
                self.call("cuMemsetD8Async", pointer, 1, ctypes.c_size_t(size), None)
            result = self.call("cuCtxSynchronize")
            rounds += 1
        self.say("busy", rounds, "->", result, "%.2f" % time.time())
        if result and self.lingers:
            time.sleep(60)
        if result:
            sys.exit(10)

    def fault(self):
        text = b""".version 6.0
.target sm_70
.address_size 64
.visible .entry k()
{ .reg .b64 %a; .reg .b32 %v; mov.u64 %a, 16; mov.u32 %v, 1; st.global.u32 [%a], %v; ret; }
"""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        results = [self.call("cuModuleLoadData", ctypes.byref(module), text),
                   self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k"),
                   self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None),
                   self.call("cuCtxSynchronize")]
        self.say("fault", results, "%.2f" % time.time())
        sys.exit(11)

    def run(self, words):
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "unset":
                os.environ.pop(words.pop(0), None)
            elif word == "touch":
                open(words.pop(0), "w").close()
            elif word == "wait":
                path = words.pop(0)
                while not os.path.exists(path):
                    time.sleep(0.02)
            elif word == "sleep":
                time.sleep(float(words.pop(0)))
            else:
                self.start()
                method = getattr(self, word)
                method(*(words.pop(0) for _ in range(method.__code__.co_argcount - 1)))
        self.say("end")


def become_fake(words):
    """The same words for tests/fake/cuda_job.c, which $FAKE_JOB names. Its time runs five times as fast."""
    names = {"alloc": ("alloc", lambda gib: gib + "G"), "managed": ("alloc", lambda gib: gib + "G"),
             "busy": ("spin", lambda seconds: str(float(seconds) / 5)),
             "sleep": ("sleep", lambda seconds: str(float(seconds) / 5))}
    said, words = [], list(words)
    while words:
        word = words.pop(0)
        if word in names:
            name, change = names[word]
            said += [name, change(words.pop(0))]
        elif word == "queue":
            words.pop(0)
        elif word == "linger":
            said += [word, "/never"]
        elif word in ("touch", "wait", "unset"):
            said += [word, words.pop(0)]
        elif word != "info":
            said.append(word)
    os.execv(os.environ["FAKE_JOB"], [os.environ["FAKE_JOB"], *said])


# ---- the daemon ----------------------------------------------------------------------------------

class Daemon:
    def __init__(self, uuid, arguments=("-d",)):
        self.root = tempfile.mkdtemp(prefix="rt-mps-", dir="/tmp")
        self.pipe, self.log = os.path.join(self.root, "pipe"), os.path.join(self.root, "log")
        os.mkdir(self.pipe)
        os.mkdir(self.log)
        self.env = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=self.pipe, CUDA_MPS_LOG_DIRECTORY=self.log)
        begin = time.time()
        done = subprocess.run([CONTROL, *arguments], env=dict(self.env, CUDA_VISIBLE_DEVICES=uuid),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        print("## %s -> rc %d, %.3f s, out %r, err %r" % (" ".join((CONTROL, *arguments)), done.returncode,
                                                         time.time() - begin, done.stdout, done.stderr))
        self.uuid = uuid
        self.extra = []

    def ask(self, command, show=True):
        begin = time.time()
        try:
            done = subprocess.run([CONTROL], input=command + "\n", env=self.env, capture_output=True,
                                  text=True, timeout=PATIENCE)
            text = "rc %d out %r err %r" % (done.returncode, done.stdout, done.stderr)
            answer = done.stdout
        except subprocess.TimeoutExpired:
            text, answer = "no answer within %d s" % PATIENCE, ""
        if show:
            print("> %s\n< %s  # %.3f s" % (command, text, time.time() - begin), flush=True)
        return answer

    def client(self, *words, sm=None, mem=None, mps=True):
        env = dict(os.environ, CUDA_VISIBLE_DEVICES=self.uuid)
        if mps:
            env["CUDA_MPS_PIPE_DIRECTORY"], env["CUDA_MPS_LOG_DIRECTORY"] = self.pipe, self.log
        if sm:
            env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(sm)
        if mem:
            env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = "0=" + mem
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "client", *words], env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.extra.append(process)
        return process

    def server(self):
        words = self.ask("get_server_list", show=False).split()
        return words[0] if words else "0"

    def flag(self, name):
        return os.path.join(self.root, name)

    def await_flag(self, name):
        until = time.time() + PATIENCE
        while not os.path.exists(self.flag(name)) and time.time() < until:
            time.sleep(0.01)
        return os.path.exists(self.flag(name))

    def logs(self):
        for path in sorted(glob.glob(self.log + "/*")):
            print("# %s" % os.path.basename(path))
            for line in open(path, errors="replace").read().splitlines()[-40:]:
                print("    " + line)

    def close(self):
        for process in self.extra:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(3)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        pid = None
        try:
            pid = int(open(os.path.join(self.pipe, "nvidia-cuda-mps-control.pid")).read())
        except (OSError, ValueError):
            pass
        self.ask("quit")
        for _ in range(100):
            if not pid or not os.path.exists("/proc/%d" % pid):
                break
            time.sleep(0.05)
        else:
            os.kill(pid, signal.SIGKILL)
            print("the daemon %d did not end: killed" % pid)
        print("after quit: pipe %s" % sorted(os.listdir(self.pipe)))
        shutil.rmtree(self.root, ignore_errors=True)


def output(process, seconds=PATIENCE):
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
        text += "(did not end)"
    return "exit %d: %s" % (process.returncode, " | ".join(text.split("\n")).strip(" |"))


def apps():
    text = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory,name", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout
    return text.strip().split("\n")


def nvml_lists():
    try:
        import pynvml
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        return {name: [(p.pid, p.usedGpuMemory) for p in getattr(pynvml, call)(handle)] for name, call in
                (("compute", "nvmlDeviceGetComputeRunningProcesses"),
                 ("mps", "nvmlDeviceGetMPSComputeRunningProcesses"))}
    except Exception as error:  # it is only shown
        return repr(error)


def title(text):
    print("\n# %s" % text, flush=True)


def commands_without_server(daemon):
    title("commands while there is no server")
    print("pipe folder:", subprocess.run(["ls", "-la", daemon.pipe], capture_output=True, text=True).stdout)
    for command in ("get_server_list", "ps", "ps -p 1", "get_server_status 1", "get_client_list 1",
                    "get_device_client_list", "get_default_active_thread_percentage",
                    "set_default_active_thread_percentage 50", "get_default_active_thread_percentage",
                    "set_default_active_thread_percentage 100", "set_default_active_thread_percentage 0",
                    "set_default_active_thread_percentage word",
                    "get_default_device_pinned_mem_limit 0", "set_default_device_pinned_mem_limit 0 2G",
                    "get_default_device_pinned_mem_limit 0", "get_default_device_pinned_mem_limit 7",
                    "set_default_device_pinned_mem_limit 7 1G", "set_default_device_pinned_mem_limit 0 2500M",
                    "get_default_device_pinned_mem_limit 0", "set_default_device_pinned_mem_limit 0 80G",
                    "get_default_device_pinned_mem_limit 0",
                    "get_default_device_pinned_mem_limit " + daemon.uuid,
                    "get_active_thread_percentage 1", "get_device_pinned_mem_limit 1 0",
                    "set_active_thread_percentage 1 50", "terminate_client 1 1", "get_default_client_priority",
                    "help", "version", "lspart", "device_query", "nonsense", "",
                    "get_server_list\nget_default_active_thread_percentage"):
        daemon.ask(command)


def limits(daemon):
    title("one client at 25 % and 2 GiB")
    begin = time.time()
    one = daemon.client("sm", "info", "alloc", "3", "alloc", "1", "info", "touch", daemon.flag("up"), "wait",
                        daemon.flag("end"), sm=25, mem="2G")
    seen = None
    while time.time() < begin + PATIENCE and not seen:
        if str(one.pid) in daemon.ask("ps", show=False):
            seen = time.time() - begin
    print("client %d in ps after %s s" % (one.pid, seen))
    daemon.await_flag("up")
    server = daemon.server()
    for command in ("get_server_list", "ps", "ps -p %d" % one.pid, "get_server_status " + server,
                    "get_client_list " + server, "get_device_client_list", "get_device_client_list " + server,
                    "get_active_thread_percentage " + server,
                    "get_device_pinned_mem_limit %s 0" % server,
                    "set_active_thread_percentage %s 40" % server, "get_active_thread_percentage " + server,
                    "set_device_pinned_mem_limit %s 0 4G" % server,
                    "get_device_pinned_mem_limit %s 0" % server):
        daemon.ask(command)
    print("nvidia-smi:", apps(), "NVML:", nvml_lists())
    print("environment of the server:", [w for w in open("/proc/%s/environ" % server).read().split("\0")
                                        if w.startswith("CUDA")] if server != "0" else None)
    two = daemon.client("sm", "alloc", "1.5", "info", "touch", daemon.flag("two"), "wait", daemon.flag("end"),
                        sm=25, mem="2G")
    daemon.await_flag("two")
    print("two processes of one job, 2 GiB each:", nvml_lists())
    open(daemon.flag("end"), "w").close()
    print("client 1:", output(one))
    print("client 2:", output(two))
    title("a client without its own limits, the server at 40 % and 4 GiB")
    print(output(daemon.client("sm", "info", "alloc", "5", "alloc", "3", sm=None)))
    print("one that unsets them after its start:",
          output(daemon.client("unset", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "unset",
                               "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "sm", "alloc", "5", "alloc", "3", sm=25,
                               mem="2G")))
    print("one that asks for more than the server allows (90 %, 8 GiB):",
          output(daemon.client("sm", "alloc", "5", "alloc", "3", sm=90, mem="8G")))
    title("managed memory, limit 2 GiB")
    print(output(daemon.client("managed", "3", "info", sm=25, mem="2G")))


def outside(daemon):
    title("a client that unsets the pipe folder")
    away = daemon.client("unset", "CUDA_MPS_PIPE_DIRECTORY", "alloc", "1", "touch", daemon.flag("away"), "wait",
                         daemon.flag("home"), sm=25, mem="2G")
    daemon.await_flag("away")
    print("pid %d NVML %s" % (away.pid, nvml_lists()))
    daemon.ask("ps")
    open(daemon.flag("home"), "w").close()
    print(output(away))
    title("a client of a pipe folder that is not there")
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "client", "sm"], text=True,
                               env=dict(os.environ, CUDA_MPS_PIPE_DIRECTORY="/tmp/not-there"),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(output(process))


def wait_served(daemon):
    begin = time.time()
    tries = 0
    while time.time() < begin + 30:
        tries += 1
        text = output(daemon.client("sm", sm=25))
        if "exit 0" in text:
            return "served again after %.2f s, try %d (%s)" % (time.time() - begin, tries, text)
    return "not served within 30 s: " + text


def ends(daemon):
    title("SIGKILL of a busy client, another beside it")
    dying = daemon.client("alloc", "1", "touch", daemon.flag("d"), "busy", "20", sm=25)
    other = daemon.client("alloc", "1", "touch", daemon.flag("o"), "busy", "5", sm=25)
    daemon.await_flag("d")
    daemon.await_flag("o")
    time.sleep(0.5)
    dying.kill()
    dying.wait()
    daemon.ask("get_server_status " + daemon.server())
    print(wait_served(daemon))
    print("the other:", output(other))
    title("terminate_client of a busy client, another beside it")
    dying = daemon.client("alloc", "1", "touch", daemon.flag("d2"), "busy", "20", sm=25)
    other = daemon.client("alloc", "1", "touch", daemon.flag("o2"), "busy", "5", sm=25)
    daemon.await_flag("d2")
    daemon.await_flag("o2")
    time.sleep(0.5)
    daemon.ask("terminate_client %s %d" % (daemon.server(), dying.pid))
    begin = time.time()
    print("terminated:", output(dying), "after %.2f s" % (time.time() - begin))
    daemon.ask("get_server_status " + daemon.server())
    print(wait_served(daemon))
    print("the other:", output(other))


def fault(daemon):
    title("an illegal access in one of three")
    others = [daemon.client("alloc", "1", "touch", daemon.flag("f%d" % i), "busy", "8", sm=25) for i in (1, 2)]
    bad = daemon.client("touch", daemon.flag("f3"), "sm", "wait", daemon.flag("go"), "fault", sm=25)
    for i in (1, 2, 3):
        daemon.await_flag("f%d" % i)
    time.sleep(1)
    open(daemon.flag("go"), "w").close()
    print("the one:", output(bad))
    server = daemon.server()
    daemon.ask("get_server_status " + server)
    daemon.ask("get_client_list " + server)
    for other in others:
        print("another:", output(other))
    print(wait_served(daemon))
    daemon.ask("get_server_list")
    daemon.logs()


def full(daemon):
    title("a full device")
    filling = daemon.client("alloc", "100", *(["alloc", "10"] * 5), *(["alloc", "1"] * 12), "info", "touch",
                            daemon.flag("full"), "wait", daemon.flag("empty"))
    daemon.await_flag("full")
    print("a second one:", output(daemon.client("sm", "alloc", "1", "info", sm=25)))
    open(daemon.flag("empty"), "w").close()
    print("the one that fills:", output(filling))


def other_user(daemon):
    title("a client of another user (uid 65534) beside root's")
    own = daemon.client("alloc", "0.5", "touch", daemon.flag("own"), "wait", daemon.flag("bye"), sm=25)
    daemon.await_flag("own")
    os.chmod(daemon.root, 0o755)
    env = dict(os.environ, CUDA_VISIBLE_DEVICES=daemon.uuid, CUDA_MPS_PIPE_DIRECTORY=daemon.pipe,
               HOME="/tmp")
    begin = time.time()
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "client", "sm"], text=True, env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, user=65534, group=65534)
    time.sleep(4)
    print("it after 4 s:", process.poll())
    for command in ("get_server_list", "ps", "get_server_status " + daemon.server()):
        daemon.ask(command)
    print("control.log says:")
    daemon.logs()
    open(daemon.flag("bye"), "w").close()
    print("own:", output(own))
    print("it:", output(process), "after %.1f s" % (time.time() - begin))
    daemon.ask("get_server_list")


STEPS = {"commands": (commands_without_server,), "limits": (limits, outside), "ends": (ends,), "fault": (fault,),
         "users": (full, other_user)}


def main():
    words = sys.argv[1:]
    if words[:1] == ["client"]:
        if "FAKE_JOB" in os.environ:
            become_fake(words[1:])
        Client().run(words[1:])
        return
    if not shutil.which(CONTROL) or not shutil.which("nvidia-smi"):
        print("skipped: no GPU, or no nvidia-cuda-mps-control")
        return
    uuid = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], capture_output=True,
                          text=True).stdout.split()[0]
    if words in (["probe"], ["terminate"]):
        importlib.import_module("share_" + words[0]).main(uuid)
        return
    if not set(words) <= set(STEPS):
        sys.exit(__doc__)
    begin = time.time()
    print("compute mode:", subprocess.run(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"],
                                          capture_output=True, text=True).stdout.strip())
    print("-v:", subprocess.run([CONTROL, "-v"], capture_output=True, text=True))
    for parts in (STEPS[word] for word in words or STEPS):
        daemon = Daemon(uuid)
        try:
            for part in parts:
                part(daemon)
        except Exception as error:
            print("FAILED in %s: %r" % (part.__name__, error))
        finally:
            daemon.close()
        if time.time() - begin > 200:
            print("out of time")
            break
    print("in all %.0f s" % (time.time() - begin))


if __name__ == "__main__":
    main()
