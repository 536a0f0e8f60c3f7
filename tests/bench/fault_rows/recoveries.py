"""Rows in which a job starts again."""

import os
import signal
import time
from pathlib import Path

from fault_rows.contestants import HOSTS, RANKS
from fault_rows.measure import POLL_S, Run
from fault_rows.outputs import VICTIM
from fault_rows.row import Row, Target

AT_ONCE_S = 0.15 if len(HOSTS) <= 4 else 0.5


class WaitingRun(Run):
    """Its ranks cost little, so that what is measured is the launcher."""

    rank_program = ("/bin/sh", str(Path(__file__).with_name("waiting_rank.sh")))


def recovers(fault, **options):
    """Measures from the fault until every rank of another attempt has announced itself."""
    def measure(contestant, folder, limit):
        with WaitingRun(contestant, folder=folder, **options) as run:
            run.await_ready()
            before = run.announced()
            fault(run)
            while len(run.announced()) < 2 * RANKS and time.monotonic() - run.fault_at < limit:
                time.sleep(POLL_S)
            took = time.monotonic() - run.fault_at
            again = run.announced() - before
            for pid in again:
                os.kill(pid, signal.SIGUSR2)
            result = run.watch(limit)
            result.expect(sorted(map(run.number_of, again)) == list(range(RANKS)), f"{len(again)} ranks ran again")
            if len(again) == RANKS:
                result.seen["running"] = took
            return result
    return measure


def rank_killed(run):
    [victim] = [pid for pid in run.announced() if run.number_of(pid) == VICTIM]
    run.fault()
    os.kill(victim, signal.SIGKILL)


ROWS = [
    Row("a rank is killed", recovers(rank_killed, max_restarts=3), Target(code=0, seen={"running": AT_ONCE_S}),
        tools=("autodist", "torchrun"), peer_limit=60, note="--max-restarts 3"),
]
