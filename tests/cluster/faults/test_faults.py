"""Jobs when ranks, agents, hosts and links fail.

Time limits are three times those of tests/bench/faults, because machines that run tests are slow, and ten
times under a sanitizer.
"""

import os
import shutil
import signal
import threading
import time

import pytest
from hosts import SPEC, address, agents_on, heal, kill_all, sshd_sessions, start_sshd, stop_sshd
from jobs import processes, python, seconds_until

SLOWER = 10 if "SANITIZED" in os.environ else 3
AT_ONCE_S = 0.25 * SLOWER
# An agent must answer within half of the lease, from the launch on.
SHORT_LEASE_S = 10 if "SANITIZED" in os.environ else 4
ANOTHER_REQUEST_S = 1.1  # signals within a second count as one
RANKS = 8
WAIT = ["sh", "-c", "echo up $$; exec sleep 1000"]
STUBBORN = ["sh", "-c", "trap '' TERM INT; echo up $$; while :; do sleep 1000; done"]
# 200 lines a second for the given number of seconds.
TICK = """
import sys, time
for number in range(int(float(sys.argv[1]) * 20)):
    print("\\n".join(f"line {number * 10 + i} " + "x" * 80 for i in range(10)), flush=True)
    time.sleep(0.05)
"""


def whole(seconds):
    return {rank: [f"line {i} " + "x" * 80 for i in range(int(seconds * 20) * 10)] for rank in range(RANKS)}


def report(outcome):
    """The last error on stderr, which only the final line follows."""
    *lines, last = outcome.err.rstrip("\n").split("\n")
    assert last.startswith("autodist: job "), outcome.err
    first = max(i for i, line in enumerate(lines) if not line.startswith(" "))
    assert lines[first].startswith("autodist: error: "), outcome.err
    return "\n".join(lines[first:])


@pytest.mark.smoke
@pytest.mark.parametrize("number, code", [(signal.SIGKILL, 137), (signal.SIGSEGV, 139)])
def test_a_rank_that_is_killed_ends_the_job_at_once(up, number, code):
    job, ranks = up(program=WAIT)
    os.kill(ranks[5], number)
    seconds_until(lambda: not processes(), AT_ONCE_S)
    outcome = job.finish()
    assert outcome.code == code
    assert report(outcome).startswith(
        f"autodist: error: rank 5 on {address(3)} (pid {ranks[5]}) was ended by {number.name}")


def test_a_failed_rank_is_reported_with_its_last_lines(start):
    script = "[ $RANK = 5 ] && { echo some; echo words >&2; sleep 0.1; exit 3; }; exec sleep 1000"
    outcome = start("run", "--spec", SPEC, "--", "sh", "-c", script).finish()
    assert outcome.code == 3
    error = report(outcome)
    assert f"rank 5 on {address(3)} (pid " in error and "exited with code 3" in error
    assert "    | some\n" in error and "    | words\n" in error


def test_ranks_that_ignore_sigterm_end_after_the_grace_period(up):
    job, ranks = up("--grace", "1", program=STUBBORN)
    os.kill(ranks[5], signal.SIGKILL)
    seconds = seconds_until(lambda: not processes(), 1 + 0.3 * SLOWER)
    outcome = job.finish()
    assert outcome.code == 137 and seconds > 0.9
    assert "all others needed SIGKILL" in outcome.err


def test_a_killed_chief_leaves_no_processes_after_the_lease(up):
    job, _ = up("--lease", SHORT_LEASE_S, "--grace", "1", program=WAIT)
    job.interrupt(signal.SIGKILL)
    seconds_until(lambda: not processes(), SHORT_LEASE_S + 1 * SLOWER)
    assert job.finish().code == -signal.SIGKILL


@pytest.mark.smoke
def test_a_killed_agent_ends_its_ranks_and_its_node_is_named(up):
    job, ranks = up(program=WAIT)
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    seconds_until(lambda: not {ranks[4], ranks[5]} & set(processes()), 0.5 * SLOWER)
    seconds_until(lambda: job.process.poll() is not None, 1 * SLOWER)
    outcome = job.finish()
    assert outcome.code == 125
    assert address(3) in report(outcome)


def test_ctrl_c_ends_everything_at_once(up):
    job, _ = up(program=WAIT)
    job.interrupt()
    seconds_until(lambda: not processes(), AT_ONCE_S)
    assert job.finish().code == 130


def test_a_second_ctrl_c_does_not_wait_for_ranks(up):
    job, _ = up(program=["sh", "-c", "trap 'echo asked' TERM; echo up $$; while :; do sleep 0.05; done"])
    job.interrupt()
    assert all("] asked" in line for line in job.await_lines(RANKS))
    time.sleep(ANOTHER_REQUEST_S)
    job.interrupt()
    seconds_until(lambda: not processes(), AT_ONCE_S)
    assert job.finish().code == 130


def test_a_disconnected_node_is_lost_when_its_lease_expires(up, cut):
    job, _ = up("--lease", SHORT_LEASE_S, program=WAIT)
    cut(3)
    job.await_err(address(3), SHORT_LEASE_S + 1 * SLOWER)
    seconds_until(lambda: not processes() and job.process.poll() is not None, 3 * SLOWER + 2)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"node {address(3)} was lost" in report(outcome)


def test_a_disconnected_node_is_reported_long_before_its_lease_expires(up, cut):
    job, _ = up("--lease", "60", program=WAIT)
    cut(3)
    job.await_err(address(3), 15 + SLOWER)
    heal(3)
    job.interrupt()
    seconds_until(lambda: not processes(), 10)  # until TCP retransmits
    assert job.finish().code == 130


def test_a_host_without_power_is_lost(up, power_off):
    job, _ = up("--lease", SHORT_LEASE_S, program=WAIT)
    power_off(3)
    seconds_until(lambda: not processes() and job.process.poll() is not None, SHORT_LEASE_S + 1 * SLOWER)
    outcome = job.finish()
    assert outcome.code == 125
    assert address(3) in report(outcome)


@pytest.mark.parametrize("seconds, lease", [(2, 8), (20, 60)])
def test_a_job_survives_a_temporary_disconnection(start, cut, seconds, lease):
    job = start("run", "--spec", SPEC, "--lease", lease, "--", *python(TICK), seconds + 3)
    job.await_lines(1)
    cut(3)
    time.sleep(seconds)  # the fault itself
    heal(3)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {**whole(seconds + 3), **missing_first(outcome, seconds + 3)}


def missing_first(outcome, seconds):
    """await_lines has consumed one line, the first of some rank."""
    return {rank: lines[1:] for rank, lines in whole(seconds).items()
            if outcome.lines()[rank][0] == lines[1]}


def test_daemons_of_a_failed_rank_are_ended(up):
    script = "setsid sleep 1000 & setsid setsid sh -c 'sleep 1000 & sleep 1000' & echo up $$; wait"
    job, ranks = up(program=["sh", "-c", script])
    os.kill(ranks[5], signal.SIGKILL)
    seconds_until(lambda: not processes(), 1 * SLOWER)
    assert job.finish().code == 137


@pytest.mark.parametrize("sessions_too", [False, True])
def test_a_job_survives_a_restart_of_the_ssh_server(start, sessions_too):
    job = start("run", "--spec", SPEC, "--", *python(TICK), "2")
    job.await_lines(1)
    sessions = sshd_sessions(3) if sessions_too else set()
    stop_sshd(3)
    kill_all(sessions)
    start_sshd(3)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {**whole(2), **missing_first(outcome, 2)}


def test_a_failed_rank_is_noticed_while_others_flood_the_output(start):
    def ranks(name):
        return [pid for pid, command in processes().items() if command.startswith(name)]
    job = start("run", "--spec", SPEC, "--", "sh", "-c", "[ $RANK = 5 ] && exec sleep 1000; exec yes " + "x" * 1000)
    seconds_until(lambda: ranks("yes ") and ranks("sleep "), 10)
    [failing] = ranks("sleep ")
    with open(os.devnull, "wb") as nowhere:
        reader = threading.Thread(target=shutil.copyfileobj, args=(job.process.stdout, nowhere))
        reader.start()
        os.kill(failing, signal.SIGKILL)
        seconds_until(lambda: not ranks("yes "), 0.5 * SLOWER)
        reader.join()
    outcome = job.finish()
    assert outcome.code == 137
    assert f"rank 5 on {address(3)}" in report(outcome)


# Rank 0 receives a byte from each rank and answers; a rank that finds a closed connection fails.
STAR = """
import os, socket, time
rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
where = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])
def receive(connection):
    if not connection.recv(1): raise ConnectionError('a peer has gone')
if rank == 0:
    server = socket.create_server(where)
    peers = [server.accept()[0] for _ in range(size - 1)]
else:
    while True:
        try:
            peers = [socket.create_connection(where)]
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
print('up', os.getpid(), flush=True)
while True:
    if rank == 0:
        for peer in peers: receive(peer)
        for peer in peers: peer.sendall(b'x')
    else:
        peers[0].sendall(b'x')
        receive(peers[0])
"""


@pytest.mark.parametrize("culprit", [2, 5, 7])
def test_the_rank_that_died_is_named_instead_of_its_peers(up, culprit):
    job, ranks = up(program=python(STAR))
    os.kill(ranks[culprit], signal.SIGKILL)
    outcome = job.finish()
    assert report(outcome).startswith(f"autodist: error: rank {culprit} on "), outcome.err
    assert "was ended by SIGKILL" in report(outcome)
    assert outcome.code == 137
