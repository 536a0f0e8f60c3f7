"""Stacks of the ranks of a running job, collected by another process."""

import os
import re

import pytest
from hosts import SPEC, address, heal
from jobs import seconds_until

RANKS = 8
# Rank 5 blocks on a pipe without a writer, the others sleep.
WAIT = ["sh", "-c", 'echo up; [ $RANK != 5 ] || exec cat "$0"; exec sleep 1000']


def detached(autodist, folder):
    """A job that hangs because one rank blocks forever."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    outcome = autodist("run", "--detach", "--spec", SPEC, "--", *WAIT, pipe)
    assert outcome.code == 0, outcome.err
    job = re.search(r"job (\S+) is running", outcome.err)[1]
    logs = folder / "autodist-runs" / job
    seconds_until(lambda: all((logs / f"rank-{rank}.out").read_text() for rank in range(RANKS)), 20)
    return job, logs


@pytest.mark.smoke
def test_the_deviating_rank_is_first(autodist, folder):
    job, logs = detached(autodist, folder)
    outcome = autodist("stacks", job, "--rank", "5")
    assert outcome.code == 0, outcome.err
    groups, whole = outcome.out.split("\n\n", 1)
    first, most = groups.splitlines()
    assert re.match(r"rank 5, unlike most, in \S*open\S*", first), groups
    assert re.match(r"7 ranks in \S*nanosleep\S* .*: 0-4, 6-7$", most), groups
    assert whole.startswith("==== rank 5\n") and f"cat {folder}/pipe" in whole and "sleep 1000" not in whole
    path = re.search(r"the stacks are in (\S+)\n", outcome.err)[1]
    assert path.startswith(f"{logs}/stacks-")
    for rank in range(RANKS):
        assert f"==== rank {rank} on {address(rank // 2 + 1)}\n" in open(path, encoding="utf-8").read()
    assert autodist("stacks", job).code == 0  # at once
    assert autodist("stop", "--now", job).code == 0
    outcome = autodist("stacks", job)
    assert outcome.code == 125 and "has ended" in outcome.err


def test_the_reason_for_missing_stacks_is_shown(autodist, folder, cut):
    job, _ = detached(autodist, folder)
    cut(3)
    seconds_until(lambda: "reconnecting" in autodist("status", job).out, 30)
    outcome = autodist("stacks", job)
    assert outcome.code == 0, outcome.err
    assert re.search(rf"^2 ranks not known: {re.escape(address(3))} is not connected: .*: 4-5$",
                     outcome.out, re.M), outcome.out
    assert re.search(r"^6 ranks in \S*nanosleep\S* .*: 0-3, 6-7$", outcome.out, re.M), outcome.out
    heal(3)
    assert autodist("stop", "--now", job).code == 0


def test_a_missing_rank(autodist, folder):
    job, _ = detached(autodist, folder)
    outcome = autodist("stacks", job, "--rank", "8")
    assert outcome.code == 2 and "has no rank 8, but 8 ranks, counted from 0" in outcome.err
    assert autodist("stop", "--now", job).code == 0
