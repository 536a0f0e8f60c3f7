"""Effects of signals to autodist, and of time limits, on the ranks.

Time limits are three times the specified ones, because machines that run tests are slow.
"""

import re
import signal
import time

import pytest
from hosts import SPEC, address
from jobs import processes, python, seconds_until, state

SLOWER = 3
AT_ONCE_S = 0.25 * SLOWER
RANKS = 8
WAIT = ["sh", "-c", "echo up $$; exec sleep 1000"]
STUBBORN = ["sh", "-c", "trap '' TERM; echo up $$; while :; do sleep 1000; done"]
# Succeeds once the file exists.
UNTIL = ["sh", "-c", 'echo up $$; while [ ! -e "$0" ]; do sleep 0.1; done']
# Prints each signal.
LISTEN = """
import os, signal, sys, time
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
    signal.signal(number, lambda n, _: os.write(1, f'got {signal.Signals(n).name}\\n'.encode()))
os.write(1, f'up {os.getpid()}\\n'.encode())
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""
# Succeeds on SIGTERM; signal.pause() misses a signal that arrives just after a resume.
UNTIL_TERM = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.write(1, f'up {os.getpid()}\\n'.encode())
signal.sigwait({signal.SIGTERM})
print('term')
"""


def stacks(folder):
    """The text of each stacks file."""
    return [path.read_text() for path in (folder / "autodist-runs").glob("*/stacks-*.txt")]


def text_of(texts, rank):
    """The section of a rank in a stacks file."""
    [text] = texts
    [part] = [part for part in text.split("==== ") if part.startswith(f"rank {rank} on ")]
    return part


@pytest.mark.smoke
def test_user_signals_reach_every_rank_once(up, folder):
    job, _ = up(program=[*python(LISTEN), folder / "end"])
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
        job.interrupt(number)
        lines = job.await_lines(RANKS)
        assert sorted(line.split(":")[1] for line in lines) == [
            f"{rank}] got {number.name}\n" for rank in range(RANKS)]
    (folder / "end").touch()
    outcome = job.finish()
    assert (outcome.code, outcome.out) == (0, ""), outcome.err


# The ranks start no processes, because a process whose child is stopped within vfork is in "disk sleep"
# instead of stopped.
def test_a_suspended_job_outlives_its_lease_and_continues(up, folder):
    lease_s = 2
    job, ranks = up("--lease", lease_s, program=[*python(LISTEN), folder / "end"])
    job.interrupt(signal.SIGTSTP)
    everyone = [job.process.pid, *ranks.values()]
    seconds_until(lambda: {state(pid) for pid in everyone} == {"T"}, 3)
    time.sleep(2.5 * lease_s)  # the suspension itself
    assert {state(pid) for pid in everyone} == {"T"}
    job.interrupt(signal.SIGCONT)
    seconds_until(lambda: "T" not in {state(pid) for pid in everyone}, AT_ONCE_S)
    (folder / "end").touch()
    outcome = job.finish()
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    assert "warning" not in outcome.err and "error" not in outcome.err


def test_a_suspended_job_is_suspended_again_and_stopped(up):
    job, ranks = up(program=python(UNTIL_TERM))
    for _ in range(2):
        job.interrupt(signal.SIGTSTP)
        seconds_until(lambda: {state(pid) for pid in (job.process.pid, *ranks.values())} == {"T"}, 3)
        job.interrupt(signal.SIGCONT)
        seconds_until(lambda: "T" not in map(state, ranks.values()), AT_ONCE_S)
    job.interrupt(signal.SIGTSTP)
    seconds_until(lambda: state(job.process.pid) == "T", 3)
    job.interrupt(signal.SIGTERM)  # takes effect when it is resumed
    job.interrupt(signal.SIGCONT)
    outcome = job.finish()
    assert outcome.code == 143
    assert outcome.lines() == {rank: ["term"] for rank in range(RANKS)}


def test_a_suspended_job_with_a_killed_autodist_ends_with_its_lease(up):
    job, ranks = up("--lease", "2", "--grace", "1", program=WAIT)
    job.interrupt(signal.SIGTSTP)
    seconds_until(lambda: {state(pid) for pid in (job.process.pid, *ranks.values())} == {"T"}, 3)
    job.interrupt(signal.SIGKILL)
    seconds_until(lambda: not processes(), 2 + 1 * SLOWER)
    assert job.finish().code == -signal.SIGKILL


def test_sighup_ends_the_job_as_sigterm_does(up):
    job, _ = up(program=["sh", "-c", "trap 'echo term; exit' TERM; echo up $$; while :; do sleep 0.1; done"])
    job.interrupt(signal.SIGHUP)
    outcome = job.finish()
    assert outcome.code == 129
    assert outcome.lines() == {rank: ["term"] for rank in range(RANKS)}
    assert "stopped by SIGHUP" in outcome.err


def test_nohup_ignores_sighup_and_ranks_start_with_default_signals(up, folder):
    masks = "grep -E 'SigIgn|SigBlk' /proc/self/status >\"$(dirname \"$0\")/masks-$RANK\"; "
    job, ranks = up(program=["sh", "-c", masks + UNTIL[2], folder / "end"], under=["nohup"])
    for rank in ranks:
        for line in (folder / f"masks-{rank}").read_text().splitlines():
            assert int(line.split()[1], 16) & 0x7fffffff == 0, line  # higher signals belong to libc
    job.interrupt(signal.SIGHUP)
    job.interrupt(signal.SIGUSR1)  # arrives after SIGHUP; ends any remaining ranks
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGUSR1
    assert "SIGHUP" not in outcome.err and "was ended by SIGUSR1, which autodist passed on" in outcome.err


def test_another_stop_signal(up):
    job, _ = up("--stop-signal", "USR1", program=[
        "sh", "-c", "trap 'echo usr1; exit' USR1; trap 'echo term' TERM; echo up $$; while :; do sleep 0.1; done"])
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130
    assert outcome.lines() == {rank: ["usr1"] for rank in range(RANKS)}
    assert "needed SIGKILL" not in outcome.err


def test_a_job_is_stopped_on_timeout_and_killed_after_the_grace_period(start):
    outcome = start("run", "--spec", SPEC, "--timeout", "1", "--grace", "1", "--", *STUBBORN).finish()
    assert outcome.code == 124
    assert 2 <= outcome.seconds < 2 + 1 * SLOWER
    assert "stopped: --timeout expired" in outcome.err and "all ranks needed SIGKILL" in outcome.err


def test_a_job_that_ends_before_its_timeout(start):
    outcome = start("run", "--spec", SPEC, "--timeout", "60", "--", "sleep", "0.1").finish()
    assert outcome.code == 0 and "--timeout" not in outcome.err and outcome.seconds < 30


def test_ctrl_c_is_confirmed_at_once_and_waits_for_slow_ranks(up):
    job, _ = up("--grace", "40", program=[
        "sh", "-c", "trap 'sleep 1; echo saved; exit' TERM; echo up $$; while :; do sleep 0.1; done"])
    job.interrupt()
    job.await_err("SIGINT: the ranks have 40 s to exit; repeat to kill them", AT_ONCE_S)
    assert job.process.poll() is None
    outcome = job.finish()
    assert outcome.code == 130
    assert outcome.lines() == {rank: ["saved"] for rank in range(RANKS)}
    assert "all ranks ended on SIGTERM" in outcome.err or "all ranks exited after SIGTERM" in outcome.err


def test_sigquit_writes_stacks_and_the_job_continues(up, folder):
    job, ranks = up(program=[*UNTIL, folder / "end"])
    job.interrupt(signal.SIGQUIT)
    job.await_err("what all ranks are doing is in ", 40)
    assert job.process.poll() is None
    for rank, pid in ranks.items():
        text = text_of(stacks(folder), rank)
        assert text.startswith(f"rank {rank} on {address(rank // 2 + 1)}\n")
        assert re.search(rf"^process {pid} \([a-z ]+\): sh -c ", text, re.M), text
        assert re.search(r"^    #\d+ .* in ", text, re.M), text  # a frame, by gdb
    [path] = (folder / "autodist-runs").glob("*/stacks-*.txt")
    assert path.stat().st_mode & 0o777 == 0o600 and str(path.relative_to(folder)) in job.err.decode()
    (folder / "end").touch()
    outcome = job.finish()
    assert (outcome.code, outcome.out) == (0, ""), outcome.err


def test_a_hanging_job_is_examined_and_stopped(start, folder):
    outcome = start("run", "--spec", SPEC, "--hang-timeout", "2", "--",
                    "sh", "-c", "echo first; echo last of $RANK; exec sleep 1000").finish()
    assert outcome.code == 124
    report = outcome.err[outcome.err.index("no rank has written anything for 2 s; last lines:\n"):]
    for rank in range(RANKS):
        assert f"\n  rank {rank} on {address(rank // 2 + 1)}: last of {rank}\n" in report
        assert "sleep 1000" in text_of(stacks(folder), rank)
    assert "stopped: no rank showed activity (--hang-timeout)" in report
    assert "all ranks ended on SIGTERM" in report


def test_a_hanging_job_causes_a_warning_and_continues(up, folder):
    job, _ = up("--hang-timeout", "2", "--on-hang", "warn", program=[*UNTIL, folder / "end"])
    job.await_err("what all ranks are doing is in ", 60)
    assert job.process.poll() is None and len(stacks(folder)) == 1
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("no rank has written anything for 2 s") == 1


@pytest.mark.parametrize("writer", [0, 5])
def test_a_job_with_output_from_one_rank_does_not_hang(start, writer):
    script = (f"[ $RANK = {writer} ] && for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.5; done; "
              f"[ $RANK = {writer} ] || sleep 3.5")
    outcome = start("run", "--spec", SPEC, "--hang-timeout", "2", "--", "sh", "-c", script).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {writer: list("1234567")}
