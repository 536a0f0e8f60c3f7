"""Reachable nodes that do not answer: stopped agents, and sessions that fail at once.

Time limits are three times the specified ones, because machines that run tests are slow.
"""

import contextlib
import os
import signal
import time

import pytest
from hosts import SPEC, address, agents_on, in_host, kill_all, parent, sshd_sessions
from jobs import processes, seconds_until, state

SLOWER = 3
ANOTHER_REQUEST_S = 1.1  # signals within a second count as one
SLACK_S = 3  # of the watchdog
WAIT = ["sh", "-c", "echo up $$; exec sleep 1000"]
STOPS_ITS_AGENT = ["sh", "-c", "echo up $$; [ $RANK != 5 ] || { sleep 0.5; kill -STOP $PPID; }; exec sleep 1000"]
# Rank 0 fails; the others ignore SIGTERM.
FAILS_WITH_A_STOPPED_AGENT = ["sh", "-c", "trap '' TERM; echo up $$; [ $RANK != 5 ] || { sleep 0.5; kill -STOP $PPID; }; "
                              "[ $RANK != 0 ] || { sleep 1; exit 3; }; while :; do sleep 1; done"]


def await_stopped_agent():
    seconds_until(lambda: [pid for pid in agents_on(3) if state(pid) == "T"], 5 * SLOWER)


def end_sessions(host):
    kill_all(sshd_sessions(host))


@pytest.fixture
def failing_agent(folder):
    """Replaces the agent on a host with one that greets and exits; gives a function that counts its
    starts."""
    count = folder / "sessions"
    count.touch()
    script = f"""#!/bin/sh
echo >> {count}
printf '\\nAUTODIST-READY %s\\n' "$4"
head -c 64 > /dev/null
exit
"""
    (folder / "failing").write_text(script)
    done = []

    def fail(host):
        done.append(host)
        in_host(host, "sh", "-c", "for a in ~/.cache/autodist/agent/*/autodist-agent; do mv $a $a.whole && "
                f"cp {folder}/failing $a && truncate -r $a.whole $a && chmod 700 $a; done")
        return lambda: len(count.read_text())
    def mend():
        while done:
            in_host(done.pop(), "sh", "-c",
                    "for a in ~/.cache/autodist/agent/*/autodist-agent.whole; do mv $a ${a%.whole}; done")
    fail.mend = mend
    yield fail
    mend()


def test_a_stopped_agent_is_lost_with_its_lease_and_ended_by_its_watchdog(up):
    lease = 4
    job, _ = up("--lease", lease, "--grace", "1", program=STOPS_ITS_AGENT)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"{address(3)} is lost: no answer for " in outcome.err, outcome.err
    assert "connected again" not in outcome.err
    assert outcome.seconds < 0.5 + lease + 1 + SLACK_S * SLOWER
    seconds_until(lambda: not processes(), SLACK_S + 1 * SLOWER)


def test_one_ctrl_c_ends_a_job_with_broken_nodes_and_clean_ends_the_rest(up, autodist, failing_agent):
    job, _ = up("--lease", "60", "--grace", "1", program=STOPS_ITS_AGENT)
    await_stopped_agent()
    failing_agent(2)
    end_sessions(2)
    job.await_err(f"{address(2)}: the connection is broken", 5 * SLOWER)
    job.interrupt()
    seconds_until(lambda: job.process.poll() is not None, 1 + 10)
    assert job.finish().code == 130
    assert agents_on(2) and agents_on(3) and not agents_on(1) and not agents_on(4)
    failing_agent.mend()
    outcome = autodist("clean", "--spec", SPEC)
    assert f"{address(2)}: ended job " in outcome.out and f"{address(3)}: ended job " in outcome.out, outcome.out
    seconds_until(lambda: not processes(), 1 * SLOWER)  # a relay ends after its agent


def test_clean_ends_a_job_with_a_stopped_watchdog(up, autodist):
    job, _ = up("--lease", "60", "--grace", "1", program=WAIT)
    [agent] = agents_on(3)
    for pid in (agent, parent(agent)):
        os.kill(pid, signal.SIGSTOP)
    job.interrupt(signal.SIGKILL)
    job.finish()
    outcome = autodist("clean", "--spec", SPEC)
    assert outcome.code == 0 and f"{address(3)}: ended job " in outcome.out, outcome.out
    seconds_until(lambda: not processes(), 1 * SLOWER)  # a relay ends after its agent


@pytest.mark.parametrize("phase", ["launch", "run", "end"])
def test_a_third_ctrl_c_does_not_wait_for_nodes(up, start, autodist, spec, folder, phase):
    stopped = set()
    if phase == "launch":
        slow = spec(("    username: root\n", f"    username: root\n    python_venv: 'touch {folder}/$HOSTNAME; sleep 20'\n"))
        job = start("run", "--spec", slow, "--lease", "10", "--", "true")
        seconds_until(lambda: len(list(folder.glob("host*"))) >= 3, 10)
        stopped = sshd_sessions(3)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
    else:
        job, _ = up("--lease", "10", "--grace", "2", program=STOPS_ITS_AGENT if phase == "run" else FAILS_WITH_A_STOPPED_AGENT)
        await_stopped_agent()
        if phase == "end":
            job.await_err("stopping the remaining rank", 5 * SLOWER)
    for wait in (0, ANOTHER_REQUEST_S, 2.1):
        time.sleep(wait)
        with contextlib.suppress(ProcessLookupError):
            job.interrupt()
    try:
        seconds_until(lambda: job.process.poll() is not None, 1 * SLOWER)
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    job.finish()
    autodist("clean", "--spec", SPEC)
    seconds_until(lambda: not processes(), 5 * SLOWER)


def test_a_node_whose_sessions_fail_at_once_is_retried_less_and_less_often(up, failing_agent):
    lease = 6
    job, _ = up("--lease", lease, "--grace", "1", program=WAIT)
    sessions = failing_agent(3)
    end_sessions(3)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"{address(3)} is lost: no " in outcome.err, outcome.err
    assert 3 <= sessions() < 3 * lease
    assert outcome.seconds < lease + 1 + 3 * SLOWER
    seconds_until(lambda: not processes(), SLACK_S + 1 * SLOWER)
