#!/usr/bin/env python3
"""Runs a script that imports torch without waiting for that: torch_fork.py SCRIPT ARGUMENT…

    torch_fork.py --serve      imports torch, says "ready", and listens on $TORCH_FORK until its
                               standard input ends

The server forks itself for each script. It never touches CUDA, so that a script begins as a python
that has just imported torch and is not on the GPU yet. The script gets the caller's environment,
folder, standard files and process group, and dies with the caller, who ends as the script ends.
Without a server the script is started as usual.
"""
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback


def request():
    words = {"argv": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(), "group": os.getpgrp()}
    return json.dumps(words).encode() + b"\n"


def call():
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(os.environ["TORCH_FORK"])
    except (KeyError, OSError):
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    socket.send_fds(server, [b"f"], [0, 1, 2])
    server.sendall(request())
    # It waits for the byte: until then nobody else can have its number.
    ended = os.pidfd_open(int(server.makefile().readline()))
    server.sendall(b"g")
    select.select([ended], [], [])
    code = server.recv(1)
    sys.exit(code[0] if code else 128 + signal.SIGKILL)


def show_environment(environment):
    """Puts it where /proc shows the one that the process was started with: Rooftop looks there for a
    job's limits."""
    words = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    with open("/proc/self/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    begin, end = int(fields[47]), int(fields[48])
    if len(words) > end - begin:
        sys.exit("torch_fork.py: there is no room for the environment")
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(words.ljust(end - begin, b"\0"))


def die_with(caller):
    caller.recv(1)
    os._exit(1)


def become(caller):
    """What the caller asks for; returns the exit status."""
    files = socket.recv_fds(caller, 1, 3)[1]
    words = json.loads(caller.makefile().readline())
    os.setpgid(0, words["group"])
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    caller.sendall(b"%d\n" % os.getpid())
    caller.recv(1)
    threading.Thread(target=die_with, args=(caller,), daemon=True).start()
    os.environ.clear()
    os.environ.update(words["environment"])
    show_environment(words["environment"])
    os.chdir(words["folder"])
    sys.argv = words["argv"]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve():
    if "TORCH_FORK_ROOM" not in os.environ:
        os.environ["TORCH_FORK_ROOM"] = 65536 * "."
        os.execv(sys.executable, [sys.executable, *sys.argv])
    import torch
    import torch._dynamo  # an optimizer would, at its first step, for four seconds
    if torch.cuda.is_initialized():
        sys.exit("torch_fork.py: importing torch has touched CUDA")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.environ["TORCH_FORK"])
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        readable = select.select([listener, sys.stdin], [], [])[0]
        if sys.stdin in readable:
            return
        caller = listener.accept()[0]
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            code = become(caller)
            sys.stdout.flush()
            sys.stderr.flush()
            caller.sendall(bytes([code & 255]))
            sys.exit(code)
        caller.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    serve() if sys.argv[1:] == ["--serve"] else call()
