"""Rows in which ranks or launchers end."""

import os
import signal
import time

from fault_rows.measure import Run
from fault_rows.row import Row, Target
from hosts import address, kill_all

AT_ONCE_S = 0.25
BETWEEN_SIGNALS_S = 1.5  # two within a second are one request


def ended_by(mode, fault, run=Run, **options):
    """Measures from a fault to the end; fault(started) causes it once the ranks are up."""
    def measure(contestant, folder, limit):
        with run(contestant, mode, folder=folder, **options) as started:
            started.await_ready()
            fault(started)
            return started.watch(limit)
    return measure


def rank_gets(number):
    def fault(run):
        victim = run.ranks_of(3)[-1]
        run.fault()
        os.kill(victim, number)
    return fault


def all_ranks_get(number):
    def fault(run):
        run.fault()
        for pid in run.announced():
            os.kill(pid, number)
    return fault


def launcher_killed(run):
    run.fault()
    run.process.kill()


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def measure_node_daemon_killed(contestant, folder, limit):
    """Kills the process that started the ranks on a host other than the launcher's."""
    with Run(contestant, "wait", folder=folder) as run:
        run.await_ready()
        ranks = set(run.ranks_of(3))
        daemons = {parent_of(pid) for pid in ranks}
        run.fault()
        kill_all(daemons)
        result = run.watch(limit, its_ranks=lambda: not ranks & run.ranks())
        if contestant.name == "autodist":
            result.expect(address(3).encode() in run.err, "stderr does not name the node")
        return result


def interrupted(run):
    run.fault()
    run.signal(signal.SIGINT)


def interrupted_twice(run):
    """Measures from the second signal."""
    run.signal(signal.SIGINT)
    time.sleep(BETWEEN_SIGNALS_S)
    interrupted(run)


ROWS = [
    Row("rank killed -9", ended_by("wait", rank_gets(signal.SIGKILL)),
        Target(gone=AT_ONCE_S, returned=AT_ONCE_S, code=137)),
    Row("rank exits 3", ended_by("wait", rank_gets(signal.SIGUSR1)),
        Target(gone=AT_ONCE_S, returned=AT_ONCE_S, code=3)),
    Row("rank segfaults", ended_by("wait", rank_gets(signal.SIGSEGV)),
        Target(gone=AT_ONCE_S, returned=AT_ONCE_S, code=139)),
    Row("other ranks ignore TERM", ended_by("stubborn", rank_gets(signal.SIGKILL), grace=2),
        Target(gone=2.3, code=137), note="--grace 2"),
    Row("launcher killed -9", ended_by("wait", launcher_killed, lease=5),
        Target(gone=6, empty=6), note="--lease 5"),
    Row("node daemon killed -9", measure_node_daemon_killed,
        Target(gone=1, returned=1, code=125, seen={"its_ranks": 0.5})),
    Row("Ctrl-C", ended_by("wait", interrupted),
        Target(gone=AT_ONCE_S, returned=AT_ONCE_S, code=130)),
    Row("Ctrl-C twice, ranks ignore TERM", ended_by("stubborn", interrupted_twice),
        Target(gone=0.5, returned=0.5, code=130)),
    Row("setsid grandchildren, success",
        ended_by("grandchildren", all_ranks_get(signal.SIGUSR2)), Target(gone=1, returned=1, code=0)),
    Row("setsid grandchildren, failure",
        ended_by("grandchildren", rank_gets(signal.SIGUSR1)), Target(gone=1, returned=1, code=3)),
]
