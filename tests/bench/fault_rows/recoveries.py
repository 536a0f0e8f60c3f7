"""Rows in which a job starts again, on a spare host where one is lost."""

import os
import signal
import sys
import time
from pathlib import Path

from fault_rows.contestants import HOSTS, RANKS, RANKS_PER_HOST
from fault_rows.losses import CUT_OFF, at_last
from fault_rows.measure import POLL_S, Run
from fault_rows.row import Row, Target
from hosts import agents_on, cut, heal, kill_all, pids_on, power_off, power_on

LEASE_S = 5
SPARE = len(HOSTS) + 1
VICTIM = RANKS_PER_HOST * (CUT_OFF - 1)  # the first rank of the host that is lost
FIRST_STEP_S = 4
AT_ONCE_S = 0.15 if len(HOSTS) <= 4 else 0.5
OPTIONS = {"spares": 1, "max_restarts": 3, "lease": LEASE_S}


class WaitingRun(Run):
    """Its ranks cost little, so that what is measured is the launcher."""

    rank_program = ("/bin/sh", str(Path(__file__).with_name("waiting_rank.sh")))


class TrainingRun(Run):
    """Its ranks announce themselves after their first step."""

    rank_program = (sys.executable, str(Path(__file__).with_name("training_rank.py")))


def recovers(fault, moved=range(VICTIM, VICTIM + RANKS_PER_HOST), kind=WaitingRun):
    """Measures from the fault until every rank of another attempt has announced itself. `moved`: the ranks that
    then run on the spare."""
    def measure(contestant, folder, limit):
        with at_last(heal), kind(contestant, folder=folder, **OPTIONS) as run:
            run.await_ready()
            before = run.announced()
            fault(run)
            while len(run.announced()) < 2 * RANKS and time.monotonic() - run.fault_at < limit:
                time.sleep(POLL_S)
            took = time.monotonic() - run.fault_at
            again = run.announced() - before
            on_spare = sorted(run.number_of(pid) for pid in again & pids_on(SPARE))
            for pid in again:
                os.kill(pid, signal.SIGUSR2)
            result = run.watch(limit)
            result.expect(sorted(map(run.number_of, again)) == list(range(RANKS)), f"{len(again)} ranks ran again")
            result.expect(on_spare == list(moved), f"the spare ran the ranks {on_spare}")
            if len(again) == RANKS:
                result.seen["running"] = took
            return result
    return measure


def rank_killed(run):
    [victim] = [pid for pid in run.announced() if run.number_of(pid) == VICTIM]
    run.fault()
    os.kill(victim, signal.SIGKILL)


def agent_killed(run):
    agents = agents_on(CUT_OFF)
    run.fault()
    kill_all(agents)


def link_cut(run):
    run.fault()
    cut(CUT_OFF)


def host_restarted(run):
    """Measured from when it runs again."""
    power_off(CUT_OFF)
    power_on(CUT_OFF)
    run.fault()


def row(name, fault, limit, **more):
    return Row(name, fault, Target(code=0, seen={"running": limit}),
               **{"tools": ("autodist",), "note": f"--spares 1 --max-restarts 3 --lease {LEASE_S}", **more})


ROWS = [
    row("a rank is killed", recovers(rank_killed, moved=()), AT_ONCE_S, tools=("autodist", "torchrun"), peer_limit=60),
    row("an agent is killed", recovers(agent_killed), 1),
    row("a host is restarted", recovers(host_restarted), 1),
    row("a host is cut off", recovers(link_cut), LEASE_S + 0.3),
] + ([] if len(HOSTS) > 4 else [  # more ranks of PyTorch need too much memory
    row("the first step after a rank is killed", recovers(rank_killed, moved=(), kind=TrainingRun), FIRST_STEP_S,
        tools=("autodist", "torchrun"), peer_limit=60),
])
