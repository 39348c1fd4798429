"""The step `terminate` of share.py: a client of MPS is ended while it works; what becomes of the one beside it?

Each case has two clients at 25 % that fill their buffers again and again, `queue` fills before each wait. A fill
of 1 GiB takes 0.25 ms on an H200, one of 59 GiB 15 ms: what is queued when the client ends differs."""
import os
import signal
import time

import share

BUDGET = 120
SCALE = 0.2 if "FAKE_JOB" in os.environ else 1  # of the fakes' time, as share.py has it
WORK = 1.2 * SCALE  # seconds that the one beside it must go on


def case(words, end, victim, beside, filler=None):
    return {"words": words, "end": end, "victim": victim, "beside": beside, "filler": filler}


def terminate(daemon, client):
    daemon.ask("terminate_client %s %d" % (daemon.server(), client.pid), show=False)


def kill(daemon, client):
    client.kill()


def terminate_and_kill(daemon, client):
    terminate(daemon, client)
    client.kill()


def terminate_and_kill_late(daemon, client):
    """By then it is no client any more; when was that?"""
    begin, gone = time.time(), None
    terminate(daemon, client)
    while time.time() < begin + SCALE:
        if gone is None and str(client.pid) not in daemon.ask("get_client_list " + daemon.server(), show=False).split():
            gone = time.time() - begin
        time.sleep(0.01)
    print("no client any more after %s s; its memory: %s" % (
        gone and "%.2f" % gone, [line for line in share.apps() if line.startswith("%d," % client.pid)]))
    client.kill()


def stop_and_terminate(daemon, client):
    """One that is stopped does not answer."""
    os.kill(client.pid, signal.SIGSTOP)
    time.sleep(SCALE)
    begin = time.time()
    terminate(daemon, client)
    print("terminate_client of a stopped one took %.1f s" % (time.time() - begin))
    os.kill(client.pid, signal.SIGCONT)


BIG, LONG, SHORT = ("59", 20), ("1", 1200), ("1", 20)
CASES = (
    case("both big", terminate_and_kill, BIG, BIG),
    case("both big", terminate_and_kill_late, BIG, BIG),
    case("both big, GPU nearly full", terminate_and_kill, BIG, BIG, "20"),
    case("both big", kill, BIG, BIG),
    case("both big, fills one by one", kill, ("59", 1), ("59", 1)),
    case("the victim big", kill, BIG, SHORT),
    case("fills of 16 GiB", kill, ("16", 20), SHORT),
    case("fills of 4 GiB", kill, ("4", 80), SHORT),
    case("both long", kill, LONG, LONG),
    case("both big", terminate, BIG, BIG),
    case("both big, GPU nearly full", terminate, BIG, BIG, "20"),
    case("both short", terminate, SHORT, SHORT),
    case("both long", terminate, LONG, LONG),
    case("the victim long", terminate, LONG, SHORT),
    case("the one beside it long", terminate, SHORT, LONG),
    case("both big", stop_and_terminate, BIG, BIG),
)


def client(daemon, name, work, seconds, *words):
    """Up and busy."""
    size, queue = work
    flag = "%s-%d" % (name, len(daemon.extra))
    one = daemon.client("alloc", size, "queue", str(queue), "touch", daemon.flag(flag), *words, "busy", str(seconds),
                        sm=25)
    daemon.await_flag(flag)
    return one


def look(daemon, one):
    filler = None
    beside = client(daemon, "beside", one["beside"], 60)
    lingers = ["linger"] if one["end"] is not terminate else []
    victim = client(daemon, "victim", one["victim"], 60, *lingers)
    if one["filler"]:
        filler = daemon.client("alloc", one["filler"], "touch", daemon.flag("filled"), "wait", daemon.flag("over"),
                               mps=False)
        daemon.await_flag("filled")
    time.sleep(0.4 * SCALE)
    begin = time.time()
    one["end"](daemon, victim)
    said = share.output(victim, 5)
    ended = time.time() - begin
    until = time.time() + WORK
    while beside.poll() is None and time.time() < until:
        time.sleep(0.01)
    harmed = beside.poll() is not None
    print("%-32s %-18s the victim: %s, after %.2f s" % (one["words"], one["end"].__name__, said[-60:], ended))
    print("%-51s its neighbour: %s" % ("", "ENDED after %.2f s, %s" % (time.time() - begin, share.output(beside)[-60:])
                                        if harmed else "goes on"), flush=True)
    if filler:
        open(daemon.flag("over"), "w").close()
        share.output(filler)
    beside.kill()
    beside.wait()


def main(uuid):
    start = time.time()
    for one in CASES:
        if time.time() - start > BUDGET - 5:
            print("out of time")
            break
        daemon = share.Daemon(uuid)
        try:
            look(daemon, one)
        except Exception as error:
            print("FAILED in %s: %r" % (one["words"], error))
        finally:
            daemon.close()
    print("in all %.0f s" % (time.time() - start))


if __name__ == "__main__":
    print("skipped: share.py terminate runs it")
