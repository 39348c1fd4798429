"""The step `probe` of share.py: which flags, protocols and commands this control daemon knows, and one
server for two users. It changes no setting of the GPU; each daemon has folders of its own."""
import os
import subprocess
import sys
import time

import share

FLAGS = (("-d", "-S"), ("-d", "--static-partitioning"), ("-d", "-p", "3"), ("-d", "-M"), ("-d", "-m"),
         ("-d", "--multiuser"), ("-d", "-nonsense"))
BUDGET = 40


def run(*arguments, env=None):
    """The program, without a daemon or with the one of the environment."""
    env = env or dict(os.environ, CUDA_MPS_PIPE_DIRECTORY="/tmp/rt-mps-nobody", CUDA_MPS_LOG_DIRECTORY="/tmp")
    try:
        done = subprocess.run([share.CONTROL, *arguments], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=5)
        print("$ %s\n< rc %d out %r err %r" % (" ".join(arguments), done.returncode, done.stdout, done.stderr),
              flush=True)
    except subprocess.TimeoutExpired:
        print("$ %s\n< no end within 5 s" % " ".join(arguments), flush=True)


def guarded(uuid, arguments, *parts):
    """A daemon, asked by each part, and ended whatever happens."""
    share.title("the daemon with " + " ".join(arguments))
    try:
        daemon = share.Daemon(uuid, arguments)
    except Exception as error:
        print("FAILED to start: %r" % error)
        return
    try:
        for part in parts:
            part(daemon)
    except Exception as error:
        print("FAILED in %s: %r" % (part.__name__, error))
    finally:
        daemon.close()


def version(daemon):
    """Protocols 2 and 3, as they are asked."""
    for command in ("get_server_list", "lspart", "sm_partition add %s 2" % daemon.uuid, "lspart",
                    "get_default_active_thread_percentage"):
        daemon.ask(command)
    run("server", "list", env=daemon.env)


def partition(daemon):
    """A client of a partition, where the daemon makes one, and one of none."""
    answer = daemon.ask("sm_partition add %s 2" % daemon.uuid)
    named = [word for word in answer.split() if "/" in word]
    print("without a partition:", share.output(daemon.client("sm", sm=25)))
    if not named:
        return
    os.environ["CUDA_MPS_SM_PARTITION"] = named[0]
    print("in %s:" % named[0], share.output(daemon.client("sm")))
    del os.environ["CUDA_MPS_SM_PARTITION"]
    daemon.ask("lspart")
    daemon.ask("sm_partition rm %s %s" % tuple(named[0].split("/", 1)))
    daemon.ask("lspart")


def quit_protocol_3(daemon):
    run("-q", env=daemon.env)


def nobodys(daemon, *words):
    """A client of uid 65534."""
    env = dict(os.environ, CUDA_VISIBLE_DEVICES=daemon.uuid, CUDA_MPS_PIPE_DIRECTORY=daemon.pipe, HOME="/tmp",
               CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="25", CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=1G")
    process = subprocess.Popen([sys.executable, os.path.abspath(share.__file__), "client", *words], text=True,
                               env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, user=65534, group=65534)
    daemon.extra.append(process)
    return process


def server_owner(daemon):
    server = daemon.server()
    try:
        with open("/proc/%s/status" % server) as status:
            return server, [line.split() for line in status if line.startswith("Uid")]
    except OSError as error:
        return server, repr(error)


def nobody_asks(daemon, *commands):
    try:
        done = subprocess.run([share.CONTROL], input="\n".join(commands) + "\n", env=dict(daemon.env),
                              capture_output=True, text=True, timeout=5, user=65534, group=65534)
        print("nobody asks %s: rc %d out %r err %r" % (commands, done.returncode, done.stdout, done.stderr))
    except subprocess.TimeoutExpired:
        print("nobody asks %s: no answer" % (commands,))


def two_users(daemon):
    """Root's client and nobody's at once: served both? limits? whose process? whose fault takes whom down?"""
    os.chmod(daemon.root, 0o777)  # both users make flags there
    own = daemon.client("alloc", "0.5", "touch", daemon.flag("own"), "busy", "9", sm=25)
    if not daemon.await_flag("own"):
        print("root's did not start:", share.output(own, 1))
        return
    begin = time.time()
    other = nobodys(daemon, "sm", "alloc", "2", "alloc", "0.5", "touch", daemon.flag("other"), "wait",
                    daemon.flag("go"), "fault")
    print("nobody's is up:", daemon.await_flag("other"), "after %.2f s" % (time.time() - begin))
    server, owner = server_owner(daemon)
    print("the server", server, owner, "NVML", share.nvml_lists())
    for command in ("get_server_list", "ps", "get_client_list " + server, "get_server_status " + server,
                    "set_active_thread_percentage %s 40" % server, "set_device_pinned_mem_limit %s 0 4G" % server,
                    "get_device_pinned_mem_limit %s 0" % server):
        daemon.ask(command)
    nobody_asks(daemon, "get_server_list", "set_default_active_thread_percentage 77")
    open(daemon.flag("go"), "w").close()
    print("nobody's faults:", share.output(other))
    print("root's:", share.output(own))
    own = daemon.client("alloc", "0.5", "touch", daemon.flag("again"), "busy", "2", sm=25)
    if daemon.await_flag("again"):
        nobody_asks(daemon, "terminate_client %s %d" % (server_owner(daemon)[0], own.pid))
        print("root's, that nobody told to end:", share.output(own))
    nobody_asks(daemon, "quit")
    daemon.ask("get_server_list")
    daemon.logs()


def start_server(daemon):
    """A server for nobody, asked for by hand."""
    os.chmod(daemon.root, 0o777)  # both users make flags there
    daemon.ask("start_server -uid 65534")
    until = time.time() + 5
    while time.time() < until and daemon.server() == "0":
        time.sleep(0.05)
    print("the server", *server_owner(daemon))
    print("nobody's:", share.output(nobodys(daemon, "sm")))


def main(uuid):
    begin = time.time()
    share.title("the program alone")
    for arguments in (("-v",), ("-h",), ("--help",), ("server", "list"), ("-nonsense",)):
        run(*arguments)
    guarded(uuid, ("-d", "-multiuser-server"), two_users)
    guarded(uuid, ("-d",), start_server)
    for flags in FLAGS:
        if time.time() - begin > BUDGET - 8:
            print("out of time before", flags)
            break
        guarded(uuid, flags, version, *{"-S": (partition,), "-p": (quit_protocol_3,)}.get(flags[1], ()))
    print("compute mode:", subprocess.run(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"],
                                          capture_output=True, text=True).stdout.strip())
    print("in all %.0f s" % (time.time() - begin))


if __name__ == "__main__":
    print("skipped: share.py probe runs it")
