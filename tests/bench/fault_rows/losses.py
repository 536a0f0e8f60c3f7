"""Rows in which links, hosts or SSH servers are lost."""

import contextlib
import time

from fault_rows.lines import check_lines
from fault_rows.measure import Run
from fault_rows.row import Row, Target
from hosts import address, cut, heal, kill_all, power_off, power_on, sshd_sessions, start_sshd, stop_sshd

CUT_OFF = 3  # the host that is lost
NAMED_S = 15
LEASE_S = 20


@contextlib.contextmanager
def at_last(undo):
    try:
        yield
    finally:
        undo(CUT_OFF)


def lost_by(fault, undo, run=Run):
    """Measures from a host's loss to the end, and when the output first names the host."""
    def measure(contestant, folder, limit):
        with run(contestant, "wait", folder=folder, lease=LEASE_S) as running:
            running.await_ready()
            running.fault()
            with at_last(undo):
                fault(CUT_OFF)
                result = running.watch(limit)
            named = running.said_after_fault(address(CUT_OFF))
            if named is not None:
                result.seen["named"] = named
            return result
    return measure


def going_on(seconds, fault, run=Run):
    """Runs numbered lines with a fault in the middle; no line may be missing."""
    def measure(contestant, folder, limit):
        with at_last(heal), run(contestant, "tick", seconds, folder=folder, lease=60) as running:
            running.await_ready()
            fault(running)
            result = running.watch(limit)
            running.await_output()
            result.expect(result.returned is not None, "it did not end")
            check_lines(result, contestant, running.lines(), int(seconds * 20) * 20)
            return result
    return measure


def cut_for(seconds):
    def fault(run):
        run.fault()
        cut(CUT_OFF)
        time.sleep(seconds)  # the fault itself
        heal(CUT_OFF)
    return fault


def sshd_restarted(run):
    run.fault()
    stop_sshd(CUT_OFF)
    start_sshd(CUT_OFF)


def sshd_restarted_and_sessions_killed(run):
    run.fault()
    sessions = sshd_sessions(CUT_OFF)
    stop_sshd(CUT_OFF)
    kill_all(sessions)
    start_sshd(CUT_OFF)


LOST = Target(gone=LEASE_S + 1, returned=LEASE_S + 1, code=125, seen={"named": NAMED_S})
ROWS = [
    Row("link of a node cut for ever", lost_by(cut, heal), LOST, note=f"--lease {LEASE_S}"),
    Row("host powered off", lost_by(power_off, power_on), LOST, note=f"--lease {LEASE_S}"),
    Row("link cut for 5 s", going_on(8, cut_for(5)), Target(code=0), peer_limit=25),
    Row("link cut for 20 s", going_on(24, cut_for(20)), Target(code=0), peer_limit=45),
    Row("sshd restarted", going_on(3, sshd_restarted), Target(code=0)),
    Row("sshd restarted, sessions killed", going_on(3, sshd_restarted_and_sessions_killed),
        Target(code=0)),
]
